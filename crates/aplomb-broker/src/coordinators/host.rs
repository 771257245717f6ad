//! The coordinators of one kind on a shard: one for each partition of their topic that it owns.
//!
//! Each is a [`Runtime`], which knows neither its partition nor who asks. Here are its tickets, and
//! its log: it is loaded in pieces, one a turn, by the same reads that serve consumers, and what it
//! writes goes the way of any batch.
//!
//! What always holds: a ticket is its asker's until it is answered or cancelled; one piece of a log
//! is asked for at a time; what is answered to a coordinator that was loaded anew since is dropped.

use std::collections::{BTreeMap, BTreeSet};

use aplomb_coordinator::runtime::{self, Effect, Machine, MarkerWish, Runtime, Ticket};
use aplomb_model::{Instant, LeaderEpoch, Offset};

use super::effect::CoordinatorEffect;
use super::kind::{Coordinator, CoordinatorKind};
use super::loading::{Loaded, Loading};
use super::table::Table;
use crate::calls::{
    Answer, AppendRefusal, Appended, Asker, CoordinatorPart, OwnBatch, PartitionKey, ReadRecords, ReadRefusal,
};
use crate::errands::Errands;
use crate::ports::{Event, Now, Severity, Throttle};
use crate::view::View;

/// What the broker itself asks a coordinator in a wake, at most: clients are served in between.
const OWN_A_WAKE: usize = 256;

/// Coordinators of one kind.
pub(super) struct Host<K: CoordinatorKind> {
    table: Table<K>,
    pub(super) kind: K,
    unanswered: Unanswered,
    next_number: u64,
    /// Lines about clients that write to the coordinators' logs.
    overtaken: Throttle,
    is_stopping: bool,
    pub(super) effects: Errands<CoordinatorEffect>,
}

/// What coordinators have been asked and have not answered, and what they have written and are not
/// answered.
#[derive(Default)]
struct Unanswered {
    /// Who has asked, and where. Few are under way at a time, and a look at few costs little.
    tickets: BTreeMap<Ticket, (Asker, PartitionKey)>,
    by_asker: BTreeMap<Asker, Ticket>,
    next_ticket: u64,
    /// Batches that its partition has not answered yet.
    writes: BTreeSet<(PartitionKey, Asker)>,
}

impl<K: CoordinatorKind> Host<K> {
    pub(super) fn new(kind: K) -> Self {
        Self {
            table: Table::new(),
            kind,
            unanswered: Unanswered::default(),
            next_number: 0,
            overtaken: Throttle::default(),
            is_stopping: false,
            effects: Errands::new(),
        }
    }

    /// Whether the partition has a coordinator of this kind.
    pub(super) fn has(&self, key: PartitionKey) -> bool {
        self.table.get(key).is_some()
    }

    /// The coordinators, to be looked at or changed.
    pub(super) fn parts(&mut self) -> (&mut Table<K>, &mut K, &mut Errands<CoordinatorEffect>) {
        (&mut self.table, &mut self.kind, &mut self.effects)
    }

    /// A partition is led by this broker, in this epoch: if it is one of the topic's it has a
    /// coordinator, which begins to load. Of an epoch that is not newer nothing is new.
    pub(super) fn elect(
        &mut self,
        key: PartitionKey,
        epoch: LeaderEpoch,
        log_start: Offset,
        view: &View,
        now: Now,
    ) {
        let is_ours = view.image().topics.by_id(key.topic).is_some_and(|topic| &*topic.name == K::TOPIC);
        let is_newer = self.table.get(key).is_none_or(|old| old.epoch < epoch);
        if is_ours && is_newer && !self.is_stopping {
            self.begin(key, epoch, log_start, view, now);
        }
    }

    /// A coordinator begins, in place of the one that there may be.
    fn begin(&mut self, key: PartitionKey, epoch: LeaderEpoch, log_start: Offset, view: &View, now: Now) {
        self.resign(key);
        let number = self.next_number;
        self.next_number += 1;
        let (machine, beside) = self.kind.begin(now.instant);
        let runtime = Runtime::new(machine, epoch, K::settings(view));
        self.table.insert(key, Coordinator::new(number, epoch, runtime, Loading::new(log_start), beside));
        self.observe(key, now);
    }

    /// A partition is led no longer, or is gone.
    pub(super) fn resign(&mut self, key: PartitionKey) {
        let Some(mut coordinator) = self.table.remove(key) else { return }; // it has none
        coordinator.runtime.resign();
        self.unanswered.take_over(key, &mut coordinator, &mut self.effects);
        self.kind.on_gone(key, coordinator.beside, &mut self.effects);
        for (_, asker) in self.unanswered.writes.extract_if(.., |(of, _)| *of == key) {
            self.effects.push(CoordinatorEffect::Cancel(asker, key));
        }
    }

