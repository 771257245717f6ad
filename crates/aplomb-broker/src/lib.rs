//! Decisions: everything a request can ask for, as state machines without sockets, clocks, threads or files.
//!
//! Start at [`Shard`]: one event loop's worth of broker. [`ports`] is what goes in and comes out, [`message`] what shards say to each
//! other, [`figures`] what can be seen from outside, [`api`] has one file for each Kafka API, [`metadata`] what the cluster is, [`controller`] who decides it.

pub mod api;
pub mod config;
pub mod controller;
mod disks;
pub mod figures;
pub mod message;
pub mod metadata;
mod parked;
mod partition;
pub mod ports;
mod sessions;
mod shard;
pub mod startup;

pub use shard::{ControllerSeed, DiskSeed, MoveRate, PartitionSeed, SeedSettings, Shard, ShardSeed};
