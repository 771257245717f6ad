//! Which partitions this shard hosts: they come, go and change as the metadata image says.

mod loads;
mod names;

use aplomb_disk_api::{DiskError, DiskIndex, Done};
use aplomb_log::Log;
use aplomb_log::layout::PartitionDir;
use aplomb_log::recovery::LoadError;
use aplomb_model::batch::ProducerStamp;
use aplomb_model::{ErrorCode, LeaderEpoch, TopicId, TopicPartition, Uuid};

use self::loads::{LoadEnd, LoadJob, LoadedPartition, Loads};
pub(crate) use self::loads::{LoadPlan, LoadSource};
use self::names::DeletedNames;
use crate::calls::PartitionKey;
use crate::figures::Notes;
use crate::metadata::{Delta, Topic};
use crate::partition::{Effects, LateProducers, Partition, PartitionSettings, Partitions, TopicSettings};
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
            self.loads.add(plan);
        }
        self.go_on_loading(storage, now);
    }

    fn go_on_loading(&mut self, storage: &mut Storage, now: Now) {
        for LoadJob { number, disk, job } in self.loads.next(now.instant) {
            storage.load(disk, job, Purpose::Load { job: number }, now);
        }
    }

    /// How many partitions are being loaded.
    pub(crate) fn loading(&self) -> usize {
        self.loads.len()
    }

    /// How many were loaded as a clean stop had noted them.
    pub(crate) fn noted(&self) -> usize {
        self.loads.noted()
    }

    /// A job has ended that loads partitions, each from one of the directories that may be its own.
    /// Gives what is worth a line in the log.
    ///
    /// # Errors
    /// A log that cannot be used: the broker must not go on without it.
    pub(crate) fn on_load(
        &mut self,
        job: u64,
        result: Result<Done, DiskError>,
        mut hosting: Hosting<'_>,
    ) -> Result<Vec<String>, LoadError> {
        let ends = self.loads.on_result(job, result, hosting.now.instant)?;
        self.go_on_loading(hosting.storage, hosting.now);
        let mut remarks = Vec::new();
        for (key, end) in ends {
            remarks.extend(self.on_load_end(key, end, &mut hosting));
        }
        Ok(remarks)
    }

    fn on_load_end(&mut self, key: PartitionKey, end: LoadEnd, hosting: &mut Hosting<'_>) -> Vec<String> {
        let mut remarks = Vec::new();
        match end {
            LoadEnd::NotYet | LoadEnd::Offline { deleted: false, .. } => {}
            LoadEnd::Offline { plan, deleted: true } => hosting.storage.retire_absent(key, plan.name),
            LoadEnd::Loaded(loaded) => {
                let deleted = loaded.deleted;
                remarks = host(*loaded, hosting);
                if deleted {
                    retire(key, hosting);
                }
            }
            LoadEnd::Stray { plan, deleted, late } => {
                let source = &plan.sources[0];
                let path = hosting.storage.disks().get(source.disk).path();
                let aside = source.stray_name(&plan.name).expect("only what may be a stray is looked at");
                let directory = &source.request.directory;
                remarks.push(format!(
                    "{path}/{directory} belongs to no topic of this cluster: it is {aside} now"
                ));
                if deleted {
                    hosting.storage.retire_absent(key, plan.name);
                } else {
                    remarks.extend(self.begin_anew(*plan, late, hosting));
                }
            }
        }
        remarks
    }

    /// There was no log of a partition where one was looked for. It has an empty one where the
    /// metadata says that it is; if that is not here, the log may well be there, and a new one
    /// would be a lie.
    fn begin_anew(
        &mut self,
        plan: LoadPlan,
        late: LateProducers,
        hosting: &mut Hosting<'_>,
    ) -> Option<String> {
        let view = hosting.view;
        let known = view.image().topics.partition(plan.key.topic, plan.key.partition);
        let assigned = known.and_then(|partition| partition.directory(view.node()));
        let disk = assigned.and_then(|id| hosting.storage.disks().by_directory(id));
        match (disk.map(ShardDisk::index), known) {
            (Some(disk), Some(known)) => {
                let settings = SettingsOf::new(view).partition(plan.key, &plan.name.topic);
                self.begin(plan.name, plan.key, known.leader_epoch, disk, settings, hosting);
                hosting.partitions.get_mut(plan.key).expect("it has begun").expect_first(late);
                None
            }
            _ => Some(format!("{} is in a log directory that is not there", plan.name)),
        }
    }

    /// A client asks for a partition that is not here: if it is to be loaded, it is next, and a
    /// batch of an idempotent producer that is refused now has to come first then.
    pub(crate) fn want(&mut self, key: PartitionKey, producer: Option<ProducerStamp>) {
        self.loads.want(key);
        if let Some(stamp) = producer {
            self.loads.note_late(key, stamp);
        }
    }

    /// Whether it is being loaded.
    pub(crate) fn is_loading(&self, key: PartitionKey) -> bool {
        self.loads.is_loading(key)
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
        let Some(partition) = view.image().topics.partition(key.topic, key.partition) else {
            return ErrorCode::UnknownTopicOrPartition;
        };
        let directory = partition.directory(view.node()).filter(|id| *id != Uuid::ZERO);
        let is_elsewhere = directory.is_some_and(|id| disks.by_directory(id).is_none());
        // It is in a log directory that the broker does without: where the metadata says, or where
        // a move had brought it before the metadata could say so.
        if is_elsewhere || disks.iter().any(ShardDisk::is_lost) {
            return ErrorCode::KafkaStorageError;
        }
        // It exists, and is about to come (`ReplicaManager#getPartitionOrError` in Apache Kafka).
        ErrorCode::NotLeaderOrFollower
    }
}

