//! Connections, loops, and what is parked (`SocketServer`, `KafkaRequestHandlerPool`,
//! `DelayedOperationPurgatory`, `FetchSessionCache`).
//!
//! A shard's loop is both Apache Kafka's network processor and its request handler: both idle
//! figures are the share of time that loops wait for something to do, over the last minute or two.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::figures::ShardFigures;
use aplomb_model::Instant;

use super::super::page::{Kind, Labels, Page};
use super::super::recent::Recent;
use super::{RATES, per_sec};
use crate::figures::LoopFigures;
use crate::net::Connections;

/// What rates are made of, for one shard.
#[derive(Clone, Debug, Default)]
struct Moment {
    busy_nanos: u64,
    /// By listener: opened and closed.
    connections: Vec<(u64, u64)>,
}

/// Loops and connections, and what they were a while ago.
#[derive(Debug)]
pub(super) struct Network {
    recent: Recent<Vec<Moment>>,
    start: Instant,
}

impl Moment {
    fn of(figures: &LoopFigures) -> Self {
        let listeners = figures.listeners().iter();
        Self {
            busy_nanos: figures.busy_nanos.get(),
            connections: listeners.map(|listener| (listener.opened.get(), listener.closed.get())).collect(),
        }
    }
}

impl Network {
    pub(super) fn new(loops: &[Arc<LoopFigures>], now: Instant) -> Self {
        let then = loops.iter().map(|figures| Moment::of(figures)).collect();
        Self { recent: Recent::new(RATES, now, then), start: now }
    }

    pub(super) fn put_on(
        &mut self,
        page: &mut Page,
        loops: &[Arc<LoopFigures>],
        shards: &[Arc<ShardFigures>],
        connections: &Connections,
        now: Instant,
    ) {
        let current: Vec<Moment> = loops.iter().map(|figures| Moment::of(figures)).collect();
        let (ago, before) = self.recent.before(now, &current);
        let idle: Vec<f64> = current
            .iter()
            .zip(before)
            .map(|(now, then)| idle_share(now.busy_nanos.saturating_sub(then.busy_nanos), ago))
            .collect();
        let since_start = now.since(self.start).as_nanos() as f64;
        let busy = current.iter().map(|moment| moment.busy_nanos as f64).sum::<f64>();
        let idle_nanos = (since_start - busy / current.len().max(1) as f64).max(0.0);
        put_idle(page, &idle, idle_nanos);
        put_connections(page, loops, connections.congested_nanos(), &current, before, ago);
        put_authentications(page, loops);
        put_parked(page, shards);
    }
}

/// The share of `ago` in which a loop was not busy. Before any time has passed it was idle.
fn idle_share(busy_nanos: u64, ago: Duration) -> f64 {
    let all = ago.as_nanos() as f64;
    if all == 0.0 { 1.0 } else { (1.0 - busy_nanos as f64 / all).clamp(0.0, 1.0) }
}

fn put_idle(page: &mut Page, idle: &[f64], idle_nanos: f64) {
    let average = idle.iter().sum::<f64>() / idle.len().max(1) as f64;
    for (name, help) in [
        ("kafka_network_socketserver_networkprocessoravgidle_percent", "Share of time that loops wait."),
        ("kafka_network_socketserver_networkprocessoravgidlepercent", "Share of time that loops wait."),
        (
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
            "Share of time that loops wait.",
        ),
        (
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate",
            "Share of time that loops wait.",
        ),
    ] {
        page.gauge(name, help, &[], average);
    }
    for name in [
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_count",
    ] {
        let help = "Nanoseconds that a loop has waited since the start, on average.";
        page.samples(name, Kind::Counter, help).put(&Labels::NONE, idle_nanos.round());
    }
    for (label, name) in [
        ("networkProcessor", "kafka_network_processor_idle_percent"),
        ("networkprocessor", "kafka_network_processor_idlepercent"),
    ] {
        for (n, idle) in idle.iter().enumerate() {
            page.gauge(name, "Share of time that the loop waits.", &[(label, &n.to_string())], *idle);
        }
    }
}

