//! Loading: every partition that the metadata gives to this broker, from wherever it lies, and the
//! seeds of the shards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aplomb_disk_api::{DiskError, DiskIndex, DiskQueue, EntryKind, FileName};
use aplomb_log::layout::top_level::CLUSTER_METADATA_DIR;
use aplomb_log::layout::{DirectoryRole, LogDirEntry, PARTITION_METADATA, PartitionDir};
use aplomb_log::recovery::forget::{ForgetError, without};
use aplomb_log::recovery::{LoadRequest, load as load_log};
use aplomb_log::state_files::PartitionMetadata;
use aplomb_log::tail::TailShare;
use aplomb_log::{Log, LogConfig};
use aplomb_model::{DirectoryId, LeaderEpoch, Offset, Timestamp, TopicPartition, Uuid};

use super::error::StartError;
use super::lead::take_lead;
use super::metadata::MetadataFound;
use super::survey::{Directory, Surveyed, offsets, read};
use crate::calls::PartitionKey;
use crate::config::BrokerConfig;
use crate::controller::{METADATA_TOPIC, Node};
use crate::coordinators::ShownBound;
use crate::head::ControllerSeed;
use crate::metadata::MetadataImage;
use crate::partition::{PartitionSettings, TopicSettings};
use crate::ports::{Chance, Now, ShardId};
use crate::quotas::Ledger;
use crate::replicas::{LoadPlan, LoadSource};
use crate::shard::{DiskSeed, PartitionSeed, Shard, ShardSeed};
use crate::storage::checkpoints::CheckpointEntry;
use crate::storage::{Background, partition_metadata};
use crate::store_checks::StoreChecks;

/// What the metadata says of a replica whose log directory it does not know.
const RESERVED: [DirectoryId; 3] = [Uuid::ZERO, Uuid::ONE, Uuid::TWO];

/// What a start is planned by.
pub struct StartInput {
    /// The settings.
    pub config: Arc<BrokerConfig>,
    /// This node.
    pub node: Node,
    /// The log directories, in the order of their index.
    pub directories: Vec<Surveyed>,
    /// Their shares of the tail, in the same order.
    pub shares: Vec<Arc<TailShare>>,
    /// The paths of log directories that the broker has to do without.
    pub lost: Vec<String>,
    /// Which of them has the metadata log.
    pub metadata: DiskIndex,
    /// What the metadata log says.
    pub found: MetadataFound,
    /// How many shards there will be for connections and partitions, beside the controller's.
    pub shards: u16,
    /// The time.
    pub now: Timestamp,
    /// Random bytes.
    pub random: Box<dyn FnMut() -> Chance>,
    /// Where stores are looked at that a client wants listeners to have.
    pub stores: Arc<StoreChecks>,
}

/// Everything is ready to be loaded.
pub struct Ready {
    /// What each shard begins with.
    pub shards: Vec<ShardStart>,
    /// Things worth a line in the log.
    pub remarks: Vec<String>,
    /// How many partitions there are.
    pub partitions: usize,
}

/// What one shard begins with, but for its entrances to the disks.
pub struct ShardStart {
    seed: ShardSeed,
    directories: Vec<Directory>,
    shares: Vec<Arc<TailShare>>,
}

impl ShardStart {
    /// Begins. `queues` are this shard's entrances to the disks, in the order of their index.
    #[must_use]
    pub fn begin(self, queues: Vec<Box<dyn DiskQueue>>, now: Now) -> Shard {
        let Self { mut seed, directories, shares } = self;
        let disks = queues.into_iter().zip(directories).zip(shares);
        seed.disks = disks
            .map(|((queue, directory), share)| DiskSeed {
                queue,
                share,
                directory: directory.id,
                path: directory.path,
            })
            .collect();
        Shard::new(seed, now)
    }
}

/// A partition's directory, where it was found.
struct FoundDirectory {
    disk: usize,
    name: String,
}

