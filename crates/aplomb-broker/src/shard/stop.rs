//! The end: fetches are answered, logs are closed, and the last word on each disk is that all of it was closed cleanly.
//!
//! Shard 0 first writes into the metadata log that this broker is fenced, as a controlled shutdown of Apache Kafka's ends: the next process,
//! be it Apache Kafka's, need not wait until the session of a broker that looks alive has expired.
//!
//! Each shard closes its own partitions: a last round of writes and syncs, with a last time entry in each index and a last producer snapshot, and a
//! second checkpoint so that the recovery point is the end. Shard 0 waits for the others and writes the checkpoint files, then the
//! clean shutdown markers. A disk that does not answer is not waited for for ever: the server has a deadline, and what is then missing is the
//! marker, so that the next start reads what lies above the recovery point.

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, Lane, SmallFile};
use aplomb_log::layout::top_level;
use aplomb_log::state_files::CleanShutdown;

use super::Shard;
use super::disk::{Purpose, entry_of};
use crate::message::{PartitionKey, ShardMessage};
use crate::ports::{Now, Output, ShardId};

/// How far the end has come.
#[derive(Debug)]
pub(super) struct Stopping {
    stage: Stage,
    /// Shards that have closed their partitions, with what each says of every disk.
    closed: Vec<(ShardId, Vec<bool>)>,
    /// Disks whose marker is not written yet.
    goodbyes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waiting for operations, the controller, and deletions: new partitions may wait for the names of deleted ones.
    Draining,
    /// The metadata log is told that this broker goes.
    Leaving,
    /// The last checkpoint is under way.
    Closing,
    /// Everything here is closed; shard 0 waits for the others.
    Closed,
    /// The markers are being written.
    Marking,
    /// Nothing is left to do.
    Done,
}

impl Shard {
    /// No request comes any more. What is parked is answered, and everything closed.
    pub fn begin_stop(&mut self, now: Now, out: &mut Vec<Output>) {
        if self.stopping.is_none() {
            self.stopping = Some(Stopping { stage: Stage::Draining, closed: Vec::new(), goodbyes: 0 });
            self.finish_fetches(now, out);
        }
        self.settle(now, out);
    }

