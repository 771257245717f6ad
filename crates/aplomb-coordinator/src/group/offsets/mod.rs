//! OffsetCommit, OffsetFetch, OffsetDelete, and how committed offsets expire.

mod commit;
mod fetch;
mod sweep;
