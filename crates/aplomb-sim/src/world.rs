//! The world: one broker, its disks, its clients, one clock and one queue of events.
//!
//! Nothing happens but in [`World::step`], in an order that follows from the seed: what is due on the disks, then events, then the shards' and the
//! clients' own wake-ups. `network` is what lies between clients and shards, `outages` what goes wrong and how the broker comes back.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::SecurityProtocol;
use aplomb_broker::message::ShardMessage;
use aplomb_broker::ports::{ConnectionId, Now, Output, Session, Severity, ShardId};
use aplomb_disk_api::Completion;
use aplomb_disk_api::DiskIndex;
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_log::tail::ArenaMemory;
use aplomb_model::{Instant, Timestamp};
use bytes::Bytes;

use super::Syncs;
use super::check::promptness::{Expect, Promptness};
use super::check::{Oracle, PartitionId};
use super::clients::Context;
use super::network::{Connection, Slot};
use super::outages::Outages;
use super::process::{LISTENER, Process};
use super::random::Dice;
use super::scenario::{Plan, Scenario};
use super::trace::Trace;

const MS: Duration = Duration::from_millis(1);
/// The wall clock when the monotonic one starts: 2026-01-01.
const WALL_START: i64 = 1_767_225_600_000;
/// So many steps without the clock moving are a loop.
const SPIN: u32 = 5_000;
/// How often waiting requests are looked at.
const LOOK: Duration = Duration::from_millis(3);
/// How long the last audit may take.
const LAST_AUDIT: Duration = Duration::from_secs(200);

/// Something that happens at its time.
#[derive(Debug)]
pub(crate) enum Event {
    Frame {
        connection: ConnectionId,
        sequence: u64,
        frame: Bytes,
        expect: Expect,
    },
    ClosedByClient {
        connection: ConnectionId,
    },
    Answer {
        connection: ConnectionId,
        frame: Vec<Bytes>,
    },
    ClosedByBroker {
        connection: ConnectionId,
    },
    Message {
        from: ShardId,
        to: ShardId,
        message: ShardMessage,
    },
    Completion {
        shard: ShardId,
        completion: Completion,
    },
    /// A fault, by its place in the plan.
    Fault(usize),
    Thaw {
        disk: usize,
    },
    Hasten {
        disk: usize,
    },
    /// The operator ends a process that lost a disk.
    GiveUp,
    /// A process that was told to stop has not.
    StopDeadline,
    Start,
}

/// The world.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
    pub(crate) disks: Vec<SimDisk>,
    pub(crate) memory: Option<ArenaMemory>,
    pub(crate) process: Option<Box<Process>>,
    pub(crate) oracle: Oracle,
    pub(crate) promptness: Promptness,
    pub(crate) slots: Vec<Slot>,
    pub(crate) connections: BTreeMap<ConnectionId, Connection>,
    pub(crate) next_connection: u64,
    pub(crate) outages: Outages,
    pub(crate) trace: Trace,
    pub(crate) network: Dice,
    /// What is due when; the number keeps the order. The flag says whether it belongs to the process.
    events: BTreeMap<(Instant, u64), (bool, Event)>,
    next_event: u64,
    /// When the last message between two shards, or a disk and a shard, arrives.
    lines: BTreeMap<(u16, u16), Instant>,
    next_look: Instant,
    spun: u32,
}

