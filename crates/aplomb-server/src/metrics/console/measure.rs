//! What a step of the history has: the names of its numbers, and how they are made from counters
//! now and a step ago.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::api::APIS;
use aplomb_broker::figures::{Count, Counts};
use aplomb_disk_api::Lane;
use aplomb_disk_api::stats::{DiskStats, LaneStats};
use aplomb_model::Instant;

use super::Sources;
use crate::figures::{ApiTotals, Distribution, Stage};

/// The APIs whose stages are kept.
const SHOWN: [&str; 2] = ["Produce", "Fetch"];

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)];

/// Stages, and what they are called; the time that the broker was at work for it is the first.
const STAGES: [(&str, Option<Stage>); 7] = [
    ("own", None),
    ("request_queue", Some(Stage::RequestQueue)),
    ("local", Some(Stage::Local)),
    ("remote", Some(Stage::Remote)),
    ("response_queue", Some(Stage::ResponseQueue)),
    ("response_send", Some(Stage::ResponseSend)),
    ("throttle", Some(Stage::Throttle)),
];

const TOTALS: [&str; 6] = ["requests", "messages_in", "bytes_in", "bytes_out", "connections", "slow"];

const OF_A_DISK: [&str; 12] = [
    "age",
    "depth",
    "write_p50",
    "write_p99",
    "read_p50",
    "read_p99",
    "written",
    "read",
    "free",
    "cached",
    "waiting",
    "pinned",
];

/// Counters at one moment.
#[derive(Clone, Debug)]
pub(super) struct Counters {
    pub(super) at: Instant,
    requests: u64,
    counts: Counts,
    slow: u64,
    apis: [ApiCounters; SHOWN.len()],
    disks: Vec<[LaneCounters; 2]>,
}

#[derive(Clone, Debug, Default)]
struct ApiCounters {
    totals: ApiTotals,
    own: Distribution,
}

/// A lane of a disk: how long its commands took, by bucket, and its bytes.
#[derive(Clone, Debug, Default)]
struct LaneCounters {
    service: Vec<(Duration, u64)>,
    bytes: u64,
}

/// What is not counted but is as it is.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub(super) connections: usize,
    /// The most that each disk's oldest command had waited in the step.
    pub(super) ages: Vec<Duration>,
}

/// The names of the numbers of a step.
pub(super) fn names(disks: usize) -> Vec<String> {
    let mut names: Vec<String> = TOTALS.map(str::to_owned).to_vec();
    for api in SHOWN {
        names.push(format!("{api}.rate"));
        for (stage, _) in STAGES {
            names.extend(QUANTILES.map(|(quantile, _)| format!("{api}.{stage}.{quantile}")));
        }
    }
    for disk in 0..disks {
        names.extend(OF_A_DISK.map(|name| format!("disk.{disk}.{name}")));
    }
    names
}

impl Counters {
    pub(super) fn of(sources: &Sources, counts: Counts, slow: u64, at: Instant) -> Self {
        let loops = &sources.loops;
        let apis = SHOWN.map(|name| {
            let mut counters = ApiCounters::default();
            let key = APIS.iter().map(|served| served.key()).find(|key| key.name() == name);
            for (key, figures) in loops.iter().filter_map(|figures| Some((key?.key(), figures))) {
                figures.exchanges().add_to(key, &mut counters.totals);
                figures.exchanges().add_own_times(key, &mut counters.own);
            }
            counters
        });
        let requests = loops.iter().map(|figures| figures.requests.get()).sum();
        let disks =
            sources.disks.iter().map(|disk| [Lane::Write, Lane::Read].map(|lane| of_lane(disk, lane)));
        Self { at, requests, counts, slow, apis, disks: disks.collect() }
    }

