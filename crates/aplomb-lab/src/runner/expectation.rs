//! What a broker is expected to do in an incident, and whether it has.
//!
//! What always holds: how long something took is judged against the same broker's calm part of the
//! same run, or not at all: a broker that is away has no factor.

use crate::brokers::Kind;
use crate::incidents::{Aim, Incident, Whom};
use crate::record::{Amplification, Counted, Expectation, GroupFigures, Groups, Recovery, Sighting, Witness};

/// p99.9 has to rise as many times where an incident hurts, and stays below that where it does not.
const RISES: f64 = 10.0;
/// Where processors, a heap or a client are what is short, it rises at least so many times.
const RISES_TOO: f64 = 2.0;
/// What is promised: p99.9 during the disturbance is less than so many times that before it.
const PROMISED: f64 = 1.5;

/// What is judged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Findings<'a> {
    pub(super) amplification: Option<Amplification>,
    pub(super) signatures: &'a [Sighting],
    pub(super) witness: Option<&'a Witness>,
    /// Records of the figures that were due during the disturbance and not acknowledged.
    pub(super) failed: u64,
    pub(super) counted: Option<&'a Counted>,
    pub(super) recovery: Option<&'a Recovery>,
    pub(super) groups: Option<&'a Groups>,
}

impl<'a> Findings<'a> {
    fn rose(self) -> f64 {
        self.amplification.map_or(0.0, |times| times.p999)
    }

    fn stayed(self) -> bool {
        self.amplification.is_some() && self.rose() < PROMISED
    }

    fn is_known_by_something(self) -> bool {
        self.signatures.iter().any(|signature| signature.seen)
    }

    /// What became of consumer groups, if there were any.
    fn groups(self) -> Option<&'a GroupFigures> {
        self.groups.and_then(|groups| groups.figures.as_ref())
    }

    fn is_silent(self) -> bool {
        self.witness.is_some_and(|witness| witness.silent)
    }
}

/// Whether a broker is expected to show what an incident is known by.
pub(super) fn shows(incident: &Incident, kind: Kind, version: &str) -> bool {
    match incident.aim {
        // Either broker says that it goes on without a directory; of somebody else's nobody knows
        // the words.
        Aim::OneDirectory => kind != Kind::External,
        Aim::Latency | Aim::Neighbours | Aim::Recovery => incident.hurts.includes(kind, version),
    }
}

/// Whether it is no surprise if it does: nothing is known of somebody else's broker, and some
/// incidents come in some runs.
pub(super) fn may_show(incident: &Incident, kind: Kind) -> bool {
    kind == Kind::External || kind == Kind::Kafka && incident.hurts == Whom::KafkaAtTimes
}

/// What is expected, and whether it came.
pub(super) fn expectation(incident: &Incident, kind: Kind, version: &str, seen: Findings<'_>) -> Expectation {
    let (text, met) = match (incident.aim, kind) {
        (_, Kind::External) => ("nothing is known of this broker, so nothing is expected", true),
        (Aim::Latency, _) if is_felt_without_a_disk(incident, kind, version) => without_a_disk(kind, seen),
        (Aim::Latency | Aim::Neighbours, _) => latency(incident, kind, version, seen),
        (Aim::OneDirectory, _) => one_directory(kind, seen),
        (Aim::Recovery, _) => recovery(kind, seen),
    };
    let (also, also_met) = match (kind, seen.groups()) {
        (Kind::Aplomb, Some(groups)) if !is_felt_without_a_disk(incident, kind, version) => {
            of_groups(incident.aim, groups)
        }
        // Other brokers are not judged by their groups, nor is a run without any.
        _ => ("", true),
    };
    Expectation { text: format!("{text}{also}"), met: met && also_met, lacks: String::new() }
}

/// What is expected of Aplomb's groups beside.
fn of_groups(aim: Aim, groups: &GroupFigures) -> (&'static str, bool) {
    let none = groups.caused() == 0;
    match aim {
        // Commits wait for a broker that is away.
        Aim::Recovery => ("; no consumer group rebalances", none),
        Aim::Latency | Aim::OneDirectory | Aim::Neighbours => (
            "; no consumer group rebalances, and p99.9 of commits stays below 1.5 times as well",
            none && groups.commits_rose().is_some_and(|times| times < PROMISED),
        ),
    }
}

fn is_felt_without_a_disk(incident: &Incident, kind: Kind, version: &str) -> bool {
    incident.look_alike && incident.hurts.includes(kind, version)
}

/// What no broker is spared, whatever it does about disks.
fn without_a_disk(kind: Kind, seen: Findings<'_>) -> (&'static str, bool) {
    let rose = seen.rose() >= RISES_TOO;
    match kind {
        Kind::Aplomb => (
            "p99.9 at least doubles, as any broker's does, and no request thread waits for a disk",
            rose && seen.is_silent(),
        ),
        _ => ("p99.9 at least doubles, and no disk has a part in that", rose),
    }
}

