//! One partition: its log, its role, who waits for it, and what may be done with it.
//!
//! What always holds:
//! - batches are appended in the order in which they arrived, also when some had to wait for
//!   memory; only those that take long to validate are passed, by those of other connections;
//! - an append is answered once, and not before what was promised for it has happened;
//! - who waits stands in one of five lists, by what is waited for (validation, memory, a place
//!   among those that wait for memory, durability, more to read), and is taken out of it by its
//!   [`Asker`] when it waits no longer;
//! - a partition that is offline has nobody waiting.

mod append;
mod checks;
mod effects;
mod gate;
mod late;
mod produce;
mod read;
mod readers;
mod settings;
mod table;
mod transactions;
mod waiting;

use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, SmallFile};
use aplomb_log::Retention;
use aplomb_log::compaction::{ActiveProducers, CompactionPlan, CompactionRules, Replacement};
use aplomb_log::future::FutureLog;
use aplomb_log::tail::TailShare;
use aplomb_log::{CheckpointPart, Log};
use aplomb_model::batch::ProducerStamp;
use aplomb_model::{ErrorCode, LeaderEpoch, Offset, Timestamp, TopicPartition};
use bytes::Bytes;

use self::checks::Checks;
pub(crate) use self::effects::{ColdKind, ColdWish, Effects};
pub(crate) use self::late::LateProducers;
use self::readers::Readers;
pub(crate) use self::settings::{PartitionSettings, TopicSettings};
pub(crate) use self::table::Partitions;
use self::waiting::{Appending, WaitingForMemory, WaitingForSync};
use crate::calls::{Answer, AppendRefusal, Asker, PartitionKey};
use crate::figures::{Count, LogExtent, PartitionFigures};
use crate::line::Line;

/// What this broker is to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It leads, in the epoch.
    Leader(LeaderEpoch),
    /// The log directory is lost. The epoch is the last in which it led.
    Offline(LeaderEpoch),
}

/// A partition of this broker. There may be a hundred thousand: what most have nothing of takes no
/// memory.
#[derive(Debug)]
pub(crate) struct Partition {
    key: PartitionKey,
    name: TopicPartition,
    disk: DiskIndex,
    /// Counts the disks that it was on: what an earlier one still reports is not about it any more.
    residence: u32,
    log: Log,
    settings: PartitionSettings,
    role: Role,
    figures: Arc<PartitionFigures>,
    /// Its name is not free on the disks yet: nothing of it is written.
    held: bool,
    /// It has said that it has something for the disk, and no round has begun since.
    dirty: bool,
    /// Up to where a sync was asked for because acknowledgements wait for it.
    hurried_end: Offset,
    /// Behind the last batch that a client has written since the log was opened.
    clients_end: Offset,
    checks: Checks,
    memory_line: Line<WaitingForMemory>,
    /// Were refused because enough waits already, and how many bytes they came with.
    turned_away: Line<usize>,
    sync_line: Line<WaitingForSync>,
    late: LateProducers,
    readers: Readers,
}

// The allocator rounds up to this. What is added to a partition is added a hundred thousand times.
const _: () = assert!(size_of::<Partition>() <= 1280);

/// What a partition gives a round of syncs.
pub(crate) struct RoundPart {
    /// When the round is over, everything below is durable.
    pub(crate) covers: Offset,
    /// Files to sync.
    pub(crate) files: Vec<FileName>,
    /// Small files of a checkpoint, to be published behind the sync.
    pub(crate) publish: Vec<SmallFile>,
    /// Files that the checkpoint makes obsolete.
    pub(crate) obsolete: Vec<FileName>,
}

impl Partition {
    pub(crate) fn new(
        key: PartitionKey,
        name: TopicPartition,
        disk: DiskIndex,
        mut log: Log,
        settings: PartitionSettings,
        leader_epoch: LeaderEpoch,
    ) -> Self {
        log.begin_epoch(leader_epoch);
        let hurried_end = log.end();
        let figures = Arc::new(PartitionFigures::new(name.clone()));
        let partition = Self {
            key,
            name,
            disk,
            residence: 0,
            log,
            settings,
            role: Role::Leader(leader_epoch),
            figures,
            held: false,
            dirty: false,
            hurried_end,
            clients_end: Offset::ZERO,
            checks: Checks::default(),
            memory_line: Line::default(),
            turned_away: Line::default(),
            sync_line: Line::default(),
            late: LateProducers::default(),
            readers: Readers::default(),
        };
        partition.show();
        partition
    }

