//! The broker's process: what goes wrong with it and its disks, how it ends, and how it comes back.

use std::time::Duration;

use aplomb_broker::startup::TailRecord;
use aplomb_disk_api::sim::Fault as DiskFault;
use aplomb_log::tail::CrashSwitch;

use super::agenda::Event;
use super::check::journal::Contract;
use super::directories;
use super::faults::{CutStart, Down, Fault, HowDown};
use super::harm::TailFault;
use super::machine::Machine;
use super::mortal::Life;
use super::network::{Door, Network};
use super::process::{Process, Shape, Start, Started};
use super::random::Dice;
use super::scenario::path_of;
use super::tails::Tails;
use super::troubles::Troubles;
use super::world::World;

const MS: Duration = Duration::from_millis(1);
/// How long a process that was told to stop may take (`aplomb serve` gives it as long).
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// What syncs and the like may take beyond their intervals, while the disks are well.
const MARGIN: Duration = Duration::from_millis(400);
/// A start that fails so often for a disk's error does not get better.
const STARTS: u32 = 20;

/// What the caller has to do next.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    /// A stop has begun: each shard is to be told.
    TellShardsToStop,
}

/// The process, if there is one, and what has happened to it.
pub(crate) struct Outages {
    process: Option<Box<Process>>,
    /// The process loads its partitions, and clients cannot come yet.
    loading: bool,
    /// Clients come before all of it is loaded.
    serves_early: bool,
    machine: Machine,
    tails: Tails,
    troubles: Troubles,
    /// The process was told to stop.
    stopping: bool,
    /// How the process that is ending ends, and how long it is down then.
    down: Option<Down>,
    /// Starts that are cut short before one succeeds.
    cut_starts: Vec<CutStart>,
    /// Until the auditor is done, no other client comes.
    audit_first: bool,
    /// An operation of some disk is to fail: a start may be the one to find out.
    armed: bool,
    /// The last process had lost the last disk: the next ones may begin without it.
    away: bool,
    /// The plan is over: no more faults, and the last audit is under way or to come.
    finishing: bool,
    starts: u64,
    refused: u32,
    restarts: u64,
}

impl Outages {
    pub(crate) fn new(disks: usize) -> Self {
        Self {
            process: None,
            loading: false,
            serves_early: false,
            machine: Machine::default(),
            tails: Tails::default(),
            troubles: Troubles::none(disks),
            stopping: false,
            down: None,
            cut_starts: Vec::new(),
            audit_first: false,
            armed: false,
            away: false,
            finishing: false,
            starts: 0,
            refused: 0,
            restarts: 0,
        }
    }

    pub(crate) fn process(&self) -> Option<&Process> {
        self.process.as_deref()
    }

    pub(crate) fn process_mut(&mut self) -> Option<&mut Process> {
        self.process.as_deref_mut()
    }