/// A partition was loaded: it is led from here on. Gives what is worth a line in the log.
fn host(loaded: LoadedPartition, hosting: &mut Hosting<'_>) -> Vec<String> {
    let LoadedPartition { plan, disk, log, superseded, remarks, deleted: _, reconfigured, late } = loaded;
    let (view, storage) = (hosting.view, &mut *hosting.storage);
    let known = view.image().topics.partition(plan.key.topic, plan.key.partition);
    let epoch = known.map_or(plan.leader_epoch, |known| known.leader_epoch);
    let mut partition =
        Partition::new(plan.key, plan.name, disk, log, PartitionSettings::clone(&plan.settings), epoch);
    partition.expect_first(late);
    if reconfigured {
        partition.configure(*plan.settings);
    }
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
    hosting.fx.elected.push(partition.key());
    hosting.partitions.insert(partition);
    remarks
}

impl Replicas {
    /// Makes the partitions of this shard what the view's image says.
    pub(crate) fn apply(&mut self, delta: &Delta, mut hosting: Hosting<'_>) {
        let view = hosting.view;
        for topic in delta.deleted.values() {
            self.delete(topic, &mut hosting);
        }
        let mut settings = SettingsOf::new(view);
        for (id, changed) in &delta.topics {
            // Deleted again within the same piece of the metadata log.
            let Some(topic) = view.image().topics.by_id(*id) else { continue };
            for (index, partition) in &changed.partitions {
                let key = PartitionKey { topic: *id, partition: *index };
                if !view.owns(key) {
                    continue;
                }
                if partition.created && hosting.partitions.get(key).is_none() {
                    self.create(topic, key, &mut settings, &mut hosting);
                }
                let epoch = topic.partitions.get(index).map(|partition| partition.leader_epoch);
                if let (Some(partition), Some(epoch)) = (hosting.partitions.get_mut(key), epoch) {
                    partition.begin_epoch(epoch, hosting.fx);
                }
            }
        }
        self.configure(delta, &mut hosting);
    }

    fn create(
        &mut self,
        topic: &Topic,
        key: PartitionKey,
        settings: &mut SettingsOf<'_>,
        hosting: &mut Hosting<'_>,
    ) {
        let view = hosting.view;
        let Some(partition) = topic.partitions.get(&key.partition) else { return }; // deleted again
        if !partition.replicas.contains(&view.node()) {
            return; // another broker's
        }
        let disks = hosting.storage.disks();
        let assigned = partition.directory(view.node()).and_then(|directory| disks.by_directory(directory));
        // Where no log directory is left there is nowhere to be.
        let Some(disk) = assigned.or_else(|| disks.first_online()) else { return };
        let name = TopicPartition::new(topic.name.clone(), key.partition.0);
        let disk = disk.index();
        let settings = settings.partition(key, &topic.name);
        self.begin(name, key, partition.leader_epoch, disk, settings, hosting);
    }

