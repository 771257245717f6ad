//! OffsetCommit, OffsetFetch, OffsetDelete, and how committed offsets expire.

mod commit;
mod delete;
mod fetch;
mod sweep;

pub(super) use self::delete::OffsetDeleteQuestion;
pub(super) use self::fetch::FetchQuestion;
