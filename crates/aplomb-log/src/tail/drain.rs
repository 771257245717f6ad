//! Reading back what an earlier process left in its arena.
//!
//! Only what can be proved comes out: chunks whose headers are whole, put together in the order of
//! their segments, cut at the last whole batch whose checksum is right and whose offsets go on from
//! the one before. All of it may already be in the files, so writing it there again must be
//! harmless, and is: same bytes, same place.
//!
//! The order at start: [`OldTail::open`], [`OldTail::recover`], write the runs to the files and
//! sync them, and only then format the memory anew ([`super::open_shares`]): its first store gives
//! up everything that is here. The old geometry is in the superblock; nothing depends on today's
//! configuration.

use std::collections::{BTreeMap, VecDeque};

use aplomb_model::batch::{Batches, Stop};
use aplomb_model::{DirectoryId, Offset, PartitionIndex, TopicId};

use super::arena::ArenaMemory;
use super::error::{OffsetsOutOfOrder, UnreadableReason};
use super::format::{FoundChunk, Geometry, OwnedChunk, SegmentEnd, Superblock};

/// An arena that an earlier process left.
#[derive(Debug)]
pub struct OldTail {
    memory: ArenaMemory,
    superblock: Superblock,
}

/// Memory that cannot be read back, and why.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Unreadable {
    /// The memory, unchanged.
    pub memory: ArenaMemory,
    /// What is wrong with it.
    pub reason: UnreadableReason,
}

/// What is in an old tail.
#[derive(Debug)]
pub struct Recovered<'a> {
    /// The partitions, by directory, topic and number.
    pub partitions: Vec<OldPartition<'a>>,
    /// Chunks whose headers make no sense. No crash of a process leaves any: the memory was
    /// overwritten, or is bad.
    pub damaged_chunks: u32,
}

/// What an old tail has of one partition.
#[derive(Debug)]
pub struct OldPartition<'a> {
    /// The log directory that the partition was in.
    pub directory: DirectoryId,
    /// Whose log it is, with the partition's number.
    pub topic: TopicId,
    /// The partition's number in its topic.
    pub partition: PartitionIndex,
    /// Its batches, in order. Empty if the disk has all that is left of them.
    pub runs: Vec<TailRun<'a>>,
    /// Where segments end, in order; empty only if nothing is left, and the last is the end of the
    /// log. From the first of these segments on the tail knows all: longer files are cut to these
    /// sizes, segments that are not among them are not part of the log. Both come from truncations
    /// that the disk had not carried out.
    pub segments: Vec<SegmentEnd>,
    /// Where batches should have followed and did not check out. No crash of a process leads to
    /// this.
    pub damage: Option<TailDamage>,
}

/// Whole batches that follow each other in one segment.
#[derive(Debug)]
pub struct TailRun<'a> {
    /// Base offset of the segment.
    pub segment_base: Offset,
    /// Where the first batch begins in the segment's `.log`, in bytes.
    pub at: u64,
    /// Base offset of the first batch.
    pub first: Offset,
    /// The offset behind the last batch.
    pub end: Offset,
    /// Bytes of all slices.
    pub len: u64,
    /// Of those, so many from the start are in the file already, according to the disk.
    pub durable: u64,
    /// The bytes, in order.
    pub slices: Vec<&'a [u8]>,
}

/// Bytes that were marked as part of the log and are no batches.
#[derive(Debug)]
pub struct TailDamage {
    /// Base offset of the segment.
    pub segment_base: Offset,
    /// Where in the segment's `.log` the batches end.
    pub at: u64,
    /// Bytes of this partition that are given up; 0 if the disk has all that was damaged.
    pub lost: u64,
    /// What is wrong with the bytes at `at`.
    pub why: DamageKind,
}

/// What can be wrong with bytes of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// They are not a whole, intact batch.
    NotABatch(Stop),
    /// The batch's offsets do not go on from the one before.
    Offsets(OffsetsOutOfOrder),
    /// Two chunks claim the same place.
    Overlap,
}

impl TailDamage {
    /// Whether all is well up to a batch of which the end is missing.
    fn is_cut(&self) -> bool {
        matches!(self.why, DamageKind::NotABatch(Stop::Cut { .. }))
    }
}

impl OldTail {
    /// Looks at memory that may hold an arena.
    ///
    /// # Errors
    /// [`Unreadable`], with the memory. [`UnreadableReason::Blank`] means that there is nothing to
    /// recover; with any other reason there may be, and an operator should decide.
    pub fn open(memory: ArenaMemory) -> Result<Self, Unreadable> {
        match Superblock::read(memory.as_slice()) {
            Ok(superblock) => Ok(Self { memory, superblock }),
            Err(reason) => Err(Unreadable { memory, reason }),
        }
    }

