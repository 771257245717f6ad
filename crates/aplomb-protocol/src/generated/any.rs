//! Any request, any response: for dispatch, for fuzzing, for tools.
//!
//! Written by `cargo xtask codegen` from `schema/`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message as _, Reader, Writer};

/// A request of any API that this build speaks.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyRequest {
    /// `ProduceRequest`.
    Produce(super::ProduceRequest),
    /// `FetchRequest`.
    Fetch(super::FetchRequest),
    /// `ListOffsetsRequest`.
    ListOffsets(super::ListOffsetsRequest),
    /// `MetadataRequest`.
    Metadata(super::MetadataRequest),
    /// `OffsetCommitRequest`.
    OffsetCommit(super::OffsetCommitRequest),
    /// `OffsetFetchRequest`.
    OffsetFetch(super::OffsetFetchRequest),
    /// `FindCoordinatorRequest`.
    FindCoordinator(super::FindCoordinatorRequest),
    /// `JoinGroupRequest`.
    JoinGroup(super::JoinGroupRequest),
    /// `HeartbeatRequest`.
    Heartbeat(super::HeartbeatRequest),
    /// `LeaveGroupRequest`.
    LeaveGroup(super::LeaveGroupRequest),
    /// `SyncGroupRequest`.
    SyncGroup(super::SyncGroupRequest),
    /// `DescribeGroupsRequest`.
    DescribeGroups(super::DescribeGroupsRequest),
    /// `ListGroupsRequest`.
    ListGroups(super::ListGroupsRequest),
    /// `SaslHandshakeRequest`.
    SaslHandshake(super::SaslHandshakeRequest),
    /// `ApiVersionsRequest`.
    ApiVersions(super::ApiVersionsRequest),
    /// `CreateTopicsRequest`.
    CreateTopics(super::CreateTopicsRequest),
    /// `DeleteTopicsRequest`.
    DeleteTopics(super::DeleteTopicsRequest),
    /// `DeleteRecordsRequest`.
    DeleteRecords(super::DeleteRecordsRequest),
    /// `InitProducerIdRequest`.
    InitProducerId(super::InitProducerIdRequest),
    /// `OffsetForLeaderEpochRequest`.
    OffsetForLeaderEpoch(super::OffsetForLeaderEpochRequest),
    /// `AddPartitionsToTxnRequest`.
    AddPartitionsToTxn(super::AddPartitionsToTxnRequest),
    /// `AddOffsetsToTxnRequest`.
    AddOffsetsToTxn(super::AddOffsetsToTxnRequest),
    /// `EndTxnRequest`.
    EndTxn(super::EndTxnRequest),
    /// `WriteTxnMarkersRequest`.
    WriteTxnMarkers(super::WriteTxnMarkersRequest),
    /// `TxnOffsetCommitRequest`.
    TxnOffsetCommit(super::TxnOffsetCommitRequest),
    /// `DescribeAclsRequest`.
    DescribeAcls(super::DescribeAclsRequest),
    /// `CreateAclsRequest`.
    CreateAcls(super::CreateAclsRequest),
    /// `DeleteAclsRequest`.
    DeleteAcls(super::DeleteAclsRequest),
    /// `DescribeConfigsRequest`.
    DescribeConfigs(super::DescribeConfigsRequest),
    /// `AlterConfigsRequest`.
    AlterConfigs(super::AlterConfigsRequest),
    /// `AlterReplicaLogDirsRequest`.
    AlterReplicaLogDirs(super::AlterReplicaLogDirsRequest),
    /// `DescribeLogDirsRequest`.
    DescribeLogDirs(super::DescribeLogDirsRequest),
    /// `SaslAuthenticateRequest`.
    SaslAuthenticate(super::SaslAuthenticateRequest),
    /// `CreatePartitionsRequest`.
    CreatePartitions(super::CreatePartitionsRequest),
    /// `CreateDelegationTokenRequest`.
    CreateDelegationToken(super::CreateDelegationTokenRequest),
    /// `RenewDelegationTokenRequest`.
    RenewDelegationToken(super::RenewDelegationTokenRequest),
    /// `ExpireDelegationTokenRequest`.
    ExpireDelegationToken(super::ExpireDelegationTokenRequest),
    /// `DescribeDelegationTokenRequest`.
    DescribeDelegationToken(super::DescribeDelegationTokenRequest),
    /// `DeleteGroupsRequest`.
    DeleteGroups(super::DeleteGroupsRequest),
    /// `ElectLeadersRequest`.
    ElectLeaders(super::ElectLeadersRequest),
    /// `IncrementalAlterConfigsRequest`.
    IncrementalAlterConfigs(super::IncrementalAlterConfigsRequest),
    /// `AlterPartitionReassignmentsRequest`.
    AlterPartitionReassignments(super::AlterPartitionReassignmentsRequest),
    /// `ListPartitionReassignmentsRequest`.
    ListPartitionReassignments(super::ListPartitionReassignmentsRequest),
    /// `OffsetDeleteRequest`.
    OffsetDelete(super::OffsetDeleteRequest),
    /// `DescribeClientQuotasRequest`.
    DescribeClientQuotas(super::DescribeClientQuotasRequest),
    /// `AlterClientQuotasRequest`.
    AlterClientQuotas(super::AlterClientQuotasRequest),
    /// `DescribeUserScramCredentialsRequest`.
    DescribeUserScramCredentials(super::DescribeUserScramCredentialsRequest),
    /// `AlterUserScramCredentialsRequest`.
    AlterUserScramCredentials(super::AlterUserScramCredentialsRequest),
    /// `DescribeQuorumRequest`.
    DescribeQuorum(super::DescribeQuorumRequest),
    /// `UpdateFeaturesRequest`.
    UpdateFeatures(super::UpdateFeaturesRequest),
    /// `DescribeClusterRequest`.
    DescribeCluster(super::DescribeClusterRequest),
    /// `DescribeProducersRequest`.
    DescribeProducers(super::DescribeProducersRequest),
    /// `DescribeTransactionsRequest`.
    DescribeTransactions(super::DescribeTransactionsRequest),
    /// `ListTransactionsRequest`.
    ListTransactions(super::ListTransactionsRequest),
    /// `ConsumerGroupHeartbeatRequest`.
    ConsumerGroupHeartbeat(super::ConsumerGroupHeartbeatRequest),
    /// `ConsumerGroupDescribeRequest`.
    ConsumerGroupDescribe(super::ConsumerGroupDescribeRequest),
    /// `ListConfigResourcesRequest`.
    ListConfigResources(super::ListConfigResourcesRequest),
    /// `DescribeTopicPartitionsRequest`.
    DescribeTopicPartitions(super::DescribeTopicPartitionsRequest),
}

