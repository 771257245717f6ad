//! The tails that runs before have left: which of them a start reads back, gives up, or leaves
//! alone, and what it says of those that are not there.
//!
//! Files are the caller's ([`TailFiles`]): the program's are on tmpfs, the simulator's are nowhere.
//! [`OldTails`] decides; [`TailRecord`] is what a log directory says of its tail, [`DirectoryHome`]
//! which directory that was.

mod error;
mod files;
mod home;
mod old;
mod record;
mod without;

pub use error::OldTailError;
pub use files::TailFiles;
pub use home::{DirectoryHome, Kinship};
pub use old::{Names, OldTails, Room, Tell};
pub use record::{RecordError, TAIL_RECORD, TailRecord};
