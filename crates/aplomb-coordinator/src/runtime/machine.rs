//! What a coordinator is to the runtime: records that change its state, and questions that it
//! answers by writing some.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, ProducerEpoch, ProducerId, Timers, Timestamp, Uuid};
use aplomb_protocol::{DecodeError, EncodeError};
use bytes::Bytes;

/// The shortest time that a deadline is away.
const SOON: Duration = Duration::from_micros(1);

/// Who asked, by a number that the host gives and never gives again. Each is answered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Now, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For deadlines.
    pub instant: Instant,
    /// For what is written down.
    pub wall: Timestamp,
}

/// A line for the broker's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Something that an operator may have to look at; otherwise it is worth knowing.
    pub is_warning: bool,
    /// What happened.
    pub text: String,
}

/// A coordinator's state, and what changes it.
///
/// The state that lives in the log is a map: each record sets the value of its key, or takes the
/// key out. Whatever else a machine remembers (members that wait, what it has indexed) follows from
/// that or may be lost with the process.
pub trait Machine: Debug {
    /// What is asked of it.
    type Ask: Debug;
    /// What it answers.
    type Reply: Debug;
    /// A key with its value, or without one.
    type Record: Clone + Debug + PartialEq;
    /// A deadline's name.
    type Timer: Clone + Debug + Ord + Hash;
    /// What is to be remembered about a write until it is kept or refused.
    type After: Debug;
    /// What it may look at: settings, topics.
    type World: ?Sized;
    /// What it tells its host of what has changed.
    type News: Debug;

    /// A record's key and value in bytes.
    ///
    /// # Errors
    /// When a field is too large for its format.
    fn encode(record: &Self::Record) -> Result<(Bytes, Option<Bytes>), EncodeError>;

    /// The record that these bytes are. `Ok(None)`: of a type that only later versions know.
    ///
    /// # Errors
    /// When they are none. The log is not loaded then.
    fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<Self::Record>, DecodeError>;

    /// Applies a record, and gives the one that takes it back: the same key with the value that it
    /// had. Must take whatever compaction leaves: a tombstone of what is not there, a part before
    /// the whole. `producer`: whose transaction it is in.
    fn replay(&mut self, record: Self::Record, producer: Option<ProducerId>) -> Self::Record;

    /// A transaction of this producer has ended: the log says so, or has just kept that.
    fn replay_marker(&mut self, producer: ProducerId, is_committed: bool);