    pub(crate) fn key(&self) -> PartitionKey {
        self.key
    }

    pub(crate) fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// The disk that it is on.
    pub(crate) fn disk(&self) -> DiskIndex {
        self.disk
    }

    /// How many disks it was on before this one.
    pub(crate) fn residence(&self) -> u32 {
        self.residence
    }

    pub(crate) fn log(&self) -> &Log {
        &self.log
    }

    pub(crate) fn settings(&self) -> &PartitionSettings {
        &self.settings
    }

    pub(crate) fn figures(&self) -> &Arc<PartitionFigures> {
        &self.figures
    }

    pub(crate) fn is_offline(&self) -> bool {
        matches!(self.role, Role::Offline(_))
    }

    /// Whether nothing was written because another partition has the name.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    pub(crate) fn leader_epoch(&self) -> LeaderEpoch {
        match self.role {
            Role::Leader(epoch) | Role::Offline(epoch) => epoch,
        }
    }

    /// Shows how the log looks now.
    fn show(&self) {
        let log = &self.log;
        self.figures.set_extent(LogExtent {
            size: log.size(),
            segments: log.segments().closed().len() as u64 + 1,
            start: log.start().get(),
            end: log.end().get(),
            stable_lag: log.high_watermark().distance_from(log.last_stable_offset()),
        });
    }

    /// Whether an asker who believes the leader to be in an epoch may be served.
    ///
    /// # Errors
    /// The code that says why not.
    pub(crate) fn check_epoch(&self, current: Option<LeaderEpoch>) -> Result<(), ErrorCode> {
        match (self.role, current) {
            (Role::Offline(_), _) => Err(ErrorCode::KafkaStorageError),
            (Role::Leader(epoch), Some(current)) if current < epoch => Err(ErrorCode::FencedLeaderEpoch),
            (Role::Leader(epoch), Some(current)) if current > epoch => Err(ErrorCode::UnknownLeaderEpoch),
            (Role::Leader(_), Some(_) | None) => Ok(()),
        }
    }

    /// Moves the log start offset up; to the high watermark if `before` is `None`. Gives the new
    /// one.
    ///
    /// # Errors
    /// The code that says why not.
    pub(crate) fn delete_records(
        &mut self,
        before: Option<Offset>,
        fx: &mut Effects,
    ) -> Result<Offset, ErrorCode> {
        self.check_epoch(None)?;
        if !self.log.config().deletes {
            return Err(ErrorCode::PolicyViolation);
        }
        let before = before.unwrap_or(self.log.high_watermark());
        if before > self.log.high_watermark() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        if before > self.log.start() {
            self.log.raise_start(before);
            self.show();
            self.wake_all(fx);
            self.mark_dirty(fx);
            fx.trimmed.push(self.key);
        }
        Ok(self.log.start())
    }

    /// An asker waits no longer: it was answered, or it has gone. A batch that was not appended
    /// yet never will be.
    pub(crate) fn cancel(&mut self, asker: Asker) {
        if let Some(produced) = self.checks.remove(asker) {
            // A batch that is none would have been refused when its turn had come.
            self.note_late(produced.producer());
        }
        if let Some(WaitingForMemory { batch: Appending::Produced(valid), .. }) =
            self.memory_line.cancel(asker)
        {
            self.note_late(valid.batch.producer);
        }
        self.turned_away.cancel(asker);
        self.sync_line.cancel(asker);
        self.readers.cancel(asker);
    }

    /// Whether appends wait here, for whatever it may be.
    pub(crate) fn has_waiting_appends(&self) -> bool {
        !(self.checks.is_empty() && self.memory_line.is_empty() && self.sync_line.is_empty())
    }

    /// A batch waited to be appended, and its producer waits no longer.
    fn note_late(&mut self, producer: Option<ProducerStamp>) {
        self.figures.add(Count::FailedProduceRequests, 1);
        if let Some(stamp) = producer
            && self.log.producers().producer(stamp.id).is_none()
        {
            self.late.note(stamp);
        }
    }

    /// Batches of these were refused while the log was being loaded.
    pub(crate) fn expect_first(&mut self, mut late: LateProducers) {
        late.forget(|id| self.log.producers().producer(id).is_some());
        self.late = late;
    }

    /// This broker leads in a new epoch.
    pub(crate) fn begin_epoch(&mut self, epoch: LeaderEpoch, fx: &mut Effects) {
        if epoch <= self.leader_epoch() {
            return; // an image that was applied before
        }
        self.role = match self.role {
            Role::Leader(_) => Role::Leader(epoch),
            Role::Offline(_) => Role::Offline(epoch),
        };
        self.log.begin_epoch(epoch);
        fx.elected.push(self.key);
        self.wake_all(fx);
    }

    /// Takes new settings. They hold from the next append on.
    pub(crate) fn configure(&mut self, settings: PartitionSettings) {
        self.log.configure(settings.log.clone());
        self.settings = settings;
    }

    /// The log directory is lost: who waits is told, and memory keeps all that it has.
    pub(crate) fn go_offline(&mut self, fx: &mut Effects) {
        self.role = Role::Offline(self.leader_epoch());
        self.figures.set_offline();
        self.log.doubt();
        self.refuse_all(ErrorCode::KafkaStorageError, fx);
        assert!(!self.has_waiting_appends(), "nobody waits offline");
    }

    /// The topic is deleted: who waits is told.
    pub(crate) fn go_away(&mut self, fx: &mut Effects) {
        self.figures.set_gone();
        self.refuse_all(ErrorCode::UnknownTopicOrPartition, fx);
    }

    /// Nobody reads or restores what memory has any more: the chunks are for others.
    pub(crate) fn release_memory(&mut self) {
        self.log.release_memory();
    }

    fn refuse_all(&mut self, error: ErrorCode, fx: &mut Effects) {
        while let Some(asker) = self.checks.pop() {
            fx.answer(asker, Answer::Append(Err(AppendRefusal::new(error))));
        }
        while let Some((asker, _)) = self.memory_line.pop() {
            fx.answer(asker, Answer::Append(Err(AppendRefusal::new(error))));
        }
        while let Some((asker, _)) = self.sync_line.pop() {
            fx.answer(asker, Answer::Append(Err(AppendRefusal::new(error))));
        }
        while let Some((asker, _)) = self.turned_away.pop() {
            fx.woken.push(asker);
        }
        self.wake_all(fx);
    }

    fn wake_all(&mut self, fx: &mut Effects) {
        fx.woken.extend(self.readers.drain());
    }
}

