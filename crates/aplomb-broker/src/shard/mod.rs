//! One event loop's worth of broker: partitions, operations, timers. A pure state machine.
//!
//! Every turn has the same shape: something comes in ([`Shard::on_request`] and its siblings), partitions and operations take it and leave
//! [`Effects`], and [`Shard::settle`] carries these out until there are none: answers to operations here and elsewhere, commands
//! for disks, replies. Nothing here waits.
//!
//! Next: [`dispatch`] for what becomes of a request, [`disk`] for the disk's side, [`metadata`] for changes of the image, [`controller`] for
//! who decides them, [`stop`] for the end.

mod cold;
mod controller;
mod disk;
mod dispatch;
mod keeper;
mod leaving;
mod metadata;
mod moves;
mod operations;
mod seed;
mod snapshots;
mod stop;
mod upkeep;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use aplomb_disk_api::{Completion, DiskError, DiskIndex, Done};
use aplomb_model::{ErrorCode, Instant, Offset, Uuid};

pub use controller::ControllerSeed;
pub(crate) use metadata::partition_metadata;
pub use moves::MoveRate;
pub(crate) use seed::checkpoint_of;
pub use seed::{DiskSeed, PartitionSeed, SeedSettings, ShardSeed};

use crate::config::BrokerConfig;
use crate::figures::{Count, Notes, ShardFigures};
use crate::message::{OpId, PartitionAnswer, PartitionCall, PartitionKey, ShardMessage, Slot};
use crate::metadata::MetadataImage;
use crate::parked::Operations;
use crate::partition::{Effects, Partition};
use crate::ports::{ConnectionId, Event, Now, Output, Request, Severity, ShardId};
use crate::sessions::FetchSessions;
use cold::ColdReads;
use controller::ControllerRoom;
use disk::{Purpose, ShardDisk};
use keeper::Keeper;
use leaving::Leaving;
use moves::Moves;
use stop::Stopping;
use upkeep::Upkeep;

/// One shard.
pub struct Shard {
    me: ShardId,
    shards: u16,
    config: Arc<BrokerConfig>,
    image: Arc<MetadataImage>,
    partitions: HashMap<PartitionKey, Partition>,
    disks: Vec<ShardDisk>,
    /// Paths of log directories that are none of the disks.
    lost_at_start: Vec<String>,
    operations: Operations,
    sessions: FetchSessions,
    cold: ColdReads,
    upkeep: Upkeep,
    controller: Option<Box<ControllerRoom>>,
    keeper: Option<Keeper>,
    stopping: Option<Stopping>,
    leaving: Leaving,
    moves: Moves,
    figures: Arc<ShardFigures>,
    notes: Notes,
    fx: Effects,
    /// Answers to operations of this shard.
    answers: VecDeque<(u64, Slot, PartitionAnswer)>,
    /// Answers to operations of others, gathered until the end of the turn.
    answers_out: BTreeMap<OpId, Vec<(Slot, PartitionAnswer)>>,
    /// Partitions whose batches wait for memory, and when to try again.
    starved: Vec<PartitionKey>,
    starved_due: Option<Instant>,
}

impl Shard {
    /// What others may see of this shard, for as long as they like.
    #[must_use]
    pub fn figures(&self) -> Arc<ShardFigures> {
        self.figures.clone()
    }

    /// A client asks.
    pub fn on_request(&mut self, request: Request, now: Now, out: &mut Vec<Output>) {
        self.dispatch(request, now, out);
        self.settle(now, out);
    }

    /// Another shard speaks.
    pub fn on_message(&mut self, from: ShardId, message: ShardMessage, now: Now, out: &mut Vec<Output>) {
        match message {
            ShardMessage::Request(request) => self.dispatch(request, now, out),
            ShardMessage::AutoCreate(topics) => self.auto_create(&topics, now, out),
            ShardMessage::Calls { op, calls } => self.carry_out(op, calls, now),
            ShardMessage::Answers { op, answers } => {
                self.answers.extend(answers.into_iter().map(|(slot, answer)| (op.number, slot, answer)));
            }
            ShardMessage::Woken { op, slot } => self.on_woken(op.number, slot, now, out),
            ShardMessage::Image { image, delta, generation } => {
                self.apply_image(image, &delta, now, out);
                out.push(Output::Send { to: from, message: ShardMessage::ImageApplied { generation } });
            }
            ShardMessage::ImageApplied { generation } => self.on_shard_applied(from, generation, out),
            ShardMessage::Checkpoints { disk, changes } => self.keep(disk, changes, now),
            ShardMessage::DiskLost { disk, why } => self.lose_disk(disk, &why, false, out),
            ShardMessage::Closed { clean } => self.on_closed(from, &clean),
            ShardMessage::GiveBack => {} // as every turn does
            ShardMessage::Left { disk, key, name } => self.forget(disk, key, name, now, out),
            ShardMessage::Gone { key, name } => self.on_gone(key, &name),
            ShardMessage::Keep { disk, key, entry } => self.keep_now(disk, key, entry, now, out),
            ShardMessage::Kept { disk, key } => self.on_kept(disk, key),
            ShardMessage::Assign { key, directory } => self.assign(&[(key, directory)], now, out),
            ShardMessage::Prefer { name, disk } => self.prefer(name, disk),
        }
        self.settle(now, out);
    }

