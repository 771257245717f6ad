//! Compaction: of each key the last record stays (`org.apache.kafka.storage.internals.log.Cleaner`).
//!
//! A [`Pass`] is given a [`CompactionPlan`], a copy of what the log says, and a disk that may wait.
//! It reads the dirty part of the log into a map from keys to their last offsets, then writes the
//! segments below the map's end anew, group by group, without the records that the map outdates.
//! It knows no log: [`crate::Log`] goes on meanwhile, and takes each group's new segment in one
//! turn ([`crate::Log::replace_segments`]).
//!
//! The names of files say after every call how far it has come, so that a crash anywhere leaves one
//! log (`swap`). Nothing that a reader has under way reads other bytes than it was planned for: the
//! new files are read by their `.swap` names until all reads of the old ones are over.
//!
//! Next: [`Pass`] for the order of things, `filter` for the rules.

mod filter;
mod last_offsets;
mod offset_map;
mod output;
mod pass;
mod plan;
mod reader;
mod stretches;
mod swap;
mod transactions;

pub use pass::{Pass, PassResult, PassStats, PassStep, Replacement};
pub use plan::{ActiveProducers, CompactionPlan, CompactionRules, SourceSegment};
pub use reader::PassFailed;
pub use swap::{cleaned_files, finish_swap};