/// The disk's side.
impl Partition {
    /// Puts the partition on the list of those with something for the disk.
    pub(crate) fn mark_dirty(&mut self, fx: &mut Effects) {
        if !self.dirty && !self.held {
            self.dirty = true;
            fx.dirty.push(self.key);
        }
    }

    /// Whether it has something for the disk that no round has asked for.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// An acknowledgement waits for the disk.
    fn hurry(&self, fx: &mut Effects) {
        if !self.held {
            fx.hurried.push(self.key);
        }
    }

    /// Nothing is written until [`Self::release_name`].
    pub(crate) fn hold_name(&mut self) {
        self.held = true;
    }

    /// The name is free: what has gathered goes to the disk.
    pub(crate) fn release_name(&mut self, fx: &mut Effects) {
        self.held = false;
        self.mark_dirty(fx);
        self.hurry(fx);
    }

    /// Its directory is wanted on the disk, if it may be there.
    pub(crate) fn hurry_files(&mut self, fx: &mut Effects) {
        if !self.dirty {
            self.mark_dirty(fx);
            self.hurry(fx);
        }
    }

    /// Gives the writes that the log owes.
    pub(crate) fn take_writes(&mut self, out: &mut Vec<DiskCommand>) {
        self.log.take_writes(out);
    }