impl World {
    pub(crate) fn new(scenario: &Scenario, syncs: Syncs, lines: bool) -> Self {
        let plan = Arc::new(scenario.plan());
        let seed = scenario.seed;
        let disk = |n: usize| {
            let options = SimOptions {
                seed: Dice::of(seed, "disk", n as u64).bits(),
                lane_depth: plan.lane_depth,
                service: plan.service.clone(),
                wall_start_ms: WALL_START,
                keeps_what_is_synced: syncs == Syncs::Kept,
                ..SimOptions::default()
            };
            SimDisk::new(DiskIndex(n as u16), options)
        };
        let now = Instant::START;
        let mut world = Self {
            now,
            seed,
            disks: (0..plan.disks).map(disk).collect(),
            memory: None,
            process: None,
            oracle: Oracle::new(plan.checkpoint_interval, now),
            promptness: Promptness::new(plan.disks, now),
            slots: Slot::all(&plan, seed),
            connections: BTreeMap::new(),
            next_connection: 0,
            outages: Outages::new(plan.disks),
            trace: Trace::new(lines),
            network: Dice::of(seed, "network", 0),
            events: BTreeMap::new(),
            next_event: 0,
            lines: BTreeMap::new(),
            next_look: now,
            spun: 0,
            plan,
        };
        world.at(now + MS, Event::Start);
        for (place, (_, at, _)) in world.plan.clone().faults.iter().enumerate() {
            world.at(now + *at, Event::Fault(place));
        }
        world
    }

