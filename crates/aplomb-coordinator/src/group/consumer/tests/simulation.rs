//! Members that come, go, lose their requests and answers, and a coordinator that moves, whose log
//! refuses writes and is compacted: no partition ever has two owners among the members, and when it
//! is quiet each partition has one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use aplomb_model::{ErrorCode, SplitMix64, TopicId};
use bytes::Bytes;
use m::consumer_group_heartbeat_request::TopicPartitions;

use super::classic_client::ClassicClient;
use super::lab::{Lab, Request, Response, beat};
use crate::group::state::follower::Follower;
use crate::group::{GroupAsk, GroupReply, GroupState};
use crate::seeds::seeds;
use aplomb_protocol::messages as m;

pub(super) type Owned = BTreeSet<(TopicId, i32)>;

/// A client of the group, as one that keeps to the protocol.
#[derive(Debug)]
struct Client {
    id: String,
    instance: Option<String>,
    subscription: Subscription,
    epoch: i32,
    owned: Owned,
    /// What it was last told to have.
    told: Option<Owned>,
    /// Whether it says everything again.
    is_full: bool,
    heard: Duration,
}

#[derive(Clone, Debug)]
enum Subscription {
    Names(Vec<String>),
    Expression(String),
}

const SESSION: Duration = Duration::from_secs(45);
const TOPICS: [&str; 5] = ["a0", "a1", "a2", "b0", "b1"];

impl Client {
    fn request(&self) -> Request {
        let mut topics: BTreeMap<TopicId, Vec<i32>> = BTreeMap::new();
        for (topic, partition) in &self.owned {
            topics.entry(*topic).or_default().push(*partition);
        }
        let owned = topics
            .into_iter()
            .map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions })
            .collect();
        let mut request = Request { instance_id: self.instance.clone(), ..beat(&self.id, self.epoch) };
        request.topic_partitions = Some(owned);
        if self.epoch == 0 || self.is_full {
            request.rebalance_timeout_ms = 300_000;
            match &self.subscription {
                Subscription::Names(names) => {
                    request.subscribed_topic_names = Some(names.clone());
                    request.subscribed_topic_regex = Some(String::new());
                }
                Subscription::Expression(expression) => {
                    request.subscribed_topic_names = Some(Vec::new());
                    request.subscribed_topic_regex = Some(expression.clone());
                }
            }
        }
        request
    }

    /// Gives whether the client goes on.
    fn on_response(&mut self, response: &Response, now: Duration) -> bool {
        let Some(error) = ErrorCode::from_wire(response.error_code) else { panic!("{response:?}") };
        match error {
            ErrorCode::None => {
                self.heard = now;
                self.is_full = false;
                self.epoch = response.member_epoch;
                if let Some(assignment) = &response.assignment {
                    let told = assignment.topic_partitions.iter().flat_map(|topic| {
                        topic.partitions.iter().map(|partition| (topic.topic_id, *partition))
                    });
                    let told: Owned = told.collect();
                    self.owned.extend(&told); // it has given up what others were to have
                    self.told = Some(told);
                }
                true
            }
            ErrorCode::FencedMemberEpoch | ErrorCode::UnknownMemberId => {
                self.give_up();
                true
            }
            ErrorCode::UnreleasedInstanceId | ErrorCode::GroupIdNotFound => {
                self.give_up();
                true
            }
            ErrorCode::FencedInstanceId => false,
            other => panic!("{other}: {response:?}"),
        }
    }

    fn give_up(&mut self) {
        self.owned.clear();
        self.told = None;
        self.epoch = 0;
    }

    /// Gives up what it is not to have.
    fn reconcile(&mut self) {
        if let Some(told) = self.told.take() {
            self.owned = told;
        }
    }
}

