//! A log's future replica on another disk (KIP-113): a copy of its files that catches up with it
//! and then replaces it.
//!
//! What always holds: the copy's segments are the log's, byte for byte and of the same names, up to
//! [`FutureLog::end`]; their indexes are made anew from the batches, whose checksums are verified
//! on the way. Bytes come from the source's files or, where these do not have them yet, from the
//! tail. Nothing here waits: a [`FutureStep`] says what to ask a disk for.
//!
//! [`Log::relocate`] replaces the log. It changes memory only, and only once the copy lacks no more
//! than a small end of the active segment that the tail holds: these batches go into memory of the
//! other disk's share, the log goes on there, and the old share's memory is released. The broker
//! decides when, and renames the directories.

use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, FileName, Lane, ReadPattern, SmallFile};
use aplomb_model::Offset;
use aplomb_model::batch::{Batches, Stop};
use bytes::Bytes;

use super::Log;
use crate::index::{AbortedTransaction, BatchPosition, SegmentIndexes};
use crate::layout::{LEADER_EPOCH_CHECKPOINT, SegmentFile};
use crate::tail::{BatchAt, LogEnd, TailShare};

/// The most that the copy may lack when it replaces the log: producers wait while this is copied in
/// memory.
const MOST_BATCHES: usize = 2_000;
const MOST_BYTES: u64 = 512 << 10;

/// A closed segment that the copy has.
#[derive(Debug)]
struct FutureSegment {
    base: Offset,
    index_len: u64,
    time_index_len: u64,
    greatest: Option<aplomb_model::Timestamp>,
}

/// A copy of a log that still grows.
#[derive(Debug)]
pub struct FutureLog {
    directory: Box<str>,
    closed: Vec<FutureSegment>,
    /// The segment that is being copied, how many of its bytes were, and the offset behind these.
    segment: Offset,
    at: u64,
    end: Offset,
    indexes: SegmentIndexes,
    unsynced: Vec<(Offset, SegmentFile)>,
    /// Segments that the log has deleted since they were copied.
    deleted: Vec<Offset>,
    /// What the next read asks for at least, where a batch is larger than usual, and what the last
    /// one asked for.
    window: u32,
    asked: u32,
    bytes: u64,
    recovery_point: Offset,
    snapshots: Vec<Offset>,
}

/// What a copy needs next.
#[derive(Debug)]
pub enum FutureStep {
    /// A read of the source, whose bytes go to [`FutureLog::on_read`].
    Read(DiskCommand),
    /// Writes at the target.
    Write(Vec<DiskCommand>),
    /// Nothing: it has all of the log so far.
    CaughtUp,
}

/// A source file does not hold the batch that the log should have there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("segment {segment} holds no batch at byte {at}: {why}")]
pub struct FutureDamaged {
    segment: Offset,
    at: u64,
    why: String,
}

/// Small files that make the copy a log of its own.
#[derive(Debug)]
pub struct FutureState {
    /// The `leader-epoch-checkpoint` of the copy.
    pub epochs: SmallFile,
    /// At which offsets the source may have producer snapshots, the newest first. To be copied down
    /// to the first at or below [`Self::recovery_point`]; missing ones are passed over.
    pub snapshots: Vec<Offset>,
    /// The recovery point that the copy will have.
    pub recovery_point: Offset,
}

impl Log {
    /// Begins a copy in `directory` of another disk.
    #[must_use]
    pub fn begin_future(&self, directory: &str) -> FutureLog {
        let first = self.segments.first_base();
        FutureLog {
            directory: directory.into(),
            closed: Vec::new(),
            segment: first,
            at: 0,
            end: first,
            indexes: SegmentIndexes::new(first, self.config.indexes),
            unsynced: Vec::new(),
            deleted: Vec::new(),
            window: 0,
            asked: 0,
            bytes: 0,
            recovery_point: Offset::ZERO,
            snapshots: Vec::new(),
        }
    }

    /// The copy replaces the log, with memory of `share`. Gives its files that are no longer part
    /// of the log.
    ///
    /// # Errors
    /// The copy, if it still lacks too much, or the share has no room.
    pub fn relocate(
        &mut self,
        copy: FutureLog,
        share: &Arc<TailShare>,
    ) -> Result<Vec<FileName>, Box<FutureLog>> {
        let from = LogEnd { segment_base: copy.segment, at: copy.at, offset: copy.end };
        if !copy.is_close_to(self) || copy.owes_closed() {
            return Err(Box::new(copy));
        }
        let Some(tail) = self.tail.copy_to(share, from, MOST_BATCHES) else { return Err(Box::new(copy)) };
        let mut old = std::mem::replace(&mut self.tail, tail);
        let FutureLog { mut indexes, closed, deleted, recovery_point, snapshots, segment, .. } = copy;
        for batch in old.batches_from(from.offset) {
            indexes.on_append(place(&batch));
        }
        old.clear(old.end());
        let active = self.segments.active_mut();
        active.indexes = indexes;
        active.aborted.forget_written();
        for own in self.segments.closed_mut() {
            let copied = closed.binary_search_by_key(&own.base, |copied| copied.base);
            let copied = &closed[copied.expect("a copy of the active segment has all before it")];
            own.index_len = copied.index_len;
            own.time_index_len = copied.time_index_len;
            own.greatest = copied.greatest.or(own.greatest);
        }
        self.owed.relocate(segment, recovery_point, snapshots);
        self.producers.forget_snapshots();
        let first = self.segments.first_base();
        let older = closed.iter().map(|copied| copied.base).filter(|base| *base < first);
        let files = deleted
            .into_iter()
            .chain(older)
            .flat_map(|base| SegmentFile::ALL.into_iter().map(move |kind| (kind, base)));
        Ok(files.map(|(kind, base)| self.segments.file(kind, base)).collect())
    }
}

