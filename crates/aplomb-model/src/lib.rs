//! The nouns of all crates: what an offset is, an epoch, a record batch, an error code.
//!
//! Nothing here does I/O or knows a clock. Wire integers become these types at the edge of
//! `aplomb-protocol` and stay these types from there on.

pub mod batch;
mod epoch;
mod error_code;
mod ids;
mod offset;
mod splitmix;
mod time;
mod timers;
mod units;
mod uuid;

pub use epoch::LeaderEpoch;
pub use error_code::ErrorCode;
pub use ids::{BrokerId, PartitionIndex, ProducerEpoch, ProducerId, TopicPartition};
pub use offset::Offset;
pub use splitmix::SplitMix64;
pub use time::{Instant, Timestamp};
pub use timers::Timers;
pub use units::ByteCount;
pub use uuid::{DirectoryId, TopicId, Uuid, UuidParseError};
