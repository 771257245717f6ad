//! What a seed stands for: a broker, its disks and topics, the clients, and what goes wrong when.
//!
//! A [`Scenario`] is what one writes down; the [`Plan`] is what follows from it. Clients and faults
//! can be left out one by one without changing the others, which is how a failing scenario is made
//! small.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aplomb_broker::config::Properties;
use aplomb_disk_api::sim::ServiceTimes;

use super::bank::{BankPlan, TellerPlan};
use super::faults::{Fault, draw_accidents, draw_copies, draw_faults, draw_tail_faults};
use super::groups::{GroupsPlan, MemberPlan};
use super::random::Dice;

/// Bytes of metadata between snapshots: nearly each decision, some, the default.
const METADATA_SNAPSHOTS: [&str; 3] = ["300", "3000", "20971520"];
/// Memory for readers: one batch at a time, a few, plenty.
const FETCH_MEMORY: [&str; 3] = ["0", "5000", "67108864"];
/// Of batches that wait for a disk: more than there ever are, or few.
const WAITING: [&str; 3] = ["67108864", "20000", "4000"];
/// How often compacted topics are looked at, in milliseconds: all the time, now and then, hardly.
const CLEANER_BACKOFF: [&str; 3] = ["1", "300", "15000"];
/// Topics whose names begin so come and go.
const PASSING: &str = "x";
const MS: Duration = Duration::from_millis(1);

/// A simulation, as one writes it down: `seed=17`, or `seed=17 millis=2500 without-clients=1,4
/// without-faults=0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Everything follows from it.
    pub seed: u64,
    /// Virtual milliseconds until the end; `None` as the seed says.
    pub millis: Option<u64>,
    /// Clients that do nothing, by number.
    pub without_clients: BTreeSet<usize>,
    /// Faults that do not happen, by number.
    pub without_faults: BTreeSet<usize>,
}

/// A line that is no scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is none of seed=N, millis=N, without-clients=N,N, without-faults=N,N")]
pub struct NotAScenario(String);

impl Scenario {
    /// All that the seed stands for.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        Self { seed, millis: None, without_clients: BTreeSet::new(), without_faults: BTreeSet::new() }
    }

    /// What follows from it.
    pub(crate) fn plan(&self) -> Plan {
        let mut plan = Plan::draw(self.seed);
        if let Some(millis) = self.millis {
            plan.length = MS * u32::try_from(millis).unwrap_or(u32::MAX);
        }
        plan.faults.retain(|(number, at, _)| *at < plan.length && !self.without_faults.contains(number));
        plan.clients.retain(|(number, _)| !self.without_clients.contains(number));
        // Only the administrator, who reads what is committed, can say whether groups come to rest.
        plan.bank = plan.bank.filter(|_| plan.clients.iter().any(|(_, role)| *role == Role::Accountant));
        plan.groups =
            plan.groups.filter(|_| plan.clients.iter().any(|(_, role)| matches!(role, Role::GroupsAdmin)));
        plan
    }

    /// The words of a command line that replays it.
    #[must_use]
    pub fn arguments(&self) -> String {
        self.to_string()
            .split(' ')
            .map(|part| format!("--{}", part.replace('=', " ")))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed={}", self.seed)?;
        if let Some(millis) = self.millis {
            write!(f, " millis={millis}")?;
        }
        for (name, left_out) in
            [("without-clients", &self.without_clients), ("without-faults", &self.without_faults)]
        {
            if !left_out.is_empty() {
                let numbers: Vec<String> = left_out.iter().map(usize::to_string).collect();
                write!(f, " {name}={}", numbers.join(","))?;
            }
        }
        Ok(())
    }
}

impl FromStr for Scenario {
    type Err = NotAScenario;

    fn from_str(text: &str) -> Result<Self, NotAScenario> {
        let mut scenario = Self::of_seed(0);
        for part in text.split_whitespace() {
            let wrong = || NotAScenario(part.to_owned());
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let number = || value.parse().map_err(|_| wrong());
            let numbers = || -> Result<BTreeSet<usize>, NotAScenario> {
                value.split(',').map(|n| n.parse().map_err(|_| wrong())).collect()
            };
            match name {
                "seed" => scenario.seed = number()?,
                "millis" => scenario.millis = Some(number()?),
                "without-clients" => scenario.without_clients = numbers()?,
                "without-faults" => scenario.without_faults = numbers()?,
                _ => return Err(wrong()),
            }
        }
        Ok(scenario)
    }
}

/// The path of a log directory.
pub(crate) fn path_of(disk: usize) -> String {
    format!("/disk{disk}")
}

