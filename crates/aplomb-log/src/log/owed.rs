//! What a log owes its disk beyond the records in its tail: writes to index files, syncs, the small
//! files of a checkpoint, and how far the disk has come.
//!
//! What always holds: the recovery point in the checkpoint file <= the recovery point <= what the
//! last checkpoint covered. A checkpoint moves the recovery point to where the checkpoint
//! **before** it was: between the two lie the batches that a producer may still send again, and
//! recovery, which reads from the recovery point on, has to know them all (a snapshot remembers
//! only the last of each producer).

use aplomb_disk_api::{DiskCommand, SmallFile};
use aplomb_model::Offset;
use bytes::Bytes;

use crate::layout::SegmentFile;
use crate::producers::ProducerState;
use crate::segments::Segments;

/// What the disk was not asked for yet, and what it has not reported yet.
#[derive(Clone, Debug, Default)]
pub struct Owed {
    /// `partition.metadata` of a new partition: written before anything else. Boxed, since it is
    /// there for a moment only.
    metadata: Option<Box<SmallFile>>,
    /// The segment whose files were made last: Kafka's tools expect its indexes even while empty.
    made: Option<Offset>,
    /// `made` when the round of syncs that is under way began.
    made_at_sync: Option<Offset>,
    /// `made` when the last round that is over began: a power cut leaves that segment's files.
    made_durable: Option<Offset>,
    /// Index writes of closed segments, in the order of the log.
    closed_writes: Vec<DiskCommand>,
    /// Closed segments whose index entries may not be durable yet, oldest first.
    closing: Vec<Offset>,
    /// How many of these, the oldest, the checkpoint that is under way covers.
    closing_covered: usize,
    /// Segments written to since the last sync that covers them.
    unsynced_logs: Vec<Offset>,
    /// The same for index files, which only checkpoints sync.
    unsynced_indexes: Vec<(Offset, SegmentFile)>,
    /// Producer snapshots at segment bases, for the next checkpoint to publish.
    snapshots: Vec<(Offset, Bytes)>,
    /// Snapshots on the disk that are not at a segment's base, oldest first.
    loose_snapshots: Vec<Offset>,
    /// False as long as there never was a producer: without a snapshot, recovery begins with none.
    has_snapshots: bool,
    epochs_changed: bool,
    /// The leader epochs and their file differ only in what begins where the log ends.
    epochs_differ_at_end: bool,
    appended: bool,
    /// What recovery has found may be in the page cache alone.
    found_unsynced: bool,
    /// The round of syncs that is under way changes that.
    found_syncing: bool,
    /// What the checkpoint file may still say.
    published_point: Offset,
    recovery_point: Offset,
    /// The last checkpoint that is on the disk covered everything below.
    checkpointed: Offset,
}

/// What recovery leaves for the first checkpoint to do, and what it need not do.
#[derive(Debug, Default)]
pub struct RecoveryDebt {
    /// The active segment, if all of its files were found.
    pub made: Option<Offset>,
    /// Segments whose `.log` was written to, or was not closed cleanly.
    pub unsynced_logs: Vec<Offset>,
    /// Index files that were written to.
    pub unsynced_indexes: Vec<(Offset, SegmentFile)>,
    /// Producer snapshots that are not at a segment's base, oldest first.
    pub loose_snapshots: Vec<Offset>,
    /// Whether any producer snapshot was found.
    pub has_snapshots: bool,
    /// Whether the leader epochs differ from their file.
    pub epochs_changed: bool,
    /// Whether they do only in that it has one more, which begins where the log ends.
    pub epochs_differ_at_end: bool,
}

impl Owed {
    /// For a new partition, whose `partition.metadata` has to be on the disk before a segment is.
    #[must_use]
    pub fn by_new_partition(metadata: SmallFile) -> Self {
        Self { metadata: Some(Box::new(metadata)), epochs_changed: true, ..Self::default() }
    }

    /// For a partition whose files recovery has found.
    #[must_use]
    pub fn by_loaded_partition(recovered: RecoveryDebt) -> Self {
        let RecoveryDebt {
            made,
            unsynced_logs,
            unsynced_indexes,
            loose_snapshots,
            has_snapshots,
            epochs_changed,
            epochs_differ_at_end,
        } = recovered;
        Self {
            made,
            found_unsynced: !unsynced_logs.is_empty(),
            unsynced_logs,
            unsynced_indexes,
            loose_snapshots,
            has_snapshots,
            epochs_changed,
            epochs_differ_at_end,
            ..Self::default()
        }
    }

    /// The checkpoint file has this recovery point, and nothing above it counts as checkpointed.
    pub(super) fn begin_at(&mut self, recovery_point: Offset) {
        self.published_point = recovery_point;
        self.recovery_point = recovery_point;
        self.checkpointed = recovery_point;
    }

    pub(super) fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// The last checkpoint that is on the disk covered everything below.
    pub(super) fn checkpointed(&self) -> Offset {
        self.checkpointed
    }

