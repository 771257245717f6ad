//! A shard's part of one disk: rounds of syncs, checkpoints, and memory that the tail gives back.
//!
//! What always holds: one round is under way at most, and one checkpoint; a partition that has
//! something for the disk, and is in no round that is still to ask it, stands in `dirty` and in
//! `unchecked`.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{Completion, DiskCommand, DiskIndex, DiskJob, DiskQueue, Lane};
use aplomb_log::tail::TailShare;
use aplomb_model::{DirectoryId, Instant};

use super::checkpoints::{CheckpointChange, CheckpointEntry};
use super::port::DiskPort;
use super::purpose::Purpose;
use super::rhythm::{FlushIntervals, Rhythm, Round};
use super::round::{COMMANDS_A_TURN, CheckpointState, RoundState};
use crate::calls::PartitionKey;
use crate::partition::{Effects, Partitions};

/// So many bytes are written without waiting for the next round.
const WRITE_EARLY: u64 = 4 << 20;

/// A shard's part of one disk.
pub(crate) struct ShardDisk {
    port: DiskPort<Purpose>,
    share: Arc<TailShare>,
    /// How many a round asks or tells in a turn, and as many are written early.
    partitions_a_turn: usize,
    directory: DirectoryId,
    path: String,
    /// The first error, when the disk is lost.
    lost: Option<Arc<str>>,
    /// Size and usable bytes of its file system, when the disk has said.
    space: Option<(u64, u64)>,
    rhythm: Rhythm,
    dirty: Vec<PartitionKey>,
    /// Those of `dirty` that are written before their round, as they stand there. One may be missed
    /// when another is forgotten: the round has it.
    early: Range<usize>,
    /// Those that were dirty since the last checkpoint, or whose recovery point lags behind it.
    unchecked: BTreeSet<PartitionKey>,
    /// A checkpoint was demanded that has not begun: one that was under way covers less.
    is_demanded: bool,
    /// Those with memory that could be given back, the ones that were durable first in front.
    cached: VecDeque<PartitionKey>,
    is_cached: HashSet<PartitionKey>,
    unwritten: u64,
    round: Option<RoundState>,
    checkpoint: Option<CheckpointState>,
}

impl ShardDisk {
    pub(crate) fn new(
        queue: Box<dyn DiskQueue>,
        share: Arc<TailShare>,
        (directory, path): (DirectoryId, String),
        intervals: FlushIntervals,
        partitions_a_turn: usize,
    ) -> Self {
        Self {
            port: DiskPort::new(queue),
            share,
            partitions_a_turn,
            directory,
            path,
            lost: None,
            space: None,
            rhythm: Rhythm::new(intervals),
            dirty: Vec::new(),
            early: 0..0,
            unchecked: BTreeSet::new(),
            is_demanded: false,
            cached: VecDeque::new(),
            is_cached: HashSet::new(),
            unwritten: 0,
            round: None,
            checkpoint: None,
        }
    }

    pub(crate) fn index(&self) -> DiskIndex {
        self.port.disk()
    }

    pub(crate) fn share(&self) -> &Arc<TailShare> {
        &self.share
    }

    /// The log directory's id.
    pub(crate) fn directory(&self) -> DirectoryId {
        self.directory
    }

    /// The log directory's path, as an operator knows it.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Takes the disk out of service. Whether it was in service.
    pub(super) fn lose(&mut self, why: &Arc<str>) -> bool {
        let first = self.lost.is_none();
        self.lost.get_or_insert_with(|| why.clone());
        first
    }

    /// Size and usable bytes of the file system, once the disk has said.
    pub(crate) fn space(&self) -> Option<(u64, u64)> {
        self.space
    }

    pub(super) fn set_space(&mut self, total: u64, usable: u64) {
        self.space = Some((total, usable));
    }

    /// Hands a command to the disk, or keeps it until the disk takes it.
    pub(crate) fn submit(&mut self, command: DiskCommand, purpose: Purpose, now: Instant) {
        self.port.submit(command, purpose, now);
    }

    /// Hands a job to the disk, or keeps it until the disk takes it.
    pub(super) fn submit_job(&mut self, job: Box<dyn DiskJob>, purpose: Purpose, now: Instant) {
        self.port.submit_job(job, purpose, now);
    }

    /// Drops the jobs that the disk has not taken yet.
    pub(super) fn drop_waiting_jobs(&mut self) {
        self.port.drop_waiting_jobs();
    }

