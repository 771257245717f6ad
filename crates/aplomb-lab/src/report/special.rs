//! What is told of a run beside latencies, or in place of a factor: how a broker that was killed
//! came back, and whose records are counted.
//!
//! What always holds: the time for which a broker was away is never told as a factor of a latency,
//! and what is missing is told before what is not.

use super::units;
use super::who::Who;
use crate::record::{BrokerRun, Counted, Machine, MachineStandstill, Percentiles, Recovery};

/// For how long it was away: `12 s`, or that it still was at the end.
pub(super) fn away(recovery: &Recovery) -> String {
    recovery.away_ms().map_or_else(|| "the rest of the run".to_owned(), |ms| units::time(ms * 1e3))
}

/// What became of acknowledged records: `all 34,000 acknowledged records were there`.
pub(super) fn kept(recovery: &Recovery) -> String {
    let all = units::count(recovery.acknowledged);
    let mut text = match recovery.missing {
        0 => format!("all {all} acknowledged records were there"),
        missing => format!("{} of {all} acknowledged records were missing", units::count(missing)),
    };
    if recovery.repeated > 0 {
        text += &format!(", {} more than once", units::count(recovery.repeated));
    }
    text
}

/// The part of a sentence that begins with `Killed and started again`.
pub(super) fn clause(recovery: &Recovery, who: &Who) -> String {
    match recovery.away_ms() {
        Some(_) => {
            format!("{} acknowledged again after {}, and {}", who.name, away(recovery), kept(recovery))
        }
        None => format!("{} did not acknowledge again, and {}", who.name, kept(recovery)),
    }
}

/// The steps on the way back.
pub(super) fn steps(recovery: &Recovery) -> String {
    let after = |ms: f64| units::time((ms - recovery.killed_ms).max(0.0) * 1e3);
    let mut text = format!(
        "killed at {}; started again {} later, named itself to clients after {}",
        units::moment(recovery.killed_ms),
        after(recovery.started_ms),
        after(recovery.answers_ms)
    );
    text += &match (recovery.away_ms(), recovery.starting_ms()) {
        (Some(away), Some(starting)) => format!(
            ", acknowledged a record after {} ({} from its start)",
            units::time(away * 1e3),
            units::time(starting * 1e3)
        ),
        _ => ", and acknowledged nothing".to_owned(),
    };
    text
}

/// Whose records the figures are about, and what the others saw.
pub(super) fn counted(counted: &Counted) -> String {
    let partitions: Vec<String> = counted.partitions.iter().map(i32::to_string).collect();
    let all = counted.others.acknowledged + counted.others.failed;
    format!(
        "all figures are of {} (partitions {}); of {} of the others during the disturbance, {} were acknowledged",
        counted.who,
        partitions.join(", "),
        units::plural(all, "record"),
        units::count(counted.others.acknowledged)
    )
}

/// How long the machine itself stood still, before and during the disturbance; nothing of a record
/// that does not know.
pub(super) fn machine(run: &BrokerRun) -> Option<String> {
    let standstill = run.machine_standstill.as_ref()?;
    let (calm, during) = (standstill.calm?, standstill.during?);
    Some(format!(
        "stood still for {} at p99.9 and {} at most in the calm part, {} and {} during the disturbance",
        units::time_us(calm.p999_us),
        units::time_us(calm.max_us),
        units::time_us(during.p999_us),
        units::time_us(during.max_us)
    ))
}

/// The same of a machine on which nothing was run: what it is, how long it stood still (p99.9 and
/// at most), and whether figures can be compared on it.
#[must_use]
pub fn idle_machine(machine: &Machine, idle: &Percentiles, steady: bool) -> String {
    let limit = units::time_us(MachineStandstill::STEADY_US);
    format!(
        "{} of {}, {}, Linux {}: stood still for {} at p99.9 and {} at most\n{}",
        units::plural(u64::from(machine.cpus), "processor"),
        machine.cpu_model,
        units::memory(machine.memory_bytes),
        machine.kernel,
        units::time_us(idle.p999_us),
        units::time_us(idle.max_us),
        if steady {
            format!("steady: no longer than {limit} at p99.9, so two parts of a run can be compared")
        } else {
            format!("not steady: longer than {limit} at p99.9, and a run would show that beside the broker")
        }
    )
}

/// A sentence to be added to a headline; the first broker's words are everybody's.
pub(super) fn of_whom(runs: &[BrokerRun]) -> Option<String> {
    let counted = runs.iter().find_map(|run| run.counted.as_ref())?;
    Some(format!("All figures are of {}.", counted.who))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Others;

    fn recovery() -> Recovery {
        Recovery {
            killed_ms: 5_400.0,
            started_ms: 5_900.0,
            answers_ms: 6_000.0,
            acknowledged_ms: Some(17_400.0),
            acknowledged: 34_000,
            missing: 0,
            repeated: 0,
        }
    }

    #[test]
    fn a_machine_that_stands_still_is_told_before_anything_is_run() {
        let machine =
            Machine { kernel: "6.1".to_owned(), cpus: 2, memory_bytes: 24 << 30, cpu_model: "X".to_owned() };
        let idle = |p999_us| Percentiles { p50_us: 0, p99_us: 0, p999_us, max_us: 21_000 };
        let steady = idle_machine(&machine, &idle(MachineStandstill::STEADY_US), true);
        assert!(steady.starts_with(
            "2 processors of X, 24 GiB, Linux 6.1: stood still for 10 ms at p99.9 and 21 ms at most\nsteady"
        ));
        assert!(
            idle_machine(&machine, &idle(MachineStandstill::STEADY_US + 1), false)
                .contains("\nnot steady: longer than 10 ms")
        );
    }

    #[test]
    fn what_is_missing_is_told_first() {
        assert_eq!(kept(&recovery()), "all 34,000 acknowledged records were there");
        let lossy = Recovery { missing: 2, repeated: 1, ..recovery() };
        assert_eq!(kept(&lossy), "2 of 34,000 acknowledged records were missing, 1 more than once");
    }

    #[test]
    fn a_way_back_is_told_from_the_kill() {
        assert_eq!(
            steps(&recovery()),
            "killed at 5.4 s; started again 500 ms later, named itself to clients after 600 ms, \
             acknowledged a record after 12 s (12 s from its start)"
        );
        let gone = Recovery { acknowledged_ms: None, ..recovery() };
        assert!(steps(&gone).ends_with("and acknowledged nothing"));
        assert_eq!(away(&gone), "the rest of the run");
    }

    #[test]
    fn the_others_are_told_with_those_who_are_counted() {
        let others = Others { acknowledged: 1_200, failed: 2_800 };
        let one = Counted {
            who: "producers of the other log directory".to_owned(),
            partitions: vec![1, 3],
            others,
        };
        assert_eq!(
            counted(&one),
            "all figures are of producers of the other log directory (partitions 1, 3); of 4,000 records of the others \
             during the disturbance, 1,200 were acknowledged"
        );
    }
}
