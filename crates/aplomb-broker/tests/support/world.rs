//! The clock, the disks, the process and what it has answered.
//! Nothing happens but in [`World::step_to`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{Properties, SecurityProtocol};
use aplomb_broker::figures::{PartitionFigures, ShardFigures};
use aplomb_broker::ports::{ConnectionId, Event, Now, Reply, Request, RequestId, Session, ShardId};
use aplomb_broker::quotas::ConnectionRates;
use aplomb_disk_api::DiskIndex;
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_log::tail::ArenaMemory;
use aplomb_model::{Instant, Timestamp};
use bytes::Bytes;

use super::broker::Setup;
use super::process::{Ground, Process, Said, path_of};

/// How long a start may take to load what is there.
const LOADING: Duration = Duration::from_secs(60);

/// The wall clock when the monotonic one starts: 2026-01-01.
const WALL_START: i64 = 1_767_225_600_000;
/// So many turns without the clock moving are a loop.
const SPIN: u32 = 100_000;

pub(super) struct World {
    pub(super) now: Instant,
    pub(super) disks: Vec<SimDisk>,
    pub(super) events: Vec<Event>,
    /// How many connections there may be, in all and from one address, since that was changed.
    pub(super) limits: Option<(u32, u32)>,
    /// How many new connections there may be in a second.
    pub(super) rates: ConnectionRates,
    /// Answers that no client has read yet. Their bytes take the broker's memory until then.
    replies: BTreeMap<RequestId, Reply>,
    process: Option<Process>,
    memory: Option<ArenaMemory>,
    /// Those that are not anyone's.
    sessions: BTreeMap<ConnectionId, Arc<Session>>,
    anyone: Arc<Session>,
    setup: Setup,
    properties: Properties,
    starts: u64,
    connections: u64,
    requests: u64,
}