    /// A round of syncs begins: gives the writes that are owed, and what is to be synced behind
    /// them.
    pub(crate) fn begin_round(&mut self, is_checkpoint: bool, writes: &mut Vec<DiskCommand>) -> RoundPart {
        self.dirty = false;
        self.log.take_writes(writes);
        let mut part = self.log.begin_sync();
        let small =
            if is_checkpoint { self.log.begin_checkpoint(&mut part) } else { CheckpointPart::default() };
        RoundPart { covers: part.covers, files: part.files, publish: small.publish, obsolete: small.obsolete }
    }

    /// Everything below is durable: acknowledgements that waited for it go out.
    pub(crate) fn on_synced(&mut self, covers: Offset, fx: &mut Effects) {
        self.log.on_synced(covers);
        while let Some((asker, waiting)) = self.sync_line.pop_if(|waiting| waiting.last < covers) {
            fx.answer(asker, Answer::Append(Ok(waiting.answer)));
        }
        // Those that came after the round had begun have asked for the next one.
        assert!(self.dirty || self.held || self.sync_line.is_empty(), "no acknowledgement is forgotten");
    }

    /// The small files of a checkpoint are published. Whether the recovery point still lags.
    pub(crate) fn on_checkpointed(&mut self, covers: Offset) -> bool {
        self.log.on_checkpointed(covers);
        self.log.recovery_point_lags()
    }

    /// Gives back up to so many chunks that the disk has. How many they were.
    pub(crate) fn evict(&mut self, chunks: usize) -> usize {
        self.log.evict(chunks)
    }

    /// The broker stops: indexes get their last entries.
    pub(crate) fn close_indexes(&mut self, fx: &mut Effects) {
        self.log.close_indexes();
        self.mark_dirty(fx);
    }

    /// Takes segments out that may go, so many at most, and forgets producers that were not heard
    /// of for too long.
    pub(crate) fn retain(&mut self, now: Timestamp, most: usize, fx: &mut Effects) -> Retention {
        self.log.expire_producers(now);
        let retention = self.log.apply_retention(now, most);
        self.show();
        if retention.waits_for_name || retention.segments > 0 {
            self.mark_dirty(fx);
        }
        retention
    }

    /// The last entry of a segment's time index, as the disk has it.
    pub(crate) fn on_time_entry(&mut self, base: Offset, bytes: &Bytes) {
        self.log.on_time_entry(base, bytes);
    }

    /// The time of a segment's first batch, as the disk has it.
    pub(crate) fn on_first_time(&mut self, base: Offset, first: Option<Timestamp>) {
        self.log.on_first_time(base, first);
    }

    /// A pass of compaction begins.
    pub(crate) fn begin_compaction(
        &mut self,
        upto: Offset,
        producers: ActiveProducers,
        rules: CompactionRules,
        now: Timestamp,
    ) -> Option<CompactionPlan> {
        self.log.begin_compaction(upto, producers, rules, now)
    }

    /// A pass has made a segment that takes the place of others.
    pub(crate) fn replace_segments(&mut self, replacement: Replacement) {
        self.log.replace_segments(replacement);
        self.show();
    }

    /// The files of the segment at `base` have their own names.
    pub(crate) fn on_swapped(&mut self, base: Offset) {
        self.log.on_swapped(base);
    }

    /// A pass is over: below `end` the log is clean.
    pub(crate) fn on_compacted(&mut self, end: Offset) {
        self.log.on_compacted(end);
    }

    /// Everything below is in a snapshot elsewhere: it need not be in the log.
    pub(crate) fn raise_start(&mut self, start: Offset) {
        self.log.raise_start(start);
    }

    /// The log goes on at a copy on another disk, if it can. Gives the files that are not needed
    /// there, or the copy back.
    pub(crate) fn relocate(
        &mut self,
        copy: FutureLog,
        to: DiskIndex,
        share: &Arc<TailShare>,
        fx: &mut Effects,
    ) -> Result<Vec<FileName>, Box<FutureLog>> {
        let obsolete = self.log.relocate(copy, share)?;
        self.disk = to;
        self.residence += 1;
        self.dirty = false;
        self.memory_line.values_mut().for_each(|waiting| waiting.relocate(share));
        // Acknowledgements that waited for the old disk wait for this one.
        self.mark_dirty(fx);
        self.hurry(fx);
        Ok(obsolete)
    }
}
