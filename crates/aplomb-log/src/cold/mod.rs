//! Reads of records that memory no longer has, as values: each says which bytes of which file it
//! wants next, is given them, and goes on.
//!
//! Nothing here waits. The broker sends [`ColdRead::command`] to the disk, parks the request, and
//! hands the completion's bytes to [`ColdRead::on_read`]. A plan needs nothing of the log, which
//! may roll, grow and delete segments in the meantime; a file that is deleted by then is the
//! caller's `NotFound`.

mod read;
mod readers;
mod time;

pub use read::{ColdPlan, ColdRead, ColdRecords, ColdStep};
pub use readers::ReaderPositions;
pub use time::{SegmentTimes, TimeAnswer, TimeLookup, TimePlan, TimeStep, TimeWanted};
