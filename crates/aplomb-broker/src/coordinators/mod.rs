//! The group coordinators of a shard: one for each partition of `__consumer_offsets` that it owns.
//!
//! Each is a [`Runtime`], which knows neither its partition nor who asks. Here are its tickets, and
//! its log: it is loaded in pieces, one a turn, by the same reads that serve consumers, and what it
//! writes goes the way of any batch.
//!
//! What others see of them is kept as they change ([`observation`]): how many groups there are of
//! what ([`totals`]), and some of them one by one ([`shown`]), within a bound that all shards share
//! ([`bound`]).
//!
//! What always holds: a ticket is its asker's until it is answered or cancelled; one piece of a log
//! is asked for at a time; what is answered to a coordinator that was loaded anew since is dropped.

mod bound;
mod loading;
mod observation;
mod shown;
mod table;
mod totals;
mod world;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aplomb_coordinator::group::{GroupAsk, GroupReply, Groups, World};
use aplomb_coordinator::runtime::{self, Effect, Runtime, Stage, Ticket, WriteSettings};
use aplomb_model::{Instant, LeaderEpoch, Offset, TopicId};

pub(crate) use self::bound::ShownBound;
use self::loading::{Loaded, Loading};
use self::observation::{Observation, Observed};
use self::table::Table;
use self::world::GroupWorld;
use crate::calls::{
    Answer, AppendRefusal, Appended, Asker, CoordinatorPart, OwnBatch, PartitionKey, ReadCall, ReadRecords,
    ReadRefusal,
};
use crate::figures::ShardFigures;
use crate::metadata::Delta;
use crate::ports::{Chance, Event, Now, Severity, Throttle};
use crate::view::View;

/// The topic whose partitions are coordinators.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Bytes of a coordinator's that may wait for its log.
const PENDING_BYTES: usize = 8 << 20;

/// What a coordinator wants done.
#[derive(Debug)]
pub(crate) enum CoordinatorEffect {
    /// Append a batch to its partition.
    Append(Asker, PartitionKey, OwnBatch),
    /// Wait for a batch no longer.
    Cancel(Asker, PartitionKey),
    /// Read a piece of its partition.
    Read(Asker, PartitionKey, ReadCall),
    /// Answer the one that asked.
    Answer(Asker, Answer),
    /// A line for the log.
    Event(Event),
}

#[derive(Debug)]
struct Coordinator {
    /// Which of those that the shard has had.
    number: u64,
    epoch: LeaderEpoch,
    runtime: Runtime<Groups>,
    /// Where its log ended when it was loaded: what lies behind that is its own.
    loaded_end: Offset,
    /// While its log is read.
    loading: Option<Loading>,
    /// Topics that are gone, and that it has not been told of.
    deleted_topics: Vec<(Arc<str>, TopicId)>,
    observed: Observed,
}

impl Coordinator {
    /// Whether topics are gone of which it has not been told, and it can be.
    fn is_to_be_told(&self) -> bool {
        !self.deleted_topics.is_empty() && self.runtime.check_ask().is_ok()
    }

    /// Whether others do not see all of its groups that they can.
    fn is_behind(&self) -> bool {
        Observation::is_behind(&self.observed, &self.runtime)
    }

    /// Whether others do not see all of its groups.
    fn has_unshown(&self) -> bool {
        Observation::has_unshown(&self.observed, &self.runtime)
    }

    /// When it has something to do, if it has not to show groups.
    fn wake_at(&self) -> Option<Instant> {
        match &self.loading {
            Some(loading) => loading.wants_more().then_some(Instant::START),
            None if self.is_to_be_told() => Some(Instant::START),
            None => self.runtime.wake_at(),
        }
    }
}

/// The coordinators of a shard.
pub(crate) struct Coordinators {
    table: Table,
    /// Who has asked, and where.
    tickets: HashMap<Ticket, (Asker, PartitionKey)>,
    by_asker: HashMap<Asker, Ticket>,
    next_ticket: u64,
    next_number: u64,
    /// Batches that its partition has not answered yet.
    writes: HashSet<(PartitionKey, Asker)>,
    observation: Observation,
    /// Lines about clients that write to the coordinators' logs.
    overtaken: Throttle,
    is_stopping: bool,
    random: Chance,
    effects: Vec<CoordinatorEffect>,
}