/// Looks at what is in the directories and deals the partitions out to the shards, which load them.
/// Takes the lead of the cluster first.
///
/// # Errors
/// [`StartError`]: the broker must not start.
pub fn plan(input: StartInput) -> Result<Ready, StartError> {
    let mut remarks: Vec<String> =
        input.directories.iter().filter_map(|surveyed| surveyed.remark.clone()).collect();
    let unclean = input.directories.iter().any(|surveyed| surveyed.clean.is_none());
    let (mut metadata_log, lines) = load_metadata_log(&input)?;
    remarks.extend(lines);
    let StartInput {
        config,
        node,
        directories,
        shares,
        lost,
        metadata,
        found,
        shards,
        now,
        random: mut sources,
        stores,
    } = input;
    let mut random = sources();
    let home = &directories[usize::from(metadata.0)].directory;
    let snapshots = found.snapshots.clone();
    let lead = take_lead(home, &mut metadata_log, found, &node, &config, unclean, now)?;
    let image = Arc::new(lead.controller.image().clone());

    let mut places: BTreeMap<TopicPartition, Vec<FoundDirectory>> = BTreeMap::new();
    let mut futures: BTreeMap<TopicPartition, Vec<FoundDirectory>> = BTreeMap::new();
    let mut doomed = Vec::new();
    for (n, surveyed) in directories.iter().enumerate() {
        for (partition, name) in list(&surveyed.directory, &mut doomed)? {
            let is_future = matches!(partition.role, DirectoryRole::Future { .. });
            let found = if is_future { &mut futures } else { &mut places };
            let found = found.entry(partition.partition).or_insert_with(|| Vec::with_capacity(1));
            found.push(FoundDirectory { disk: n, name });
        }
    }
    let mut offsets =
        directories.iter().map(|surveyed| offsets(&surveyed.directory)).collect::<Result<Vec<_>, _>>()?;
    let mut opened: Vec<BTreeSet<TopicPartition>> = vec![BTreeSet::new(); directories.len()];
    let (mut plans, mut new) = (Vec::new(), Vec::new());
    // Drawn once: what is put aside only needs a name that no other has.
    let drawn = u128::from_be_bytes(random());
    let mut stray_ids = (0..).map(|n| Uuid(drawn.wrapping_add(n).to_be_bytes()));
    for topic in image.topics.iter() {
        let topic_config = image.topic_config(&topic.name, &config);
        let settings = TopicSettings::of(topic_config, &topic.name, config.storage.producer_id_expiration);
        for (index, partition) in
            topic.partitions.iter().filter(|(_, p)| p.replicas.contains(&config.node_id))
        {
            let name = TopicPartition::new(topic.name.clone(), index.0);
            let key = PartitionKey { topic: topic.id, partition: *index };
            let known = partition.directory(config.node_id).filter(|id| !RESERVED.contains(id));
            let assigned = directories.iter().position(|d| Some(d.directory.id) == known);
            // Moved to a log directory that may come back, with records that no other has: what a
            // move has left behind is no log meanwhile.
            let is_away = known.is_some() && assigned.is_none() && !lost.is_empty();
            let mut own = Vec::new();
            let found = places.remove(&name).unwrap_or_default();
            // Which topic a directory is of, if there is but one, is looked at when it is loaded:
            // that reads a file of each.
            let is_checked = found.len() > 1 || futures.contains_key(&name);
            for place in found {
                let home = &directories[place.disk].directory;
                if !is_checked || is_of(home, &place.name, topic.id)? {
                    own.push(place);
                } else {
                    remarks.push(put_aside(home, &name, &place.name, &mut random)?);
                }
            }
            if is_away {
                for place in own.drain(..) {
                    opened[place.disk].insert(name.clone());
                }
            }
            // The one that is assigned comes first.
            own.sort_by_key(|place| Some(place.disk) != assigned);
            let mut future = None;
            for place in futures.remove(&name).unwrap_or_default() {
                let home = &directories[place.disk].directory;
                if !is_of(home, &place.name, topic.id)? {
                    doomed.push((home.index, FileName::new(place.name)));
                } else if own.is_empty() && Some(place.disk) == assigned {
                    // A move of Apache Kafka's that was over but for the name.
                    let serving = PartitionDir::serving(name.clone()).name();
                    rename(home, &place.name, &serving)?;
                    own.push(FoundDirectory { disk: place.disk, name: serving });
                } else if let Some(first) = own.first() {
                    // Begun anew, in a directory of its own.
                    future = (first.disk != place.disk).then_some(place.disk).or(future);
                    doomed.push((home.index, FileName::new(place.name)));
                }
            }
            let settings = settings.of_partition(key);
            let leader_epoch = partition.leader_epoch;
            match (own.is_empty(), assigned) {
                (false, _) => {
                    // Of a hundred thousand partitions, room for what does not come is felt.
                    let mut sources = Vec::with_capacity(own.len());
                    for place in own {
                        opened[place.disk].insert(name.clone());
                        let (surveyed, offsets) = (&directories[place.disk], &mut offsets[place.disk]);
                        let request = LoadRequest {
                            directory: place.name,
                            topic: key.topic,
                            partition: key.partition,
                            config: settings.log.clone(),
                            clean: surveyed.clean.is_some(),
                            recovery_point: offsets.recovery_points.remove(&name).unwrap_or(Offset::ZERO),
                            log_start: offsets.log_starts.remove(&name).unwrap_or(Offset::ZERO),
                            cleaned: offsets.cleaned.remove(&name),
                            high_watermark: None,
                            share: shares[place.disk].clone(),
                            now,
                        };
                        let aside = (!is_checked).then(|| stray_ids.next().expect("there are many"));
                        // What was noted is of a log that is alone.
                        let closed_logs = surveyed.closed_logs.as_ref().filter(|_| !is_checked);
                        let note = closed_logs.and_then(|noted| noted.find(&request.directory));
                        sources.push(LoadSource { disk: surveyed.directory.index, request, aside, note });
                    }
                    let moves_to = future.map(|to: usize| directories[to].directory.index);
                    let settings = Box::new(settings);
                    plans.push(LoadPlan { key, name, leader_epoch, settings, sources, moves_to });
                }
                (true, Some(disk)) => {
                    let share = shares[disk].clone();
                    new.push(new_log(key, name, leader_epoch, settings, DiskIndex(disk as u16), share, now));
                }
                // Its directory is not among ours: the log may well be there, so that a new one
                // would be a lie.
                (true, None) => remarks.push(format!("{name} is in a log directory that is not there")),
            }
        }
    }
    for (surveyed, opened) in directories.iter().zip(&opened) {
        forget_others(&surveyed.directory, opened)?;
    }
    for (name, found) in places.into_iter().chain(futures) {
        for place in found {
            remarks.push(put_aside(&directories[place.disk].directory, &name, &place.name, &mut random)?);
        }
    }
    let partitions = plans.len() + new.len();
    new.push(PartitionSeed {
        key: PartitionKey::METADATA,
        name: TopicPartition::new(METADATA_TOPIC, 0),
        disk: metadata,
        log: metadata_log,
        leader_epoch: lead.epoch,
        settings: PartitionSettings::of_metadata_log(metadata_config(&config)),
    });
    let controller = ControllerSeed {
        controller: lead.controller,
        epoch: lead.epoch,
        ids: lead.ids,
        voters: node.voters(),
        snapshots,
        random,
        stores,
    };
    let found = Found { plans, new, doomed, controller };
    let shards = deal(found, (&directories, &lost), &shares, shards + 1, &config, &image, &mut sources);
    Ok(Ready { shards, remarks, partitions })
}

