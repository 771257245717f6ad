//! Operations: from the calls that they make to the reply.

use std::collections::BTreeMap;

use aplomb_model::Instant;

use super::Shard;
use crate::api::describe_log_dirs::LogDirFacts;
use crate::api::fetch::Progress;
use crate::api::produce::Calls;
use crate::message::{OpId, PartitionAnswer, ShardMessage, Slot};
use crate::parked::{Parked, Replied, Waiting};
use crate::ports::{CloseReason, ConnectionId, Event, Now, Output, Reply, RequestId, Severity, ShardId};

impl Shard {
    /// Parks an operation and makes its calls.
    pub(super) fn start(
        &mut self,
        request: RequestId,
        what: Waiting,
        calls: Calls,
        deadline: Option<Instant>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let number = self.operations.park(Parked { request, what }, deadline);
        self.make_calls(number, calls, now, out);
        self.look_at(number, now, out);
    }

    /// Makes calls of an operation: those for partitions of this shard at once, the others by message.
    pub(super) fn make_calls(&mut self, number: u64, calls: Calls, now: Now, out: &mut Vec<Output>) {
        let op = OpId { shard: self.me, number };
        let mut elsewhere: BTreeMap<ShardId, Calls> = BTreeMap::new();
        let mut here = Vec::new();
        for call in calls {
            let owner = call.1.owner(self.shards);
            if owner == self.me { here.push(call) } else { elsewhere.entry(owner).or_default().push(call) }
        }
        for (to, calls) in elsewhere {
            out.push(Output::Send { to, message: ShardMessage::Calls { op, calls } });
        }
        self.carry_out(op, here, now);
    }

    pub(super) fn on_answer(
        &mut self,
        number: u64,
        slot: Slot,
        answer: PartitionAnswer,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let Some(parked) = self.operations.get_mut(number) else { return };
        parked.what.on_answer(slot, answer);
        self.look_at(number, now, out);
    }

    /// Replies if the operation is complete, and goes on with it if it is not.
    fn look_at(&mut self, number: u64, now: Now, out: &mut Vec<Output>) {
        let Some(parked) = self.operations.get_mut(number) else { return };
        let complete = match &mut parked.what {
            Waiting::Fetch(op) => match op.progress(now.instant) {
                Progress::Wait => false,
                Progress::Reply => true,
                Progress::Watch => {
                    let watches = op.watches();
                    self.make_calls(number, watches, now, out);
                    false
                }
                Progress::Collect => {
                    let reads = op.collect();
                    let later = op.patience(now.instant);
                    self.operations.remind(number, later);
                    self.make_calls(number, reads, now, out);
                    false
                }
            },
            Waiting::Produce(op) => op.is_complete(),
            Waiting::ListOffsets(op) => op.is_complete(),
            Waiting::EpochEnds(op) => op.is_complete(),
            Waiting::DeleteRecords(op) => op.is_complete(),
            Waiting::LogDirs(op) => op.is_complete(),
            Waiting::Producers(op) => op.is_complete(),
            Waiting::Moves(op) => op.is_complete(),
        };
        if complete {
            self.finish(number, now, out);
        }
    }

    /// A partition that a fetch watches has more.
    pub(super) fn on_woken(&mut self, number: u64, slot: Slot, now: Now, out: &mut Vec<Output>) {
        let Some(Parked { what: Waiting::Fetch(op), .. }) = self.operations.get_mut(number) else { return };
        let read = op.read(slot);
        self.make_calls(number, read.into_iter().collect(), now, out);
    }

    /// The time is up: answers with what there is.
    pub(super) fn on_deadline(&mut self, number: u64, now: Now, out: &mut Vec<Output>) {
        let Some(parked) = self.operations.get_mut(number) else { return };
        match &mut parked.what {
            Waiting::Produce(op) => {
                op.give_up();
                self.finish(number, now, out);
            }
            // Partitions of other shards are about to answer, from memory: the last answer ends it, unless it says that the disk was asked.
            Waiting::Fetch(op) if op.is_reading() => {
                let later = op.patience(now.instant);
                self.operations.remind(number, later);
            }
            Waiting::Fetch(op) => match op.wake_again(now.instant) {
                Some(later) => self.operations.remind(number, later),
                None => self.look_at(number, now, out),
            },
            Waiting::ListOffsets(_)
            | Waiting::EpochEnds(_)
            | Waiting::DeleteRecords(_)
            | Waiting::LogDirs(_)
            | Waiting::Producers(_)
            | Waiting::Moves(_) => {
                self.finish(number, now, out);
            }
        }
    }

    fn finish(&mut self, number: u64, now: Now, out: &mut Vec<Output>) {
        let Some(Parked { request, what }) = self.operations.remove(number) else { return };
        let replied = match what {
            Waiting::Produce(op) => op.reply(),
            Waiting::Fetch(op) => {
                let unwatches = op.unwatches();
                self.make_calls(number, unwatches, now, out);
                op.reply(&mut self.sessions, now.instant)
            }
            Waiting::ListOffsets(op) => op.reply(),
            Waiting::EpochEnds(op) => op.reply(),
            Waiting::DeleteRecords(op) => op.reply(),
            Waiting::LogDirs(op) => op.reply(&self.log_dirs()),
            Waiting::Producers(op) => op.reply(),
            Waiting::Moves(op) => op.reply(),
        };
        reply(request, replied, out);
    }

    /// The fetches of a connection that is gone end; produced batches are appended all the same.
    pub(super) fn drop_fetches_of(&mut self, connection: ConnectionId, now: Now, out: &mut Vec<Output>) {
        let is_theirs = |parked: &Parked| {
            parked.request.connection == connection && matches!(parked.what, Waiting::Fetch(_))
        };
        for number in self.operations.numbers_where(is_theirs) {
            let Some(Parked { what: Waiting::Fetch(op), .. }) = self.operations.remove(number) else {
                continue;
            };
            let unwatches = op.unwatches();
            self.make_calls(number, unwatches, now, out);
        }
    }

    /// All fetches are answered with what they have: the broker stops.
    pub(super) fn finish_fetches(&mut self, now: Now, out: &mut Vec<Output>) {
        for number in self.operations.numbers_where(|parked| matches!(parked.what, Waiting::Fetch(_))) {
            // Those that partitions are about to answer go on when they have.
            if let Some(Parked { what: Waiting::Fetch(op), .. }) = self.operations.get_mut(number) {
                op.hurry();
                self.look_at(number, now, out);
            }
        }
    }

    pub(super) fn log_dirs(&self) -> Vec<LogDirFacts> {
        let facts = |disk: &super::ShardDisk| LogDirFacts {
            path: disk.path.clone(),
            online: disk.lost.is_none(),
            space: disk.space,
        };
        let lost = |path: &String| LogDirFacts { path: path.clone(), online: false, space: None };
        self.disks.iter().map(facts).chain(self.lost_at_start.iter().map(lost)).collect()
    }
}

/// Sends a reply. One that cannot be written is a fault of ours: it costs the connection and a line in the log.
pub(super) fn reply(id: RequestId, replied: Replied, out: &mut Vec<Output>) {
    let reply = match replied {
        Ok(reply) => reply,
        Err(error) => {
            out.push(Output::Event(Event {
                severity: Severity::Error,
                room: "broker/reply",
                text: format!("response cannot be written: {error}"),
            }));
            Reply::Close { reason: CloseReason::Malformed(error.to_string()) }
        }
    };
    out.push(Output::Reply { id, reply });
}
