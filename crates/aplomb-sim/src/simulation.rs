//! One broker, its clients, and what goes wrong with them, step by step.
//!
//! Nothing happens but in [`Simulation::step`], in an order that follows from the seed: what is due
//! on the disks, then events, then the shards' and the clients' own wake-ups. `network` is what
//! lies between clients and shards, `outages` the process with all that happens to it.

use std::time::Duration;

use aplomb_broker::Output;
use aplomb_broker::Shard;
use aplomb_broker::ports::{Now, Severity, ShardId};
use aplomb_disk_api::sim::SimDisk;
use aplomb_model::Instant;

use super::agenda::{Event, Line};
use super::mailboxes::Mailboxes;
use super::network::Network;
use super::outages::{Next, Outages};
use super::scenario::Scenario;
use super::world::World;
use super::{Summary, Syncs};

/// How often waiting requests are looked at.
const LOOK: Duration = Duration::from_millis(3);
/// A share with fewer chunks may have none for a log of the broker's own.
const FULL: usize = 4;
/// A share that remembers more than a batch for so many bytes may have no room for another: an
/// eighth less than `aplomb-log` has room for.
const BYTES_PER_BATCH: u64 = 146;
/// How long groups may take to come to rest, when nothing goes wrong any more.
const REST: Duration = Duration::from_secs(60);
/// A reader that has just got something has this for more.
const READS_ON: Duration = Duration::from_secs(5);
/// How long the last audit may take.
const LAST_AUDIT: Duration = Duration::from_secs(200);

/// A run under way.
pub(crate) struct Simulation {
    world: World,
    network: Network,
    outages: Outages,
    mailboxes: Mailboxes,
    next_look: Instant,
}

impl Simulation {
    /// A scenario on the kind of disks that `syncs` says. With `lines`, the trace can be read.
    pub(crate) fn new(scenario: &Scenario, syncs: Syncs, lines: bool) -> Self {
        let world = World::new(scenario, syncs, lines);
        let network = Network::new(&world.plan, world.seed);
        let outages = Outages::new(world.plan.disks);
        let mailboxes = Mailboxes::new(world.seed);
        Self { next_look: world.now(), world, network, outages, mailboxes }
    }

