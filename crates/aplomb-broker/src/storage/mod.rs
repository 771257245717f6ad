//! A shard's side of its disks: rounds of syncs, cold reads, checkpoint files, retention,
//! compaction, deletions, future replicas.
//!
//! What always holds: nothing here waits for a disk. Commands go out with a [`Purpose`], and who
//! goes on when one ends is the room that the purpose names.
//!
//! Next: [`disk`] for rounds and checkpoints, [`cold`] for reads of old records, [`checkpoints`]
//! for the files with the recovery points, [`future`] for replicas that move to another disk.

mod at_rest;
mod background;
pub(crate) mod checkpoints;
mod closing;
mod cold;
mod compaction;
mod deletions;
mod disk;
mod disks;
mod future;
mod ground;
mod message;
mod port;
mod purpose;
mod retention;
mod rhythm;
mod round;
mod small_files;
mod wants;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{Completion, DiskCommand, DiskError, DiskIndex, Done, Lane};
use aplomb_log::layout::top_level::CLEAN_SHUTDOWN;
use aplomb_model::{DirectoryId, ErrorCode, Instant, TopicPartition};

use self::at_rest::LogAtRest;
pub(crate) use self::background::Background;
use self::checkpoints::{CheckpointChange, Checkpoints, Written};
use self::cold::ColdReads;
use self::compaction::{Compactions, OtherRooms};
use self::deletions::Deletions;
pub(crate) use self::disk::ShardDisk;
pub(crate) use self::disks::{Disks, LogDirFacts};
use self::future::FutureReplicas;
pub(crate) use self::future::PartitionSize;
use self::ground::Ground;
use self::message::CHECKPOINTS_SHARD;
pub(crate) use self::message::StorageEffect;
pub use self::message::StorageMessage;
pub(crate) use self::purpose::Purpose;
use self::retention::Retention;
pub(crate) use self::rhythm::FlushIntervals;
pub(crate) use self::small_files::partition_metadata;
use crate::calls::{Answer, PartitionKey, ReadRefusal};
use crate::figures::ShardFigures;
use crate::partition::{Effects, Partition, Partitions};
use crate::ports::{Event, Now, Severity};
use crate::view::View;

/// How often a disk is asked how much room it has.
const SPACE_INTERVAL: Duration = Duration::from_secs(10);

/// The storage room of a shard.
pub(crate) struct Storage {
    disks: Disks,
    cold: ColdReads,
    /// On the shard that keeps them.
    checkpoints: Option<Checkpoints>,
    retention: Retention,
    deletions: Deletions,
    future: FutureReplicas,
    compaction: Compactions,
    space_due: Instant,
    /// The broker stops: future replicas stay as they are.
    stops: bool,
    /// The last checkpoint files are written with the clean shutdown markers, and not before. No
    /// more is deleted from the beginning of a log.
    closes: bool,
    /// On the shard that keeps the checkpoint files, in the end: the closed logs of all shards.
    at_rest: BTreeMap<DiskIndex, Vec<LogAtRest>>,
    effects: Vec<StorageEffect>,
}

/// A room of storage on its ground, the other rooms' fields.
macro_rules! on_ground {
    ($storage:ident, $view:expr, $partitions:expr, $now:expr, $fx:expr) => {
        &mut Ground {
            view: $view,
            partitions: $partitions,
            disks: &mut $storage.disks,
            deletions: &mut $storage.deletions,
            compacted: $storage.compaction.under_way(),
            now: $now,
            fx: $fx,
            effects: &mut $storage.effects,
        }
    };
}

/// The rooms of storage that compaction looks at.
macro_rules! other_rooms {
    ($storage:ident) => {
        &mut OtherRooms {
            cold: &mut $storage.cold,
            moves: &$storage.future,
            retention: &mut $storage.retention,
            stops: $storage.stops,
        }
    };
}

