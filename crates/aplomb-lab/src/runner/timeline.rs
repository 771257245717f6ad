//! One broker's run: start, old records, load, calm, disturbance, recovery.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use aplomb_bench::Report;
use rustix::time::{ClockId, clock_gettime};

use super::groups::{AllGroups, GroupLoads};
use super::interruption::Interruption;
use super::loads::{Loads, Outcome};
use super::scene::Scene;
use super::{Options, Plan, Trouble};
use crate::clock::wall_ms;
use crate::conditions::sync;
use crate::evidence::metrics::Readings;
use crate::evidence::metronome::{Beats, Metronome};
use crate::evidence::numbers::{Asked, Numbers};
use crate::evidence::threads::Sampler;
use crate::incidents::Incident;
use crate::record::{Counted, Recovery, Stall};
use crate::slow_disk::{PerOperation, ServiceTimes};
use crate::workload::WorkloadError;
use crate::workload::history::History;
use crate::workload::lagging::Arrived;

/// How often the course looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(10);
/// Between the writing of old records and what follows: brokers that write in the background have
/// done so.
const SETTLE: Duration = Duration::from_secs(2);

/// What a run has left in the hands of who measured.
pub(super) struct Course {
    pub(super) report: Report,
    /// Whose records that is about, if not everybody's.
    pub(super) counted: Option<Counted>,
    /// How the broker came back, if it was killed.
    pub(super) recovery: Option<Recovery>,
    /// What consumer groups saw, if there were to be any.
    pub(super) groups: Option<AllGroups>,
    /// When measuring began.
    pub(super) begin: Instant,
    pub(super) stalls: Vec<Stall>,
    /// How late the machine was, from the beginning of measuring on.
    pub(super) beats: Beats,
    pub(super) arrived: Vec<Arrived>,
    /// The broker's own; those of the disturbance's end in place of the run's, if it says nothing
    /// any more then.
    pub(super) numbers: Readings,
    /// By phase: calm, during, after.
    pub(super) device: [PerOperation<ServiceTimes>; 3],
    /// The kernel's monotonic clock when measuring began, in nanoseconds.
    pub(super) zero_ns: i128,
    /// What the broker said in its log.
    pub(super) log: String,
    pub(super) safepoints: String,
    /// What ended the measuring too early.
    pub(super) trouble: Option<String>,
}

