//! Reads of what memory no longer holds, as values: each says which bytes of which file it wants next, is given them, and goes on.
//!
//! Nobody waits here. The broker sends [`ColdRead::command`] to the disk, parks the request, and hands the completion's bytes to
//! [`ColdRead::on_read`]. A plan holds all that it needs, so the log may roll, grow and delete in the meantime; a file that is gone by
//! then is the caller's `NotFound`.

mod read;
mod readers;
mod time;

pub use read::{ColdPlan, ColdRead, ColdRecords, ColdStep};
pub use readers::ReaderPositions;
pub use time::{SegmentTimes, TimeAnswer, TimeLookup, TimePlan, TimeStep, TimeWanted};
