//! A shard's part of one disk: rounds of syncs, checkpoints, and memory that the tail gives back.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskIndex, DiskQueue, FileName, Lane, SmallFile};
use aplomb_log::tail::TailShare;
use aplomb_model::{DirectoryId, Instant, Offset, TopicPartition};

use crate::disks::flusher::{FlushIntervals, Flusher, Round};
use crate::disks::port::DiskPort;
use crate::message::{CheckpointChange, CheckpointEntry, PartitionKey};
use crate::partition::{Effects, Partition};

/// So many bytes are written without waiting for the next round.
const WRITE_EARLY: u64 = 4 << 20;

/// Why a command was given.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// Bytes of a segment or an index; the sync behind it says when they are safe.
    Write,
    /// The sync of the round.
    Sync,
    /// The small files of the checkpoint.
    Checkpoint,
    /// The files with the recovery points and the like.
    Offsets,
    /// A step of a cold read.
    Cold(u64),
    /// The last entry of a time index, for retention.
    TimeEntry { key: PartitionKey, base: Offset, residence: u32 },
    /// A name that was taken out of a log: to be deleted after the delay. `left`: the partition whose directory it was.
    Doom { name: FileName, directory: bool, after: Duration, left: Option<(PartitionKey, TopicPartition)> },
    /// The last write of a partition that is going away; its directory is renamed then.
    Farewell { key: PartitionKey },
    /// A step of a partition's move to another disk.
    Move { key: PartitionKey, number: u64 },
    /// A snapshot of the metadata.
    Snapshot,
    /// How much room there is.
    Space,
    /// Nobody waits for it.
    Chore,
    /// The clean shutdown marker: the very last word.
    Goodbye,
}

/// A partition in a round, and what the round covers of it. One that has moved away since is none any more.
#[derive(Clone, Copy, Debug)]
struct Member {
    key: PartitionKey,
    residence: u32,
    covers: Offset,
}

