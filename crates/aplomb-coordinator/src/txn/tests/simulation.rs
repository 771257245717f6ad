//! Producers that take each other's place, lose answers and ask again; a log that refuses; a
//! coordinator that is loaded anew at any moment; hosts that are slow with markers. What always
//! holds, and what is so in the end.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode as E, SplitMix64};

use super::lab::{Lab, Produced, TIMEOUT, added, done, of, produced, topic};
use crate::runtime::Ticket;
use crate::seeds::seeds;
use crate::txn::{ClientVersion, Decided, End, Init, TxnAsk, TxnPartitions, TxnReply, TxnState};

const SEEDS: u64 = 300;
const STEPS: usize = 300;
const IDS: [&str; 2] = ["a", "b"];
const CLIENTS: usize = 5;

/// What a client has asked and is not told yet.
#[derive(Clone, Debug)]
enum Asked {
    Init(Init),
    Add(TxnPartitions),
    End(End),
}

/// One that produces under a transactional id, until another fences it.
#[derive(Debug)]
struct Client {
    id: Arc<str>,
    version: i16,
    producer: Option<(i64, i16)>,
    /// What it was told is in its transaction.
    added: TxnPartitions,
    waits: Option<(Ticket, Asked)>,
    /// The decision whose answer it did not get.
    again: Option<End>,
}

/// What a client was told is committed.
#[derive(Debug)]
struct Promise {
    id: Arc<str>,
    partitions: TxnPartitions,
}