    /// A disk has ended a command.
    pub fn on_completion(&mut self, completion: Completion, now: Now, out: &mut Vec<Output>) {
        let Completion { disk, ticket, result } = completion;
        let Some(purpose) = self.disks[usize::from(disk.0)].port.on_completion(ticket, now.instant) else {
            return;
        };
        if let Err(error) = &result
            && error.is_loss()
        {
            self.lose_disk(disk, &Arc::from(error.to_string()), true, out);
        }
        self.on_done(disk, purpose, result, now, out);
        self.settle(now, out);
    }

    /// A connection is gone.
    pub fn on_connection_closed(&mut self, connection: ConnectionId, now: Now, out: &mut Vec<Output>) {
        self.drop_fetches_of(connection, now, out);
        self.notes.clients.leave(connection.number);
        self.settle(now, out);
    }

    /// When [`Self::on_wake`] has something to do.
    pub fn wake_at(&mut self) -> Option<Instant> {
        let disks = self.disks.iter().filter_map(ShardDisk::wake_at).min();
        let keeper = self.keeper.as_ref().filter(|_| self.keeps_checkpoints()).and_then(Keeper::wake_at);
        let waiting = [self.starved_due, self.cold.wake_at()];
        [
            disks,
            keeper,
            self.operations.wake_at(),
            self.upkeep.wake_at(),
            self.moves.wake_at(self.stopping.is_some()),
        ]
        .into_iter()
        .chain(waiting)
        .flatten()
        .min()
    }

    /// That time has come.
    pub fn on_wake(&mut self, now: Now, out: &mut Vec<Output>) {
        while let Some(number) = self.operations.pop_due(now.instant) {
            self.on_deadline(number, now, out);
        }
        if self.starved_due.take_if(|due| *due <= now.instant).is_some() {
            self.retry_starved(now, out);
        }
        for (key, op, slot, call) in self.cold.take_waiting(now.instant) {
            self.carry_out(op, vec![(slot, key, PartitionCall::Read(call))], now);
        }
        for disk in &mut self.disks {
            if disk.port.retry_at().is_some_and(|due| due <= now.instant) {
                disk.port.retry(now.instant);
            }
        }
        self.do_upkeep(now, out);
        self.settle(now, out);
    }

    /// Whether fetches may have to wait for memory that replies hold.
    #[must_use]
    pub fn is_short_of_memory(&self) -> bool {
        self.disks.iter().any(|disk| disk.share.reading().is_short())
    }

    /// Carries out what the turn has left, until nothing is left.
    pub fn settle(&mut self, now: Now, out: &mut Vec<Output>) {
        self.poll_moves(now, out);
        loop {
            self.carry_out_effects(now, out);
            let Some((number, slot, answer)) = self.answers.pop_front() else { break };
            self.on_answer(number, slot, answer, now, out);
        }
        for (op, answers) in std::mem::take(&mut self.answers_out) {
            let message = ShardMessage::Answers { op, answers };
            out.push(Output::Send { to: op.shard, message });
        }
        for disk in &mut self.disks {
            disk.poll(&mut self.partitions, now.instant);
        }
        self.poll_keeper(now);
        self.poll_stop(now, out);
        let (fetches, produces) = self.operations.parked();
        self.figures.set_parked(fetches, produces);
        self.figures.set_fetch_sessions(self.sessions.len(), self.sessions.evicted());
        self.notes.hand_over(&self.figures);
    }

