//! The records of transactional ids are those that Apache Kafka's transaction coordinator writes
//! when the same is asked (`tests/oracle-groups`).

#![expect(clippy::disallowed_methods, reason = "golden files are read from the source tree")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::runtime::{Effect, Now, Runtime, Ticket, WriteSettings};
use aplomb_coordinator::txn::{
    Add, ClientVersion, End, Incarnation, Init, Transactions, TxnAsk, TxnPartitions, TxnRecord, TxnReply,
    TxnSettings, TxnWorld,
};
use aplomb_model::batch::Batches;
use aplomb_model::{Instant, LeaderEpoch, Offset, ProducerId, Timestamp};
use bytes::Bytes;

struct World(TxnSettings, i16);

impl TxnWorld for World {
    fn settings(&self) -> &TxnSettings {
        &self.0
    }

    fn has_room(&self) -> bool {
        true
    }

    fn version(&self) -> i16 {
        self.1
    }
}

struct Host {
    runtime: Runtime<Transactions>,
    world: World,
    now: Now,
    id: Arc<str>,
    /// Its producer, as the last answer said.
    producer: (i64, i16),
    decided: Option<Incarnation>,
    timeout: i32,
    end: u64,
    ticket: u64,
    /// The producer id that is given when one is needed.
    fresh: Option<ProducerId>,
}

fn number<N: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> N {
    text.parse().expect("a number")
}

fn bytes(hex: &str) -> Bytes {
    let byte = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).expect("digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn partitions(named: &str) -> TxnPartitions {
    let mut partitions = TxnPartitions::new();
    for one in named.split(',').filter(|one| !one.is_empty()) {
        let (topic, partition) = one.split_once(':').expect("a partition of a topic");
        let its: &mut BTreeSet<i32> = partitions.entry(topic.into()).or_default();
        its.insert(number(partition));
    }
    partitions
}

impl Host {
    fn new(version: i16, id: &str) -> Self {
        let settings = WriteSettings {
            linger: None,
            patience: Duration::from_secs(5),
            batch_bytes: 1 << 20,
            pending_bytes: 8 << 20,
            compression: Default::default(),
        };
        let settings_of_transactions = TxnSettings {
            max_timeout: Duration::from_secs(900),
            expiration: Duration::from_secs(1 << 30),
            expiry_interval: Duration::from_secs(1 << 30),
        };
        let mut host = Self {
            runtime: Runtime::new(Transactions::new(), LeaderEpoch::new(0), settings),
            world: World(settings_of_transactions, version),
            now: Now { instant: Instant::START, wall: Timestamp(0) },
            id: id.into(),
            producer: (-1, -1),
            decided: None,
            timeout: 0,
            end: 0,
            ticket: 0,
            fresh: None,
        };
        host.runtime.on_loaded(Offset::ZERO, host.now, &host.world, &mut || [0; 16]);
        host
    }

    /// Asks, and gives the record that is written.
    fn ask(&mut self, ask: TxnAsk) -> (Bytes, Option<Bytes>) {
        let is_answered_with_a_producer = matches!(ask, TxnAsk::Init(_) | TxnAsk::End(_));
        self.runtime.on_ask(Ticket(self.ticket), ask, self.now, &self.world, &mut || [0; 16]);
        self.ticket += 1;
        self.runtime.end_turn();
        let mut written = Vec::new();
        loop {
            let news = self.runtime.take_news();
            self.decided =
                news.decided.into_iter().next_back().map(|decided| decided.of).or(self.decided.take());
            if news.lacks_id {
                let id = Ok(self.fresh.take().expect("the oracle says which"));
                let (ask, ticket) = (TxnAsk::FreshId(id), Ticket(self.ticket));
                self.ticket += 1;
                self.runtime.on_ask(ticket, ask, self.now, &self.world, &mut || [0; 16]);
                self.runtime.end_turn();
            }
            let effects: Vec<_> = self.runtime.take_effects().collect();
            if effects.is_empty() {
                break;
            }
            for effect in effects {
                match effect {
                    Effect::Append { number, batch } => {
                        let first = Batches::new(&batch).next().expect("a batch");
                        let base = first.header.base_offset();
                        assert_eq!(base, Offset::new(self.end));
                        self.end = first.header.last_offset().get() + 1;
                        let raw = first.uncompressed(1 << 20).expect("it was just written");
                        for record in first.records(&raw) {
                            let record = record.expect("it was just written");
                            let value = record.value.map(Bytes::copy_from_slice);
                            written.push((Bytes::copy_from_slice(record.key.expect("a key")), value));
                        }
                        self.runtime.on_answer(number, Ok(base), self.now, &self.world, &mut || [0; 16]);
                        self.runtime.end_turn();
                    }
                    Effect::Answer(_, answer) => match answer.expect("the log takes all") {
                        TxnReply::Producer(Ok((id, epoch))) if is_answered_with_a_producer => {
                            self.producer = (id.to_wire(), epoch);
                        }
                        TxnReply::Done(code) => assert_eq!(code, aplomb_model::ErrorCode::None),
                        other => panic!("{other:?}"),
                    },
                    Effect::Marked(ticket, _) => panic!("{ticket:?} marks nothing"),
                    Effect::Event(_) => {}
                }
            }
        }
        assert_eq!(written.len(), 1, "each of these writes a record");
        written.remove(0)
    }