    /// Runs to the end of the plan, then has everything looked at once more. The error is what is
    /// wrong.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        let end = self.world.now() + self.world.plan.length;
        while self.world.now() < end {
            self.step(end)?;
        }
        self.world.say(|| "the end: everything is looked at once more".to_owned());
        let next = self.outages.finish(&mut self.world, &mut self.network);
        self.go_on(next);
        let limit = self.world.now() + LAST_AUDIT;
        while !self.outages.is_audited(&self.network) {
            if self.world.now() >= limit {
                return Err("the last audit does not come to an end".to_owned());
            }
            self.step(limit)?;
        }
        self.rest()
    }

    /// Nothing goes wrong any more: members of groups and tellers come once more. In the end every
    /// group is stable, and every transfer is whole.
    fn rest(&mut self) -> Result<(), String> {
        if self.world.plan.groups.is_none() && self.world.plan.bank.is_none() {
            return Ok(());
        }
        self.world.say(|| "members and tellers come to rest".to_owned());
        let now = self.world.now();
        self.world.oracle.groups.begin_rest(now);
        self.world.oracle.bank.begin_rest();
        self.network.let_members_in();
        let mut limit = self.world.now() + REST;
        let mut read = 0;
        loop {
            let Err(why) = self.world.check_rest() else { return Ok(()) };
            // With the least memory for fetches a reader gets one batch at a time.
            if self.world.oracle.bank.read() > read {
                read = self.world.oracle.bank.read();
                limit = limit.max(self.world.now() + READS_ON);
            }
            if self.world.now() >= limit {
                return Err(format!("it does not come to rest: {why}"));
            }
            self.step(limit)?;
        }
    }

    /// Goes on to the next thing that happens, at the latest to `limit`.
    fn step(&mut self, limit: Instant) -> Result<(), String> {
        let next = self.next_moment().unwrap_or(limit).min(limit);
        self.world.agenda.advance(next)?;
        self.run_disks();
        while self.world.oracle.violation().is_none()
            && let Some(event) = self.world.agenda.take_due()
        {
            self.handle(event);
        }
        self.wake_shards();
        self.outages.notice_loaded(&mut self.world, &mut self.network);
        self.network.wake(self.outages.door(), &mut self.world);
        self.outages.after_audit(&mut self.world, &mut self.network);
        self.look_for_late()?;
        self.world.oracle.violation().map_or(Ok(()), |wrong| Err(wrong.to_owned()))
    }

    fn next_moment(&mut self) -> Option<Instant> {
        let event = self.world.agenda.next();
        let disks = self.world.disks.iter().filter_map(SimDisk::next_event).min();
        let client = self.network.next_wake(self.outages.door());
        let shards = self.outages.process().into_iter().flat_map(|process| &process.shards);
        let shards = shards.filter_map(Shard::wake_at).min();
        let mailboxes = self.mailboxes.change_at(self.world.now());
        [event, disks, shards, mailboxes, client].into_iter().flatten().min()
    }

    fn run_disks(&mut self) {
        let world = &mut self.world;
        let now = world.now();
        for (n, disk) in world.disks.iter().enumerate() {
            if disk.next_event().is_some_and(|at| at <= now) {
                disk.advance(now);
                world.trace.event(now, "disk", &[n as u64]);
            }
        }
        let Some(process) = self.outages.process() else { return };
        for (shard, completion) in process.take_completions() {
            let when = world.agenda.arrival(Line::Disk(completion.disk.0, shard));
            world.agenda.at_process(when, Event::Completion { shard, completion });
        }
        self.outages.notice_lost_disks(world);
    }

    fn handle(&mut self, event: Event) {
        let (world, network, outages) = (&mut self.world, &mut self.network, &mut self.outages);
        match event {
            Event::Frame { connection, sequence, frame, expect } => {
                if outages.is_stopping() {
                    return; // it reads no more
                }
                let request = network.frame_arrives(connection, sequence, frame, expect, world);
                if let Some(request) = request {
                    self.turn(connection.shard, |shard, now| shard.on_request(request, now));
                }
            }
            Event::ClosedByClient { connection } => {
                world.note("closed", &[connection.number]);
                self.turn(connection.shard, |shard, now| shard.on_connection_closed(connection, now));
            }
            Event::Answer { connection, frame } => {
                network.answer_arrives(connection, &frame, world);
                outages.end_if_stopped(world, network);
            }
            Event::ClosedByBroker { connection } => network.drop_connection(connection, world),
            Event::Message { from, to, message } => {
                world.note("message", &[from.0.into(), to.0.into()]);
                self.turn(to, |shard, now| shard.on_message(from, message, now));
            }
            Event::Completion { shard, completion } => {
                let numbers = [completion.disk.0.into(), shard.0.into(), completion.ticket.0];
                world.note("completion", &numbers);
                self.turn(shard, |shard, now| shard.on_completion(completion, now));
            }
            Event::Fault(place) => {
                let next = outages.strike(place, world, network);
                self.go_on(next);
            }
            Event::Thaw { disk } => outages.thaw(disk, world),
            Event::Hasten { disk } => outages.hasten(disk, world),
            Event::TailLook => outages.look_at_tail(world, network),
            Event::GiveUp => outages.kill(world, network),
            Event::StopDeadline => {
                world.say(|| "it did not stop in time".to_owned());
                outages.kill(world, network);
            }
            Event::Start => outages.start(world, network),
        }
    }

    fn go_on(&mut self, next: Next) {
        match next {
            Next::GoOn => {}
            Next::TellShardsToStop => {
                for n in 0..self.outages.shards() {
                    self.turn(ShardId(n as u16), |shard, now| shard.begin_stop(now));
                }
            }
        }
    }

    fn wake_shards(&mut self) {
        for n in 0..self.outages.shards() {
            let now = self.world.now();
            let Some(process) = self.outages.process_mut() else { return };
            process.shards[n].set_congested(self.mailboxes.are_full(now));
            if process.shards[n].wake_at().is_some_and(|at| at <= now) {
                self.world.note("wake", &[n as u64]);
                self.turn(ShardId(n as u16), |shard, now| shard.on_wake(now));
            }
        }
    }

    /// A shard has its turn, and what comes of it is carried on; unless the process dies in it.
    fn turn(&mut self, id: ShardId, turn: impl FnOnce(&mut Shard, Now)) {
        let (world, network, outages) = (&mut self.world, &mut self.network, &mut self.outages);
        let Some(process) = outages.process_mut() else { return };
        let mut out = Vec::new();
        let (shard, now) = (&mut process.shards[usize::from(id.0)], world.clocks());
        turn(shard, now);
        shard.settle(now, &mut out);
        if process.life.is_over() {
            world.note("killed in its turn", &[id.0.into()]);
            return outages.kill(world, network);
        }
        for output in out {
            match output {
                Output::Reply { id, reply } => network.reply(id, reply, world),
                Output::Send { to, message } => {
                    let when = world.agenda.arrival(Line::Shards(id, to));
                    world.agenda.at_process(when, Event::Message { from: id, to, message });
                }
                // Connections are not simulated.
                Output::ConnectionLimits { .. } | Output::ConnectionRates(_) | Output::Users(_) => {}
                Output::Event(event) => {
                    world.say(|| format!("{}: {}", event.room, event.text));
                    // A directory that was taken away cannot be copied either.
                    let of_a_loss = event.text.contains("there is no such file") && world.oracle.disk_lost;
                    let of_a_loss = of_a_loss
                        || event.text.contains("cannot be loaded: Error { error: KafkaStorageError")
                            && world.oracle.disk_lost;
                    let expected = of_a_loss
                        || event.text.contains("offline")
                        || event.text.contains("metadata cannot be written");
                    if event.severity == Severity::Error && !expected {
                        world.oracle.violated(format!("{}: {}", event.room, event.text));
                    }
                }
            }
        }
        self.note_tight_shares();
        self.outages.end_if_stopped(&mut self.world, &mut self.network);
    }

    fn note_tight_shares(&mut self) {
        let Some(process) = self.outages.process() else { return };
        for (disk, share) in process.order.iter().zip(&process.shares) {
            let stats = share.stats();
            let room = stats.free + stats.cached;
            let batches = stats.batches * BYTES_PER_BATCH;
            let is_full = room < FULL || batches > stats.chunks as u64 * u64::from(stats.chunk_size);
            if is_full {
                self.world.promptness.is_full(self.world.agenda.now());
            }
            if room < (stats.chunks / 4).max(10) {
                self.world.promptness.is_tight(*disk, self.world.agenda.now());
            }
        }
    }

    fn look_for_late(&mut self) -> Result<(), String> {
        let now = self.world.now();
        if now < self.next_look || self.outages.process().is_none() {
            return Ok(());
        }
        self.next_look = now + LOOK;
        self.world.look_for_late(self.outages.lost())
    }

    /// Adds to the trace how things stand.
    pub(crate) fn show(&mut self) {
        self.outages.show(&mut self.world);
    }

    /// What was done so far, and the lines of the trace.
    pub(crate) fn into_summary(self) -> (Summary, Vec<String>) {
        let journal = &self.world.oracle.journal;
        let summary = Summary {
            digest: self.world.trace.digest(),
            time: self.world.now().since(Instant::START),
            acknowledged: journal.acknowledged,
            read: journal.read,
            lost: journal.lost,
            starts: self.outages.restarts(),
            slowest: self.world.promptness.slowest,
        };
        (summary, self.world.trace.into_lines())
    }
}
