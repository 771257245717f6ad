//! Which log is compacted next: the dirtiest of those that are dirty enough
//! (`LogCleanerManager.grabFilthiestCompactedLog`). In small portions, since requests wait while it
//! is looked for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, ReadPattern};
use aplomb_log::UnknownTime;
use aplomb_log::index::TimeIndex;
use aplomb_log::layout::SegmentFile;
use aplomb_model::batch::HEADER_SIZE;
use aplomb_model::{Instant, Offset};

use crate::calls::PartitionKey;
use crate::figures::CompactionFigures;
use crate::partition::Partition;
use crate::storage::Ground;
use crate::storage::future::FutureReplicas;
use crate::storage::purpose::Purpose;

/// How many partitions are looked at in one turn, and how long until the next.
const PORTION: usize = 32;
const PAUSE: Duration = Duration::from_millis(1);

/// How soon a log is looked at again of which something has to be read, or settled, first.
const AGAIN: Duration = Duration::from_secs(1);

/// The partitions that may have something to compact, and a round of looks at them.
pub(super) struct Candidates {
    watched: BTreeSet<PartitionKey>,
    /// Those that cannot be compacted until the next start.
    uncleanable: BTreeSet<PartitionKey>,
    /// Those that this round has still to look at; `None` between two rounds.
    left: Option<Vec<PartitionKey>>,
    best: Option<Chosen>,
    /// Something has to be read, or settled, before a log can be chosen.
    again: bool,
    due: Instant,
    figures: Arc<CompactionFigures>,
    /// What this round has seen: the greatest ratio, and, of each disk, what cannot be compacted.
    dirtiest: f64,
    left_out: Vec<(u64, u64)>,
}

/// The log that is compacted next.
pub(super) struct Chosen {
    pub(super) key: PartitionKey,
    /// Where the pass ends.
    pub(super) upto: Offset,
    ratio: f64,
}

impl Candidates {
    /// The first round is due `now`.
    pub(super) fn new(figures: Arc<CompactionFigures>, now: Instant) -> Self {
        Self {
            watched: BTreeSet::new(),
            uncleanable: BTreeSet::new(),
            left: None,
            best: None,
            again: false,
            due: now,
            figures,
            dirtiest: 0.0,
            left_out: Vec::new(),
        }
    }

    /// The partition may have something to compact.
    pub(super) fn watch(&mut self, key: PartitionKey) {
        self.watched.insert(key);
    }

    /// The partition cannot be compacted.
    pub(super) fn give_up(&mut self, key: PartitionKey) {
        self.uncleanable.insert(key);
    }

    /// The partition is gone.
    pub(super) fn forget(&mut self, key: PartitionKey) {
        self.watched.remove(&key);
        self.uncleanable.remove(&key);
    }

    /// The next round begins at once.
    pub(super) fn hurry(&mut self) {
        self.due = Instant::START;
    }

    /// The next round begins then.
    pub(super) fn rest(&mut self, until: Instant) {
        self.due = until;
    }

    /// When there is something to look at, if there are partitions at all.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        (!self.watched.is_empty() || self.left.is_some()).then_some(self.due)
    }

    /// Looks at the partitions that are due. Gives the dirtiest, once all were looked at.
    pub(super) fn look(&mut self, moves: &FutureReplicas, ground: &mut Ground<'_>) -> Option<Chosen> {
        let now = ground.now.instant;
        if self.wake_at().is_none_or(|due| now < due) {
            return None;
        }
        let cleaner = &ground.view.config().storage.cleaner;
        if cleaner.threads == 0 {
            self.rest(now + cleaner.backoff.max(AGAIN));
            return None;
        }
        let mut left = self.left.take().unwrap_or_else(|| self.watched.iter().rev().copied().collect());
        for _ in 0..PORTION {
            let Some(key) = left.pop() else { break };
            self.consider(key, moves, ground);
        }
        if !left.is_empty() {
            self.left = Some(left);
            self.rest(now + PAUSE);
            return None;
        }
        self.left_out.resize(ground.disks.len(), (0, 0));
        self.figures.on_look(now, std::mem::take(&mut self.dirtiest), &self.left_out);
        self.left_out.clear();
        let backoff = ground.view.config().storage.cleaner.backoff.max(PAUSE);
        let again = std::mem::take(&mut self.again);
        self.rest(now + if again { backoff.min(AGAIN) } else { backoff });
        self.best.take()
    }

    fn consider(&mut self, key: PartitionKey, moves: &FutureReplicas, ground: &mut Ground<'_>) {
        let Some(partition) = ground.partitions.get(key) else { return self.forget(key) };
        let config = partition.log().config();
        if !config.compacts {
            self.watched.remove(&key);
            return;
        }
        let (disk, now) = (partition.disk(), ground.now);
        if partition.is_offline() || ground.disks.is_lost(disk) || partition.is_held() || moves.has(key) {
            return;
        }
        if self.uncleanable.contains(&key) {
            self.left_out.resize(ground.disks.len(), (0, 0));
            let (partitions, bytes) = &mut self.left_out[usize::from(disk.0)];
            (*partitions, *bytes) = (*partitions + 1, *bytes + partition.log().size());
            return;
        }
        match partition.log().dirtiness(now.wall) {
            Ok(found) => {
                let ratio = found.ratio();
                self.dirtiest = self.dirtiest.max(ratio);
                if found.dirty == 0 || ratio <= config.compaction.min_dirty_ratio && !found.is_late {
                    return;
                }
                if !found.is_settled {
                    // Two checkpoints on, it is. None is made for it: what a producer sent is told
                    // apart from what it sends again after a kill for as long as they take.
                    self.again = true;
                    return;
                }
                if self.best.as_ref().is_none_or(|best| best.ratio < ratio) {
                    self.best = Some(Chosen { key, upto: found.first_uncleanable, ratio });
                }
            }
            Err(unknown) => {
                self.again = true;
                let (read, purpose) = look_up(partition, unknown);
                ground.disks.submit(disk, read, purpose, now.instant);
            }
        }
    }
}

/// How the disk is asked for what is not known of a log.
fn look_up(partition: &Partition, unknown: UnknownTime) -> (DiskCommand, Purpose) {
    let (key, residence) = (partition.key(), partition.residence());
    let (kind, base, at, len, purpose) = match unknown {
        UnknownTime::Greatest(base) => {
            let entry = TimeIndex::ENTRY_LEN;
            let at = partition.log().time_index_len(base).saturating_sub(entry as u64);
            (SegmentFile::TimeIndex, base, at, entry, Purpose::TimeEntry { key, base, residence })
        }
        UnknownTime::First(base) => {
            (SegmentFile::Log, base, 0, HEADER_SIZE, Purpose::FirstBatch { key, base, residence })
        }
    };
    let file = partition.log().segments().file(kind, base);
    (DiskCommand::Read { file, at, len: len as u32, pattern: ReadPattern::Random }, purpose)
}
