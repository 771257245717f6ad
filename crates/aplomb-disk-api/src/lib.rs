//! What can be asked of a disk, and how each command may end. No file in sight.
//!
//! A log directory is one **disk** to us. Commands go into bounded queues ([`queue`]) and come back as
//! completions ([`completion`]); nothing here waits. The real engine is `aplomb-disk`, the deterministic one is
//! [`sim`]; both keep the promises of [`conformance`]. Start-up and recovery, which may wait, use [`startup`].

pub mod command;
pub mod completion;
pub mod conformance;
pub mod health;
pub mod queue;
pub mod sim;
pub mod startup;
pub mod stats;

pub use command::{DiskCommand, FileName, Lane, ReadPattern, SmallFile};
pub use completion::{Completion, DiskError, Done, Ticket};
pub use health::DiskHealth;
pub use queue::{CompletionSink, DiskQueue, QueueFull};
pub use startup::{Entry, EntryKind, StartupDisk};

/// Which of the broker's log directories, in the order of `log.dirs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskIndex(pub u16);
