//! One partition that this broker leads: its log, who waits for it, and what may be done with it.
//!
//! What always holds: batches are appended in the order in which they arrived, also when some had to wait for memory; an answer that
//! says "appended" is given once, and not before the topic's settings allow it.

mod append;
mod effects;
mod read;
mod settings;

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_disk_api::DiskIndex;
use aplomb_log::Log;
use aplomb_model::batch::{ProducerStamp, Validated};
use aplomb_model::{ErrorCode, LeaderEpoch, Offset, TopicPartition};

pub(crate) use effects::{ColdKind, ColdWish, Effects};
pub(crate) use settings::PartitionSettings;

use crate::figures::{LogExtent, PartitionFigures};
use crate::message::{AppendCall, Appended, OpId, PartitionAnswer, PartitionCall, PartitionKey, Slot};
use crate::ports::Now;

/// Whether a partition serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// It does.
    Online,
    /// Its log directory is lost.
    Offline,
}

/// A batch that waits for memory.
#[derive(Debug)]
struct WaitingAppend {
    op: OpId,
    slot: Slot,
    call: AppendCall,
    /// What validation made of it, once its turn came.
    checked: Option<Validated>,
}

/// An acknowledgement that waits for the disk.
#[derive(Debug)]
struct WaitingSync {
    op: OpId,
    slot: Slot,
    answer: Appended,
    last: Offset,
}

/// Somebody who wants to know when there is more to see.
#[derive(Clone, Copy, Debug)]
struct Watcher {
    op: OpId,
    slot: Slot,
    seen: Offset,
}

/// A partition, led by this broker.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) key: PartitionKey,
    pub(crate) name: TopicPartition,
    pub(crate) disk: DiskIndex,
    /// Counts the disks that it was on: what an earlier one still reports is not about it any more.
    pub(crate) residence: u32,
    pub(crate) log: Log,
    pub(crate) settings: PartitionSettings,
    pub(crate) leader_epoch: LeaderEpoch,
    pub(crate) serving: Serving,
    /// What others see of it.
    pub(crate) figures: Arc<PartitionFigures>,
    /// Its name is not free on the disks yet: nothing of it is written.
    held: bool,
    /// Whether the shard has it on the list of those with something for the disk.
    pub(crate) dirty: bool,
    /// Whether the shard has it on the list of those with memory to give back.
    pub(crate) cached: bool,
    /// Up to where a sync was asked for because acknowledgements wait for it.
    hurried_end: Offset,
    waiting: VecDeque<WaitingAppend>,
    unsynced: VecDeque<WaitingSync>,
    /// Producers that the log does not know, and of which a batch found no memory in time: it comes again, and the ones behind it must not be
    /// ahead of it.
    late: VecDeque<ProducerStamp>,
    watchers: Vec<Watcher>,
}

impl Partition {
    pub(crate) fn new(
        key: PartitionKey,
        name: TopicPartition,
        disk: DiskIndex,
        log: Log,
        settings: PartitionSettings,
        leader_epoch: LeaderEpoch,
    ) -> Self {
        let hurried_end = log.end();
        let figures = Arc::new(PartitionFigures::new(name.clone()));
        let partition = Self {
            key,
            name,
            disk,
            residence: 0,
            log,
            settings,
            leader_epoch,
            serving: Serving::Online,
            figures,
            held: false,
            dirty: false,
            cached: false,
            hurried_end,
            waiting: VecDeque::new(),
            unsynced: VecDeque::new(),
            late: VecDeque::new(),
            watchers: Vec::new(),
        };
        partition.show();
        partition
    }

    /// Shows how the log looks now.
    pub(crate) fn show(&self) {
        let log = &self.log;
        self.figures.set_extent(LogExtent {
            size: log.size(),
            segments: log.segments().closed().len() as u64 + 1,
            start: log.start().get(),
            end: log.end().get(),
            stable_lag: log.high_watermark().distance_from(log.last_stable_offset()),
        });
    }

    /// Does what is asked, or sees to it that it will be done.
    pub(crate) fn call(&mut self, op: OpId, slot: Slot, call: PartitionCall, now: Now, fx: &mut Effects) {
        let answer = match call {
            PartitionCall::Append(call) => return self.append(op, slot, call, now, fx),
            PartitionCall::Read(call) => return self.read(op, slot, call, fx),
            PartitionCall::FindOffset(find) => return self.find_offset(op, slot, find, fx),
            PartitionCall::Watch { seen, start } => return self.watch(op, slot, seen, start, fx),
            PartitionCall::Unwatch => return self.watchers.retain(|watcher| watcher.op != op),
            PartitionCall::EpochEnd { current, epoch } => {
                PartitionAnswer::EpochEnd(self.check_epoch(current).map(|()| {
                    let end = self.log.epochs().end_offset_for(epoch, self.log.end());
                    end.map(|end| (end.epoch, end.end))
                }))
            }
            PartitionCall::DeleteRecords { before } => {
                PartitionAnswer::DeleteRecords(self.delete_records(before, fx))
            }
            PartitionCall::Producers => {
                let known =
                    || self.log.producers().producers().map(|(id, entry)| (id, entry.clone())).collect();
                PartitionAnswer::Producers(self.check_epoch(None).map(|()| known()))
            }
            PartitionCall::Size | PartitionCall::Move { .. } => {
                unreachable!("the shard knows where logs are")
            }
        };
        fx.answers.push((op, slot, answer));
    }

