//! The one table of what each API needs permission for: operations on kinds of resources, as Apache
//! Kafka 4.4's `KafkaApis` and `ControllerApis` ask for them. [`super::Access`] refuses to decide
//! on anything else, so that this is what is done.

use aplomb_protocol::ApiKey;

use crate::security::AclOperation::{self, *};
use crate::security::ResourceKind::{self, *};

/// An operation on a kind of resource.
pub type Need = (AclOperation, ResourceKind);

/// Each API that is served, in the order of the keys.
const NEEDS: &[(ApiKey, &[Need])] = &[
    (ApiKey::Produce, &[(Write, Topic), (Write, TransactionalId)]),
    (ApiKey::Fetch, &[(Read, Topic), (ClusterAction, Cluster)]),
    (ApiKey::ListOffsets, &[(Describe, Topic)]),
    (ApiKey::Metadata, &[(Describe, Topic), (Create, Topic), (Create, Cluster), (Describe, Cluster)]),
    (ApiKey::OffsetCommit, &[(Read, Group), (Read, Topic)]),
    (ApiKey::OffsetFetch, &[(Describe, Group), (Describe, Topic)]),
    (ApiKey::FindCoordinator, &[(Describe, Group), (Describe, TransactionalId), (ClusterAction, Cluster)]),
    (ApiKey::JoinGroup, &[(Read, Group)]),
    (ApiKey::Heartbeat, &[(Read, Group)]),
    (ApiKey::LeaveGroup, &[(Read, Group)]),
    (ApiKey::SyncGroup, &[(Read, Group)]),
    (ApiKey::DescribeGroups, &[(Describe, Group)]),
    (ApiKey::ListGroups, &[(Describe, Cluster), (Describe, Group)]),
    (ApiKey::SaslHandshake, &[]),
    (ApiKey::ApiVersions, &[]),
    (ApiKey::CreateTopics, &[(Create, Cluster), (Create, Topic), (DescribeConfigs, Topic)]),
    (ApiKey::DeleteTopics, &[(Delete, Cluster), (Delete, Topic), (Describe, Topic)]),
    (ApiKey::DeleteRecords, &[(Delete, Topic)]),
    (ApiKey::InitProducerId, &[(Write, TransactionalId), (IdempotentWrite, Cluster), (Write, Topic)]),
    (ApiKey::OffsetForLeaderEpoch, &[(ClusterAction, Cluster), (Describe, Topic)]),
    (ApiKey::AddPartitionsToTxn, &[(Write, TransactionalId), (Write, Topic), (ClusterAction, Cluster)]),
    (ApiKey::AddOffsetsToTxn, &[(Write, TransactionalId), (Read, Group)]),
    (ApiKey::EndTxn, &[(Write, TransactionalId)]),
    (ApiKey::WriteTxnMarkers, &[(Alter, Cluster), (ClusterAction, Cluster)]),
    (ApiKey::TxnOffsetCommit, &[(Write, TransactionalId), (Read, Group), (Read, Topic)]),
    (ApiKey::DescribeAcls, &[(Describe, Cluster)]),
    (ApiKey::CreateAcls, &[(Alter, Cluster)]),
    (ApiKey::DeleteAcls, &[(Alter, Cluster)]),
    (
        ApiKey::DescribeConfigs,
        &[(DescribeConfigs, Cluster), (DescribeConfigs, Topic), (DescribeConfigs, Group)],
    ),
    (ApiKey::AlterConfigs, &[(AlterConfigs, Cluster), (AlterConfigs, Topic), (AlterConfigs, Group)]),
    (ApiKey::AlterReplicaLogDirs, &[(Alter, Cluster)]),
    (ApiKey::DescribeLogDirs, &[(Describe, Cluster)]),
    (ApiKey::SaslAuthenticate, &[]),
    (ApiKey::CreatePartitions, &[(Alter, Topic)]),
    (ApiKey::CreateDelegationToken, &[(CreateTokens, User)]),
    (ApiKey::RenewDelegationToken, &[]),
    (ApiKey::ExpireDelegationToken, &[]),
    (ApiKey::DescribeDelegationToken, &[(Describe, DelegationToken), (DescribeTokens, User)]),
    (ApiKey::DeleteGroups, &[(Delete, Group)]),
    (ApiKey::ElectLeaders, &[(Alter, Cluster)]),
    (
        ApiKey::IncrementalAlterConfigs,
        &[(AlterConfigs, Cluster), (AlterConfigs, Topic), (AlterConfigs, Group)],
    ),
    (ApiKey::AlterPartitionReassignments, &[(Alter, Cluster)]),
    (ApiKey::ListPartitionReassignments, &[(Describe, Cluster)]),
    (ApiKey::OffsetDelete, &[(Delete, Group), (Read, Topic)]),
    (ApiKey::DescribeClientQuotas, &[(DescribeConfigs, Cluster)]),
    (ApiKey::AlterClientQuotas, &[(AlterConfigs, Cluster)]),
    (ApiKey::DescribeUserScramCredentials, &[(Describe, Cluster)]),
    (ApiKey::AlterUserScramCredentials, &[(Alter, Cluster)]),
    (ApiKey::DescribeQuorum, &[(Describe, Cluster)]),
    (ApiKey::UpdateFeatures, &[(Alter, Cluster)]),
    (ApiKey::DescribeCluster, &[(Describe, Cluster)]),
    (ApiKey::DescribeProducers, &[(Read, Topic)]),
    (ApiKey::DescribeTransactions, &[(Describe, TransactionalId), (Describe, Topic)]),
    (ApiKey::ListTransactions, &[(Describe, TransactionalId)]),
    (ApiKey::ConsumerGroupHeartbeat, &[(Read, Group), (Describe, Topic)]),
    (ApiKey::ConsumerGroupDescribe, &[(Describe, Group), (Describe, Topic)]),
    (ApiKey::ListConfigResources, &[(DescribeConfigs, Cluster)]),
    (ApiKey::DescribeTopicPartitions, &[(Describe, Topic)]),
];

/// What an API needs permission for; `None` if it is not in the table.
#[must_use]
pub fn needs(api: ApiKey) -> Option<&'static [Need]> {
    NEEDS.iter().find(|(key, _)| *key == api).map(|(_, needs)| *needs)
}

#[cfg(test)]
mod tests {
    use super::super::APIS;
    use super::*;

    #[test]
    fn no_api_is_served_without_a_row() {
        let missing: Vec<_> = APIS.iter().filter(|api| needs(api.key()).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(NEEDS.len(), APIS.len(), "and no row is for an API that is not");
        assert!(NEEDS.is_sorted_by(|(a, _), (b, _)| a.key() < b.key()));
    }
}
