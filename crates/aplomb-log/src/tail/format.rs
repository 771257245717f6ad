//! What the arena's bytes mean: where things lie, the superblock and the chunk headers as words.
//!
//! All of it is words of eight bytes in the machine's own byte order: the arena lives in memory and
//! never travels. Nothing here touches memory; `arena` does, and `drain` reads what an earlier
//! process left. Version 1:
//!
//! | words | superblock (byte 0, one block of 4096 bytes) |
//! | --- | --- |
//! | 0 | magic, or 0 while there is nothing in the arena that counts |
//! | 1 | format version |
//! | 2, 3 | arena length, chunk size, in bytes |
//! | 4, 5 | chunks, shares (one a disk) |
//! | 6 | generation: counts the times the arena was formatted |
//! | 7 | CRC-32C of words 1 to 6 and of all directory ids |
//! | 16... | the shares' directory ids, 16 bytes each |
//!
//! | words | chunk header (from byte 4096, 128 bytes each) |
//! | --- | --- |
//! | 0 | state: 0 free, otherwise the sequence number of word 4 |
//! | 1 | published: how far, in bytes from the chunk's start, the bytes are part of the log |
//! | 2 | first batch: where in the chunk the first batch begins that begins in it, or all ones |
//! | 3 | durable: how far, in bytes from the chunk's start, the disk has promised to have the bytes; may be more than is published, after a cut |
//! | 4 | sequence number of the allocation, from 1 |
//! | 5, 6 | topic id |
//! | 7 | partition (low half), share (high half) |
//! | 8, 9 | segment base offset, position in the segment's `.log` of the chunk's byte 0 |
//! | 10 | begin: the first byte in use |
//! | 11, 12 | base offset and size of the segment before, or all ones where that is not known |
//! | 13 | CRC-32C of words 4 to 12 |
//! | 14 | the sequence number of word 4, once words 11 and 12 count no more; anything else before |
//!
//! Chunks follow the headers, aligned to 4096 bytes.

use aplomb_model::batch::Crc32c;
use aplomb_model::{DirectoryId, Offset, PartitionIndex, TopicId, Uuid};

use super::error::{GeometryError, UnreadableReason};

/// Chunk size unless configured otherwise.
pub const DEFAULT_CHUNK_SIZE: u32 = 64 * 1024;

/// What chunks are aligned to, and the smallest chunk: a page, and what a disk writes directly.
pub const BLOCK: usize = 4096;

const MAGIC: u64 = u64::from_be_bytes(*b"AplmTail");
const VERSION: u64 = 1;
const WORD: usize = 8;
const SUPERBLOCK_WORDS: usize = 8;
const FIRST_DIRECTORY_WORD: usize = 16;
const MAX_SHARES: usize = (BLOCK / WORD - FIRST_DIRECTORY_WORD) / 2;
/// Bytes of a chunk header: two cache lines, so that neighbours do not share one.
const HEADER_BYTES: usize = 128;
/// Words of a chunk header that are stored when it is opened.
const HEADER_WORDS: usize = 14;
/// Words that stay as they are while the chunk is in use.
const FIXED_WORDS: usize = 9;
const FIRST_FIXED_WORD: usize = 4;

/// "No batch begins here yet", "the segment before is not known".
const NONE: u64 = u64::MAX;

/// The words of a chunk header that change while the chunk is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveWord {
    State = 0,
    Published = 1,
    FirstBatch = 2,
    Durable = 3,
    /// The sequence number of the chunk whose segment before is not what it was.
    PreviousGone = 14,
}

/// Where everything lies in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) arena_len: usize,
    pub(super) chunk_size: u32,
    pub(super) chunks: u32,
    pub(super) shares: u16,
}

