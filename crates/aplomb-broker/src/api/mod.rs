//! One file for each Kafka API: what a request asks for, what it waits for, what it is told.
//!
//! A new API is its file and two lines: its module here, and its place in the table of what is
//! served (`table.rs`). Those that the controller decides have a `plan`; those that are answered
//! from metadata a `handle`.

mod access;
mod add_offsets_to_txn;
mod add_partitions_to_txn;
mod alter_client_quotas;
pub mod alter_configs;
pub mod alter_partition_reassignments;
mod alter_replica_log_dirs;
mod alter_user_scram_credentials;
pub mod api_versions;
mod change_delegation_token;
mod config_changes;
mod consumer_group_describe;
mod consumer_group_heartbeat;
mod context;
mod coordinators;
mod create_acls;
mod create_delegation_token;
pub mod create_partitions;
pub mod create_topics;
mod delete_acls;
mod delete_groups;
mod delete_records;
pub mod delete_topics;
mod describe_acls;
mod describe_client_quotas;
pub mod describe_cluster;
pub mod describe_configs;
mod describe_delegation_token;
mod describe_groups;
mod describe_log_dirs;
mod describe_producers;
pub mod describe_quorum;
pub mod describe_topic_partitions;
mod describe_transactions;
mod describe_user_scram_credentials;
pub mod elect_leaders;
mod end_txn;
mod fetch;
mod find_coordinator;
mod groups;
mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
mod join_group;
mod leave_group;
pub mod list_config_resources;
mod list_groups;
mod list_offsets;
pub mod list_partition_reassignments;
mod list_transactions;
pub mod metadata;
mod needs;
mod offset_commit;
mod offset_delete;
mod offset_fetch;
mod offset_for_leader_epoch;
mod produce;
mod rights;
mod sasl_handshake;
mod sync_group;
mod table;
mod token_requests;
mod transactions;
mod txn_offset_commit;
pub mod update_features;
mod verification;
mod whole_batches;
mod write_txn_markers;

#[cfg(test)]
mod tests;

pub use self::access::{Access, On};
pub use self::needs::{Need, needs};
pub use crate::operation::Api;
pub use config_changes::Stores;
pub use context::Context;
pub use table::{APIS, served};
