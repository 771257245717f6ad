//! What can go wrong with the tail, by what happened.

use aplomb_model::{ByteCount, Offset};

/// The share has no memory left that could be released: the only way in which a slow disk is felt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("memory tail is full: {waiting} wait for the disk")]
pub struct TailFull {
    /// Bytes in the disk's share of the tail that the disk does not have yet.
    pub waiting: ByteCount,
}

/// An arena that cannot be laid out as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// Not a power of two, or under 4096.
    #[error("a tail chunk of {0} bytes is not possible: a power of two, 4096 or more, is")]
    ChunkSize(u32),
    /// No disk, or more than the superblock has room for.
    #[error("a tail for {wanted} log directories is not possible: 1 to {most} are")]
    Shares {
        /// The number asked for.
        wanted: usize,
        /// The highest number possible.
        most: usize,
    },
    /// Not even one chunk for each disk.
    #[error("a tail of {arena_len} bytes is too small for its log directories: {least} bytes are the least")]
    TooSmall {
        /// The memory's size in bytes.
        arena_len: usize,
        /// The smallest size that would do, in bytes.
        least: usize,
    },
}

/// Why an arena that was found cannot be read back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableReason {
    /// New memory, or an arena that was being formatted, after all in it was safe: there is nothing
    /// to read.
    #[error("the tail is blank")]
    Blank,
    /// The memory holds something else than an arena.
    #[error("this is not a tail of Aplomb's")]
    NotATail,
    /// Another version of Aplomb wrote it.
    #[error("the tail has format version {found}; this program reads version {known}")]
    Version {
        /// The version that the arena says it has.
        found: u64,
        /// The version that this program knows.
        known: u64,
    },
    /// The file became shorter.
    #[error("the tail has {has} bytes and should have {needs}")]
    TooShort {
        /// The bytes that are there.
        has: u64,
        /// The bytes that the arena takes.
        needs: u64,
    },
    /// The superblock's checksum does not fit.
    #[error("the tail's superblock is damaged")]
    Damaged,
}

/// A batch that begins below the end of the one before, or of its segment's base offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a batch begins at offset {found} where {expected} or more should follow")]
pub struct OffsetsOutOfOrder {
    /// The batch's base offset.
    pub found: Offset,
    /// The lowest that it could be.
    pub expected: Offset,
}