impl Storage {
    pub(crate) fn new(
        disks: Disks,
        checkpoints: Option<Checkpoints>,
        retention_interval: Duration,
        background: Arc<Background>,
        figures: &ShardFigures,
        now: Instant,
    ) -> Self {
        let retention = Retention::new(retention_interval, disks.len(), now);
        Self {
            disks,
            cold: ColdReads::default(),
            checkpoints,
            retention,
            deletions: Deletions::default(),
            future: FutureReplicas::new(background.clone()),
            compaction: Compactions::new(background, figures.compaction().clone(), now),
            space_due: now,
            stops: false,
            closes: false,
            at_rest: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    pub(crate) fn disks(&self) -> &Disks {
        &self.disks
    }

    /// Takes what others are to do.
    pub(crate) fn take_effects(&mut self) -> Vec<StorageEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether storage wants nothing of others.
    pub(crate) fn is_quiet(&self) -> bool {
        self.effects.is_empty()
    }

    /// Whether fetches may have to wait for memory that replies hold.
    pub(crate) fn is_short_of_memory(&self) -> bool {
        self.disks.iter().any(|disk| disk.share().reading().is_short())
    }

    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let disks = self.disks.iter().filter_map(ShardDisk::wake_at).min();
        let checkpoints = self.checkpoints.as_ref().filter(|_| !self.closes).and_then(Checkpoints::wake_at);
        Instant::earliest(&[
            disks,
            checkpoints,
            self.cold.wake_at(),
            (!self.closes).then(|| self.retention.wake_at()),
            self.deletions.wake_at(),
            self.future.wake_at(self.stops),
            self.compaction.wake_at(self.stops),
            Some(self.space_due),
        ])
    }

    /// The time of [`Self::wake_at`] has come.
    pub(crate) fn on_wake(&mut self, view: &View, partitions: &mut Partitions, now: Now, fx: &mut Effects) {
        for (key, asker, call) in self.cold.take_waiting(now.instant) {
            match partitions.get_mut(key) {
                Some(partition) => partition.read_anew(asker, call, fx),
                None => {
                    let error = ErrorCode::UnknownTopicOrPartition;
                    fx.answer(asker, Answer::Read(Err(ReadRefusal::Error { error, log_start: None })));
                }
            }
        }
        for disk in self.disks.iter_mut() {
            disk.retry(now.instant);
        }
        // What is closed stays as it is noted.
        if !self.closes {
            self.retention.poll(on_ground!(self, view, partitions, now, fx));
        }
        self.deletions.poll(&mut self.disks, now.instant);
        if self.space_due <= now.instant {
            self.space_due = now.instant + SPACE_INTERVAL;
            for disk in self.disks.iter_mut().filter(|disk| !disk.is_lost()) {
                disk.submit(DiskCommand::Space, Purpose::Space, now.instant);
            }
        }
    }

    /// Partitions have been called: moves and compaction go on where that changed something. And
    /// partitions are told what has become durable.
    pub(crate) fn poll(&mut self, view: &View, partitions: &mut Partitions, now: Now, fx: &mut Effects) {
        for index in (0..self.disks.len()).map(|n| DiskIndex(n as u16)) {
            let changes = self.disks.get_mut(index).go_on_telling(partitions, fx, now.instant);
            self.tell_changes(index, changes);
        }
        self.future.poll(self.stops, on_ground!(self, view, partitions, now, fx));
        let ground = on_ground!(self, view, partitions, now, fx);
        self.compaction.poll(other_rooms!(self), ground);
    }

    /// The turn is over: begins the rounds and writes the checkpoint files that are due.
    pub(crate) fn end_turn(&mut self, partitions: &mut Partitions, now: Now) {
        for disk in self.disks.iter_mut() {
            disk.poll(partitions, now.instant);
        }
        if self.closes {
            return;
        }
        let Some(checkpoints) = &mut self.checkpoints else { return }; // another shard keeps them
        for (index, files) in checkpoints.poll(now.instant) {
            let disk = self.disks.get_mut(index);
            if !disk.is_lost() {
                let command = DiskCommand::Publish { files, lane: Lane::Housekeeping };
                disk.submit(command, Purpose::Offsets, now.instant);
            }
        }
    }

    /// Another shard's storage speaks, or this one's.
    pub(crate) fn on_message(
        &mut self,
        message: StorageMessage,
        view: &View,
        partitions: &mut Partitions,
        now: Now,
        fx: &mut Effects,
    ) {
        match message {
            StorageMessage::Record { disk, changes } => self.record(disk, changes, now),
            StorageMessage::AtRest { disk, logs } => self.at_rest.entry(disk).or_default().extend(logs),
            StorageMessage::RecordNow { disk, key, entry } => {
                let checkpoints = self.checkpoints.as_mut().expect("it is told to the keeper");
                checkpoints.record_now(disk, key, entry, now.instant);
                if self.disks.is_lost(disk) {
                    let written = checkpoints.lose(disk);
                    self.on_offsets_written(disk, written, view);
                }
            }
            StorageMessage::Recorded { disk, key } => self.future.on_recorded(disk, key),
            StorageMessage::Forget { disk, key, name } => {
                if self.disks.is_lost(disk) {
                    // Nothing more is written there.
                    return self.effects.push(StorageEffect::NameFree(key, name));
                }
                let checkpoints = self.checkpoints.as_mut().expect("it is told to the keeper");
                checkpoints.forget(disk, key, name, now.instant);
            }
            StorageMessage::DirectoryLost { disk, why } => self.lose(disk, &why, false, view, partitions, fx),
            StorageMessage::GiveBack => {} // as every turn does
        }
    }

    fn record(&mut self, disk: DiskIndex, changes: Vec<CheckpointChange>, now: Now) {
        let checkpoints = self.checkpoints.as_mut().expect("it is told to the keeper");
        checkpoints.take(disk, changes, now.instant);
    }

    /// Tells the keeper of the checkpoint files.
    fn tell_changes(&mut self, disk: DiskIndex, changes: Vec<CheckpointChange>) {
        // The metadata log keeps its own recovery point, as in Apache Kafka: it is read from its
        // last snapshot on.
        let changes: Vec<_> = changes.into_iter().filter(|(key, _)| *key != PartitionKey::METADATA).collect();
        if !changes.is_empty() {
            let message = StorageMessage::Record { disk, changes };
            self.effects.push(StorageEffect::Tell(CHECKPOINTS_SHARD, message));
        }
    }

    /// A disk has ended a command.
    pub(crate) fn on_completion(
        &mut self,
        completion: Completion,
        view: &View,
        partitions: &mut Partitions,
        figures: &ShardFigures,
        now: Now,
        fx: &mut Effects,
    ) {
        let index = completion.disk;
        let Some(purpose) = self.disks.get_mut(index).purpose_of(&completion, now.instant) else {
            return; // of an earlier run of this queue
        };
        let result = completion.result;
        if let Err(error) = &result
            && (error.is_loss() || purpose.must_find(error))
        {
            self.lose(index, &Arc::from(error.to_string()), true, view, partitions, fx);
        }
        // What a lost disk still reports is not to be relied on.
        let failed = result.as_ref().is_err_and(DiskError::is_loss) || self.disks.is_lost(index);
        match purpose {
            Purpose::Write | Purpose::Chore => {}
            Purpose::Sync | Purpose::Checkpoint if failed => {}
            Purpose::Sync => self.disks.get_mut(index).on_synced(),
            Purpose::Checkpoint => self.disks.get_mut(index).on_checkpointed(now.instant),
            Purpose::Cold(number) => {
                let step = self.cold.on_completion(number, result, partitions, now.instant, fx);
                if let Some((disk, command, number)) = step {
                    self.disks.submit(disk, command, Purpose::Cold(number), now.instant);
                }
            }
            Purpose::Load { job } => self.effects.push(StorageEffect::Loaded { job, result }),
            Purpose::Snapshot => self.effects.push(StorageEffect::SnapshotWritten(!failed)),
            Purpose::Space => {
                if let Ok(Done::Space { total, usable }) = result {
                    self.disks.get_mut(index).set_space(total, usable);
                    figures.set_space(usize::from(index.0), total, usable);
                }
            }
            Purpose::Offsets => {
                let checkpoints = self.checkpoints.as_mut().expect("it has written them");
                let written = checkpoints.on_written(index);
                self.on_offsets_written(index, written, view);
            }
            Purpose::TimeEntry { key, base, residence } => {
                let ground = on_ground!(self, view, partitions, now, fx);
                self.retention.on_time_entry((key, residence), base, result, ground);
            }
            Purpose::FirstBatch { key, base, residence } => {
                if let (Some(partition), Ok(Done::Read(bytes))) = (partitions.get_on(key, residence), &result)
                {
                    partition.on_first_time(base, compaction::first_time(bytes));
                }
            }
            Purpose::Compaction { number } => {
                let ground = on_ground!(self, view, partitions, now, fx);
                if let Some(key) = self.compaction.on_job(number, result, other_rooms!(self), ground) {
                    self.on_last_sync(key, index, failed, view, now);
                }
            }
            Purpose::Future { key, number, .. } => self.future.on_step(key, number, result),
            Purpose::DeleteLater { name, directory, after, of } => {
                if !directory {
                    self.retention.on_renamed(index);
                }
                if result.is_ok() {
                    self.deletions.delete_at(now.instant + after, index, name, directory);
                }
                if let Some((key, partition)) = of {
                    self.on_directory_renamed(index, key, partition);
                }
            }
            Purpose::LastSync { key } if self.compaction.holds_back(key) => {}
            Purpose::LastSync { key } => self.on_last_sync(key, index, failed, view, now),
            Purpose::CleanShutdownMarker => {
                if failed || result.is_err() {
                    self.warn_of_marker(index);
                }
                self.effects.push(StorageEffect::MarkerEnded);
            }
        }
    }

    /// Nothing is written to a deleted partition's directory any more.
    fn on_last_sync(&mut self, key: PartitionKey, disk: DiskIndex, failed: bool, view: &View, now: Now) {
        if failed {
            let name = self.deletions.give_up(key);
            self.on_directory_renamed(disk, key, name);
        } else {
            self.deletions.on_last_sync(key, view.me(), &mut self.disks, now);
        }
    }

    /// Its error, if the disk is lost by it, is told where the disk is.
    fn warn_of_marker(&mut self, disk: DiskIndex) {
        let path = self.disks.get(disk).path();
        self.effects.push(StorageEffect::Event(Event {
            severity: Severity::Warn,
            room: "broker/stop",
            text: format!(
                "log directory {path} may have no {CLEAN_SHUTDOWN}: the next start takes this stop for \
                 an unclean one then"
            ),
        }));
    }

    /// Takes a disk out of service: its partitions answer that their storage failed, everything
    /// else goes on. `first`: the other shards do not know yet.
    fn lose(
        &mut self,
        disk: DiskIndex,
        why: &Arc<str>,
        first: bool,
        view: &View,
        partitions: &mut Partitions,
        fx: &mut Effects,
    ) {
        if !self.disks.get_mut(disk).lose(why) {
            return; // another command of it, or another shard, has told before
        }
        let keys = partitions.keys_on(disk);
        for key in &keys {
            partitions.get_mut(*key).expect("it was there a moment ago").go_offline(fx);
        }
        let (path, count) = (self.disks.get(disk).path(), keys.len());
        self.effects.push(StorageEffect::Event(Event {
            severity: Severity::Error,
            room: "broker/disk",
            text: format!("log directory {path} is offline: {why}; {count} partitions here"),
        }));
        if let Some(checkpoints) = &mut self.checkpoints {
            let written = checkpoints.lose(disk);
            self.on_offsets_written(disk, written, view);
        }
        self.effects.push(StorageEffect::Lost { disk, why: why.clone(), first });
    }

    /// A set of checkpoint files is written, or never will be.
    fn on_offsets_written(&mut self, disk: DiskIndex, written: Written, view: &View) {
        for key in written.recorded {
            let to = key.owner(view.shards());
            self.effects.push(StorageEffect::Tell(to, StorageMessage::Recorded { disk, key }));
        }
        let free = written.gone.into_iter().map(|(key, name)| StorageEffect::NameFree(key, name));
        self.effects.extend(free);
    }

    /// The directory of a deleted partition has another name, or there never was one.
    fn on_directory_renamed(&mut self, disk: DiskIndex, key: PartitionKey, name: TopicPartition) {
        if self.future.hold_back(key, disk) {
            return; // there is another directory of that name, or of its future replica
        }
        let message = StorageMessage::Forget { disk, key, name };
        self.effects.push(StorageEffect::Tell(CHECKPOINTS_SHARD, message));
    }
}

/// Replicas that move.
impl Storage {
    /// A partition was found on a disk that the metadata does not name.
    pub(crate) fn on_found(&mut self, key: PartitionKey, directory: DirectoryId) {
        self.future.found(key, directory);
    }

    /// A future replica that was found at the start is begun anew.
    pub(crate) fn begin_future(&mut self, partition: &Partition, to: DiskIndex) {
        self.future.begin(partition, to);
    }

    /// A partition is to go to a disk, or to stay where it is.
    ///
    /// # Errors
    /// The code that says why it does not.
    pub(crate) fn ask_to_move(&mut self, partition: &Partition, to: DiskIndex) -> Result<(), ErrorCode> {
        self.future.ask(partition, to, &self.disks)
    }

    /// How large a partition is, here and where it goes. `None`: its disk is lost.
    pub(crate) fn size_of(&self, partition: &Partition) -> Option<PartitionSize> {
        self.future.size_of(partition)
    }
}
