//! One event loop's worth of broker. A pure state machine.
//!
//! A [`Shard`] routes what comes in to the room that it is for, and what a room wants to where it
//! belongs. It holds no rule of its own. The rooms, and what each owns:
//!
//! - the [`Desk`]: requests, from the frame to the reply;
//! - [`Partitions`]: the logs, and who waits at them;
//! - [`Replicas`]: which partitions there are, as the metadata image says;
//! - [`Storage`]: the shard's side of its disks;
//! - the [`Coordinators`] of groups, where partitions of `__consumer_offsets` are;
//! - the [`Head`], on shard 0: the controller, and the metadata log's way in;
//! - [`Stop`]: how far the end has come.
//!
//! What comes in during a turn of the loop is taken in at once (`on_…`), and [`Shard::settle`]
//! carries out what the rooms want until they want nothing. Nothing here waits.

mod message;
mod owned;
mod patient;
mod post;
mod seed;
mod settings;
mod shown;
mod stop;

use std::sync::Arc;

use aplomb_disk_api::{Completion, DiskError, Done};
use aplomb_model::Instant;

pub use self::message::{Output, ShardMessage};
use self::owned::Owned;
use self::patient::Patient;
use self::post::{Local, Post};
pub(crate) use self::seed::{DiskSeed, PartitionSeed, ShardSeed};
use self::stop::{Rooms, Stop};
use crate::calls::{Answer, AppendCall, Asker, OwnBatch, PartitionKey};
use crate::coordinators::Coordinators;
use crate::desk::{Desk, DeskEffect, Surroundings};
use crate::figures::{Notes, ShardFigures};
use crate::head::{Head, HeadEffect, HeadMessage};
use crate::limits::Limits;
use crate::metadata::{Delta, MetadataImage};
use crate::operation::{PartitionCall, is_long};
use crate::partition::{Effects, Partitions};
use crate::ports::{ConnectionId, Event, Now, Request, Severity, ShardId};
use crate::replicas::{Hosting, Replicas};
use crate::storage::{Storage, StorageEffect, StorageMessage};
use crate::view::{HEAD, View};

/// One shard.
pub struct Shard {
    view: View,
    desk: Desk,
    partitions: Partitions,
    replicas: Replicas,
    storage: Storage,
    head: Option<Box<Head>>,
    stop: Stop,
    figures: Arc<ShardFigures>,
    notes: Notes,
    limits: Limits,
    fx: Effects,
    post: Post,
    patient: Patient,
    coordinators: Coordinators,
}

impl Shard {
    /// What others may see of this shard, for as long as they like.
    #[must_use]
    pub fn figures(&self) -> Arc<ShardFigures> {
        self.figures.clone()
    }

    /// Whether fetches may have to wait for memory that replies hold.
    #[must_use]
    pub fn is_short_of_memory(&self) -> bool {
        self.storage.is_short_of_memory()
    }

    /// A client asks.
    pub fn on_request(&mut self, request: Request, now: Now) {
        if self.patient.has_of(request.id.connection) {
            return self.patient.push(request);
        }
        self.begin(request, now);
    }

    fn begin(&mut self, request: Request, now: Now) {
        let Self { view, storage, head, .. } = self;
        self.desk.on_request(request, Surroundings { view, storage, head: head.as_deref_mut(), now });
        self.carry_out(now);
    }