/// What was found for the shards.
struct Found {
    /// Logs to load.
    plans: Vec<LoadPlan>,
    /// Logs without a directory yet, and the metadata log.
    new: Vec<PartitionSeed>,
    /// Directories that wait to be deleted.
    doomed: Vec<(DiskIndex, FileName)>,
    controller: ControllerSeed,
}

/// Deals the partitions out to the shards that own them.
fn deal(
    found: Found,
    (directories, lost): (&[Surveyed], &[String]),
    shares: &[Arc<TailShare>],
    shards: u16,
    config: &Arc<BrokerConfig>,
    image: &Arc<MetadataImage>,
    sources: &mut dyn FnMut() -> Chance,
) -> Vec<ShardStart> {
    let Found { plans, new, doomed, controller } = found;
    let background = Arc::new(Background::default());
    let is_looked_at = config.network.metrics_listener.is_some();
    let shown_groups = if is_looked_at { config.network.shown_groups as usize } else { 0 };
    let shown_groups = Arc::new(ShownBound::new(shown_groups));
    let ledger = Arc::new(Ledger::new(config.quotas.clients.into()));
    // What the checkpoint files say of logs that are not loaded yet stays in them.
    let mut checkpoints: Vec<Vec<(PartitionKey, CheckpointEntry)>> = vec![Vec::new(); directories.len()];
    for seed in new.iter().filter(|seed| seed.key != PartitionKey::METADATA) {
        let entry = CheckpointEntry::of_log(seed.name.clone(), &seed.log);
        checkpoints[usize::from(seed.disk.0)].push((seed.key, entry));
    }
    for plan in &plans {
        for LoadSource { disk, request, .. } in &plan.sources {
            let entry = CheckpointEntry {
                name: plan.name.clone(),
                recovery_point: request.recovery_point,
                high_watermark: request.recovery_point,
                log_start: (request.log_start > Offset::ZERO).then_some(request.log_start),
                cleaned: request.cleaned,
            };
            checkpoints[usize::from(disk.0)].push((plan.key, entry));
        }
    }
    let mut owned: Vec<(Vec<PartitionSeed>, Vec<LoadPlan>)> =
        (0..shards).map(|_| (Vec::new(), Vec::new())).collect();
    for seed in new {
        owned[usize::from(seed.key.owner(shards).0)].0.push(seed);
    }
    for plan in plans {
        owned[usize::from(plan.key.owner(shards).0)].1.push(plan);
    }
    let mut once = Some((controller, checkpoints, doomed));
    let start = |(n, (partitions, loads)): (usize, (Vec<PartitionSeed>, Vec<LoadPlan>))| {
        let (controller, checkpoints, doomed) = match once.take() {
            Some((controller, checkpoints, doomed)) => (Some(controller), Some(checkpoints), doomed),
            None => (None, None, Vec::new()),
        };
        let seed = ShardSeed {
            me: ShardId(n as u16),
            shards,
            config: config.clone(),
            image: image.clone(),
            partitions,
            loads,
            disks: Vec::new(),
            lost: lost.to_vec(),
            controller,
            checkpoints,
            doomed,
            background: background.clone(),
            shown_groups: shown_groups.clone(),
            ledger: ledger.clone(),
            seed: image.provenance.end.get().rotate_left(32) ^ n as u64,
            random: sources(),
        };
        let directories = directories.iter().map(|surveyed| surveyed.directory.clone()).collect();
        ShardStart { seed, directories, shares: shares.to_vec() }
    };
    owned.into_iter().enumerate().map(start).collect()
}

