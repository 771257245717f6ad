//! What a shard begins with.

use std::collections::HashMap;
use std::sync::Arc;

use aplomb_disk_api::{DiskIndex, DiskQueue, FileName};
use aplomb_log::Log;
use aplomb_log::tail::TailShare;
use aplomb_model::{DirectoryId, LeaderEpoch, Offset, TopicPartition};

use super::controller::{ControllerRoom, ControllerSeed};
use super::disk::ShardDisk;
use super::keeper::Keeper;
use super::leaving::Leaving;
use super::moves::{MoveRate, Moves};
use super::upkeep::Upkeep;
use super::{ColdReads, Effects, Shard};
use crate::config::BrokerConfig;
use crate::disks::flusher::FlushIntervals;
use crate::figures::{Notes, ShardFigures};
use crate::message::{CheckpointEntry, PartitionKey};
use crate::metadata::MetadataImage;
use crate::parked::Operations;
use crate::partition::{Partition, PartitionSettings};
use crate::ports::{Now, ShardId};
use crate::sessions::FetchSessions;

/// A partition as it was loaded.
pub struct PartitionSeed {
    /// Which.
    pub key: PartitionKey,
    /// By name.
    pub name: TopicPartition,
    /// The disk that it is on.
    pub disk: DiskIndex,
    /// Its log.
    pub log: Log,
    /// The epoch in which this broker leads it.
    pub leader_epoch: LeaderEpoch,
    /// Its settings.
    pub settings: SeedSettings,
}

/// A partition's settings, opaque outside of the broker.
pub struct SeedSettings(pub(crate) PartitionSettings);

/// A disk as a shard gets it.
pub struct DiskSeed {
    /// This shard's entrance.
    pub queue: Box<dyn DiskQueue>,
    /// The disk's share of the tail.
    pub share: Arc<TailShare>,
    /// The log directory's id.
    pub directory: DirectoryId,
    /// The log directory's path, as an operator knows it.
    pub path: String,
}

/// What a shard begins with.
pub struct ShardSeed {
    /// Which one it is.
    pub me: ShardId,
    /// How many there are.
    pub shards: u16,
    /// The broker's settings.
    pub config: Arc<BrokerConfig>,
    /// The cluster.
    pub image: Arc<MetadataImage>,
    /// The partitions that it owns.
    pub partitions: Vec<PartitionSeed>,
    /// The disks, in the order of their index.
    pub disks: Vec<DiskSeed>,
    /// The paths of log directories that the broker does without from the start.
    pub lost: Vec<String>,
    /// The controller; for shard 0 alone.
    pub controller: Option<ControllerSeed>,
    /// What the checkpoint files say of each disk's partitions; for shard 0 alone.
    pub checkpoints: Option<Vec<Vec<(PartitionKey, CheckpointEntry)>>>,
    /// Directories that wait to be deleted; for shard 0 alone.
    pub doomed: Vec<(DiskIndex, FileName)>,
    /// Partitions that were on their way to another disk.
    pub moves: Vec<(PartitionKey, DiskIndex)>,
    /// The rate at which all shards together move partitions.
    pub move_rate: Arc<MoveRate>,
    /// Makes the ids of fetch sessions differ from those of an earlier process.
    pub seed: u64,
}

impl Shard {
    /// Begins.
    #[must_use]
    pub fn new(seed: ShardSeed, now: Now) -> Self {
        let storage = &seed.config.storage;
        let intervals =
            FlushIntervals { records: storage.flush_interval, checkpoint: storage.recovery_point_checkpoint };
        let disks = seed
            .disks
            .into_iter()
            .inspect(|d| {
                let limit = usize::try_from(storage.fetch_memory.0).unwrap_or(usize::MAX);
                d.share.reading().set_limit(limit);
            })
            .map(|d| ShardDisk::new(d.queue, d.share, d.directory, d.path, intervals))
            .collect::<Vec<_>>();
        let keeper = seed.checkpoints.map(|checkpoints| {
            let mut keeper = Keeper::new(disks.len(), storage.recovery_point_checkpoint);
            for (disk, entries) in checkpoints.into_iter().enumerate() {
                keeper.begin(disk, entries);
            }
            keeper
        });
        let slots = usize::try_from(seed.config.network.fetch_sessions).unwrap_or(0);
        let slots = slots.div_ceil(usize::from(seed.shards.max(1)));
        let figures = Arc::new(ShardFigures::new(disks.len()));
        let mut shard = Self {
            me: seed.me,
            shards: seed.shards,
            image: seed.image,
            partitions: HashMap::new(),
            disks,
            lost_at_start: seed.lost,
            operations: Operations::default(),
            sessions: FetchSessions::new(slots, seed.me, seed.shards, seed.seed),
            cold: ColdReads::default(),
            upkeep: Upkeep::new(storage.retention_check, now.instant),
            controller: seed.controller.map(|seed| Box::new(ControllerRoom::new(seed))),
            keeper,
            stopping: None,
            leaving: Leaving::default(),
            moves: Moves::new(seed.move_rate),
            figures,
            notes: Notes::default(),
            fx: Effects::default(),
            answers: Default::default(),
            answers_out: Default::default(),
            starved: Vec::new(),
            starved_due: None,
            config: seed.config,
        };
        for (disk, name) in seed.doomed {
            shard.upkeep.doom(now.instant, disk, name, true);
        }
        for PartitionSeed { key, name, disk, log, leader_epoch, settings } in seed.partitions {
            let mut partition = Partition::new(key, name, disk, log, settings.0, leader_epoch);
            partition.log.begin_epoch(leader_epoch);
            if partition.log.needs_checkpoint() {
                partition.mark_dirty(&mut shard.fx);
            }
            shard.notes.welcome(&partition.figures);
            let directory = shard.disks[usize::from(disk.0)].directory;
            let known = shard.image.topics.partition(key.topic, key.partition);
            if known.is_some_and(|known| known.directory(shard.config.node_id) != Some(directory)) {
                shard.moves.found(key, directory);
            }
            shard.partitions.insert(key, partition);
        }
        shard.notes.hand_over(&shard.figures);
        for (key, to) in seed.moves {
            shard.begin_move(key, to);
        }
        shard.show_cluster();
        for key in std::mem::take(&mut shard.fx.dirty) {
            let disk = shard.partitions[&key].disk;
            shard.disks[usize::from(disk.0)].on_dirty(key, None, now.instant);
        }
        shard
    }
}

/// What the checkpoint files say of a partition that is not open yet.
pub(crate) fn checkpoint_of(seed: &PartitionSeed) -> CheckpointEntry {
    CheckpointEntry {
        name: seed.name.clone(),
        recovery_point: seed.log.recovery_point(),
        high_watermark: seed.log.high_watermark(),
        log_start: (seed.log.start() > Offset::ZERO).then_some(seed.log.start()),
    }
}