    /// Begins a partition with an empty log.
    fn begin(
        &mut self,
        name: TopicPartition,
        key: PartitionKey,
        leader_epoch: LeaderEpoch,
        disk: DiskIndex,
        settings: PartitionSettings,
        hosting: &mut Hosting<'_>,
    ) {
        let directory = PartitionDir::serving(name.clone()).name();
        let metadata = partition_metadata(&directory, key.topic);
        let disk = hosting.storage.disks().get(disk);
        let (log, share) = (settings.log.clone(), disk.share().clone());
        let log = Log::empty(&directory, key.topic, key.partition, log, share, metadata, hosting.now.wall);
        let (index, lost) = (disk.index(), disk.is_lost());
        let held = self.names.hold(&name, key);
        let mut partition = Partition::new(key, name, index, log, settings, leader_epoch);
        if held {
            partition.hold_name();
        }
        if lost {
            partition.go_offline(hosting.fx);
        }
        // Its directory is made with the next round, so that it is found where people look for it
        // even while it is empty.
        partition.mark_dirty(hosting.fx);
        hosting.notes.welcome(partition.figures());
        hosting.fx.elected.push(key);
        hosting.partitions.insert(partition);
    }

    fn delete(&mut self, topic: &Topic, hosting: &mut Hosting<'_>) {
        for index in topic.partitions.keys() {
            let key = PartitionKey { topic: topic.id, partition: *index };
            let name = TopicPartition::new(topic.name.clone(), index.0);
            self.names.begin(name.clone(), key);
            if !hosting.view.owns(key) {
                continue;
            }
            if hosting.partitions.get(key).is_some() {
                retire(key, hosting);
            } else if !self.loads.delete(key) {
                hosting.storage.retire_absent(key, name);
            }
        }
        self.go_on_loading(hosting.storage, hosting.now);
    }

    /// Settings that were changed at run time hold from here on.
    fn configure(&mut self, delta: &Delta, hosting: &mut Hosting<'_>) {
        if !delta.broker_configs && delta.topic_configs.is_empty() {
            return;
        }
        let (view, partitions) = (hosting.view, &mut *hosting.partitions);
        let concerns = |name: &str| delta.broker_configs || delta.topic_configs.contains(name);
        let mut settings = SettingsOf::new(view);
        for key in partitions.keys() {
            let partition = partitions.get_mut(key).expect("it is in the table");
            if key != PartitionKey::METADATA && concerns(&partition.name().topic) {
                partition.configure(settings.partition(key, &partition.name().topic));
                hosting.storage.consider(partition);
            }
        }
        self.loads.configure(concerns, |key, name| settings.partition(key, &name.topic));
    }

    /// Nothing on any disk is a deleted partition's any more.
    pub(crate) fn on_name_free(
        &mut self,
        key: PartitionKey,
        name: &TopicPartition,
        partitions: &mut Partitions,
        fx: &mut Effects,
    ) {
        // Without a next one, no other partition waits for the name.
        let Some(next) = self.names.end(name, key) else { return };
        if let Some(partition) = partitions.get_mut(next) {
            partition.release_name(fx);
        }
    }

    /// Whether all deletions are over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.names.is_over()
    }
}

/// A partition's topic is deleted: it is not served from here on, and its files go.
fn retire(key: PartitionKey, hosting: &mut Hosting<'_>) {
    let mut partition = hosting.partitions.remove(key).expect("it is in the table");
    partition.go_away(hosting.fx);
    hosting.fx.resigned.push(key);
    // Others may be waiting for the memory while its disk takes its time.
    partition.release_memory();
    hosting.storage.retire(partition, hosting.now);
}

/// The settings of partitions, as the view has them. Looked up once for partitions of one topic
/// that come one after another.
struct SettingsOf<'a> {
    view: &'a View,
    last: Option<(TopicId, TopicSettings)>,
}

impl<'a> SettingsOf<'a> {
    fn new(view: &'a View) -> Self {
        Self { view, last: None }
    }

    fn partition(&mut self, key: PartitionKey, topic: &str) -> PartitionSettings {
        let (config, last) = (self.view.config(), self.last.take_if(|(id, _)| *id == key.topic));
        let look_up = || {
            let topic_config = self.view.image().topic_config(topic, config);
            (key.topic, TopicSettings::of(topic_config, topic, config.storage.producer_id_expiration))
        };
        self.last.insert(last.unwrap_or_else(look_up)).1.of_partition(key)
    }
}