struct Simulation {
    lab: Lab,
    follower: Follower,
    random: SplitMix64,
    clients: Vec<Client>,
    /// Those of the classic protocol; in many a simulation there are none.
    classic: Vec<ClassicClient>,
    has_classic: bool,
    /// Instances that have left for a while.
    away: Vec<(String, Subscription)>,
    /// Whether power is cut at times, and takes some of the newest records.
    has_cuts: bool,
    /// Whether a cut has taken something: until all have rested, members may believe what is lost.
    has_forgotten: bool,
    now: Duration,
    born: u32,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut lab = Lab::new();
        let interval = if random.within(0..2) == 0 { 0 } else { 1000 };
        lab.world.consumer().assignment_interval.default = Duration::from_millis(interval);
        for topic in TOPICS {
            lab.world.set_topic(topic, 1 + i32::try_from(random.within(0..6)).unwrap());
        }
        let has_classic = random.within(0..2) == 0;
        let (clients, classic, away) = (Vec::new(), Vec::new(), Vec::new());
        let (follower, now) = (Follower::default(), Duration::ZERO);
        let (has_cuts, has_forgotten, born) = (false, false, 0);
        Self {
            lab,
            follower,
            random,
            clients,
            classic,
            has_classic,
            away,
            has_cuts,
            has_forgotten,
            now,
            born,
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.within(0..one_in) == 0
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.within(0..count as u64)).unwrap()
    }

    fn subscription(&mut self) -> Subscription {
        match self.pick(6) {
            0 => Subscription::Expression("a.*".to_owned()),
            1 => Subscription::Expression("[ab]0".to_owned()),
            2 => Subscription::Names(Vec::new()),
            _ => {
                let names = TOPICS.iter().filter(|_| self.random.within(0..2) == 0);
                Subscription::Names(names.map(|topic| (*topic).to_owned()).collect())
            }
        }
    }

    fn step(&mut self) {
        if self.has_classic && self.chance(2) {
            return self.step_of_classic();
        }
        match self.pick(40) {
            0 | 1 if self.clients.len() < 7 => self.come(),
            2 => self.go(),
            3 => {
                // A client dies.
                if !self.clients.is_empty() && self.chance(2) {
                    let at = self.pick(self.clients.len());
                    self.clients.swap_remove(at);
                }
            }
            4 => {
                if !self.clients.is_empty() {
                    let (at, subscription) = (self.pick(self.clients.len()), self.subscription());
                    self.clients[at].subscription = subscription;
                    self.clients[at].is_full = true;
                }
            }
            5 => self.change_topics(),
            6 => self.lab.refuses = self.chance(3),
            7 => self.reload(),
            8 if self.has_cuts => self.cut_power(),
            8 | 9 => {
                let long = Duration::from_millis(self.random.within(0..20_000));
                self.pass(long);
            }
            _ => {
                if !self.clients.is_empty() {
                    let at = self.pick(self.clients.len());
                    self.heartbeat(at, true);
                }
            }
        }
        let short = Duration::from_millis(self.random.within(0..1500));
        self.pass(short);
        self.check();
    }

    fn step_of_classic(&mut self) {
        match self.pick(30) {
            0 | 1 if self.classic.len() < 4 => {
                let topics = TOPICS.iter().filter(|_| self.random.within(0..2) == 0);
                let topics = topics.map(|topic| (*topic).to_owned()).collect();
                self.classic.push(ClassicClient::new(topics, self.now));
            }
            2 if !self.classic.is_empty() => {
                let at = self.pick(self.classic.len());
                let client = self.classic.swap_remove(at);
                if self.chance(2) {
                    client.leave(&mut self.lab);
                }
            }
            _ if !self.classic.is_empty() => {
                let at = self.pick(self.classic.len());
                self.classic[at].act(&mut self.lab, self.now);
            }
            _ => {}
        }
        let short = Duration::from_millis(self.random.within(0..1000));
        self.pass(short);
        self.check();
    }

    fn pass(&mut self, time: Duration) {
        let before = self.now;
        self.lab.advance(time);
        self.now += time;
        // Who has not been answered for so long takes itself for fenced.
        for client in &mut self.clients {
            if self.now - client.heard >= SESSION - Duration::from_secs(3) {
                client.give_up();
            }
        }
        for client in &mut self.classic {
            client.poll(&mut self.lab, before);
            client.pass(self.now);
        }
    }

    fn come(&mut self) {
        self.born += 1;
        let (instance, subscription) = if !self.away.is_empty() && self.chance(2) {
            let (instance, subscription) = self.away.swap_remove(0);
            (Some(instance), subscription)
        } else {
            let instance = self.chance(3).then(|| format!("i{}", self.born));
            (instance, self.subscription())
        };
        let id = format!("m{}", self.born);
        self.clients.push(Client {
            id,
            instance,
            subscription,
            epoch: 0,
            owned: Owned::new(),
            told: None,
            is_full: true,
            heard: self.now,
        });
    }

    fn go(&mut self) {
        if self.clients.is_empty() {
            return;
        }
        let at = self.pick(self.clients.len());
        let client = self.clients.swap_remove(at);
        let for_a_while = client.instance.is_some() && self.chance(2);
        let mut request = client.request();
        request.member_epoch = if for_a_while { -2 } else { -1 };
        let answer = self.lab.heartbeat(request);
        if let Some(instance) = client.instance.filter(|_| for_a_while && answer.is_ok()) {
            self.away.push((instance, client.subscription));
        }
    }

    fn change_topics(&mut self) {
        let topic = TOPICS[self.pick(TOPICS.len())];
        let partitions = self.lab.world.topics().find(|known| &*known.name == topic);
        match partitions.map(|known| known.partitions) {
            Some(_) if self.chance(4) => self.lab.world.delete_topic(topic),
            Some(partitions) => {
                self.lab.world.set_topic(topic, partitions + 1);
            }
            None => {
                self.lab.world.set_topic(topic, 2);
            }
        }
    }

    fn heartbeat(&mut self, at: usize, may_be_lost: bool) {
        if self.clients[at].told.is_some() && self.chance(2) {
            self.clients[at].reconcile();
        }
        // It may take several heartbeats until it has given up what it has to.
        let mut request = self.clients[at].request();
        let client = &self.clients[at];
        if !client.is_full && client.told.is_none() && client.epoch > 0 && self.chance(2) {
            request.topic_partitions = None;
        }
        let answer = self.lab.heartbeat(request);
        let Ok(response) = answer else {
            assert!(self.lab.refuses, "only what is refused is not answered: {answer:?}");
            self.clients[at].is_full = true;
            return;
        };
        if may_be_lost && self.chance(8) {
            self.clients[at].is_full = true;
            return;
        }
        if !self.clients[at].on_response(&response, self.now) {
            self.clients.swap_remove(at);
        }
    }

    /// Another coordinator reads the log, of which a part is compacted, and knows the same.
    fn reload(&mut self) {
        let before = self.described();
        let end = self.pick(self.lab.log.len() + 1);
        let drops_tombstones = self.chance(2);
        let log = compacted(&self.lab.log, end, drops_tombstones);
        self.load(log);
        // Where records are lost, others that they took out may come back with a compaction.
        let is_same = self.described() == before;
        assert!(is_same || self.has_forgotten, "a group is what its records say, which was {before:#?}");
    }

    fn load(&mut self, log: Vec<(Bytes, Option<Bytes>)>) {
        self.lab.reload(log);
        self.follower = Follower::of(self.lab.runtime.machine());
        for client in &mut self.classic {
            client.on_move();
        }
    }

    /// Power is cut where the log was compacted, and of its newest records it has some and some
    /// not: one that is lost may have had an older one of its key removed before.
    fn cut_power(&mut self) {
        let end = self.pick(self.lab.log.len() + 1);
        let log = compacted(&self.lab.log, end, true);
        let safe = log.len().saturating_sub(self.pick(30));
        let mut kept = log[..safe].to_vec();
        kept.extend(log[safe..].iter().filter(|_| self.random.within(0..2) == 0).cloned());
        self.has_forgotten |= kept.len() < log.len();
        self.load(kept);
        for client in &mut self.clients {
            client.is_full = true; // it has lost its connection
        }
    }

    fn described(&mut self) -> Option<m::consumer_group_describe_response::DescribedGroup> {
        match self.lab.ask(GroupAsk::ConsumerDescribe(super::lab::GROUP.to_owned())) {
            Ok(GroupReply::ConsumerDescribe(described)) => Some(described),
            _ => None, // behind a write that is refused
        }
    }

    fn check(&mut self) {
        let news = self.lab.runtime.take_news();
        self.follower.follow(news, self.lab.runtime.machine());
        self.follower.check(self.lab.runtime.machine());
        if let Some(group) = self.lab.runtime.machine().table.consumer(super::lab::GROUP) {
            if self.has_forgotten { group.check_index() } else { group.check() }
        }
        if self.has_forgotten {
            return;
        }
        let mut owned = HashSet::new();
        let all = self.clients.iter().map(|client| &client.owned);
        for partition in all.chain(self.classic.iter().map(|client| &client.owned)).flatten() {
            let (clients, classic) = (&self.clients, &self.classic);
            assert!(owned.insert(*partition), "{partition:?} has two owners: {clients:#?} {classic:#?}");
        }
    }

    /// All is well from here on: everything comes to rest.
    fn rest(&mut self) {
        self.lab.refuses = false;
        for _ in 0..60 {
            self.pass(Duration::from_secs(2));
            let mut at = 0;
            while at < self.clients.len() {
                let before = self.clients.len();
                self.heartbeat(at, false);
                at += usize::from(self.clients.len() == before);
            }
            for client in &mut self.classic {
                for _ in 0..3 {
                    client.act(&mut self.lab, self.now);
                }
            }
            self.check();
        }
        for client in &mut self.clients {
            client.reconcile();
        }
        self.has_forgotten = false;
        self.check();
        let mut owned: Owned = self.clients.iter().flat_map(|client| client.owned.clone()).collect();
        owned.extend(self.classic.iter().flat_map(|client| client.owned.clone()));
        let mut all = Owned::new();
        for client in &self.classic {
            assert!(client.is_in(), "{client:#?}");
            all.extend(client.subscribed(&self.lab));
        }
        if !self.clients.is_empty() {
            assert_eq!(self.lab.group().state(), GroupState::ConsumerStable, "{:#?}", self.lab.group());
            assert_eq!(self.lab.group().members().len(), self.clients.len() + self.classic.len());
            let topics =
                self.lab.world.topics().filter(|topic| self.lab.group().is_subscribed_to(&topic.name));
            all.extend(topics.flat_map(|topic| (0..topic.partitions).map(|partition| (topic.id, partition))));
        }
        assert_eq!(owned, all, "each partition has an owner");
    }
}

