//! What a JVM says of itself in files: its logs of pauses and safepoints, its counters, its command
//! line, and what it prints of its threads. Start at [`JvmLogReader`].
//!
//! What always holds: nothing here runs a command, signals a process or writes a file; what files
//! say is foreign, and no byte of it makes a reader panic or take memory without bound.

mod collections;
mod figures;
mod files;
mod flags;
mod log;
mod perf_data;
mod safepoints;
mod stamps;
mod thread_dump;
mod unified_log;

pub use collections::CollectionReader;
pub use files::{FollowFrom, Follower, LineCutter, LinesRead, MAX_LINE, Polled, read_lines, rotated, span};
pub use flags::{JvmFlags, JvmLogFile, KafkaFlags};
pub use log::{JvmLog, JvmLogReader, MAX_ROWS};
pub use perf_data::{CollectorCounters, MAX_FILE, PerfData, PerfDataError, SafepointCounters};
pub use safepoints::SafepointReader;
pub use stamps::{ClockReading, LogClock, LogStamp};
pub use thread_dump::{DumpedThread, JavaState, MAX_FRAMES, ThreadDump};
pub use unified_log::DecoratedLine;
