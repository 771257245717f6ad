//! The crate that opens files: one engine per disk.
