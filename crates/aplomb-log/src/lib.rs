//! A partition's log, as a pure state machine: no file, no clock, no thread.
//!
//! Start at [`Log`]. The [`tail`] holds the end of every log in memory; [`flush`] is what the disk is owed; [`fetch`] and [`cold`] are
//! reading; [`retention`] is deleting; [`moving`] is the way to another disk; [`recovery`] finds a log again. The rest is Apache Kafka's formats, each in a room of its own: [`segment`] names,
//! [`index`], [`producers`], [`epochs`], [`checkpoint`]s and [`meta`] files.

pub mod checkpoint;
pub mod cold;
mod config;
pub mod epochs;
pub mod fetch;
pub mod flush;
pub mod index;
mod log;
pub mod meta;
pub mod moving;
pub mod producers;
mod read_memory;
pub mod recovery;
pub mod retention;
pub mod segment;
pub mod segments;
pub mod tail;

pub use config::LogConfig;
pub use log::{AppendError, Appended, Log, LogParts};
pub use read_memory::{Loan, ReadMemory};