/// Runs it from the start of the broker to the end of the load.
pub(super) fn run(
    incident: &Incident,
    options: &Options,
    scene: &mut Scene,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Course, Trouble> {
    let plan = options.plan;
    let failed = |error: crate::brokers::BrokerError| Trouble::Scene(error.into());
    scene.broker.start().map_err(failed)?;
    let names = scene.broker.thread_names();
    // A broker whose numbers cannot be had is measured without.
    let numbers = scene.broker.numbers().and_then(|at| Numbers::open(&at).ok());
    write_history(incident, plan, scene, stop, tell)?;
    let groups = options.groups.map(|count| {
        tell("consumer groups join");
        GroupLoads::start(incident, plan, count, scene, stop)
    });
    for action in &incident.before {
        scene.act(action)?;
    }
    let loads = Loads::start(incident, plan, scene)?;
    let Some(begin) = loads.measured_from() else { return Err(loads.why_not()) };
    wait_until(begin, stop)?;
    measure(incident, plan, scene, UnderLoad { loads, groups, begin, names, numbers }, stop, tell)
}

fn write_history(
    incident: &Incident,
    plan: Plan,
    scene: &mut Scene,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Trouble> {
    if incident.history.is_empty() {
        return Ok(());
    }
    let began = wall_ms();
    for history in &incident.history {
        let history = History { bytes: history.bytes / plan.history_divisor, ..history.clone() };
        tell(&format!("writing {} MB of old records", history.bytes / 1_000_000));
        scene.commands.push(format!(
            "aplomb bench produce -t {} ({} MB)",
            history.topic,
            history.bytes / 1_000_000
        ));
        history.write(scene.broker.address()).map_err(load_failed)?;
    }
    scene.history = (began, wall_ms());
    wait_until(Instant::now() + SETTLE, stop)?;
    sync(scene.disk.mount_point()).map_err(|error| Trouble::Scene(error.into()))
}

/// Loads that run, and what is to be measured by.
struct UnderLoad {
    loads: Loads,
    groups: Option<GroupLoads>,
    begin: Instant,
    /// Of the broker's threads.
    names: HashMap<u32, String>,
    /// The way to the broker's own.
    numbers: Option<Numbers>,
}

/// The measured part.
fn measure(
    incident: &Incident,
    plan: Plan,
    scene: &mut Scene,
    started: UnderLoad,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<Course, Trouble> {
    let UnderLoad { loads, groups, begin, names, mut numbers } = started;
    let zero_ns = monotonic_ns() - i128::try_from(begin.elapsed().as_nanos()).unwrap_or_default();
    let sampler = Sampler::start(scene.broker.pid(), names, begin).map_err(Trouble::Sampler)?;
    let metronome = Metronome::start(begin).map_err(Trouble::Sampler)?;
    let device = |scene: &Scene| scene.disk.service_times().map_err(|error| Trouble::Scene(error.into()));
    let mut ask = || numbers.as_mut().map(Numbers::ask);
    device(scene)?;
    let first = ask();
    tell("calm");
    let disturbed = begin + plan.calm;
    wait_until(disturbed, stop)?;
    let (before, calm_times) = (ask(), device(scene)?);

    tell(if incident.disturbance.is_empty() { "nothing is disturbed" } else { incident.disturbance });
    let (mut trouble, mut interruption) = (None, Interruption::default());
    for step in &incident.during {
        wait_until(disturbed + step.moment(plan.during), stop)?;
        if let Err(error) = interruption.act(&plan.scaled(&step.action), scene, &sampler) {
            trouble = Some(format!("{}: {error}", step.action));
            break;
        }
    }
    wait_until(disturbed + plan.during, stop)?;
    let (late, during_times) = (ask(), device(scene)?);
    scene.calm()?;
    tell("recovery");
    wait_until(begin + plan.length(), stop)?;
    let after_times = device(scene)?;
    let beats = metronome.finish();
    if trouble.is_none() {
        let ended = scene.broker.ended();
        trouble = ended.map(|status| format!("the broker has ended in the midst of it ({status})"));
    }

    let Outcome { report, counted } = loads.finish(plan)?;
    // After the load, whose last answers are waited for: theirs may come as late.
    let groups = groups.map(GroupLoads::finish);
    let recovery = interruption.account(&report, scene, begin)?;
    let arrived = scene.gather();
    let stalls = sampler.finish();
    let read = |path: Option<&std::path::Path>| {
        let bytes = path.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (log, safepoints) = (read(scene.broker.log_file()), read(scene.broker.safepoint_log()));
    let last = ask();
    let [first, before, late, last] = [first, before, late, last].map(|asked| asked.and_then(Asked::answer));
    let numbers = Readings {
        begin: first.unwrap_or_default(),
        disturbed: before.unwrap_or_default(),
        end: last.or(late).unwrap_or_default(),
    };
    Ok(Course {
        report,
        counted,
        recovery,
        groups,
        begin,
        stalls,
        beats,
        arrived,
        numbers,
        device: [calm_times, during_times, after_times],
        zero_ns,
        log,
        safepoints,
        trouble,
    })
}

fn load_failed(error: WorkloadError) -> Trouble {
    Trouble::Scene(error.into())
}

fn wait_until(moment: Instant, stop: &AtomicBool) -> Result<(), Trouble> {
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Stopped);
        }
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        sleep(left.min(LOOK));
    }
}

fn monotonic_ns() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}