impl AnyRequest {
    /// The API it belongs to.
    #[must_use]
    pub fn api_key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::ListOffsets(_) => ApiKey::ListOffsets,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::OffsetCommit(_) => ApiKey::OffsetCommit,
            Self::OffsetFetch(_) => ApiKey::OffsetFetch,
            Self::FindCoordinator(_) => ApiKey::FindCoordinator,
            Self::JoinGroup(_) => ApiKey::JoinGroup,
            Self::Heartbeat(_) => ApiKey::Heartbeat,
            Self::LeaveGroup(_) => ApiKey::LeaveGroup,
            Self::SyncGroup(_) => ApiKey::SyncGroup,
            Self::DescribeGroups(_) => ApiKey::DescribeGroups,
            Self::ListGroups(_) => ApiKey::ListGroups,
            Self::SaslHandshake(_) => ApiKey::SaslHandshake,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
            Self::CreateTopics(_) => ApiKey::CreateTopics,
            Self::DeleteTopics(_) => ApiKey::DeleteTopics,
            Self::DeleteRecords(_) => ApiKey::DeleteRecords,
            Self::InitProducerId(_) => ApiKey::InitProducerId,
            Self::OffsetForLeaderEpoch(_) => ApiKey::OffsetForLeaderEpoch,
            Self::AddPartitionsToTxn(_) => ApiKey::AddPartitionsToTxn,
            Self::AddOffsetsToTxn(_) => ApiKey::AddOffsetsToTxn,
            Self::EndTxn(_) => ApiKey::EndTxn,
            Self::WriteTxnMarkers(_) => ApiKey::WriteTxnMarkers,
            Self::TxnOffsetCommit(_) => ApiKey::TxnOffsetCommit,
            Self::DescribeAcls(_) => ApiKey::DescribeAcls,
            Self::CreateAcls(_) => ApiKey::CreateAcls,
            Self::DeleteAcls(_) => ApiKey::DeleteAcls,
            Self::DescribeConfigs(_) => ApiKey::DescribeConfigs,
            Self::AlterConfigs(_) => ApiKey::AlterConfigs,
            Self::AlterReplicaLogDirs(_) => ApiKey::AlterReplicaLogDirs,
            Self::DescribeLogDirs(_) => ApiKey::DescribeLogDirs,
            Self::SaslAuthenticate(_) => ApiKey::SaslAuthenticate,
            Self::CreatePartitions(_) => ApiKey::CreatePartitions,
            Self::CreateDelegationToken(_) => ApiKey::CreateDelegationToken,
            Self::RenewDelegationToken(_) => ApiKey::RenewDelegationToken,
            Self::ExpireDelegationToken(_) => ApiKey::ExpireDelegationToken,
            Self::DescribeDelegationToken(_) => ApiKey::DescribeDelegationToken,
            Self::DeleteGroups(_) => ApiKey::DeleteGroups,
            Self::ElectLeaders(_) => ApiKey::ElectLeaders,
            Self::IncrementalAlterConfigs(_) => ApiKey::IncrementalAlterConfigs,
            Self::AlterPartitionReassignments(_) => ApiKey::AlterPartitionReassignments,
            Self::ListPartitionReassignments(_) => ApiKey::ListPartitionReassignments,
            Self::OffsetDelete(_) => ApiKey::OffsetDelete,
            Self::DescribeClientQuotas(_) => ApiKey::DescribeClientQuotas,
            Self::AlterClientQuotas(_) => ApiKey::AlterClientQuotas,
            Self::DescribeUserScramCredentials(_) => ApiKey::DescribeUserScramCredentials,
            Self::AlterUserScramCredentials(_) => ApiKey::AlterUserScramCredentials,
            Self::DescribeQuorum(_) => ApiKey::DescribeQuorum,
            Self::UpdateFeatures(_) => ApiKey::UpdateFeatures,
            Self::DescribeCluster(_) => ApiKey::DescribeCluster,
            Self::DescribeProducers(_) => ApiKey::DescribeProducers,
            Self::DescribeTransactions(_) => ApiKey::DescribeTransactions,
            Self::ListTransactions(_) => ApiKey::ListTransactions,
            Self::ConsumerGroupHeartbeat(_) => ApiKey::ConsumerGroupHeartbeat,
            Self::ConsumerGroupDescribe(_) => ApiKey::ConsumerGroupDescribe,
            Self::ListConfigResources(_) => ApiKey::ListConfigResources,
            Self::DescribeTopicPartitions(_) => ApiKey::DescribeTopicPartitions,
        }
    }

    /// Reads the body of a request.
    ///
    /// # Errors
    /// [`DecodeError::UnknownApiKey`] when this build does not speak the API, otherwise those of the message.
    pub fn decode(key: ApiKey, r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(super::ProduceRequest::decode(r, v)?),
            ApiKey::Fetch => Self::Fetch(super::FetchRequest::decode(r, v)?),
            ApiKey::ListOffsets => Self::ListOffsets(super::ListOffsetsRequest::decode(r, v)?),
            ApiKey::Metadata => Self::Metadata(super::MetadataRequest::decode(r, v)?),
            ApiKey::OffsetCommit => Self::OffsetCommit(super::OffsetCommitRequest::decode(r, v)?),
            ApiKey::OffsetFetch => Self::OffsetFetch(super::OffsetFetchRequest::decode(r, v)?),
            ApiKey::FindCoordinator => Self::FindCoordinator(super::FindCoordinatorRequest::decode(r, v)?),
            ApiKey::JoinGroup => Self::JoinGroup(super::JoinGroupRequest::decode(r, v)?),
            ApiKey::Heartbeat => Self::Heartbeat(super::HeartbeatRequest::decode(r, v)?),
            ApiKey::LeaveGroup => Self::LeaveGroup(super::LeaveGroupRequest::decode(r, v)?),
            ApiKey::SyncGroup => Self::SyncGroup(super::SyncGroupRequest::decode(r, v)?),
            ApiKey::DescribeGroups => Self::DescribeGroups(super::DescribeGroupsRequest::decode(r, v)?),
            ApiKey::ListGroups => Self::ListGroups(super::ListGroupsRequest::decode(r, v)?),
            ApiKey::SaslHandshake => Self::SaslHandshake(super::SaslHandshakeRequest::decode(r, v)?),
            ApiKey::ApiVersions => Self::ApiVersions(super::ApiVersionsRequest::decode(r, v)?),
            ApiKey::CreateTopics => Self::CreateTopics(super::CreateTopicsRequest::decode(r, v)?),
            ApiKey::DeleteTopics => Self::DeleteTopics(super::DeleteTopicsRequest::decode(r, v)?),
            ApiKey::DeleteRecords => Self::DeleteRecords(super::DeleteRecordsRequest::decode(r, v)?),
            ApiKey::InitProducerId => Self::InitProducerId(super::InitProducerIdRequest::decode(r, v)?),
            ApiKey::OffsetForLeaderEpoch => {
                Self::OffsetForLeaderEpoch(super::OffsetForLeaderEpochRequest::decode(r, v)?)
            }
            ApiKey::AddPartitionsToTxn => {
                Self::AddPartitionsToTxn(super::AddPartitionsToTxnRequest::decode(r, v)?)
            }
            ApiKey::AddOffsetsToTxn => Self::AddOffsetsToTxn(super::AddOffsetsToTxnRequest::decode(r, v)?),
            ApiKey::EndTxn => Self::EndTxn(super::EndTxnRequest::decode(r, v)?),
            ApiKey::WriteTxnMarkers => Self::WriteTxnMarkers(super::WriteTxnMarkersRequest::decode(r, v)?),
            ApiKey::TxnOffsetCommit => Self::TxnOffsetCommit(super::TxnOffsetCommitRequest::decode(r, v)?),
            ApiKey::DescribeAcls => Self::DescribeAcls(super::DescribeAclsRequest::decode(r, v)?),
            ApiKey::CreateAcls => Self::CreateAcls(super::CreateAclsRequest::decode(r, v)?),
            ApiKey::DeleteAcls => Self::DeleteAcls(super::DeleteAclsRequest::decode(r, v)?),
            ApiKey::DescribeConfigs => Self::DescribeConfigs(super::DescribeConfigsRequest::decode(r, v)?),
            ApiKey::AlterConfigs => Self::AlterConfigs(super::AlterConfigsRequest::decode(r, v)?),
            ApiKey::AlterReplicaLogDirs => {
                Self::AlterReplicaLogDirs(super::AlterReplicaLogDirsRequest::decode(r, v)?)
            }
            ApiKey::DescribeLogDirs => Self::DescribeLogDirs(super::DescribeLogDirsRequest::decode(r, v)?),
            ApiKey::SaslAuthenticate => Self::SaslAuthenticate(super::SaslAuthenticateRequest::decode(r, v)?),
            ApiKey::CreatePartitions => Self::CreatePartitions(super::CreatePartitionsRequest::decode(r, v)?),
            ApiKey::CreateDelegationToken => {
                Self::CreateDelegationToken(super::CreateDelegationTokenRequest::decode(r, v)?)
            }
            ApiKey::RenewDelegationToken => {
                Self::RenewDelegationToken(super::RenewDelegationTokenRequest::decode(r, v)?)
            }
            ApiKey::ExpireDelegationToken => {
                Self::ExpireDelegationToken(super::ExpireDelegationTokenRequest::decode(r, v)?)
            }
            ApiKey::DescribeDelegationToken => {
                Self::DescribeDelegationToken(super::DescribeDelegationTokenRequest::decode(r, v)?)
            }
            ApiKey::DeleteGroups => Self::DeleteGroups(super::DeleteGroupsRequest::decode(r, v)?),
            ApiKey::ElectLeaders => Self::ElectLeaders(super::ElectLeadersRequest::decode(r, v)?),
            ApiKey::IncrementalAlterConfigs => {
                Self::IncrementalAlterConfigs(super::IncrementalAlterConfigsRequest::decode(r, v)?)
            }
            ApiKey::AlterPartitionReassignments => {
                Self::AlterPartitionReassignments(super::AlterPartitionReassignmentsRequest::decode(r, v)?)
            }
            ApiKey::ListPartitionReassignments => {
                Self::ListPartitionReassignments(super::ListPartitionReassignmentsRequest::decode(r, v)?)
            }
            ApiKey::OffsetDelete => Self::OffsetDelete(super::OffsetDeleteRequest::decode(r, v)?),
            ApiKey::DescribeClientQuotas => {
                Self::DescribeClientQuotas(super::DescribeClientQuotasRequest::decode(r, v)?)
            }
            ApiKey::AlterClientQuotas => {
                Self::AlterClientQuotas(super::AlterClientQuotasRequest::decode(r, v)?)
            }
            ApiKey::DescribeUserScramCredentials => {
                Self::DescribeUserScramCredentials(super::DescribeUserScramCredentialsRequest::decode(r, v)?)
            }
            ApiKey::AlterUserScramCredentials => {
                Self::AlterUserScramCredentials(super::AlterUserScramCredentialsRequest::decode(r, v)?)
            }
            ApiKey::DescribeQuorum => Self::DescribeQuorum(super::DescribeQuorumRequest::decode(r, v)?),
            ApiKey::UpdateFeatures => Self::UpdateFeatures(super::UpdateFeaturesRequest::decode(r, v)?),
            ApiKey::DescribeCluster => Self::DescribeCluster(super::DescribeClusterRequest::decode(r, v)?),
            ApiKey::DescribeProducers => {
                Self::DescribeProducers(super::DescribeProducersRequest::decode(r, v)?)
            }
            ApiKey::DescribeTransactions => {
                Self::DescribeTransactions(super::DescribeTransactionsRequest::decode(r, v)?)
            }
            ApiKey::ListTransactions => Self::ListTransactions(super::ListTransactionsRequest::decode(r, v)?),
            ApiKey::ConsumerGroupHeartbeat => {
                Self::ConsumerGroupHeartbeat(super::ConsumerGroupHeartbeatRequest::decode(r, v)?)
            }
            ApiKey::ConsumerGroupDescribe => {
                Self::ConsumerGroupDescribe(super::ConsumerGroupDescribeRequest::decode(r, v)?)
            }
            ApiKey::ListConfigResources => {
                Self::ListConfigResources(super::ListConfigResourcesRequest::decode(r, v)?)
            }
            ApiKey::DescribeTopicPartitions => {
                Self::DescribeTopicPartitions(super::DescribeTopicPartitionsRequest::decode(r, v)?)
            }
            other => return Err(DecodeError::UnknownApiKey(other.key())),
        })
    }

    /// Writes the body of the request.
    ///
    /// # Errors
    /// Those of the message.
    pub fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        match self {
            Self::Produce(message) => message.encode(w, v),
            Self::Fetch(message) => message.encode(w, v),
            Self::ListOffsets(message) => message.encode(w, v),
            Self::Metadata(message) => message.encode(w, v),
            Self::OffsetCommit(message) => message.encode(w, v),
            Self::OffsetFetch(message) => message.encode(w, v),
            Self::FindCoordinator(message) => message.encode(w, v),
            Self::JoinGroup(message) => message.encode(w, v),
            Self::Heartbeat(message) => message.encode(w, v),
            Self::LeaveGroup(message) => message.encode(w, v),
            Self::SyncGroup(message) => message.encode(w, v),
            Self::DescribeGroups(message) => message.encode(w, v),
            Self::ListGroups(message) => message.encode(w, v),
            Self::SaslHandshake(message) => message.encode(w, v),
            Self::ApiVersions(message) => message.encode(w, v),
            Self::CreateTopics(message) => message.encode(w, v),
            Self::DeleteTopics(message) => message.encode(w, v),
            Self::DeleteRecords(message) => message.encode(w, v),
            Self::InitProducerId(message) => message.encode(w, v),
            Self::OffsetForLeaderEpoch(message) => message.encode(w, v),
            Self::AddPartitionsToTxn(message) => message.encode(w, v),
            Self::AddOffsetsToTxn(message) => message.encode(w, v),
            Self::EndTxn(message) => message.encode(w, v),
            Self::WriteTxnMarkers(message) => message.encode(w, v),
            Self::TxnOffsetCommit(message) => message.encode(w, v),
            Self::DescribeAcls(message) => message.encode(w, v),
            Self::CreateAcls(message) => message.encode(w, v),
            Self::DeleteAcls(message) => message.encode(w, v),
            Self::DescribeConfigs(message) => message.encode(w, v),
            Self::AlterConfigs(message) => message.encode(w, v),
            Self::AlterReplicaLogDirs(message) => message.encode(w, v),
            Self::DescribeLogDirs(message) => message.encode(w, v),
            Self::SaslAuthenticate(message) => message.encode(w, v),
            Self::CreatePartitions(message) => message.encode(w, v),
            Self::CreateDelegationToken(message) => message.encode(w, v),
            Self::RenewDelegationToken(message) => message.encode(w, v),
            Self::ExpireDelegationToken(message) => message.encode(w, v),
            Self::DescribeDelegationToken(message) => message.encode(w, v),
            Self::DeleteGroups(message) => message.encode(w, v),
            Self::ElectLeaders(message) => message.encode(w, v),
            Self::IncrementalAlterConfigs(message) => message.encode(w, v),
            Self::AlterPartitionReassignments(message) => message.encode(w, v),
            Self::ListPartitionReassignments(message) => message.encode(w, v),
            Self::OffsetDelete(message) => message.encode(w, v),
            Self::DescribeClientQuotas(message) => message.encode(w, v),
            Self::AlterClientQuotas(message) => message.encode(w, v),
            Self::DescribeUserScramCredentials(message) => message.encode(w, v),
            Self::AlterUserScramCredentials(message) => message.encode(w, v),
            Self::DescribeQuorum(message) => message.encode(w, v),
            Self::UpdateFeatures(message) => message.encode(w, v),
            Self::DescribeCluster(message) => message.encode(w, v),
            Self::DescribeProducers(message) => message.encode(w, v),
            Self::DescribeTransactions(message) => message.encode(w, v),
            Self::ListTransactions(message) => message.encode(w, v),
            Self::ConsumerGroupHeartbeat(message) => message.encode(w, v),
            Self::ConsumerGroupDescribe(message) => message.encode(w, v),
            Self::ListConfigResources(message) => message.encode(w, v),
            Self::DescribeTopicPartitions(message) => message.encode(w, v),
        }
    }
}

