//! Which partitions this shard hosts: they come, go and change as the metadata image says.

mod loads;
mod names;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_log::Log;
use aplomb_log::layout::PartitionDir;
use aplomb_log::recovery::LoadError;
use aplomb_model::{ErrorCode, TopicPartition, Uuid};

use self::loads::{LoadEnd, LoadedPartition, Loads};
pub(crate) use self::loads::{LoadPlan, LoadSource};
use self::names::DeletedNames;
use crate::calls::PartitionKey;
use crate::figures::Notes;
use crate::metadata::{Delta, Topic};
use crate::partition::{Effects, Partition, PartitionSettings, Partitions};
use crate::ports::Now;
use crate::storage::{Disks, Purpose, ShardDisk, Storage, partition_metadata};
use crate::view::View;

/// The replicas of a shard: those that are being loaded, and names that are not free yet. The
/// partitions themselves are in their table.
#[derive(Default)]
pub(crate) struct Replicas {
    names: DeletedNames,
    loads: Loads,
}

/// What a room is given to change partitions.
pub(crate) struct Hosting<'a> {
    pub(crate) view: &'a View,
    pub(crate) partitions: &'a mut Partitions,
    pub(crate) storage: &'a mut Storage,
    pub(crate) notes: &'a mut Notes,
    pub(crate) now: Now,
    pub(crate) fx: &'a mut Effects,
}

impl Replicas {
    /// Begins to load the partitions that were found.
    pub(crate) fn begin_loads(&mut self, plans: Vec<LoadPlan>, storage: &mut Storage, now: Now) {
        for plan in plans {
            let key = plan.key;
            for (place, (disk, job)) in self.loads.begin(plan).into_iter().enumerate() {
                storage.load(disk, job, Purpose::Load { key, place }, now);
            }
        }
    }

    /// How many partitions are being loaded.
    pub(crate) fn loading(&self) -> usize {
        self.loads.len()
    }

    /// A partition was loaded from one of the directories that may be its own, or was not. Gives
    /// what is worth a line in the log.
    ///
    /// # Errors
    /// A log that cannot be used: the broker must not go on without it.
    pub(crate) fn on_load(
        &mut self,
        key: PartitionKey,
        place: usize,
        result: Result<Done, DiskError>,
        mut hosting: Hosting<'_>,
    ) -> Result<Vec<String>, LoadError> {
        match self.loads.on_result(key, place, result) {
            LoadEnd::NotYet | LoadEnd::Offline => Ok(Vec::new()),
            LoadEnd::Unusable(error) => Err(error),
            LoadEnd::Loaded(loaded) => Ok(host(*loaded, &mut hosting)),
        }
    }

    /// The broker stops. Gives the disks of what is not loaded.
    pub(crate) fn give_up_loads(&mut self) -> Vec<DiskIndex> {
        self.loads.give_up()
    }

    /// Why this shard has no partition that is its own.
    pub(crate) fn why_absent(&self, key: PartitionKey, view: &View, disks: &Disks) -> ErrorCode {
        if self.loads.is_loading(key) {
            return ErrorCode::NotLeaderOrFollower; // not yet: clients try again
        }
        let partition = view.image().topics.partition(key.topic, key.partition);
        match partition.and_then(|partition| partition.directory(view.node())) {
            // It is in a log directory that the broker does without.
            Some(id) if id != Uuid::ZERO && disks.by_directory(id).is_none_or(ShardDisk::is_lost) => {
                ErrorCode::KafkaStorageError
            }
            _ => ErrorCode::UnknownTopicOrPartition,
        }
    }
}

/// A partition was loaded: it is led from here on. Gives what is worth a line in the log.
fn host(loaded: LoadedPartition, hosting: &mut Hosting<'_>) -> Vec<String> {
    let LoadedPartition { plan, disk, log, superseded, remarks } = loaded;
    let (view, storage) = (hosting.view, &mut *hosting.storage);
    let known = view.image().topics.partition(plan.key.topic, plan.key.partition);
    let epoch = known.map_or(plan.leader_epoch, |known| known.leader_epoch);
    let mut partition = Partition::new(plan.key, plan.name, disk, log, plan.settings, epoch);
    if storage.disks().is_lost(disk) {
        partition.go_offline(hosting.fx);
    }
    if partition.log().needs_checkpoint() {
        partition.mark_dirty(hosting.fx);
    }
    hosting.notes.welcome(partition.figures());
    let directory = storage.disks().get(disk).directory();
    if known.is_some_and(|known| known.directory(view.node()) != Some(directory)) {
        storage.on_found(plan.key, directory);
    }
    storage.on_loaded(&partition);
    for (disk, directory) in superseded {
        storage.supersede(disk, directory, &partition, view, hosting.now);
    }
    if let Some(to) = plan.moves_to.filter(|to| *to != disk) {
        storage.begin_future(&partition, to);
    }
    hosting.partitions.insert(partition);
    remarks
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
