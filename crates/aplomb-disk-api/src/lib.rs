//! What can be asked of a disk, and how each command may end. No file in sight.
//!
//! A log directory is one **disk** to us. Commands go into bounded queues ([`queue`]) and come back
//! as completions ([`completion`]); nothing here waits. Jobs ([`job`]) are work for the disk's own
//! threads, which may wait: they use [`patient`], as start-up does. The real engine is
//! `aplomb-disk`, the deterministic one is [`sim`]; both keep the promises of [`conformance`].

pub mod command;
pub mod completion;
pub mod conformance;
pub mod error;
pub mod health;
pub mod job;
pub mod patient;
pub mod queue;
pub mod sim;
pub mod stats;

pub use command::{DiskCommand, FileName, Lane, ReadPattern, SmallFile};
pub use completion::{Completion, Done, Ticket};
pub use error::DiskError;
pub use health::DiskHealth;
pub use job::{DiskJob, JobOutcome, JobStep};
pub use patient::{Entry, EntryKind, FileStamp, PatientDisk};
pub use queue::{CompletionSink, DiskQueue, QueueFull};

/// Which of the broker's log directories, in the order of `log.dirs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskIndex(pub u16);
