//! What a log owes its disk: writes, syncs, and the small files of a checkpoint.
//!
//! The log does not send commands; it is asked for them ([`Log::take_writes`], [`Log::begin_sync`]) by whoever keeps the disk's rhythm, for many
//! logs at once. A sync covers what was taken before it. A checkpoint also covers indexes and state, and moves the recovery point to where
//! the checkpoint **before** it was: between the two lie the batches that a producer may still send again, and recovery, which
//! reads from the recovery point on, has to know them all (a snapshot remembers only the last of each producer).

use aplomb_disk_api::{DiskCommand, FileName, Lane, SmallFile};
use aplomb_model::Offset;
use bytes::Bytes;

use crate::log::Log;
use crate::producers::ProducerState;
use crate::segment::{LEADER_EPOCH_CHECKPOINT, SegmentFile};
use crate::segments::Segments;

/// The most that one write command carries; longer runs are several.
const WRITE_BYTES: usize = 4 << 20;

/// What the disk was and was not asked for yet.
#[derive(Debug, Default)]
pub struct FlushState {
    /// Written before anything else: `partition.metadata` of a new partition.
    first: Option<SmallFile>,
    /// The segment whose files were made: Apache Kafka's tools expect its indexes even while they are empty.
    made: Option<Offset>,
    /// The same, when the round of syncs began that is under way, and when the last one did that is over.
    naming: Option<Offset>,
    named: Option<Offset>,
    /// Writes of segments that are closed; their order among each other is that of the log.
    closed: Vec<DiskCommand>,
    /// Segments that were closed, of whose last index entries no checkpoint has said yet that they are on the disk; so many of them, the
    /// oldest, the checkpoint that is under way will.
    closing: Vec<Offset>,
    closing_covered: usize,
    /// Segments of which something was written since the last sync that covers it.
    unsynced_logs: Vec<Offset>,
    /// The same for index files, which only checkpoints sync.
    unsynced_indexes: Vec<(Offset, SegmentFile)>,
    /// State files to publish with the next checkpoint: producer snapshots at segment bases.
    snapshots: Vec<(Offset, Bytes)>,
    /// Snapshots that are on the disk and stand at no segment's base, oldest first.
    loose_snapshots: Vec<Offset>,
    /// Whether there may be producers to remember: without any, and without a snapshot, recovery begins with none.
    snapshots_kept: bool,
    epochs_changed: bool,
    appended: bool,
    /// What the checkpoint file may still say.
    published_point: Offset,
    recovery_point: Offset,
    checkpointed: Offset,
}

/// What one log adds to a round of syncs.
#[derive(Debug, Default)]
pub struct SyncPart {
    /// The files to sync.
    pub files: Vec<FileName>,
    /// Durable up to here when they are.
    pub covers: Offset,
}

/// What one log adds to a checkpoint, besides files to sync.
#[derive(Debug, Default)]
pub struct CheckpointPart {
    /// Small files to publish.
    pub publish: Vec<SmallFile>,
    /// Files to delete once these are published.
    pub obsolete: Vec<FileName>,
}

impl FlushState {
    /// A new partition: `partition.metadata` has to be on the disk before the first byte of a segment.
    #[must_use]
    pub fn of_new_partition(metadata: SmallFile) -> Self {
        Self { first: Some(metadata), epochs_changed: true, ..Self::default() }
    }

    /// A partition that was loaded: files that recovery wrote to, and the producer snapshots that stand at no segment's base.
    #[must_use]
    pub fn of_loaded(
        unsynced_logs: Vec<Offset>,
        unsynced_indexes: Vec<(Offset, SegmentFile)>,
        loose_snapshots: Vec<Offset>,
        snapshots_kept: bool,
        epochs_changed: bool,
    ) -> Self {
        Self {
            unsynced_logs,
            unsynced_indexes,
            loose_snapshots,
            snapshots_kept,
            epochs_changed,
            ..Self::default()
        }
    }

    pub(crate) fn begin_at(&mut self, recovery_point: Offset) {
        self.published_point = recovery_point;
        self.recovery_point = recovery_point;
        self.checkpointed = recovery_point;
    }

    pub(crate) fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// The last checkpoint that is on the disk covered everything below.
    pub(crate) fn checkpointed(&self) -> Offset {
        self.checkpointed
    }

    /// Snapshots on the disk that stand at no segment's base, oldest first; `None` if there never was a producer to remember.
    pub(crate) fn loose_snapshots(&self) -> Option<&[Offset]> {
        self.snapshots_kept.then_some(&self.loose_snapshots)
    }

