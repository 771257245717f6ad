//! From log directories to shards. Runs before the first request, on threads that may wait for a
//! disk.
//!
//! The order, which the caller keeps: [`examine()`] everything, which changes nothing and refuses
//! what is not ours; [`survey()`] each directory; write back what an earlier process had only in
//! memory ([`OldTails`]), the metadata log first; [`MetadataFound::read`] it,
//! which gives the names for the rest; write that back as well; then
//! [`plan()`]; then let the shards begin, which load their partitions.

mod error;
mod examine;
mod lead;
mod load;
mod metadata;
mod survey;
mod tails;

pub use error::{Damage, StartError};
pub use examine::{Examined, ExaminedDirectory, Refusal, examine};
pub use load::{Ready, ShardStart, StartInput, plan};
pub use metadata::MetadataFound;
pub use survey::{Directory, Surveyed, may_lack_records, survey};
pub use tails::{
    DirectoryHome, Kinship, Names, OldTailError, OldTails, RecordError, Room, TAIL_RECORD, TailFiles,
    TailRecord, Tell,
};
