//! Consumer groups of runs that never were.

use aplomb_lab::record::{GroupFigures, GroupPhase, Groups, GroupsOf, Percentiles, Run};

/// A run with groups: one broker's rebalance, and the other has those of one protocol only.
pub(crate) fn run() -> Run {
    let mut run = super::runs().remove(2);
    "long-freeze".clone_into(&mut run.incident.name);
    let hurt = GroupFigures { calm: phase(0, 9_000), during: phase(12, 18_000_000), after: phase(2, 9_000) };
    let calm = GroupFigures { calm: phase(0, 3_000), during: phase(0, 3_300), after: phase(0, 3_000) };
    let both = [load("classic", hurt), load("consumer", hurt)];
    run.brokers[0].groups = Some(groups(both.into(), Some(hurt)));
    let lacking = GroupsOf {
        lacks: "the broker does not speak it".to_owned(),
        figures: None,
        ..load("consumer", calm)
    };
    run.brokers[1].groups = Some(groups(vec![load("classic", calm), lacking], Some(calm)));
    run
}

/// Groups whose texts are all this one.
pub(crate) fn hostile(evil: &str) -> Option<Groups> {
    let mut phase = phase(u64::MAX, u64::MAX);
    (phase.longest_unowned_ms, phase.unowned_ms) = (1e300, -1e300);
    let figures = GroupFigures { calm: phase, during: phase, after: GroupPhase::default() };
    let load =
        |lacks: &str| GroupsOf { protocol: evil.to_owned(), lacks: lacks.to_owned(), ..load("", figures) };
    let halves = GroupFigures {
        during: GroupPhase { rebalances: 1, ..phase },
        after: GroupPhase::default(),
        ..figures
    };
    Some(Groups { placed: evil.to_owned(), loads: vec![load(""), load(evil)], figures: Some(halves) })
}

fn groups(loads: Vec<GroupsOf>, figures: Option<GroupFigures>) -> Groups {
    Groups { placed: "their coordinators write to the disk that is disturbed".to_owned(), loads, figures }
}

fn load(protocol: &str, figures: GroupFigures) -> GroupsOf {
    GroupsOf {
        protocol: protocol.to_owned(),
        groups: 10,
        members: 5,
        session_timeout_ms: 6_000,
        heartbeat_interval_ms: 1_000,
        commit_interval_ms: 500,
        lacks: String::new(),
        figures: Some(figures),
    }
}

fn phase(rebalances: u64, p999_us: u64) -> GroupPhase {
    let percentiles = Percentiles { p50_us: 900, p99_us: p999_us / 2, p999_us, max_us: p999_us };
    GroupPhase {
        rebalances,
        longest_unowned_ms: if rebalances > 0 { 14_000.0 } else { 0.0 },
        unowned_ms: 14_000.0 * rebalances as f64,
        heartbeats: 1_000,
        failed_heartbeats: 4 * rebalances.min(1_000),
        commits: 2_000,
        failed_commits: rebalances,
        heartbeat: Some(percentiles),
        commit: Some(percentiles),
    }
}
