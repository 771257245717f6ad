//! What a shard begins with.

use std::sync::Arc;

use aplomb_disk_api::{DiskIndex, DiskQueue, FileName};
use aplomb_log::Log;
use aplomb_log::tail::TailShare;
use aplomb_model::{ByteCount, DirectoryId, LeaderEpoch, Offset, TopicPartition};

use super::patient::Patient;
use super::post::Post;
use super::stop::Stop;
use super::{Output, Shard};
use crate::calls::PartitionKey;
use crate::config::BrokerConfig;
use crate::coordinators::{Coordinators, ShownBound};
use crate::desk::Desk;
use crate::fetch_sessions::FetchSessions;
use crate::figures::{Notes, ShardFigures};
use crate::head::{ControllerSeed, Head};
use crate::limits::Limits;
use crate::metadata::MetadataImage;
use crate::partition::{Effects, Partition, PartitionSettings, Partitions};
use crate::ports::{Chance, Now, ShardId};
use crate::quotas::{Ledger, Quotas};
use crate::replicas::{LoadPlan, Replicas};
use crate::storage::checkpoints::{CheckpointEntry, Checkpoints};
use crate::storage::{Background, Disks, FlushIntervals, ShardDisk, Storage};
use crate::view::{HEAD, View};

/// A partition as it was loaded.
pub(crate) struct PartitionSeed {
    /// Which.
    pub(crate) key: PartitionKey,
    /// By name.
    pub(crate) name: TopicPartition,
    /// The disk that it is on.
    pub(crate) disk: DiskIndex,
    /// Its log.
    pub(crate) log: Log,
    /// The epoch in which this broker leads it.
    pub(crate) leader_epoch: LeaderEpoch,
    /// Its settings.
    pub(crate) settings: PartitionSettings,
}

/// A disk as a shard gets it.
pub(crate) struct DiskSeed {
    /// This shard's entrance.
    pub(crate) queue: Box<dyn DiskQueue>,
    /// The disk's share of the tail.
    pub(crate) share: Arc<TailShare>,
    /// The log directory's id.
    pub(crate) directory: DirectoryId,
    /// The log directory's path, as an operator knows it.
    pub(crate) path: String,
}

/// What a shard begins with.
pub(crate) struct ShardSeed {
    /// Which one it is.
    pub(crate) me: ShardId,
    /// How many there are.
    pub(crate) shards: u16,
    /// The broker's settings.
    pub(crate) config: Arc<BrokerConfig>,
    /// The cluster.
    pub(crate) image: Arc<MetadataImage>,
    /// The partitions that it owns and that are open.
    pub(crate) partitions: Vec<PartitionSeed>,
    /// Those that it loads first of all.
    pub(crate) loads: Vec<LoadPlan>,
    /// The disks, in the order of their index.
    pub(crate) disks: Vec<DiskSeed>,
    /// The paths of log directories that the broker does without from the start.
    pub(crate) lost: Vec<String>,
    /// The controller; for shard 0 alone.
    pub(crate) controller: Option<ControllerSeed>,
    /// What the checkpoint files say of each disk's partitions; for shard 0 alone.
    pub(crate) checkpoints: Option<Vec<Vec<(PartitionKey, CheckpointEntry)>>>,
    /// Directories that wait to be deleted; for shard 0 alone.
    pub(crate) doomed: Vec<(DiskIndex, FileName)>,
    /// What bounds all shards together in moves and compaction.
    pub(crate) background: Arc<Background>,
    /// What clients with quotas have used.
    pub(crate) ledger: Arc<Ledger>,
    /// How many groups all shards together show one by one.
    pub(crate) shown_groups: Arc<ShownBound>,
    /// Random bytes, for ids of members.
    pub(crate) random: Chance,
    /// Makes the ids of fetch sessions differ from those of an earlier process.
    pub(crate) seed: u64,
}

impl Shard {
    pub(crate) fn new(seed: ShardSeed, now: Now) -> Self {
        let config = seed.config;
        let (storage, network) = (&config.storage, &config.network);
        let slots = (network.fetch_sessions as usize).div_ceil(usize::from(seed.shards));
        // Fetches of many partitions are on the shard with the controller.
        let half = (network.fetch_partitions as usize).div_ceil(2);
        let most = if seed.me == HEAD { half } else { half.div_ceil(usize::from(seed.shards - 1)) };
        let sessions = FetchSessions::new(slots, most, seed.me, seed.shards, seed.seed);
        let intervals =
            FlushIntervals { records: storage.flush_interval, checkpoint: storage.recovery_point_checkpoint };
        let size = |bytes: ByteCount| usize::try_from(bytes.0).unwrap_or(usize::MAX);
        let (reading, producing) = (size(storage.fetch_memory), size(storage.waiting));
        let disk = |d: DiskSeed| {
            d.share.reading().set_limit(reading);
            d.share.producing().set_limit(producing);
            ShardDisk::new(d.queue, d.share, (d.directory, d.path), intervals, storage.partitions_a_turn)
        };
        let disks = Disks::new(seed.disks.into_iter().map(disk).collect(), seed.lost);
        let figures = Arc::new(ShardFigures::new(disks.len(), Arc::clone(&seed.ledger)));
        let checkpoints = seed.checkpoints.map(|checkpoints| {
            let mut files = Checkpoints::new(disks.len(), storage.recovery_point_checkpoint);
            for (disk, entries) in checkpoints.into_iter().enumerate() {
                files.begin(disk, entries);
            }
            files
        });
        let mut storage =
            Storage::new(disks, checkpoints, storage.retention_check, seed.background, &figures, now.instant);
        for (disk, name) in seed.doomed {
            storage.delete_now(disk, name, now);
        }
        let security = Arc::clone(&seed.image.security);
        let quotas = Quotas::new(seed.ledger, config.quotas.mutations.into(), security);
        let view = View::new(seed.me, seed.shards, config, seed.image);
        let (mut partitions, mut notes, mut fx) =
            (Partitions::default(), Notes::default(), Effects::default());
        let mut metadata_end = Offset::ZERO;
        for PartitionSeed { key, name, disk, log, leader_epoch, settings } in seed.partitions {
            let mut partition = Partition::new(key, name, disk, log, settings, leader_epoch);
            if partition.log().needs_checkpoint() {
                partition.mark_dirty(&mut fx);
            }
            notes.welcome(partition.figures());
            if key == PartitionKey::METADATA {
                metadata_end = partition.log().end();
            }
            // One whose directory no disk has yet is led from here on, too.
            fx.elected.push(key);
            partitions.insert(partition);
        }
        let mut replicas = Replicas::default();
        replicas.begin_loads(seed.loads, &mut storage, now);
        figures.set_loading(replicas.loading(), replicas.noted());
        notes.hand_over(&figures);
        let mut shard = Self {
            desk: Desk::new(seed.me, sessions, most, quotas),
            partitions,
            replicas,
            storage,
            head: seed
                .controller
                .map(|seed| Box::new(Head::new(seed, metadata_end, view.config(), now.instant))),
            stop: Stop::new(),
            figures,
            notes,
            limits: Limits::default(),
            fx,
            post: Post::new(seed.me),
            patient: Patient::default(),
            coordinators: Coordinators::new(seed.random, seed.shown_groups),
            view,
        };
        if shard.view.me() == HEAD {
            shard.post.push(Output::connection_rates(&shard.view));
        }
        shard.post.push(Output::Users(Arc::clone(&shard.view.image().security)));
        if shard.head.is_some() {
            super::shown::show_cluster(&shard.view, &shard.figures);
        }
        shard.carry_out(now);
        shard
    }
}