    /// The broker stops: clients that wait are told to look elsewhere.
    pub(super) fn begin_stop(&mut self) {
        self.is_stopping = true;
        self.table.keys().into_iter().for_each(|key| self.resign(key));
        assert!(self.unanswered.tickets.is_empty(), "all are answered");
        assert!(self.unanswered.writes.is_empty(), "nothing of theirs waits at a partition");
    }

    /// A client asks the coordinator of a partition that this shard owns. Gives whether there is
    /// one.
    pub(super) fn ask(
        &mut self,
        asker: Asker,
        key: PartitionKey,
        ask: <K::Machine as Machine>::Ask,
        view: &View,
        now: Now,
    ) -> bool {
        if !self.has(key) {
            return false;
        }
        self.run(key, view, now, |runtime, unanswered, now, world, random| {
            runtime.on_ask(unanswered.ticket(asker, key), ask, now, world, random);
        });
        true
    }

    /// The end of a transaction is to be written into the log of a coordinator that is there.
    pub(super) fn mark(
        &mut self,
        asker: Asker,
        key: PartitionKey,
        marker: MarkerWish,
        view: &View,
        now: Now,
    ) {
        self.run(key, view, now, |runtime, unanswered, now, _, _| {
            runtime.on_marker(unanswered.ticket(asker, key), marker, now);
        });
    }

    /// The asker waits no longer.
    pub(super) fn cancel(&mut self, asker: Asker) {
        let Unanswered { tickets, by_asker, .. } = &mut self.unanswered;
        let Some(ticket) = by_asker.remove(&asker) else { return }; // asked no coordinator
        let (_, key) = tickets.remove(&ticket).expect("both tables agree");
        if let Some(coordinator) = self.table.get_mut(key) {
            coordinator.runtime.cancel(ticket);
        }
    }

    /// The partition has kept a batch, or not.
    pub(super) fn on_append(
        &mut self,
        key: PartitionKey,
        (of_number, number): (u64, u64),
        answer: Result<Appended, AppendRefusal>,
        view: &View,
        now: Now,
    ) {
        self.unanswered
            .writes
            .remove(&(key, Asker::Coordinator(key, CoordinatorPart::Write(of_number, number))));
        let Some(coordinator) = self.numbered(key, of_number) else { return }; // it has resigned
        if answer.as_ref().is_err_and(|refusal| refusal.is_overtaken) {
            let epoch = coordinator.epoch;
            let text = format!(
                "{}-{} was written to by a client: its {} are loaded again",
                K::TOPIC,
                key.partition,
                K::WHAT
            );
            if let Some(text) = self.overtaken.admit(now.instant, text) {
                let event = Event { severity: Severity::Warn, room: K::ROOM, text };
                self.effects.push(CoordinatorEffect::Event(event));
            }
            return self.begin(key, epoch, Offset::ZERO, view, now);
        }
        let answer = answer.map(|appended| appended.base).map_err(|refusal| refusal.error);
        self.run(key, view, now, |runtime, _, now, world, random| {
            runtime.on_answer(number, answer, now, world, random);
        });
    }

    /// The coordinator of a partition, if it is the one with this number.
    pub(super) fn numbered(&mut self, key: PartitionKey, number: u64) -> Option<&mut Coordinator<K>> {
        self.table.get_mut(key).filter(|coordinator| coordinator.number == number)
    }

    /// A piece of a log has come, or cannot be read.
    pub(super) fn on_piece(
        &mut self,
        key: PartitionKey,
        of_number: u64,
        piece: Result<ReadRecords, ReadRefusal>,
        view: &View,
        now: Now,
    ) {
        let Some(coordinator) = self.numbered(key, of_number) else { return }; // it has resigned
        let loading = coordinator.loading.as_mut().expect("a piece comes while it is loading");
        match loading.take(piece, &mut coordinator.runtime) {
            Loaded::Part => self.observe(key, now),
            Loaded::Whole(end) => {
                coordinator.loading = None;
                coordinator.loaded_end = end;
                self.run(key, view, now, |runtime, _, now, world, random| {
                    runtime.on_loaded(end, now, world, random);
                });
            }
            Loaded::Failed(why) => {
                coordinator.loading = None;
                coordinator.runtime.fail();
                let text = format!("{} of {}-{} cannot be loaded: {why}", K::WHAT, K::TOPIC, key.partition);
                let event = Event { severity: Severity::Error, room: K::ROOM, text };
                self.effects.push(CoordinatorEffect::Event(event));
                self.observe(key, now);
                self.unanswered.take_over(key, self.table.change(key), &mut self.effects);
            }
        }
    }

