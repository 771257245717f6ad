//! The life of a coordinator: loading, active, failed, and what it has written.
//!
//! A turn of the machine is validated, applied to memory and put into the open batch at once. The
//! batch goes to the log when the host's turn ends, or when it has lingered; answers wait until
//! the log has kept its promise. When the log refuses a batch, all that was applied since is taken
//! back, last first: it never was.
//!
//! What always holds: memory is what the log holds, with what is on its way there; a ticket is
//! answered once; an answer that depends on a write is not given before the write is kept.

mod batch;
mod host;
mod load;
mod machine;
mod writes;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;
use std::vec::Drain;

use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timers};
use rustc_hash::FxHashSet;

use self::batch::OpenBatch;
pub use self::host::{Effect, MarkerWish, Stage, WriteSettings};
pub use self::load::LoadError;
use self::machine::Outcome;
pub use self::machine::{Event, Machine, Now, Ticket, Turn};
use self::writes::{Marker, Unit, Writes};

/// So many deadlines are seen to in a wake: when those of a million members come at once, other
/// clients are served in between.
const TIMERS_A_WAKE: usize = 256;

/// So many effects keep their room. When a large group is answered there are more, once.
const EFFECTS_KEPT: usize = 64;

/// A coordinator and what it waits for.
#[derive(Debug)]
pub struct Runtime<M: Machine> {
    machine: M,
    stage: Stage,
    /// Whether all of the log is replayed.
    is_loaded: bool,
    epoch: LeaderEpoch,
    settings: WriteSettings,
    timers: Timers<M::Timer>,
    open: OpenBatch<M>,
    writes: Writes<M>,
    /// Who has asked and is not answered yet.
    asked: FxHashSet<Ticket>,
    /// Who waits for a write, and until when. The first is in `asked`.
    patience: VecDeque<(Instant, Ticket)>,
    /// Producers whose markers are on their way to the log.
    ending: HashSet<ProducerId>,
    effects: Vec<Effect<M::Reply>>,
}

impl<M: Machine> Runtime<M> {
    /// A coordinator that is to read its log: what it holds goes to [`Self::load`].
    pub fn new(machine: M, epoch: LeaderEpoch, settings: WriteSettings) -> Self {
        Self {
            machine,
            stage: Stage::Loading,
            is_loaded: false,
            epoch,
            settings,
            timers: Timers::default(),
            open: OpenBatch::new(),
            writes: Writes::new(Offset::ZERO),
            asked: FxHashSet::default(),
            patience: VecDeque::new(),
            ending: HashSet::new(),
            effects: Vec::new(),
        }
    }

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The machine, to look at.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// What has changed in the machine since this was asked last.
    pub fn take_news(&mut self) -> M::News {
        self.machine.take_news()
    }