    fn carry_out_effects(&mut self, now: Now, out: &mut Vec<Output>) {
        let mut fx = std::mem::take(&mut self.fx);
        for (op, slot, answer) in fx.answers.drain(..) {
            self.deliver(op, slot, answer);
        }
        for key in fx.dirty.drain(..) {
            if let Some(partition) = self.partitions.get(&key) {
                let within = partition.settings.flush_within;
                self.disks[usize::from(partition.disk.0)].on_dirty(key, within, now.instant);
            }
        }
        for (disk, bytes) in fx.appended.drain(..) {
            self.disks[usize::from(disk.0)].on_bytes(bytes);
        }
        for key in fx.hurried.drain(..) {
            if let Some(partition) = self.partitions.get(&key) {
                self.disks[usize::from(partition.disk.0)].hurry(now.instant);
            }
        }
        for key in fx.starved.drain(..) {
            self.starved.push(key);
            self.starved_due.get_or_insert(now.instant + upkeep::STARVED_RETRY);
        }
        for (key, segment, position) in fx.damaged.drain(..) {
            self.tell_damage(key, segment, position, out);
        }
        for key in fx.trimmed.drain(..) {
            self.on_trimmed(key, now, out);
        }
        let cold = std::mem::take(&mut fx.cold);
        let woken = std::mem::take(&mut fx.woken);
        self.fx = fx; // its empty vectors keep their room
        for wish in cold {
            let Some(partition) = self.partitions.get_mut(&wish.key) else { continue };
            if let Some((disk, command, number)) = self.cold.begin(wish, partition, now.instant, &mut self.fx)
            {
                self.disks[usize::from(disk.0)].port.submit(command, Purpose::Cold(number), now.instant);
            }
        }
        for (op, slot) in woken {
            if op.shard == self.me {
                self.on_woken(op.number, slot, now, out);
            } else {
                out.push(Output::Send { to: op.shard, message: ShardMessage::Woken { op, slot } });
            }
        }
        let answers = std::mem::take(&mut self.fx.answers);
        for (op, slot, answer) in answers {
            self.deliver(op, slot, answer);
        }
    }

    fn deliver(&mut self, op: OpId, slot: Slot, answer: PartitionAnswer) {
        if op.shard == self.me {
            self.answers.push_back((op.number, slot, answer));
        } else {
            self.answers_out.entry(op).or_default().push((slot, answer));
        }
    }

    /// Does what is asked of partitions that this shard owns.
    fn carry_out(&mut self, op: OpId, calls: Vec<(Slot, PartitionKey, PartitionCall)>, now: Now) {
        for (slot, key, call) in calls {
            if let PartitionCall::Move { to } = call {
                let answer = PartitionAnswer::Move(self.ask_to_move(key, to));
                self.fx.answers.push((op, slot, answer));
                continue;
            }
            match self.partitions.get_mut(&key) {
                Some(partition) if matches!(call, PartitionCall::Size) => {
                    let answer = PartitionAnswer::Size(self.moves.size_of(partition));
                    self.fx.answers.push((op, slot, answer));
                }
                Some(partition) => partition.call(op, slot, call, now, &mut self.fx),
                None => {
                    if let Some(answer) = call.not_here(self.why_not_here(key)) {
                        self.fx.answers.push((op, slot, answer));
                    }
                }
            }
        }
    }

    /// Why this shard has no partition that is its own: there is none, or it is in a log directory that the broker does without.
    fn why_not_here(&self, key: PartitionKey) -> ErrorCode {
        let partition = self.image.topics.partition(key.topic, key.partition);
        match partition.and_then(|partition| partition.directory(self.config.node_id)) {
            Some(id) if id != Uuid::ZERO && self.disks.iter().all(|disk| disk.directory != id) => {
                ErrorCode::KafkaStorageError
            }
            _ => ErrorCode::UnknownTopicOrPartition,
        }
    }