/// A response of any API that this build speaks.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyResponse {
    /// `ProduceResponse`.
    Produce(super::ProduceResponse),
    /// `FetchResponse`.
    Fetch(super::FetchResponse),
    /// `ListOffsetsResponse`.
    ListOffsets(super::ListOffsetsResponse),
    /// `MetadataResponse`.
    Metadata(super::MetadataResponse),
    /// `OffsetCommitResponse`.
    OffsetCommit(super::OffsetCommitResponse),
    /// `OffsetFetchResponse`.
    OffsetFetch(super::OffsetFetchResponse),
    /// `FindCoordinatorResponse`.
    FindCoordinator(super::FindCoordinatorResponse),
    /// `JoinGroupResponse`.
    JoinGroup(super::JoinGroupResponse),
    /// `HeartbeatResponse`.
    Heartbeat(super::HeartbeatResponse),
    /// `LeaveGroupResponse`.
    LeaveGroup(super::LeaveGroupResponse),
    /// `SyncGroupResponse`.
    SyncGroup(super::SyncGroupResponse),
    /// `DescribeGroupsResponse`.
    DescribeGroups(super::DescribeGroupsResponse),
    /// `ListGroupsResponse`.
    ListGroups(super::ListGroupsResponse),
    /// `SaslHandshakeResponse`.
    SaslHandshake(super::SaslHandshakeResponse),
    /// `ApiVersionsResponse`.
    ApiVersions(super::ApiVersionsResponse),
    /// `CreateTopicsResponse`.
    CreateTopics(super::CreateTopicsResponse),
    /// `DeleteTopicsResponse`.
    DeleteTopics(super::DeleteTopicsResponse),
    /// `DeleteRecordsResponse`.
    DeleteRecords(super::DeleteRecordsResponse),
    /// `InitProducerIdResponse`.
    InitProducerId(super::InitProducerIdResponse),
    /// `OffsetForLeaderEpochResponse`.
    OffsetForLeaderEpoch(super::OffsetForLeaderEpochResponse),
    /// `AddPartitionsToTxnResponse`.
    AddPartitionsToTxn(super::AddPartitionsToTxnResponse),
    /// `AddOffsetsToTxnResponse`.
    AddOffsetsToTxn(super::AddOffsetsToTxnResponse),
    /// `EndTxnResponse`.
    EndTxn(super::EndTxnResponse),
    /// `WriteTxnMarkersResponse`.
    WriteTxnMarkers(super::WriteTxnMarkersResponse),
    /// `TxnOffsetCommitResponse`.
    TxnOffsetCommit(super::TxnOffsetCommitResponse),
    /// `DescribeAclsResponse`.
    DescribeAcls(super::DescribeAclsResponse),
    /// `CreateAclsResponse`.
    CreateAcls(super::CreateAclsResponse),
    /// `DeleteAclsResponse`.
    DeleteAcls(super::DeleteAclsResponse),
    /// `DescribeConfigsResponse`.
    DescribeConfigs(super::DescribeConfigsResponse),
    /// `AlterConfigsResponse`.
    AlterConfigs(super::AlterConfigsResponse),
    /// `AlterReplicaLogDirsResponse`.
    AlterReplicaLogDirs(super::AlterReplicaLogDirsResponse),
    /// `DescribeLogDirsResponse`.
    DescribeLogDirs(super::DescribeLogDirsResponse),
    /// `SaslAuthenticateResponse`.
    SaslAuthenticate(super::SaslAuthenticateResponse),
    /// `CreatePartitionsResponse`.
    CreatePartitions(super::CreatePartitionsResponse),
    /// `CreateDelegationTokenResponse`.
    CreateDelegationToken(super::CreateDelegationTokenResponse),
    /// `RenewDelegationTokenResponse`.
    RenewDelegationToken(super::RenewDelegationTokenResponse),
    /// `ExpireDelegationTokenResponse`.
    ExpireDelegationToken(super::ExpireDelegationTokenResponse),
    /// `DescribeDelegationTokenResponse`.
    DescribeDelegationToken(super::DescribeDelegationTokenResponse),
    /// `DeleteGroupsResponse`.
    DeleteGroups(super::DeleteGroupsResponse),
    /// `ElectLeadersResponse`.
    ElectLeaders(super::ElectLeadersResponse),
    /// `IncrementalAlterConfigsResponse`.
    IncrementalAlterConfigs(super::IncrementalAlterConfigsResponse),
    /// `AlterPartitionReassignmentsResponse`.
    AlterPartitionReassignments(super::AlterPartitionReassignmentsResponse),
    /// `ListPartitionReassignmentsResponse`.
    ListPartitionReassignments(super::ListPartitionReassignmentsResponse),
    /// `OffsetDeleteResponse`.
    OffsetDelete(super::OffsetDeleteResponse),
    /// `DescribeClientQuotasResponse`.
    DescribeClientQuotas(super::DescribeClientQuotasResponse),
    /// `AlterClientQuotasResponse`.
    AlterClientQuotas(super::AlterClientQuotasResponse),
    /// `DescribeUserScramCredentialsResponse`.
    DescribeUserScramCredentials(super::DescribeUserScramCredentialsResponse),
    /// `AlterUserScramCredentialsResponse`.
    AlterUserScramCredentials(super::AlterUserScramCredentialsResponse),
    /// `DescribeQuorumResponse`.
    DescribeQuorum(super::DescribeQuorumResponse),
    /// `UpdateFeaturesResponse`.
    UpdateFeatures(super::UpdateFeaturesResponse),
    /// `DescribeClusterResponse`.
    DescribeCluster(super::DescribeClusterResponse),
    /// `DescribeProducersResponse`.
    DescribeProducers(super::DescribeProducersResponse),
    /// `DescribeTransactionsResponse`.
    DescribeTransactions(super::DescribeTransactionsResponse),
    /// `ListTransactionsResponse`.
    ListTransactions(super::ListTransactionsResponse),
    /// `ConsumerGroupHeartbeatResponse`.
    ConsumerGroupHeartbeat(super::ConsumerGroupHeartbeatResponse),
    /// `ConsumerGroupDescribeResponse`.
    ConsumerGroupDescribe(super::ConsumerGroupDescribeResponse),
    /// `ListConfigResourcesResponse`.
    ListConfigResources(super::ListConfigResourcesResponse),
    /// `DescribeTopicPartitionsResponse`.
    DescribeTopicPartitions(super::DescribeTopicPartitionsResponse),
}

