//! How many requests there were and how long they took (`RequestMetrics`).
//!
//! Quantiles are of the last minutes ([`super::QUANTILES`]); a stage that nothing went through in
//! that time says 0, as in Apache Kafka. Requests are counted when their response has been sent.

use std::sync::Arc;

use aplomb_broker::api::APIS;
use aplomb_model::Instant;

use super::super::page::{Kind, Labels, Page};
use super::super::recent::Recent;
use super::{QUANTILES, per_sec};
use crate::figures::{ApiTotals, Distribution, LoopFigures, Stage};

/// What the JMX exporter shows of Apache Kafka's histograms.
const SHOWN: [(&str, f64); 6] =
    [("0.50", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("0.98", 0.98), ("0.99", 0.99), ("0.999", 0.999)];

/// Fetches are shown twice in Apache Kafka: as such, and by who asks. Only consumers ask yet.
const FETCH: &str = "Fetch";
const CONSUMERS: &str = "FetchConsumer";
const FOLLOWERS: &str = "FetchFollower";

/// Requests, and what they were a while ago.
#[derive(Debug)]
pub(super) struct Requests {
    recent: Recent<Vec<ApiTotals>>,
}

/// One name that requests are shown under.
struct Row<'a> {
    name: &'static str,
    totals: &'a ApiTotals,
    before: &'a ApiTotals,
}

/// What a distribution is called on the page.
struct Names {
    quantiles: &'static str,
    count: &'static str,
    /// Of all values since the start; with the count, the mean of any time.
    sum: &'static str,
    help: &'static str,
}

macro_rules! named {
    ($name:literal, $help:literal) => {
        Names {
            quantiles: concat!("kafka_network_requestmetrics_", $name),
            count: concat!("kafka_network_requestmetrics_", $name, "_count"),
            sum: concat!("kafka_network_requestmetrics_", $name, "_sum"),
            help: $help,
        }
    };
}

impl Requests {
    pub(super) fn new(now: Instant) -> Self {
        Self { recent: Recent::new(QUANTILES, now, vec![ApiTotals::default(); APIS.len()]) }
    }

    pub(super) fn put_on(&mut self, page: &mut Page, loops: &[Arc<LoopFigures>], now: Instant) {
        let current: Vec<ApiTotals> = APIS
            .iter()
            .map(|served| {
                let mut totals = ApiTotals::default();
                for figures in loops {
                    figures.exchanges().add_to(served.key().key(), &mut totals);
                }
                totals
            })
            .collect();
        let (_, before) = self.recent.before(now, &current);
        let none = ApiTotals::default();
        let mut rows = Vec::with_capacity(APIS.len() + 2);
        for ((served, totals), before) in APIS.iter().zip(&current).zip(before) {
            let name = served.key().name();
            rows.push(Row { name, totals, before });
            if name == FETCH {
                rows.push(Row { name: CONSUMERS, totals, before });
                rows.push(Row { name: FOLLOWERS, totals: &none, before: &none });
            }
        }
        put_versions(page, &rows);
        put_errors(page, &rows);
        for stage in Stage::ALL {
            put_distribution(page, &names(stage), 1000.0, &rows, |totals| &totals.stages[stage as usize]);
        }
        put_distribution(page, &named!("requestbytes", "Bytes of a request."), 1.0, &rows, |totals| {
            &totals.bytes
        });
    }
}

fn put_versions(page: &mut Page, rows: &[Row<'_>]) {
    for name in per_sec!("kafka_network_requestmetrics_requests") {
        let mut samples = page.samples(name, Kind::Counter, "Requests by API and version.");
        for row in rows {
            for (version, count) in row.totals.versions.iter().enumerate().filter(|(_, count)| **count > 0) {
                let version = version.to_string();
                samples.put(&Labels::new(&[("request", row.name), ("version", &version)]), *count);
            }
        }
    }
}

/// Fetches are counted once, and not by who asks.
fn put_errors(page: &mut Page, rows: &[Row<'_>]) {
    for name in per_sec!("kafka_network_requestmetrics_errors") {
        let mut samples = page.samples(name, Kind::Counter, "Error codes in responses, NONE included.");
        for row in rows.iter().filter(|row| ![CONSUMERS, FOLLOWERS].contains(&row.name)) {
            for (error, count) in &row.totals.errors {
                samples.put(&Labels::new(&[("request", row.name), ("error", error)]), *count);
            }
        }
    }
}

fn put_distribution(
    page: &mut Page,
    names: &Names,
    unit: f64,
    rows: &[Row<'_>],
    of: impl Fn(&ApiTotals) -> &Distribution,
) {
    let mut samples = page.samples(names.quantiles, Kind::Gauge, names.help);
    for row in rows {
        let recent = of(row.totals).since(of(row.before));
        for (label, quantile) in SHOWN {
            let labels = Labels::new(&[("request", row.name), ("quantile", label)]);
            samples.put(&labels, recent.quantile(quantile) as f64 / unit);
        }
    }
    let mut samples = page.samples(names.count, Kind::Counter, names.help);
    for row in rows {
        samples.put(&Labels::new(&[("request", row.name)]), of(row.totals).count());
    }
    let mut samples = page.samples(names.sum, Kind::Counter, names.help);
    for row in rows {
        samples.put(&Labels::new(&[("request", row.name)]), of(row.totals).sum() as f64 / unit);
    }
}

/// What a stage is called.
const fn names(stage: Stage) -> Names {
    match stage {
        Stage::RequestQueue => {
            named!("requestqueuetimems", "Milliseconds from the frame's arrival until the shard takes it up.")
        }
        Stage::Local => named!("localtimems", "Milliseconds that the shard works on the request at once."),
        Stage::Remote => {
            named!("remotetimems", "Milliseconds that the request waits for other shards, records or disks.")
        }
        Stage::ResponseQueue => {
            named!("responsequeuetimems", "Milliseconds until the response is handed to the socket.")
        }
        Stage::ResponseSend => {
            named!("responsesendtimems", "Milliseconds until the socket has the response.")
        }
        Stage::Throttle => {
            named!("throttletimems", "Milliseconds for which the connection is muted after the response.")
        }
        Stage::Total => {
            named!("totaltimems", "Milliseconds from the frame's arrival until the response is sent.")
        }
    }
}