struct World {
    lab: Lab,
    dice: SplitMix64,
    clients: Vec<Client>,
    promises: Vec<Promise>,
    /// All decisions that were told, by their id, producer and epoch: of clients of version 2 each
    /// has an epoch of its own.
    told: HashMap<(Arc<str>, i64, i16), Vec<Decided>>,
    /// What was told last of an id, until it is complete.
    open: BTreeMap<Arc<str>, Decided>,
    /// Told, and not marked yet.
    to_mark: Vec<Decided>,
    /// The newest producer that was told to have begun under an id.
    newest: HashMap<Arc<str>, (i64, i16)>,
    begun: HashSet<(i64, i16)>,
    /// Whether power is cut at times, and takes some of the newest batches.
    has_cuts: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = SplitMix64::new(seed);
        let version = if dice.within(0..4) == 0 { 0 } else { 2 };
        let clients = (0..CLIENTS).map(|_| Client {
            id: IDS[dice.within(0..2) as usize].into(),
            version: if dice.within(0..3) == 0 { 0 } else { 2 },
            producer: None,
            added: TxnPartitions::new(),
            waits: None,
            again: None,
        });
        let clients = clients.collect();
        Self {
            lab: Lab::new(version),
            dice,
            clients,
            promises: Vec::new(),
            told: HashMap::new(),
            open: BTreeMap::new(),
            to_mark: Vec::new(),
            newest: HashMap::new(),
            begun: HashSet::new(),
            has_cuts: false,
        }
    }

    fn chance(&mut self, of: u64) -> bool {
        self.dice.within(0..of) == 0
    }

    fn step(&mut self) {
        let n = self.dice.within(0..CLIENTS as u64) as usize;
        match self.dice.within(0..20) {
            0..12 => self.client_acts(n),
            12 | 13 => self.host_marks(),
            14 => self.lab.keep(),
            15 => self.lab.refuse(),
            16 => self.lab.keeps = !self.lab.keeps,
            17 if self.has_cuts && self.chance(4) => self.cut_power(),
            17 if self.chance(4) => self.crash(),
            18 if self.chance(8) => self.lab.pass(Duration::from_millis(TIMEOUT as u64)),
            _ => {
                let time = Duration::from_millis(self.dice.within(0..2_000));
                self.lab.pass(time);
            }
        }
        self.look();
        for n in 0..CLIENTS {
            self.hear(n);
        }
    }

    fn crash(&mut self) {
        self.lab.reload();
        self.to_mark.clear();
        for client in &mut self.clients {
            if let Some((_, Asked::End(end))) = client.waits.take() {
                client.again = Some(end);
            }
        }
    }

    /// All begins anew with what the cut has left; nothing that was said before holds.
    fn cut_power(&mut self) {
        let (dice, newest) = (&mut self.dice, 12);
        self.lab.lose(newest, || dice.within(0..2) == 0);
        self.to_mark.clear();
        self.promises.clear();
        self.told.clear();
        self.open.clear();
        self.newest.clear();
        self.begun.clear();
        for client in &mut self.clients {
            (client.producer, client.waits, client.again) = (None, None, None);
            client.added.clear();
        }
    }

    fn client_acts(&mut self, n: usize) {
        if self.clients[n].waits.is_some() {
            if self.chance(6) {
                // It does not wait for the answer any longer.
                if let Some((_, Asked::End(end))) = self.clients[n].waits.take() {
                    self.clients[n].again = Some(end);
                }
            }
            return;
        }
        let (id, version) = (self.clients[n].id.clone(), self.clients[n].version);
        let Some(producer) = self.clients[n].producer else { return self.begin(n, None) };
        if let Some(end) = self.clients[n].again.take() {
            return if end.version.0 == 2 { self.ask(n, Asked::End(end)) } else { self.begin(n, None) };
        }
        match self.dice.within(0..12) {
            0 => self.begin(n, None),
            1 if self.clients[n].added.is_empty() => self.begin(n, Some(producer)),
            2..7 => {
                let partitions = topic("orders", &[self.dice.within(0..6) as i32]);
                self.ask(n, Asked::Add(partitions));
            }
            _ => {
                let is_commit = self.dice.within(0..3) > 0;
                let end = End { of: of(&id, producer), is_commit, version: ClientVersion(version) };
                self.ask(n, Asked::End(end));
            }
        }
    }

    fn begin(&mut self, n: usize, expected: Option<(i64, i16)>) {
        self.clients[n].added.clear();
        let init = Init { id: self.clients[n].id.clone(), timeout: TIMEOUT, expected };
        self.ask(n, Asked::Init(init));
    }

    fn ask(&mut self, n: usize, asked: Asked) {
        let client = &self.clients[n];
        let ask = match asked.clone() {
            Asked::Init(init) => TxnAsk::Init(init),
            Asked::Add(partitions) => {
                let producer = client.producer.expect("it has begun");
                let waits = client.version == 2;
                TxnAsk::Add(added(&client.id, producer, partitions, client.version, waits))
            }
            Asked::End(end) => TxnAsk::End(end),
        };
        let ticket = self.lab.send(ask);
        self.clients[n].waits = Some((ticket, asked));
    }

    /// A client hears what it is answered.
    fn hear(&mut self, n: usize) {
        let Some((ticket, _)) = self.clients[n].waits else { return };
        let Some(answer) = self.lab.take(ticket) else { return };
        let (_, asked) = self.clients[n].waits.take().expect("it waits");
        match asked {
            Asked::Init(init) => self.hear_begun(n, &init, produced(answer)),
            Asked::Add(partitions) => self.hear_added(n, partitions, answer),
            Asked::End(end) => self.hear_ended(n, end, produced(answer)),
        }
    }

    fn hear_begun(&mut self, n: usize, init: &Init, begun: Produced) {
        match begun {
            Ok(producer) => {
                let is_new = self.begun.insert(producer);
                assert!(is_new || init.expected.is_some(), "{producer:?} is given to two");
                let id = self.clients[n].id.clone();
                let newest = self.newest.entry(id).or_insert(producer);
                assert!(newest.0 != producer.0 || newest.1 <= producer.1, "{producer:?} after {newest:?}");
                *newest = producer;
                self.clients[n].producer = Some(producer);
            }
            Err(E::ConcurrentTransactions | E::CoordinatorNotAvailable) => self.clients[n].producer = None,
            Err(E::ProducerFenced) if init.expected.is_some() => self.clients[n].producer = None,
            Err(error) => panic!("{init:?}: {error:?}"),
        }
    }

    fn hear_added(&mut self, n: usize, partitions: TxnPartitions, answer: Result<TxnReply, E>) {
        match done(answer) {
            E::None => {
                for (topic, ids) in partitions {
                    self.clients[n].added.entry(topic).or_default().extend(ids);
                }
            }
            E::ConcurrentTransactions | E::CoordinatorNotAvailable => {}
            E::ProducerFenced | E::InvalidProducerIdMapping => self.clients[n].producer = None,
            error => panic!("{partitions:?}: {error:?}"),
        }
    }

    fn hear_ended(&mut self, n: usize, end: End, ended: Produced) {
        let client = &mut self.clients[n];
        match ended {
            Ok(next) => {
                let partitions = std::mem::take(&mut client.added);
                if end.is_commit && !partitions.is_empty() {
                    self.promises.push(Promise { id: client.id.clone(), partitions });
                }
                client.producer = Some(next);
            }
            Err(E::CoordinatorNotAvailable | E::ConcurrentTransactions) => client.again = Some(end),
            Err(E::ProducerFenced | E::InvalidProducerIdMapping | E::InvalidTxnState) => {
                client.producer = None
            }
            Err(error) => panic!("{end:?}: {error:?}"),
        }
    }

    /// The host has some markers written.
    fn host_marks(&mut self) {
        if self.to_mark.is_empty() {
            return;
        }
        let n = self.dice.within(0..self.to_mark.len() as u64) as usize;
        // Some it marks twice, or late.
        let decided = if self.chance(4) { self.to_mark[n].clone() } else { self.to_mark.swap_remove(n) };
        self.lab.send(TxnAsk::Marked(decided.of));
    }

    /// Looks at what the coordinator tells its host.
    fn look(&mut self) {
        for decided in std::mem::take(&mut self.lab.decided) {
            let id = decided.of.id.clone();
            if let Some(open) = self.open.get(&id)
                && (open.of.producer_id, open.of.epoch) == (decided.of.producer_id, decided.of.epoch)
                && decided.version.0 == 2
            {
                assert_eq!(open, &decided, "what is decided stays so");
            }
            if let Some(newest) = self.newest.get(&id)
                && newest.0 == decided.of.producer_id
            {
                assert!(decided.of.epoch >= newest.1, "{decided:?}, and {newest:?} has begun");
            }
            let key = (id.clone(), decided.of.producer_id, decided.of.epoch);
            let told = self.told.entry(key).or_default();
            if !told.contains(&decided) {
                told.push(decided.clone());
            }
            self.open.insert(id, decided.clone());
            self.to_mark.push(decided);
        }
    }

    /// Nothing is refused or lost any more: all that was promised is so.
    fn end(mut self) {
        self.lab.keeps = true;
        self.lab.keep();
        for _ in 0..50 {
            self.look();
            self.to_mark.clear();
            for decided in self.open.values() {
                self.lab.send(TxnAsk::Marked(decided.of.clone()));
            }
            self.lab.pass(Duration::from_millis(TIMEOUT as u64));
        }
        self.look();
        for id in IDS {
            if let Some(state) = self.lab.state(id) {
                let is_over =
                    matches!(state, TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort);
                assert!(is_over, "{id} is {state:?} in the end");
            }
        }
        let committed: Vec<&Decided> =
            self.told.values().flatten().filter(|told| told.is_committed).collect();
        for Promise { id, partitions } in &self.promises {
            let has = |told: &&&Decided| {
                let all = |(topic, ids): (&Arc<str>, &std::collections::BTreeSet<i32>)| {
                    told.partitions.get(topic).is_some_and(|there| ids.is_subset(there))
                };
                told.of.id == *id && partitions.iter().all(all)
            };
            assert!(
                committed.iter().any(|told| has(&told)),
                "{id} was told that {partitions:?} are committed"
            );
        }
    }
}

#[test]
fn whatever_a_power_cut_takes_transactions_go_on() {
    for seed in seeds(SEEDS) {
        let run = || {
            let mut world = World::new(seed);
            world.has_cuts = true;
            (0..STEPS).for_each(|_| world.step());
            world.end();
        };
        if std::panic::catch_unwind(run).is_err() {
            panic!("seed {seed}; GROUP_SEED={seed} runs it again");
        }
    }
}

#[test]
fn transactions_are_what_their_clients_were_told() {
    for seed in seeds(SEEDS) {
        let run = || {
            let mut world = World::new(seed);
            (0..STEPS).for_each(|_| world.step());
            world.end();
        };
        if std::panic::catch_unwind(run).is_err() {
            panic!("seed {seed}; GROUP_SEED={seed} runs it again");
        }
    }
}
