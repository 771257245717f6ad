//! A coordinator with a log that keeps or refuses what it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::batch::Batches;
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset, ProducerId, Timestamp};
use bytes::Bytes;

use crate::runtime::{Effect, Now, Runtime, Stage, Ticket, WriteSettings};
use crate::txn::{
    Add, ClientVersion, Decided, Described, End, Incarnation, Init, Transactions, TxnAsk, TxnFilter,
    TxnPartitions, TxnReply, TxnSettings, TxnState, TxnWorld,
};

pub(super) const TIMEOUT: i32 = 60_000;
pub(super) const SECOND: Duration = Duration::from_secs(1);
/// 2026-01-01.
const WALL: i64 = 1_767_225_600_000;

pub(super) type Produced = Result<(i64, i16), ErrorCode>;

#[derive(Debug)]
struct Settings {
    settings: TxnSettings,
    version: i16,
    has_room: bool,
}

impl TxnWorld for Settings {
    fn settings(&self) -> &TxnSettings {
        &self.settings
    }

    fn version(&self) -> i16 {
        self.version
    }

    fn has_room(&self) -> bool {
        self.has_room
    }
}

#[derive(Debug)]
pub(super) struct Lab {
    runtime: Runtime<Transactions>,
    world: Settings,
    now: Now,
    next_ticket: u64,
    next_producer: i64,
    /// Batches that the log has not answered for.
    asked: Vec<(u64, Bytes)>,
    log: Vec<Bytes>,
    end: Offset,
    answers: BTreeMap<Ticket, Result<TxnReply, ErrorCode>>,
    /// Whether the log answers by itself.
    pub(super) keeps: bool,
    pub(super) decided: Vec<Decided>,
}

pub(super) fn of(id: &str, (producer_id, epoch): (i64, i16)) -> Incarnation {
    Incarnation { id: id.into(), producer_id, epoch }
}

pub(super) fn added(
    id: &str,
    producer: (i64, i16),
    partitions: TxnPartitions,
    version: i16,
    waits: bool,
) -> Add {
    Add { of: of(id, producer), partitions, version: ClientVersion(version), waits }
}

pub(super) fn topic(name: &str, partitions: &[i32]) -> TxnPartitions {
    TxnPartitions::from([(Arc::from(name), partitions.iter().copied().collect::<BTreeSet<i32>>())])
}

fn runtime() -> Runtime<Transactions> {
    let settings = WriteSettings {
        linger: None,
        patience: Duration::from_secs(5),
        batch_bytes: 1 << 20,
        pending_bytes: 8 << 20,
        compression: Default::default(),
    };
    Runtime::new(Transactions::new(), LeaderEpoch::new(1), settings)
}

impl Lab {
    pub(super) fn new(version: i16) -> Self {
        let settings = TxnSettings {
            max_timeout: Duration::from_secs(900),
            expiration: Duration::from_secs(7 * 24 * 3600),
            expiry_interval: Duration::from_secs(3600),
        };
        let mut lab = Self {
            runtime: runtime(),
            world: Settings { settings, version, has_room: true },
            now: Now { instant: Instant::START, wall: Timestamp(WALL) },
            next_ticket: 0,
            next_producer: 1000,
            asked: Vec::new(),
            log: Vec::new(),
            end: Offset::ZERO,
            answers: BTreeMap::new(),
            keeps: true,
            decided: Vec::new(),
        };
        lab.load();
        lab
    }

    /// Whether there is memory for more.
    pub(super) fn set_room(&mut self, has_room: bool) {
        self.world.has_room = has_room;
    }

    /// What the coordinator's ids take in memory.
    pub(super) fn bytes(&self) -> usize {
        self.runtime.machine().bytes()
    }

    /// The coordinator is another, which has what the log has kept. What was asked is not answered.
    pub(super) fn reload(&mut self) {
        self.runtime = runtime();
        self.asked.clear();
        self.answers.clear();
        self.decided.clear();
        self.load();
    }

    /// The log has lost some of its newest batches, as `is_lost` says, and another coordinator
    /// loads it.
    pub(super) fn lose(&mut self, newest: usize, mut is_lost: impl FnMut() -> bool) {
        let safe = self.log.len().saturating_sub(newest);
        let kept = self.log.drain(safe..).filter(|_| !is_lost()).collect::<Vec<_>>();
        self.log.extend(kept);
        self.reload();
    }

    fn load(&mut self) {
        for batch in &self.log {
            self.runtime.load(&[batch]).expect("what was written can be read");
        }
        self.runtime.on_loaded(self.end, self.now, &self.world, &mut || [7; 16]);
        self.settle();
        while self.runtime.stage() == Stage::Loading {
            self.wake();
        }
    }

