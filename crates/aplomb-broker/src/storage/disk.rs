//! A shard's part of one disk: rounds of syncs, checkpoints, and memory that the tail gives back.
//!
//! What always holds: one round is under way at most, and one checkpoint; a partition that has
//! something for the disk stands in `dirty` once.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{Completion, DiskCommand, DiskIndex, DiskJob, DiskQueue, FileName, Lane, SmallFile};
use aplomb_log::tail::TailShare;
use aplomb_model::{DirectoryId, Instant, Offset};

use super::checkpoints::{CheckpointChange, CheckpointEntry};
use super::port::DiskPort;
use super::purpose::Purpose;
use super::rhythm::{FlushIntervals, Rhythm, Round};
use crate::calls::PartitionKey;
use crate::partition::{Effects, Partition, Partitions};

/// So many bytes are written without waiting for the next round.
const WRITE_EARLY: u64 = 4 << 20;

/// A partition in a round, and what the round covers of it. One that has moved away since is none
/// any more.
#[derive(Clone, Copy, Debug)]
struct Member {
    key: PartitionKey,
    residence: u32,
    covers: Offset,
}

impl Member {
    fn of<'a>(&self, partitions: &'a mut Partitions) -> Option<&'a mut Partition> {
        partitions.get_on(self.key, self.residence)
    }
}

/// A round of syncs under way.
#[derive(Debug)]
struct RoundState {
    members: Vec<Member>,
    checkpoint: Option<CheckpointState>,
}

/// What a checkpoint publishes and then deletes.
#[derive(Debug, Default)]
struct CheckpointState {
    members: Vec<Member>,
    publish: Vec<SmallFile>,
    obsolete: Vec<FileName>,
}

