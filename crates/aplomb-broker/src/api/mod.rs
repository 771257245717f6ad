//! One file for each Kafka API: what a request asks for, and what it is told.
//!
//! Those that are answered from metadata are functions: `handle` for what is read, `plan` for what the controller has to decide.
//! [`SUPPORTED`] says what is served at all.

pub mod alter_configs;
pub mod alter_partition_reassignments;
pub(crate) mod alter_replica_log_dirs;
pub mod api_versions;
mod config_changes;
mod context;
pub mod create_partitions;
pub mod create_topics;
pub(crate) mod delete_records;
pub mod delete_topics;
pub mod describe_cluster;
pub mod describe_configs;
pub(crate) mod describe_log_dirs;
pub(crate) mod describe_producers;
pub mod describe_quorum;
pub mod describe_topic_partitions;
pub(crate) mod fetch;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod list_config_resources;
pub(crate) mod list_offsets;
pub mod list_partition_reassignments;
pub mod metadata;
pub(crate) mod offset_for_leader_epoch;
pub(crate) mod produce;
pub(crate) mod scatter;
mod supported;
pub mod update_features;
mod whole_batches;

#[cfg(test)]
mod tests;

pub use context::{Context, Planned};
pub use supported::{SUPPORTED, Served, served};
