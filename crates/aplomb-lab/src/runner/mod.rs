//! Runs an incident against one broker after the other, and writes down what was seen.
//!
//! What always holds: a run ends with everything taken away, whether it completes, fails or is told
//! to stop. The disturbance happens at the times at which it is due; who carries it out is never
//! the one who measures. [`timeline`] is the course of one broker's run with its
//! [`loads`], its [`groups`] and, where the broker is killed, its [`interruption`]; [`account`] makes the record of it, with what was expected ([`expectation`]).

mod account;
mod bounds;
mod expectation;
mod groups;
mod interruption;
mod loads;
mod scene;
mod timeline;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use scene::{Folders, Scene, SceneError};

use crate::brokers::{
    Aplomb, BrokerUnderTest, ClassPath, External, JarsError, Kafka, Kind, Override, Settings,
};
use crate::clock;
use crate::conditions::{QuietConsole, WarmMemory};
use crate::evidence::machine;
use crate::incidents::{Action, Aim, Incident};
use crate::record::{self, BrokerRun, Ended, MachineStandstill, Run};
use crate::slow_disk::{DiskOptions, SlowDisk};

/// Bytes of a slow disk.
const DISK: u64 = 3 << 30;
/// Bytes a second that it carries: a cloud's volume of general purpose, as it comes. Without a
/// bound it carries as many as it gets of the processors, which are then not the broker's.
const BANDWIDTH: u64 = 125 << 20;

/// A broker to be run, as the command line names it.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Apache Kafka of this version.
    Kafka(String),
    /// This program, or this executable of it.
    Aplomb(Option<PathBuf>),
    /// Somebody else's, on the slow disk of this name.
    External {
        /// Where it answers, and its process.
        broker: External,
        /// The name that `aplomb lab disk create` was given.
        disk: String,
    },
}

/// How an incident is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Against whom, in this order.
    pub brokers: Vec<Choice>,
    /// What those that are started here are to have otherwise.
    pub overrides: Vec<Override>,
    /// How long, and how much.
    pub plan: Plan,
    /// What chance there is follows from this.
    pub seed: u64,
    /// How many consumer groups of each protocol there are beside the load; `None`: none.
    pub groups: Option<usize>,
    /// How often a broker's run is made, at most, until the machine itself was steady in one.
    pub attempts: u32,
    /// The command that was given.
    pub command: Vec<String>,
}

/// The length of a run's parts and its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How long the load runs before anything is measured. A JVM's compiler needs some of it.
    pub warm_up: Duration,
    /// Before the disturbance.
    pub calm: Duration,
    /// The disturbance.
    pub during: Duration,
    /// How long it is watched after the disturbance.
    pub after: Duration,
    /// Records a second.
    pub rate: u64,
    /// Old records, the limit of dirty pages, the room for clean ones, and a client's quota are
    /// divided by this.
    pub history_divisor: u64,
    /// After so long without a heartbeat a member of a group is given up.
    pub session: Duration,
    /// Between two heartbeats of a member.
    pub heartbeats: Duration,
}

impl Plan {
    /// A minute, with the load of `incidents.md`.
    pub const FULL: Self = Self {
        warm_up: Duration::from_secs(5),
        calm: Duration::from_secs(20),
        during: Duration::from_secs(30),
        after: Duration::from_secs(10),
        rate: 4_000,
        history_divisor: 1,
        session: Duration::from_secs(6),
        heartbeats: Duration::from_secs(1),
    };

    /// A quarter of that, for tests: enough to see who waits where, and too little to compare
    /// figures. The disturbance is longer than the five seconds between two commits of ext4's
    /// journal, and has room for two freezes.
    pub const SHORT: Self = Self {
        warm_up: Duration::from_secs(2),
        calm: Duration::from_secs(2),
        during: Duration::from_secs(8),
        after: Duration::from_secs(2),
        rate: 1_000,
        history_divisor: 4,
        session: Duration::from_secs(2),
        heartbeats: Duration::from_millis(500),
    };

    /// An action with its sizes as this plan has them: with less load, less is dirty.
    fn scaled(&self, action: &Action) -> Action {
        match action {
            Action::DirtyLimit { limit, background } => Action::DirtyLimit {
                limit: limit / self.history_divisor,
                background: background / self.history_divisor,
            },
            Action::RoomForPages(bytes) => Action::RoomForPages(bytes / self.history_divisor),
            Action::Fill { leave } => Action::Fill { leave: leave / self.history_divisor },
            Action::ProduceQuota(bytes) => Action::ProduceQuota(bytes / self.history_divisor),
            other => other.clone(),
        }
    }

    /// All that is measured.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.calm + self.during + self.after
    }
}