    /// When [`Self::on_wake`] has something to do.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.table.wake_at()
    }

    /// That time has come.
    pub(super) fn on_wake(&mut self, view: &View, now: Now) {
        for key in self.table.due(now.instant) {
            let coordinator = self.table.change(key);
            if let Some(loading) = coordinator.loading.as_mut().filter(|loading| loading.wants_more()) {
                let asker = Asker::Coordinator(key, CoordinatorPart::Load(coordinator.number));
                self.effects.push(CoordinatorEffect::Read(asker, key, loading.ask()));
                continue;
            }
            if coordinator.runtime.wake_at().is_some_and(|at| at <= now.instant) {
                self.run(key, view, now, |runtime, _, now, world, random| {
                    runtime.on_wake(now, world, random);
                });
            }
            for _ in 0..OWN_A_WAKE {
                let Some(ask) = self.table.change(key).next_own() else { break };
                self.run(key, view, now, |runtime, unanswered, now, world, random| {
                    runtime.on_ask(unanswered.own_ticket(), ask, now, world, random);
                });
            }
        }
    }

    /// A coordinator may be another than it was.
    fn observe(&mut self, key: PartitionKey, now: Now) {
        let coordinator = self.table.change(key);
        self.kind.on_change(key, coordinator, now, &mut self.effects);
    }

    /// The shard's turn is over.
    pub(super) fn settle(&mut self) {
        let Self { table, kind, .. } = self;
        table.settle(|key, coordinator| kind.on_settled(key, coordinator));
    }

    /// No more is asked in this turn: what was written goes to the logs.
    pub(super) fn end_turn(&mut self) {
        let Self { table, unanswered, effects, .. } = self;
        table.each_touched(|key, coordinator| {
            coordinator.runtime.end_turn();
            unanswered.take_over(key, coordinator, effects);
        });
    }

    /// Has a coordinator do something, and takes over what it wants done.
    fn run(
        &mut self,
        key: PartitionKey,
        view: &View,
        now: Now,
        does: impl FnOnce(
            &mut Runtime<K::Machine>,
            &mut Unanswered,
            runtime::Now,
            &<K::Machine as Machine>::World,
            &mut dyn FnMut() -> [u8; 16],
        ),
    ) {
        let Self { table, kind, unanswered, effects, .. } = self;
        let coordinator = table.change(key);
        let seen = kind.see(view);
        let clocks = runtime::Now { instant: now.instant, wall: now.wall };
        does(&mut coordinator.runtime, unanswered, clocks, K::world(&seen), &mut || kind.random());
        kind.on_change(key, coordinator, now, effects);
        unanswered.take_over(key, coordinator, effects);
    }
}

impl Unanswered {
    fn ticket(&mut self, asker: Asker, key: PartitionKey) -> Ticket {
        let ticket = self.own_ticket();
        self.tickets.insert(ticket, (asker, key));
        let before = self.by_asker.insert(asker, ticket);
        assert!(before.is_none(), "an asker asks one thing at a time");
        ticket
    }

    /// A ticket of the broker itself, which waits for nothing.
    fn own_ticket(&mut self) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        ticket
    }

    /// Takes over what a coordinator wants done.
    fn take_over<K: CoordinatorKind>(
        &mut self,
        key: PartitionKey,
        coordinator: &mut Coordinator<K>,
        effects: &mut Errands<CoordinatorEffect>,
    ) {
        let (of, known_end) = (coordinator.number, coordinator.loaded_end);
        for effect in coordinator.runtime.take_effects() {
            let effect = match effect {
                Effect::Append { number, batch } => {
                    let asker = Asker::Coordinator(key, CoordinatorPart::Write(of, number));
                    self.writes.insert((key, asker));
                    CoordinatorEffect::Append(asker, key, OwnBatch { batch, promise: None, known_end })
                }
                Effect::Answer(ticket, reply) => {
                    // Asked by the broker itself, which waits for nothing.
                    let Some(asker) = self.answered(ticket) else { continue };
                    CoordinatorEffect::Answer(asker, K::answer(reply))
                }
                Effect::Marked(ticket, marked) => {
                    let Some(asker) = self.answered(ticket) else { continue }; // waits no longer
                    CoordinatorEffect::Answer(asker, Answer::Marked(marked))
                }
                Effect::Event(event) => {
                    let severity = if event.is_warning { Severity::Warn } else { Severity::Info };
                    CoordinatorEffect::Event(Event { severity, room: K::ROOM, text: event.text })
                }
            };
            effects.push(effect);
        }
    }

    fn answered(&mut self, ticket: Ticket) -> Option<Asker> {
        let (asker, _) = self.tickets.remove(&ticket)?;
        self.by_asker.remove(&asker);
        Some(asker)
    }
}