impl Coordinators {
    pub(crate) fn new(random: Chance, bound: Arc<ShownBound>) -> Self {
        Self {
            table: Table::default(),
            tickets: HashMap::new(),
            by_asker: HashMap::new(),
            next_ticket: 0,
            next_number: 0,
            writes: HashSet::new(),
            observation: Observation::new(bound),
            overtaken: Throttle::default(),
            is_stopping: false,
            random,
            effects: Vec::new(),
        }
    }

    /// Whether nothing is to be done for them.
    pub(crate) fn is_quiet(&self) -> bool {
        self.effects.is_empty()
    }

    /// Takes what others are to do.
    pub(crate) fn take_effects(&mut self) -> Vec<CoordinatorEffect> {
        std::mem::take(&mut self.effects)
    }

    /// A partition is led by this broker, in this epoch: if it is one of the offsets' it has a
    /// coordinator, which begins to load. Of an epoch that is not newer nothing is new.
    pub(crate) fn elect(
        &mut self,
        key: PartitionKey,
        epoch: LeaderEpoch,
        log_start: Offset,
        view: &View,
        now: Now,
    ) {
        let is_offsets =
            view.image().topics.by_id(key.topic).is_some_and(|topic| &*topic.name == OFFSETS_TOPIC);
        let is_newer = self.table.get(key).is_none_or(|old| old.epoch < epoch);
        if is_offsets && is_newer && !self.is_stopping {
            self.begin(key, epoch, log_start, view, now);
        }
    }

    /// A coordinator begins, in place of the one that there may be.
    fn begin(&mut self, key: PartitionKey, epoch: LeaderEpoch, log_start: Offset, view: &View, now: Now) {
        self.resign(key);
        let config = view.config();
        let topic = view.image().topic_config(OFFSETS_TOPIC, config);
        let settings = WriteSettings {
            linger: config.groups.linger,
            patience: config.groups.commit_timeout,
            batch_bytes: usize::try_from(topic.max_message_bytes.0).unwrap_or(usize::MAX),
            pending_bytes: PENDING_BYTES,
            compression: config.groups.compression.into(),
        };
        let number = self.next_number;
        self.next_number += 1;
        let (groups, observed) = self.observation.begin(now.instant);
        let coordinator = Coordinator {
            number,
            epoch,
            runtime: Runtime::new(groups, epoch, settings),
            loaded_end: Offset::ZERO,
            loading: Some(Loading::new(log_start)),
            deleted_topics: Vec::new(),
            observed,
        };
        self.table.insert(key, coordinator);
        self.observe(key, now);
    }

    /// A partition is led no longer, or is gone.
    pub(crate) fn resign(&mut self, key: PartitionKey) {
        let Some(mut coordinator) = self.table.remove(key) else { return }; // it has none
        coordinator.runtime.resign();
        self.observation.resign(coordinator.observed);
        self.take_over(key, coordinator.runtime.take_effects());
        for (_, asker) in self.writes.extract_if(|(of, _)| *of == key) {
            self.effects.push(CoordinatorEffect::Cancel(asker, key));
        }
    }

    /// The broker stops: clients that wait are told to look elsewhere.
    pub(crate) fn begin_stop(&mut self) {
        self.is_stopping = true;
        self.table.keys().into_iter().for_each(|key| self.resign(key));
        assert!(self.tickets.is_empty(), "all are answered");
        assert!(self.writes.is_empty(), "nothing of theirs waits at a partition");
    }

    /// A client asks the coordinator of a partition that this shard owns. Gives whether there is
    /// one.
    pub(crate) fn ask(
        &mut self,
        asker: Asker,
        key: PartitionKey,
        ask: GroupAsk,
        view: &View,
        now: Now,
    ) -> bool {
        if self.table.get(key).is_none() {
            return false;
        }
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets.insert(ticket, (asker, key));
        let before = self.by_asker.insert(asker, ticket);
        assert!(before.is_none(), "an asker asks one thing at a time");
        self.run(key, view, now, |runtime, now, world, random| {
            runtime.on_ask(ticket, ask, now, world, random);
        });
        true
    }

    /// The asker waits no longer.
    pub(crate) fn cancel(&mut self, asker: Asker) {
        let Some(ticket) = self.by_asker.remove(&asker) else { return }; // asked no coordinator
        let (_, key) = self.tickets.remove(&ticket).expect("both tables agree");
        if let Some(coordinator) = self.table.get_mut(key) {
            coordinator.runtime.cancel(ticket);
        }
    }