/// What a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    IdempotentProducer,
    PlainProducer,
    /// Reads what comes, with long polls.
    Follower,
    /// Reads everything from the beginning, again and again.
    Backlog,
    /// Looks offsets and epochs up.
    Lookup,
    /// Sends partitions from disk to disk.
    Mover,
    /// Asks for too much, and for what makes no sense.
    Hostile,
    /// Creates and deletes topics, partitions and records, and changes settings.
    Admin,
    /// Is a member of a group, on and off.
    Member(MemberPlan),
    /// Reads what groups have committed, and deletes offsets and groups.
    GroupsAdmin,
    /// Transfers in transactions.
    Teller(TellerPlan),
    /// Reads the accounts.
    Accountant,
}

impl Role {
    /// The clients of groups: all members, and the administrator.
    fn of_groups(groups: &GroupsPlan) -> impl Iterator<Item = Self> {
        groups.members.iter().map(|member| Self::Member(*member)).chain([Self::GroupsAdmin])
    }

    /// The tellers, and the accountant.
    fn of_bank(bank: &BankPlan) -> impl Iterator<Item = Self> {
        bank.tellers.iter().map(|teller| Self::Teller(*teller)).chain([Self::Accountant])
    }

    /// Whether it is there until all has come to rest.
    pub(crate) fn comes_to_rest(self) -> bool {
        matches!(self, Self::Member(_) | Self::GroupsAdmin | Self::Teller(_) | Self::Accountant)
    }
}

/// How a topic is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicPlan {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) configs: Vec<(&'static str, String)>,
}

/// All that is going to happen.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) length: Duration,
    pub(crate) disks: usize,
    pub(crate) service: ServiceTimes,
    pub(crate) lane_depth: usize,
    /// So many partitions are asked by a round of syncs in a turn.
    pub(crate) partitions_a_turn: usize,
    pub(crate) properties: Properties,
    /// Producers may be turned away, because as many batches wait for a disk as may.
    pub(crate) turns_away: bool,
    pub(crate) flush_interval: Duration,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) topics: Vec<TopicPlan>,
    pub(crate) clients: Vec<(usize, Role)>,
    pub(crate) faults: Vec<(usize, Duration, Fault)>,
    pub(crate) groups: Option<GroupsPlan>,
    pub(crate) bank: Option<BankPlan>,
}

impl Plan {
    fn draw(seed: u64) -> Self {
        let mut dice = Dice::of(seed, "plan", 0);
        let length = match dice.within(0..10) {
            0 => dice.time(MS * 10_000..MS * 40_000),
            1..=3 => dice.time(MS * 5_000..MS * 10_000),
            _ => dice.time(MS * 1_000..MS * 5_000),
        };
        let disks = 1 + dice.place(3);
        let flush_interval = MS * *dice.pick(&[20, 100, 300, 1000]);
        let checkpoint_interval = MS * *dice.pick(&[100, 400, 1500, 5000]);
        let dirs: Vec<String> = (0..disks).map(path_of).collect();
        let (groups, bank) = (GroupsPlan::draw(seed), BankPlan::draw(seed));
        let properties = [
            ("node.id", "1".to_owned()),
            ("log.dirs", dirs.join(",")),
            ("auto.create.topics.enable", "false".to_owned()),
            ("aplomb.flush.interval.ms", flush_interval.as_millis().to_string()),
            ("aplomb.recovery.point.interval.ms", checkpoint_interval.as_millis().to_string()),
            (
                "metadata.log.max.record.bytes.between.snapshots",
                METADATA_SNAPSHOTS[seed as usize % 3].to_owned(),
            ),
            ("aplomb.fetch.memory.bytes", FETCH_MEMORY[seed as usize / 3 % 3].to_owned()),
            ("aplomb.produce.waiting.max.bytes", WAITING[seed as usize / 27 % 3].to_owned()),
            ("log.retention.check.interval.ms", dice.pick(&["300", "2000", "300000"]).to_string()),
            ("log.cleaner.backoff.ms", CLEANER_BACKOFF[seed as usize / 9 % 3].to_owned()),
        ];
        let mut service = ServiceTimes::default();
        if dice.percent(25) {
            service = service.slower_by(dice.time(MS..MS * 8)); // a disk that turns
        }
        let topics = (0..1 + dice.place(4)).map(|n| TopicPlan::draw(n, seed)).collect();
        let mut clients = vec![Role::Admin, Role::IdempotentProducer];
        for (most, role) in [
            (3, Role::IdempotentProducer),
            (2, Role::PlainProducer),
            (3, Role::Follower),
            (2, Role::Backlog),
            (2, Role::Lookup),
        ] {
            clients.extend(std::iter::repeat_n(role, dice.place(most)));
        }
        if disks > 1 {
            clients.push(Role::Mover);
        }
        let mut faults = draw_faults(&mut Dice::of(seed, "faults", 0), length, disks);
        faults.extend(draw_accidents(&mut Dice::of(seed, "accidents", 0), length, disks, faults.len()));
        faults.extend(draw_tail_faults(&mut Dice::of(seed, "tails", 0), length, faults.len()));
        faults.extend(draw_copies(&mut Dice::of(seed, "copies", 0), length, faults.len()));
        let hostile = Dice::of(seed, "hostile", 0).place(3);
        clients.extend(std::iter::repeat_n(Role::Hostile, hostile));
        clients.extend(groups.iter().flat_map(Role::of_groups));
        clients.extend(bank.iter().flat_map(Role::of_bank));
        if bank.is_some() {
            faults.retain(|(_, _, fault)| BankPlan::bears(fault));
        }
        let of_groups = groups.iter().flat_map(GroupsPlan::settings);
        let of_bank = bank.iter().flat_map(BankPlan::settings);
        let properties = properties.into_iter().chain(of_groups).chain(of_bank);
        Self {
            length,
            disks,
            service,
            lane_depth: *dice.pick(&[4, 16, 1024]),
            partitions_a_turn: *Dice::of(seed, "rounds", 0).pick(&[1, 2, 5, 1024]),
            properties: properties.map(|(name, value)| (name.to_owned(), value)).collect(),
            turns_away: WAITING[seed as usize / 27 % 3] != WAITING[0],
            flush_interval,
            checkpoint_interval,
            topics,
            clients: clients.into_iter().enumerate().collect(),
            faults,
            groups,
            bank,
        }
    }
}