/// A shard's part of one disk.
pub(crate) struct ShardDisk {
    port: DiskPort<Purpose>,
    share: Arc<TailShare>,
    directory: DirectoryId,
    path: String,
    /// The first error, when the disk is lost.
    lost: Option<Arc<str>>,
    /// Size and usable bytes of its file system, when the disk has said.
    space: Option<(u64, u64)>,
    rhythm: Rhythm,
    dirty: Vec<PartitionKey>,
    /// Those that were dirty since the last checkpoint, or whose recovery point lags behind it.
    unchecked: BTreeSet<PartitionKey>,
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
        directory: DirectoryId,
        path: String,
        intervals: FlushIntervals,
    ) -> Self {
        Self {
            port: DiskPort::new(queue),
            share,
            directory,
            path,
            lost: None,
            space: None,
            rhythm: Rhythm::new(intervals),
            dirty: Vec::new(),
            unchecked: BTreeSet::new(),
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
        self.rhythm.demand_checkpoint(now);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let round = if self.lost.is_some() { None } else { self.rhythm.wake_at() };
        [round, self.port.retry_at()].into_iter().flatten().min()
    }

    /// Whether nothing is owed and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.round.is_none() && self.checkpoint.is_none() && self.dirty.is_empty() && self.port.pending() == 0
    }

    /// Begins what is due, and gives memory back where it is short.
    pub(crate) fn poll(&mut self, partitions: &mut Partitions, now: Instant) {
        if self.lost.is_some() {
            return;
        }
        if let Some(round) = self.rhythm.poll(now) {
            self.begin(round, partitions, now);
        } else if self.unwritten >= WRITE_EARLY {
            self.write_early(partitions, now);
        }
        self.give_back(partitions);
    }

    fn write_early(&mut self, partitions: &mut Partitions, now: Instant) {
        self.unwritten = 0;
        let stats = self.share.stats();
        if stats.waiting * 2 > stats.chunks as u64 * u64::from(stats.chunk_size) {
            self.rhythm.demand(now); // at this rate the share is full before the interval is over
        }
        let mut commands = Vec::new();
        for key in &self.dirty {
            if let Some(partition) = partitions.get_mut(*key) {
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

    fn begin(&mut self, round: Round, partitions: &mut Partitions, now: Instant) {
        let is_checkpoint = round == Round::Checkpoint && self.checkpoint.is_none();
        if round == Round::Checkpoint && !is_checkpoint {
            self.rhythm.on_lag(now); // the last one is still being published: later
        }
        let mut keys = std::mem::take(&mut self.dirty);
        if is_checkpoint {
            keys.extend(std::mem::take(&mut self.unchecked));
            keys.sort_unstable();
            keys.dedup();
        }
        self.unwritten = 0;
        let (mut commands, mut files) = (Vec::new(), Vec::new());
        let mut state = RoundState { members: Vec::with_capacity(keys.len()), checkpoint: None };
        let mut checkpoint = is_checkpoint.then(CheckpointState::default);
        for key in keys {
            let Some(partition) = partitions.get_mut(key) else { continue };
            let part = partition.begin_round(is_checkpoint, &mut commands);
            let member = Member { key, residence: partition.residence(), covers: part.covers };
            if let Some(checkpoint) = &mut checkpoint {
                checkpoint.publish.extend(part.publish);
                checkpoint.obsolete.extend(part.obsolete);
                checkpoint.members.push(member);
            }
            files.extend(part.files);
            state.members.push(member);
        }
        state.checkpoint = checkpoint;
        self.submit_writes(commands, now);
        self.port.submit(DiskCommand::Sync { files }, Purpose::Sync, now);
        let before = self.round.replace(state);
        assert!(before.is_none(), "one round at a time");
    }

    /// The round's sync is over: what it covered is durable.
    pub(super) fn on_synced(&mut self, partitions: &mut Partitions, fx: &mut Effects, now: Instant) {
        let round = self.round.take().expect("a sync belongs to a round");
        self.rhythm.on_round_over();
        for member in &round.members {
            let Some(partition) = member.of(partitions) else { continue };
            partition.on_synced(member.covers, fx);
            if partition.log().tail().durable_chunks() > 0 && self.is_cached.insert(member.key) {
                self.cached.push_back(member.key);
            }
        }
        if let Some(mut checkpoint) = round.checkpoint {
            let files = std::mem::take(&mut checkpoint.publish);
            self.checkpoint = Some(checkpoint);
            self.port.submit(
                DiskCommand::Publish { files, lane: Lane::Housekeeping },
                Purpose::Checkpoint,
                now,
            );
        }
    }

    /// The checkpoint's files are published: recovery points move up.
    pub(crate) fn on_checkpointed(
        &mut self,
        partitions: &mut Partitions,
        now: Instant,
    ) -> Vec<CheckpointChange> {
        let checkpoint = self.checkpoint.take().expect("files are published for a checkpoint");
        if !checkpoint.obsolete.is_empty() {
            let files = checkpoint.obsolete;
            self.port.submit(DiskCommand::DeleteFiles { files }, Purpose::Chore, now);
        }
        let mut changes = Vec::with_capacity(checkpoint.members.len());
        for member in checkpoint.members {
            let Some(partition) = member.of(partitions) else { continue };
            let lags = partition.on_checkpointed(member.covers);
            changes.push((member.key, Some(CheckpointEntry::of(partition))));
            if lags {
                self.unchecked.insert(member.key);
                self.rhythm.on_lag(now);
            }
        }
        changes
    }

    /// Whether a round or a checkpoint under way has to do with a partition: small files of it may
    /// still be given to the disk.
    pub(crate) fn concerns(&self, key: PartitionKey) -> bool {
        let round = self.round.iter().flat_map(|round| &round.members);
        let checkpoint = self.checkpoint.iter().flat_map(|checkpoint| &checkpoint.members);
        round.chain(checkpoint).any(|member| member.key == key)
    }

    /// A partition is gone.
    pub(crate) fn forget(&mut self, key: PartitionKey) {
        self.dirty.retain(|dirty| *dirty != key);
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