/// The log of a partition that has no directory yet.
fn new_log(
    key: PartitionKey,
    name: TopicPartition,
    leader_epoch: LeaderEpoch,
    settings: PartitionSettings,
    disk: DiskIndex,
    share: Arc<TailShare>,
    now: Timestamp,
) -> PartitionSeed {
    let directory = PartitionDir::serving(name.clone()).name();
    let metadata = partition_metadata(&directory, key.topic);
    let config = settings.log.clone();
    let log = Log::empty(&directory, key.topic, key.partition, config, share, metadata, now);
    PartitionSeed { key, name, disk, log, leader_epoch, settings }
}

fn load_metadata_log(input: &StartInput) -> Result<(Log, Vec<String>), StartError> {
    let n = usize::from(input.metadata.0);
    let (surveyed, share) = (&input.directories[n], input.shares[n].clone());
    let config = Arc::new(metadata_config(&input.config));
    let file = FileName::new(format!("{CLUSTER_METADATA_DIR}/{PARTITION_METADATA}"));
    if read(&surveyed.directory, &file)?.is_none() {
        let metadata = partition_metadata(CLUSTER_METADATA_DIR, Uuid::ONE);
        let key = PartitionKey::METADATA;
        let log =
            Log::empty(CLUSTER_METADATA_DIR, key.topic, key.partition, config, share, metadata, input.now);
        return Ok((log, Vec::new()));
    }
    let request = LoadRequest {
        directory: CLUSTER_METADATA_DIR.to_owned(),
        topic: PartitionKey::METADATA.topic,
        partition: PartitionKey::METADATA.partition,
        config,
        clean: surveyed.clean.is_some(),
        // It keeps no recovery point: it is read wholly anyway.
        recovery_point: Offset::ZERO,
        log_start: Offset::ZERO,
        cleaned: None,
        high_watermark: None,
        share,
        now: input.now,
    };
    let path = surveyed.directory.path.clone();
    let loaded =
        load_log(&*surveyed.directory.disk, &request).map_err(|error| StartError::Log { path, error })?;
    Ok((loaded.log, loaded.report.remarks))
}

