//! The tail: the end of every log, in memory.
//!
//! An append is a copy into the arena and one release store; from then on the batch survives the
//! process, whatever the disk does. What always holds: nothing here waits, nothing here touches a
//! file, and memory is a fixed budget, one share a disk.
//!
//! - [`LogTail`] is one partition's tail: start reading there. `reading` answers questions about
//!   it.
//! - [`TailShare`] is what one disk's partitions have together: free chunks and the numbers that
//!   show a slow disk.
//! - [`ArenaMemory`] is the memory, `arena` the only file that touches it, `format` what its bytes
//!   mean.
//! - [`Reserve`] is the part whose pages are still to come.
//! - [`OldTail`] reads back what an earlier process left.
//! - [`CrashSwitch`] lets a simulated process die between two stores.

mod arena;
mod chunk;
mod copy_to;
mod crash;
mod drain;
mod error;
mod facts;
mod format;
mod free_list;
mod held;
mod log_tail;
mod reading;
mod reserve;
mod share;
mod truncate;

pub use arena::{Arena, ArenaMemory};
pub use crash::CrashSwitch;
pub use drain::{DamageKind, OldPartition, OldTail, Recovered, TailDamage, TailRun, Unreadable};
pub use error::{GeometryError, OffsetsOutOfOrder, TailFull, UnreadableReason};
pub use facts::{BatchAt, TailBatch};
pub use format::{BLOCK, DEFAULT_CHUNK_SIZE, SegmentEnd};
pub use log_tail::{LogEnd, LogTail};
pub use reading::{TailRead, Unread, WriteOut};
pub use reserve::Reserve;
pub use share::{Claim, TailShare, TailStats, open_shares, renew_shares};