/// Why there is no record of a run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// It was told to.
    #[error("stopped; everything is taken away")]
    Stopped,
    /// Mounting is for root.
    #[error(
        "the lab needs root: it mounts a slow disk, reads kernel stacks and drops caches. Run it with sudo, or in a container with --privileged"
    )]
    NotRoot,
    /// The machine has not what it takes.
    #[error("{incident} cannot be run here: {why}")]
    Impossible {
        /// The incident that was asked for.
        incident: &'static str,
        /// What is missing.
        why: String,
    },
    /// None of the brokers has what is disturbed.
    #[error("{incident} is not for {kind}: {why}")]
    NotFor {
        /// The incident that was asked for.
        incident: &'static str,
        /// The last of the brokers.
        kind: Kind,
        /// What it has not got.
        why: &'static str,
    },
    /// Jars that are not to be had.
    #[error(transparent)]
    Jars(#[from] JarsError),
}

/// What ends one broker's run too early.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Scene(#[from] SceneError),
    #[error("the load ended before its time: {0}")]
    Load(String),
    #[error("threads cannot be looked at: {0}")]
    Sampler(std::io::Error),
}

/// Runs `incident`. `tell` hears how it is getting on, a line at a time. When `stop` becomes true
/// the run ends early, with an error, when all is taken away.
///
/// # Errors
/// [`LabError`]; what goes wrong with one broker is in its part of the record.
pub fn run(
    incident: &Incident,
    options: &Options,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Run, LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::NotRoot);
    }
    if let Some(why) = incident.impossible() {
        return Err(LabError::Impossible { incident: incident.name, why });
    }
    let mut run = Run {
        format: record::FORMAT,
        incident: incident.story(),
        began: clock::rfc3339(clock::wall_ms()),
        seed: options.seed,
        machine: machine::describe(),
        command: options.command.clone(),
        brokers: Vec::new(),
    };
    let mut left_out = None;
    for choice in &options.brokers {
        let kind = choice.kind();
        if let Some(why) = incident.not_for(kind) {
            tell(&format!("{} leaves {kind} out: {why}", incident.name));
            left_out = Some(LabError::NotFor { incident: incident.name, kind, why });
            continue;
        }
        // Before a disk is made: a first download takes its time.
        let jars = match choice {
            Choice::Kafka(version) => Some(ClassPath::of(version)?),
            Choice::Aplomb(_) | Choice::External { .. } => None,
        };
        run.brokers.push(steady(incident, options, choice, jars.as_ref(), stop, tell)?);
    }
    match left_out {
        Some(error) if run.brokers.is_empty() => Err(error),
        _ => Ok(run),
    }
}