impl Geometry {
    /// As many chunks as fit.
    pub(super) fn fit(arena_len: usize, chunk_size: u32, shares: usize) -> Result<Self, GeometryError> {
        if !chunk_size.is_power_of_two() || (chunk_size as usize) < BLOCK {
            return Err(GeometryError::ChunkSize(chunk_size));
        }
        if shares == 0 || shares > MAX_SHARES {
            return Err(GeometryError::Shares { wanted: shares, most: MAX_SHARES });
        }
        let per_chunk = chunk_size as usize + HEADER_BYTES;
        let mut chunks = arena_len.saturating_sub(BLOCK) / per_chunk;
        // Aligning the first chunk may have cost the last one its place.
        while chunks > 0 && data_start(chunks) + chunks * chunk_size as usize > arena_len {
            chunks -= 1;
        }
        if chunks < shares {
            let least = data_start(shares) + shares * chunk_size as usize;
            return Err(GeometryError::TooSmall { arena_len, least });
        }
        let chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
        Ok(Self { arena_len, chunk_size, chunks, shares: shares as u16 })
    }

    /// The byte at which a word of a chunk's header lies.
    pub(super) fn header_at(&self, chunk: u32) -> usize {
        assert!(chunk < self.chunks, "chunk {chunk} of {}", self.chunks);
        BLOCK + chunk as usize * HEADER_BYTES
    }

    /// The byte at which a chunk begins.
    pub(super) fn chunk_at(&self, chunk: u32) -> usize {
        assert!(chunk < self.chunks, "chunk {chunk} of {}", self.chunks);
        data_start(self.chunks as usize) + chunk as usize * self.chunk_size as usize
    }

    /// The chunks that belong to a share: equal parts, whatever the number.
    pub(super) fn chunks_of(&self, share: u16) -> std::ops::Range<u32> {
        let bound = |n: u16| (u64::from(self.chunks) * u64::from(n) / u64::from(self.shares)) as u32;
        bound(share)..bound(share + 1)
    }
}

fn data_start(chunks: usize) -> usize {
    (BLOCK + chunks * HEADER_BYTES).next_multiple_of(BLOCK)
}

/// The byte at which a word of a chunk's header lies, from the header's start.
pub(super) fn live_offset(word: LiveWord) -> usize {
    word as usize * WORD
}

/// What the superblock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub(super) geometry: Geometry,
    pub(super) generation: u64,
    pub(super) directories: Vec<DirectoryId>,
}

impl Superblock {
    /// The word, the last to be written and the first to be taken away, that makes the arena count.
    pub(super) const SEAL: (usize, u64) = (0, MAGIC);

    /// Bytes and words to store before the seal: (byte, value).
    pub(super) fn words(&self) -> Vec<(usize, u64)> {
        let geometry = &self.geometry;
        let mut fixed = [
            VERSION,
            geometry.arena_len as u64,
            u64::from(geometry.chunk_size),
            u64::from(geometry.chunks),
            u64::from(geometry.shares),
            self.generation,
            0,
        ];
        let ids: Vec<u64> = self.directories.iter().flat_map(|id| uuid_words(*id)).collect();
        fixed[6] = checksum(fixed[..6].iter().chain(&ids));
        let place = |first: usize| move |(n, word): (usize, &u64)| ((first + n) * WORD, *word);
        let mut words: Vec<_> = fixed.iter().enumerate().map(place(1)).collect();
        words.extend(ids.iter().enumerate().map(place(FIRST_DIRECTORY_WORD)));
        words
    }

    /// Reads what an earlier process left. Believes nothing before the checksum fits.
    pub(super) fn read(arena: &[u8]) -> Result<Self, UnreadableReason> {
        if arena.len() < BLOCK {
            return Err(UnreadableReason::TooShort { has: arena.len() as u64, needs: BLOCK as u64 });
        }
        let word = |n: usize| word_at(arena, n * WORD);
        match word(0) {
            0 => return Err(UnreadableReason::Blank),
            MAGIC => (),
            _ => return Err(UnreadableReason::NotATail),
        }
        if word(1) != VERSION {
            return Err(UnreadableReason::Version { found: word(1), known: VERSION });
        }
        let shares = usize::try_from(word(5)).unwrap_or(usize::MAX);
        if shares > MAX_SHARES {
            return Err(UnreadableReason::Damaged);
        }
        let fixed: Vec<u64> = (1..SUPERBLOCK_WORDS - 1).map(word).collect();
        let ids: Vec<u64> = (0..2 * shares).map(|n| word(FIRST_DIRECTORY_WORD + n)).collect();
        if checksum(fixed.iter().chain(&ids)) != word(7) {
            return Err(UnreadableReason::Damaged);
        }
        if word(2) > arena.len() as u64 {
            return Err(UnreadableReason::TooShort { has: arena.len() as u64, needs: word(2) });
        }
        let chunk_size = u32::try_from(word(3)).map_err(|_| UnreadableReason::Damaged)?;
        let geometry =
            Geometry::fit(word(2) as usize, chunk_size, shares).map_err(|_| UnreadableReason::Damaged)?;
        if u64::from(geometry.chunks) != word(4) {
            return Err(UnreadableReason::Damaged);
        }
        let directories = ids.chunks_exact(2).map(|pair| words_uuid(pair[0], pair[1])).collect();
        Ok(Self { geometry, generation: word(6), directories })
    }
}

