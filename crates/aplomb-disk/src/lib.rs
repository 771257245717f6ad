//! The crate that opens files: one engine per disk.
//!
//! Start at [`engine`]: [`DiskEngine`] owns a disk's threads and gives each shard its
//! [`aplomb_disk_api::DiskQueue`]. Commands and jobs stand in `lanes`; `writer`, `readers`,
//! `housekeeping` and `jobs` carry them out, each on threads of its own, through `io` (io_uring or
//! plain calls) on the descriptors of `files`. Beside the engine stand what start-up needs:
//! [`patient`] for loading logs, [`lock`] for the log directory, [`memory`] for the tail's pages,
//! [`clock`].
//!
//! Always holds: no thread of another crate is made to wait for a file by anything here, except by
//! the functions that say so (opening, stopping, start-up).

mod bell;
pub mod clock;
pub mod engine;
mod errors;
mod files;
mod housekeeping;
mod io;
mod jobs;
mod lane;
mod lanes;
pub mod lock;
pub mod memory;
mod open_file;
pub mod patient;
mod publish;
mod readahead;
mod readers;
mod shortage;
mod steps;
mod sync;
mod urgency;
mod waits;
mod writer;
mod written;

pub use engine::{DiskEngine, EngineOptions, StopError};
pub use errors::EngineError;
pub use io::EngineKind;
pub use lanes::OnLoss;
pub use lock::{DirectoryLock, LockError};
pub use memory::{MappedFile, MemoryError};
pub use patient::RealPatientDisk;