    fn of(&self) -> Incarnation {
        Incarnation { id: self.id.clone(), producer_id: self.producer.0, epoch: self.producer.1 }
    }

    /// A line of the oracle: what is asked, without the time and the record.
    fn line(&mut self, asked: &str, arguments: &[&str]) -> (Bytes, Option<Bytes>) {
        if let ("init" | "begin", [_, id, ..]) | ("end", [_, _, id]) = (asked, arguments) {
            self.fresh = ProducerId::from_wire(number(id));
        }
        if let ("init" | "begin", [timeout, ..]) = (asked, arguments) {
            self.timeout = number(timeout);
        }
        let ask = match (asked, arguments) {
            ("init", [timeout, _]) => {
                TxnAsk::Init(Init { id: self.id.clone(), timeout: number(timeout), expected: None })
            }
            ("begin", [timeout, _, expected, epoch]) => TxnAsk::Init(Init {
                id: self.id.clone(),
                timeout: number(timeout),
                expected: Some((number(expected), number(epoch))).filter(|(id, _)| *id >= 0),
            }),
            ("add", [version, named]) => {
                let (partitions, version) = (partitions(named), ClientVersion(number(version)));
                TxnAsk::Add(Add { of: self.of(), partitions, version, waits: false })
            }
            ("end", [commits, version, _]) => TxnAsk::End(End {
                of: self.of(),
                is_commit: *commits == "true",
                version: ClientVersion(number(version)),
            }),
            ("mark", []) => TxnAsk::Marked(self.decided.take().expect("something is decided")),
            other => panic!("{other:?}"),
        };
        self.ask(ask)
    }

    /// Goes on from another epoch, as if it had begun that often.
    fn set_epoch(&mut self, epoch: i16) {
        while self.producer.1 < epoch {
            let init = Init { id: self.id.clone(), timeout: self.timeout, expected: None };
            self.ask(TxnAsk::Init(init));
        }
    }
}

#[test]
fn transactional_ids_are_written_down_as_kafka_does() {
    let golden = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = std::env::var_os("APLOMB_GROUPS_ORACLE").map_or_else(golden, PathBuf::from);
    let lines = fs::read_to_string(folder.join("transactions.tsv")).expect("the oracle has written it");
    let mut host = None;
    let mut compared = 0;
    for (n, line) in (1..).zip(lines.lines()) {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["life", version, id] => host = Some(Host::new(number(version), id)),
            ["epoch", epoch] => host.as_mut().expect("a life").set_epoch(number(epoch)),
            [asked, time, ref arguments @ .., key, value] => {
                let host = host.as_mut().expect("a life");
                host.now.wall = Timestamp(number(time));
                let (our_key, our_value) = host.line(asked, arguments);
                let (their_key, their_value) = (bytes(key), Some(bytes(value)));
                assert_eq!(our_key, their_key, "line {n}: {line}");
                let ours = TxnRecord::decode(our_key, our_value.clone()).expect("it was just written");
                let theirs = TxnRecord::decode(their_key, their_value.clone());
                let theirs = theirs.unwrap_or_else(|why| panic!("line {n}: {why}"));
                assert_eq!(ours, theirs, "line {n}: {line}");
                // Topics come in any order.
                let length = |value: &Option<Bytes>| value.as_ref().map(Bytes::len);
                assert_eq!(length(&our_value), length(&their_value), "line {n}: {line}");
                compared += 1;
            }
            _ => panic!("line {n}: {line}"),
        }
    }
    assert!(compared > 100, "{compared} records are few");
}