    /// Metadata has changed: offsets of topics that were deleted are forgotten, by a coordinator
    /// that is loading as soon as it has them all.
    pub(crate) fn on_metadata(&mut self, delta: &Delta) {
        if delta.deleted.is_empty() {
            return;
        }
        let deleted = delta.deleted.values();
        let deleted: Vec<_> = deleted.map(|topic| (topic.name.clone(), topic.id)).collect();
        for key in self.table.keys() {
            let coordinator = self.table.change(key);
            if coordinator.runtime.stage() != Stage::Failed {
                coordinator.deleted_topics.extend_from_slice(&deleted);
            }
        }
    }

    /// The partition answers a coordinator.
    pub(crate) fn on_answer(
        &mut self,
        key: PartitionKey,
        part: CoordinatorPart,
        answer: Answer,
        view: &View,
        now: Now,
    ) {
        match (part, answer) {
            (CoordinatorPart::Write(of_number, number), Answer::Append(answer)) => {
                self.writes.remove(&(key, Asker::Coordinator(key, part)));
                self.on_append(key, of_number, number, answer, view, now);
            }
            (CoordinatorPart::Load(of_number), Answer::Read(piece)) => {
                self.on_piece(key, of_number, piece, view, now);
            }
            // The disk was asked for it.
            (CoordinatorPart::Load(_), Answer::ReadLater(_)) => {}
            (part, other) => unreachable!("{part:?} is answered {other:?}"),
        }
    }

    /// The partition has kept a batch, or not.
    fn on_append(
        &mut self,
        key: PartitionKey,
        of_number: u64,
        number: u64,
        answer: Result<Appended, AppendRefusal>,
        view: &View,
        now: Now,
    ) {
        let coordinator = self.table.get(key);
        let Some(coordinator) = coordinator.filter(|coordinator| coordinator.number == of_number) else {
            return; // it has resigned
        };
        if answer.as_ref().is_err_and(|refusal| refusal.is_overtaken) {
            let text = format!(
                "{OFFSETS_TOPIC}-{} was written to by a client: its groups are loaded again",
                key.partition
            );
            let epoch = coordinator.epoch;
            if let Some(text) = self.overtaken.admit(now.instant, text) {
                let event = Event { severity: Severity::Warn, room: "broker/groups", text };
                self.effects.push(CoordinatorEffect::Event(event));
            }
            return self.begin(key, epoch, Offset::ZERO, view, now);
        }
        let answer = answer.map(|appended| appended.base).map_err(|refusal| refusal.error);
        self.run(key, view, now, |runtime, now, world, random| {
            runtime.on_answer(number, answer, now, world, random);
        });
    }

    /// A piece of a log has come, or cannot be read.
    fn on_piece(
        &mut self,
        key: PartitionKey,
        of_number: u64,
        piece: Result<ReadRecords, ReadRefusal>,
        view: &View,
        now: Now,
    ) {
        let coordinator = self.table.get_mut(key);
        let Some(coordinator) = coordinator.filter(|coordinator| coordinator.number == of_number) else {
            return; // it has resigned
        };
        let loading = coordinator.loading.as_mut().expect("a piece comes while it is loading");
        match loading.take(piece, &mut coordinator.runtime) {
            Loaded::Part => self.observe(key, now),
            Loaded::Whole(end) => {
                coordinator.loading = None;
                coordinator.loaded_end = end;
                self.run(key, view, now, |runtime, now, world, random| {
                    runtime.on_loaded(end, now, world, random);
                });
            }
            Loaded::Failed(why) => {
                coordinator.loading = None;
                coordinator.runtime.fail();
                let effects = coordinator.runtime.take_effects();
                let text = format!("groups of {OFFSETS_TOPIC}-{} cannot be loaded: {why}", key.partition);
                let event = Event { severity: Severity::Error, room: "broker/groups", text };
                self.effects.push(CoordinatorEffect::Event(event));
                self.observe(key, now);
                self.take_over(key, effects);
            }
        }
    }