/// The log with only the last record of each key in its first part.
pub(super) fn compacted(
    log: &[(Bytes, Option<Bytes>)],
    end: usize,
    drops_tombstones: bool,
) -> Vec<(Bytes, Option<Bytes>)> {
    let last: BTreeMap<&Bytes, usize> =
        log[..end].iter().enumerate().map(|(at, (key, _))| (key, at)).collect();
    let keeps = |(at, (key, value)): &(usize, &(Bytes, Option<Bytes>))| {
        *at >= end || last[key] == *at && (value.is_some() || !drops_tombstones)
    };
    log.iter().enumerate().filter(keeps).map(|(_, record)| record.clone()).collect()
}

#[test]
fn whatever_a_power_cut_takes_the_group_comes_to_rest() {
    for seed in seeds(300) {
        let result = std::panic::catch_unwind(|| {
            let mut simulation = Simulation::new(seed);
            simulation.has_cuts = true;
            for _ in 0..250 {
                simulation.step();
            }
            simulation.rest();
        });
        assert!(result.is_ok(), "run again with GROUP_SEED={seed}");
    }
}

#[test]
fn no_partition_has_two_owners_and_at_rest_each_has_one() {
    for seed in seeds(300) {
        let result = std::panic::catch_unwind(|| {
            let mut simulation = Simulation::new(seed);
            for _ in 0..250 {
                simulation.step();
            }
            simulation.rest();
        });
        assert!(result.is_ok(), "run again with GROUP_SEED={seed}");
    }
}
