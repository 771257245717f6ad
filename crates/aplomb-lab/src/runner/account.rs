//! From what was measured to the record.

use aplomb_bench::{Kind as LatencyKind, Latency as Figures, Report, Row};
use hdrhistogram::Histogram;

use super::bounds::Bounds;
use super::expectation::{Findings, expectation, may_show, shows};
use super::scene::Scene;
use super::timeline::Course;
use super::{Choice, Plan};
use crate::brokers::Kind;
use crate::evidence::signatures::Evidence;
use crate::evidence::witness::witness;
use crate::evidence::{SAMPLING_MS, safepoints};
use crate::incidents::Incident;
use crate::record::{
    Broker, BrokerRun, Bucket, Device, Disk, Ended, Expectation, Latencies, Latency, Lateness,
    MachineStandstill, Percentiles, PhaseName, PhaseTimes, Safepoint, Second, Sighting, Stall,
};
use crate::slow_disk::{Operation, PerOperation, ServiceTimes};
use crate::workload::lagging::Arrived;

/// Safepoints shorter than this are not worth a line.
const SHORTEST_SAFEPOINT_MS: f64 = 5.0;
/// Lines of a log that are kept.
const LOG_LINES: usize = 80;

/// The record of a run that came to its end.
pub(super) fn account(incident: &Incident, plan: Plan, scene: &Scene, course: Course) -> BrokerRun {
    let Course {
        report,
        counted,
        recovery,
        groups,
        begin,
        stalls,
        beats,
        arrived,
        numbers,
        device,
        zero_ns,
        log,
        safepoints: pauses,
        trouble,
    } = course;
    let bounds = Bounds::new(plan);
    let kind = scene.broker.kind();
    let broker = scene.broker.about();
    let latency = Latencies {
        calm: latency(&report.histogram(LatencyKind::Produce, bounds.seconds(PhaseName::Calm))),
        during: latency(&report.histogram(LatencyKind::Produce, bounds.seconds(PhaseName::During))),
        after: latency(&report.histogram(LatencyKind::Produce, bounds.seconds(PhaseName::After))),
    };
    // Of a broker that was away a factor says nothing.
    let amplification = if recovery.is_none() { latency.amplification() } else { None };
    let groups = groups.map(|groups| groups.account(bounds, begin));
    let safepoints = safepoints::read(&pauses, zero_ns, SHORTEST_SAFEPOINT_MS);
    let signatures = signatures(incident, bounds, kind, &broker.version, &stalls, &safepoints, &log);
    let witness = (kind == Kind::Aplomb).then(|| witness(&stalls, numbers.end.guard_violations(), &log));
    let seconds = seconds(plan, &report, &arrived);
    let during = seconds.iter().filter(|second| second.phase == PhaseName::During);
    let told = Findings {
        amplification,
        signatures: &signatures,
        witness: witness.as_ref(),
        failed: during.map(|second| second.failed).sum(),
        counted: counted.as_ref(),
        recovery: recovery.as_ref(),
        groups: groups.as_ref(),
    };
    let expectation = expectation(incident, kind, &broker.version, told);
    BrokerRun {
        disk: disk(incident, scene),
        phases: bounds.phases(incident.disturbance),
        seconds,
        latency,
        amplification,
        counted,
        recovery,
        groups,
        sender_lateness_us: Lateness { p99: report.lateness.p99, max: report.lateness.max },
        machine_standstill: Some(MachineStandstill {
            calm: beats.between(&bounds.of(PhaseName::Calm)),
            during: beats.between(&bounds.of(PhaseName::During)),
            after: beats.between(&bounds.of(PhaseName::After)),
        }),
        sampling_ms: SAMPLING_MS,
        stalls,
        signatures,
        stages: numbers.stages(),
        safepoints: safepoints.into_iter().filter(|one| one.at_ms + one.total_ms >= 0.0).collect(),
        device: device_of(&device),
        witness,
        expectation,
        log_excerpt: excerpt(&log),
        commands: scene.commands.clone(),
        ended: trouble.map_or(Ended::Completed, Ended::Failed),
        broker,
    }
}

/// The record of a run that failed.
pub(super) fn failed(incident: &Incident, scene: &Scene, why: &str) -> BrokerRun {
    let log = scene.broker.log_file().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    BrokerRun {
        disk: disk(incident, scene),
        log_excerpt: excerpt(&String::from_utf8_lossy(&log)),
        commands: scene.commands.clone(),
        ..nothing(incident, scene.broker.about(), why)
    }
}

/// The record of a run for which there was not even a disk.
pub(super) fn without_a_scene(incident: &Incident, choice: &Choice, why: &str) -> BrokerRun {
    let kind = choice.kind().name().to_owned();
    let version = match choice {
        Choice::Kafka(version) => version.clone(),
        Choice::Aplomb(_) | Choice::External { .. } => String::new(),
    };
    let broker = Broker { name: kind.clone(), kind, version, ..Broker::default() };
    nothing(incident, broker, why)
}

fn nothing(incident: &Incident, broker: Broker, why: &str) -> BrokerRun {
    BrokerRun {
        broker,
        disk: Disk {
            filesystem: incident.filesystem.name().to_owned(),
            device: String::new(),
            how: String::new(),
        },
        phases: Vec::new(),
        seconds: Vec::new(),
        latency: Latencies { calm: None, during: None, after: None },
        amplification: None,
        counted: None,
        recovery: None,
        groups: None,
        sender_lateness_us: Lateness { p99: 0, max: 0 },
        machine_standstill: None,
        sampling_ms: SAMPLING_MS,
        stalls: Vec::new(),
        signatures: Vec::new(),
        stages: Vec::new(),
        safepoints: Vec::new(),
        device: Device::default(),
        witness: None,
        expectation: Expectation {
            text: "the run comes to its end".to_owned(),
            met: false,
            lacks: String::new(),
        },
        log_excerpt: String::new(),
        commands: Vec::new(),
        ended: Ended::Failed(why.to_owned()),
    }
}

