//! From the files found to a log.
//!
//! After a clean stop only the end of the last segment is looked at. After an unclean one, what
//! lies above the recovery point is read, checked and indexed anew, and the log is cut at the first
//! batch that is not whole. Either way the cost is that of a few files, not of the log's bytes
//! (R11). Bytes that only the tail had are written to the files before this runs ([`restore`]).
//!
//! Steps, one file each: `found` looks and tidies up, `start` decides where to begin, `scan` walks,
//! `segment` and `producers` take what it meets, [`mod@load`] puts a log together from what the
//! `loader` has gathered. `truncate` cuts a log's files and loads it again. `closed` looks at
//! no files of a log that a clean stop has noted.

mod closed;
pub mod forget;
mod found;
mod hole;
mod load;
mod loader;
mod producers;
pub mod restore;
mod scan;
mod segment;
mod start;
mod truncate;

pub use closed::load_closed;
pub use load::{LoadedLog, load};
pub use loader::{LoadError, LoadReport, LoadRequest};
pub use truncate::Truncation;
