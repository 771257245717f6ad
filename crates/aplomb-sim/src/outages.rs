//! What goes wrong with the broker and its disks, and how it comes back.

use std::time::Duration;

use aplomb_disk_api::sim::Fault as DiskFault;
use aplomb_log::tail::CrashSwitch;
use aplomb_model::Instant;

use super::check::calm::Calm;
use super::check::journal::Contract;
use super::faults::{CutStart, Down, Fault, HowDown};
use super::mortal::Life;
use super::network::{AUDITOR, Scripted};
use super::process::{Shape, Start};
use super::random::Dice;
use super::world::{Event, World};

const MS: Duration = Duration::from_millis(1);
/// How long a process that was told to stop may take (`aplomb serve` gives it as long).
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// What syncs and the like may take beyond their intervals, while the disks are well.
const MARGIN: Duration = Duration::from_millis(400);
/// A start that fails so often for a disk's error does not get better.
const STARTS: u32 = 20;

/// The state of affairs.
pub(crate) struct Outages {
    /// Disks that answer nothing.
    frozen: Vec<bool>,
    /// Disks that take longer.
    slow: Vec<bool>,
    /// Disks that this process has lost.
    pub(crate) lost: Vec<bool>,
    /// The process was told to stop.
    pub(crate) stopping: bool,
    /// The end of the process that is under way, and how long it is down.
    down: Option<Down>,
    /// Starts that are cut short before one succeeds.
    cut_starts: Vec<CutStart>,
    /// Until the auditor is done nobody else comes.
    pub(crate) audit_first: bool,
    /// An operation of some disk is to fail: a start may be the one to find out.
    armed: bool,
    starts: u64,
    refused: u32,
    /// No more faults: the last audit is under way, or to come.
    pub(crate) finishing: bool,
    pub(crate) restarts: u64,
}

impl Outages {
    pub(crate) fn new(disks: usize) -> Self {
        Self {
            frozen: vec![false; disks],
            slow: vec![false; disks],
            lost: vec![false; disks],
            stopping: false,
            down: None,
            cut_starts: Vec::new(),
            audit_first: false,
            armed: false,
            starts: 0,
            refused: 0,
            finishing: false,
            restarts: 0,
        }
    }
}

/// Notes that something begins that disturbs a disk, if it did not already.
fn begin(flag: &mut bool, calm: &mut Calm, now: Instant) -> bool {
    if std::mem::replace(flag, true) {
        return false;
    }
    calm.disturb(now);
    true
}

fn end(flag: &mut bool, calm: &mut Calm, now: Instant) {
    if std::mem::take(flag) {
        calm.settle(now);
    }
}

impl World {
    fn contract(&self) -> Contract {
        Contract {
            records: self.plan.flush_interval + MARGIN,
            starts: self.plan.checkpoint_interval + MARGIN,
        }
    }

    /// A fault of the plan strikes, if there is something to strike.
    pub(crate) fn strike(&mut self, place: usize) {
        if self.process.is_none()
            || self.outages.stopping
            || self.outages.down.is_some()
            || self.outages.finishing
        {
            return;
        }
        let plan = self.plan.clone();
        let (number, _, fault) = &plan.faults[place];
        self.trace.event(self.now, "fault", &[*number as u64]);
        self.trace.say(self.now, || format!("fault {number}: {fault:?}"));
        match fault.clone() {
            Fault::Down(down) => self.go_down(down),
            Fault::Freeze { disk, time } => {
                if begin(&mut self.outages.frozen[disk], &mut self.oracle.calm, self.now) {
                    self.disks[disk].freeze();
                    self.at_process(self.now + time, Event::Thaw { disk });
                }
            }
            Fault::Slow { disk, extra, time } => {
                if begin(&mut self.outages.slow[disk], &mut self.oracle.calm, self.now) {
                    self.disks[disk].set_service(self.plan.service.clone().slower_by(extra));
                    self.at_process(self.now + time, Event::Hasten { disk });
                }
            }
            Fault::Fail { disk, operation, after, until } => {
                self.outages.armed = true;
                self.disks[disk].fail(DiskFault { operation, name: None, after });
                self.at_process(self.now + until, Event::GiveUp);
            }
            Fault::Full { disk, left, until } => {
                let used: usize = self.disks[disk].image().values().map(|content| content.len()).sum();
                self.disks[disk].set_capacity(used as u64 + left);
                self.at_process(self.now + until, Event::GiveUp);
            }
        }
    }

