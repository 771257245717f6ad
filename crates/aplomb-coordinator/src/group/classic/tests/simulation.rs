//! Many members, a log that refuses, coordinators that move: what always holds, and what is so in
//! the end.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aplomb_model::{ErrorCode as E, SplitMix64};

use super::lab::{JoinSpec, Lab, Log, REBALANCE, SESSION, SyncSpec, code};
use crate::group::GroupReply;
use crate::runtime::Ticket;
use crate::seeds::seeds;

const SEEDS: u64 = 200;
const STEPS: usize = 250;
const CLIENTS: u64 = 7;

#[derive(Clone, Debug, PartialEq)]
enum Doing {
    /// It is not there until it starts again.
    Nothing,
    /// It is to join.
    Starts,
    Joins(Ticket),
    Syncs(Ticket),
    /// It has its assignment.
    Works,
}

#[derive(Debug)]
struct Client {
    join: JoinSpec,
    id: String,
    generation: i32,
    doing: Doing,
    beat: Duration,
    /// How many upheavals there were when it asked for its id.
    upheavals: u32,
    /// In which life of the group it asked to join, which is the one that answers.
    life: u32,
}

/// What a leader has said in one SyncGroup.
#[derive(Debug)]
struct Plan {
    generation: i32,
    /// Members by id, with their instance ids.
    members: BTreeMap<String, Option<String>>,
}