fn latency(incident: &Incident, kind: Kind, version: &str, seen: Findings<'_>) -> (&'static str, bool) {
    match kind {
        Kind::Aplomb => (
            "p99.9 stays below 1.5 times that of the calm part, and no request thread waits for a disk",
            seen.stayed() && seen.is_silent(),
        ),
        _ if incident.hurts.includes(kind, version) => (
            "p99.9 rises at least tenfold, and threads are seen waiting as described",
            seen.rose() >= RISES && seen.is_known_by_something(),
        ),
        _ if matches!(incident.hurts, Whom::KafkaBefore(..)) => (
            "this version has mended it: p99.9 does not rise tenfold",
            seen.amplification.is_some() && seen.rose() < RISES,
        ),
        _ if incident.hurts == Whom::KafkaAtTimes => (
            "in some runs p99.9 rises tenfold and in others it does not: either is as expected",
            seen.amplification.is_some(),
        ),
        _ => (
            "nothing is to be seen: p99.9 does not rise tenfold, and nobody waits as described",
            seen.amplification.is_some() && seen.rose() < RISES && !seen.is_known_by_something(),
        ),
    }
}

fn one_directory(kind: Kind, seen: Findings<'_>) -> (&'static str, bool) {
    let lost = seen.is_known_by_something() && seen.counted.is_some_and(|counted| counted.others.failed > 0);
    match kind {
        Kind::Aplomb => (
            "that directory alone goes offline; all records for the other are acknowledged, their p99.9 stays below 1.5 times that of the calm part, \
             and no request thread waits for a disk",
            lost && seen.failed == 0 && seen.stayed() && seen.is_silent(),
        ),
        _ => (
            "that directory goes offline; what producers of the other one see of it is in the figures",
            lost && seen.amplification.is_some(),
        ),
    }
}

