//! Partitions that move to another log directory of this broker (AlterReplicaLogDirs) while they
//! are produced to and consumed.
//!
//! The way of a move from disk A to disk B:
//!
//! 1. **Claim.** `topic-N.<uuid>-future` is made on B, with the topic's id in it.
//! 2. **Copy.** Segments go over, oldest first, of the same names and the same bytes
//!    ([`aplomb_log::future`]): what A's files have by reads of A's read lane, the rest from the
//!    tail. One step at a time; each waits for the one before, for memory of A's budget for
//!    readers, and for the rate that the operator allows. The log goes on as if nothing were.
//! 3. **State.** When the copy is close, the producers' snapshots and the leader epochs follow, all
//!    of it is synced, and B's checkpoint files get the copy's recovery point and log start.
//! 4. **Name.** The copy's directory becomes `topic-N`. From here on there are two of that name.
//! 5. **Change.** As soon as what the copy lacks is small and in the tail, the log changes disks in
//!    one turn of the shard's loop: the bytes that B's files lack go into memory of B's share,
//!    indexes and files are those of B, and A's share gets its memory back. Whoever waited for A's
//!    sync waits for B's. Reads that were asked of A are asked anew of B, if A's files are gone.
//! 6. **Settle.** B syncs all that there was at the change; then the metadata log gets B's id
//!    (PartitionChangeRecord); then A's directory gets a name that ends in `-delete`, and A's
//!    checkpoint files forget the partition.
//!
//! What always holds, whatever ends the process and wherever it does: before the change A has
//! everything, in files or in memory of its share; after it B has. Both copies are beginnings
//! of the same log, so that of two directories `topic-N` **the one that reaches further is the
//! log** (`startup/load.rs`), also after a power cut: A is kept until B has made durable all
//! that A ever promised, and a start that finds both syncs them before one goes
//! (`replicas/loads`). The metadata follows what is found. A stop leaves a move as it is. A
//! directory that is still named `-future` never is the log: the move begins again. A start
//! without B's disk leaves A's directory alone once the metadata has B's id; before that it
//! takes it for the log.
//!
//! A disk that freezes holds up its own steps only: before the change the log never waits for B,
//! after it never for A. If A is lost before the change the partition is offline and the move over,
//! as in Apache Kafka; if B is, the log stays where it is. After the change it is the other way
//! round.
//!
//! Next: [`stages`] for what is known at each point of the way, [`steps`], [`copying`] and
//! [`ending`] for what is done there.

mod copying;
mod ending;
mod stages;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_model::{DirectoryId, ErrorCode, Instant, Offset};

use self::stages::{CopyStage, Ending, Move, Stage};
use super::background::{Background, ByteRate};
use super::{Disks, Ground, StorageEffect};
use crate::calls::PartitionKey;
use crate::partition::Partition;

/// So many moves of one shard copy at the same time; others wait their turn.
const AT_ONCE: usize = 4;

/// How soon something is tried again that found no memory, or no end.
const RETRY: Duration = Duration::from_millis(5);

/// The future replicas of one shard.
#[derive(Debug)]
pub(crate) struct FutureReplicas {
    under_way: BTreeMap<PartitionKey, Move>,
    next: u64,
    background: Arc<Background>,
    /// Partitions that were found elsewhere than the metadata says.
    unassigned: Vec<(PartitionKey, DirectoryId)>,
}

/// How large a partition's log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartitionSize {
    /// The disk that it is on.
    pub(crate) disk: DiskIndex,
    /// Bytes in its segments, those that only memory has included.
    pub(crate) bytes: u64,
    /// The copy that is to take its place, while it moves.
    pub(crate) future: Option<FutureSize>,
}

/// How far a partition has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FutureSize {
    /// The disk that it moves to.
    pub(crate) disk: DiskIndex,
    /// Bytes of it that are there.
    pub(crate) bytes: u64,
    /// Offsets that are not.
    pub(crate) lag: u64,
}

impl FutureReplicas {
    pub(super) fn new(background: Arc<Background>) -> Self {
        Self { under_way: BTreeMap::new(), next: 0, background, unassigned: Vec::new() }
    }

    /// Whether a partition moves, or is about to.
    pub(super) fn has(&self, key: PartitionKey) -> bool {
        self.under_way.contains_key(&key)
    }

    /// A partition was found on a disk that the metadata does not name.
    pub(super) fn found(&mut self, key: PartitionKey, directory: DirectoryId) {
        self.unassigned.push((key, directory));
    }

    /// How large a partition is, here and where it goes. `None`: its disk is lost.
    pub(super) fn size_of(&self, partition: &Partition) -> Option<PartitionSize> {
        let log = partition.log();
        let moves = self.under_way.get(&partition.key()).filter(|m| m.is_to_arrive());
        let future = moves.map(|m| {
            let (bytes, end) = match &m.stage {
                Stage::Copying(copying) => (copying.copy.bytes(), copying.copy.end()),
                _ => (0, Offset::ZERO),
            };
            let end = end.max(log.start()).min(log.end());
            FutureSize { disk: m.to, bytes, lag: log.end().distance_from(end) }
        });
        (!partition.is_offline()).then(|| PartitionSize { disk: partition.disk(), bytes: log.size(), future })
    }