    pub(crate) fn thaw(&mut self, disk: usize) {
        self.trace.event(self.now, "thaw", &[disk as u64]);
        self.disks[disk].thaw();
        end(&mut self.outages.frozen[disk], &mut self.oracle.calm, self.now);
    }

    pub(crate) fn hasten(&mut self, disk: usize) {
        self.disks[disk].set_service(self.plan.service.clone());
        end(&mut self.outages.slow[disk], &mut self.oracle.calm, self.now);
    }

    pub(crate) fn notice_lost_disks(&mut self) {
        for disk in 0..self.disks.len() {
            if self.process.is_some() && self.disks[disk].lost().is_some() {
                let is_new = begin(&mut self.outages.lost[disk], &mut self.oracle.calm, self.now);
                self.oracle.disk_lost = true;
                if is_new && self.outages.finishing {
                    // A fault that was armed long ago.
                    self.at_process(self.now + MS * 50, Event::GiveUp);
                }
            }
        }
    }

    fn go_down(&mut self, down: Down) {
        let how = down.how;
        self.outages.down = Some(down);
        match how {
            HowDown::Killed { stores: 0 } => self.kill(false),
            HowDown::Killed { stores } => {
                if let Some(process) = &self.process {
                    process.life.switch().trip_after(stores);
                    // It may not store that much any more.
                    self.at_process(self.now + MS * 500, Event::GiveUp);
                }
            }
            HowDown::PowerCut => self.cut_power(),
            HowDown::Stopped => self.stop(),
        }
    }

    fn stop(&mut self) {
        self.outages.stopping = true;
        let shards = self.process.as_ref().map_or(0, |process| process.shards.len());
        self.at_process(self.now + STOP_PATIENCE, Event::StopDeadline);
        for n in 0..shards {
            self.turn(aplomb_broker::ports::ShardId(n as u16), |shard, now, out| shard.begin_stop(now, out));
        }
    }

    /// A process that was told to stop and has nothing left to do ends.
    pub(crate) fn end_if_stopped(&mut self) {
        let all = self.process.as_ref().is_some_and(|process| {
            self.outages.stopping && process.shards.iter().all(aplomb_broker::Shard::is_stopped)
        });
        let all = all && !self.has_answers();
        if all {
            self.trace.event(self.now, "stopped", &[]);
            self.kill(true);
        }
    }

    /// The process ends here. `stopped`: it had nothing left to do, which is a clean stop if it has all its disks.
    pub(crate) fn kill(&mut self, stopped: bool) {
        self.show();
        let Some(process) = self.process.take() else { return };
        let clean = stopped && !self.outages.lost.contains(&true);
        self.trace.event(self.now, "killed", &[u64::from(clean)]);
        // Whoever has stopped gives up what it had in memory, unless a shard says that records are nowhere else.
        let needed = !stopped || process.shards.iter().any(aplomb_broker::Shard::needs_tail);
        self.memory = needed.then(|| process.memory());
        drop(process);
        // An end that was begun may have got as far for some partitions as a clean one.
        self.oracle.ends.push((self.now, clean || self.outages.stopping));
        self.disks.iter().for_each(|disk| disk.process_killed());
        self.oracle.journal.process_ended(self.contract(), &self.oracle.calm, clean, self.now);
        self.is_down();
    }

    fn cut_power(&mut self) {
        self.show();
        if self.process.take().is_none() {
            return;
        }
        self.trace.event(self.now, "power cut", &[]);
        self.power_is_gone();
        self.is_down();
    }

    fn power_is_gone(&mut self) {
        self.memory = None;
        self.oracle.ends.push((self.now, false));
        self.disks.iter().for_each(|disk| disk.power_cut());
        let (contract, oracle) = (self.contract(), &mut self.oracle);
        oracle.journal.power_cut(contract, &oracle.calm, self.now);
        oracle.journal.process_ended(contract, &oracle.calm, false, self.now);
    }

    /// The process is gone: the disks begin anew, and so will the broker.
    fn is_down(&mut self) {
        self.forget_process_events();
        self.drop_all_connections();
        let (outages, calm) = (&mut self.outages, &mut self.oracle.calm);
        for disk in 0..self.disks.len() {
            end(&mut outages.frozen[disk], calm, self.now);
            end(&mut outages.slow[disk], calm, self.now);
            end(&mut outages.lost[disk], calm, self.now);
            self.disks[disk].set_service(self.plan.service.clone());
        }
        calm.disturb(self.now);
        outages.stopping = false;
        let down = outages.down.take().unwrap_or_else(|| Down::killed_now(MS * 20));
        outages.cut_starts = if outages.finishing { Vec::new() } else { down.cut_starts };
        self.at(self.now + down.time, Event::Start);
    }

