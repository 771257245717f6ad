//! A small machine: numbers by name. What it is told it keeps, to be looked at.

use std::collections::BTreeMap;

use super::super::*;
use aplomb_model::batch::{Batches, Compression};
use aplomb_model::{ProducerId, Timestamp};
use aplomb_protocol::{DecodeError, EncodeError};
use bytes::Bytes;

/// A name and its number, or none.
pub(super) type Number = (String, Option<i64>);

#[derive(Clone, Debug)]
pub(super) enum Ask {
    /// Says the number of this name.
    Get(&'static str),
    /// Sets numbers, all or none, and says how many there are then.
    Set(Vec<(&'static str, i64)>),
    /// Sets numbers, each by itself.
    SetEach(Vec<(&'static str, i64)>),
    /// Adds to a number, or takes it out when it gets to nothing, and says what it is.
    Add(&'static str, i64),
    /// Sets a number, and answers without waiting.
    SetAtOnce(&'static str, i64),
    /// Writes down a number that is not in the state, and has itself told what became of it.
    Note(&'static str, i64),
    /// Sets a number in a producer's transaction.
    SetIn(i64, &'static str, i64),
    /// Answers when the timer comes.
    Wait(Duration),
    /// Never answers.
    Park,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) numbers: BTreeMap<String, i64>,
    /// Of transactions that have not ended.
    pub(super) pending: BTreeMap<ProducerId, Vec<Number>>,
    /// What became of notes.
    pub(super) notes: Vec<(i64, Result<(), ErrorCode>)>,
    /// How many parts of what follows from the log are to be done before the last.
    pub(super) parts_left: usize,
    /// Whose answer is not waited for any more.
    pub(super) cancelled: Vec<Ticket>,
    /// What was taken back, in that order.
    pub(super) taken_back: Vec<Number>,
    /// Transactions that have ended.
    pub(super) ended: Vec<(ProducerId, bool)>,
}

impl Counters {
    fn put(&mut self, (name, number): Number) -> Number {
        let before = match number {
            Some(number) => self.numbers.insert(name.clone(), number),
            None => self.numbers.remove(&name),
        };
        (name, before)
    }

    fn write(&mut self, number: Number, turn: &mut Turn<'_, Self>) {
        let undo = self.put(number.clone());
        turn.write(number, undo);
    }
}

impl Machine for Counters {
    type Ask = Ask;
    type Reply = i64;
    type Record = Number;
    type Timer = u64;
    type After = i64;
    type World = ();
    type News = ();

    fn encode((name, number): &Number) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        if name == "unwritable" {
            return Err(EncodeError::UnexpectedNull { message: "Number", field: "name", version: 0 });
        }
        let value = number.map(|number| Bytes::copy_from_slice(&number.to_be_bytes()));
        Ok((Bytes::copy_from_slice(name.as_bytes()), value))
    }

    fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<Number>, DecodeError> {
        let name = String::from_utf8(key.to_vec()).expect("names are text");
        if name.starts_with("later ") {
            return Ok(None);
        }
        let number = |value: Bytes| {
            let wrong = DecodeError::Truncated { wanted: 8, left: value.len() };
            <[u8; 8]>::try_from(&value[..]).map(i64::from_be_bytes).map_err(|_| wrong)
        };
        Ok(Some((name, value.map(number).transpose()?)))
    }

    fn replay(&mut self, record: Number, producer: Option<ProducerId>) -> Number {
        let Some(producer) = producer else { return self.put(record) };
        self.pending.entry(producer).or_default().push(record.clone());
        record
    }

    fn replay_marker(&mut self, producer: ProducerId, is_committed: bool) {
        self.ended.push((producer, is_committed));
        for record in self.pending.remove(&producer).unwrap_or_default() {
            if is_committed {
                self.put(record);
            }
        }
    }

    fn on_loaded(&mut self, turn: &mut Turn<'_, Self>) -> bool {
        if self.parts_left == 0 {
            turn.say(format!("{} numbers", self.numbers.len()));
            return true;
        }
        self.parts_left -= 1;
        false
    }

    fn on_ask(&mut self, ticket: Ticket, ask: Ask, turn: &mut Turn<'_, Self>) {
        match ask {
            Ask::Get(name) => turn.answer(ticket, self.numbers.get(name).copied().unwrap_or(0)),
            Ask::Set(numbers) => {
                for (name, number) in numbers {
                    self.write((name.into(), Some(number)), turn);
                }
                turn.answer(ticket, self.numbers.len() as i64);
            }
            Ask::SetEach(numbers) => {
                for (name, number) in numbers {
                    self.write((name.into(), Some(number)), turn);
                    turn.end_unit();
                }
                turn.answer(ticket, self.numbers.len() as i64);
            }
            Ask::Add(name, more) => {
                let sum = self.numbers.get(name).copied().unwrap_or(0) + more;
                self.write((name.into(), (sum != 0).then_some(sum)), turn);
                turn.answer(ticket, sum);
            }
            Ask::SetAtOnce(name, number) => {
                self.write((name.into(), Some(number)), turn);
                turn.answer_at_once(ticket, number);
            }
            Ask::SetIn(producer, name, number) => {
                let producer = ProducerId::from_wire(producer).expect("not negative");
                turn.in_transaction(producer, ProducerEpoch(0));
                turn.note((name.into(), Some(number)));
                turn.answer(ticket, number);
            }
            Ask::Note(name, number) => {
                turn.note((name.into(), Some(number)));
                turn.then(number);
                turn.answer(ticket, number);
            }
            Ask::Wait(how_long) => turn.set_timer(ticket.0, how_long),
            Ask::Park => {}
        }
    }

    fn on_timer(&mut self, timer: u64, turn: &mut Turn<'_, Self>) {
        turn.answer(Ticket(timer), 0);
    }

    fn on_written(&mut self, after: i64, written: Result<(), ErrorCode>, _: &mut Turn<'_, Self>) {
        self.notes.push((after, written));
    }

    fn on_cancelled(&mut self, ticket: Ticket) {
        self.cancelled.push(ticket);
    }

    fn on_taken_back(&mut self, records: &[Number], _: &mut Turn<'_, Self>) {
        self.taken_back.extend_from_slice(records);
    }

    fn take_news(&mut self) {}
}

/// A runtime of counters, with the time and the log that a host has.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) runtime: Runtime<Counters>,
    now: Now,
    next: u64,
    /// Batches that the log has not answered for, oldest first.
    pub(super) asked: Vec<(u64, Bytes)>,
    /// Batches that the log has kept.
    pub(super) log: Vec<Bytes>,
    pub(super) answers: Vec<(Ticket, Result<i64, ErrorCode>)>,
    pub(super) marked: Vec<(Ticket, Result<(), ErrorCode>)>,
}

pub(super) fn settings() -> WriteSettings {
    WriteSettings {
        linger: None,
        patience: Duration::from_secs(5),
        batch_bytes: 1000,
        pending_bytes: 100_000,
        compression: Compression::default(),
    }
}

impl Host {
    /// One whose log is empty.
    pub(super) fn new(settings: WriteSettings) -> Self {
        let mut host = Self::loading(settings);
        host.loaded(Offset::ZERO);
        host
    }

    /// One whose log is still to be read.
    pub(super) fn loading(settings: WriteSettings) -> Self {
        let runtime = Runtime::new(Counters::default(), LeaderEpoch::new(3), settings);
        let now = Now { instant: Instant::START, wall: Timestamp(1_700_000_000_000) };
        let (asked, log, answers) = (Vec::new(), Vec::new(), Vec::new());
        Self { runtime, now, next: 0, asked, log, answers, marked: Vec::new() }
    }

    /// One that has so much to do when its log is replayed.
    pub(super) fn in_parts(parts: usize) -> Self {
        let mut host = Self::loading(settings());
        let counters = Counters { parts_left: parts - 1, ..Counters::default() };
        host.runtime = Runtime::new(counters, LeaderEpoch::new(3), settings());
        host
    }

    pub(super) fn loaded(&mut self, end: Offset) {
        self.runtime.on_loaded(end, self.now, &(), &mut || [0; 16]);
        self.take();
    }

    /// Asks, and leaves the turn open.
    pub(super) fn ask(&mut self, ask: Ask) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.runtime.on_ask(ticket, ask, self.now, &(), &mut || [0; 16]);
        self.take();
        ticket
    }

    /// The end of a producer's transaction is to be written.
    pub(super) fn mark(&mut self, marker: MarkerWish) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.runtime.on_marker(ticket, marker, self.now);
        self.take();
        ticket
    }

    pub(super) fn end_turn(&mut self) {
        self.runtime.end_turn();
        self.take();
    }

    /// Asks in a turn of its own.
    pub(super) fn turn(&mut self, ask: Ask) -> Ticket {
        let ticket = self.ask(ask);
        self.end_turn();
        ticket
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.now.instant = self.now.instant + by;
        self.now.wall.0 += by.as_millis() as i64;
        self.runtime.on_wake(self.now, &(), &mut || [0; 16]);
        self.take();
    }

    /// The log keeps the oldest batch.
    pub(super) fn keep(&mut self) {
        let (number, batch) = self.asked.remove(0);
        let base = Batches::new(&batch).next().expect("a batch").header.base_offset();
        self.log.push(batch);
        self.answer(number, Ok(base));
    }

    /// The log does not take a batch, and so none of those behind it.
    pub(super) fn refuse(&mut self, place: usize, error: ErrorCode) {
        for (number, _) in self.asked.split_off(place) {
            self.answer(number, Err(error));
        }
    }

    pub(super) fn answer(&mut self, number: u64, answer: Result<Offset, ErrorCode>) {
        self.runtime.on_answer(number, answer, self.now, &(), &mut || [0; 16]);
        self.take();
    }

    pub(super) fn take(&mut self) {
        for effect in self.runtime.take_effects() {
            match effect {
                Effect::Append { number, batch } => self.asked.push((number, batch)),
                Effect::Answer(ticket, answer) => self.answers.push((ticket, answer)),
                Effect::Marked(ticket, marked) => self.marked.push((ticket, marked)),
                Effect::Event(event) => assert!(!event.is_warning),
            }
        }
    }

    /// Takes the answers that were given.
    pub(super) fn answered(&mut self) -> Vec<(Ticket, Result<i64, ErrorCode>)> {
        std::mem::take(&mut self.answers)
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.runtime.machine().numbers.get(name).copied()
    }

    pub(super) fn now(&self) -> Instant {
        self.now.instant
    }
}

/// What a log of these batches says.
pub(super) fn replayed<'a>(batches: impl IntoIterator<Item = &'a Bytes>) -> BTreeMap<String, i64> {
    let mut host = Host::loading(settings());
    let batches: Vec<&[u8]> = batches.into_iter().map(|batch| &batch[..]).collect();
    host.runtime.load(&batches).expect("the runtime wrote it");
    host.runtime.machine().numbers.clone()
}
