//! Anything that can happen to a broker, in any order: what it acknowledged is there, in its order.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_model::ErrorCode;
use proptest::prelude::*;

use crate::support::{
    Asked, Broker, Client, CreateTopic, DeleteRecords, Fetch, ListOffsets, MoveReplica, Produce, SECOND,
    Setup,
};

const DISKS: usize = 2;
const PARTITIONS: i32 = 3;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Event {
    Produce { partition: i32, bytes: usize },
    Freeze(usize),
    Thaw(usize),
    Wait(Duration),
    Kill,
    Stop,
    CutPower,
    DeleteRecords { partition: i32 },
    Move { partition: i32, disk: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let partition = || 0..PARTITIONS;
    let disk = || 0..DISKS;
    prop_oneof![
        12 => (partition(), 1..3000_usize).prop_map(|(partition, bytes)| Event::Produce { partition, bytes }),
        2 => disk().prop_map(Event::Freeze),
        2 => disk().prop_map(Event::Thaw),
        4 => (0..3000_u64).prop_map(|millis| Event::Wait(Duration::from_millis(millis))),
        1 => Just(Event::Kill),
        1 => Just(Event::Stop),
        1 => Just(Event::CutPower),
        1 => partition().prop_map(|partition| Event::DeleteRecords { partition }),
        2 => (partition(), disk()).prop_map(|(partition, disk)| Event::Move { partition, disk }),
    ]
}

/// What a partition was sent, and what it answered.
#[derive(Default)]
struct Journal {
    /// Values in the order in which they were sent.
    sent: Vec<String>,
    waiting: Vec<(usize, Asked<Produce>)>,
    /// The place in `sent`, by offset.
    acknowledged: BTreeMap<i64, usize>,
    log_start: i64,
}

/// A broker, whose topic acknowledges after the sync, and what is known of its partitions.
struct Story {
    broker: Broker,
    client: Client,
    journals: Vec<Journal>,
}

impl Story {
    fn begin() -> Self {
        let broker = Broker::of(Setup { shards: 2, disks: DISKS, chunks: 24, ..Setup::default() });
        broker.has(CreateTopic::named("orders").partitions(PARTITIONS).with("flush.messages", "1"));
        let client = broker.client();
        let journals = (0..PARTITIONS).map(|_| Journal::default()).collect();
        Self { broker, client, journals }
    }

    fn on(&mut self, event: &Event) {
        match *event {
            Event::Produce { partition, bytes } => {
                let journal = &mut self.journals[partition as usize];
                let value = format!("{}-{}", journal.sent.len(), "x".repeat(bytes));
                let asked = self.client.send(Produce::to(("orders", partition), value.as_str()));
                journal.waiting.push((journal.sent.len(), asked));
                journal.sent.push(value);
            }
            Event::Freeze(disk) => self.broker.disk(disk).freeze(),
            Event::Thaw(disk) => self.broker.disk(disk).thaw(),
            Event::Wait(time) => self.broker.advance(time),
            Event::Kill => self.end(Broker::kill),
            Event::CutPower => self.end(Broker::cut_power),
            Event::Stop => {
                (0..DISKS).for_each(|disk| self.broker.disk(disk).thaw());
                self.broker.begin_stop();
                self.broker.advance(10 * SECOND);
                self.end(Broker::end);
            }
            Event::DeleteRecords { partition } => {
                let end = self.client.ask(ListOffsets::latest(("orders", partition))).offset;
                let before = end / 2;
                let deleted = self.client.ask(DeleteRecords::before(("orders", partition), before));
                assert_eq!(deleted.error, ErrorCode::None);
                let journal = &mut self.journals[partition as usize];
                journal.log_start = journal.log_start.max(before);
            }
            Event::Move { partition, disk } => {
                let moved = self.client.ask(MoveReplica::of(("orders", partition), disk));
                assert_eq!(moved.error, ErrorCode::None);
            }
        }
        self.note_answers();
    }

    /// The process ends, and the next one begins. Requests without an answer never get one.
    fn end(&mut self, end: fn(&Broker)) {
        self.note_answers();
        end(&self.broker);
        self.journals.iter_mut().for_each(|journal| journal.waiting.clear());
        self.broker.restart();
        self.client = self.broker.client();
    }

    fn note_answers(&mut self) {
        for journal in &mut self.journals {
            for (place, asked) in std::mem::take(&mut journal.waiting) {
                if asked.is_waiting() {
                    journal.waiting.push((place, asked));
                    continue;
                }
                let answer = asked.answer();
                match answer.error {
                    ErrorCode::None => drop(journal.acknowledged.insert(answer.base, place)),
                    ErrorCode::RequestTimedOut => {} // it may be in the log all the same
                    error => panic!("refused: {error:?}"),
                }
            }
        }
    }

    /// All is well again: what is there?
    fn check(&mut self) {
        (0..DISKS).for_each(|disk| self.broker.disk(disk).thaw());
        self.broker.advance(100 * SECOND);
        self.note_answers();
        for (partition, journal) in (0..).zip(&self.journals) {
            assert!(journal.waiting.is_empty(), "partition {partition} does not answer");
            let found = self.read(partition, journal);
            for (offset, place) in journal.acknowledged.range(journal.log_start..) {
                assert_eq!(found.get(offset), Some(place), "partition {partition}, offset {offset}");
            }
            let places: Vec<usize> = found.into_values().collect();
            assert!(places.is_sorted_by(|one, next| one < next), "partition {partition}: {places:?}");
        }
    }

    /// The places in `sent` of a partition's records, by offset.
    fn read(&self, partition: i32, journal: &Journal) -> BTreeMap<i64, usize> {
        let mut found = BTreeMap::new();
        let mut from = self.client.ask(ListOffsets::at(("orders", partition), -2)).offset;
        loop {
            let fetched = self.client.ask(Fetch::from(("orders", partition), from));
            assert_eq!(fetched.refusal(), ErrorCode::None, "partition {partition} at {from}");
            for record in &fetched.partitions[0].records {
                let place = journal.sent.iter().position(|sent| *sent == record.value);
                found.insert(record.offset, place.expect("only what was sent is there"));
                from = record.offset + 1;
            }
            if from >= fetched.partitions[0].high_watermark {
                return found;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_was_acknowledged_is_there_in_its_order(
        events in proptest::collection::vec(event(), 1..60),
    ) {
        let mut story = Story::begin();
        events.iter().for_each(|event| story.on(event));
        story.check();
    }
}