impl FutureLog {
    /// Where on the other disk it is.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// Its directory was renamed.
    pub fn rename(&mut self, directory: &str) {
        self.directory = directory.into();
    }

    /// The offset behind its last batch.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Bytes of its `.log` files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The recovery point that it will have.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// Whether closed segments still have to be synced, as [`Log::relocate`] requires.
    #[must_use]
    pub fn owes_closed(&self) -> bool {
        self.unsynced.iter().any(|(base, _)| *base != self.segment)
    }

    /// Whether it lacks so little that [`Log::relocate`] may succeed.
    #[must_use]
    pub fn is_close_to(&self, log: &Log) -> bool {
        let active = log.segments.active();
        active.base == self.segment && active.size - self.at <= MOST_BYTES
    }

    /// The next step, of about `most` bytes.
    ///
    /// # Errors
    /// [`FutureDamaged`]
    pub fn step(&mut self, log: &Log, most: u32) -> Result<FutureStep, FutureDamaged> {
        let active = log.segments.active();
        let size = if active.base == self.segment {
            active.size
        } else if let Some(closed) = log.segments.closed().iter().find(|closed| closed.base == self.segment) {
            if self.at == closed.size {
                return Ok(FutureStep::Write(self.close(&closed.aborted, log)));
            }
            closed.size
        } else {
            // The log has deleted the segment.
            self.deleted.push(self.segment);
            self.begin_next(log);
            return self.step(log, most);
        };
        if self.at == size {
            return Ok(FutureStep::CaughtUp);
        }
        let on_disk = log.on_disk(self.segment, size);
        if self.at < on_disk {
            let len = most.max(self.window).min(u32::try_from(on_disk - self.at).unwrap_or(u32::MAX));
            self.asked = len;
            return Ok(FutureStep::Read(DiskCommand::Read {
                file: log.segments.file(SegmentFile::Log, self.segment),
                at: self.at,
                len,
                pattern: ReadPattern::Sequential,
            }));
        }
        let Some(found) = log.tail.look_from(self.end, most.into()).filter(|found| found.at == self.at)
        else {
            return Err(self.damaged("nor is one in memory"));
        };
        for batch in log.tail.batches_from(self.end).take_while(|batch| batch.batch.last_offset < found.end) {
            self.indexes.on_append(place(&batch));
        }
        Ok(FutureStep::Write(self.append(found.bytes, found.end, found.data)))
    }

    /// Takes what the last read gave. Returns the writes at the target.
    ///
    /// # Errors
    /// [`FutureDamaged`]
    pub fn on_read(&mut self, bytes: &Bytes) -> Result<Vec<DiskCommand>, FutureDamaged> {
        let mut batches = Batches::new(bytes).checked();
        let (mut end, mut whole) = (self.end, 0);
        for view in batches.by_ref() {
            let header = &view.header;
            if header.base_offset() < end {
                return Err(self.damaged("its offsets do not rise"));
            }
            let size = header.size();
            self.indexes.on_append(BatchPosition {
                last_offset: header.last_offset(),
                max_timestamp: header.max_timestamp(),
                position: u32::try_from(self.at + view.position)
                    .map_err(|_| self.damaged("it is too far"))?,
                size: u32::try_from(size).map_err(|_| self.damaged("it is too large"))?,
            });
            end = header.last_offset().next();
            whole = view.position as usize + size;
        }
        self.window = match batches.end().expect("an exhausted walk knows its end").why {
            Stop::Complete => 0,
            Stop::Cut { needed, .. } => u32::try_from(needed).map_err(|_| self.damaged("it is too large"))?,
            stop => return Err(self.damaged(&format!("{stop:?}"))),
        };
        if whole == 0 {
            let is_short = bytes.len() < self.asked as usize || bytes.len() >= self.window as usize;
            return if is_short { Err(self.damaged("the file ends there")) } else { Ok(Vec::new()) };
        }
        Ok(self.append(whole as u64, end, vec![bytes.slice(..whole)]))
    }

    /// The file of the last read is missing: the log has deleted the segment in the meantime.
    ///
    /// # Errors
    /// [`FutureDamaged`] if it has not.
    pub fn on_missing(&self, log: &Log) -> Result<(), FutureDamaged> {
        let here = log.segments.closed().iter().map(|segment| segment.base);
        if here.chain([log.segments.active().base]).any(|base| base == self.segment) {
            return Err(self.damaged("there is no such file"));
        }
        Ok(())
    }