    /// The files are another disk's from here on, where the active segment is written and not synced, and whose checkpoint file has this
    /// recovery point. What was owed to the old disk was copied, or is in the tail.
    pub(crate) fn relocate(&mut self, active: Offset, recovery_point: Offset, loose_snapshots: Vec<Offset>) {
        let unsynced_indexes = vec![(active, SegmentFile::OffsetIndex), (active, SegmentFile::TimeIndex)];
        *self = Self {
            snapshots: std::mem::take(&mut self.snapshots),
            snapshots_kept: self.snapshots_kept,
            ..Self::of_loaded(vec![active], unsynced_indexes, loose_snapshots, false, true)
        };
        self.appended = true;
        self.begin_at(recovery_point);
    }

    /// Whether a file of any segment is sure to be found after a power cut.
    pub(crate) fn has_files(&self) -> bool {
        self.named.is_some()
    }

    /// Whether the file of the segment that begins at `base` is sure to be found after a power cut.
    pub(crate) fn is_named(&self, base: Offset) -> bool {
        self.named == Some(base)
    }

    /// Whether writes of a closed segment may still be under way, besides those of its records: were its files to go now, these would make
    /// some anew.
    pub(crate) fn is_closing(&self, base: Offset) -> bool {
        self.closing.contains(&base)
    }

    pub(crate) fn on_append(&mut self) {
        self.appended = true;
    }

    pub(crate) fn on_epochs_changed(&mut self) {
        self.epochs_changed = true;
    }

    /// The active segment ends: its indexes' last bytes are owed, and a snapshot of the producers at the new segment's base.
    pub(crate) fn on_roll(&mut self, segments: &mut Segments, producers: &mut ProducerState) {
        self.closing.push(segments.active().base);
        let mut writes = std::mem::take(&mut self.closed);
        self.take_index_writes(segments, &mut writes);
        self.closed = writes;
        if let Some((at, bytes)) = producers.take_snapshot() {
            self.snapshots.push((at, bytes));
            self.snapshots_kept = true;
        }
    }

    fn take_index_writes(&mut self, segments: &mut Segments, out: &mut Vec<DiskCommand>) {
        let base = segments.active().base;
        if self.made != Some(base) {
            self.made = Some(base);
            if !self.unsynced_logs.contains(&base) {
                self.unsynced_logs.push(base);
            }
            for kind in [SegmentFile::Log, SegmentFile::OffsetIndex, SegmentFile::TimeIndex] {
                out.push(DiskCommand::Write { file: segments.file(kind, base), at: 0, data: Vec::new() });
            }
        }
        let active = segments.active_mut();
        let offsets = active.indexes.offsets.take_unwritten();
        let times = active.indexes.times.take_unwritten();
        let aborted: Vec<u8> =
            active.aborted[active.aborted_written..].iter().flat_map(|entry| entry.encode()).collect();
        let aborted_at = (active.aborted_written * crate::index::AbortedTransaction::ENTRY_LEN) as u64;
        active.aborted_written = active.aborted.len();
        let aborted = (!aborted.is_empty()).then(|| (aborted_at, Bytes::from(aborted)));
        for (kind, unwritten) in [
            (SegmentFile::OffsetIndex, offsets),
            (SegmentFile::TimeIndex, times),
            (SegmentFile::TxnIndex, aborted),
        ] {
            let Some((at, bytes)) = unwritten else { continue };
            out.push(DiskCommand::Write { file: segments.file(kind, base), at, data: vec![bytes] });
            if !self.unsynced_indexes.contains(&(base, kind)) {
                self.unsynced_indexes.push((base, kind));
            }
        }
    }
}

impl Log {
    /// Takes the writes that are owed; they go to the disk's write lane in this order.
    pub fn take_writes(&mut self, out: &mut Vec<DiskCommand>) {
        if let Some(metadata) = self.flush.first.take() {
            out.push(DiskCommand::Publish { files: vec![metadata], lane: Lane::Write });
        }
        for run in self.tail.take_unwritten(u64::MAX) {
            let file = self.segments.file(SegmentFile::Log, run.segment_base);
            if !self.flush.unsynced_logs.contains(&run.segment_base) {
                self.flush.unsynced_logs.push(run.segment_base);
            }
            push_writes(&file, run.at, run.data, out);
        }
        out.append(&mut self.flush.closed);
        self.flush.take_index_writes(&mut self.segments, out);
    }