/// One broker's part, again while the machine stood still itself and there are attempts left.
/// Whatever the broker did has no say in it; but a run that failed is told, whatever another has
/// shown.
fn steady(
    incident: &Incident,
    options: &Options,
    choice: &Choice,
    jars: Option<&ClassPath>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<BrokerRun, LabError> {
    let still_us = |run: &BrokerRun| run.machine_standstill.as_ref().map_or(0, MachineStandstill::worst_us);
    let failed = |run: &BrokerRun| run.ended != Ended::Completed;
    let mut best = one(incident, options, choice, jars.cloned(), stop, tell)?;
    for _ in 1..options.attempts {
        if failed(&best) || best.machine_was_steady() {
            break;
        }
        tell(&format!(
            "once more: the machine itself stood still for {} ms at p99.9",
            still_us(&best) / 1000
        ));
        let again = one(incident, options, choice, jars.cloned(), stop, tell)?;
        if failed(&again) || still_us(&again) < still_us(&best) {
            best = again;
        }
    }
    Ok(best)
}

/// One broker's part.
fn one(
    incident: &Incident,
    options: &Options,
    choice: &Choice,
    jars: Option<ClassPath>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<BrokerRun, LabError> {
    if incident.aim == Aim::Recovery && choice.kind() == Kind::External {
        let why = "the lab kills no broker that it has not started";
        return Ok(account::without_a_scene(incident, choice, why));
    }
    let mut scene = match set(incident, options, choice, jars) {
        Ok(scene) => scene,
        Err(error) => return Ok(account::without_a_scene(incident, choice, &error.to_string())),
    };
    // What a short run says is not compared, and a broker that was there before is not to be short
    // of it.
    let is_compared = options.plan.history_divisor == 1 && choice.kind() != Kind::External;
    let _warm = is_compared.then(WarmMemory::take);
    let _quiet = is_compared.then(QuietConsole::take);
    tell(&format!("{}: {} {}", incident.name, scene.broker.about().name, scene.broker.about().version));
    match timeline::run(incident, options, &mut scene, stop, tell) {
        Ok(course) => Ok(account::account(incident, options.plan, &scene, course)),
        Err(Trouble::Stopped) => Err(LabError::Stopped),
        Err(error) => Ok(account::failed(incident, &scene, &error.to_string())),
    }
}

/// The disk, the folders, and the broker as it is to be started.
fn set(
    incident: &Incident,
    options: &Options,
    choice: &Choice,
    jars: Option<ClassPath>,
) -> Result<Scene, SceneError> {
    static SCENES: AtomicU32 = AtomicU32::new(0);
    let longest = options.plan.length() + Duration::from_secs(60);
    if let Choice::External { broker, disk } = choice {
        let disk = SlowDisk::find(disk)?;
        return Ok(Scene::new(Box::new(broker.clone()), disk, None, longest, options.seed));
    }
    let number = SCENES.fetch_add(1, Ordering::Relaxed);
    let folders = Folders::make(&format!("aplomb-lab-{}-{number}", std::process::id()))?;
    let disk = SlowDisk::create(&DiskOptions {
        size_bytes: DISK,
        filesystem: incident.filesystem,
        bandwidth: Some(BANDWIDTH),
        ..DiskOptions::default()
    })?;
    let places = folders.places(disk.mount_point(), incident.on_disk)?;
    let (settings, overrides) = (settings(incident, options.plan), &options.overrides);
    let mut broker: Box<dyn BrokerUnderTest> = match (choice, jars) {
        (Choice::Aplomb(executable), _) => {
            Box::new(Aplomb::broker(executable.as_deref(), places, &settings, overrides)?)
        }
        (_, Some(jars)) => Box::new(Kafka::broker(jars, places, &settings, overrides)?),
        (_, None) => unreachable!("a Kafka comes with its jars, and another was returned above"),
    };
    broker.prepare()?;
    Ok(Scene::new(broker, disk, Some(folders), longest, options.seed))
}

fn settings(incident: &Incident, plan: Plan) -> Settings {
    let mut settings: Settings = own(incident.settings);
    if plan.history_divisor > 1 {
        // Less is old, so less of it may be kept in memory, or nothing of it would be read from the
        // disk.
        settings.push(("aplomb.tail.bytes".to_owned(), (64 << 20).to_string()));
    }
    settings.extend(group_settings(plan));
    settings
}

/// Groups of either protocol are to notice a member that is away after the same time, which is less
/// than a broker grants by itself; and not to wait for members that are all there.
fn group_settings(plan: Plan) -> Settings {
    let (session, heartbeats) = (plan.session.as_millis(), plan.heartbeats.as_millis());
    [
        ("group.initial.rebalance.delay.ms", 0),
        ("group.min.session.timeout.ms", session),
        ("group.consumer.min.session.timeout.ms", session),
        ("group.consumer.session.timeout.ms", session),
        ("group.consumer.min.heartbeat.interval.ms", heartbeats),
        ("group.consumer.heartbeat.interval.ms", heartbeats),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_string()))
    .into()
}

fn own(pairs: &[(&str, &str)]) -> Settings {
    pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

impl Choice {
    /// The product, whatever its version.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Kafka(_) => Kind::Kafka,
            Self::Aplomb(_) => Kind::Aplomb,
            Self::External { .. } => Kind::External,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents;

    #[test]
    fn limits_of_memory_are_smaller_where_the_load_is() {
        let room = |plan: Plan| plan.scaled(&Action::RoomForPages(8 << 20));
        assert_eq!(room(Plan::FULL), Action::RoomForPages(8 << 20));
        assert_eq!(room(Plan::SHORT), Action::RoomForPages(2 << 20));
        let quota = Plan::SHORT.scaled(&Action::ProduceQuota(400_000));
        assert_eq!(quota, Action::ProduceQuota(100_000));
    }

    #[test]
    fn a_short_run_has_less_history_and_less_memory_for_it() {
        let incident = incidents::named("munmap").expect("it is there");
        let tail = |plan| settings(&incident, plan).iter().any(|(key, _)| key == "aplomb.tail.bytes");
        assert!(tail(Plan::SHORT) && !tail(Plan::FULL));
        assert!(
            settings(&incident, Plan::FULL).iter().any(|(key, _)| key == "log.retention.check.interval.ms")
        );
    }

    #[test]
    fn a_session_outlives_several_heartbeats_and_ends_within_a_long_freeze() {
        let long = |plan: Plan| plan.during.mul_f64(2.0 / 3.0);
        for plan in [Plan::FULL, Plan::SHORT] {
            assert!(plan.session >= 4 * plan.heartbeats && 2 * plan.session < long(plan));
        }
        let value = |key: &str| {
            let settings = group_settings(Plan::FULL);
            settings.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
        };
        assert_eq!(value("group.consumer.session.timeout.ms").as_deref(), Some("6000"));
    }
}