fn put_connections(
    page: &mut Page,
    loops: &[Arc<LoopFigures>],
    blocked_nanos: u64,
    current: &[Moment],
    before: &[Moment],
    ago: Duration,
) {
    // Names under Strimzi's rules and under Confluent's, the latter's label for a loop differing
    // too.
    const FIGURES: [([&str; 2], Kind, &str); 5] = [
        (
            [
                "kafka_server_socket_server_metrics_connection_count",
                "kafka_server_socketservermetrics_connection_count",
            ],
            Kind::Gauge,
            "Connections.",
        ),
        (
            [
                "kafka_server_socket_server_metrics_connection_creation_total",
                "kafka_server_socketservermetrics_connection_creation_total",
            ],
            Kind::Counter,
            "Connections since the start.",
        ),
        (
            [
                "kafka_server_socket_server_metrics_connection_close_total",
                "kafka_server_socketservermetrics_connection_close_total",
            ],
            Kind::Counter,
            "Connections closed since the start.",
        ),
        (
            [
                "kafka_server_socket_server_metrics_connection_creation_rate",
                "kafka_server_socketservermetrics_connection_creation_rate",
            ],
            Kind::Gauge,
            "Connections a second.",
        ),
        (
            [
                "kafka_server_socket_server_metrics_connection_close_rate",
                "kafka_server_socketservermetrics_connection_close_rate",
            ],
            Kind::Gauge,
            "Connections closed a second.",
        ),
    ];
    let seconds = ago.as_secs_f64();
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    for (n, figures) in loops.iter().enumerate() {
        let shard = n.to_string();
        for (listener, (now, then)) in
            figures.listeners().iter().zip(current[n].connections.iter().zip(&before[n].connections))
        {
            let (opened, closed) = *now;
            let values = [
                opened.saturating_sub(closed) as f64,
                opened as f64,
                closed as f64,
                rate(opened.saturating_sub(then.0)),
                rate(closed.saturating_sub(then.1)),
            ];
            for ((names, kind, help), value) in FIGURES.into_iter().zip(values) {
                for (name, loop_label) in names.into_iter().zip(["networkProcessor", "network_processor"]) {
                    let labels = Labels::new(&[("listener", &*listener.name), (loop_label, &shard)]);
                    page.samples(name, kind, help).put(&labels, value);
                }
            }
        }
    }
    let mut listeners: Vec<&str> =
        loops.iter().flat_map(|figures| figures.listeners()).map(|listener| &*listener.name).collect();
    listeners.sort_unstable();
    listeners.dedup();
    for listener in listeners {
        let help = "Nanoseconds that a full mailbox kept the acceptor from handing connections on.";
        page.counter(
            "kafka_network_acceptor_acceptorblockedpercent",
            help,
            &[("listener", listener)],
            blocked_nanos,
        );
    }
    for name in
        ["kafka_network_requestchannel_requestqueuesize", "kafka_network_requestchannel_responsequeuesize"]
    {
        page.gauge(name, "Always empty: loops take requests from sockets and hand them responses.", &[], 0.0);
    }
}

fn put_authentications(page: &mut Page, loops: &[Arc<LoopFigures>]) {
    macro_rules! names {
        ($name:literal) => {
            [
                (concat!("kafka_server_socket_server_metrics_", $name), "networkProcessor"),
                (concat!("kafka_server_socketservermetrics_", $name), "network_processor"),
            ]
        };
    }
    const FIGURES: [([(&str, &str); 2], &str); 5] = [
        (names!("successful_authentication_total"), "Connections that have authenticated."),
        (names!("successful_reauthentication_total"), "Connections that have authenticated anew."),
        (names!("failed_authentication_total"), "Connections closed because they did not authenticate."),
        (
            names!("failed_reauthentication_total"),
            "Connections closed because they did not authenticate anew.",
        ),
        (
            names!("expired_connections_killed_count"),
            "Connections closed because they should have authenticated anew.",
        ),
    ];
    for (n, figures) in loops.iter().enumerate() {
        let shard = n.to_string();
        for listener in figures.listeners() {
            for ((names, help), count) in FIGURES.into_iter().zip(&listener.authentications) {
                for (name, label) in names {
                    let labels = [("listener", &*listener.name), (label, &*shard)];
                    page.counter(name, help, &labels, count.get());
                }
            }
        }
    }
}

fn put_parked(page: &mut Page, shards: &[Arc<ShardFigures>]) {
    for (n, shard) in shards.iter().enumerate() {
        let number = n.to_string();
        for (software, count) in shard.software() {
            let help = "Connections by what clients say they are.";
            for (name, labels) in [
                (
                    "kafka_server_socket_server_metrics_connections_software",
                    ["clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"],
                ),
                (
                    "kafka_server_socketservermetrics_connections",
                    ["client_software_name", "client_software_version", "listener", "network_processor"],
                ),
            ] {
                let values = [&*software.name, &*software.version, &*software.listener, &number];
                let labels: Vec<(&str, &str)> = labels.into_iter().zip(values).collect();
                page.gauge(name, help, &labels, count as f64);
            }
        }
    }
    let sum = |of: fn(&ShardFigures) -> u64| shards.iter().map(|shard| of(shard)).sum::<u64>();
    for (operation, parked) in
        [("Fetch", sum(ShardFigures::parked_fetches)), ("Produce", sum(ShardFigures::parked_produces))]
    {
        for name in [
            "kafka_server_delayedoperationpurgatory_purgatorysize",
            "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        ] {
            page.gauge(name, "Requests that are parked.", &[("delayedOperation", operation)], parked as f64);
        }
    }
    let about = sum(ShardFigures::parked_partitions);
    page.gauge("aplomb_parked_partitions", "Partitions that parked requests are about.", &[], about as f64);
    let sessions = sum(|shard| shard.fetch_sessions().0);
    page.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        "Fetch sessions.",
        &[],
        sessions as f64,
    );
    page.gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        "Partitions that fetch sessions know.",
        &[],
        sum(ShardFigures::session_partitions) as f64,
    );
    for name in per_sec!("kafka_server_fetchsessioncache_incrementalfetchsessionevictions") {
        let evicted = sum(|shard| shard.fetch_sessions().1);
        page.counter(name, "Fetch sessions given up for others.", &[], evicted);
    }
}