fn seconds(plan: Plan, report: &Report, arrived: &[Arrived]) -> Vec<Second> {
    let bounds = Bounds::new(plan);
    let last = bounds.end.as_secs() as usize;
    let zero_ms = report.started_at_ms + plan.warm_up.as_millis() as i64;
    let rows = report.rows.iter().filter(|row| row.second < last);
    rows.map(|row: &Row| {
        let from = zero_ms + 1000 * row.second as i64;
        let lagging = arrived.iter().filter(|one| (from..from + 1000).contains(&one.at_ms));
        Second {
            second: row.second as u64,
            phase: bounds.phase_of(row.second),
            acknowledged: row.answered,
            failed: row.given_up,
            produce: percentiles(row.produce),
            end_to_end: percentiles(row.end_to_end),
            lagging_bytes: lagging.map(|one| one.bytes).sum(),
        }
    })
    .collect()
}

fn percentiles(of: Figures) -> Option<Percentiles> {
    (of.count > 0).then_some(Percentiles {
        p50_us: of.p50,
        p99_us: of.p99,
        p999_us: of.p99_9,
        max_us: of.max,
    })
}

fn latency(histogram: &Histogram<u64>) -> Option<Latency> {
    let of = Figures::of(histogram);
    (of.count > 0).then(|| Latency {
        count: of.count,
        p50_us: of.p50,
        p90_us: of.p90,
        p99_us: of.p99,
        p999_us: of.p99_9,
        p9999_us: of.p99_99,
        max_us: of.max,
        curve: curve(histogram),
    })
}

/// Four points for each halving of what is left, up to the largest.
fn curve(histogram: &Histogram<u64>) -> Vec<(f64, u64)> {
    let left = (0..).map(|step| 0.5_f64.powf(f64::from(step) / 4.0));
    let left = left.take_while(|left| left * histogram.len() as f64 >= 1.0);
    let points = left.map(|left| 1.0 - left).chain([1.0]);
    points.map(|share| (share * 100.0, histogram.value_at_quantile(share))).collect()
}

fn signatures(
    incident: &Incident,
    bounds: Bounds,
    kind: Kind,
    version: &str,
    stalls: &[Stall],
    safepoints: &[Safepoint],
    log: &str,
) -> Vec<Sighting> {
    let from = bounds.disturbed.as_secs_f64() * 1e3;
    let stalls: Vec<Stall> = stalls.iter().filter(|stall| stall.to_ms > from).cloned().collect();
    let safepoints: Vec<Safepoint> = safepoints.iter().filter(|one| one.at_ms > from).cloned().collect();
    let evidence = Evidence { stalls: &stalls, safepoints: &safepoints, log };
    let (expected, possible) = (shows(incident, kind, version), may_show(incident, kind));
    let found = incident.signatures.iter().map(|signature| signature.look_for(evidence, expected));
    found.map(|found| Sighting { expected: expected || possible && found.seen, ..found }).collect()
}

fn disk(incident: &Incident, scene: &Scene) -> Disk {
    Disk {
        filesystem: incident.filesystem.name().to_owned(),
        device: scene.disk.block_device().display().to_string(),
        how: match scene.disk.status().ok().and_then(|disk| disk.bandwidth) {
            Some(bytes) => format!("fuse, {} MiB/s", bytes >> 20),
            None => "fuse".to_owned(),
        },
    }
}

fn device_of([calm, during, after]: &[PerOperation<ServiceTimes>; 3]) -> Device {
    let buckets = |times: &PerOperation<ServiceTimes>, operation: Operation| -> Vec<Bucket> {
        let bars = times[operation].buckets.iter();
        bars.map(|bar| Bucket { up_to_us: bar.up_to_us, count: bar.count }).collect()
    };
    let of = |operation| PhaseTimes {
        calm: buckets(calm, operation),
        during: buckets(during, operation),
        after: buckets(after, operation),
    };
    Device { read: of(Operation::Read), write: of(Operation::Write), flush: of(Operation::Flush) }
}

/// The last lines.
fn excerpt(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incidents;
    use crate::record::Role;

    #[test]
    fn a_curve_ends_with_the_largest_and_rises() {
        let mut histogram = Histogram::new(2).expect("two digits");
        histogram.auto(true);
        (1..=1000).for_each(|micros| histogram.record(micros).expect("it grows"));
        let curve = curve(&histogram);
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert_eq!(curve.last().map(|(share, _)| *share), Some(100.0));
        assert!(curve.iter().any(|(share, _)| *share > 99.8));
    }

    #[test]
    fn waits_of_the_calm_part_are_no_signature() {
        let lock = incidents::named("inode-lock").expect("it is there");
        let stall = |from_ms: f64| Stall {
            thread: "data-plane-kafka-request-handler-1".to_owned(),
            role: Role::Request,
            from_ms,
            to_ms: from_ms + 50.0,
            samples: 1,
            stack: vec!["xfs_ilock".to_owned(), "xfs_file_buffered_write".to_owned()],
        };
        let found = |stalls: &[Stall]| {
            let bounds = Bounds::new(Plan::SHORT);
            signatures(&lock, bounds, Kind::Kafka, "4.4.0", stalls, &[], "")[0].count
        };
        assert_eq!(found(&[stall(1_000.0)]), 0);
        assert_eq!(found(&[stall(1_000.0), stall(3_000.0)]), 1);
    }
}