impl World {
    pub(super) fn new(setup: Setup) -> Self {
        let disk = |n: usize| {
            let options = SimOptions {
                seed: n as u64,
                lane_depth: setup.lane_depth,
                wall_start_ms: WALL_START,
                ..SimOptions::default()
            };
            SimDisk::new(DiskIndex(n as u16), options)
        };
        let paths: Vec<String> = (0..setup.disks).map(path_of).collect();
        let mut properties = Properties::new();
        properties.insert("node.id".to_owned(), super::process::NODE.to_string());
        properties.insert("log.dirs".to_owned(), paths.join(","));
        properties.insert("auto.create.topics.enable".to_owned(), "false".to_owned());
        properties.extend(setup.settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Self {
            // Not the very beginning: an absent time must not pass for it.
            now: Instant::START + super::SECOND,
            disks: (0..setup.disks).map(disk).collect(),
            events: Vec::new(),
            limits: None,
            rates: ConnectionRates::default(),
            replies: BTreeMap::new(),
            process: None,
            memory: None,
            sessions: BTreeMap::new(),
            anyone: Arc::new(Process::anyone(SecurityProtocol::Plaintext)),
            properties,
            setup,
            starts: 0,
            connections: 0,
            requests: 0,
        }
    }

    pub(super) fn clocks(&self) -> Now {
        let elapsed = i64::try_from(self.now.since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        Now { instant: self.now, wall: Timestamp(WALL_START + elapsed) }
    }

    /// Starts on the first `disks` disks; the others cannot be had. Clients come when everything is
    /// loaded, or is not to be had.
    pub(super) fn start(&mut self, disks: usize) -> Result<(), String> {
        self.start_loading(disks)?;
        let limit = self.now + LOADING;
        while !self.process.as_ref().is_none_or(Process::is_loaded) && self.step_to(limit) {}
        Ok(())
    }

    /// The same, and clients come at once.
    pub(super) fn start_loading(&mut self, disks: usize) -> Result<(), String> {
        assert!(self.process.is_none(), "the broker is up");
        self.starts += 1;
        let ground = Ground {
            disks: &self.disks[..disks],
            lost: (disks..self.disks.len()).map(path_of).collect(),
            properties: &self.properties,
            shards: self.setup.shards,
            chunks: self.setup.chunks,
            mail_takes: self.setup.mail_takes,
            start: self.starts,
            now: self.clocks(),
        };
        self.process = Some(Process::start(&ground, self.memory.take())?);
        self.settle();
        Ok(())
    }

    /// What can be seen of the shards.
    pub(super) fn figures(&self) -> Vec<Arc<ShardFigures>> {
        self.process.as_ref().expect("the broker is up").figures()
    }

    /// The figures of partitions that have come since this was asked last.
    pub(super) fn take_newcomers(&self) -> Vec<Arc<PartitionFigures>> {
        self.process.as_ref().expect("the broker is up").take_newcomers()
    }

    pub(super) fn turns_of_head(&self) -> u64 {
        self.process.as_ref().expect("the broker is up").turns_of_head()
    }

    pub(super) fn take_most_commands(&mut self) -> usize {
        self.running().take_most_commands()
    }

    pub(super) fn noted(&self) -> usize {
        self.process.as_ref().expect("the broker is up").noted()
    }

    pub(super) fn most_replies(&self) -> usize {
        self.process.as_ref().expect("the broker is up").most_replies()
    }

    /// The process ends here; what it held in the tail is kept if it has to be.
    pub(super) fn end(&mut self, killed: bool) {
        let process = self.process.take().expect("a broker that ends was up");
        // Answers that lie in a socket lend memory of the tail: they go with the process.
        self.replies.clear();
        self.memory = process.into_memory(killed);
        self.disks.iter().for_each(SimDisk::process_killed);
    }

    /// The power goes, and with it all memory.
    pub(super) fn cut_power(&mut self) {
        self.process = None;
        self.memory = None;
        self.replies.clear();
        self.disks.iter().for_each(SimDisk::power_cut);
    }

    pub(super) fn begin_stop(&mut self) {
        let now = self.clocks();
        self.running().begin_stop(now);
        self.settle();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.process.as_ref().is_some_and(Process::is_stopped)
    }

    pub(super) fn connect(&mut self, shard: u16) -> ConnectionId {
        self.connections += 1;
        ConnectionId { shard: ShardId(1 + shard), number: self.connections }
    }

    /// Whose requests those of a connection are from now on.
    pub(super) fn identify(&mut self, connection: ConnectionId, session: Session) {
        self.sessions.insert(connection, Arc::new(session));
    }

    pub(super) fn close(&mut self, connection: ConnectionId) {
        let now = self.clocks();
        self.replies.retain(|id, _| id.connection != connection);
        self.running().on_connection_closed(connection, now);
        self.settle();
    }

    pub(super) fn send(&mut self, connection: ConnectionId, frame: Bytes) -> RequestId {
        let now = self.clocks();
        let id = RequestId { connection, sequence: self.requests };
        self.requests += 1;
        let session = self.sessions.get(&connection).unwrap_or(&self.anyone).clone();
        self.running().on_frame(Request { id, frame, session, spent: Duration::ZERO }, now);
        id
    }

    pub(super) fn is_answered(&self, id: RequestId) -> bool {
        self.replies.contains_key(&id)
    }

    pub(super) fn take_reply(&mut self, id: RequestId) -> Option<Reply> {
        self.replies.remove(&id)
    }

    /// Goes on to the next thing that happens, at the latest to `limit`; false if nothing does.
    pub(super) fn step_to(&mut self, limit: Instant) -> bool {
        let disks = self.disks.iter().filter_map(SimDisk::next_event).min();
        let shards = self.process.as_ref().and_then(Process::wake_at);
        let next = [disks, shards].into_iter().flatten().min().filter(|next| *next <= limit);
        self.now = next.unwrap_or(limit).max(self.now);
        self.settle();
        next.is_some()
    }

    /// Does all that is due now.
    pub(super) fn settle(&mut self) {
        let now = self.clocks();
        for _ in 0..SPIN {
            let due = |disk: &&SimDisk| disk.next_event().is_some_and(|at| at <= now.instant);
            self.disks.iter().filter(due).for_each(|disk| disk.advance(now.instant));
            let Some(process) = &mut self.process else { return };
            let busy = process.do_what_is_due(now);
            for said in process.take_said() {
                match said {
                    Said::Event(event) => self.events.push(event),
                    Said::Rates(rates) => self.rates = rates,
                    Said::Limits { total, per_ip } => self.limits = Some((total, per_ip)),
                    Said::Reply(id, reply) => {
                        let before = self.replies.insert(id, reply);
                        assert!(before.is_none(), "{id:?} is answered twice");
                    }
                }
            }
            if !busy {
                return;
            }
        }
        panic!("the clock does not move any more: something spins");
    }

    fn running(&mut self) -> &mut Process {
        self.process.as_mut().expect("the broker is down")
    }
}
