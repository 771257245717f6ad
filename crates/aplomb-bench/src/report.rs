//! What a run has found: in numbers, as JSON, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use hdrhistogram::{Counter, Histogram};
use serde_json::{Value, json};

use crate::stats::{Coarse, Live, Precise, Series, Stats};
use crate::{Ledger, Spec};

/// The form of the JSON; it goes up when a reader would have to change.
const FORMAT: u32 = 1;

/// How a run is getting on.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the first record was due.
    pub elapsed: Duration,
    /// Whether this is still the warm-up.
    pub warm_up: bool,
    /// Records acknowledged since the last time.
    pub acknowledged: u64,
    /// Records received since the last time.
    pub received: u64,
    /// Records due and neither acknowledged nor given up.
    pub waiting: u64,
    /// Errors since the last time; most are survived.
    pub errors: u64,
    /// From due time to acknowledgement, of those acknowledged since the last time.
    pub latency: Latency,
}

/// Latencies in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// Latencies that were counted.
    pub count: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The shortest.
    pub min: u64,
    /// Half of them took no longer.
    pub p50: u64,
    /// 90 in 100 took no longer.
    pub p90: u64,
    /// 99 in 100 took no longer.
    pub p99: u64,
    /// 999 in 1000 took no longer.
    pub p99_9: u64,
    /// 9999 in 10000 took no longer.
    pub p99_99: u64,
    /// The longest.
    pub max: u64,
}

/// One second of a run. Latencies are those of the records that were due in it, whenever they came
/// to their end.
#[derive(Clone, Debug)]
pub struct Row {
    /// The second, from 0 at the end of the warm-up.
    pub second: usize,
    /// Records that were acknowledged in it, whenever they were due.
    pub acknowledged: u64,
    /// Records due in it that were acknowledged, whenever that was.
    pub answered: u64,
    /// Records due in it that were refused, grew too old, or had no answer when the run ended.
    pub given_up: u64,
    /// Records that arrived in it.
    pub received: u64,
    /// Bytes of the values that arrived in it.
    pub received_bytes: u64,
    /// Errors that came up in it; most are survived.
    pub errors: u64,
    /// From due time to acknowledgement.
    pub produce: Latency,
    /// From due time to arrival.
    pub end_to_end: Latency,
    /// From a fetch's due time, or its sending, to its answer.
    pub fetch: Latency,
}

/// What a run has found.
#[derive(Clone, Debug)]
pub struct Report {
    /// When the first record was due, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Partitions of the topic.
    pub partitions: usize,
    /// From due time to acknowledgement; for records that had none, to the moment at which they
    /// were given up.
    pub produce: Latency,
    /// From due time to arrival.
    pub end_to_end: Latency,
    /// From a fetch's due time, or its sending, to its answer.
    pub fetch: Latency,
    /// Records of the measured part that were acknowledged.
    pub acknowledged: u64,
    /// Records of the measured part that were refused or grew too old.
    pub failed: u64,
    /// Records of the measured part that had no answer when the run ended.
    pub unanswered: u64,
    /// Records received in the measured part, of whatever run.
    pub received: u64,
    /// Bytes of their values.
    pub received_bytes: u64,
    /// Records that arrived and are not of this run.
    pub foreign: u64,
    /// Batches that were sent more than once.
    pub retries: u64,
    /// What went wrong, by Kafka's names.
    pub errors: BTreeMap<String, u64>,
    /// The measured part, second by second.
    pub rows: Vec<Row>,
    /// How late the generator itself was: from the time at which a client wanted its turn to the
    /// turn.
    pub lateness: Latency,
    /// What was acknowledged and when, if [`Spec::ledger`] asked for it.
    pub ledger: Option<Ledger>,
    spec: Spec,
    histograms: [(&'static str, Precise); 3],
    seconds: [Vec<Coarse>; 3],
}

/// What a latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From due time to acknowledgement.
    Produce,
    /// From due time to arrival.
    EndToEnd,
    /// From a fetch's due time, or its sending, to its answer.
    Fetch,
}

impl Latency {
    /// What a histogram of microseconds says.
    #[must_use]
    pub fn of<C: Counter>(histogram: &Histogram<C>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            min: histogram.min(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: histogram.max(),
        }
    }

    /// As an object with times in microseconds.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "count": self.count, "mean": (self.mean * 10.0).round() / 10.0, "min": self.min, "p50": self.p50,
            "p90": self.p90, "p99": self.p99, "p99.9": self.p99_9, "p99.99": self.p99_99, "max": self.max,
        })
    }
}