    /// Snapshots on the disk that are not at a segment's base, oldest first; `None` if there never
    /// was a producer to remember.
    pub(super) fn loose_snapshots(&self) -> Option<&[Offset]> {
        self.has_snapshots.then_some(&self.loose_snapshots)
    }

    /// The files are another disk's from here on, where the active segment is written and not
    /// synced, and whose checkpoint file has this recovery point. What was owed to the old disk was
    /// copied, or is in the tail.
    pub(super) fn relocate(&mut self, active: Offset, recovery_point: Offset, loose_snapshots: Vec<Offset>) {
        *self = Self {
            unsynced_logs: vec![active],
            unsynced_indexes: vec![(active, SegmentFile::OffsetIndex), (active, SegmentFile::TimeIndex)],
            snapshots: std::mem::take(&mut self.snapshots),
            loose_snapshots,
            has_snapshots: self.has_snapshots,
            epochs_changed: true,
            appended: true,
            ..Self::default()
        };
        self.begin_at(recovery_point);
    }

    /// Whether a power cut leaves a file of some segment.
    pub(super) fn has_files(&self) -> bool {
        self.made_durable.is_some()
    }

    /// Whether a power cut leaves the files of the segment that begins at `base`.
    pub(super) fn has_files_of(&self, base: Offset) -> bool {
        self.made_durable == Some(base)
    }

    /// Whether the files of the segment that begins at `base` were made, or found.
    pub(super) fn has_made(&self, base: Offset) -> bool {
        self.made == Some(base)
    }

    /// Whether index writes of a closed segment may still be under way: were its files deleted now,
    /// these would make some anew.
    pub(super) fn is_closing(&self, base: Offset) -> bool {
        self.closing.contains(&base)
    }

    /// Whether a file of a closed segment may not be durable, or may still be written to.
    pub(super) fn owes(&self, base: Offset) -> bool {
        self.is_closing(base)
            || self.unsynced_logs.contains(&base)
            || self.unsynced_indexes.iter().any(|(of, _)| *of == base)
    }

    /// Segments at these bases, in order, are there no more: their snapshots go when no recovery
    /// needs them.
    pub(super) fn on_vanished(&mut self, bases: &[Offset]) {
        self.loose_snapshots.extend(bases);
        self.loose_snapshots.sort_unstable();
        self.loose_snapshots.dedup();
    }

    /// Whether a round of syncs would do anything.
    pub(super) fn needs_sync(&self) -> bool {
        self.appended || self.metadata.is_some() || !self.unsynced_logs.is_empty()
    }

    /// Whether a checkpoint of a log that ends at `end` would do anything.
    pub(super) fn needs_checkpoint(&self, end: Offset) -> bool {
        self.needs_sync()
            || self.epochs_changed
            || !self.snapshots.is_empty()
            || !self.unsynced_indexes.is_empty()
            || !self.closing.is_empty()
            || self.recovery_point < end
    }

    /// Whether the recovery point lags behind what a checkpoint has covered.
    pub(super) fn recovery_point_lags(&self) -> bool {
        self.recovery_point < self.checkpointed
    }

    /// Whether the disk has all of a log that ends at `end`, with its indexes and its state.
    pub(super) fn is_settled_at(&self, end: Offset) -> bool {
        self.checkpointed == end
            && !self.needs_sync()
            && !self.epochs_changed
            && self.snapshots.is_empty()
            && self.closed_writes.is_empty()
            && self.unsynced_indexes.is_empty()
            && self.closing.is_empty()
    }

    pub(super) fn on_append(&mut self) {
        self.appended = true;
        self.epochs_changed |= std::mem::take(&mut self.epochs_differ_at_end);
    }

    pub(super) fn on_epochs_changed(&mut self) {
        self.epochs_changed = true;
    }

    /// An epoch began at the log's end. Until a batch is in it the file need not have it: loading
    /// would leave it out. So a start that comes to lead very many logs writes no file of each.
    pub(super) fn on_epoch_begun(&mut self) {
        self.epochs_differ_at_end = true;
    }

    pub(super) fn epochs_differ_at_end(&self) -> bool {
        self.epochs_differ_at_end
    }

    /// The active segment is about to be closed: the last bytes of its indexes are owed, and a
    /// snapshot of the producers at the new segment's base.
    pub(super) fn on_roll(&mut self, segments: &mut Segments, producers: &mut ProducerState) {
        self.closing.push(segments.active().base);
        let mut writes = std::mem::take(&mut self.closed_writes);
        self.take_index_writes(segments, &mut writes);
        self.closed_writes = writes;
        if let Some((at, bytes)) = producers.take_snapshot() {
            self.snapshots.push((at, bytes));
            self.has_snapshots = true;
        }
    }

    /// The `partition.metadata` that has to be published before anything is written.
    pub(super) fn take_metadata(&mut self) -> Option<SmallFile> {
        self.metadata.take().map(|metadata| *metadata)
    }

    /// Records of the segment that begins at `base` are on their way to the disk.
    pub(super) fn on_log_write(&mut self, base: Offset) {
        if !self.unsynced_logs.contains(&base) {
            self.unsynced_logs.push(base);
        }
    }