    /// Another shard speaks.
    pub fn on_message(&mut self, from: ShardId, message: ShardMessage, now: Now) {
        self.stop.check(from, &message);
        match message {
            ShardMessage::Request(request) if is_long(&request) => self.patient.push(request),
            ShardMessage::Request(request) => return self.on_request(request, now),
            ShardMessage::ConnectionClosed(connection) => {
                self.patient.on_connection_closed(connection);
                self.desk.on_connection_closed(connection, &self.storage, now);
            }
            ShardMessage::Calls { op, calls } if from == HEAD => self.patient.extend(op, calls),
            ShardMessage::Calls { op, calls } => calls
                .into_iter()
                .for_each(|(slot, key, call)| self.call(Asker::Client(op, slot), key, call, now)),
            ShardMessage::Asks(all) => {
                all.into_iter().for_each(|(by, key, ask)| self.call(by, key, ask, now))
            }
            ShardMessage::Told(all) => all.into_iter().for_each(|(to, answer)| self.answer(to, answer, now)),
            ShardMessage::Answers { op, answers } => {
                for (slot, answer) in answers {
                    self.desk.on_answer(op.number, slot, answer, &self.storage, now);
                }
            }
            ShardMessage::Woken { op, slot } => self.desk.on_woken(op.number, slot, &self.storage, now),
            ShardMessage::Image { image, delta, generation } => {
                self.apply(image, &delta, now);
                self.post.send(from, ShardMessage::ImageApplied { generation });
            }
            ShardMessage::ImageApplied { generation } => self.on_applied(from, generation),
            ShardMessage::Drained => self.stop.on_drained(from),
            message @ (ShardMessage::Head(_)
            | ShardMessage::Storage(_)
            | ShardMessage::NameFree { .. }
            | ShardMessage::Closed { .. }) => self.on_message_of_any(from, message, now),
        }
        self.carry_out(now);
    }

    /// A disk has ended a command.
    pub fn on_completion(&mut self, completion: Completion, now: Now) {
        let Self { view, partitions, storage, figures, fx, .. } = self;
        storage.on_completion(completion, view, partitions, figures, now, fx);
        self.carry_out(now);
    }

    /// A connection is gone.
    pub fn on_connection_closed(&mut self, connection: ConnectionId, now: Now) {
        self.patient.on_connection_closed(connection);
        self.desk.on_connection_closed(connection, &self.storage, now);
        self.carry_out(now);
    }

    /// Whether what this shard says to others waits, since a mailbox is full. What takes long waits
    /// with it.
    pub fn set_congested(&mut self, is_congested: bool) {
        self.patient.hold(is_congested);
    }