impl Progress {
    pub(crate) fn new(elapsed: Duration, warm_up: Duration, live: &Live, waiting: u64) -> Self {
        Self {
            elapsed,
            warm_up: elapsed <= warm_up,
            acknowledged: live.acknowledged,
            received: live.received,
            waiting,
            errors: live.troubles,
            latency: Latency::of(&live.latency),
        }
    }
}

impl Report {
    pub(crate) fn new(spec: &Spec, partitions: usize, started_at_ms: i64, stats: &Stats) -> Self {
        let row =
            |series: &Series, second: usize| series.rows.get(second).map(Latency::of).unwrap_or_default();
        let seconds = [
            stats.produce.rows.len(),
            stats.end_to_end.rows.len(),
            stats.fetch.rows.len(),
            stats.acknowledged.len(),
            stats.arrived.len(),
            stats.given_up.len(),
            stats.troubles.len(),
        ];
        let count = |list: &[u64], second: usize| list.get(second).copied().unwrap_or_default();
        let rows = (0..seconds.into_iter().max().unwrap_or_default()).map(|second| {
            let (given_up, with_latency) = stats.given_up.get(second).copied().unwrap_or_default();
            let produce = row(&stats.produce, second);
            let (received, received_bytes) = stats.arrived.get(second).copied().unwrap_or_default();
            Row {
                second,
                acknowledged: count(&stats.acknowledged, second),
                answered: produce.count - with_latency,
                given_up,
                received,
                received_bytes,
                errors: count(&stats.troubles, second),
                produce,
                end_to_end: row(&stats.end_to_end, second),
                fetch: row(&stats.fetch, second),
            }
        });
        let produce = Latency::of(&stats.produce.all);
        Self {
            started_at_ms,
            partitions,
            produce,
            end_to_end: Latency::of(&stats.end_to_end.all),
            fetch: Latency::of(&stats.fetch.all),
            acknowledged: produce.count.saturating_sub(stats.expired + stats.unanswered),
            failed: stats.failed,
            unanswered: stats.unanswered,
            received: stats.arrived.iter().map(|(records, _)| records).sum(),
            received_bytes: stats.arrived.iter().map(|(_, bytes)| bytes).sum(),
            foreign: stats.foreign,
            retries: stats.retries,
            errors: stats.errors.clone(),
            rows: rows.collect(),
            spec: spec.clone(),
            histograms: [
                ("produce", stats.produce.all.clone()),
                ("end_to_end", stats.end_to_end.all.clone()),
                ("fetch", stats.fetch.all.clone()),
            ],
            lateness: Latency::of(&stats.lateness),
            ledger: None,
            seconds: [stats.produce.rows.clone(), stats.end_to_end.rows.clone(), stats.fetch.rows.clone()],
        }
    }

    /// Latencies, in microseconds to two digits, of what was due in these seconds of the measured
    /// part.
    #[must_use]
    pub fn histogram(&self, kind: Kind, seconds: Range<usize>) -> Histogram<u64> {
        let rows = &self.seconds[kind as usize];
        let mut sum = Histogram::new(2).expect("two digits are few enough");
        sum.auto(true);
        for row in rows.iter().take(seconds.end).skip(seconds.start) {
            for bucket in row.iter_recorded() {
                let (value, count) = (bucket.value_iterated_to(), bucket.count_at_value());
                sum.record_n(value, count.into()).expect("a histogram that grows takes any value");
            }
        }
        sum
    }

    /// Records a second over the measured part, acknowledged or, where nothing was produced,
    /// received.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.spec.workload.produces() {
            return self.acknowledged as f64 / self.spec.duration.as_secs_f64();
        }
        let busy = self.rows.iter().filter(|row| row.received > 0).count().max(1);
        self.received as f64 / busy as f64
    }

    /// Everything, for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let kinds = [("produce", self.produce), ("end_to_end", self.end_to_end), ("fetch", self.fetch)];
        let rows = self.rows.iter().map(|row| {
            let mut json = json!({
                "second": row.second, "acknowledged": row.acknowledged, "received": row.received,
                "received_bytes": row.received_bytes, "errors": row.errors,
            });
            for (name, latency) in
                [("produce", row.produce), ("end_to_end", row.end_to_end), ("fetch", row.fetch)]
            {
                if latency.count > 0 {
                    json[name] = latency.to_json();
                }
            }
            json
        });
        let mut json = json!({
            "format": FORMAT,
            "program": format!("aplomb-bench {}", env!("CARGO_PKG_VERSION")),
            "started_at_ms": self.started_at_ms,
            "configuration": self.spec.to_json(),
            "partitions": self.partitions,
            "totals": {
                "acknowledged": self.acknowledged, "failed": self.failed, "unanswered": self.unanswered,
                "received": self.received, "received_bytes": self.received_bytes, "foreign": self.foreign,
                "retries": self.retries, "records_per_second": (self.rate() * 10.0).round() / 10.0,
            },
            "lateness_us": self.lateness.to_json(),
            "errors": self.errors,
            "latency_us": {},
            "histogram_us": {},
            "rows": rows.collect::<Vec<_>>(),
        });
        for ((name, latency), (_, histogram)) in kinds.into_iter().zip(&self.histograms) {
            if latency.count > 0 {
                json["latency_us"][name] = latency.to_json();
                let buckets = histogram
                    .iter_recorded()
                    .map(|bucket| json!([bucket.value_iterated_to(), bucket.count_since_last_iteration()]));
                json["histogram_us"][name] = buckets.collect();
            }
        }
        json
    }
}

