//! The one table of what is served: the desk looks requests up in it, and ApiVersions advertises
//! it.

use aplomb_protocol::ApiKey;

use crate::operation::Api;

/// What is served on a broker's listeners, in the order of the API keys.
pub const APIS: &[Api] = &[
    super::produce::API,
    super::fetch::API,
    super::list_offsets::API,
    super::metadata::API,
    super::offset_commit::API,
    super::offset_fetch::API,
    super::find_coordinator::API,
    super::join_group::API,
    super::heartbeat::API,
    super::leave_group::API,
    super::sync_group::API,
    super::describe_groups::API,
    super::list_groups::API,
    super::sasl_handshake::HANDSHAKE,
    super::api_versions::API,
    super::create_topics::API,
    super::delete_topics::API,
    super::delete_records::API,
    super::init_producer_id::API,
    super::offset_for_leader_epoch::API,
    super::add_partitions_to_txn::API,
    super::add_offsets_to_txn::API,
    super::end_txn::API,
    super::write_txn_markers::API,
    super::txn_offset_commit::API,
    super::describe_acls::API,
    super::create_acls::API,
    super::delete_acls::API,
    super::describe_configs::API,
    super::alter_configs::API,
    super::alter_replica_log_dirs::API,
    super::describe_log_dirs::API,
    super::sasl_handshake::AUTHENTICATE,
    super::create_partitions::API,
    super::create_delegation_token::API,
    super::change_delegation_token::RENEW,
    super::change_delegation_token::EXPIRE,
    super::describe_delegation_token::API,
    super::delete_groups::API,
    super::elect_leaders::API,
    super::incremental_alter_configs::API,
    super::alter_partition_reassignments::API,
    super::list_partition_reassignments::API,
    super::offset_delete::API,
    super::describe_client_quotas::API,
    super::alter_client_quotas::API,
    super::describe_user_scram_credentials::API,
    super::alter_user_scram_credentials::API,
    super::describe_quorum::API,
    super::update_features::API,
    super::describe_cluster::API,
    super::describe_producers::API,
    super::describe_transactions::API,
    super::list_transactions::API,
    super::consumer_group_heartbeat::API,
    super::consumer_group_describe::API,
    super::list_config_resources::API,
    super::describe_topic_partitions::API,
];

/// The API of a request, if it is served in this version.
#[must_use]
pub fn served(key: ApiKey, version: i16) -> Option<&'static Api> {
    APIS.iter().find(|api| api.key() == key && api.versions().contains(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_may_still_change_is_not_served() {
        assert!(served(ApiKey::InitProducerId, 5).is_some());
        assert!(served(ApiKey::InitProducerId, 6).is_none());
        assert!(served(ApiKey::Produce, 2).is_none());
        assert!(served(ApiKey::ShareFetch, 0).is_none());
    }

    #[test]
    fn the_table_is_in_the_order_of_its_keys_and_has_each_once() {
        assert!(APIS.is_sorted_by(|a, b| a.key().key() < b.key().key()));
    }
}
