//! Consumer groups of a run: which, and what became of them.
//!
//! What always holds: no run fails for want of groups; why there are none is in its record. They
//! are stable before the load begins, or left out.

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use aplomb_bench::{Due, GroupHistory, GroupProtocol, GroupReport, Latency};
use hdrhistogram::Histogram;

use super::Plan;
use super::bounds::Bounds;
use super::scene::Scene;
use crate::brokers::Kind;
use crate::incidents::{Aim, Incident, OnDisk};
use crate::record::{GroupFigures, GroupPhase, Groups, GroupsOf, Percentiles, PhaseName};
use crate::workload::WorkloadError;
use crate::workload::coordinators::{names, names_off};
use crate::workload::groups::{COMMITS, GroupLoad, MEMBERS, RunningGroups, TOPIC};

const PROTOCOLS: [(GroupProtocol, &str); 2] =
    [(GroupProtocol::Classic, "classic"), (GroupProtocol::Consumer, "consumer")];

/// How much longer than other loads they may run: they begin before those, and end after them.
const BESIDE: Duration = Duration::from_secs(120);

/// The groups of a run, by protocol.
pub(super) struct GroupLoads {
    about: About,
    loads: Vec<(&'static str, Result<RunningGroups, WorkloadError>)>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
struct About {
    placed: &'static str,
    groups: usize,
    session: Duration,
    heartbeats: Duration,
}

/// What came of all.
pub(super) struct AllGroups {
    about: About,
    came: Vec<(&'static str, Result<GroupReport, String>)>,
}

impl GroupLoads {
    /// Has so many groups of each protocol join, and waits until they are stable.
    pub(super) fn start(
        incident: &Incident,
        plan: Plan,
        groups: usize,
        scene: &mut Scene,
        stop: &AtomicBool,
    ) -> Self {
        let address = scene.broker.address().to_owned();
        // An external broker has limits that the lab has not set.
        let plan = if scene.broker.kind() == Kind::External { Plan::FULL } else { plan };
        let Plan { session, heartbeats, .. } = plan;
        let joining = PROTOCOLS.map(|(protocol, word)| {
            scene.commands.push(command(word, groups, plan));
            let prefix = format!("lab-{word}");
            let names = if is_off(incident) {
                names_off(&address, &prefix, groups, scene.disk.mount_point())
            } else {
                Ok(names(&prefix, groups))
            };
            let longest = scene.longest() + BESIDE;
            let load = names.map(|names| GroupLoad { protocol, names, session, heartbeats, longest });
            (word, load.and_then(|load| load.start(&address)))
        });
        let stable = joining.map(|(word, load)| (word, load.and_then(|load| load.stable(stop))));
        let about = About { placed: placed(incident), groups, session, heartbeats };
        Self { about, loads: stable.into() }
    }

    /// Ends them.
    pub(super) fn finish(self) -> AllGroups {
        let came = self.loads.into_iter().map(|(protocol, load)| {
            let came = load.and_then(RunningGroups::finish);
            (protocol, came.map_err(|error| error.to_string()))
        });
        AllGroups { about: self.about, came: came.collect() }
    }
}

/// The same by hand.
fn command(protocol: &str, groups: usize, plan: Plan) -> String {
    format!(
        "aplomb bench group -t {TOPIC} --partitions {MEMBERS} --protocol {protocol} --groups {groups} --members {MEMBERS} \
         --heartbeat-interval {}ms --session-timeout {}ms --commit-interval {}ms",
        plan.heartbeats.as_millis(),
        plan.session.as_millis(),
        COMMITS.as_millis()
    )
}

/// Whether only what is off the slow disk is looked at: what is on it is lost, or crowded.
fn is_off(incident: &Incident) -> bool {
    matches!(incident.aim, Aim::OneDirectory | Aim::Neighbours)
}

/// Where the coordinators' partitions lie.
fn placed(incident: &Incident) -> &'static str {
    match incident.on_disk {
        OnDisk::Records => "their coordinators write to the disk that is disturbed",
        OnDisk::OneOfTwo if is_off(incident) => "their coordinators write to the other log directory alone",
        OnDisk::OneOfTwo => "their coordinators write to both log directories",
        OnDisk::Logs => "their coordinators write to a disk that nobody disturbs",
    }
}

impl AllGroups {
    /// For the record. `begin` is when measuring began.
    pub(super) fn account(&self, bounds: Bounds, begin: Instant) -> Groups {
        let About { placed, groups, session, heartbeats } = self.about;
        let mut all = Vec::new();
        let loads = self.came.iter().map(|(protocol, came)| {
            let history = came.as_ref().ok().and_then(|report| report.history.as_ref());
            all.extend(history);
            GroupsOf {
                protocol: (*protocol).to_owned(),
                groups: groups as u64,
                members: MEMBERS as u64,
                session_timeout_ms: millis(session),
                heartbeat_interval_ms: millis(heartbeats),
                commit_interval_ms: millis(COMMITS),
                lacks: came.as_ref().err().cloned().unwrap_or_default(),
                figures: history.map(|history| figures(&[history], bounds, begin)),
            }
        });
        let loads = loads.collect();
        let figures = (!all.is_empty()).then(|| figures(&all, bounds, begin));
        Groups { placed: placed.to_owned(), loads, figures }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn figures(of: &[&GroupHistory], bounds: Bounds, begin: Instant) -> GroupFigures {
    let phase = |name| phase(of, bounds.of(name), begin);
    GroupFigures {
        calm: phase(PhaseName::Calm),
        during: phase(PhaseName::During),
        after: phase(PhaseName::After),
    }
}

fn phase(of: &[&GroupHistory], bounds: Range<Duration>, begin: Instant) -> GroupPhase {
    let (mut found, mut heartbeats, mut commits) = (GroupPhase::default(), Vec::new(), Vec::new());
    for history in of {
        // What came before measuring began is in no phase.
        let is_in = |at: &Duration| {
            let at = (history.began + *at).checked_duration_since(begin);
            at.is_some_and(|at| bounds.contains(&at))
        };
        found.rebalances += history.rebalances.iter().filter(|at| is_in(at)).count() as u64;
        for (_, lasted) in history.gaps.iter().filter(|(at, _)| is_in(at)) {
            let ms = lasted.as_secs_f64() * 1e3;
            found.longest_unowned_ms = found.longest_unowned_ms.max(ms);
            found.unowned_ms += ms;
        }
        heartbeats.extend(history.heartbeats.iter().filter(|due| is_in(&due.at)));
        commits.extend(history.commits.iter().filter(|due| is_in(&due.at)));
    }
    let failed = |all: &[&Due]| all.iter().filter(|due| !due.well).count() as u64;
    (found.heartbeats, found.commits) = (heartbeats.len() as u64, commits.len() as u64);
    (found.failed_heartbeats, found.failed_commits) = (failed(&heartbeats), failed(&commits));
    (found.heartbeat, found.commit) = (percentiles(&heartbeats), percentiles(&commits));
    found
}

fn percentiles(of: &[&Due]) -> Option<Percentiles> {
    let mut histogram = Histogram::<u64>::new(3).expect("three digits can be had");
    for due in of {
        let micros = u64::try_from(due.took.as_micros()).unwrap_or(u64::MAX).max(1);
        histogram.record(micros).expect("it grows");
    }
    let found = Latency::of(&histogram);
    (found.count > 0).then_some(Percentiles {
        p50_us: found.p50,
        p99_us: found.p99,
        p999_us: found.p99_9,
        max_us: found.max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn what_happens_belongs_to_the_part_in_which_it_began() {
        let began = Instant::now();
        // Groups join five seconds before measuring begins.
        let begin = began + ms(5_000);
        let due = |at, took, well| Due { at: ms(at), took: ms(took), well };
        let history = GroupHistory {
            began,
            heartbeats: vec![due(4_000, 900, false), due(5_500, 1, true), due(7_500, 9_000, false)],
            commits: vec![due(5_000, 2, true), due(8_000, 3_000, true), due(15_500, 4, true)],
            rebalances: vec![ms(3_000), ms(8_000), ms(16_000)],
            gaps: vec![(ms(8_000), ms(9_000)), (ms(9_000), ms(500)), (ms(16_000), ms(20))],
        };
        let found = figures(&[&history], Bounds::new(Plan::SHORT), begin);
        let counted = |phase: GroupPhase| (phase.rebalances, phase.heartbeats, phase.failed_heartbeats);
        assert_eq!(
            [found.calm, found.during, found.after].map(counted),
            [(0, 1, 0), (1, 1, 1), (1, 0, 0)],
            "what was before is in none"
        );
        assert_eq!((found.during.longest_unowned_ms, found.during.unowned_ms), (9_000.0, 9_500.0));
        assert_eq!((found.caused(), found.longest_unowned_ms()), (2, 9_000.0));
        assert_eq!(found.calm.commit.map(|commit| commit.max_us), Some(2_000));
        assert!((1_490.0..1_510.0).contains(&found.commits_rose().expect("both have some")));
        let twice = figures(&[&history, &history], Bounds::new(Plan::SHORT), begin);
        assert_eq!((twice.caused(), twice.during.commits), (4, 2));
    }

    #[test]
    fn groups_are_where_somebody_can_be_expected_to_serve_them() {
        for incident in incidents::all() {
            let words = placed(&incident);
            let lost = matches!(incident.aim, Aim::OneDirectory | Aim::Neighbours);
            assert_eq!(words.contains("other log directory"), lost, "{}", incident.name);
        }
    }

    #[test]
    fn why_there_are_no_groups_is_told() {
        let about = About { placed: "", groups: 3, session: ms(6_000), heartbeats: ms(1_000) };
        let came = vec![("classic", Err("the broker does not speak it".to_owned()))];
        let all = AllGroups { about, came };
        let told = all.account(Bounds::new(Plan::SHORT), Instant::now());
        assert!(told.figures.is_none() && told.loads[0].figures.is_none());
        assert!(told.loads[0].lacks.contains("does not speak"));
    }
}