    /// When [`Self::on_wake`] has something to do.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        self.table.wake_at()
    }

    /// That time has come.
    pub(crate) fn on_wake(&mut self, view: &View, now: Now) {
        for key in self.table.due(now.instant) {
            let coordinator = self.table.change(key);
            if let Some(loading) = coordinator.loading.as_mut().filter(|loading| loading.wants_more()) {
                let asker = Asker::Coordinator(key, CoordinatorPart::Load(coordinator.number));
                self.effects.push(CoordinatorEffect::Read(asker, key, loading.ask()));
                continue;
            }
            if coordinator.runtime.wake_at().is_some_and(|at| at <= now.instant) {
                self.run(key, view, now, |runtime, now, world, random| runtime.on_wake(now, world, random));
            }
            self.tell_of_deleted_topics(key, view, now);
        }
        self.go_on_showing();
    }

    fn tell_of_deleted_topics(&mut self, key: PartitionKey, view: &View, now: Now) {
        let coordinator = self.table.change(key);
        if !coordinator.is_to_be_told() {
            return;
        }
        let ask = GroupAsk::TopicsDeleted(std::mem::take(&mut coordinator.deleted_topics));
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.run(key, view, now, |runtime, now, world, random| {
            runtime.on_ask(ticket, ask, now, world, random);
        });
    }

    /// Shows groups that others do not see yet: a piece of those of one coordinator, each in its
    /// turn.
    fn go_on_showing(&mut self) {
        if let Some(key) = self.table.next_behind() {
            let coordinator = self.table.change(key);
            self.observation.catch_up(&mut coordinator.observed, &coordinator.runtime);
        }
    }

    /// A coordinator may be another than it was.
    fn observe(&mut self, key: PartitionKey, now: Now) {
        let coordinator = self.table.change(key);
        self.observation.update(&mut coordinator.observed, &mut coordinator.runtime, now.instant);
    }

    /// The shard's turn is over: lets others see what they have.
    pub(crate) fn settle(&mut self, figures: &ShardFigures) {
        self.table.settle();
        self.observation.show(figures);
    }

    /// No more is asked in this turn: what was written goes to the logs.
    pub(crate) fn end_turn(&mut self) {
        for key in self.table.touched() {
            let coordinator = self.table.change(key);
            coordinator.runtime.end_turn();
            let effects = coordinator.runtime.take_effects();
            self.take_over(key, effects);
        }
    }

    /// Has a coordinator do something, and takes over what it wants done.
    fn run(
        &mut self,
        key: PartitionKey,
        view: &View,
        now: Now,
        does: impl FnOnce(
            &mut Runtime<Groups>,
            runtime::Now,
            &(dyn World + 'static),
            &mut dyn FnMut() -> [u8; 16],
        ),
    ) {
        let room = usize::try_from(view.config().groups.memory.0).unwrap_or(usize::MAX);
        let has_room = self.observation.bytes() < room / usize::from(view.shards() - 1);
        let world = GroupWorld { view: view.clone(), has_room };
        let coordinator = self.table.change(key);
        let clocks = runtime::Now { instant: now.instant, wall: now.wall };
        does(&mut coordinator.runtime, clocks, &world, &mut self.random);
        let effects = coordinator.runtime.take_effects();
        self.observe(key, now);
        self.take_over(key, effects);
    }

    fn take_over(&mut self, key: PartitionKey, effects: Vec<Effect<GroupReply>>) {
        for effect in effects {
            let effect = match effect {
                Effect::Append { number, batch } => {
                    let coordinator = self.table.get(key).expect("who has resigned writes nothing");
                    let asker = Asker::Coordinator(key, CoordinatorPart::Write(coordinator.number, number));
                    self.writes.insert((key, asker));
                    let own = OwnBatch { batch, promise: None, known_end: coordinator.loaded_end };
                    CoordinatorEffect::Append(asker, key, own)
                }
                Effect::Answer(ticket, reply) => {
                    // Asked by the broker itself, which waits for nothing.
                    let Some((asker, _)) = self.tickets.remove(&ticket) else { continue };
                    self.by_asker.remove(&asker);
                    CoordinatorEffect::Answer(asker, Answer::Coordinated(reply.map(Box::new)))
                }
                Effect::Event(event) => {
                    let severity = if event.is_warning { Severity::Warn } else { Severity::Info };
                    CoordinatorEffect::Event(Event { severity, room: "broker/groups", text: event.text })
                }
            };
            self.effects.push(effect);
        }
    }
}