    /// Time passes, deadline by deadline.
    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now.instant + time;
        while let Some(at) = self.runtime.wake_at().filter(|at| *at <= until) {
            self.advance_to(at.max(self.now.instant));
            self.wake();
        }
        self.advance_to(until);
    }

    fn advance_to(&mut self, at: Instant) {
        self.now.instant = at;
        self.now.wall = Timestamp(WALL + at.since(Instant::START).as_millis() as i64);
    }

    fn wake(&mut self) {
        self.runtime.on_wake(self.now, &self.world, &mut || [7; 16]);
        self.settle();
    }

    /// The turn ends, and the log answers, if it does by itself.
    fn settle(&mut self) {
        self.runtime.end_turn();
        loop {
            for effect in self.runtime.take_effects() {
                match effect {
                    Effect::Append { number, batch } => self.asked.push((number, batch)),
                    Effect::Answer(ticket, answer) => {
                        let before = self.answers.insert(ticket, answer);
                        assert!(before.is_none(), "a ticket is answered once");
                    }
                    Effect::Marked(ticket, _) => panic!("{ticket:?} marks nothing"),
                    Effect::Event(_) => {}
                }
            }
            let news = self.runtime.take_news();
            self.decided.extend(news.decided);
            if news.lacks_id {
                self.give_id();
                continue;
            }
            if !self.keeps || self.asked.is_empty() {
                return;
            }
            self.keep_one();
        }
    }

    fn keep_one(&mut self) {
        let (number, batch) = self.asked.remove(0);
        let header = Batches::new(&batch).next().expect("a batch").header;
        assert_eq!(header.base_offset(), self.end, "it is written where the log ends");
        self.end = Offset::new(header.last_offset().get() + 1);
        self.log.push(batch);
        self.runtime.on_answer(number, Ok(header.base_offset()), self.now, &self.world, &mut || [7; 16]);
        self.runtime.end_turn();
    }

    /// The log keeps all that it was asked to.
    pub(super) fn keep(&mut self) {
        let keeps = std::mem::replace(&mut self.keeps, true);
        self.settle();
        self.keeps = keeps;
    }

    /// The log refuses all that it was asked to keep.
    pub(super) fn refuse(&mut self) {
        for (number, _) in std::mem::take(&mut self.asked) {
            let refused = Err(ErrorCode::NotEnoughReplicas);
            self.runtime.on_answer(number, refused, self.now, &self.world, &mut || [7; 16]);
        }
        self.settle();
    }

    pub(super) fn has_asked_its_log(&self) -> bool {
        !self.asked.is_empty()
    }

    pub(super) fn log_of(&self) -> usize {
        self.log.len()
    }

    /// Asks, and gives who is answered.
    pub(super) fn send(&mut self, ask: TxnAsk) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.runtime.on_ask(ticket, ask, self.now, &self.world, &mut || [7; 16]);
        self.settle();
        ticket
    }

    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Result<TxnReply, ErrorCode>> {
        self.answers.remove(&ticket)
    }

    fn ask(&mut self, ask: TxnAsk) -> Result<TxnReply, ErrorCode> {
        let ticket = self.send(ask);
        self.take(ticket).expect("it is answered at once")
    }

    /// Gives a producer id that was never given.
    fn give_id(&mut self) {
        self.next_producer += 1;
        let id = ProducerId::from_wire(self.next_producer).expect("an id");
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let ask = TxnAsk::FreshId(Ok(id));
        self.runtime.on_ask(ticket, ask, self.now, &self.world, &mut || [7; 16]);
        self.runtime.end_turn();
    }

    pub(super) fn init(&mut self, id: &str) -> Produced {
        self.init_as(id, None)
    }

    pub(super) fn init_as(&mut self, id: &str, expected: Option<(i64, i16)>) -> Produced {
        produced(self.ask(TxnAsk::Init(Init { id: id.into(), timeout: TIMEOUT, expected })))
    }

    pub(super) fn init_within(&mut self, id: &str, timeout: i32) -> Produced {
        produced(self.ask(TxnAsk::Init(Init { id: id.into(), timeout, expected: None })))
    }

    pub(super) fn end(&mut self, id: &str, producer: (i64, i16), is_commit: bool, version: i16) -> Produced {
        let (of, version) = (of(id, producer), ClientVersion(version));
        produced(self.ask(TxnAsk::End(End { of, is_commit, version })))
    }

    pub(super) fn add(
        &mut self,
        id: &str,
        producer: (i64, i16),
        partitions: TxnPartitions,
        version: i16,
    ) -> ErrorCode {
        done(self.ask(TxnAsk::Add(added(id, producer, partitions, version, false))))
    }

    pub(super) fn verify(
        &mut self,
        id: &str,
        producer: (i64, i16),
        partitions: TxnPartitions,
    ) -> Result<TxnPartitions, ErrorCode> {
        match self.ask(TxnAsk::Verify(of(id, producer), partitions)) {
            Ok(TxnReply::Verified(verified)) => verified,
            other => panic!("a question for partitions is answered {other:?}"),
        }
    }

    /// All partitions have the markers of what was decided.
    pub(super) fn mark(&mut self) -> Vec<Decided> {
        let decided = std::mem::take(&mut self.decided);
        for each in &decided {
            self.send(TxnAsk::Marked(each.of.clone()));
        }
        decided
    }

    pub(super) fn describe(&mut self, id: &str) -> Option<Described> {
        match self.ask(TxnAsk::Describe(id.to_owned())) {
            Ok(TxnReply::Described(described)) => described,
            other => panic!("a description is answered {other:?}"),
        }
    }

    pub(super) fn state(&mut self, id: &str) -> Option<TxnState> {
        self.describe(id).map(|described| described.state)
    }

    pub(super) fn list(&mut self, filter: TxnFilter) -> Vec<String> {
        let ticket = self.send(TxnAsk::List(Arc::new(filter)));
        self.pass(SECOND);
        match self.take(ticket) {
            Some(Ok(TxnReply::Listed(listed))) => {
                listed.into_iter().map(|each| each.id.to_string()).collect()
            }
            other => panic!("a list is answered {other:?}"),
        }
    }
}

pub(super) fn produced(reply: Result<TxnReply, ErrorCode>) -> Produced {
    match reply {
        Ok(TxnReply::Producer(producer)) => producer.map(|(id, epoch)| (id.to_wire(), epoch)),
        Err(error) => Err(error),
        other => panic!("a producer is answered {other:?}"),
    }
}

pub(super) fn done(reply: Result<TxnReply, ErrorCode>) -> ErrorCode {
    match reply {
        Ok(TxnReply::Done(code)) | Err(code) => code,
        other => panic!("it is done, and answered {other:?}"),
    }
}