impl Member {
    fn of<'a>(&self, partitions: &'a mut HashMap<PartitionKey, Partition>) -> Option<&'a mut Partition> {
        partitions.get_mut(&self.key).filter(|partition| partition.residence == self.residence)
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
    pub(crate) port: DiskPort<Purpose>,
    pub(crate) share: Arc<TailShare>,
    pub(crate) directory: DirectoryId,
    pub(crate) path: String,
    /// The first error, when the disk is lost.
    pub(crate) lost: Option<Arc<str>>,
    /// Size and room of its file system, when the disk has said.
    pub(crate) space: Option<(u64, u64)>,
    flusher: Flusher,
    dirty: Vec<PartitionKey>,
    /// Those that were dirty since the last checkpoint, or whose recovery point lags behind it.
    unchecked: BTreeSet<PartitionKey>,
    /// Those with memory that could be given back, the ones that were durable first in front.
    cached: VecDeque<PartitionKey>,
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
            flusher: Flusher::new(intervals),
            dirty: Vec::new(),
            unchecked: BTreeSet::new(),
            cached: VecDeque::new(),
            unwritten: 0,
            round: None,
            checkpoint: None,
        }
    }

    pub(crate) fn index(&self) -> DiskIndex {
        self.port.disk()
    }

    /// A partition has something for the disk, to be durable within its own time if that is shorter than the broker's.
    pub(crate) fn on_dirty(&mut self, key: PartitionKey, within: Option<Duration>, now: Instant) {
        self.dirty.push(key);
        self.unchecked.insert(key);
        self.flusher.on_append(within, now);
    }

    /// Bytes were appended.
    pub(crate) fn on_bytes(&mut self, bytes: u64) {
        self.unwritten += bytes;
    }

    /// Somebody waits for the next round.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.flusher.demand(now);
    }

    /// All that is owed is to be written, with a checkpoint.
    pub(crate) fn hurry_checkpoint(&mut self, now: Instant) {
        self.flusher.demand_checkpoint(now);
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let round = if self.lost.is_some() { None } else { self.flusher.wake_at() };
        [round, self.port.retry_at()].into_iter().flatten().min()
    }

    /// Whether nothing is owed and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.round.is_none() && self.checkpoint.is_none() && self.dirty.is_empty() && self.port.pending() == 0
    }

    /// Begins what is due, and gives memory back where it is short.
    pub(crate) fn poll(&mut self, partitions: &mut HashMap<PartitionKey, Partition>, now: Instant) {
        if self.lost.is_some() {
            return;
        }
        if let Some(round) = self.flusher.poll(now) {
            self.begin(round, partitions, now);
        } else if self.unwritten >= WRITE_EARLY {
            self.write_early(partitions, now);
        }
        self.give_back(partitions);
    }

    fn write_early(&mut self, partitions: &mut HashMap<PartitionKey, Partition>, now: Instant) {
        self.unwritten = 0;
        let stats = self.share.stats();
        if stats.waiting * 2 > stats.chunks as u64 * u64::from(stats.chunk_size) {
            self.flusher.demand(now); // at this rate the share is full before the interval is over
        }
        let mut commands = Vec::new();
        for key in &self.dirty {
            if let Some(partition) = partitions.get_mut(key) {
                partition.log.take_writes(&mut commands);
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

    fn begin(&mut self, round: Round, partitions: &mut HashMap<PartitionKey, Partition>, now: Instant) {
        let is_checkpoint = round == Round::Checkpoint && self.checkpoint.is_none();
        if round == Round::Checkpoint && !is_checkpoint {
            self.flusher.on_lag(now); // the last one is still being published: later
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
            let Some(partition) = partitions.get_mut(&key) else { continue };
            partition.dirty = false;
            partition.log.take_writes(&mut commands);
            let mut part = partition.log.begin_sync();
            if let Some(checkpoint) = &mut checkpoint {
                let small = partition.log.begin_checkpoint(&mut part);
                checkpoint.publish.extend(small.publish);
                checkpoint.obsolete.extend(small.obsolete);
                checkpoint.members.push(Member { key, residence: partition.residence, covers: part.covers });
            }
            files.extend(part.files);
            state.members.push(Member { key, residence: partition.residence, covers: part.covers });
        }
        state.checkpoint = checkpoint;
        self.submit_writes(commands, now);
        self.port.submit(DiskCommand::Sync { files }, Purpose::Sync, now);
        self.round = Some(state);
    }

    /// The round's sync is over. Returns the partitions for which it says that everything below is durable.
    pub(crate) fn on_synced(
        &mut self,
        partitions: &mut HashMap<PartitionKey, Partition>,
        fx: &mut Effects,
        now: Instant,
    ) -> Vec<(PartitionKey, Offset)> {
        let round = self.round.take().expect("a sync belongs to a round");
        self.flusher.on_round_over();
        for member in &round.members {
            let Some(partition) = member.of(partitions) else { continue };
            partition.on_synced(member.covers, fx);
            if !partition.cached && partition.log.tail().durable_chunks() > 0 {
                partition.cached = true;
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
        round.members.iter().map(|member| (member.key, member.covers)).collect()
    }

    /// The checkpoint's files are published: recovery points move up.
    pub(crate) fn on_checkpointed(
        &mut self,
        partitions: &mut HashMap<PartitionKey, Partition>,
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
            partition.log.on_checkpointed(member.covers);
            changes.push((member.key, Some(entry_of(partition))));
            if partition.log.recovery_point_lags() {
                self.unchecked.insert(member.key);
                self.flusher.on_lag(now);
            }
        }
        changes
    }

    /// Whether a round or a checkpoint under way has to do with a partition: small files of it may still be given to the disk.
    pub(crate) fn concerns(&self, key: PartitionKey) -> bool {
        let round = self.round.iter().flat_map(|round| &round.members);
        let checkpoint = self.checkpoint.iter().flat_map(|checkpoint| &checkpoint.members);
        round.chain(checkpoint).any(|member| member.key == key)
    }

    /// A partition is gone.
    pub(crate) fn forget(&mut self, key: PartitionKey) {
        self.dirty.retain(|dirty| *dirty != key);
        self.unchecked.remove(&key);
        self.cached.retain(|cached| *cached != key);
    }

    /// Gives back chunks that the disk has, oldest first, while free memory is short.
    fn give_back(&mut self, partitions: &mut HashMap<PartitionKey, Partition>) {
        let mut shortage = self.share.shortage();
        while shortage > 0 {
            let Some(key) = self.cached.pop_front() else { return };
            let Some(partition) = partitions.get_mut(&key) else { continue };
            shortage = shortage.saturating_sub(partition.log.evict(shortage));
            if partition.log.tail().durable_chunks() > 0 {
                self.cached.push_front(key);
            } else {
                partition.cached = false;
            }
        }
    }
}

/// What the checkpoint files say of a partition.
pub(crate) fn entry_of(partition: &Partition) -> CheckpointEntry {
    let log = &partition.log;
    CheckpointEntry {
        name: partition.name.clone(),
        recovery_point: log.recovery_point(),
        high_watermark: log.high_watermark(),
        log_start: (log.start() > Offset::ZERO).then_some(log.start()),
    }
}
