//! A segment's indexes: by offset, by time, and of aborted transactions.
//!
//! Builders take what is appended and give out bytes to be written at a position in the index file;
//! memory holds only what no disk has been given yet, the last entry and a count. Readers work on
//! the bytes of the file and assume no more than Apache Kafka's format promises; what contradicts
//! it is [`IndexDamaged`], and the caller rebuilds the index from the segment. Next: `segment.rs`
//! for the two indexes of a segment together, which is what a log uses.

mod aborted;
mod entries;
mod offset;
mod search;
mod segment;
mod time;

pub use aborted::{
    AbortedIndexBuilder, AbortedTransaction, CollectedAborted, aborted_len_below, collect_aborted,
    parse_aborted, sound_aborted,
};
pub use entries::{IndexBuilder, IndexEntry, IndexFile, LookupEntry};
pub use offset::{OffsetIndex, OffsetIndexBuilder, OffsetPosition};
pub use search::{IndexSearch, SearchStep};
pub use segment::{BatchPosition, IndexLimits, IndexesAtRest, ResumeFrom, SegmentIndexes};
pub use time::{TimeIndex, TimeIndexBuilder, TimestampOffset};

/// How an index file came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexTail {
    /// Rolled or closed cleanly, or written by Aplomb: the file ends with its last entry.
    Trimmed,
    /// The active segment of a broker that may have stopped uncleanly: trailing zero entries are
    /// space that Apache Kafka had reserved, not entries.
    MaybePreallocated,
}

/// An index that contradicts its format; it has to be rebuilt from its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexDamaged {
    /// The file ends inside an entry.
    #[error("{len} bytes are no whole number of {entry}-byte index entries")]
    CutEntry {
        /// The length of the file in bytes.
        len: usize,
        /// The length of an entry in bytes.
        entry: usize,
    },
    /// An entry is not above the one before it.
    #[error("index entry {slot} is not above the one before it")]
    NotRising {
        /// Which entry, counted from 0.
        slot: usize,
    },
    /// An entry's offset lies below the segment's base, or is no offset at all.
    #[error("index entry {slot} has an offset that its segment cannot have")]
    OffsetOutOfRange {
        /// Which entry, counted from 0.
        slot: usize,
    },
    /// An aborted transaction that begins after its end, or a negative producer id.
    #[error("index entry {slot} is no aborted transaction")]
    NoTransaction {
        /// Which entry, counted from 0.
        slot: usize,
    },
    /// A transaction index entry of a version that is not known.
    #[error("index entry {slot} has the unknown version {version}")]
    UnknownVersion {
        /// Which entry, counted from 0.
        slot: usize,
        /// The version that the entry has.
        version: i16,
    },
}

impl IndexDamaged {
    /// The entry that is damaged, counted from 0; `None` where the file ends inside one.
    #[must_use]
    pub const fn slot(&self) -> Option<usize> {
        match self {
            Self::CutEntry { .. } => None,
            Self::NotRising { slot }
            | Self::OffsetOutOfRange { slot }
            | Self::NoTransaction { slot }
            | Self::UnknownVersion { slot, .. } => Some(*slot),
        }
    }
}