    /// Counts the times that the arena was formatted.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.superblock.generation
    }

    /// How many bytes of memory it is in.
    #[must_use]
    pub fn size(&self) -> usize {
        self.memory.size()
    }

    /// The log directories that had a share.
    #[must_use]
    pub fn directories(&self) -> &[DirectoryId] {
        &self.superblock.directories
    }

    /// The memory, to be formatted anew.
    #[must_use]
    pub fn into_memory(self) -> ArenaMemory {
        self.memory
    }

    /// Puts together what each partition has here. Costs a checksum over all of it.
    #[must_use]
    pub fn recover(&self) -> Recovered<'_> {
        let geometry = &self.superblock.geometry;
        let mut owners: BTreeMap<(u16, TopicId, PartitionIndex), Vec<Piece<'_>>> = BTreeMap::new();
        let mut damaged_chunks = 0;
        for chunk in 0..geometry.chunks {
            match FoundChunk::read(self.memory.as_slice(), geometry, chunk) {
                FoundChunk::Free => (),
                FoundChunk::Damaged => damaged_chunks += 1,
                FoundChunk::Owned(found) if found.published == found.header.begin => (),
                FoundChunk::Owned(found) => {
                    let owner = (found.header.share, found.header.topic, found.header.partition);
                    owners.entry(owner).or_default().push(Piece::new(found, self.bytes_of(geometry, chunk)));
                }
            }
        }
        let partitions = owners.into_iter().map(|((share, topic, partition), pieces)| {
            let (runs, segments, damage) = assemble(pieces);
            let directory = self.superblock.directories[usize::from(share)];
            OldPartition { directory, topic, partition, runs, segments, damage }
        });
        Recovered {
            partitions: partitions.filter(|found| !found.runs.is_empty() || found.damage.is_some()).collect(),
            damaged_chunks,
        }
    }

    fn bytes_of(&self, geometry: &Geometry, chunk: u32) -> &[u8] {
        &self.memory.as_slice()[geometry.chunk_at(chunk)..][..geometry.chunk_size as usize]
    }
}

/// The published bytes of one chunk.
struct Piece<'a> {
    found: OwnedChunk,
    chunk: &'a [u8],
}

impl<'a> Piece<'a> {
    fn new(found: OwnedChunk, chunk: &'a [u8]) -> Self {
        Self { found, chunk }
    }

    fn segment_base(&self) -> Offset {
        self.found.header.segment_base
    }

    fn starts_at(&self) -> u64 {
        self.found.header.file_start + u64::from(self.found.header.begin)
    }

    fn ends_at(&self) -> u64 {
        self.found.header.file_start + u64::from(self.found.published)
    }

    fn bytes_from(&self, at: u64) -> &'a [u8] {
        &self.chunk[(at - self.found.header.file_start) as usize..self.found.published as usize]
    }

    /// Where the first batch begins that begins here.
    fn first_batch_at(&self) -> Option<u64> {
        self.found.first_batch.map(|at| self.found.header.file_start + u64::from(at))
    }
}

/// Bytes that follow each other, before anything in them is believed.
struct Stretch<'a> {
    segment_base: Offset,
    previous: Option<SegmentEnd>,
    at: u64,
    ends_at: u64,
    durable_to: u64,
    slices: Vec<&'a [u8]>,
}

impl<'a> Stretch<'a> {
    /// Starts at the first batch that begins in `piece`. What lies before it is the end of a batch
    /// of which the beginning was released, because the disk has it, or was never published.
    fn start(piece: &Piece<'a>) -> Option<Self> {
        let at = piece.first_batch_at().filter(|at| *at < piece.ends_at())?;
        let mut stretch = Self {
            segment_base: piece.segment_base(),
            previous: piece.found.header.previous,
            at,
            ends_at: at,
            durable_to: at,
            slices: Vec::new(),
        };
        stretch.extend(piece);
        Some(stretch)
    }

    fn extend(&mut self, piece: &Piece<'a>) {
        self.slices.push(piece.bytes_from(self.ends_at));
        if self.durable_to == self.ends_at {
            let durable = piece.found.header.file_start + u64::from(piece.found.durable);
            self.durable_to = durable.clamp(self.durable_to, piece.ends_at());
        }
        self.ends_at = piece.ends_at();
    }