/// Where a segment ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The segment's base offset.
    pub segment_base: Offset,
    /// The size of its `.log`, in bytes.
    pub at: u64,
}

/// The fields of a chunk header that stay as they are from its allocation to its release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    pub(super) sequence: u64,
    pub(super) topic: TopicId,
    pub(super) partition: PartitionIndex,
    pub(super) share: u16,
    pub(super) segment_base: Offset,
    pub(super) file_start: u64,
    pub(super) begin: u32,
    /// How the segment before ended, if it was this tail that went on from there.
    pub(super) previous: Option<SegmentEnd>,
}

impl ChunkHeader {
    /// Bytes, from the header's start, and words to store before the state says that the chunk is
    /// owned.
    pub(super) fn words(&self) -> [(usize, u64); HEADER_WORDS - 1] {
        let fixed = self.fixed();
        let mut words = [(0, 0); HEADER_WORDS - 1];
        words[0] = (live_offset(LiveWord::Published), u64::from(self.begin));
        words[1] = (live_offset(LiveWord::FirstBatch), NONE);
        words[2] = (live_offset(LiveWord::Durable), u64::from(self.begin));
        for (n, value) in fixed.into_iter().chain([checksum(&fixed)]).enumerate() {
            words[3 + n] = ((FIRST_FIXED_WORD + n) * WORD, value);
        }
        words
    }

    fn fixed(&self) -> [u64; FIXED_WORDS] {
        let [topic_high, topic_low] = uuid_words(self.topic);
        [
            self.sequence,
            topic_high,
            topic_low,
            u64::from(self.partition.0.cast_unsigned()) | u64::from(self.share) << 32,
            self.segment_base.get(),
            self.file_start,
            u64::from(self.begin),
            self.previous.map_or(NONE, |previous| previous.segment_base.get()),
            self.previous.map_or(NONE, |previous| previous.at),
        ]
    }
}

/// A chunk header as an earlier process left it, checked as far as one header can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnedChunk {
    pub(super) header: ChunkHeader,
    pub(super) published: u32,
    /// Where the first batch begins that begins in the chunk.
    pub(super) first_batch: Option<u32>,
    pub(super) durable: u32,
}

/// What lies in a place of the header table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundChunk {
    Free,
    Owned(OwnedChunk),
    /// Neither: something else than Aplomb wrote here, or the memory is bad.
    Damaged,
}

impl FoundChunk {
    /// Reads the header of `chunk`.
    pub(super) fn read(arena: &[u8], geometry: &Geometry, chunk: u32) -> Self {
        let at = geometry.header_at(chunk);
        let word = |n: usize| word_at(arena, at + n * WORD);
        let state = word(LiveWord::State as usize);
        if state == 0 {
            return Self::Free;
        }
        Self::owned(word, state, geometry, chunk).map_or(Self::Damaged, Self::Owned)
    }

