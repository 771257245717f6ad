//! An open-loop load generator for any Kafka broker.
//!
//! What always holds: the moment at which a record is to be sent is decided before the run and by
//! nothing that a broker does; every latency is counted from that moment. A broker that stalls does
//! not slow the schedule: what could not be sent is sent later, with the time that it has waited,
//! and what never was is counted with the time until it was given up.
//!
//! Start at [`run()`] and [`Spec`]. [`schedule`] says when, `producer` and `consumer` are state
//! machines that are told the time, `client` carries what they ask for to the brokers, `worker` is
//! the loop of one thread, `stats` and `report` are what comes out.

mod admin;
mod batch;
mod client;
mod connection;
mod consumer;
mod door;
mod entry;
mod error;
mod group;
mod keys;
mod ledger;
mod payload;
mod producer;
mod read_back;
mod report;
mod run;
mod schedule;
mod spec;
mod stats;
mod timed;
mod topic;
mod versions;
mod worker;

pub use admin::Asker;
pub use error::BenchError;
pub use group::{Due, GroupHistory, GroupProgress, GroupProtocol, GroupReport, GroupSpec, run_groups};
pub use ledger::Ledger;
pub use read_back::ReadBack;
pub use report::{Kind, Latency, Progress, Report, Row};
pub use run::run;
pub use spec::{ConsumerSpec, From, KeyDistribution, NewTopic, ProducerSpec, Spec, Workload};