    /// When the next step is due. A stop leaves moves as they are, but that others wait for the
    /// names of deleted partitions.
    pub(super) fn wake_at(&self, stops: bool) -> Option<Instant> {
        let goes_on = self.under_way.values().filter(|m| m.pending == 0 && (!stops || m.deletion.is_some()));
        goes_on.filter_map(|m| m.rest).min()
    }

    /// The partition's topic is deleted.
    pub(super) fn on_deleted(&mut self, key: PartitionKey) {
        if let Some(m) = self.under_way.get_mut(&key) {
            m.deletion.get_or_insert_default();
            m.then = None;
        }
    }

    /// A deleted partition's directory on a disk has another name. Whether its name is free only
    /// when the move is over, since there is another directory.
    pub(super) fn hold_back(&mut self, key: PartitionKey, disk: DiskIndex) -> bool {
        let Some(m) = self.under_way.get_mut(&key) else { return false };
        m.deletion.get_or_insert_default().renamed_on = Some(disk);
        true
    }

    /// A partition is to go to a disk, or to stay where it is
    /// (`ReplicaManager.alterReplicaLogDirs`).
    ///
    /// # Errors
    /// The code that says why it does not.
    pub(super) fn ask(
        &mut self,
        partition: &Partition,
        to: DiskIndex,
        disks: &Disks,
    ) -> Result<(), ErrorCode> {
        let key = partition.key();
        if partition.is_offline() || disks.is_lost(to) {
            return Err(ErrorCode::KafkaStorageError);
        }
        if let Some(m) = self.under_way.get_mut(&key) {
            if m.is_to_arrive() {
                if m.to == to {
                    return Ok(());
                }
                m.cancelled = true;
            }
            m.then = (to != partition.disk()).then_some(to);
            return Ok(());
        }
        if partition.disk() == to {
            return Ok(());
        }
        // With one of them offline, nobody knows whether there is a copy already.
        if disks.is_any_lost() {
            return Err(ErrorCode::KafkaStorageError);
        }
        self.begin(partition, to);
        Ok(())
    }

    /// Begins a move.
    pub(super) fn begin(&mut self, partition: &Partition, to: DiskIndex) {
        let number = self.next;
        self.next += 1;
        let m = Move::new(number, partition, to);
        self.under_way.insert(partition.key(), m);
    }

    /// A command of a move has ended.
    pub(super) fn on_step(&mut self, key: PartitionKey, number: u64, result: Result<Done, DiskError>) {
        // A move that is over has no commands under way, but its partition may move again.
        let Some(m) = self.under_way.get_mut(&key).filter(|m| m.number == number) else { return };
        m.pending -= 1;
        match result {
            Ok(Done::Read(bytes)) => m.read = Some(Some(bytes)),
            Err(DiskError::NotFound { .. }) => m.read = Some(None),
            Ok(Done::Nothing | Done::Space { .. } | Done::Job(_)) | Err(_) => {}
        }
    }

    /// The checkpoint files of a disk say what they were to say of a partition.
    pub(super) fn on_recorded(&mut self, disk: DiskIndex, key: PartitionKey) {
        let Some(m) = self.under_way.get_mut(&key) else { return }; // it is over
        match &mut m.stage {
            Stage::Copying(copying) if disk == m.to => {
                if let CopyStage::Record { done } = &mut copying.stage {
                    *done = true;
                }
            }
            Stage::Ending(Ending::Forget { disk: of, done }) if disk == *of => *done = true,
            _ => {}
        }
        m.rest = Some(Instant::START);
    }

    /// Takes every move as far as it gets. A stop leaves them as they are, as above.
    pub(super) fn poll(&mut self, stops: bool, ground: &mut Ground<'_>) {
        if !self.unassigned.is_empty() && !stops {
            let found = std::mem::take(&mut self.unassigned);
            ground.effects.push(StorageEffect::Assign(found));
        }
        let is_due = |m: &Move| {
            m.pending == 0
                && m.rest.is_none_or(|rest| rest <= ground.now.instant)
                && (!stops || m.deletion.is_some())
        };
        let due = self.under_way.iter().filter(|(_, m)| is_due(m));
        let due: Vec<PartitionKey> = due.map(|(key, _)| *key).collect();
        for key in due {
            let Some(mut m) = self.under_way.remove(&key) else { continue };
            m.rest = None;
            let copying = self.under_way.values().filter(|m| matches!(m.stage, Stage::Copying(_))).count();
            let others = Others { copying, rate: self.background.moves() };
            while m.pending == 0 && m.rest.is_none() && !matches!(m.stage, Stage::Over) {
                if !m.step(key, &others, ground) {
                    break;
                }
            }
            if matches!(m.stage, Stage::Over) {
                self.end(key, m, ground);
            } else {
                self.under_way.insert(key, m);
            }
        }
    }

    /// A move is over: what waited for it goes on.
    fn end(&mut self, key: PartitionKey, m: Move, ground: &mut Ground<'_>) {
        if let Some(disk) = m.deletion.and_then(|deletion| deletion.renamed_on) {
            ground.forget(disk, key, m.name);
        } else if let Some(then) = m.then
            && let Some(partition) = ground.partitions.get(key)
            && partition.disk() != then
            && !ground.disks.is_lost(then)
        {
            self.begin(partition, then);
        }
    }
}

/// What a move has to know of the others.
struct Others<'a> {
    /// How many of them copy.
    copying: usize,
    rate: &'a ByteRate,
}