    /// Takes all index writes: of closed segments, and of the active one so far.
    pub(super) fn take_all_index_writes(&mut self, segments: &mut Segments, out: &mut Vec<DiskCommand>) {
        out.append(&mut self.closed_writes);
        self.take_index_writes(segments, out);
    }

    fn take_index_writes(&mut self, segments: &mut Segments, out: &mut Vec<DiskCommand>) {
        let base = segments.active().base;
        if self.made != Some(base) {
            self.made = Some(base);
            self.on_log_write(base);
            for kind in [SegmentFile::Log, SegmentFile::OffsetIndex, SegmentFile::TimeIndex] {
                out.push(DiskCommand::Write { file: segments.file(kind, base), at: 0, data: Vec::new() });
            }
        }
        for (kind, at, bytes) in segments.active_mut().take_index_writes() {
            out.push(DiskCommand::Write { file: segments.file(kind, base), at, data: vec![bytes] });
            if !self.unsynced_indexes.contains(&(base, kind)) {
                self.unsynced_indexes.push((base, kind));
            }
        }
    }

    /// A round of syncs begins. Gives the segments whose `.log` it has to cover.
    pub(super) fn begin_sync(&mut self) -> Vec<Offset> {
        self.appended = false;
        self.made_at_sync = self.made;
        self.found_syncing = self.found_unsynced;
        std::mem::take(&mut self.unsynced_logs)
    }

    /// The round is over.
    pub(super) fn on_synced(&mut self) {
        self.made_durable = self.made_at_sync;
        self.found_unsynced &= !std::mem::take(&mut self.found_syncing);
    }

    /// Whether what recovery has found was synced by this process, or cleanly closed before.
    pub(super) fn is_found_durable(&self) -> bool {
        !self.found_unsynced
    }

    /// A checkpoint begins, with the round of syncs. Gives the index files that are to be synced.
    pub(super) fn begin_checkpoint(&mut self) -> Vec<(Offset, SegmentFile)> {
        self.closing_covered = self.closing.len();
        std::mem::take(&mut self.unsynced_indexes)
    }

    /// Whether the checkpoint has to publish the leader epochs.
    pub(super) fn take_epochs_changed(&mut self) -> bool {
        let changed = std::mem::take(&mut self.epochs_changed);
        // All of them are published.
        self.epochs_differ_at_end &= !changed;
        changed
    }

    /// The snapshots that the checkpoint has to publish.
    pub(super) fn take_snapshots(&mut self, producers: &mut ProducerState) -> Vec<(Offset, Bytes)> {
        let mut snapshots = std::mem::take(&mut self.snapshots);
        self.has_snapshots |= !producers.is_empty();
        if self.has_snapshots
            && let Some((at, bytes)) = producers.take_snapshot()
        {
            // Written again, after a move, it is still one: were it counted twice, it would be
            // obsolete beside itself.
            if let Err(place) = self.loose_snapshots.binary_search(&at) {
                self.loose_snapshots.insert(place, at);
            }
            snapshots.push((at, bytes));
        }
        snapshots
    }

    /// The snapshots that no recovery needs once the checkpoint's are published: it needs one at or
    /// below the recovery point, and the one that counts is that in the checkpoint file.
    pub(super) fn take_obsolete_snapshots(&mut self) -> Vec<Offset> {
        assert!(self.loose_snapshots.is_sorted_by(|one, next| one < next), "{:?}", self.loose_snapshots);
        let point = self.published_point;
        let newest = self.loose_snapshots.iter().rposition(|at| *at <= point).unwrap_or(0);
        self.loose_snapshots.drain(..newest).collect()
    }

    /// In a build with assertions, that nothing else is owed than by a log that was found in its
    /// files. More snapshots may be known: where a segment was, there need not have been one, and
    /// all of them may have gone with their segments. An epoch that nothing was written in is
    /// noted, and need not be in its file.
    #[cfg(debug_assertions)]
    pub(super) fn assert_is(&self, found: &Self) {
        assert!(
            found.loose_snapshots.iter().all(|at| self.loose_snapshots.contains(at))
                && (self.has_snapshots || !found.has_snapshots),
            "{self:?}\nknows not all of\n{found:?}"
        );
        assert!(self.epochs_differ_at_end || !found.epochs_differ_at_end, "the file has one more");
        let rest = |owed: &Self| Self {
            loose_snapshots: Vec::new(),
            has_snapshots: true,
            epochs_differ_at_end: false,
            ..owed.clone()
        };
        assert_eq!(format!("{:?}", rest(self)), format!("{:?}", rest(found)));
    }

    /// The checkpoint that covered up to `covers` is on the disk. Returns the recovery point.
    pub(super) fn on_checkpointed(&mut self, covers: Offset) -> Offset {
        self.published_point = self.recovery_point;
        self.recovery_point = self.checkpointed;
        self.checkpointed = covers;
        self.closing.drain(..std::mem::take(&mut self.closing_covered));
        self.recovery_point
    }
}