#[derive(Debug)]
struct World {
    lab: Lab,
    random: SplitMix64,
    clients: Vec<Client>,
    plans: Vec<Plan>,
    /// Who was told to assign, by the group's life and generation.
    leaders: HashMap<(u32, i32), String>,
    /// Counts the lives of the group: it may be loaded from what is older, or begin anew.
    life: u32,
    /// How many assignments were told.
    assigned: usize,
    /// Counts what may make the group forget who its members are: it was loaded from the log.
    upheavals: u32,
    /// Whether power is cut at times, and takes some of the newest batches.
    has_cuts: bool,
    /// Whether there was a group.
    was_there: bool,
    now: Duration,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let clients = (0..1 + random.within(0..CLIENTS)).map(|n| {
            let version = i16::try_from(random.within(0..10)).expect("small");
            let mut join = JoinSpec::new().version(version);
            join.protocols = JoinSpec::new().protocols(&["range", "sticky"]).protocols;
            if random.within(0..2) == 0 {
                join.protocols.reverse();
            }
            if version >= 5 && random.within(0..2) == 0 {
                join = join.instance(&format!("i{n}"));
            }
            let (id, generation, doing) = (String::new(), -1, Doing::Starts);
            Client { join, id, generation, doing, beat: Duration::ZERO, upheavals: 0, life: 0 }
        });
        let clients = clients.collect();
        let mut lab = Lab::seeded(seed);
        if random.within(0..4) == 0 {
            lab = lab.with_max_size(3);
        }
        Self {
            lab,
            random,
            clients,
            plans: Vec::new(),
            leaders: HashMap::new(),
            life: 0,
            assigned: 0,
            upheavals: 0,
            has_cuts: false,
            was_there: false,
            now: Duration::ZERO,
        }
    }

    /// Time passes, and every client does what it has to.
    fn step(&mut self, time: Duration) {
        self.lab.pass(time);
        self.now += time;
        for n in 0..self.clients.len() {
            self.note_life();
            match self.clients[n].doing.clone() {
                Doing::Nothing => {}
                Doing::Starts => self.join(n),
                Doing::Joins(ticket) => {
                    if let Some(answer) = self.lab.take(ticket) {
                        self.on_joined(n, answer);
                    }
                }
                Doing::Syncs(ticket) => {
                    if let Some(answer) = self.lab.take(ticket) {
                        self.on_synced(n, answer);
                    }
                }
                Doing::Works if self.now >= self.clients[n].beat => self.beat(n),
                Doing::Works => {}
            }
        }
        self.note_life();
    }

    fn note_life(&mut self) {
        if self.was_there && !self.lab.has_group() {
            self.life += 1;
        }
        self.was_there = self.lab.has_group();
    }

    fn join(&mut self, n: usize) {
        let join = self.clients[n].join.clone().member(&self.clients[n].id);
        if self.clients[n].id.is_empty() {
            self.clients[n].upheavals = self.upheavals;
        }
        self.clients[n].life = self.life;
        self.clients[n].doing = Doing::Joins(self.lab.join(&join));
    }

    fn on_error(&mut self, n: usize, error: E) {
        let client = &mut self.clients[n];
        client.doing = Doing::Starts;
        match error {
            E::UnknownMemberId => client.id.clear(),
            E::FencedInstanceId => {
                // No two clients have one instance id; only a log can tell of its former self.
                assert!(self.upheavals > client.upheavals, "{client:?} was fenced");
                client.id.clear();
            }
            E::GroupMaxSizeReached => {
                client.id.clear();
                client.doing = Doing::Nothing;
            }
            E::RebalanceInProgress
            | E::IllegalGeneration
            | E::CoordinatorNotAvailable
            | E::NotCoordinator
            | E::UnknownServerError => {}
            other => panic!("{other} was not to be told to {client:?}"),
        }
    }

    fn on_joined(&mut self, n: usize, answer: Result<GroupReply, E>) {
        let joined = match answer {
            Ok(GroupReply::Join(joined)) => joined,
            Ok(other) => panic!("no JoinGroup response: {other:?}"),
            Err(error) => return self.on_error(n, error),
        };
        match code(joined.error_code) {
            E::None => {}
            E::MemberIdRequired => {
                self.clients[n].id = joined.member_id;
                return self.join(n);
            }
            error => return self.on_error(n, error),
        }
        let client = &mut self.clients[n];
        (client.id, client.generation) = (joined.member_id.clone(), joined.generation_id);
        let mut sync = SyncSpec {
            instance: client.join.instance.clone(),
            ..SyncSpec::of(&client.id, client.generation)
        };
        let is_to_assign = joined.leader == joined.member_id && !joined.skip_assignment;
        assert_eq!(joined.leader == joined.member_id, !joined.members.is_empty());
        if is_to_assign {
            let told =
                self.leaders.entry((client.life, joined.generation_id)).or_insert(joined.leader.clone());
            assert_eq!(*told, joined.leader, "a generation has one leader");
            let nonce = self.plans.len();
            let members = joined.members.iter();
            sync.assignments =
                members.clone().map(|m| (m.member_id.clone(), format!("{nonce} {}", m.member_id))).collect();
            let members = members.map(|m| (m.member_id.clone(), m.group_instance_id.clone()));
            self.plans.push(Plan { generation: joined.generation_id, members: members.collect() });
        }
        self.clients[n].doing = Doing::Syncs(self.lab.sync(&sync));
    }

    fn on_synced(&mut self, n: usize, answer: Result<GroupReply, E>) {
        let synced = match answer {
            Ok(GroupReply::Sync(synced)) => synced,
            Ok(other) => panic!("no SyncGroup response: {other:?}"),
            Err(error) => return self.on_error(n, error),
        };
        if code(synced.error_code) != E::None {
            assert!(synced.assignment.is_empty());
            return self.on_error(n, code(synced.error_code));
        }
        let client = &mut self.clients[n];
        let said = std::str::from_utf8(&synced.assignment).expect("as it was said");
        let (nonce, member) =
            said.split_once(' ').expect("each member of a generation is assigned something");
        let plan = &self.plans[nonce.parse::<usize>().expect("a number")];
        assert_eq!(plan.generation, client.generation, "an assignment is of its generation");
        let instance = plan.members.get(member).expect("who was told of is assigned to");
        let is_own = member == client.id || (instance.is_some() && *instance == client.join.instance);
        assert!(is_own, "{client:?} was assigned what is {member}'s");
        self.assigned += 1;
        client.doing = Doing::Works;
        client.beat = self.now;
    }

    fn beat(&mut self, n: usize) {
        let client = &self.clients[n];
        let (id, instance, generation) = (client.id.clone(), client.join.instance.clone(), client.generation);
        match self.lab.heartbeat(&id, instance.as_deref(), generation) {
            E::None => self.clients[n].beat = self.now + SESSION / 3,
            error => self.on_error(n, error),
        }
    }

    /// Something goes wrong, or a member comes or goes.
    fn disturb(&mut self) {
        let n = usize::try_from(self.random.within(0..self.clients.len() as u64)).expect("small");
        match self.random.within(0..16) {
            0 => self.lab.log = Log::Refuses(E::NotEnoughReplicas),
            1 => self.lab.log = Log::Holds,
            2..=5 => {
                while self.lab.holds() > 0 {
                    self.lab.keep();
                }
                self.lab.log = Log::Keeps;
            }
            6 if self.lab.holds() > 0 => self.lab.refuse(E::NotLeaderOrFollower),
            7 if self.random.within(0..3) == 0 => {
                if self.has_cuts {
                    let random = &mut self.random;
                    self.lab.lose(12, || random.within(0..2) == 0);
                } else {
                    self.lab.reload();
                }
                self.life += 1;
                self.upheavals += 1;
            }
            8 => self.crash(n),
            9 => self.leave(n),
            10 if self.clients[n].doing == Doing::Works => self.clients[n].doing = Doing::Starts,
            11 => self.clients[n].join.protocols.reverse(),
            12 => {
                // Its connection is gone, and it asks again.
                if let Doing::Joins(ticket) | Doing::Syncs(ticket) = self.clients[n].doing {
                    self.lab.cancel(ticket);
                    self.clients[n].doing = Doing::Starts;
                }
            }
            _ if self.clients[n].doing == Doing::Nothing => self.clients[n].doing = Doing::Starts,
            _ => {}
        }
    }

    fn crash(&mut self, n: usize) {
        if let Doing::Joins(ticket) | Doing::Syncs(ticket) = self.clients[n].doing {
            self.lab.cancel(ticket);
        }
        self.clients[n].id.clear();
        self.clients[n].doing = Doing::Nothing;
    }

    fn leave(&mut self, n: usize) {
        let (id, instance) = (self.clients[n].id.clone(), self.clients[n].join.instance.clone());
        if self.clients[n].doing == Doing::Works && !id.is_empty() && self.lab.log == Log::Keeps {
            let version = if instance.is_some() { 3 } else { self.clients[n].join.version.min(5) };
            self.lab.leave(version, &[(&id, instance.as_deref())]);
            self.crash(n);
        }
    }

    /// Nothing goes wrong any more, and all members are there.
    fn settle(&mut self) {
        while self.lab.holds() > 0 {
            self.lab.keep();
        }
        self.lab.log = Log::Keeps;
        for _ in 0..600 {
            self.step(Duration::from_secs(1));
            for client in &mut self.clients {
                if client.doing == Doing::Nothing {
                    client.doing = Doing::Starts;
                }
            }
        }
    }

    fn run(&mut self) {
        for _ in 0..STEPS {
            let time = Duration::from_millis(self.random.within(0..2_000));
            self.step(time);
            if self.random.within(0..3) == 0 {
                self.disturb();
            }
            if self.random.within(0..100) == 0 {
                self.step(REBALANCE);
            }
        }
        self.settle();
        let most = self.lab.settings().classic.max_size;
        let works: Vec<&Client> = self.clients.iter().filter(|client| client.doing == Doing::Works).collect();
        assert_eq!(self.lab.state(), "Stable");
        assert_eq!(works.len(), self.clients.len().min(most), "all who may are in the group");
        let group = self.lab.group();
        assert_eq!(group.size(), works.len());
        assert!(works.iter().all(|client| client.generation == group.generation()));
        assert!(works.iter().any(|client| Some(client.id.as_str()) == group.leader().map(|id| &**id)));
        assert_eq!(self.lab.waiting(), 0, "whoever asked was answered");
        // The log tells the same of it.
        let state = |lab: &Lab| {
            let group = lab.group();
            let members = group.members().map(|(id, member)| (id.clone(), member.assignment.clone()));
            let members: Vec<_> = members.collect();
            (group.generation(), group.leader().cloned(), group.protocol().map(str::to_owned), members)
        };
        let before = state(&self.lab);
        self.lab.reload();
        assert_eq!(state(&self.lab), before);
    }
}

#[test]
fn whatever_a_power_cut_takes_the_group_is_stable_in_the_end() {
    for seed in seeds(SEEDS) {
        let ran = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.has_cuts = true;
            world.run();
        });
        assert!(ran.is_ok(), "run again with GROUP_SEED={seed}");
    }
}

#[test]
fn whatever_happens_a_group_is_stable_in_the_end() {
    let seeds = seeds(SEEDS);
    let (mut generations, mut lives, mut assigned) = (0, 0, 0);
    for seed in seeds.clone() {
        let ran = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.run();
            (world.leaders.len(), world.life, world.assigned)
        });
        let Ok((formed, lived, told)) = ran else { panic!("run again with GROUP_SEED={seed}") };
        generations += formed;
        lives += lived;
        assigned += told;
    }
    if seeds == (0..SEEDS) {
        let seen = (generations, lives, assigned);
        assert!(generations > 2_000 && lives > 200 && assigned > 4_000, "too little happens: {seen:?}");
    }
}