impl TopicPlan {
    /// What the names of topics begin with that are there from the beginning to the end.
    pub(crate) const STAYING: &'static str = "t";

    fn draw(number: usize, seed: u64) -> Self {
        Self::named(format!("{}{number}", Self::STAYING), Dice::of(seed, "topic", number as u64))
    }

    /// The name of a topic that comes and goes.
    pub(crate) fn passing_name(number: u64) -> String {
        format!("{PASSING}{number}")
    }

    /// Whether a topic of this name comes and goes.
    pub(crate) fn is_passing(name: &str) -> bool {
        name.starts_with(PASSING)
    }

    /// A topic that comes and goes.
    pub(crate) fn passing(name: &str, seed: u64) -> Self {
        Self::named(name.to_owned(), Dice::new(seed))
    }

    fn named(name: String, mut dice: Dice) -> Self {
        let mut configs = Vec::new();
        if dice.percent(25) {
            configs.push(("flush.messages", "1".to_owned()));
        }
        if dice.percent(60) {
            configs.push(("segment.ms", dice.within(100..2000).to_string()));
        }
        if dice.percent(60) {
            configs.push(("index.interval.bytes", dice.within(0..2000).to_string()));
        }
        if dice.percent(20) {
            configs.push(("segment.index.bytes", dice.within(16..200).to_string()));
        }
        if dice.percent(20) {
            configs.push(("message.timestamp.type", "LogAppendTime".to_owned()));
        }
        if dice.percent(12) {
            configs.push(("retention.ms", dice.within(200..3000).to_string()));
        }
        if dice.percent(12) {
            configs.push(("retention.bytes", dice.within(2_000..40_000).to_string()));
        }
        if dice.percent(20) {
            // Each record has a key of its own: all of them stay, in segments that are others.
            configs.push(("cleanup.policy", "compact,delete".to_owned()));
            configs.push(("min.cleanable.dirty.ratio", dice.pick(&["0.0", "0.3"]).to_string()));
        }
        configs.push(("file.delete.delay.ms", dice.pick(&["0", "50", "1000"]).to_string()));
        Self { name, partitions: 1 + dice.place(3) as i32, configs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_back_as_it_was_written() {
        let mut scenario = Scenario::of_seed(17);
        assert_eq!(scenario.to_string().parse(), Ok(scenario.clone()));
        scenario.millis = Some(2500);
        scenario.without_clients = BTreeSet::from([1, 4]);
        scenario.without_faults = BTreeSet::from([0]);
        assert_eq!(scenario.to_string(), "seed=17 millis=2500 without-clients=1,4 without-faults=0");
        assert_eq!(scenario.to_string().parse(), Ok(scenario.clone()));
        assert_eq!(scenario.arguments(), "--seed 17 --millis 2500 --without-clients 1,4 --without-faults 0");
        assert!("seed=x".parse::<Scenario>().is_err());
    }

    #[test]
    fn what_is_left_out_does_not_change_the_rest() {
        let whole = (0..).map(|seed| Scenario::of_seed(seed).plan()).find(|plan| plan.faults.len() > 2);
        let whole = whole.expect("some seed has faults");
        let mut scenario = (0..)
            .map(Scenario::of_seed)
            .find(|scenario| scenario.plan().faults.len() > 2)
            .expect("some seed has faults");
        scenario.without_faults.insert(1);
        let fewer = scenario.plan();
        let others: Vec<_> = whole.faults.iter().filter(|(number, ..)| *number != 1).collect();
        assert_eq!(format!("{others:?}"), format!("{:?}", fewer.faults.iter().collect::<Vec<_>>()));
    }
}