/// The table for people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        writeln!(
            f,
            "{} on topic {} ({} partitions), {} s after {} s of warm-up",
            spec.workload.name(),
            spec.topic,
            self.partitions,
            spec.duration.as_secs_f64(),
            spec.warm_up.as_secs_f64()
        )?;
        if spec.workload.produces() {
            writeln!(
                f,
                "acknowledged {} records, {:.0} a second of {} intended, {:.2} MB/s; failed {}, unanswered {}, batches sent again {}",
                self.acknowledged,
                self.rate(),
                spec.producers.rate,
                self.rate() * spec.producers.record_size as f64 / 1e6,
                self.failed,
                self.unanswered,
                self.retries
            )?;
        }
        if spec.workload.consumes() {
            writeln!(
                f,
                "received {} records, {:.2} MB; of somebody else {}",
                self.received,
                self.received_bytes as f64 / 1e6,
                self.foreign
            )?;
        }
        writeln!(
            f,
            "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>12}",
            "latency, ms", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max", "count"
        )?;
        for (name, of) in [("produce", self.produce), ("end to end", self.end_to_end), ("fetch", self.fetch)]
        {
            if of.count == 0 {
                continue;
            }
            write!(f, "{name:<12}{:>10.3}", of.mean / 1e3)?;
            for micros in [of.p50, of.p90, of.p99, of.p99_9, of.p99_99, of.max] {
                write!(f, "{:>10.3}", micros as f64 / 1e3)?;
            }
            writeln!(f, "{:>12}", of.count)?;
        }
        for (name, count) in &self.errors {
            writeln!(f, "error {name}: {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::Instant;

    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_nanos(at * 1_000_000)
    }

    #[test]
    fn a_part_of_the_run_has_the_latencies_of_what_was_due_in_it() {
        let mut stats = Stats::new();
        stats.begin(ms(0));
        stats.acknowledged(&[ms(100), ms(900)], ms(1_000));
        stats.acknowledged(&[ms(1_500)], ms(3_500));
        stats.came_late(ms(5), ms(7));
        let report = Report::new(&Spec::default(), 1, 0, &stats);
        let part = |seconds| report.histogram(Kind::Produce, seconds);
        assert_eq!((part(0..1).len(), part(1..2).len(), part(0..9).len(), part(2..9).len()), (2, 1, 3, 0));
        assert!(part(0..1).max() < 1_000_000 && part(1..2).min() > 1_900_000);
        assert!(report.histogram(Kind::Fetch, 0..9).is_empty());
        assert_eq!((report.lateness.count, report.lateness.max / 100), (1, 20));
    }

    #[test]
    fn what_was_never_acknowledged_is_in_the_latencies_and_not_among_the_acknowledged() {
        let mut stats = Stats::new();
        stats.begin(ms(0));
        stats.acknowledged(&[ms(1), ms(1_500)], ms(1_501));
        stats.expired(&[ms(2)], ms(1_502));
        stats.unanswered(ms(3), ms(1_503));
        stats.refused(&[ms(4)]);
        let report = Report::new(&Spec::default(), 3, 0, &stats);
        assert_eq!((report.acknowledged, report.failed, report.unanswered), (2, 2, 1));
        assert_eq!(report.produce.count, 4);
        let json = report.to_json();
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["rows"][1]["acknowledged"], 2);
        assert_eq!(json["rows"][0]["produce"]["count"], 3);
        let buckets = json["histogram_us"]["produce"].as_array().expect("a list");
        assert_eq!(buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum::<u64>(), 4);
        assert!(json["latency_us"].get("fetch").is_none());
        assert!(report.to_string().contains("acknowledged 2 records"));
    }
}
