//! What everything in a simulation shares: the clock with its events, the disks, what has to be
//! true, and the trace of what happened.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::ports::Now;
use aplomb_disk_api::DiskIndex;
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_model::{Instant, Timestamp};

use super::Syncs;
use super::agenda::{Agenda, Event};
use super::check::promptness::Promptness;
use super::check::{Oracle, PartitionId};
use super::random::Dice;
use super::scenario::{Plan, Scenario};
use super::trace::Trace;

/// The wall clock when the monotonic one starts: 2026-01-01.
const WALL_START: i64 = 1_767_225_600_000;
/// The broker's first start.
const FIRST_START: Duration = Duration::from_millis(1);

/// What all rooms of a simulation see.
pub(crate) struct World {
    pub(crate) agenda: Agenda,
    pub(crate) plan: Arc<Plan>,
    pub(crate) seed: u64,
    pub(crate) disks: Vec<SimDisk>,
    pub(crate) oracle: Oracle,
    pub(crate) promptness: Promptness,
    pub(crate) trace: Trace,
}

impl World {
    /// The world of a scenario: the broker is to start, and the faults are to come.
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
        let mut agenda = Agenda::new(Dice::of(seed, "network", 0));
        agenda.at(now + FIRST_START, Event::Start);
        for (place, (_, at, _)) in plan.faults.iter().enumerate() {
            agenda.at(now + *at, Event::Fault(place));
        }
        Self {
            agenda,
            seed,
            disks: (0..plan.disks).map(disk).collect(),
            oracle: Oracle::new(plan.checkpoint_interval, plan.turns_away, now),
            promptness: Promptness::new(plan.disks, now),
            trace: Trace::new(lines),
            plan,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.agenda.now()
    }

    pub(crate) fn wall(&self) -> Timestamp {
        let elapsed = i64::try_from(self.now().since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        Timestamp(WALL_START + elapsed)
    }

    pub(crate) fn clocks(&self) -> Now {
        Now { instant: self.now(), wall: self.wall() }
    }

    /// Notes an event of this moment by its kind and its numbers.
    pub(crate) fn note(&mut self, kind: &str, numbers: &[u64]) {
        self.trace.event(self.agenda.now(), kind, numbers);
    }

    /// Adds a line for people to the trace.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        self.trace.say(self.agenda.now(), text);
    }

    /// Batches that were just acknowledged may be what a parked fetch waits for.
    pub(crate) fn note_appended(&mut self) {
        for (partition, place, sent) in std::mem::take(&mut self.oracle.journal.fresh) {
            let disks = places_of(partition, &self.disks, &self.oracle);
            self.promptness.appended((partition, place), sent, &disks, self.agenda.now());
        }
    }

    /// Looks for requests that wait too long. `lost`: which disks the process has lost.
    pub(crate) fn look_for_late(&mut self, lost: &[bool]) -> Result<(), String> {
        let (disks, oracle) = (&self.disks, &self.oracle);
        let mut disks_of = |partition| places_of(partition, disks, oracle);
        self.promptness.check(self.agenda.now(), &mut disks_of, oracle.calm.since(), lost)
    }

    /// Whether groups are stable, and what they have committed was read since they were to be. The
    /// error is what is not so.
    pub(crate) fn check_rest(&self) -> Result<(), String> {
        let Oracle { groups, cluster, bank, .. } = &self.oracle;
        if self.plan.bank.is_some() {
            bank.check_rest()?;
        }
        if self.plan.groups.is_some() {
            groups.check_rest(cluster, self.agenda.now())?;
        }
        Ok(())
    }

    /// Whether a partition has a directory on the last disk and on another one: a move to there may
    /// have ended without the metadata having heard of it, and a start that finds the other
    /// directory alone would take it for the log.
    pub(crate) fn is_moving_to_last_disk(&self) -> bool {
        let partitions_on = |disk: &SimDisk| -> BTreeSet<String> {
            let files = disk.image().into_keys();
            files.filter_map(|file| Some(file.strip_suffix("/partition.metadata")?.to_owned())).collect()
        };
        let Some((last, others)) = self.disks.split_last() else { return false };
        let on_last = partitions_on(last);
        others.iter().any(|disk| !partitions_on(disk).is_disjoint(&on_last))
    }

    /// Adds to the trace what is on the disks.
    pub(crate) fn show_disks(&mut self) {
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
        for line in lines {
            self.say(|| line);
        }
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