    /// The numbers of the step from `before` until now, in the order of [`names`].
    pub(super) fn since(&self, before: &Self, sources: &Sources, levels: &Levels) -> Vec<f32> {
        let seconds = self.at.since(before.at).as_secs_f64().max(0.001);
        let rate = |now: u64, then: u64| (now.saturating_sub(then) as f64 / seconds) as f32;
        let counted = |count| rate(self.counts.of(count), before.counts.of(count));
        let mut values = vec![
            rate(self.requests, before.requests),
            counted(Count::MessagesIn),
            counted(Count::BytesIn),
            counted(Count::BytesOut),
            levels.connections as f32,
            self.slow.saturating_sub(before.slow) as f32,
        ];
        for (now, then) in self.apis.iter().zip(&before.apis) {
            let own = now.own.since(&then.own);
            values.push((own.count() as f64 / seconds) as f32);
            for (_, stage) in STAGES {
                let times = match stage {
                    Some(stage) => {
                        now.totals.stages[stage as usize].since(&then.totals.stages[stage as usize])
                    }
                    None => own.clone(),
                };
                values.extend(QUANTILES.map(|(_, quantile)| {
                    if times.count() == 0 { f32::NAN } else { times.quantile(quantile) as f32 / 1000.0 }
                }));
            }
        }
        for (n, (now, then)) in self.disks.iter().zip(&before.disks).enumerate() {
            let age = levels.ages.get(n).copied().unwrap_or_default();
            let depth: u64 = Lane::ALL.iter().map(|lane| sources.disks[n].lane(*lane).depth()).sum();
            values.extend([age.as_secs_f32() * 1000.0, depth as f32]);
            for (now, then) in now.iter().zip(then) {
                values.extend([0.5, 0.99].map(|quantile| now.quantile_since(then, quantile)));
            }
            values.extend([rate(now[0].bytes, then[0].bytes), rate(now[1].bytes, then[1].bytes)]);
            let tail = (sources.tails[n])();
            values.extend([tail.free, tail.cached, tail.waiting, tail.pinned].map(|bytes| bytes as f32));
        }
        values
    }
}

fn of_lane(disk: &Arc<DiskStats>, lane: Lane) -> LaneCounters {
    let lane: &LaneStats = disk.lane(lane);
    LaneCounters { service: lane.service_times().collect(), bytes: lane.bytes() }
}

impl LaneCounters {
    /// How long commands took since then, in milliseconds, as far as their buckets say: no longer
    /// than this.
    fn quantile_since(&self, then: &Self, quantile: f64) -> f32 {
        let taken =
            self.service.iter().zip(&then.service).map(|((bound, now), (_, then))| (*bound, now - then));
        let taken: Vec<(Duration, u64)> = taken.collect();
        let all: u64 = taken.iter().map(|(_, count)| count).sum();
        let rank = (all as f64 * quantile).ceil() as u64;
        let mut below = 0;
        for (bound, count) in taken.into_iter().filter(|(_, count)| *count > 0) {
            below += count;
            if below >= rank {
                return bound.as_secs_f32() * 1000.0;
            }
        }
        f32::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lanes_times_are_those_since_then() {
        let disk = Arc::new(DiskStats::default());
        let complete = |micros| {
            disk.lane(Lane::Write).on_submit();
            disk.lane(Lane::Write).on_complete(Duration::from_micros(micros), 100);
        };
        complete(1_000_000);
        let then = of_lane(&disk, Lane::Write);
        assert!(then.quantile_since(&then, 0.5).is_nan());
        (0..99).for_each(|_| complete(900));
        complete(60_000);
        let now = of_lane(&disk, Lane::Write);
        assert!((now.quantile_since(&then, 0.5) - 1.024).abs() < 1e-6);
        assert!((now.quantile_since(&then, 0.99) - 1.024).abs() < 1e-6);
        assert!((now.quantile_since(&then, 0.995) - 65.536).abs() < 1e-3);
        assert_eq!(now.bytes - then.bytes, 10_000);
    }

    #[test]
    fn each_number_has_a_name_of_its_own() {
        let names = names(2);
        let once: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!((once.len(), names.len()), (names.len(), 6 + 2 * 29 + 2 * 12));
        assert!(SHOWN.iter().all(|name| APIS.iter().any(|served| served.key().name() == *name)));
    }
}
