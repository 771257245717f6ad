//! A new image: partitions come, go and change; requests see the new one from here on.

use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, SmallFile};
use aplomb_log::Log;
use aplomb_log::layout::{PARTITION_METADATA, PartitionDir, SegmentFile};
use aplomb_log::state_files::PartitionMetadata;
use aplomb_model::{TopicPartition, Uuid};

use super::Shard;
use super::disk::Purpose;
use crate::config::NetworkConfig;
use crate::message::{PartitionKey, ShardMessage};
use crate::metadata::{Delta, MetadataImage, Topic};
use crate::partition::{Partition, PartitionSettings};
use crate::ports::{Event, Now, Output, Severity, ShardId};

impl Shard {
    /// Takes a new image, and makes the partitions of this shard what it says.
    pub(super) fn apply_image(
        &mut self,
        image: Arc<MetadataImage>,
        delta: &Delta,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        self.image = image.clone();
        for topic in delta.deleted.values() {
            self.remove_topic(topic, now, out);
        }
        for (id, changed) in &delta.topics {
            let Some(topic) = image.topics.by_id(*id) else { continue };
            for (index, partition) in &changed.partitions {
                let key = PartitionKey { topic: *id, partition: *index };
                if key.owner(self.shards) != self.me {
                    continue;
                }
                if partition.created && !self.partitions.contains_key(&key) {
                    self.create_partition(topic, key, now);
                }
                let epoch = topic.partitions.get(index).map(|partition| partition.leader_epoch);
                if let (Some(partition), Some(epoch)) = (self.partitions.get_mut(&key), epoch) {
                    partition.begin_epoch(epoch, &mut self.fx);
                }
            }
        }
        self.configure(delta, out);
        self.show_cluster();
    }

    /// Shows how large the cluster is, where the controller is.
    pub(super) fn show_cluster(&self) {
        if self.controller.is_some() {
            let partitions = self.image.topics.iter().map(|topic| topic.partitions.len() as u64);
            let (topics, partitions) = partitions.fold((0, 0), |(topics, all), n| (topics + 1, all + n));
            self.figures.set_cluster(topics, partitions);
        }
    }

    /// Settings that were changed at run time count from here on.
    fn configure(&mut self, delta: &Delta, out: &mut Vec<Output>) {
        if !delta.broker_configs && delta.topic_configs.is_empty() {
            return;
        }
        if delta.broker_configs {
            self.reconfigure(out);
        }
        let concerns = |name: &str| delta.broker_configs || delta.topic_configs.contains(name);
        let expiration = self.config.storage.producer_id_expiration;
        for partition in self.partitions.values_mut() {
            if partition.key != PartitionKey::METADATA && concerns(&partition.name.topic) {
                let topic = self.image.topic_config(&partition.name.topic, &self.config);
                partition.configure(PartitionSettings::of(&topic, partition.key, expiration));
            }
        }
    }

    /// The broker's own settings, with what the image says of them.
    fn reconfigure(&mut self, out: &mut Vec<Output>) {
        let changed = match self.config.in_force(&self.image.layers(&self.config)) {
            Ok(changed) => Arc::new(changed),
            Err(error) => {
                // The controller checks before it writes: somebody else has.
                let text = format!("settings changed at run time are not in force: {error}");
                out.push(Output::Event(Event { severity: Severity::Warn, room: "broker/config", text }));
                return;
            }
        };
        let (old, new) = (&self.config.network, &changed.network);
        let limits = |network: &NetworkConfig| {
            let overrides = network.per_ip_overrides.clone();
            (network.max_connections, network.max_connections_per_ip, overrides)
        };
        if self.me == ShardId(0) && limits(old) != limits(new) {
            let addresses = || {
                let pairs = new.per_ip_overrides.iter();
                pairs.filter_map(|(host, count)| Some((host.parse().ok()?, *count))).collect()
            };
            out.push(Output::ConnectionLimits {
                total: new.max_connections,
                per_ip: new.max_connections_per_ip,
                overrides: (old.per_ip_overrides != new.per_ip_overrides).then(addresses),
            });
        }
        self.config = changed;
    }

    fn create_partition(&mut self, topic: &Topic, key: PartitionKey, now: Now) {
        let Some(partition) = topic.partitions.get(&key.partition) else { return };
        if !partition.replicas.contains(&self.config.node_id) {
            return;
        }
        let name = TopicPartition::new(topic.name.clone(), key.partition.0);
        let assigned = partition.directory(self.config.node_id);
        self.moves.forget_preference(&name);
        let disk = self.disks.iter().find(|disk| Some(disk.directory) == assigned);
        let Some(disk) = disk.or_else(|| self.disks.iter().find(|disk| disk.lost.is_none())) else { return };
        let settings = PartitionSettings::of(
            &self.image.topic_config(&topic.name, &self.config),
            key,
            self.config.storage.producer_id_expiration,
        );
        let directory = PartitionDir::serving(name.clone()).name();
        let metadata = partition_metadata(&directory, key.topic);
        let log = Log::empty(
            &directory,
            key.topic,
            key.partition,
            settings.log.clone(),
            disk.share.clone(),
            metadata,
            now.wall,
        );
        let (index, lost) = (disk.index(), disk.lost.is_some());
        let held = self.leaving.hold(&name, key);
        let mut partition = Partition::new(key, name, index, log, settings, partition.leader_epoch);
        partition.log.begin_epoch(partition.leader_epoch);
        if held {
            partition.hold();
        }
        if lost {
            partition.go_offline(&mut self.fx);
        }
        // Its directory is made with the next round, so that it is found where people look for it even while it is empty.
        partition.mark_dirty(&mut self.fx);
        self.notes.welcome(&partition.figures);
        self.partitions.insert(key, partition);
    }