    fn owned(word: impl Fn(usize) -> u64, state: u64, geometry: &Geometry, chunk: u32) -> Option<OwnedChunk> {
        let header = ChunkHeader {
            sequence: word(4),
            topic: words_uuid(word(5), word(6)),
            partition: PartitionIndex((word(7) as u32).cast_signed()),
            share: u16::try_from(word(7) >> 32).ok()?,
            segment_base: offset(word(8))?,
            file_start: word(9),
            begin: u32::try_from(word(10)).ok()?,
            previous: match word(11) {
                NONE => None,
                base => Some(SegmentEnd { segment_base: offset(base)?, at: word(12) }),
            },
        };
        let size = u64::from(geometry.chunk_size);
        let within = |n: u64| (u64::from(header.begin)..=size).contains(&n).then_some(n as u32);
        let published = within(word(LiveWord::Published as usize))?;
        let durable = within(word(LiveWord::Durable as usize))?;
        let first_batch = match word(LiveWord::FirstBatch as usize) {
            NONE => None,
            at => Some(within(at)?),
        };
        let is_gone = word(LiveWord::PreviousGone as usize) == header.sequence;
        let sound = state == header.sequence
            && checksum(&header.fixed()) == word(HEADER_WORDS - 1)
            && header.share < geometry.shares
            && geometry.chunks_of(header.share).contains(&chunk)
            && header.file_start.is_multiple_of(size)
            && header.file_start.checked_add(size).is_some();
        let header = ChunkHeader { previous: header.previous.filter(|_| !is_gone), ..header };
        sound.then_some(OwnedChunk { header, published, first_batch, durable })
    }
}

fn word_at(arena: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(arena[at..at + WORD].try_into().expect("eight bytes"))
}

fn offset(word: u64) -> Option<Offset> {
    i64::try_from(word).ok().and_then(Offset::from_wire)
}

fn uuid_words(id: Uuid) -> [u64; 2] {
    let raw = u128::from_be_bytes(id.0);
    [(raw >> 64) as u64, raw as u64]
}

fn words_uuid(high: u64, low: u64) -> Uuid {
    Uuid::from_u128(u128::from(high) << 64 | u128::from(low))
}

fn checksum<'a>(words: impl IntoIterator<Item = &'a u64>) -> u64 {
    let mut crc = Crc32c::new();
    for word in words {
        crc.update(&word.to_ne_bytes());
    }
    u64::from(crc.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_the_chunks_among_them_and_leave_none_over() {
        for (chunks, shares) in [(1u32, 1usize), (7, 3), (16, 4), (100, 7)] {
            let len = data_start(chunks as usize) + chunks as usize * BLOCK;
            let geometry = Geometry::fit(len, BLOCK as u32, shares).expect("fits");
            assert_eq!(geometry.chunks, chunks);
            let mut next = 0;
            for share in 0..shares as u16 {
                let part = geometry.chunks_of(share);
                assert_eq!(part.start, next);
                assert!(part.len() >= chunks as usize / shares);
                next = part.end;
            }
            assert_eq!(next, chunks);
        }
    }

    #[test]
    fn a_gibibyte_has_a_chunk_for_each_of_ten_thousand_partitions() {
        let geometry = Geometry::fit(1 << 30, DEFAULT_CHUNK_SIZE, 1).expect("fits");
        assert!(geometry.chunks > 16_300, "{geometry:?}");
        let last = geometry.chunks - 1;
        assert!(geometry.chunk_at(last) + DEFAULT_CHUNK_SIZE as usize <= 1 << 30);
        assert!(geometry.header_at(last) + HEADER_BYTES <= geometry.chunk_at(0));
        assert_eq!(geometry.chunk_at(0) % BLOCK, 0);
    }

    #[test]
    fn what_cannot_be_laid_out_is_refused() {
        assert_eq!(Geometry::fit(1 << 20, 5000, 1), Err(GeometryError::ChunkSize(5000)));
        assert_eq!(Geometry::fit(1 << 20, 2048, 1), Err(GeometryError::ChunkSize(2048)));
        assert!(matches!(Geometry::fit(1 << 20, 4096, 0), Err(GeometryError::Shares { .. })));
        assert!(matches!(Geometry::fit(1 << 20, 4096, 1000), Err(GeometryError::Shares { .. })));
        let Err(GeometryError::TooSmall { least, .. }) = Geometry::fit(10_000, 4096, 3) else {
            panic!("three chunks do not fit into 10,000 bytes")
        };
        assert!(Geometry::fit(least - 1, 4096, 3).is_err());
        assert_eq!(Geometry::fit(least, 4096, 3).map(|g| g.chunks), Ok(3));
    }
}
