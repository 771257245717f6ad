//! The page as dashboards for Apache Kafka want it: the names that the Prometheus JMX exporter
//! gives to Apache Kafka's MBeans, under Strimzi's rules (`…_total`, `networkProcessor`) and under
//! Confluent's (`…persec`, `network_processor`). Where both rules give the same name there is one
//! series.
//!
//! What always holds: a zero here is true. Figures without a meaning for this broker (of a JVM, of
//! a tier) are absent.
//!
//! Next: [`topics`] for what partitions count, [`groups`], [`requests`] for times, [`network`] for
//! connections and loops.

mod access;
mod compaction;
mod groups;
mod loads;
mod network;
mod quotas;
mod requests;
mod shown;
mod topics;
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::figures::{Counts, ShardFigures};
use aplomb_model::Instant;

use super::Page;
use crate::figures::LoopFigures;
use crate::net::Connections;
use access::AccessRates;
use groups::Groups;
use network::Network;
use requests::Requests;
pub(crate) use shown::Shown;
use topics::Topics;
use transactions::Transactions;

/// Over which time rates are told: Apache Kafka's one-minute rates, more or less.
const RATES: Duration = Duration::from_secs(60);

/// Over which time quantiles are told: Apache Kafka's reservoirs forget within about five minutes.
const QUANTILES: Duration = Duration::from_secs(150);

/// Figures of the broker, of which the server carries the shards.
#[derive(Clone, Debug)]
pub struct BrokerFigures {
    /// Each shard's figures, in order.
    pub shards: Vec<Arc<ShardFigures>>,
    /// The log directories, in the order of their index.
    pub directories: Vec<String>,
    /// Those that the broker does without from the start.
    pub lost: Vec<String>,
}

/// Everything on the page that has one of Kafka's names.
#[derive(Debug)]
pub(crate) struct Kafka {
    topics: Topics,
    groups: Groups,
    transactions: Transactions,
    requests: Requests,
    network: Network,
    access: AccessRates,
    broker: BrokerFigures,
    loops: Vec<Arc<LoopFigures>>,
    connections: Arc<Connections>,
}

impl Kafka {
    pub(crate) fn new(
        broker: BrokerFigures,
        loops: Vec<Arc<LoopFigures>>,
        connections: Arc<Connections>,
        now: Instant,
    ) -> Self {
        Self {
            topics: Topics::default(),
            groups: Groups::new(now),
            transactions: Transactions::new(now),
            requests: Requests::new(now),
            network: Network::new(&loops, now),
            access: AccessRates::new(now),
            broker,
            loops,
            connections,
        }
    }

    /// What partitions have counted, all together.
    pub(crate) fn counts(&mut self) -> Counts {
        self.topics.refresh(&self.broker);
        self.topics.total()
    }

    /// Partitions and groups, so many of each one by one.
    pub(crate) fn shown(&mut self, most: usize) -> Shown {
        self.topics.refresh(&self.broker);
        self.groups.refresh(&self.broker.shards);
        let left_out = self.broker.shards.iter().map(|shard| shard.groups_left_out()[0]).sum();
        Shown {
            partitions: shown::partitions(&self.topics, most),
            groups: shown::groups(&self.groups, &self.topics, left_out, most),
        }
    }

    pub(crate) fn put_on(&mut self, page: &mut Page, now: Instant) {
        self.topics.put_on(page, &self.broker);
        compaction::put_on(page, &self.broker, now);
        quotas::put_on(page, &self.broker, now);
        self.groups.put_on(page, &self.broker.shards, &self.topics, now);
        self.transactions.put_on(page, &self.broker.shards, now);
        self.requests.put_on(page, &self.loops, now);
        self.access.put_on(page, &self.broker.shards, now);
        self.network.put_on(page, &self.loops, &self.broker.shards, &self.connections, now);
    }
}

/// A rate's two names: Strimzi's and Confluent's.
macro_rules! per_sec {
    ($name:literal) => {
        [concat!($name, "_total"), concat!($name, "persec")]
    };
}
use per_sec;
