//! The one table of what is served: the desk looks requests up in it, and ApiVersions advertises
//! it.

use aplomb_protocol::ApiKey;

use super::{
    alter_configs, alter_partition_reassignments, alter_replica_log_dirs, api_versions, create_partitions,
    create_topics, delete_records, delete_topics, describe_cluster, describe_configs, describe_log_dirs,
    describe_producers, describe_quorum, describe_topic_partitions, fetch, incremental_alter_configs,
    init_producer_id, list_config_resources, list_offsets, list_partition_reassignments, metadata,
    offset_for_leader_epoch, produce, update_features,
};
use crate::operation::Api;

/// What is served on a broker's listeners, in the order of the API keys.
pub const APIS: &[Api] = &[
    produce::API,
    fetch::API,
    list_offsets::API,
    metadata::API,
    api_versions::API,
    create_topics::API,
    delete_topics::API,
    delete_records::API,
    init_producer_id::API,
    offset_for_leader_epoch::API,
    describe_configs::API,
    alter_configs::API,
    alter_replica_log_dirs::API,
    describe_log_dirs::API,
    create_partitions::API,
    incremental_alter_configs::API,
    alter_partition_reassignments::API,
    list_partition_reassignments::API,
    describe_quorum::API,
    update_features::API,
    describe_cluster::API,
    describe_producers::API,
    list_config_resources::API,
    describe_topic_partitions::API,
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