    /// Runs to the end of the plan, then has everything looked at once more. The error is what is wrong.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let end = self.now + self.plan.length;
        while self.now < end {
            self.step(end)?;
        }
        self.trace.say(self.now, || "the end: everything is looked at once more".to_owned());
        self.finish();
        let limit = self.now + LAST_AUDIT;
        while !self.is_audited() {
            if self.now >= limit {
                return Err("the last audit does not come to an end".to_owned());
            }
            self.step(limit)?;
        }
        Ok(())
    }

    pub(crate) fn wall(&self) -> Timestamp {
        let elapsed = i64::try_from(self.now.since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        Timestamp(WALL_START + elapsed)
    }

    pub(crate) fn clocks(&self) -> Now {
        Now { instant: self.now, wall: self.wall() }
    }

    /// Something will happen, whatever becomes of the process.
    pub(crate) fn at(&mut self, when: Instant, event: Event) {
        self.put(when, false, event);
    }

    /// Something will happen, unless the process is gone by then.
    pub(crate) fn at_process(&mut self, when: Instant, event: Event) {
        self.put(when, true, event);
    }

    fn put(&mut self, when: Instant, of_process: bool, event: Event) {
        self.events.insert((when.max(self.now), self.next_event), (of_process, event));
        self.next_event += 1;
    }

    /// Whether answers are still on their way to clients.
    pub(crate) fn has_answers(&self) -> bool {
        self.events.values().any(|(_, event)| matches!(event, Event::Answer { .. }))
    }

    /// The process is gone, and all that was on its way to it.
    pub(crate) fn forget_process_events(&mut self) {
        self.events.retain(|_, (of_process, _)| !*of_process);
        self.lines.clear();
    }

    /// Goes on to the next thing that happens, at the latest to `limit`.
    fn step(&mut self, limit: Instant) -> Result<(), String> {
        let next = self.next_moment().unwrap_or(limit).min(limit).max(self.now);
        self.spun = if next == self.now { self.spun + 1 } else { 0 };
        if self.spun > SPIN {
            return Err("the clock does not move any more: something spins".to_owned());
        }
        self.now = next;
        self.run_disks();
        while let Some(((when, _), _)) = self.events.first_key_value()
            && *when <= self.now
            && self.oracle.violation().is_none()
        {
            let (_, (_, event)) = self.events.pop_first().expect("there is a first");
            self.handle(event);
        }
        self.wake_shards();
        self.wake_clients();
        self.look()?;
        self.oracle.violation().map_or(Ok(()), |wrong| Err(wrong.to_owned()))
    }

    fn next_moment(&mut self) -> Option<Instant> {
        let event = self.events.first_key_value().map(|((when, _), _)| *when);
        let disks = self.disks.iter().filter_map(SimDisk::next_event).min();
        let shards = self.process.iter_mut().flat_map(|process| &mut process.shards);
        let shards = shards.filter_map(aplomb_broker::Shard::wake_at).min();
        [event, disks, shards, self.next_client()].into_iter().flatten().min()
    }

    fn run_disks(&mut self) {
        for (n, disk) in self.disks.iter().enumerate() {
            if disk.next_event().is_some_and(|at| at <= self.now) {
                disk.advance(self.now);
                self.trace.event(self.now, "disk", &[n as u64]);
            }
        }
        let Some(process) = &self.process else { return };
        for (shard, completion) in process.take_completions() {
            let line = (1000 + completion.disk.0, shard.0);
            let when = self.delayed(line);
            self.at_process(when, Event::Completion { shard, completion });
        }
        self.notice_lost_disks();
    }

    /// When something arrives that is sent now over a line that keeps the order.
    fn delayed(&mut self, line: (u16, u16)) -> Instant {
        let dice = &mut self.network;
        let micros = match dice.within(0..100) {
            0 => dice.within(500..4000),
            1..=19 => dice.within(60..500),
            _ => dice.within(5..60),
        };
        let last = self.lines.entry(line).or_insert(Instant::START);
        *last = (*last).max(self.now + Duration::from_micros(micros));
        *last
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Frame { connection, sequence, frame, expect } => {
                self.deliver_frame(connection, sequence, frame, expect);
            }
            Event::ClosedByClient { connection } => {
                self.trace.event(self.now, "closed", &[connection.number]);
                self.turn(connection.shard, |shard, now, out| {
                    shard.on_connection_closed(connection, now, out)
                });
            }
            Event::Answer { connection, frame } => {
                self.deliver_answer(connection, &frame);
                self.end_if_stopped();
            }
            Event::ClosedByBroker { connection } => self.drop_connection(connection),
            Event::Message { from, to, message } => {
                self.trace.event(self.now, "message", &[from.0.into(), to.0.into()]);
                self.turn(to, |shard, now, out| shard.on_message(from, message, now, out));
            }
            Event::Completion { shard, completion } => {
                let numbers = [completion.disk.0.into(), shard.0.into(), completion.ticket.0];
                self.trace.event(self.now, "completion", &numbers);
                self.turn(shard, |shard, now, out| shard.on_completion(completion, now, out));
            }
            Event::Fault(place) => self.strike(place),
            Event::Thaw { disk } => self.thaw(disk),
            Event::Hasten { disk } => self.hasten(disk),
            Event::GiveUp => self.kill(false),
            Event::StopDeadline => {
                self.trace.say(self.now, || "it did not stop in time".to_owned());
                self.kill(false);
            }
            Event::Start => self.start(),
        }
    }

    fn wake_shards(&mut self) {
        let count = self.process.as_ref().map_or(0, |process| process.shards.len());
        for n in 0..count {
            let Some(process) = &mut self.process else { return };
            if process.shards[n].wake_at().is_some_and(|at| at <= self.now) {
                self.trace.event(self.now, "wake", &[n as u64]);
                self.turn(ShardId(n as u16), |shard, now, out| shard.on_wake(now, out));
            }
        }
    }

    /// A shard has its turn, and what comes of it is carried on; unless the process dies in it.
    pub(crate) fn turn(
        &mut self,
        id: ShardId,
        turn: impl FnOnce(&mut aplomb_broker::Shard, Now, &mut Vec<Output>),
    ) {
        let now = self.clocks();
        let Some(process) = &mut self.process else { return };
        let mut out = Vec::new();
        turn(&mut process.shards[usize::from(id.0)], now, &mut out);
        if process.life.is_over() {
            self.trace.event(self.now, "killed in its turn", &[id.0.into()]);
            return self.kill(false);
        }
        for output in out {
            match output {
                Output::Reply { id, reply } => self.reply(id, reply),
                Output::Send { to, message } => {
                    let when = self.delayed((id.0, to.0));
                    self.at_process(when, Event::Message { from: id, to, message });
                }
                // Connections are not simulated.
                Output::ConnectionLimits { .. } => {}
                Output::Event(event) => {
                    self.trace.say(self.now, || format!("{}: {}", event.room, event.text));
                    let expected =
                        event.text.contains("offline") || event.text.contains("metadata cannot be written");
                    if event.severity == Severity::Error && !expected {
                        self.oracle.violated(format!("{}: {}", event.room, event.text));
                    }
                }
            }
        }
        self.note_room();
        self.end_if_stopped();
    }

    fn note_room(&mut self) {
        let Some(process) = &self.process else { return };
        for (disk, share) in process.shares.iter().enumerate() {
            let stats = share.stats();
            let room = stats.free + stats.cached;
            if room < (stats.chunks / 4).max(10) {
                self.promptness.is_tight(disk, self.now);
            }
        }
    }

    /// Looks for requests that wait too long.
    fn look(&mut self) -> Result<(), String> {
        if self.now < self.next_look || self.process.is_none() {
            return Ok(());
        }
        self.next_look = self.now + LOOK;
        let (disks, oracle) = (&self.disks, &self.oracle);
        let mut disks_of = |partition| places_of(partition, disks, oracle);
        self.promptness.check(self.now, &mut disks_of, self.oracle.calm.since(), &self.outages.lost)
    }

    /// What happened in a client's turn is carried on.
    pub(crate) fn note_appended(&mut self) {
        for (partition, place) in std::mem::take(&mut self.oracle.journal.fresh) {
            let disks = places_of(partition, &self.disks, &self.oracle);
            self.promptness.appended(partition, place, &disks, self.now);
        }
    }

    /// A client's turn.
    pub(crate) fn client_turn(
        &mut self,
        slot: usize,
        turn: impl FnOnce(&mut dyn super::clients::Client, &mut Context<'_>),
    ) {
        let plan = self.plan.clone();
        let clocks = (self.now, self.wall());
        let Slot { client, dice, correlation, .. } = &mut self.slots[slot];
        let mut ctx = Context::new(clocks, dice, &mut self.oracle, &plan, correlation, self.trace.is_read());
        turn(client.as_mut(), &mut ctx);
        let (actions, notes) = (ctx.actions, ctx.notes);
        for note in notes.into_iter().flatten() {
            self.trace.say(self.now, || format!("client {slot}: {note}"));
        }
        self.act(slot, actions);
        for topic in std::mem::take(&mut self.oracle.cluster.gone) {
            self.oracle.journal.forget(topic);
        }
        self.note_appended();
    }

    /// Adds to the trace how things stand on the disks and in the tail.
    pub(crate) fn show(&mut self) {
        if !self.trace.is_read() {
            return;
        }
        let mut lines = Vec::new();
        for (n, disk) in self.disks.iter().enumerate() {
            lines.push(format!("disk {n}: {:?}", disk.stats()));
            lines.extend(disk.image().iter().map(|(name, content)| {
                let text =
                    if name.ends_with("checkpoint") { String::from_utf8_lossy(content) } else { "".into() };
                let durable = disk.durable(name).map_or(0, |durable| durable.len());
                format!("  {name}: {} bytes ({durable}) {}", content.len(), text.replace('\n', "; "))
            }));
        }
        for share in self.process.iter().flat_map(|process| &process.shares) {
            lines.push(format!("{:?}", share.stats()));
        }
        for line in lines {
            self.trace.say(self.now, || line);
        }
    }

    /// Who every client is.
    pub(crate) fn session() -> Arc<Session> {
        let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Arc::new(Session::anonymous(home, LISTENER.into(), SecurityProtocol::Plaintext))
    }
}

/// The disks that a partition's directory is on: several while it moves.
fn places_of(partition: PartitionId, disks: &[SimDisk], oracle: &Oracle) -> Vec<usize> {
    let Some(name) = oracle.cluster.name_of(partition.topic) else { return Vec::new() };
    let file = format!("{name}-{}/partition.metadata", partition.index);
    let id = partition.topic.to_string();
    let is_here = |disk: &SimDisk| {
        disk.file(&file).is_some_and(|content| String::from_utf8_lossy(&content).contains(&id))
    };
    (0..disks.len()).filter(|n| is_here(&disks[*n])).collect()
}