    fn on_done(
        &mut self,
        disk: DiskIndex,
        purpose: Purpose,
        result: Result<Done, DiskError>,
        now: Now,
        out: &mut Vec<Output>,
    ) {
        let index = usize::from(disk.0);
        // What a lost disk still reports is not to be relied on.
        let failed = result.as_ref().is_err_and(DiskError::is_loss) || self.disks[index].lost.is_some();
        match purpose {
            Purpose::Write | Purpose::Chore => {}
            Purpose::Cold(number) => {
                let step = self.cold.on_completion(number, result, &mut self.partitions, &mut self.fx);
                if let Some((disk, command, number)) = step {
                    let port = &mut self.disks[usize::from(disk.0)].port;
                    port.submit(command, Purpose::Cold(number), now.instant);
                }
            }
            Purpose::Snapshot => self.on_snapshot(!failed, now),
            Purpose::Space => {
                if let Ok(Done::Space { total, usable }) = result {
                    self.disks[index].space = Some((total, usable));
                    self.figures.set_space(index, total, usable);
                }
            }
            Purpose::Offsets => {
                let written = self.keeper.as_mut().map(|keeper| keeper.on_written(disk));
                self.on_offsets_written(disk, written.unwrap_or_default(), out);
            }
            Purpose::TimeEntry { key, base, residence } => {
                self.on_time_entry((key, residence), base, result, now);
            }
            Purpose::Move { key, number } => self.on_move_step(key, number, result),
            Purpose::Doom { name, directory, after, left } => {
                if result.is_ok() {
                    self.upkeep.doom(now.instant + after, disk, name, directory);
                }
                if let Some((key, partition)) = left {
                    self.left(disk, key, partition, now, out);
                }
            }
            Purpose::Goodbye => self.on_goodbye(disk, !failed),
            // A lost disk ends everything that was under way with it.
            Purpose::Sync | Purpose::Checkpoint if failed => {}
            Purpose::Farewell { key } if failed => {
                if let Some(partition) = self.upkeep.left(key) {
                    self.left(disk, key, partition.name, now, out);
                }
            }
            Purpose::Sync => {
                let synced = self.disks[index].on_synced(&mut self.partitions, &mut self.fx, now.instant);
                let metadata = synced.iter().find(|(key, _)| *key == PartitionKey::METADATA);
                if let Some((_, end)) = metadata {
                    self.on_metadata_durable(*end, now, out);
                }
            }
            Purpose::Checkpoint => {
                let changes = self.disks[index].on_checkpointed(&mut self.partitions, now.instant);
                self.send_to_keeper(disk, changes, now, out);
            }
            Purpose::Farewell { key } => self.rename_away(key, now),
        }
    }

    /// Takes a disk out of service: its partitions answer that their storage failed, everything else goes on.
    fn lose_disk(&mut self, disk: DiskIndex, why: &Arc<str>, tell: bool, out: &mut Vec<Output>) {
        let lost = &mut self.disks[usize::from(disk.0)];
        if lost.lost.is_some() {
            return;
        }
        lost.lost = Some(why.clone());
        self.figures.lose(usize::from(disk.0));
        let here = self.partitions.iter().filter(|(_, partition)| partition.disk == disk);
        let mut keys: Vec<PartitionKey> = here.map(|(key, _)| *key).collect();
        keys.sort_unstable(); // in an order that a simulation can repeat
        let count = keys.len();
        for key in keys {
            let partition = self.partitions.get_mut(&key).expect("it was there a moment ago");
            partition.go_offline(&mut self.fx);
        }
        out.push(Output::Event(Event {
            severity: Severity::Error,
            room: "broker/disk",
            text: format!("log directory {} is offline: {why}; {count} partitions here", lost.path),
        }));
        let written = self.keeper.as_mut().map(|keeper| keeper.lose(disk));
        self.on_offsets_written(disk, written.unwrap_or_default(), out);
        if tell {
            for other in (0..self.shards).map(ShardId).filter(|other| *other != self.me) {
                let message = ShardMessage::DiskLost { disk, why: why.clone() };
                out.push(Output::Send { to: other, message });
            }
        }
    }

    fn tell_damage(&self, key: PartitionKey, segment: Offset, position: u64, out: &mut Vec<Output>) {
        let partition = self.partitions.get(&key);
        if let Some(partition) = partition {
            partition.figures.add(Count::FailedFetchRequests, 1);
        }
        let name = partition.map(|partition| partition.name.to_string());
        out.push(Output::Event(Event {
            severity: Severity::Error,
            room: "broker/fetch",
            text: format!(
                "{}: segment {segment} holds no batch at byte {position}",
                name.unwrap_or_default()
            ),
        }));
    }
}

impl PartitionCall {
    /// The answer of a shard that has no such partition (any more); watches need none.
    fn not_here(&self, error: ErrorCode) -> Option<PartitionAnswer> {
        use crate::message::{AppendRefusal, ReadRefusal};
        Some(match self {
            Self::Append(_) => PartitionAnswer::Append(Err(AppendRefusal {
                error,
                message: None,
                records: Vec::new(),
                log_start: None,
            })),
            Self::Read(_) => PartitionAnswer::Read(Err(ReadRefusal::Error { error, log_start: None })),
            Self::Watch { .. } | Self::Unwatch => return None,
            Self::FindOffset(_) => PartitionAnswer::Offset(Err(error)),
            Self::EpochEnd { .. } => PartitionAnswer::EpochEnd(Err(error)),
            Self::DeleteRecords { .. } => PartitionAnswer::DeleteRecords(Err(error)),
            Self::Size => PartitionAnswer::Size(None),
            Self::Producers => PartitionAnswer::Producers(Err(error)),
            Self::Move { .. } => PartitionAnswer::Move(Err(ErrorCode::ReplicaNotAvailable)),
        })
    }
}