    fn remove_topic(&mut self, topic: &Topic, now: Now, out: &mut Vec<Output>) {
        for index in topic.partitions.keys() {
            let key = PartitionKey { topic: topic.id, partition: *index };
            let name = TopicPartition::new(topic.name.clone(), index.0);
            self.leaving.begin(name.clone(), key);
            if key.owner(self.shards) != self.me {
                continue;
            }
            self.moves.on_deleted(key);
            let Some(mut partition) = self.partitions.remove(&key) else {
                self.left(DiskIndex(0), key, name, now, out);
                continue;
            };
            partition.go_away(&mut self.fx);
            let disk = &mut self.disks[usize::from(partition.disk.0)];
            disk.forget(key);
            // Nobody reads or restores it any more; others may be waiting for the memory while its disk takes its time.
            partition.log.release_memory();
            if partition.is_held() {
                // Nothing of it was ever written.
                self.left(partition.disk, key, name, now, out);
                continue;
            }
            // Whatever was written before this comes before it, so that nothing is written to a directory that was renamed.
            let file =
                partition.log.segments().file(SegmentFile::Log, partition.log.segments().active().base);
            disk.port.submit(DiskCommand::Sync { files: vec![file] }, Purpose::Farewell { key }, now.instant);
            self.send_to_keeper(partition.disk, vec![(key, None)], now, out);
            self.upkeep.leaving(key, partition);
        }
    }

    /// All writes to a partition that goes away are done: its directory gets the name of one that is to be deleted.
    pub(super) fn rename_away(&mut self, key: PartitionKey, now: Now) {
        let Some(mut partition) = self.upkeep.left(key) else { return };
        partition.log.release_memory();
        let from = FileName::new(partition.log.segments().directory());
        let to = FileName::new(PartitionDir::deleted(partition.name.clone(), self.unique(key, now)).name());
        let after = partition.settings.file_delete_delay;
        let left = Some((key, partition.name.clone()));
        let purpose = Purpose::Doom { name: to.clone(), directory: true, after, left };
        let port = &mut self.disks[usize::from(partition.disk.0)].port;
        port.submit(DiskCommand::Rename { from, to }, purpose, now.instant);
    }

    /// A name for a directory that is to be deleted, unlike any other: the same partition may be made and deleted again.
    pub(super) fn unique(&self, key: PartitionKey, now: Now) -> Uuid {
        let topic = u128::from_be_bytes(key.topic.0).rotate_left(u32::from(self.me.0));
        Uuid::from_u128(
            topic ^ (u128::from(now.instant.as_nanos()) << 40) ^ now.wall.0.unsigned_abs() as u128,
        )
    }

    /// Tells the keeper of the checkpoint files.
    pub(super) fn send_to_keeper(
        &mut self,
        disk: DiskIndex,
        changes: Vec<crate::message::CheckpointChange>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        // The metadata log keeps its own recovery point, as in Apache Kafka: it is read from its last snapshot on.
        let changes: Vec<_> = changes.into_iter().filter(|(key, _)| *key != PartitionKey::METADATA).collect();
        if changes.is_empty() {
            return;
        }
        if self.keeper.is_some() {
            self.keep(disk, changes, now);
        } else {
            let to = crate::ports::ShardId(0);
            out.push(Output::Send { to, message: ShardMessage::Checkpoints { disk, changes } });
        }
    }

    pub(super) fn keep(&mut self, disk: DiskIndex, changes: Vec<crate::message::CheckpointChange>, now: Now) {
        if let Some(keeper) = &mut self.keeper {
            keeper.take(disk, changes, now.instant);
        }
    }

    /// The log start of a partition was moved by a client: the checkpoint file says so soon.
    pub(super) fn on_trimmed(&mut self, key: PartitionKey, now: Now, out: &mut Vec<Output>) {
        let Some(partition) = self.partitions.get(&key) else { return };
        let (disk, entry) = (partition.disk, super::disk::entry_of(partition));
        self.send_to_keeper(disk, vec![(key, Some(entry))], now, out);
        self.upkeep.look_at(key);
    }
}

/// The file that says whose a directory is.
pub(crate) fn partition_metadata(directory: &str, topic: Uuid) -> SmallFile {
    SmallFile {
        name: FileName::new(format!("{directory}/{PARTITION_METADATA}")),
        content: PartitionMetadata { topic_id: topic }.encode().into(),
    }
}