fn recovery(kind: Kind, seen: Findings<'_>) -> (&'static str, bool) {
    let whole =
        seen.recovery.is_some_and(|recovery| recovery.acknowledged_ms.is_some() && recovery.missing == 0);
    match kind {
        Kind::Aplomb => (
            "it acknowledges again, everything that was acknowledged is there, and no request thread waits for a disk, before or after",
            whole && seen.is_silent(),
        ),
        _ => ("it acknowledges again, and everything that was acknowledged is there", whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents;
    use crate::record::{GroupPhase, Others, Percentiles};

    fn signature(seen: bool) -> Sighting {
        Sighting { name: "s".to_owned(), expected: true, seen, count: 1, example: Vec::new() }
    }

    fn times(p999: f64) -> Option<Amplification> {
        Some(Amplification { p99: 1.0, p999, max: 1.0 })
    }

    fn silent() -> Witness {
        Witness { silent: true, stalls: Vec::new(), guard_violations: 0 }
    }

    #[test]
    fn what_is_expected_depends_on_who_it_is() {
        let silent = silent();
        let lock = incidents::named("inode-lock").expect("it is there");
        let met = |incident: &Incident, kind, version: &str, p999, s, w: Option<&Witness>| {
            let signatures = [signature(s)];
            let seen = Findings {
                amplification: times(p999),
                signatures: &signatures,
                witness: w,
                ..Findings::default()
            };
            expectation(incident, kind, version, seen).met
        };
        assert!(met(&lock, Kind::Kafka, "4.4.0", 12.0, true, None));
        assert!(!met(&lock, Kind::Kafka, "4.4.0", 12.0, false, None));
        assert!(!met(&lock, Kind::Kafka, "4.4.0", 9.0, true, None));
        assert!(met(&lock, Kind::Aplomb, "0.1.0", 1.4, false, Some(&silent)));
        assert!(!met(&lock, Kind::Aplomb, "0.1.0", 1.6, false, Some(&silent)));
        let loud = Witness { silent: false, ..silent };
        assert!(!met(&lock, Kind::Aplomb, "0.1.0", 1.0, false, Some(&loud)));
        let roll = incidents::named("roll").expect("it is there");
        assert!(met(&roll, Kind::Kafka, "4.4.0", 2.0, true, None), "mended");
        assert!(!met(&roll, Kind::Kafka, "3.6.2", 2.0, true, None));
        let munmap = incidents::named("munmap").expect("it is there");
        assert!(may_show(&munmap, Kind::Kafka) && may_show(&lock, Kind::External));
        assert!(!may_show(&lock, Kind::Kafka) && !may_show(&munmap, Kind::Aplomb));
        assert!([2.0, 30.0].iter().all(|times| met(&munmap, Kind::Kafka, "4.4.0", *times, false, None)));
        let control = incidents::named("freeze-xfs").expect("it is there");
        assert!(!met(&control, Kind::Kafka, "4.4.0", 2.0, true, None), "somebody waits");
    }

    #[test]
    fn a_look_alike_is_felt_by_every_broker_and_has_none_wait_for_a_disk() {
        let silent = silent();
        let loud = Witness { silent: false, ..silent.clone() };
        let met = |name, kind, p999, witness| {
            let seen = Findings { amplification: times(p999), witness, ..Findings::default() };
            let incident = incidents::named(name).expect("it is there");
            expectation(&incident, kind, "1", seen).met
        };
        for name in ["cpu-starvation", "cpu-quota", "client-quota"] {
            assert!(met(name, Kind::Kafka, 9.0, None) && !met(name, Kind::Kafka, 1.2, None), "{name}");
            assert!(met(name, Kind::Aplomb, 9.0, Some(&silent)), "{name}");
            assert!(!met(name, Kind::Aplomb, 9.0, Some(&loud)), "{name}");
        }
        assert!(met("slow-consumer", Kind::Aplomb, 1.2, Some(&silent)));
        assert!(!met("slow-consumer", Kind::Aplomb, 9.0, Some(&silent)), "nobody waits for it");
    }

    #[test]
    fn aplombs_groups_are_to_stay_as_they_are_and_others_are_not_judged() {
        let (lock, silent) = (incidents::named("inode-lock").expect("it is there"), silent());
        let commits = |p999_us| Some(Percentiles { p50_us: 1, p99_us: 1, p999_us, max_us: p999_us });
        let with = |kind, rebalances, p999_us| {
            let during = GroupPhase { rebalances, commit: commits(p999_us), ..GroupPhase::default() };
            let calm = GroupPhase { commit: commits(1_000), ..GroupPhase::default() };
            let figures = Some(GroupFigures { calm, during, ..GroupFigures::default() });
            let groups = Groups { placed: String::new(), loads: Vec::new(), figures };
            let signatures = [signature(kind == Kind::Kafka)];
            let seen = Findings {
                amplification: times(if kind == Kind::Kafka { 30.0 } else { 1.0 }),
                signatures: &signatures,
                witness: Some(&silent),
                groups: Some(&groups),
                ..Findings::default()
            };
            expectation(&lock, kind, "4.4.0", seen)
        };
        assert!(with(Kind::Aplomb, 0, 1_400).met && with(Kind::Aplomb, 0, 1_400).text.contains("commits"));
        assert!(!with(Kind::Aplomb, 1, 1_400).met && !with(Kind::Aplomb, 0, 1_600).met);
        assert!(with(Kind::Kafka, 9, 9_000).met && !with(Kind::Kafka, 9, 9_000).text.contains("group"));
    }

    #[test]
    fn a_lost_directory_is_to_be_lost_and_nothing_else_is() {
        let (full, silent) = (incidents::named("disk-full").expect("it is there"), silent());
        assert!(shows(&full, Kind::Aplomb, "0.1.0") && shows(&full, Kind::Kafka, "4.4.0"));
        assert!(!shows(&full, Kind::External, ""));
        let counted = |failed| Counted {
            who: "them".to_owned(),
            partitions: vec![1],
            others: Others { acknowledged: 5, failed },
        };
        let (lost, well) = (counted(9), counted(0));
        let signatures = [signature(true)];
        let as_promised = Findings {
            amplification: times(1.2),
            signatures: &signatures,
            witness: Some(&silent),
            counted: Some(&lost),
            ..Findings::default()
        };
        let met = |kind, seen| expectation(&full, kind, "1", seen).met;
        assert!(met(Kind::Aplomb, as_promised) && met(Kind::Kafka, as_promised));
        let also_refused = Findings { failed: 1, ..as_promised };
        assert!(!met(Kind::Aplomb, also_refused) && met(Kind::Kafka, also_refused));
        let slower = Findings { amplification: times(30.0), ..as_promised };
        assert!(!met(Kind::Aplomb, slower) && met(Kind::Kafka, slower));
        for not_lost in
            [Findings { signatures: &[], ..as_promised }, Findings { counted: Some(&well), ..as_promised }]
        {
            assert!(!met(Kind::Aplomb, not_lost) && !met(Kind::Kafka, not_lost));
        }
    }

    #[test]
    fn who_comes_back_is_asked_for_everything_and_not_for_a_factor() {
        let (kill, silent) = (incidents::named("kill-9-recovery").expect("it is there"), silent());
        let back = Recovery {
            killed_ms: 1.0,
            started_ms: 2.0,
            answers_ms: 3.0,
            acknowledged_ms: Some(60_000.0),
            acknowledged: 10,
            missing: 0,
            repeated: 0,
        };
        let met = |kind, recovery: Option<&Recovery>, witness| {
            expectation(&kill, kind, "1", Findings { recovery, witness, ..Findings::default() }).met
        };
        assert!(met(Kind::Kafka, Some(&back), None) && met(Kind::Aplomb, Some(&back), Some(&silent)));
        assert!(!met(Kind::Aplomb, Some(&back), None), "nobody has looked");
        let (lossy, gone) =
            (Recovery { missing: 1, ..back.clone() }, Recovery { acknowledged_ms: None, ..back });
        for other in [Some(&lossy), Some(&gone), None] {
            assert!(!met(Kind::Kafka, other, None) && !met(Kind::Aplomb, other, Some(&silent)));
        }
    }
}