impl AnyResponse {
    /// The API it belongs to.
    #[must_use]
    pub fn api_key(&self) -> ApiKey {
        match self {
            Self::Produce(_) => ApiKey::Produce,
            Self::Fetch(_) => ApiKey::Fetch,
            Self::ListOffsets(_) => ApiKey::ListOffsets,
            Self::Metadata(_) => ApiKey::Metadata,
            Self::OffsetCommit(_) => ApiKey::OffsetCommit,
            Self::OffsetFetch(_) => ApiKey::OffsetFetch,
            Self::FindCoordinator(_) => ApiKey::FindCoordinator,
            Self::JoinGroup(_) => ApiKey::JoinGroup,
            Self::Heartbeat(_) => ApiKey::Heartbeat,
            Self::LeaveGroup(_) => ApiKey::LeaveGroup,
            Self::SyncGroup(_) => ApiKey::SyncGroup,
            Self::DescribeGroups(_) => ApiKey::DescribeGroups,
            Self::ListGroups(_) => ApiKey::ListGroups,
            Self::SaslHandshake(_) => ApiKey::SaslHandshake,
            Self::ApiVersions(_) => ApiKey::ApiVersions,
            Self::CreateTopics(_) => ApiKey::CreateTopics,
            Self::DeleteTopics(_) => ApiKey::DeleteTopics,
            Self::DeleteRecords(_) => ApiKey::DeleteRecords,
            Self::InitProducerId(_) => ApiKey::InitProducerId,
            Self::OffsetForLeaderEpoch(_) => ApiKey::OffsetForLeaderEpoch,
            Self::AddPartitionsToTxn(_) => ApiKey::AddPartitionsToTxn,
            Self::AddOffsetsToTxn(_) => ApiKey::AddOffsetsToTxn,
            Self::EndTxn(_) => ApiKey::EndTxn,
            Self::WriteTxnMarkers(_) => ApiKey::WriteTxnMarkers,
            Self::TxnOffsetCommit(_) => ApiKey::TxnOffsetCommit,
            Self::DescribeAcls(_) => ApiKey::DescribeAcls,
            Self::CreateAcls(_) => ApiKey::CreateAcls,
            Self::DeleteAcls(_) => ApiKey::DeleteAcls,
            Self::DescribeConfigs(_) => ApiKey::DescribeConfigs,
            Self::AlterConfigs(_) => ApiKey::AlterConfigs,
            Self::AlterReplicaLogDirs(_) => ApiKey::AlterReplicaLogDirs,
            Self::DescribeLogDirs(_) => ApiKey::DescribeLogDirs,
            Self::SaslAuthenticate(_) => ApiKey::SaslAuthenticate,
            Self::CreatePartitions(_) => ApiKey::CreatePartitions,
            Self::CreateDelegationToken(_) => ApiKey::CreateDelegationToken,
            Self::RenewDelegationToken(_) => ApiKey::RenewDelegationToken,
            Self::ExpireDelegationToken(_) => ApiKey::ExpireDelegationToken,
            Self::DescribeDelegationToken(_) => ApiKey::DescribeDelegationToken,
            Self::DeleteGroups(_) => ApiKey::DeleteGroups,
            Self::ElectLeaders(_) => ApiKey::ElectLeaders,
            Self::IncrementalAlterConfigs(_) => ApiKey::IncrementalAlterConfigs,
            Self::AlterPartitionReassignments(_) => ApiKey::AlterPartitionReassignments,
            Self::ListPartitionReassignments(_) => ApiKey::ListPartitionReassignments,
            Self::OffsetDelete(_) => ApiKey::OffsetDelete,
            Self::DescribeClientQuotas(_) => ApiKey::DescribeClientQuotas,
            Self::AlterClientQuotas(_) => ApiKey::AlterClientQuotas,
            Self::DescribeUserScramCredentials(_) => ApiKey::DescribeUserScramCredentials,
            Self::AlterUserScramCredentials(_) => ApiKey::AlterUserScramCredentials,
            Self::DescribeQuorum(_) => ApiKey::DescribeQuorum,
            Self::UpdateFeatures(_) => ApiKey::UpdateFeatures,
            Self::DescribeCluster(_) => ApiKey::DescribeCluster,
            Self::DescribeProducers(_) => ApiKey::DescribeProducers,
            Self::DescribeTransactions(_) => ApiKey::DescribeTransactions,
            Self::ListTransactions(_) => ApiKey::ListTransactions,
            Self::ConsumerGroupHeartbeat(_) => ApiKey::ConsumerGroupHeartbeat,
            Self::ConsumerGroupDescribe(_) => ApiKey::ConsumerGroupDescribe,
            Self::ListConfigResources(_) => ApiKey::ListConfigResources,
            Self::DescribeTopicPartitions(_) => ApiKey::DescribeTopicPartitions,
        }
    }