    /// When [`Self::on_wake`] has something to do.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        let head = self.head.as_ref().and_then(|head| head.wake_at());
        let rooms = [self.desk.wake_at(), self.partitions.wake_at(), self.storage.wake_at(), head];
        let others = [self.coordinators.wake_at(), self.patient.wake_at()];
        Instant::earliest(&[Instant::earliest(&rooms), Instant::earliest(&others)])
    }

    /// That time has come.
    pub fn on_wake(&mut self, now: Now) {
        if let Some(request) = self.patient.take_request(now.instant) {
            let connection = request.id.connection;
            self.begin(request, now);
            self.patient.on_begun(connection);
        }
        for (asker, key, call) in self.patient.take_calls() {
            self.call(asker, key, call, now);
        }
        self.desk.on_wake(&self.storage, now);
        self.partitions.check_on(now, &mut self.fx);
        if self.partitions.retry_starved(now, &mut self.fx) {
            for other in self.view.others() {
                self.post.send(other, ShardMessage::Storage(StorageMessage::GiveBack));
            }
        }
        self.storage.on_wake(&self.view, &mut self.partitions, now, &mut self.fx);
        self.coordinators.on_wake(&self.view, now);
        self.head.iter_mut().for_each(|head| head.on_wake(now));
        self.carry_out(now);
    }

    /// No client asks any more. What was asked is answered, and everything closed.
    pub fn begin_stop(&mut self, now: Now) {
        self.coordinators.begin_stop();
        let (stop, rooms) = self.stopping(now);
        stop.begin(rooms);
        self.carry_out(now);
    }

    /// Whether all is closed, here and, for shard 0, everywhere.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_done()
    }

    /// Whether records are in memory that their files do not have: of a disk that is lost. The tail
    /// has to outlive the process then.
    #[must_use]
    pub fn needs_tail(&self) -> bool {
        self.partitions.iter().any(|partition| partition.log().durable_end() < partition.log().end())
    }

    fn stopping(&mut self, now: Now) -> (&mut Stop, Rooms<'_>) {
        let Self { view, desk, patient, head, replicas, partitions, storage, stop, fx, post, .. } = self;
        let head = head.as_deref_mut();
        (stop, Rooms { view, desk, patient, head, replicas, partitions, storage, fx, post, now })
    }

    /// The turn is over: what is left of it goes out.
    pub fn settle(&mut self, now: Now, out: &mut Vec<Output>) {
        loop {
            let Self { view, partitions, storage, fx, .. } = self;
            storage.poll(view, partitions, now, fx);
            self.carry_out(now);
            self.coordinators.end_turn(&self.view, now);
            self.carry_out(now);
            self.storage.end_turn(&mut self.partitions, now);
            let (stop, rooms) = self.stopping(now);
            if !stop.go_on(rooms) {
                break;
            }
            self.carry_out(now);
        }
        self.post.hand_over(out);
        self.desk.show(&self.figures);
        self.figures.set_checking(self.partitions.checking());
        self.notes.hand_over(&self.figures);
        self.coordinators.settle(&self.figures);
    }

    /// Carries out what the rooms want, until they want nothing.
    fn carry_out(&mut self, now: Now) {
        loop {
            if !self.fx.is_empty() {
                self.carry_out_effects(now);
            }
            while let Some(effect) = self.desk.next_effect() {
                self.carry_out_desks(effect, now);
            }
            self.carry_out_heads(now);
            self.storage.take_effects().into_iter().for_each(|effect| self.carry_out_storages(effect, now));
            let (mut owned, post) = self.owned(now);
            owned.carry_out_coordinators(post);
            match self.post.take_local() {
                Some(Local::Message(message)) => self.on_message_of_any(self.view.me(), message, now),
                Some(Local::Answer(op, slot, answer)) => {
                    self.desk.on_answer(op.number, slot, answer, &self.storage, now);
                }
                Some(Local::Woken(op, slot)) => self.desk.on_woken(op.number, slot, &self.storage, now),
                None if self.is_quiet() => return,
                None => {}
            }
        }
    }

    /// Whether no room wants anything.
    fn is_quiet(&self) -> bool {
        self.fx.is_empty()
            && self.desk.is_quiet()
            && self.storage.is_quiet()
            && self.coordinators.is_quiet()
            && self.head.as_ref().is_none_or(|head| head.is_quiet())
    }

    /// What a shard says to itself as to any other.
    fn on_message_of_any(&mut self, from: ShardId, message: ShardMessage, now: Now) {
        match message {
            ShardMessage::Storage(message) => {
                let Self { view, partitions, storage, fx, .. } = self;
                storage.on_message(message, view, partitions, now, fx);
            }
            ShardMessage::Head(message) => {
                let head = self.head.as_mut().expect("it is said to the shard with the controller");
                head.on_message(message, &self.view, self.storage.disks(), now);
            }
            ShardMessage::NameFree { key, name } => {
                self.replicas.on_name_free(key, &name, &mut self.partitions, &mut self.fx);
            }
            ShardMessage::Closed { clean } => self.stop.on_closed(from, clean),
            other => unreachable!("a shard does not say {other:?} to itself"),
        }
    }

    fn carry_out_desks(&mut self, effect: DeskEffect, now: Now) {
        match effect {
            DeskEffect::Call { op, slot, key, call } if self.view.owns(key) => {
                self.call(Asker::Client(op, slot), key, call, now);
            }
            DeskEffect::Call { op, slot, key, call } => {
                self.post.call(key.owner(self.view.shards()), op, slot, key, call);
            }
            DeskEffect::Reply(id, reply) => self.post.push(Output::Reply { id, reply }),
            DeskEffect::Forward(request) => self.post.send(HEAD, ShardMessage::Request(request)),
            DeskEffect::ForwardClosed(connection) => {
                self.post.send(HEAD, ShardMessage::ConnectionClosed(connection));
            }
            DeskEffect::Again(request, at) => self.patient.push_again(request, at),
            DeskEffect::Head(message) => self.post.send(HEAD, ShardMessage::Head(message)),
            DeskEffect::CancelAtHead(asker) => {
                let head = self.head.as_mut().expect("what waits for the controller is where it is");
                head.cancel(asker);
            }
            DeskEffect::Event(event) => self.post.push(Output::Event(event)),
        }
    }

    /// Asks a partition that this shard owns.
    fn call(&mut self, asker: Asker, key: PartitionKey, call: PartitionCall, now: Now) {
        self.owned(now).0.call(asker, key, call);
    }

    fn owned(&mut self, now: Now) -> (Owned<'_>, &mut Post) {
        let Self { view, replicas, partitions, coordinators, storage, fx, post, .. } = self;
        (Owned { view, replicas, partitions, coordinators, storage, fx, now }, post)
    }

    /// Carries out what partitions want.
    fn carry_out_effects(&mut self, now: Now) {
        let mut fx = std::mem::take(&mut self.fx);
        for key in fx.dirty.drain(..) {
            // A partition may have been deleted since it said so; the same below.
            if let Some(partition) = self.partitions.get(key) {
                self.storage.on_dirty(partition, now);
            }
        }
        for (disk, bytes) in fx.appended.drain(..) {
            self.storage.on_appended(disk, bytes);
        }
        for key in fx.hurried.drain(..) {
            if let Some(partition) = self.partitions.get(key) {
                self.storage.hurry(partition.disk(), now);
            }
        }
        for key in fx.starved.drain(..) {
            self.partitions.on_starved(key, now.instant);
        }
        for (key, segment, position) in fx.damaged.drain(..) {
            if let Some(partition) = self.partitions.get(key) {
                self.storage.on_damage(partition, segment, position);
            }
        }
        for key in fx.trimmed.drain(..) {
            if let Some(partition) = self.partitions.get(key) {
                self.storage.on_trimmed(partition);
            }
        }
        self.owned(now).0.move_coordinators(&mut fx.resigned, &mut fx.elected);
        for (key, asker) in fx.checking.drain(..) {
            self.partitions.on_checking(key, asker, now.instant);
        }
        self.figures.count_decompressed(std::mem::take(&mut fx.decompressed));
        for hit in fx.limits.drain(..) {
            let line = self.limits.on_hit(hit, &self.figures, now.instant);
            line.into_iter().for_each(|event| self.post.push(Output::Event(event)));
        }
        for (asker, answer) in fx.answers.drain(..) {
            self.answer(asker, answer, now);
        }
        for asker in fx.woken.drain(..) {
            let Asker::Client(op, slot) = asker else { unreachable!("{asker:?} watches nothing") };
            self.post.wake(op, slot);
        }
        let cold = std::mem::take(&mut fx.cold);
        self.fx = fx; // its empty vectors keep their room
        for wish in cold {
            if let Some(partition) = self.partitions.get_mut(wish.key) {
                self.storage.begin_cold(wish, partition, now, &mut self.fx);
            }
        }
    }

    fn answer(&mut self, asker: Asker, answer: Answer, now: Now) {
        match (asker, answer) {
            (Asker::Client(op, slot), answer) => self.post.answer(op, slot, answer),
            (Asker::Head(number), Answer::Append(answer)) => {
                let head = self.head.as_mut().expect("the controller asked, so it is here");
                head.on_answer(number, answer);
            }
            (Asker::Coordinator(key, part), answer) if self.view.owns(key) => {
                self.coordinators.on_answer(key, part, answer, &self.view, now);
            }
            (Asker::Coordinator(key, _), answer) => {
                self.post.tell(key.owner(self.view.shards()), asker, answer);
            }
            (Asker::Head(_), other) => unreachable!("the controller appends, and is answered {other:?}"),
        }
    }

    fn carry_out_heads(&mut self, now: Now) {
        let Some(head) = &mut self.head else { return }; // the controller is elsewhere
        head.publish(&self.view);
        for effect in head.take_effects() {
            match effect {
                HeadEffect::Append { number, batch } => {
                    let call = PartitionCall::append(AppendCall::Own(OwnBatch::of_controller(batch)));
                    self.call(Asker::Head(number), PartitionKey::METADATA, call, now);
                }
                HeadEffect::Publish { image, delta, generation } => {
                    for to in self.view.others() {
                        let (image, delta) = (image.clone(), delta.clone());
                        self.post.send(to, ShardMessage::Image { image, delta, generation });
                    }
                    self.apply(image, &delta, now);
                    self.on_applied(self.view.me(), generation);
                    if let (Some(head), Some(metadata)) =
                        (&mut self.head, self.partitions.get(PartitionKey::METADATA))
                    {
                        head.consider_snapshot(&self.view, metadata, now);
                    }
                }
                HeadEffect::Answer(asker, answer) => self.answer(asker, answer, now),
                HeadEffect::Submit(command, purpose) => {
                    if let Some(metadata) = self.partitions.get(PartitionKey::METADATA) {
                        self.storage.submit(metadata.disk(), command, purpose, now);
                    }
                }
                HeadEffect::Event(event) => self.post.push(Output::Event(event)),
            }
        }
    }

    fn on_applied(&mut self, from: ShardId, generation: u64) {
        let head = self.head.as_mut().expect("images come from the controller");
        head.on_applied(from, generation);
    }

    fn carry_out_storages(&mut self, effect: StorageEffect, now: Now) {
        match effect {
            StorageEffect::Tell(to, message) => self.post.send(to, ShardMessage::Storage(message)),
            StorageEffect::NameFree(key, name) => {
                for to in (0..self.view.shards()).map(ShardId) {
                    self.post.send(to, ShardMessage::NameFree { key, name: name.clone() });
                }
            }
            StorageEffect::Lost { disk, why, first } => {
                self.figures.lose(usize::from(disk.0));
                for to in self.view.others().filter(|_| first) {
                    let message = StorageMessage::DirectoryLost { disk, why: why.clone() };
                    self.post.send(to, ShardMessage::Storage(message));
                }
                if self.view.me() == HEAD {
                    let directory = self.storage.disks().get(disk).directory();
                    self.post.send(HEAD, ShardMessage::Head(HeadMessage::DirectoryLost(directory)));
                }
            }
            StorageEffect::Assign(found) => {
                self.post.send(HEAD, ShardMessage::Head(HeadMessage::Assign(found)));
            }
            StorageEffect::Loaded { job, result } => self.on_load(job, result, now),
            StorageEffect::SnapshotWritten(written) => {
                let metadata = self.partitions.get_mut(PartitionKey::METADATA);
                if let (Some(head), Some(metadata)) = (&mut self.head, metadata) {
                    head.on_snapshot(written, metadata);
                    self.storage.look_at(metadata);
                }
            }
            StorageEffect::MarkerEnded => self.stop.on_marker(),
            StorageEffect::Event(event) => self.post.push(Output::Event(event)),
        }
    }

    fn on_load(&mut self, job: u64, result: Result<Done, DiskError>, now: Now) {
        let Self { view, partitions, replicas, storage, notes, fx, .. } = self;
        let hosting = Hosting { view, partitions, storage, notes, now, fx };
        match replicas.on_load(job, result, hosting) {
            Ok(remarks) => {
                remarks.into_iter().for_each(|text| self.warn("broker/load", text));
                self.figures.set_loading(self.replicas.loading(), self.replicas.noted());
            }
            Err(error) => self.figures.fail(error.to_string()),
        }
    }

    fn warn(&mut self, room: &'static str, text: String) {
        self.post.push(Output::Event(Event { severity: Severity::Warn, room, text }));
    }

    /// Takes a new image, and makes the partitions of this shard what it says.
    fn apply(&mut self, image: Arc<MetadataImage>, delta: &Delta, now: Now) {
        self.view.set_image(image);
        if delta.broker_configs
            && let Err(text) = settings::change(&mut self.view, self.head.as_deref(), &mut self.post)
        {
            self.warn("broker/config", text);
        }
        let outputs = Output::of_image(&self.view, delta, self.head.is_some());
        outputs.for_each(|output| self.post.push(output));
        let Self { view, partitions, replicas, storage, notes, fx, .. } = self;
        replicas.apply(delta, Hosting { view, partitions, storage, notes, now, fx });
        self.coordinators.on_metadata(delta);
        if self.head.is_some() {
            shown::show_cluster(&self.view, &self.figures);
        }
    }
}
