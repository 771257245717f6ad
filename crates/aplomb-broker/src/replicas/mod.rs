//! Which partitions this shard hosts: they come, go and change as the metadata image says.

mod names;

use aplomb_log::Log;
use aplomb_log::layout::PartitionDir;
use aplomb_model::TopicPartition;

use self::names::DeletedNames;
use crate::calls::PartitionKey;
use crate::figures::Notes;
use crate::metadata::{Delta, Topic};
use crate::partition::{Effects, Partition, PartitionSettings, Partitions};
use crate::ports::Now;
use crate::storage::{Storage, partition_metadata};
use crate::view::View;

/// The replicas of a shard. Keeps nothing but the names that are not free yet: the partitions
/// themselves are in their table.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    names: DeletedNames,
}

/// What changes when an image is applied.
pub(crate) struct ImageChange<'a> {
    pub(crate) view: &'a View,
    pub(crate) delta: &'a Delta,
    pub(crate) partitions: &'a mut Partitions,
    pub(crate) storage: &'a mut Storage,
    pub(crate) notes: &'a mut Notes,
    pub(crate) now: Now,
    pub(crate) fx: &'a mut Effects,
}

impl Replicas {
    /// Makes the partitions of this shard what the view's image says.
    pub(crate) fn apply(&mut self, mut change: ImageChange<'_>) {
        let (view, delta) = (change.view, change.delta);
        for topic in delta.deleted.values() {
            self.delete(topic, &mut change);
        }
        for (id, changed) in &delta.topics {
            // Deleted again within the same piece of the metadata log.
            let Some(topic) = view.image().topics.by_id(*id) else { continue };
            for (index, partition) in &changed.partitions {
                let key = PartitionKey { topic: *id, partition: *index };
                if !view.owns(key) {
                    continue;
                }
                if partition.created && change.partitions.get(key).is_none() {
                    self.create(topic, key, &mut change);
                }
                let epoch = topic.partitions.get(index).map(|partition| partition.leader_epoch);
                if let (Some(partition), Some(epoch)) = (change.partitions.get_mut(key), epoch) {
                    partition.begin_epoch(epoch, change.fx);
                }
            }
        }
        configure(&mut change);
    }

    fn create(&mut self, topic: &Topic, key: PartitionKey, change: &mut ImageChange<'_>) {
        let view = change.view;
        let Some(partition) = topic.partitions.get(&key.partition) else { return }; // deleted again
        if !partition.replicas.contains(&view.node()) {
            return; // another broker's
        }
        let disks = change.storage.disks();
        let assigned = partition.directory(view.node()).and_then(|directory| disks.by_directory(directory));
        // Where no log directory is left there is nowhere to be.
        let Some(disk) = assigned.or_else(|| disks.first_online()) else { return };
        let name = TopicPartition::new(topic.name.clone(), key.partition.0);
        let settings = settings_of(&name, key, view);
        let directory = PartitionDir::serving(name.clone()).name();
        let metadata = partition_metadata(&directory, key.topic);
        let (log, share) = (settings.log.clone(), disk.share().clone());
        let log = Log::empty(&directory, key.topic, key.partition, log, share, metadata, change.now.wall);
        let (index, lost) = (disk.index(), disk.is_lost());
        let held = self.names.hold(&name, key);
        let mut partition = Partition::new(key, name, index, log, settings, partition.leader_epoch);
        if held {
            partition.hold_name();
        }
        if lost {
            partition.go_offline(change.fx);
        }
        // Its directory is made with the next round, so that it is found where people look for it
        // even while it is empty.
        partition.mark_dirty(change.fx);
        change.notes.welcome(partition.figures());
        change.partitions.insert(partition);
    }

    fn delete(&mut self, topic: &Topic, change: &mut ImageChange<'_>) {
        for index in topic.partitions.keys() {
            let key = PartitionKey { topic: topic.id, partition: *index };
            let name = TopicPartition::new(topic.name.clone(), index.0);
            self.names.begin(name.clone(), key);
            if !change.view.owns(key) {
                continue;
            }
            let Some(mut partition) = change.partitions.remove(key) else {
                change.storage.retire_absent(key, name);
                continue;
            };
            partition.go_away(change.fx);
            // Others may be waiting for the memory while its disk takes its time.
            partition.release_memory();
            change.storage.retire(partition, change.now);
        }
    }

    /// Nothing on any disk is a deleted partition's any more.
    pub(crate) fn on_name_free(
        &mut self,
        key: PartitionKey,
        name: &TopicPartition,
        partitions: &mut Partitions,
        fx: &mut Effects,
    ) {
        let Some(next) = self.names.end(name, key) else { return }; // no other partition waits for it
        if let Some(partition) = partitions.get_mut(next) {
            partition.release_name(fx);
        }
    }

    /// Whether all deletions are over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.names.is_over()
    }
}

/// Settings that were changed at run time hold from here on.
fn configure(change: &mut ImageChange<'_>) {
    let ImageChange { view, delta, partitions, .. } = change;
    if !delta.broker_configs && delta.topic_configs.is_empty() {
        return;
    }
    let concerns = |name: &str| delta.broker_configs || delta.topic_configs.contains(name);
    for key in partitions.keys() {
        let partition = partitions.get_mut(key).expect("it is in the table");
        if key != PartitionKey::METADATA && concerns(&partition.name().topic) {
            partition.configure(settings_of(partition.name(), key, view));
        }
    }
}

fn settings_of(name: &TopicPartition, key: PartitionKey, view: &View) -> PartitionSettings {
    let topic = view.image().topic_config(&name.topic, view.config());
    PartitionSettings::of(&topic, key, view.config().storage.producer_id_expiration)
}