    /// Takes what the host is to do.
    pub fn take_effects(&mut self) -> Drain<'_, Effect<M::Reply>> {
        if self.effects.len() <= EFFECTS_KEPT {
            self.effects.shrink_to(EFFECTS_KEPT);
        }
        self.effects.drain(..)
    }

    /// Whether nothing is to be done, written or waited for.
    pub fn is_idle(&self) -> bool {
        self.effects.is_empty() && self.open.is_empty() && self.writes.is_empty()
    }

    /// When [`Self::on_wake`] has something to do.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.stage == Stage::Loading {
            return self.is_loaded.then_some(Instant::START); // at once
        }
        // Without a linger time what is written goes to the log when the host's turn is over.
        let linger = self.settings.linger.unwrap_or_default();
        let linger = self.open.since().map(|since| since + linger);
        let impatient = self.patience.front().map(|(at, _)| *at);
        Instant::earliest(&[self.timers.wake_at(), impatient, linger])
    }

    /// Replays whole batches of the log, in their order; a batch may lie in several of the slices.
    /// Gives the offset after the last one.
    ///
    /// # Errors
    /// When one cannot be read: the coordinator has failed then.
    pub fn load(&mut self, slices: &[&[u8]]) -> Result<Option<Offset>, LoadError> {
        assert_eq!(self.stage, Stage::Loading, "what is loaded is loading");
        let loaded = load::replay(&mut self.machine, slices);
        if loaded.is_err() {
            self.fail();
        }
        loaded
    }

    /// All of the log, which ends at `end`, has been replayed: questions are answered from here on.
    pub fn on_loaded(
        &mut self,
        end: Offset,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
    ) {
        assert_eq!(self.stage, Stage::Loading, "it is loaded once");
        assert!(!self.is_loaded, "its end comes once");
        self.is_loaded = true;
        self.writes = Writes::new(end);
        self.become_active(now, world, random);
    }

    /// The machine does what follows from its log, or a part of it.
    fn become_active(&mut self, now: Now, world: &M::World, random: &mut dyn FnMut() -> [u8; 16]) {
        let mut is_all = false;
        self.turn(now, world, random, |machine, turn| is_all = machine.on_loaded(turn));
        if is_all {
            self.stage = Stage::Active;
        }
    }

    /// The log cannot be read.
    pub fn fail(&mut self) {
        self.stage = Stage::Failed;
        self.give_up();
    }

    /// This broker leads the log no longer, or the process ends: tickets that wait are told
    /// to look elsewhere.
    pub fn resign(&mut self) {
        self.stage = Stage::Over;
        self.give_up();
    }

    fn give_up(&mut self) {
        self.timers.clear();
        self.open.take();
        self.writes.clear();
        self.ending.clear();
        self.patience.clear();
        let mut waiting: Vec<Ticket> = self.asked.drain().collect();
        waiting.sort_unstable();
        let gone = |ticket| Effect::Answer(ticket, Err(ErrorCode::NotCoordinator));
        self.effects.extend(waiting.into_iter().map(gone));
    }

    /// Whether it answers.
    ///
    /// # Errors
    /// What clients are told when it does not.
    pub fn check_ask(&self) -> Result<(), ErrorCode> {
        match self.stage {
            Stage::Loading => Err(ErrorCode::CoordinatorLoadInProgress),
            Stage::Failed | Stage::Over => Err(ErrorCode::NotCoordinator),
            // Its log takes nothing: what is asked now would be refused in the end.
            Stage::Active if self.writes.bytes() > self.settings.pending_bytes => {
                Err(ErrorCode::CoordinatorNotAvailable)
            }
            Stage::Active => Ok(()),
        }
    }

    /// A client asks, who is answered by this ticket.
    pub fn on_ask(
        &mut self,
        ticket: Ticket,
        ask: M::Ask,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
    ) {
        if let Err(error) = self.check_ask() {
            return self.effects.push(Effect::Answer(ticket, Err(error)));
        }
        assert!(self.asked.insert(ticket), "a ticket is given once");
        self.turn(now, world, random, |machine, turn| machine.on_ask(ticket, ask, turn));
    }

    /// The end of a transaction is to be written behind all that was written before it. It is told
    /// whether it is kept.
    pub fn on_marker(&mut self, ticket: Ticket, marker: MarkerWish, now: Now) {
        let is_under_way = self.ending.contains(&marker.producer);
        let refused = if is_under_way { Err(ErrorCode::CoordinatorNotAvailable) } else { self.check_ask() };
        if let Err(error) = refused {
            return self.effects.push(Effect::Marked(ticket, Err(error)));
        }
        assert!(self.asked.insert(ticket), "a ticket is given once");
        self.flush();
        self.ending.insert(marker.producer);
        let (producer, is_committed) = ((marker.producer, marker.epoch), marker.end.committed);
        let batch = marker.end.to_batch(self.writes.end(), self.epoch, producer, now.wall);
        let marker = Some(Marker { ticket, producer: marker.producer, is_committed });
        let unit = Unit { undo: Vec::new(), answers: Vec::new(), after: Vec::new(), marker };
        let number = self.writes.push(1, batch.len(), vec![unit]);
        self.effects.push(Effect::Append { number, batch });
    }

    /// The ticket is not waited for any longer. What was asked may be done all the same.
    pub fn cancel(&mut self, ticket: Ticket) {
        if self.asked.remove(&ticket) {
            self.machine.on_cancelled(ticket);
        }
        self.forget_answered();
    }

    /// Time has come.
    pub fn on_wake(&mut self, now: Now, world: &M::World, random: &mut dyn FnMut() -> [u8; 16]) {
        if self.stage == Stage::Loading {
            assert!(self.is_loaded, "it wakes when its log is replayed");
            return self.become_active(now, world, random);
        }
        while let Some((_, ticket)) = self.patience.pop_front_if(|(at, _)| *at <= now.instant) {
            self.answer(ticket, Err(client_error(ErrorCode::RequestTimedOut)));
        }
        for _ in 0..TIMERS_A_WAKE {
            let Some(timer) = self.timers.pop_due(now.instant) else { break };
            self.turn(now, world, random, |machine, turn| machine.on_timer(timer, turn));
        }
        let has_lingered = |linger| self.open.since().is_some_and(|since| since + linger <= now.instant);
        if self.settings.linger.is_some_and(has_lingered) {
            self.flush();
        }
    }

    /// The host's turn is over: nothing more comes at once.
    pub fn end_turn(&mut self) {
        if self.settings.linger.is_none() {
            self.flush();
        }
    }

    /// The log has kept a batch, or does not take it.
    pub fn on_answer(
        &mut self,
        number: u64,
        answer: Result<Offset, ErrorCode>,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
    ) {
        match answer {
            Ok(base) => {
                // Given up before: one that it was written behind was refused.
                let Some(kept) = self.writes.on_kept(number) else { return };
                assert_eq!(kept.base, base, "a log keeps a batch where it was written for, or not at all");
                for unit in kept.units {
                    if let Some(marker) = unit.marker {
                        self.machine.replay_marker(marker.producer, marker.is_committed);
                        self.end_marker(marker, Ok(()));
                    }
                    for (ticket, reply) in unit.answers {
                        self.answer(ticket, Ok(reply));
                    }
                    for after in unit.after {
                        self.turn(now, world, random, |machine, turn| {
                            machine.on_written(after, Ok(()), turn);
                        });
                    }
                }
            }
            Err(error) => {
                let refused = self.writes.on_refused(number);
                if refused.is_empty() {
                    return; // given up before
                }
                let mut units: Vec<Unit<M>> = refused.into_iter().flat_map(|batch| batch.units).collect();
                // What was written behind them, and has not gone out.
                units.extend(self.open.take().units);
                self.take_back(units, error, now, world, random);
            }
        }
    }

    /// What these units did never was.
    fn take_back(
        &mut self,
        units: Vec<Unit<M>>,
        error: ErrorCode,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
    ) {
        let mut taken = Vec::new();
        for undo in units.iter().rev().flat_map(|unit| unit.undo.iter().rev()) {
            self.machine.replay(undo.clone(), None);
            taken.push(undo.clone());
        }
        if !taken.is_empty() {
            self.turn(now, world, random, |machine, turn| machine.on_taken_back(&taken, turn));
        }
        for unit in units {
            if let Some(marker) = unit.marker {
                self.end_marker(marker, Err(error));
            }
            for (ticket, _) in unit.answers {
                self.answer(ticket, Err(client_error(error)));
            }
            for after in unit.after {
                self.turn(now, world, random, |machine, turn| machine.on_written(after, Err(error), turn));
            }
        }
    }

    fn end_marker(&mut self, marker: Marker, kept: Result<(), ErrorCode>) {
        assert!(self.ending.remove(&marker.producer), "a producer has one marker on its way");
        // One that was cancelled is not told.
        if self.asked.remove(&marker.ticket) {
            self.effects.push(Effect::Marked(marker.ticket, kept));
            self.forget_answered();
        }
    }

    /// One turn of the machine, and what it brings.
    fn turn(
        &mut self,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
        does: impl FnOnce(&mut M, &mut Turn<'_, M>),
    ) {
        let mut turn = Turn::new(now, world, random, &mut self.timers, &self.ending);
        does(&mut self.machine, &mut turn);
        let Outcome { records, producer, parted, answers, at_once, after, events } = turn.out;
        self.effects.extend(events.into_iter().map(Effect::Event));
        for (ticket, answer) in at_once {
            self.answer(ticket, answer);
        }
        assert!(producer.is_none() || parted.is_empty(), "what is in a transaction is one unit");
        let mut records = records.into_iter();
        let mut begin = 0;
        for end in parted {
            let unit = records.by_ref().take(end - begin).collect();
            begin = end;
            if let Err(refused) = self.write(unit, None, Vec::new(), Vec::new(), now) {
                // What the turn did behind it was done on the ground of it.
                let undo = records.filter_map(|(_, undo)| undo).collect();
                let units = vec![refused, Unit { undo, answers, after, marker: None }];
                return self.take_back(units, ErrorCode::MessageTooLarge, now, world, random);
            }
        }
        if records.len() == 0 {
            self.answer_behind(answers, after, now, world, random);
        } else if let Err(refused) = self.write(records.collect(), producer, answers, after, now) {
            self.take_back(vec![refused], ErrorCode::MessageTooLarge, now, world, random);
        }
    }

    /// Puts a unit into the open batch. One that no batch can hold comes back; Kafka refuses such
    /// an operation just so.
    fn write(
        &mut self,
        records: Vec<(M::Record, Option<M::Record>)>,
        producer: Option<(ProducerId, ProducerEpoch)>,
        answers: Vec<(Ticket, M::Reply)>,
        after: Vec<M::After>,
        now: Now,
    ) -> Result<(), Unit<M>> {
        let encoded: Result<Vec<_>, _> = records.iter().map(|(record, _)| M::encode(record)).collect();
        let undo = records.into_iter().filter_map(|(_, undo)| undo).collect();
        let unit = Unit { undo, answers, after, marker: None };
        let encoded = match encoded {
            Ok(encoded) if batch::can_hold(self.settings.batch_bytes, &encoded) => encoded,
            _ => return Err(unit),
        };
        if producer.is_some() || !self.open.has_room(self.settings.batch_bytes, &encoded) {
            self.flush();
        }
        self.wait(&unit.answers, now);
        self.open.push(&encoded, unit, now);
        if let Some(producer) = producer {
            self.open.assign(producer);
        }
        if producer.is_some() || self.settings.linger == Some(Duration::ZERO) {
            self.flush();
        }
        Ok(())
    }

    /// Answers that go with no record of their own wait for what was written before them.
    fn answer_behind(
        &mut self,
        answers: Vec<(Ticket, M::Reply)>,
        after: Vec<M::After>,
        now: Now,
        world: &M::World,
        random: &mut dyn FnMut() -> [u8; 16],
    ) {
        if !self.open.is_empty() || !self.writes.is_empty() {
            self.wait(&answers, now);
        }
        if let Some(last) = self.open.last().or_else(|| self.writes.last()) {
            last.answers.extend(answers);
            last.after.extend(after);
            return;
        }
        for (ticket, reply) in answers {
            self.answer(ticket, Ok(reply));
        }
        for after in after {
            self.turn(now, world, random, |machine, turn| machine.on_written(after, Ok(()), turn));
        }
    }

    /// The open batch goes to the log.
    fn flush(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let open = self.open.take();
        let batch = open.build(self.writes.end(), self.epoch, self.settings.compression);
        let number = self.writes.push(open.count(), batch.len(), open.units);
        self.effects.push(Effect::Append { number, batch });
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<M::Reply, ErrorCode>) {
        // One that was cancelled is not answered.
        if self.asked.remove(&ticket) {
            self.effects.push(Effect::Answer(ticket, answer));
            self.forget_answered();
        }
    }

    /// These wait for a write from now on.
    fn wait(&mut self, answers: &[(Ticket, M::Reply)], now: Now) {
        let until = now.instant + self.settings.patience;
        let waiting = answers.iter().map(|(ticket, _)| *ticket).filter(|ticket| self.asked.contains(ticket));
        self.patience.extend(waiting.map(|ticket| (until, ticket)));
    }

    fn forget_answered(&mut self) {
        while self.patience.pop_front_if(|(_, ticket)| !self.asked.contains(ticket)).is_some() {}
    }
}

/// What a client is told when its coordinator's log does not take a write
/// (`CoordinatorOperationExceptionHelper`).
fn client_error(error: ErrorCode) -> ErrorCode {
    use ErrorCode as E;
    match error {
        E::UnknownTopicOrPartition
        | E::NotEnoughReplicas
        | E::NotEnoughReplicasAfterAppend
        | E::RequestTimedOut => E::CoordinatorNotAvailable,
        E::NotLeaderOrFollower | E::KafkaStorageError => E::NotCoordinator,
        E::MessageTooLarge | E::RecordListTooLarge | E::InvalidFetchSize => E::UnknownServerError,
        other => other,
    }
}

#[cfg(test)]
mod tests;