    /// The index entries of the present segment that are not written yet; with them, a sync makes
    /// the copy complete so far.
    pub fn take_index_writes(&mut self) -> Vec<DiskCommand> {
        let entries = [
            (SegmentFile::OffsetIndex, self.indexes.offsets.take_unwritten()),
            (SegmentFile::TimeIndex, self.indexes.times.take_unwritten()),
        ];
        let base = self.segment;
        // An empty index is a file, too.
        entries
            .into_iter()
            .map(|(kind, unwritten)| self.write(kind, base, unwritten.unwrap_or_default()))
            .collect()
    }

    /// The files written since the last call. Their sync has to end before the next step.
    pub fn take_sync(&mut self) -> Vec<FileName> {
        let unsynced = std::mem::take(&mut self.unsynced);
        unsynced.into_iter().map(|(base, kind)| self.file(kind, base)).collect()
    }

    /// The state that goes with the copy so far; `None` while it does not reach the log's recovery
    /// point.
    #[must_use]
    pub fn state(&mut self, log: &Log) -> Option<FutureState> {
        let recovery_point = log.recovery_point();
        if self.end < recovery_point {
            return None;
        }
        self.recovery_point = recovery_point;
        self.snapshots.clear();
        let name = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", self.directory));
        let mut snapshots = Vec::new();
        if let Some(loose) = log.owed.loose_snapshots() {
            snapshots.extend(loose);
            snapshots.extend(log.segments.closed().iter().map(|segment| segment.base));
            snapshots.push(log.segments.active().base);
            snapshots.sort_unstable_by(|a, b| b.cmp(a));
            snapshots.dedup();
        }
        Some(FutureState {
            epochs: SmallFile { name, content: log.epochs().encode().into() },
            snapshots,
            recovery_point,
        })
    }

    /// Takes a producer snapshot of the source.
    pub fn take_snapshot(&mut self, at: Offset, content: Bytes, log: &Log) -> DiskCommand {
        let is_base = log.segments.active().base == at || log.segments.closed().iter().any(|s| s.base == at);
        if !is_base {
            let place = self.snapshots.partition_point(|known| *known < at);
            self.snapshots.insert(place, at);
        }
        let file = SmallFile { name: self.file(SegmentFile::Snapshot, at), content };
        DiskCommand::Publish { files: vec![file], lane: Lane::Housekeeping }
    }

    fn append(&mut self, bytes: u64, end: Offset, data: Vec<Bytes>) -> Vec<DiskCommand> {
        let file = self.file(SegmentFile::Log, self.segment);
        let write = DiskCommand::Write { file, at: self.at, data };
        self.at += bytes;
        self.bytes += bytes;
        self.end = end;
        self.note(self.segment, SegmentFile::Log);
        vec![write]
    }

    /// The segment is whole.
    fn close(&mut self, aborted: &[AbortedTransaction], log: &Log) -> Vec<DiskCommand> {
        let base = self.segment;
        self.indexes.on_close();
        let mut writes = self.take_index_writes();
        if self.at == 0 {
            writes.push(self.write(SegmentFile::Log, base, (0, Bytes::new())));
        }
        if !aborted.is_empty() {
            let entries: Vec<u8> = aborted.iter().flat_map(AbortedTransaction::encode).collect();
            writes.push(self.write(SegmentFile::TxnIndex, base, (0, entries.into())));
        }
        self.closed.push(FutureSegment {
            base,
            index_len: self.indexes.offsets.file_len(),
            time_index_len: self.indexes.times.file_len(),
            greatest: self.indexes.greatest_timestamp().map(|greatest| greatest.timestamp),
        });
        self.begin_next(log);
        writes
    }

    fn begin_next(&mut self, log: &Log) {
        let closed = log.segments.closed().iter().map(|segment| segment.base);
        let next = closed.chain([log.segments.active().base]).find(|base| *base > self.segment);
        self.segment = next.expect("the active segment is the last");
        self.at = 0;
        self.end = self.segment;
        self.indexes = SegmentIndexes::new(self.segment, log.config.indexes);
    }

    fn write(&mut self, kind: SegmentFile, base: Offset, (at, bytes): (u64, Bytes)) -> DiskCommand {
        self.note(base, kind);
        DiskCommand::Write { file: self.file(kind, base), at, data: vec![bytes] }
    }

    fn note(&mut self, base: Offset, kind: SegmentFile) {
        if !self.unsynced.contains(&(base, kind)) {
            self.unsynced.push((base, kind));
        }
    }

    fn file(&self, kind: SegmentFile, base: Offset) -> FileName {
        kind.within(&self.directory, base)
    }

    fn damaged(&self, why: &str) -> FutureDamaged {
        FutureDamaged { segment: self.segment, at: self.at, why: why.to_owned() }
    }
}

fn place(batch: &BatchAt) -> BatchPosition {
    BatchPosition {
        last_offset: batch.batch.last_offset,
        max_timestamp: batch.batch.max_timestamp,
        position: u32::try_from(batch.at).expect("a segment has less than 4 GiB"),
        size: batch.batch.size,
    }
}