    /// Reads the body of a response.
    ///
    /// # Errors
    /// [`DecodeError::UnknownApiKey`] when this build does not speak the API, otherwise those of the message.
    pub fn decode(key: ApiKey, r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            ApiKey::Produce => Self::Produce(super::ProduceResponse::decode(r, v)?),
            ApiKey::Fetch => Self::Fetch(super::FetchResponse::decode(r, v)?),
            ApiKey::ListOffsets => Self::ListOffsets(super::ListOffsetsResponse::decode(r, v)?),
            ApiKey::Metadata => Self::Metadata(super::MetadataResponse::decode(r, v)?),
            ApiKey::OffsetCommit => Self::OffsetCommit(super::OffsetCommitResponse::decode(r, v)?),
            ApiKey::OffsetFetch => Self::OffsetFetch(super::OffsetFetchResponse::decode(r, v)?),
            ApiKey::FindCoordinator => Self::FindCoordinator(super::FindCoordinatorResponse::decode(r, v)?),
            ApiKey::JoinGroup => Self::JoinGroup(super::JoinGroupResponse::decode(r, v)?),
            ApiKey::Heartbeat => Self::Heartbeat(super::HeartbeatResponse::decode(r, v)?),
            ApiKey::LeaveGroup => Self::LeaveGroup(super::LeaveGroupResponse::decode(r, v)?),
            ApiKey::SyncGroup => Self::SyncGroup(super::SyncGroupResponse::decode(r, v)?),
            ApiKey::DescribeGroups => Self::DescribeGroups(super::DescribeGroupsResponse::decode(r, v)?),
            ApiKey::ListGroups => Self::ListGroups(super::ListGroupsResponse::decode(r, v)?),
            ApiKey::SaslHandshake => Self::SaslHandshake(super::SaslHandshakeResponse::decode(r, v)?),
            ApiKey::ApiVersions => Self::ApiVersions(super::ApiVersionsResponse::decode(r, v)?),
            ApiKey::CreateTopics => Self::CreateTopics(super::CreateTopicsResponse::decode(r, v)?),
            ApiKey::DeleteTopics => Self::DeleteTopics(super::DeleteTopicsResponse::decode(r, v)?),
            ApiKey::DeleteRecords => Self::DeleteRecords(super::DeleteRecordsResponse::decode(r, v)?),
            ApiKey::InitProducerId => Self::InitProducerId(super::InitProducerIdResponse::decode(r, v)?),
            ApiKey::OffsetForLeaderEpoch => {
                Self::OffsetForLeaderEpoch(super::OffsetForLeaderEpochResponse::decode(r, v)?)
            }
            ApiKey::AddPartitionsToTxn => {
                Self::AddPartitionsToTxn(super::AddPartitionsToTxnResponse::decode(r, v)?)
            }
            ApiKey::AddOffsetsToTxn => Self::AddOffsetsToTxn(super::AddOffsetsToTxnResponse::decode(r, v)?),
            ApiKey::EndTxn => Self::EndTxn(super::EndTxnResponse::decode(r, v)?),
            ApiKey::WriteTxnMarkers => Self::WriteTxnMarkers(super::WriteTxnMarkersResponse::decode(r, v)?),
            ApiKey::TxnOffsetCommit => Self::TxnOffsetCommit(super::TxnOffsetCommitResponse::decode(r, v)?),
            ApiKey::DescribeAcls => Self::DescribeAcls(super::DescribeAclsResponse::decode(r, v)?),
            ApiKey::CreateAcls => Self::CreateAcls(super::CreateAclsResponse::decode(r, v)?),
            ApiKey::DeleteAcls => Self::DeleteAcls(super::DeleteAclsResponse::decode(r, v)?),
            ApiKey::DescribeConfigs => Self::DescribeConfigs(super::DescribeConfigsResponse::decode(r, v)?),
            ApiKey::AlterConfigs => Self::AlterConfigs(super::AlterConfigsResponse::decode(r, v)?),
            ApiKey::AlterReplicaLogDirs => {
                Self::AlterReplicaLogDirs(super::AlterReplicaLogDirsResponse::decode(r, v)?)
            }
            ApiKey::DescribeLogDirs => Self::DescribeLogDirs(super::DescribeLogDirsResponse::decode(r, v)?),
            ApiKey::SaslAuthenticate => {
                Self::SaslAuthenticate(super::SaslAuthenticateResponse::decode(r, v)?)
            }
            ApiKey::CreatePartitions => {
                Self::CreatePartitions(super::CreatePartitionsResponse::decode(r, v)?)
            }
            ApiKey::CreateDelegationToken => {
                Self::CreateDelegationToken(super::CreateDelegationTokenResponse::decode(r, v)?)
            }
            ApiKey::RenewDelegationToken => {
                Self::RenewDelegationToken(super::RenewDelegationTokenResponse::decode(r, v)?)
            }
            ApiKey::ExpireDelegationToken => {
                Self::ExpireDelegationToken(super::ExpireDelegationTokenResponse::decode(r, v)?)
            }
            ApiKey::DescribeDelegationToken => {
                Self::DescribeDelegationToken(super::DescribeDelegationTokenResponse::decode(r, v)?)
            }
            ApiKey::DeleteGroups => Self::DeleteGroups(super::DeleteGroupsResponse::decode(r, v)?),
            ApiKey::ElectLeaders => Self::ElectLeaders(super::ElectLeadersResponse::decode(r, v)?),
            ApiKey::IncrementalAlterConfigs => {
                Self::IncrementalAlterConfigs(super::IncrementalAlterConfigsResponse::decode(r, v)?)
            }
            ApiKey::AlterPartitionReassignments => {
                Self::AlterPartitionReassignments(super::AlterPartitionReassignmentsResponse::decode(r, v)?)
            }
            ApiKey::ListPartitionReassignments => {
                Self::ListPartitionReassignments(super::ListPartitionReassignmentsResponse::decode(r, v)?)
            }
            ApiKey::OffsetDelete => Self::OffsetDelete(super::OffsetDeleteResponse::decode(r, v)?),
            ApiKey::DescribeClientQuotas => {
                Self::DescribeClientQuotas(super::DescribeClientQuotasResponse::decode(r, v)?)
            }
            ApiKey::AlterClientQuotas => {
                Self::AlterClientQuotas(super::AlterClientQuotasResponse::decode(r, v)?)
            }
            ApiKey::DescribeUserScramCredentials => {
                Self::DescribeUserScramCredentials(super::DescribeUserScramCredentialsResponse::decode(r, v)?)
            }
            ApiKey::AlterUserScramCredentials => {
                Self::AlterUserScramCredentials(super::AlterUserScramCredentialsResponse::decode(r, v)?)
            }
            ApiKey::DescribeQuorum => Self::DescribeQuorum(super::DescribeQuorumResponse::decode(r, v)?),
            ApiKey::UpdateFeatures => Self::UpdateFeatures(super::UpdateFeaturesResponse::decode(r, v)?),
            ApiKey::DescribeCluster => Self::DescribeCluster(super::DescribeClusterResponse::decode(r, v)?),
            ApiKey::DescribeProducers => {
                Self::DescribeProducers(super::DescribeProducersResponse::decode(r, v)?)
            }
            ApiKey::DescribeTransactions => {
                Self::DescribeTransactions(super::DescribeTransactionsResponse::decode(r, v)?)
            }
            ApiKey::ListTransactions => {
                Self::ListTransactions(super::ListTransactionsResponse::decode(r, v)?)
            }
            ApiKey::ConsumerGroupHeartbeat => {
                Self::ConsumerGroupHeartbeat(super::ConsumerGroupHeartbeatResponse::decode(r, v)?)
            }
            ApiKey::ConsumerGroupDescribe => {
                Self::ConsumerGroupDescribe(super::ConsumerGroupDescribeResponse::decode(r, v)?)
            }
            ApiKey::ListConfigResources => {
                Self::ListConfigResources(super::ListConfigResourcesResponse::decode(r, v)?)
            }
            ApiKey::DescribeTopicPartitions => {
                Self::DescribeTopicPartitions(super::DescribeTopicPartitionsResponse::decode(r, v)?)
            }
            other => return Err(DecodeError::UnknownApiKey(other.key())),
        })
    }

    /// Writes the body of the response.
    ///
    /// # Errors
    /// Those of the message.
    pub fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        match self {
            Self::Produce(message) => message.encode(w, v),
            Self::Fetch(message) => message.encode(w, v),
            Self::ListOffsets(message) => message.encode(w, v),
            Self::Metadata(message) => message.encode(w, v),
            Self::OffsetCommit(message) => message.encode(w, v),
            Self::OffsetFetch(message) => message.encode(w, v),
            Self::FindCoordinator(message) => message.encode(w, v),
            Self::JoinGroup(message) => message.encode(w, v),
            Self::Heartbeat(message) => message.encode(w, v),
            Self::LeaveGroup(message) => message.encode(w, v),
            Self::SyncGroup(message) => message.encode(w, v),
            Self::DescribeGroups(message) => message.encode(w, v),
            Self::ListGroups(message) => message.encode(w, v),
            Self::SaslHandshake(message) => message.encode(w, v),
            Self::ApiVersions(message) => message.encode(w, v),
            Self::CreateTopics(message) => message.encode(w, v),
            Self::DeleteTopics(message) => message.encode(w, v),
            Self::DeleteRecords(message) => message.encode(w, v),
            Self::InitProducerId(message) => message.encode(w, v),
            Self::OffsetForLeaderEpoch(message) => message.encode(w, v),
            Self::AddPartitionsToTxn(message) => message.encode(w, v),
            Self::AddOffsetsToTxn(message) => message.encode(w, v),
            Self::EndTxn(message) => message.encode(w, v),
            Self::WriteTxnMarkers(message) => message.encode(w, v),
            Self::TxnOffsetCommit(message) => message.encode(w, v),
            Self::DescribeAcls(message) => message.encode(w, v),
            Self::CreateAcls(message) => message.encode(w, v),
            Self::DeleteAcls(message) => message.encode(w, v),
            Self::DescribeConfigs(message) => message.encode(w, v),
            Self::AlterConfigs(message) => message.encode(w, v),
            Self::AlterReplicaLogDirs(message) => message.encode(w, v),
            Self::DescribeLogDirs(message) => message.encode(w, v),
            Self::SaslAuthenticate(message) => message.encode(w, v),
            Self::CreatePartitions(message) => message.encode(w, v),
            Self::CreateDelegationToken(message) => message.encode(w, v),
            Self::RenewDelegationToken(message) => message.encode(w, v),
            Self::ExpireDelegationToken(message) => message.encode(w, v),
            Self::DescribeDelegationToken(message) => message.encode(w, v),
            Self::DeleteGroups(message) => message.encode(w, v),
            Self::ElectLeaders(message) => message.encode(w, v),
            Self::IncrementalAlterConfigs(message) => message.encode(w, v),
            Self::AlterPartitionReassignments(message) => message.encode(w, v),
            Self::ListPartitionReassignments(message) => message.encode(w, v),
            Self::OffsetDelete(message) => message.encode(w, v),
            Self::DescribeClientQuotas(message) => message.encode(w, v),
            Self::AlterClientQuotas(message) => message.encode(w, v),
            Self::DescribeUserScramCredentials(message) => message.encode(w, v),
            Self::AlterUserScramCredentials(message) => message.encode(w, v),
            Self::DescribeQuorum(message) => message.encode(w, v),
            Self::UpdateFeatures(message) => message.encode(w, v),
            Self::DescribeCluster(message) => message.encode(w, v),
            Self::DescribeProducers(message) => message.encode(w, v),
            Self::DescribeTransactions(message) => message.encode(w, v),
            Self::ListTransactions(message) => message.encode(w, v),
            Self::ConsumerGroupHeartbeat(message) => message.encode(w, v),
            Self::ConsumerGroupDescribe(message) => message.encode(w, v),
            Self::ListConfigResources(message) => message.encode(w, v),
            Self::DescribeTopicPartitions(message) => message.encode(w, v),
        }
    }
}
