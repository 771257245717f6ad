//! A log's part in its disk's rounds: writes, syncs, checkpoints.
//!
//! The log sends no commands; it is asked for them ([`Log::take_writes`], [`Log::begin_sync`]) in
//! rounds that cover many logs of one disk. A sync covers what was taken before it; a checkpoint
//! also covers indexes and state, and moves the recovery point ([`Owed`](super::owed::Owed)).

use aplomb_disk_api::{DiskCommand, FileName, Lane, SmallFile};
use aplomb_model::Offset;
use bytes::Bytes;

use super::Log;
use crate::layout::{LEADER_EPOCH_CHECKPOINT, SegmentFile};

/// The most that one write command carries; longer runs are several.
const WRITE_BYTES: usize = 4 << 20;

/// What one log adds to a round of syncs.
#[derive(Debug, Default)]
pub struct SyncPart {
    /// The files to sync.
    pub files: Vec<FileName>,
    /// Once they are synced, everything below is durable.
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

impl Log {
    /// Takes the writes that are owed; they go to the disk's write lane in this order.
    pub fn take_writes(&mut self, out: &mut Vec<DiskCommand>) {
        if let Some(metadata) = self.owed.take_metadata() {
            out.push(DiskCommand::Publish { files: vec![metadata], lane: Lane::Write });
        }
        for run in self.tail.take_unwritten(u64::MAX) {
            let file = self.segments.file(SegmentFile::Log, run.segment_base);
            self.owed.on_log_write(run.segment_base);
            push_writes(&file, run.at, run.data, out);
        }
        self.owed.take_all_index_writes(&mut self.segments, out);
    }

    /// Whether a round of syncs would do anything for this log.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        self.owed.needs_sync()
    }

    /// Whether a checkpoint would do anything for this log.
    #[must_use]
    pub fn needs_checkpoint(&self) -> bool {
        self.owed.needs_checkpoint(self.end())
    }

    /// Whether a checkpoint has covered all of the log, so that its files alone are the log.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.durable_end() == self.end() && self.owed.is_settled_at(self.end())
    }

    /// Whether the records that loading has found are durable. After a crash they may be in the
    /// page cache alone until the first round is over.
    #[must_use]
    pub fn is_found_durable(&self) -> bool {
        self.owed.is_found_durable()
    }

    /// Takes the files that a round of syncs has to cover. [`Self::take_writes`] comes before, and
    /// its commands go before the sync.
    pub fn begin_sync(&mut self) -> SyncPart {
        self.stable_at_sync = self.last_stable_offset();
        let logs = self.owed.begin_sync();
        let files = logs.into_iter().map(|base| self.segments.file(SegmentFile::Log, base)).collect();
        SyncPart { files, covers: self.end() }
    }

    /// Takes what a checkpoint needs beyond [`Self::begin_sync`], at the same moment: index files
    /// to sync, and state to publish.
    pub fn begin_checkpoint(&mut self, sync: &mut SyncPart) -> CheckpointPart {
        let mut part = CheckpointPart::default();
        for (base, kind) in self.owed.begin_checkpoint() {
            sync.files.push(self.segments.file(kind, base));
        }
        for (at, content) in self.owed.take_snapshots(&mut self.producers) {
            part.publish.push(SmallFile { name: self.segments.file(SegmentFile::Snapshot, at), content });
        }
        let obsolete = self.owed.take_obsolete_snapshots().into_iter();
        part.obsolete.extend(obsolete.map(|at| self.segments.file(SegmentFile::Snapshot, at)));
        if self.owed.take_epochs_changed() {
            let name = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", self.segments.directory()));
            part.publish.push(SmallFile { name, content: self.epochs.encode().into() });
        }
        part
    }

    /// The round that began with [`Self::begin_sync`] is durable.
    pub fn on_synced(&mut self, covers: Offset) {
        self.tail.on_durable(covers);
        self.durable_stable = self.stable_at_sync;
        self.owed.on_synced();
    }

    /// The checkpoint that covered up to `covers` is on the disk. Returns the recovery point.
    pub fn on_checkpointed(&mut self, covers: Offset) -> Offset {
        self.owed.on_checkpointed(covers)
    }

    /// Whether the recovery point lags behind what a checkpoint has covered: the next one moves it
    /// up.
    #[must_use]
    pub fn recovery_point_lags(&self) -> bool {
        self.owed.recovery_point_lags()
    }

    /// Adds the index entries that a closed segment has. For a log that takes no more appends,
    /// before its last checkpoint.
    pub fn close_indexes(&mut self) {
        self.segments.active_mut().indexes.on_close();
    }
}

/// Cuts a run of slices into write commands of at most [`WRITE_BYTES`], or one slice.
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
