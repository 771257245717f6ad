//! Decisions: everything a request can ask for, as state machines without sockets, clocks, threads
//! or files.
//!
//! Start at [`Shard`]: one event loop's worth of broker, and the map of its rooms. [`ports`] is
//! what comes from connections and goes back, [`ShardMessage`] what shards say to each other,
//! [`figures`] what can be seen from outside, [`api`] has one file for each Kafka API, [`metadata`]
//! what the cluster is and [`controller`] who decides it.

pub mod api;
mod calls;
pub mod config;
pub mod controller;
mod coordinators;
mod desk;
mod errands;
mod fetch_sessions;
pub mod figures;
mod head;
mod limits;
mod line;
pub mod metadata;
mod operation;
mod partition;
pub mod ports;
pub mod quotas;
mod replicas;
mod reply;
pub mod sasl;
pub mod scram;
pub mod security;
mod seldom;
mod shard;
pub mod startup;
mod storage;
pub mod store_checks;
pub mod tail_watch;
mod view;
mod volumes;

pub use calls::{Answer, Asker, OpId, PartitionKey, Slot};
pub use head::HeadMessage;
pub use operation::PartitionCall;
pub use shard::{Output, Shard, ShardMessage};
pub use storage::StorageMessage;