    /// How many shards the process has; none if there is no process.
    pub(crate) fn shards(&self) -> usize {
        self.process().map_or(0, |process| process.shards.len())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// The disks that this process has lost.
    pub(crate) fn lost(&self) -> &[bool] {
        self.troubles.lost()
    }

    /// How often the broker came up.
    pub(crate) fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Whom the broker lets in, if it listens.
    pub(crate) fn door(&self) -> Option<Door> {
        let process = self.process().filter(|_| !self.stopping && !self.loading)?;
        Some(Door { shards: process.shards.len(), auditor_only: self.audit_first })
    }

    /// A fault of the plan strikes, if there is a process that it can strike.
    pub(crate) fn strike(&mut self, place: usize, world: &mut World, network: &mut Network) -> Next {
        if self.process.is_none() || self.stopping || self.down.is_some() || self.finishing {
            return Next::GoOn;
        }
        let plan = world.plan.clone();
        let (number, _, fault) = &plan.faults[place];
        world.note("fault", &[*number as u64]);
        world.say(|| format!("fault {number}: {fault:?}"));
        let now = world.now();
        match fault.clone() {
            Fault::Down(down) => return self.go_down(down, world, network),
            Fault::Freeze { disk, time } => {
                if self.troubles.freeze(disk, world) {
                    world.agenda.at_process(now + time, Event::Thaw { disk });
                }
            }
            Fault::Slow { disk, extra, time } => {
                if self.troubles.slow_down(disk, extra, world) {
                    world.agenda.at_process(now + time, Event::Hasten { disk });
                }
            }
            Fault::Fail { disk, operation, after, until } => {
                self.armed = true;
                world.disks[disk].fail(DiskFault { operation, name: None, after });
                world.agenda.at_process(now + until, Event::GiveUp);
            }
            Fault::Full { disk, left, until } => {
                let used: usize = world.disks[disk].image().values().map(|content| content.len()).sum();
                world.disks[disk].set_capacity(used as u64 + left);
                world.agenda.at_process(now + until, Event::GiveUp);
            }
            Fault::Away { disk, which, until } => {
                self.armed = true;
                if self.troubles.take_away(disk, which, world) {
                    world.agenda.at_process(now + until, Event::GiveUp);
                }
            }
            Fault::Tail(fault) => self.harm_the_tail(&fault, world),
            Fault::Copied { dice } => {
                directories::start_copies(&mut Dice::new(dice), &self.machine, world);
            }
            Fault::Short { disk, operation, after } => {
                // A start may meet what the process has not.
                self.armed = true;
                for after in after {
                    self.troubles.run_short(disk, DiskFault { operation, name: None, after }, world);
                }
            }
        }
        Next::GoOn
    }

    fn harm_the_tail(&mut self, fault: &TailFault, world: &mut World) {
        let Some(process) = &self.process else { return };
        if self.tails.strike(fault, &process.tail, world) {
            world.agenda.at_process(world.now() + fault.seen, Event::TailLook);
            if let Some(after) = fault.killed {
                world.agenda.at_process(world.now() + after, Event::GiveUp);
            }
        }
    }

    /// The process looks at its tail's file.
    pub(crate) fn look_at_tail(&mut self, world: &mut World, network: &mut Network) {
        let Some(process) = &self.process else { return };
        if let Some(after) = self.tails.look(&process.tail, world) {
            world.agenda.at_process(world.now() + after, Event::TailLook);
        }
        if process.life.is_over() {
            world.note("killed while it made a new tail", &[]);
            self.kill(world, network);
        }
    }

    pub(crate) fn thaw(&mut self, disk: usize, world: &mut World) {
        self.troubles.thaw(disk, world);
    }

    pub(crate) fn hasten(&mut self, disk: usize, world: &mut World) {
        self.troubles.hasten(disk, world);
    }

    pub(crate) fn notice_lost_disks(&mut self, world: &mut World) {
        if self.process.is_none() {
            return;
        }
        let is_new = self.troubles.note_lost(world);
        // At the end of the plan this is a fault that was armed long ago.
        if is_new && self.finishing {
            world.agenda.at_process(world.now() + MS * 50, Event::GiveUp);
        }
    }

    fn go_down(&mut self, down: Down, world: &mut World, network: &mut Network) -> Next {
        let how = down.how;
        self.down = Some(down);
        match how {
            HowDown::Killed { stores: 0 } => self.kill(world, network),
            HowDown::Killed { stores } => {
                if let Some(process) = &self.process {
                    process.life.switch().trip_after(stores);
                    // It may not store that much any more.
                    world.agenda.at_process(world.now() + MS * 500, Event::GiveUp);
                }
            }
            HowDown::PowerCut => self.cut_power(world, network),
            HowDown::Stopped => return self.stop(world),
        }
        Next::GoOn
    }

    fn stop(&mut self, world: &mut World) -> Next {
        self.stopping = true;
        world.oracle.groups.process_stops();
        world.agenda.at_process(world.now() + STOP_PATIENCE, Event::StopDeadline);
        Next::TellShardsToStop
    }

    /// A process that was told to stop ends once it has nothing left to do.
    pub(crate) fn end_if_stopped(&mut self, world: &mut World, network: &mut Network) {
        let all = self.process.as_ref().is_some_and(|process| {
            self.stopping && process.shards.iter().all(aplomb_broker::Shard::is_stopped)
        });
        if all && !world.agenda.has_answers() {
            world.note("stopped", &[]);
            self.end(true, world, network);
        }
    }

    /// The process is killed here.
    pub(crate) fn kill(&mut self, world: &mut World, network: &mut Network) {
        self.end(false, world, network);
    }

    /// The process ends here. `stopped`: it had nothing left to do, which is a clean stop if it has
    /// all its disks.
    fn end(&mut self, stopped: bool, world: &mut World, network: &mut Network) {
        self.show(world);
        let Some(process) = self.process.take() else { return };
        let clean = stopped && !self.lost().contains(&true);
        world.note("killed", &[u64::from(clean)]);
        // A process that has stopped gives up what it had in memory, unless a shard says that
        // records are nowhere else.
        let needed = !stopped || process.shards.iter().any(aplomb_broker::Shard::needs_tail);
        let is_lost = self.tails.end(&process.tail, needed);
        if stopped {
            for (disk, share) in process.order.iter().zip(&process.shares) {
                if !needed || share.stats().waiting == 0 {
                    // A disk that fails here is one that a start looks for a tail on, in vain.
                    let _ = TailRecord::remove(&world.disks[*disk]);
                }
            }
        }
        drop(process);
        let (now, contract) = (world.now(), contract(world));
        if is_lost {
            world.say(|| "what it had in memory alone is gone".to_owned());
            world.oracle.memory_lost(contract, now);
        }
        // An end that was begun may have got as far for some partitions as a clean one.
        world.oracle.ends.push((now, clean || self.stopping));
        world.disks.iter().for_each(|disk| disk.process_killed());
        world.oracle.process_ended(contract, clean, now);
        self.is_down(world, network);
    }

    fn cut_power(&mut self, world: &mut World, network: &mut Network) {
        self.show(world);
        if self.process.take().is_none() {
            return;
        }
        world.note("power cut", &[]);
        self.power_is_gone(world);
        self.is_down(world, network);
    }

    fn power_is_gone(&mut self, world: &mut World) {
        self.machine.reboot();
        self.tails.power_is_gone();
        let (now, contract) = (world.now(), contract(world));
        world.oracle.ends.push((now, false));
        world.disks.iter().for_each(|disk| disk.power_cut());
        world.oracle.power_cut(contract, now);
        world.oracle.process_ended(contract, false, now);
    }

    /// The process is gone: the disks begin anew, and so will the broker.
    fn is_down(&mut self, world: &mut World, network: &mut Network) {
        world.agenda.forget_process();
        network.drop_all_connections(world);
        self.away = self.lost().last() == Some(&true);
        self.troubles.end_with_process(world);
        world.oracle.calm.disturb(world.agenda.now());
        self.stopping = false;
        let down = self.down.take().unwrap_or_else(|| Down::killed_now(MS * 20));
        self.cut_starts = if self.finishing { Vec::new() } else { down.cut_starts };
        world.agenda.at(world.now() + down.time, Event::Start);
    }

    /// The broker starts.
    pub(crate) fn start(&mut self, world: &mut World, network: &mut Network) {
        let mut dice = Dice::of(world.seed, "start", self.starts);
        self.starts += 1;
        let cut = self.cut_starts.pop();
        let switch = match cut.and_then(|cut| cut.stores) {
            Some(stores) => CrashSwitch::after(stores),
            None => CrashSwitch::armed(),
        };
        world.disks.iter().for_each(|disk| {
            disk.bring_back();
            disk.set_capacity(1 << 40);
            disk.advance(world.now());
        });
        let shards = 1 + dice.place(3) as u16;
        // Often the same size again, so that the memory is formatted in its place.
        let chunks = *dice.pick(&[32, 32, 24, 64, 160]);
        world.note("start", &[shards.into(), chunks.into()]);
        let plan = world.plan.clone();
        directories::mistake(self.starts, &self.machine, world);
        let given = directories::draw(self.away && !self.finishing, self.starts, world);
        let disks = given.disks.len();
        let shape = Shape {
            metadata: given.metadata(),
            disks: &given.disks,
            order: given.order,
            places: &given.places,
            lost: (disks..plan.disks).map(path_of).collect(),
            properties: &plan.properties,
            shards,
            partitions_a_turn: plan.partitions_a_turn,
            chunks,
            life: Life::new(switch, cut.and_then(|cut| cut.operations)),
            now: world.clocks(),
            dice,
            machine: &self.machine,
        };
        let Started { how, said } = shape.start();
        for (severity, text) in said {
            self.tails.hear(severity, &text);
            world.say(|| format!("  {severity:?}: {text}"));
        }
        match how {
            Start::Up(process) => {
                if disks == plan.disks {
                    self.tails.check_told(world);
                }
                self.tails.begin();
                (disks..plan.disks).for_each(|disk| self.troubles.stays_away(disk, world));
                self.process = Some(process);
                self.loading = true;
                // Some programs do not wait for that long.
                self.serves_early = Dice::of(world.seed, "early", self.starts).place(2) == 0;
                self.notice_loaded(world, network);
            }
            Start::Died => {
                self.show(world);
                world.note("killed while it started", &[]);
                if cut.is_some_and(|cut| cut.power) {
                    self.power_is_gone(world);
                } else {
                    world.disks.iter().for_each(|disk| disk.process_killed());
                }
                world.agenda.at(world.now() + MS * 5, Event::Start);
            }
            Start::Refused(why) => {
                world.say(|| format!("it does not start: {why}"));
                self.refused += 1;
                let is_right = if why.is_of_an_unreadable_tail() {
                    self.tails.give_up_what_is_cut(&self.machine)
                } else {
                    self.armed && why.is_of_a_disk()
                };
                if !is_right || self.refused > STARTS {
                    return world.oracle.violated(format!("the broker does not start: {why}"));
                }
                world.disks.iter().for_each(|disk| disk.process_killed());
                world.agenda.at(world.now() + MS * 5, Event::Start);
            }
        }
    }

    /// Clients may come when all partitions are loaded, or before.
    pub(crate) fn notice_loaded(&mut self, world: &mut World, network: &mut Network) {
        if !self.loading && world.oracle.loaded.is_some() {
            return;
        }
        let Some(process) = self.process.as_ref() else { return };
        if let Some(why) = process.failure() {
            world.oracle.violated(format!("a log cannot be used: {why}"));
            return;
        }
        let is_loaded = process.is_loaded();
        if self.loading && (self.serves_early || is_loaded) {
            self.loading = false;
            world.oracle.loaded = None;
            self.is_up(world, network);
        }
        if !self.loading && is_loaded {
            world.note("loaded", &[]);
            world.oracle.loaded = Some(world.now());
        }
    }

    fn is_up(&mut self, world: &mut World, network: &mut Network) {
        let now = world.now();
        world.oracle.process += 1;
        world.oracle.groups.process_begins();
        // A directory may have been taken away while it started.
        world.oracle.disk_lost = self.troubles.is_any_lost();
        world.oracle.calm.settle(now);
        self.restarts += 1;
        let unsure = world.oracle.journal.is_any_unsure();
        self.audit_first = unsure || self.finishing || network.audits_alone_by_chance();
        network.broker_is_up(now);
    }

    /// When the auditor is done, the others may come. If it could not read everything because a
    /// disk is lost, the broker is started anew.
    pub(crate) fn after_audit(&mut self, world: &mut World, network: &mut Network) {
        let Some(unread) = network.dismiss_auditor(world) else { return };
        if unread > 0 && (self.audit_first || self.finishing) {
            self.kill(world, network);
        } else if !self.finishing {
            self.audit_first = false;
        }
    }

    /// The plan is over: all disks get well, the broker ends in one way or another, and comes back
    /// for the last audit.
    pub(crate) fn finish(&mut self, world: &mut World, network: &mut Network) -> Next {
        self.finishing = true;
        if self.stopping || self.process.is_none() {
            return Next::GoOn; // it is on its way
        }
        self.troubles.heal(world);
        let mut dice = Dice::of(world.seed, "finish", 0);
        match dice.within(0..4) {
            // Which would take transfers that were committed.
            0 if world.plan.bank.is_none() => self.cut_power(world, network),
            0..=2 => self.kill(world, network),
            _ => return self.stop(world),
        }
        Next::GoOn
    }

    /// Whether the last audit is over.
    pub(crate) fn is_audited(&self, network: &Network) -> bool {
        self.process.is_some() && self.audit_first && network.is_auditor_done()
    }

    /// Adds to the trace how things stand on the disks and in the tail.
    pub(crate) fn show(&self, world: &mut World) {
        world.show_disks();
        for share in self.process.iter().flat_map(|process| &process.shares) {
            world.say(|| format!("{:?}", share.stats()));
        }
    }
}

/// What the broker of this plan promises to have on its disks.
fn contract(world: &World) -> Contract {
    Contract { records: world.plan.flush_interval + MARGIN, starts: world.plan.checkpoint_interval + MARGIN }
}