    /// Whether all is closed, here and, for shard 0, everywhere.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| stopping.stage == Stage::Done)
    }

    /// Whether the metadata log is being told that this broker goes.
    pub(super) fn is_leaving(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| stopping.stage == Stage::Leaving)
    }

    /// Whether records are in memory that their files do not have: of a disk that is lost. The tail has to outlive the process then.
    #[must_use]
    pub fn needs_tail(&self) -> bool {
        self.partitions.values().any(|partition| partition.log.durable_end() < partition.log.end())
    }

    pub(super) fn poll_stop(&mut self, now: Now, out: &mut Vec<Output>) {
        loop {
            let Some(stopping) = &self.stopping else { return };
            let next = match stopping.stage {
                Stage::Draining if self.is_drained() => {
                    self.leave_cluster(now, out);
                    Stage::Leaving
                }
                Stage::Leaving if self.has_left() => {
                    self.close_partitions(now);
                    Stage::Closing
                }
                Stage::Closing if self.is_idle() => {
                    self.tell_closed(out);
                    Stage::Closed
                }
                Stage::Closed if self.me != ShardId(0) => Stage::Done,
                Stage::Closed if stopping.closed.len() == usize::from(self.shards) => {
                    self.write_markers(now);
                    Stage::Marking
                }
                Stage::Marking if stopping.goodbyes == 0 => Stage::Done,
                Stage::Draining
                | Stage::Leaving
                | Stage::Closing
                | Stage::Closed
                | Stage::Marking
                | Stage::Done => return,
            };
            if let Some(stopping) = &mut self.stopping {
                stopping.stage = next;
            }
        }
    }

    fn is_drained(&self) -> bool {
        let decided = self.controller.as_ref().is_none_or(|room| room.is_idle());
        self.operations.is_empty() && decided && self.leaving.is_over()
    }

    /// Whether the last decision is durable, or never will be.
    fn has_left(&self) -> bool {
        let metadata = self.partitions.get(&PartitionKey::METADATA);
        let lost = |disk: DiskIndex| self.disks[usize::from(disk.0)].lost.is_some();
        self.controller.as_ref().is_none_or(|room| room.is_idle())
            || metadata.is_none_or(|partition| lost(partition.disk))
    }

    fn is_idle(&self) -> bool {
        self.disks.iter().all(|disk| disk.lost.is_some() || disk.is_idle())
    }

    fn close_partitions(&mut self, now: Now) {
        for partition in self.partitions.values_mut() {
            partition.log.close_indexes();
            partition.mark_dirty(&mut self.fx);
        }
        self.fx.dirty.sort_unstable(); // in an order that a simulation can repeat
        for key in std::mem::take(&mut self.fx.dirty) {
            if let Some(partition) = self.partitions.get(&key) {
                let within = partition.settings.flush_within;
                self.disks[usize::from(partition.disk.0)].on_dirty(key, within, now.instant);
            }
        }
        for disk in &mut self.disks {
            disk.hurry_checkpoint(now.instant);
            disk.poll(&mut self.partitions, now.instant);
        }
    }

    /// Says what became of this shard's part of every disk.
    fn tell_closed(&mut self, out: &mut Vec<Output>) {
        let mut changes = vec![Vec::new(); self.disks.len()];
        let mut clean: Vec<bool> = self.disks.iter().map(|disk| disk.lost.is_none()).collect();
        for partition in self.partitions.values_mut() {
            let disk = usize::from(partition.disk.0);
            let end = partition.log.end();
            if partition.log.durable_end() < end {
                clean[disk] = false;
                continue;
            }
            // Nothing of it is only in memory: the next start need not look for it there.
            partition.log.release_memory();
            if partition.key != PartitionKey::METADATA {
                let entry = crate::message::CheckpointEntry { recovery_point: end, ..entry_of(partition) };
                changes[disk].push((partition.key, Some(entry)));
            }
        }
        let me = self.me;
        for (disk, changes) in changes.into_iter().enumerate() {
            let disk = DiskIndex(disk as u16);
            match &mut self.keeper {
                Some(keeper) => keeper.take_last(disk, changes),
                None => out.push(Output::Send {
                    to: ShardId(0),
                    message: ShardMessage::Checkpoints { disk, changes },
                }),
            }
        }
        if me == ShardId(0) {
            self.on_closed(me, &clean);
        } else {
            out.push(Output::Send { to: ShardId(0), message: ShardMessage::Closed { clean } });
        }
    }

    /// A shard has closed its partitions. May come before this shard is told to stop.
    pub(super) fn on_closed(&mut self, from: ShardId, clean: &[bool]) {
        let stopping =
            self.stopping.get_or_insert(Stopping { stage: Stage::Draining, closed: Vec::new(), goodbyes: 0 });
        stopping.closed.push((from, clean.to_vec()));
    }

    fn write_markers(&mut self, now: Now) {
        let (Some(keeper), Some(stopping)) = (&self.keeper, &mut self.stopping) else { return };
        let epoch = self.image.brokers.get(self.config.node_id).map_or(-1, |broker| broker.epoch);
        for disk in self.disks.iter_mut().filter(|disk| disk.lost.is_none()) {
            let index = disk.index();
            let mut files = keeper.files(index);
            if stopping.closed.iter().all(|(_, clean)| clean[usize::from(index.0)]) {
                files.push(SmallFile {
                    name: FileName::new(top_level::CLEAN_SHUTDOWN),
                    content: CleanShutdown::encode(epoch).into(),
                });
            }
            stopping.goodbyes += 1;
            let command = DiskCommand::Publish { files, lane: Lane::Housekeeping };
            disk.port.submit(command, Purpose::Goodbye, now.instant);
        }
    }

    /// A disk's marker is written, or never will be.
    pub(super) fn on_goodbye(&mut self, _disk: DiskIndex, _written: bool) {
        if let Some(stopping) = &mut self.stopping {
            stopping.goodbyes -= 1;
        }
    }

    /// Whether the checkpoint files are written as they are due. At the end the last ones are written with the markers, and not before.
    pub(super) fn keeps_checkpoints(&self) -> bool {
        self.stopping.as_ref().is_none_or(|stopping| stopping.stage == Stage::Draining)
    }

    /// Writes the checkpoint files that are due.
    pub(super) fn poll_keeper(&mut self, now: Now) {
        let due = self.keeps_checkpoints();
        let Some(keeper) = self.keeper.as_mut().filter(|_| due) else { return };
        for (index, files) in keeper.poll(now.instant) {
            let disk = &mut self.disks[usize::from(index.0)];
            if disk.lost.is_none() {
                let command = DiskCommand::Publish { files, lane: Lane::Housekeeping };
                disk.port.submit(command, Purpose::Offsets, now.instant);
            }
        }
    }
}