/// Takes everything but the partitions that were opened there out of a log directory's checkpoint
/// files.
fn forget_others(directory: &Directory, opened: &BTreeSet<TopicPartition>) -> Result<(), StartError> {
    let path = || directory.path.clone();
    let files =
        without(&*directory.disk, &|partition| !opened.contains(partition)).map_err(|error| match error {
            ForgetError::Disk(error) => StartError::Disk { path: path(), error },
            ForgetError::Checkpoint { file, error } => {
                StartError::File { path: path(), file, reason: error.to_string() }
            }
        })?;
    if files.is_empty() {
        return Ok(());
    }
    directory.disk.publish(&files).map_err(|error| StartError::Disk { path: path(), error })
}

/// The metadata log rolls as it is told to and deletes nothing by itself.
fn metadata_config(config: &BrokerConfig) -> LogConfig {
    LogConfig {
        is_internal: true,
        segment_bytes: u32::try_from(config.metadata.segment_bytes.0).unwrap_or(i32::MAX as u32),
        segment_age_ms: u64::try_from(config.metadata.segment_age.as_millis()).unwrap_or(u64::MAX),
        deletes: false,
        retention_ms: None,
        flush_messages: Some(1),
        ..LogConfig::kafka_defaults()
    }
}

/// The partition directories in a log directory, and those of moves. Those that wait to be deleted
/// go to `doomed`.
fn list(
    directory: &Directory,
    doomed: &mut Vec<(DiskIndex, FileName)>,
) -> Result<Vec<(PartitionDir, String)>, StartError> {
    let path = || directory.path.clone();
    let entries = directory.disk.list(None).map_err(|error| StartError::Disk { path: path(), error })?;
    let mut found = Vec::new();
    for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory) {
        if entry.name == "lost+found" {
            continue; // a file system of its own
        }
        let what = LogDirEntry::of_directory(&entry.name)
            .map_err(|error| StartError::Directory { path: path(), error })?;
        let LogDirEntry::Partition(partition) = what else { continue };
        match partition.role {
            DirectoryRole::Serving | DirectoryRole::Future { .. } => found.push((partition, entry.name)),
            DirectoryRole::Deleted { .. } => doomed.push((directory.index, FileName::new(entry.name))),
            DirectoryRole::Stray { .. } => {}
        }
    }
    Ok(found)
}

/// Whether a directory is of the topic with this id. One that does not say so is nobody's.
fn is_of(directory: &Directory, name: &str, topic: Uuid) -> Result<bool, StartError> {
    Ok(topic_of(directory, name)? == Some(topic))
}

/// Of which topic a directory says that it is.
pub(super) fn topic_of(directory: &Directory, name: &str) -> Result<Option<Uuid>, StartError> {
    let file = FileName::new(format!("{name}/{PARTITION_METADATA}"));
    let Some(bytes) = read(directory, &file)? else { return Ok(None) };
    let found = PartitionMetadata::parse(&bytes).map_err(|error| StartError::File {
        path: directory.path.clone(),
        file,
        reason: error.to_string(),
    })?;
    Ok(Some(found.topic_id))
}

fn rename(directory: &Directory, from: &str, to: &str) -> Result<(), StartError> {
    let renamed = directory.disk.rename(&FileName::new(from), &FileName::new(to));
    renamed.map_err(|error: DiskError| StartError::Disk { path: directory.path.clone(), error })
}

/// Gives a directory that no topic has the name of a stray, as Apache Kafka does. Nothing in it is
/// touched.
fn put_aside(
    directory: &Directory,
    partition: &TopicPartition,
    name: &str,
    random: &mut dyn FnMut() -> [u8; 16],
) -> Result<String, StartError> {
    let to = PartitionDir::stray(partition.clone(), Uuid(random())).name();
    rename(directory, name, &to)?;
    Ok(format!("{}/{name} belongs to no topic of this cluster: it is {to} now", directory.path))
}