    /// Everything below is durable: acknowledgements that waited for it go out.
    pub(crate) fn on_synced(&mut self, covers: Offset, fx: &mut Effects) {
        self.log.on_synced(covers);
        while let Some(waiting) = self.unsynced.pop_front_if(|waiting| waiting.last < covers) {
            fx.answers.push((waiting.op, waiting.slot, PartitionAnswer::Append(Ok(waiting.answer))));
        }
        if !self.unsynced.is_empty() {
            self.hurry(fx); // they came after the round had begun
        }
    }

    /// The log directory is lost: nothing that waits for it can be done.
    pub(crate) fn go_offline(&mut self, fx: &mut Effects) {
        self.serving = Serving::Offline;
        self.figures.set_offline();
        self.log.doubt();
        self.refuse_all(ErrorCode::KafkaStorageError, fx);
    }

    /// The log is on another disk now: acknowledgements that wait for the disk wait for that one.
    pub(crate) fn on_moved(&mut self, disk: DiskIndex, fx: &mut Effects) {
        self.disk = disk;
        self.residence += 1;
        self.dirty = false;
        self.cached = false;
        self.mark_dirty(fx);
        self.hurry(fx);
    }

    /// The topic is deleted: whoever waits is told.
    pub(crate) fn go_away(&mut self, fx: &mut Effects) {
        self.figures.set_gone();
        self.refuse_all(ErrorCode::UnknownTopicOrPartition, fx);
    }

    /// A leader of a new epoch: this broker again.
    pub(crate) fn begin_epoch(&mut self, epoch: LeaderEpoch, fx: &mut Effects) {
        if epoch > self.leader_epoch {
            self.leader_epoch = epoch;
            self.log.begin_epoch(epoch);
            self.wake_all(fx);
            self.mark_dirty(fx);
        }
    }

    /// Takes new settings.
    pub(crate) fn configure(&mut self, settings: PartitionSettings) {
        self.log.configure(settings.log.clone());
        self.settings = settings;
    }

    /// Nothing is written until [`Self::release`].
    pub(crate) fn hold(&mut self) {
        self.held = true;
    }

    /// Its directory is wanted on the disk, if it may be there.
    pub(crate) fn hurry_files(&mut self, fx: &mut Effects) {
        if !self.dirty {
            self.mark_dirty(fx);
            self.hurry(fx);
        }
    }

    /// Whether nothing was written because another partition has the name.
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// The name is free: what has gathered goes to the disk.
    pub(crate) fn release(&mut self, fx: &mut Effects) {
        self.held = false;
        self.mark_dirty(fx);
        self.hurry(fx);
    }

    /// Somebody waits for the disk.
    fn hurry(&self, fx: &mut Effects) {
        if !self.held {
            fx.hurried.push(self.key);
        }
    }

    /// Puts the partition on the list of those with something for the disk.
    pub(crate) fn mark_dirty(&mut self, fx: &mut Effects) {
        if !self.dirty && !self.held {
            self.dirty = true;
            fx.dirty.push(self.key);
        }
    }

    fn refuse_all(&mut self, error: ErrorCode, fx: &mut Effects) {
        let waiting = self.waiting.drain(..).map(|w| (w.op, w.slot));
        let unsynced = self.unsynced.drain(..).map(|w| (w.op, w.slot));
        for (op, slot) in waiting.chain(unsynced) {
            fx.answers.push((op, slot, PartitionAnswer::Append(Err(append::refusal(error)))));
        }
        self.wake_all(fx);
    }

    fn wake_all(&mut self, fx: &mut Effects) {
        fx.woken.extend(self.watchers.drain(..).map(|watcher| (watcher.op, watcher.slot)));
    }

    fn check_epoch(&self, current: Option<LeaderEpoch>) -> Result<(), ErrorCode> {
        if self.serving == Serving::Offline {
            return Err(ErrorCode::KafkaStorageError);
        }
        match current {
            Some(epoch) if epoch < self.leader_epoch => Err(ErrorCode::FencedLeaderEpoch),
            Some(epoch) if epoch > self.leader_epoch => Err(ErrorCode::UnknownLeaderEpoch),
            Some(_) | None => Ok(()),
        }
    }

    fn delete_records(&mut self, before: Option<Offset>, fx: &mut Effects) -> Result<Offset, ErrorCode> {
        self.check_epoch(None)?;
        if !self.settings.deletes {
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
}