    /// The broker starts.
    pub(crate) fn start(&mut self) {
        let mut dice = Dice::of(self.seed, "start", self.outages.starts);
        self.outages.starts += 1;
        let cut = self.outages.cut_starts.pop();
        let switch = match cut.and_then(|cut| cut.stores) {
            Some(stores) => CrashSwitch::after(stores),
            None => CrashSwitch::armed(),
        };
        self.disks.iter().for_each(|disk| {
            disk.set_capacity(1 << 40);
            disk.advance(self.now);
        });
        let shards = 1 + dice.place(3) as u16;
        // Often the same size again, so that the memory is formatted in its place.
        let chunks = *dice.pick(&[32, 32, 24, 64, 160]);
        self.trace.event(self.now, "start", &[shards.into(), chunks.into()]);
        let plan = self.plan.clone();
        let shape = Shape {
            disks: &self.disks,
            properties: &plan.properties,
            shards,
            chunks,
            life: Life::new(switch, cut.and_then(|cut| cut.operations)),
            now: self.clocks(),
            dice,
            remarks: Vec::new(),
        };
        match shape.start(self.memory.take()) {
            Start::Up(process) => {
                for remark in &process.remarks {
                    self.trace.say(self.now, || format!("  {remark}"));
                }
                self.process = Some(process);
                self.is_up();
            }
            Start::Died(memory) => {
                self.show();
                self.trace.event(self.now, "killed while it started", &[]);
                self.memory = memory;
                if cut.is_some_and(|cut| cut.power) {
                    self.power_is_gone();
                } else {
                    self.disks.iter().for_each(|disk| disk.process_killed());
                }
                self.at(self.now + MS * 5, Event::Start);
            }
            Start::Refused { why, memory } => {
                self.trace.say(self.now, || format!("it does not start: {why}"));
                self.memory = memory;
                self.outages.refused += 1;
                if !(self.outages.armed && why.is_of_a_disk()) || self.outages.refused > STARTS {
                    return self.oracle.violated(format!("the broker does not start: {why}"));
                }
                self.disks.iter().for_each(|disk| disk.process_killed());
                self.at(self.now + MS * 5, Event::Start);
            }
        }
    }

    fn is_up(&mut self) {
        self.oracle.process += 1;
        self.oracle.disk_lost = false;
        self.oracle.calm.settle(self.now);
        self.outages.restarts += 1;
        let unsure = self.oracle.journal.is_any_unsure();
        self.outages.audit_first = unsure || self.outages.finishing || self.slots[AUDITOR].dice.percent(30);
        self.slots[AUDITOR].client = Scripted::Auditor(Default::default());
        for (n, slot) in self.slots.iter_mut().enumerate() {
            let latest = if n == AUDITOR { MS } else { MS * 100 };
            slot.next_try = self.now + slot.dice.time(Duration::ZERO..latest);
        }
    }

    /// When the auditor is done, the others may come. If it could not read everything because a disk is lost, the broker is started anew.
    pub(crate) fn after_audit(&mut self) {
        let Scripted::Auditor(auditor) = &self.slots[AUDITOR].client else { return };
        if !auditor.done || self.slots[AUDITOR].connection.is_none() {
            return;
        }
        let unread = auditor.unread;
        self.trace.event(self.now, "audited", &[unread as u64]);
        if let Some(id) = self.slots[AUDITOR].connection {
            self.at_process(self.now, Event::ClosedByClient { connection: id });
            self.drop_connection(id);
        }
        if unread > 0 && (self.outages.audit_first || self.outages.finishing) {
            self.kill(false);
        } else if !self.outages.finishing {
            self.outages.audit_first = false;
        }
    }

    /// The plan is over: all disks get well, the broker ends in one way or another, and comes back for the last audit.
    pub(crate) fn finish(&mut self) {
        self.outages.finishing = true;
        if self.outages.stopping || self.process.is_none() {
            return; // it is on its way
        }
        for disk in 0..self.disks.len() {
            if self.outages.frozen[disk] {
                self.thaw(disk);
            }
            self.hasten(disk);
        }
        let mut dice = Dice::of(self.seed, "finish", 0);
        match dice.within(0..4) {
            0 => self.cut_power(),
            1 | 2 => self.kill(false),
            _ => self.stop(),
        }
    }

    /// Whether the last audit is over.
    pub(crate) fn is_audited(&self) -> bool {
        self.process.is_some() && self.outages.audit_first && self.is_auditor_done()
    }
}