    /// Why a completed command was given.
    pub(super) fn purpose_of(&mut self, completion: &Completion, now: Instant) -> Option<Purpose> {
        self.port.on_completion(completion.ticket, now)
    }

    /// Tries again to hand over what waits for a lane that others have filled.
    pub(super) fn retry(&mut self, now: Instant) {
        if self.port.retry_at().is_some_and(|due| due <= now) {
            self.port.retry(now);
        }
    }

    /// A partition has something for the disk, to be durable within its own time if that is shorter
    /// than the broker's.
    pub(crate) fn on_dirty(&mut self, key: PartitionKey, within: Option<Duration>, now: Instant) {
        self.dirty.push(key);
        self.unchecked.insert(key);
        self.rhythm.on_append(within, now);
    }

    /// Bytes were appended.
    pub(crate) fn on_bytes(&mut self, bytes: u64) {
        self.unwritten += bytes;
    }

    /// Somebody waits for the next round.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.rhythm.demand(now);
    }

    /// All that is owed is to be written, with a checkpoint.
    pub(crate) fn hurry_checkpoint(&mut self, now: Instant) {
        self.is_demanded = true;
        self.rhythm.demand_checkpoint(now);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let goes_on = !self.early.is_empty()
            || self.round.as_ref().is_some_and(RoundState::goes_on)
            || self.checkpoint.as_ref().is_some_and(CheckpointState::goes_on);
        let round = match self.lost {
            Some(_) => None,
            None if goes_on => Some(Instant::START),
            None => self.rhythm.wake_at(),
        };
        [round, self.port.retry_at()].into_iter().flatten().min()
    }

    /// Whether nothing is owed and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.round.is_none()
            && self.checkpoint.is_none()
            && !self.is_demanded
            && self.dirty.is_empty()
            && self.port.pending() == 0
    }

    /// Begins what is due, and gives memory back where it is short.
    pub(crate) fn poll(&mut self, partitions: &mut Partitions, now: Instant) {
        if self.lost.is_some() {
            return;
        }
        if let Some(round) = self.rhythm.poll(now) {
            self.begin(round, now);
        }
        self.go_on_asking(partitions, now);
        self.write_early(partitions, now);
        self.give_back(partitions);
    }

    /// Writes what has come to much since the last round, so that the next one is short.
    fn write_early(&mut self, partitions: &mut Partitions, now: Instant) {
        if self.early.is_empty() && self.unwritten >= WRITE_EARLY {
            self.unwritten = 0;
            self.early = 0..self.dirty.len();
            let stats = self.share.stats();
            if stats.waiting * 2 > stats.chunks as u64 * u64::from(stats.chunk_size) {
                // At this rate the share is full before the interval is over.
                self.rhythm.demand(now);
            }
        }
        let mut commands = Vec::new();
        for _ in 0..self.partitions_a_turn {
            if commands.len() >= COMMANDS_A_TURN {
                break;
            }
            let Some(place) = self.early.next() else { break };
            if let Some(partition) = partitions.get_mut(self.dirty[place]) {
                partition.take_writes(&mut commands);
            }
        }
        self.submit_writes(commands, now);
    }

    /// New partitions' first files go first and together, so that a thousand of them cost one sync.
    pub(super) fn submit_writes(&mut self, commands: Vec<DiskCommand>, now: Instant) {
        let mut first = Vec::new();
        let mut writes = Vec::with_capacity(commands.len());
        for command in commands {
            match command {
                DiskCommand::Publish { files, lane: Lane::Write } => first.extend(files),
                other => writes.push(other),
            }
        }
        if !first.is_empty() {
            self.port.submit(DiskCommand::Publish { files: first, lane: Lane::Write }, Purpose::Write, now);
        }
        for command in writes {
            self.port.submit(command, Purpose::Write, now);
        }
    }

    fn begin(&mut self, round: Round, now: Instant) {
        let is_checkpoint = round == Round::Checkpoint && self.checkpoint.is_none();
        if round == Round::Checkpoint && !is_checkpoint {
            self.rhythm.on_lag(now); // the last one is not over: later
        }
        let dirty = std::mem::take(&mut self.dirty);
        (self.early, self.unwritten) = (0..0, 0);
        let keys = if is_checkpoint {
            self.is_demanded = false;
            let all = std::mem::take(&mut self.unchecked);
            debug_assert!(dirty.iter().all(|key| all.contains(key)), "what is dirty is unchecked");
            all.into_iter().collect()
        } else {
            dirty.into()
        };
        let before = self.round.replace(RoundState::new(keys, is_checkpoint, self.partitions_a_turn));
        assert!(before.is_none(), "one round at a time");
    }

    /// Asks the next partitions of a round for their part; the sync comes behind the last.
    fn go_on_asking(&mut self, partitions: &mut Partitions, now: Instant) {
        let Some(round) = &mut self.round else { return }; // none is under way
        let mut commands = Vec::new();
        let files = round.ask_on(partitions, &mut commands);
        self.submit_writes(commands, now);
        if let Some(files) = files {
            self.port.submit(DiskCommand::Sync { files }, Purpose::Sync, now);
        }
    }

    /// The round's sync is over: what it covered is durable.
    pub(super) fn on_synced(&mut self) {
        self.round.as_mut().expect("a sync belongs to a round").on_synced();
    }

    /// The checkpoint's files are published: recovery points move up.
    pub(super) fn on_checkpointed(&mut self, now: Instant) {
        let checkpoint = self.checkpoint.as_mut().expect("files are published for a checkpoint");
        let files = checkpoint.on_published();
        if !files.is_empty() {
            self.port.submit(DiskCommand::DeleteFiles { files }, Purpose::Chore, now);
        }
    }

    /// Tells the next partitions of a round that is over what is durable, and those of a checkpoint
    /// that theirs is. Gives what the checkpoint files are to say then.
    pub(super) fn go_on_telling(
        &mut self,
        partitions: &mut Partitions,
        fx: &mut Effects,
        now: Instant,
    ) -> Vec<CheckpointChange> {
        if self.lost.is_some() {
            return Vec::new(); // what a lost disk has reported is not to be relied on
        }
        let Self { is_cached, cached, .. } = self;
        let told = self.round.take_if(|round| {
            round.tell_on(partitions, |partition, covers| {
                partition.on_synced(covers, fx);
                if partition.log().tail().durable_chunks() > 0 && is_cached.insert(partition.key()) {
                    cached.push_back(partition.key());
                }
            })
        });
        if let Some(round) = told {
            self.rhythm.on_round_over();
            self.publish(round, partitions, now);
        }
        let Self { unchecked, rhythm, .. } = self;
        let mut changes = Vec::new();
        let over = self.checkpoint.take_if(|checkpoint| {
            checkpoint.tell_on(partitions, |partition, covers| {
                let lags = partition.on_checkpointed(covers);
                changes.push((partition.key(), Some(CheckpointEntry::of(partition))));
                if lags {
                    unchecked.insert(partition.key());
                    rhythm.on_lag(now);
                }
            })
        });
        if over.is_some() && self.is_demanded {
            self.rhythm.demand_checkpoint(now);
        }
        changes
    }

    /// The second half of a checkpoint: what it publishes, after the records are durable.
    fn publish(&mut self, round: RoundState, partitions: &mut Partitions, now: Instant) {
        // A round of records alone has none.
        let Some(mut checkpoint) = round.into_checkpoint() else { return };
        let files = checkpoint.take_publish(partitions);
        let before = self.checkpoint.replace(checkpoint);
        assert!(before.is_none(), "one checkpoint at a time");
        self.port.submit(DiskCommand::Publish { files, lane: Lane::Housekeeping }, Purpose::Checkpoint, now);
    }

    /// Whether a round or a checkpoint under way has to do with a partition: small files of it may
    /// still be given to the disk.
    pub(crate) fn concerns(&self, key: PartitionKey) -> bool {
        self.round.as_ref().is_some_and(|round| round.concerns(key))
            || self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.concerns(key))
    }

    /// A partition is gone.
    pub(crate) fn forget(&mut self, key: PartitionKey) {
        self.dirty.retain(|dirty| *dirty != key);
        self.early.end = self.early.end.min(self.dirty.len());
        self.round.iter_mut().for_each(|round| round.forget(key));
        self.unchecked.remove(&key);
        if self.is_cached.remove(&key) {
            self.cached.retain(|cached| *cached != key);
        }
    }

    /// Gives back chunks that the disk has, oldest first, while free memory is short.
    fn give_back(&mut self, partitions: &mut Partitions) {
        let mut shortage = self.share.shortage();
        while shortage > 0 {
            let Some(key) = self.cached.pop_front() else { return };
            self.is_cached.remove(&key);
            // A partition that is gone gave its memory back when it went.
            let Some(partition) = partitions.get_mut(key) else { continue };
            shortage = shortage.saturating_sub(partition.evict(shortage));
            if partition.log().tail().durable_chunks() > 0 {
                self.is_cached.insert(key);
                self.cached.push_front(key);
            }
        }
    }
}