    /// Whether a round of syncs would do anything for this log.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        self.flush.appended || self.flush.first.is_some() || !self.flush.unsynced_logs.is_empty()
    }

    /// Whether a checkpoint would do anything for this log.
    #[must_use]
    pub fn needs_checkpoint(&self) -> bool {
        self.needs_sync()
            || self.flush.epochs_changed
            || !self.flush.snapshots.is_empty()
            || !self.flush.unsynced_indexes.is_empty()
            || !self.flush.closing.is_empty()
            || self.flush.recovery_point < self.end()
    }

    /// Takes the files that a round of syncs has to cover. [`Self::take_writes`] comes before, and its commands go before the sync.
    pub fn begin_sync(&mut self) -> SyncPart {
        self.flush.appended = false;
        self.flush.naming = self.flush.made;
        let logs = std::mem::take(&mut self.flush.unsynced_logs);
        let files = logs.into_iter().map(|base| self.file(SegmentFile::Log, base)).collect();
        SyncPart { files, covers: self.end() }
    }

    /// Takes what a checkpoint needs beyond [`Self::begin_sync`], at the same moment: index files to sync, and state to publish.
    pub fn begin_checkpoint(&mut self, sync: &mut SyncPart) -> CheckpointPart {
        let mut part = CheckpointPart::default();
        self.flush.closing_covered = self.flush.closing.len();
        for (base, kind) in std::mem::take(&mut self.flush.unsynced_indexes) {
            sync.files.push(self.segments.file(kind, base));
        }
        let rolled = std::mem::take(&mut self.flush.snapshots);
        let bases = rolled.len();
        self.flush.snapshots_kept |= !self.producers.is_empty();
        let now = if self.flush.snapshots_kept { self.producers.take_snapshot() } else { None };
        for (n, (at, content)) in rolled.into_iter().chain(now).enumerate() {
            part.publish.push(SmallFile { name: self.file(SegmentFile::Snapshot, at), content });
            if n >= bases {
                self.flush.loose_snapshots.push(at);
            }
        }
        // Recovery needs a snapshot at or below the recovery point, and the one that counts is the one in the checkpoint file.
        let keep_from = self.flush.published_point;
        let keep = self.flush.loose_snapshots.iter().rposition(|at| *at <= keep_from).unwrap_or(0);
        for at in self.flush.loose_snapshots.drain(..keep) {
            part.obsolete.push(self.segments.file(SegmentFile::Snapshot, at));
        }
        if std::mem::take(&mut self.flush.epochs_changed) {
            let name = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", self.segments.directory()));
            part.publish.push(SmallFile { name, content: self.epochs.encode().into() });
        }
        part
    }

    /// The round that began with [`Self::begin_sync`] is durable.
    pub fn on_synced(&mut self, covers: Offset) {
        self.tail.on_durable(covers);
        self.flush.named = self.flush.naming;
    }

    /// The checkpoint that covered up to `covers` is on the disk. Returns the recovery point.
    pub fn on_checkpointed(&mut self, covers: Offset) -> Offset {
        self.flush.published_point = self.flush.recovery_point;
        self.flush.recovery_point = self.flush.checkpointed;
        self.flush.checkpointed = covers;
        self.flush.closing.drain(..std::mem::take(&mut self.flush.closing_covered));
        self.flush.recovery_point
    }

    /// Whether the recovery point lags behind what a checkpoint has covered: the next one moves it up.
    #[must_use]
    pub fn recovery_point_lags(&self) -> bool {
        self.flush.recovery_point < self.flush.checkpointed
    }

    /// The log will not be written to any more, and all is durable: the recovery point is the end. To be called after a last
    /// checkpoint.
    pub fn close_indexes(&mut self) {
        self.segments.active_mut().indexes.on_close();
    }
}

/// Cuts a run of slices into write commands of a sane size.
fn push_writes(file: &FileName, mut at: u64, data: Vec<Bytes>, out: &mut Vec<DiskCommand>) {
    let mut part: Vec<Bytes> = Vec::new();
    let mut bytes = 0;
    for slice in data {
        if bytes > 0 && bytes + slice.len() > WRITE_BYTES {
            out.push(DiskCommand::Write { file: file.clone(), at, data: std::mem::take(&mut part) });
            at += bytes as u64;
            bytes = 0;
        }
        bytes += slice.len();
        part.push(slice);
    }
    if bytes > 0 {
        out.push(DiskCommand::Write { file: file.clone(), at, data: part });
    }
}