    /// All of the log has been replayed: what follows from it is done, or a part of that. Gives
    /// whether that was the last part; nothing is asked before.
    fn on_loaded(&mut self, turn: &mut Turn<'_, Self>) -> bool;

    /// A client asks. Sooner or later the ticket is answered.
    fn on_ask(&mut self, ticket: Ticket, ask: Self::Ask, turn: &mut Turn<'_, Self>);

    /// The ticket needs no answer any more.
    fn on_cancelled(&mut self, ticket: Ticket);

    /// A deadline has come, and is set no longer.
    fn on_timer(&mut self, timer: Self::Timer, turn: &mut Turn<'_, Self>);

    /// What was written with this is kept (`Ok`), or never was: what was applied has been taken
    /// back already (`Err`).
    fn on_written(&mut self, after: Self::After, written: Result<(), ErrorCode>, turn: &mut Turn<'_, Self>);

    /// Some records were taken back, last first: deadlines may have to be set anew for what they
    /// are about.
    fn on_taken_back(&mut self, records: &[Self::Record], turn: &mut Turn<'_, Self>);

    /// What has changed since this was asked last, for others to see. Its state stays as it is.
    fn take_news(&mut self) -> Self::News;
}

/// One turn of a machine: what it is told, and what it wants done. The records of a turn are in the
/// log together or not at all.
#[derive(Debug)]
pub struct Turn<'a, M: Machine + ?Sized> {
    /// When it began, by both clocks.
    pub now: Now,
    /// What it may look at.
    pub world: &'a M::World,
    random: Random<'a>,
    timers: &'a mut Timers<M::Timer>,
    /// Producers whose markers are on their way to the log.
    ending: &'a HashSet<ProducerId>,
    pub(super) out: Outcome<M>,
}

/// Random bytes.
struct Random<'a>(&'a mut dyn FnMut() -> [u8; 16]);

impl Debug for Random<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Random")
    }
}

/// What a turn has brought.
#[derive(Debug)]
pub(super) struct Outcome<M: Machine + ?Sized> {
    /// Records, with those that take them back where they are applied already.
    pub(super) records: Vec<(M::Record, Option<M::Record>)>,
    /// In whose transaction they are.
    pub(super) producer: Option<(ProducerId, ProducerEpoch)>,
    /// How many records there were at the end of each unit but the last.
    pub(super) parted: Vec<usize>,
    /// Answers that hold when all that has been written until now is kept.
    pub(super) answers: Vec<(Ticket, M::Reply)>,
    /// Answers that hold in any case.
    pub(super) at_once: Vec<(Ticket, Result<M::Reply, ErrorCode>)>,
    pub(super) after: Vec<M::After>,
    pub(super) events: Vec<Event>,
}

impl<M: Machine + ?Sized> Outcome<M> {
    fn new() -> Self {
        Self {
            records: Vec::new(),
            producer: None,
            parted: Vec::new(),
            answers: Vec::new(),
            at_once: Vec::new(),
            after: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<'a, M: Machine + ?Sized> Turn<'a, M> {
    pub(super) fn new(
        now: Now,
        world: &'a M::World,
        random: &'a mut dyn FnMut() -> [u8; 16],
        timers: &'a mut Timers<M::Timer>,
        ending: &'a HashSet<ProducerId>,
    ) -> Self {
        Self { now, world, random: Random(random), timers, ending, out: Outcome::new() }
    }

    /// What this turn writes is part of this producer's transaction: a batch of its own.
    pub fn in_transaction(&mut self, producer: ProducerId, epoch: ProducerEpoch) {
        self.out.producer = Some((producer, epoch));
    }

    /// Whether the end of this producer's transaction is on its way to the log: what is written in
    /// its name now would lie behind it.
    #[must_use]
    pub fn is_ending(&self, producer: ProducerId) -> bool {
        self.ending.contains(&producer)
    }

    /// Writes a record that is applied already, with the one that takes it back
    /// ([`Machine::replay`] gives it).
    pub fn write(&mut self, record: M::Record, undo: M::Record) {
        self.out.records.push((record, Some(undo)));
    }

    /// Writes a record that says what is so in memory; if it is refused, [`Machine::on_written`]
    /// has to see to it.
    pub fn note(&mut self, record: M::Record) {
        self.out.records.push((record, None));
    }

    /// What has been written until here need not be in the log together with what comes: of much
    /// that is to go each piece can.
    pub fn end_unit(&mut self) {
        let written = self.out.records.len();
        if written > self.out.parted.last().copied().unwrap_or(0) {
            self.out.parted.push(written);
        }
    }

    /// Whether something has been written in this turn.
    #[must_use]
    pub fn has_written(&self) -> bool {
        !self.out.records.is_empty()
    }

    /// Answers when all that has been written until the end of this turn is kept; with an error, if
    /// it is not.
    pub fn answer(&mut self, ticket: Ticket, reply: M::Reply) {
        self.out.answers.push((ticket, reply));
    }

    /// Answers whatever becomes of what is written.
    pub fn answer_at_once(&mut self, ticket: Ticket, reply: M::Reply) {
        self.out.at_once.push((ticket, Ok(reply)));
    }

    /// Answers by a code alone, whatever becomes of what is written.
    pub fn refuse(&mut self, ticket: Ticket, error: ErrorCode) {
        self.out.at_once.push((ticket, Err(error)));
    }

    /// Has [`Machine::on_written`] called when what this turn writes is kept or refused.
    pub fn then(&mut self, after: M::After) {
        self.out.after.push(after);
    }

    /// Sets a deadline, in place of the one of this name. One of no time comes in the next wake,
    /// not in this one: others are served before.
    pub fn set_timer(&mut self, timer: M::Timer, after: Duration) {
        self.timers.set(timer, self.now.instant + after.max(SOON));
    }

    /// Takes a deadline out, if it is there.
    pub fn cancel_timer(&mut self, timer: &M::Timer) {
        self.timers.cancel(timer);
    }

    /// Whether such a deadline is set.
    #[must_use]
    pub fn has_timer(&self, timer: &M::Timer) -> bool {
        self.timers.has(timer)
    }

    /// A line for the log, worth knowing.
    pub fn say(&mut self, text: String) {
        self.out.events.push(Event { is_warning: false, text });
    }

    /// A line for the log that an operator may have to look at.
    pub fn warn(&mut self, text: String) {
        self.out.events.push(Event { is_warning: true, text });
    }

    /// A random id.
    pub fn random_id(&mut self) -> Uuid {
        loop {
            if let Some(id) = Uuid::from_random((self.random.0)()) {
                return id;
            }
        }
    }
}
