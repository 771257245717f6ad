//! A partition's log, as a pure state machine: no file, no clock, no thread.
//!
//! Start at [`Log`]. The [`tail`] holds the end of every log in memory; [`cold`] reads what it no
//! longer has; [`compaction`] writes segments anew; [`future`] copies a log to another disk;
//! [`recovery`] finds a log again. The rest is Apache Kafka's formats, each in a room of its own:
//! [`layout`] (names), [`index`], [`producers`], [`epochs`], [`checkpoint`]s, [`closed`] logs and
//! [`state_files`].

pub mod checkpoint;
pub mod closed;
pub mod cold;
pub mod compaction;
mod config;
pub mod epochs;
mod fields;
pub mod index;
pub mod layout;
mod log;
mod memory_budget;
pub mod producers;
pub mod recovery;
pub mod segments;
pub mod state_files;
pub mod tail;

pub use config::{CompactionConfig, LogConfig};
pub use log::future;
pub use log::{
    AppendError, Appended, CheckpointPart, Dirtiness, Fetched, Log, LogParts, Owed, RecoveryDebt, Retention,
    SyncPart, TimeFound, UnknownTime,
};
pub use memory_budget::{Loan, MemoryBudget, Reader};