    /// Checks batch by batch. `floor` is where the offsets of the stretch before end.
    fn check(&self, floor: Offset) -> (Option<TailRun<'a>>, Option<TailDamage>) {
        let mut next = floor.max(self.segment_base);
        let (mut first, mut len) = (None, 0);
        let mut walk = Batches::in_slices(&self.slices).checked();
        let why = loop {
            let Some(batch) = walk.next() else {
                let stop = walk.end().expect("the walk has ended").why;
                break (stop != Stop::Complete).then_some(DamageKind::NotABatch(stop));
            };
            let base = batch.header.base_offset();
            if base < next {
                break Some(DamageKind::Offsets(OffsetsOutOfOrder { found: base, expected: next }));
            }
            first = first.or(Some(base));
            next = batch.header.last_offset().next();
            len = batch.position + batch.header.size() as u64;
        };
        let damage = why.map(|why| TailDamage {
            segment_base: self.segment_base,
            at: self.at + len,
            lost: self.ends_at - self.at - len,
            why,
        });
        let run = first.map(|first| TailRun {
            segment_base: self.segment_base,
            at: self.at,
            first,
            end: next,
            len,
            durable: (self.durable_to - self.at).min(len),
            slices: part(&self.slices, 0, len),
        });
        (run, damage)
    }

    /// The bytes that the disk does not have.
    fn behind_durable(&self) -> Self {
        Self {
            at: self.durable_to,
            slices: part(&self.slices, self.durable_to - self.at, self.ends_at - self.at),
            ..*self
        }
    }
}

/// The bytes from `from` to `to` of what the slices hold.
fn part<'a>(slices: &[&'a [u8]], from: u64, to: u64) -> Vec<&'a [u8]> {
    let mut start = 0;
    let parts = slices.iter().map(|slice| {
        let end = start + slice.len() as u64;
        let kept = from.clamp(start, end) - start..to.clamp(start, end) - start;
        start = end;
        &slice[kept.start as usize..kept.end as usize]
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Joins a partition's chunks and checks them. From the first damage that the disk cannot make up
/// for, nothing counts: a log has no holes.
fn assemble(mut pieces: Vec<Piece<'_>>) -> (Vec<TailRun<'_>>, Vec<SegmentEnd>, Option<TailDamage>) {
    pieces.sort_by_key(|piece| (piece.segment_base(), piece.starts_at(), piece.found.header.sequence));
    let (mut stretches, overlap) = join(&pieces);
    let (mut runs, mut segments): (Vec<TailRun<'_>>, Vec<SegmentEnd>) = (Vec::new(), Vec::new());
    let mut damage = None;
    while let Some(stretch) = stretches.pop_front() {
        let (run, found) = stretch.check(runs.last().map_or(Offset::ZERO, |run| run.end));
        if let Some(run) = run {
            note_end(&mut segments, &stretch, run.at + run.len);
            runs.push(run);
        }
        let Some(found) = found else { continue };
        if found.is_cut() && stretches.is_empty() && overlap.is_none() {
            // The process died while it truncated the log: that releases chunks from the newest on,
            // also those in which a batch ends.
            return (runs, segments, damage);
        }
        if stretch.durable_to <= found.at {
            let behind: u64 = stretches.iter().map(|later| later.ends_at - later.at).sum();
            return (runs, segments, Some(TailDamage { lost: found.lost + behind, ..found }));
        }
        note_end(&mut segments, &stretch, stretch.durable_to);
        stretches.push_front(stretch.behind_durable());
        damage.get_or_insert(TailDamage { lost: 0, ..found });
    }
    (runs, segments, overlap.or(damage))
}

/// A stretch's segment goes on to `at` at least.
fn note_end(segments: &mut Vec<SegmentEnd>, stretch: &Stretch<'_>, at: u64) {
    if segments.is_empty() {
        segments.extend(stretch.previous);
    }
    segments.pop_if(|last| last.segment_base == stretch.segment_base);
    segments.push(SegmentEnd { segment_base: stretch.segment_base, at });
}

/// Joins what follows each other, up to the first place that two chunks claim.
fn join<'a>(pieces: &[Piece<'a>]) -> (VecDeque<Stretch<'a>>, Option<TailDamage>) {
    let mut stretches: VecDeque<Stretch<'_>> = VecDeque::new();
    for (n, piece) in pieces.iter().enumerate() {
        match stretches.back_mut().filter(|last| last.segment_base == piece.segment_base()) {
            Some(last) if last.ends_at == piece.starts_at() => last.extend(piece),
            Some(last) if last.ends_at > piece.starts_at() => {
                let (segment_base, at) = (last.segment_base, last.ends_at);
                let lost = pieces[n..].iter().map(|piece| piece.ends_at() - piece.starts_at()).sum();
                return (stretches, Some(TailDamage { segment_base, at, lost, why: DamageKind::Overlap }));
            }
            Some(_) | None => stretches.extend(Stretch::start(piece)),
        }
    }
    (stretches, None)
}
