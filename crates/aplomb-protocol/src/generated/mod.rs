//! Every message in use, with its codec. Written by `cargo xtask codegen` from `schema/`; not edited by hand.

pub mod abort_transaction_record;
pub mod aborted_txn;
pub mod access_control_entry_record;
pub mod add_offsets_to_txn_request;
pub mod add_offsets_to_txn_response;
pub mod add_partitions_to_txn_request;
pub mod add_partitions_to_txn_response;
pub mod alter_client_quotas_request;
pub mod alter_client_quotas_response;
pub mod alter_configs_request;
pub mod alter_configs_response;
pub mod alter_partition_reassignments_request;
pub mod alter_partition_reassignments_response;
pub mod alter_replica_log_dirs_request;
pub mod alter_replica_log_dirs_response;
pub mod alter_user_scram_credentials_request;
pub mod alter_user_scram_credentials_response;
pub(crate) mod any;
pub mod api_versions_request;
pub mod api_versions_response;
pub mod begin_transaction_record;
pub mod broker_registration_change_record;
pub mod clear_elr_record;
pub mod client_quota_record;
pub mod config_record;
pub mod consumer_group_current_member_assignment_key;
pub mod consumer_group_current_member_assignment_value;
pub mod consumer_group_describe_request;
pub mod consumer_group_describe_response;
pub mod consumer_group_heartbeat_request;
pub mod consumer_group_heartbeat_response;
pub mod consumer_group_member_metadata_key;
pub mod consumer_group_member_metadata_value;
pub mod consumer_group_metadata_key;
pub mod consumer_group_metadata_value;
pub mod consumer_group_partition_metadata_key;
pub mod consumer_group_partition_metadata_value;
pub mod consumer_group_regular_expression_key;
pub mod consumer_group_regular_expression_value;
pub mod consumer_group_target_assignment_member_key;
pub mod consumer_group_target_assignment_member_value;
pub mod consumer_group_target_assignment_metadata_key;
pub mod consumer_group_target_assignment_metadata_value;
pub mod consumer_protocol_assignment;
pub mod consumer_protocol_subscription;
pub mod create_acls_request;
pub mod create_acls_response;
pub mod create_delegation_token_request;
pub mod create_delegation_token_response;
pub mod create_partitions_request;
pub mod create_partitions_response;
pub mod create_topics_request;
pub mod create_topics_response;
pub mod delegation_token_record;
pub mod delete_acls_request;
pub mod delete_acls_response;
pub mod delete_groups_request;
pub mod delete_groups_response;
pub mod delete_records_request;
pub mod delete_records_response;
pub mod delete_topics_request;
pub mod delete_topics_response;
pub mod describe_acls_request;
pub mod describe_acls_response;
pub mod describe_client_quotas_request;
pub mod describe_client_quotas_response;
pub mod describe_cluster_request;
pub mod describe_cluster_response;
pub mod describe_configs_request;
pub mod describe_configs_response;
pub mod describe_delegation_token_request;
pub mod describe_delegation_token_response;
pub mod describe_groups_request;
pub mod describe_groups_response;
pub mod describe_log_dirs_request;
pub mod describe_log_dirs_response;
pub mod describe_producers_request;
pub mod describe_producers_response;
pub mod describe_quorum_request;
pub mod describe_quorum_response;
pub mod describe_topic_partitions_request;
pub mod describe_topic_partitions_response;
pub mod describe_transactions_request;
pub mod describe_transactions_response;
pub mod describe_user_scram_credentials_request;
pub mod describe_user_scram_credentials_response;
pub mod elect_leaders_request;
pub mod elect_leaders_response;
pub mod end_transaction_record;
pub mod end_txn_marker;
pub mod end_txn_request;
pub mod end_txn_response;
pub mod expire_delegation_token_request;
pub mod expire_delegation_token_response;
pub mod feature_level_record;
pub mod fence_broker_record;
pub mod fetch_request;
pub mod fetch_response;
pub mod find_coordinator_request;
pub mod find_coordinator_response;
pub mod group_metadata_key;
pub mod group_metadata_value;
pub mod heartbeat_request;
pub mod heartbeat_response;
pub mod incremental_alter_configs_request;
pub mod incremental_alter_configs_response;
pub mod init_producer_id_request;
pub mod init_producer_id_response;
pub mod join_group_request;
pub mod join_group_response;
pub mod k_raft_version_record;
pub mod leader_change_message;
pub mod leave_group_request;
pub mod leave_group_response;
pub mod list_config_resources_request;
pub mod list_config_resources_response;
pub mod list_groups_request;
pub mod list_groups_response;
pub mod list_offsets_request;
pub mod list_offsets_response;
pub mod list_partition_reassignments_request;
pub mod list_partition_reassignments_response;
pub mod list_transactions_request;
pub mod list_transactions_response;
pub(crate) mod metadata_record;
pub mod metadata_request;
pub mod metadata_response;
pub mod no_op_record;
pub mod offset_commit_key;
pub mod offset_commit_request;
pub mod offset_commit_response;
pub mod offset_commit_value;
pub mod offset_delete_request;
pub mod offset_delete_response;
pub mod offset_fetch_request;
pub mod offset_fetch_response;
pub mod offset_for_leader_epoch_request;
pub mod offset_for_leader_epoch_response;
pub mod partition_change_record;
pub mod partition_record;
pub mod produce_request;
pub mod produce_response;
pub mod producer_ids_record;
pub mod producer_snapshot;
pub mod quorum_state_data;
pub mod register_broker_record;
pub mod register_controller_record;
pub mod remove_access_control_entry_record;
pub mod remove_delegation_token_record;
pub mod remove_topic_record;
pub mod remove_user_scram_credential_record;
pub mod renew_delegation_token_request;
pub mod renew_delegation_token_response;
pub mod request_header;
pub mod response_header;
pub mod sasl_authenticate_request;
pub mod sasl_authenticate_response;
pub mod sasl_handshake_request;
pub mod sasl_handshake_response;
pub mod snapshot_footer_record;
pub mod snapshot_header_record;
pub mod sync_group_request;
pub mod sync_group_response;
pub mod topic_record;
pub mod transaction_log_key;
pub mod transaction_log_value;
pub mod txn_offset_commit_request;
pub mod txn_offset_commit_response;
pub mod unfence_broker_record;
pub mod unregister_broker_record;
pub mod unregister_controller_record;
pub mod update_features_request;
pub mod update_features_response;
pub mod user_scram_credential_record;
pub mod voters_record;
pub mod write_txn_markers_request;
pub mod write_txn_markers_response;
pub mod zk_migration_state_record;

pub use abort_transaction_record::AbortTransactionRecord;
pub use aborted_txn::AbortedTxn;
pub use access_control_entry_record::AccessControlEntryRecord;
pub use add_offsets_to_txn_request::AddOffsetsToTxnRequest;
pub use add_offsets_to_txn_response::AddOffsetsToTxnResponse;
pub use add_partitions_to_txn_request::AddPartitionsToTxnRequest;
pub use add_partitions_to_txn_response::AddPartitionsToTxnResponse;
pub use alter_client_quotas_request::AlterClientQuotasRequest;
pub use alter_client_quotas_response::AlterClientQuotasResponse;
pub use alter_configs_request::AlterConfigsRequest;
pub use alter_configs_response::AlterConfigsResponse;
pub use alter_partition_reassignments_request::AlterPartitionReassignmentsRequest;
pub use alter_partition_reassignments_response::AlterPartitionReassignmentsResponse;
pub use alter_replica_log_dirs_request::AlterReplicaLogDirsRequest;
pub use alter_replica_log_dirs_response::AlterReplicaLogDirsResponse;
pub use alter_user_scram_credentials_request::AlterUserScramCredentialsRequest;
pub use alter_user_scram_credentials_response::AlterUserScramCredentialsResponse;
pub use api_versions_request::ApiVersionsRequest;
pub use api_versions_response::ApiVersionsResponse;
pub use begin_transaction_record::BeginTransactionRecord;
pub use broker_registration_change_record::BrokerRegistrationChangeRecord;
pub use clear_elr_record::ClearElrRecord;
pub use client_quota_record::ClientQuotaRecord;
pub use config_record::ConfigRecord;
pub use consumer_group_current_member_assignment_key::ConsumerGroupCurrentMemberAssignmentKey;
pub use consumer_group_current_member_assignment_value::ConsumerGroupCurrentMemberAssignmentValue;
pub use consumer_group_describe_request::ConsumerGroupDescribeRequest;
pub use consumer_group_describe_response::ConsumerGroupDescribeResponse;
pub use consumer_group_heartbeat_request::ConsumerGroupHeartbeatRequest;
pub use consumer_group_heartbeat_response::ConsumerGroupHeartbeatResponse;
pub use consumer_group_member_metadata_key::ConsumerGroupMemberMetadataKey;
pub use consumer_group_member_metadata_value::ConsumerGroupMemberMetadataValue;
pub use consumer_group_metadata_key::ConsumerGroupMetadataKey;
pub use consumer_group_metadata_value::ConsumerGroupMetadataValue;
pub use consumer_group_partition_metadata_key::ConsumerGroupPartitionMetadataKey;
pub use consumer_group_partition_metadata_value::ConsumerGroupPartitionMetadataValue;
pub use consumer_group_regular_expression_key::ConsumerGroupRegularExpressionKey;
pub use consumer_group_regular_expression_value::ConsumerGroupRegularExpressionValue;
pub use consumer_group_target_assignment_member_key::ConsumerGroupTargetAssignmentMemberKey;
pub use consumer_group_target_assignment_member_value::ConsumerGroupTargetAssignmentMemberValue;
pub use consumer_group_target_assignment_metadata_key::ConsumerGroupTargetAssignmentMetadataKey;
pub use consumer_group_target_assignment_metadata_value::ConsumerGroupTargetAssignmentMetadataValue;
pub use consumer_protocol_assignment::ConsumerProtocolAssignment;
pub use consumer_protocol_subscription::ConsumerProtocolSubscription;
pub use create_acls_request::CreateAclsRequest;
pub use create_acls_response::CreateAclsResponse;
pub use create_delegation_token_request::CreateDelegationTokenRequest;
pub use create_delegation_token_response::CreateDelegationTokenResponse;
pub use create_partitions_request::CreatePartitionsRequest;
pub use create_partitions_response::CreatePartitionsResponse;
pub use create_topics_request::CreateTopicsRequest;
pub use create_topics_response::CreateTopicsResponse;
pub use delegation_token_record::DelegationTokenRecord;
pub use delete_acls_request::DeleteAclsRequest;
pub use delete_acls_response::DeleteAclsResponse;
pub use delete_groups_request::DeleteGroupsRequest;
pub use delete_groups_response::DeleteGroupsResponse;
pub use delete_records_request::DeleteRecordsRequest;
pub use delete_records_response::DeleteRecordsResponse;
pub use delete_topics_request::DeleteTopicsRequest;
pub use delete_topics_response::DeleteTopicsResponse;
pub use describe_acls_request::DescribeAclsRequest;
pub use describe_acls_response::DescribeAclsResponse;
pub use describe_client_quotas_request::DescribeClientQuotasRequest;
pub use describe_client_quotas_response::DescribeClientQuotasResponse;
pub use describe_cluster_request::DescribeClusterRequest;
pub use describe_cluster_response::DescribeClusterResponse;
pub use describe_configs_request::DescribeConfigsRequest;
pub use describe_configs_response::DescribeConfigsResponse;
pub use describe_delegation_token_request::DescribeDelegationTokenRequest;
pub use describe_delegation_token_response::DescribeDelegationTokenResponse;
pub use describe_groups_request::DescribeGroupsRequest;
pub use describe_groups_response::DescribeGroupsResponse;
pub use describe_log_dirs_request::DescribeLogDirsRequest;
pub use describe_log_dirs_response::DescribeLogDirsResponse;
pub use describe_producers_request::DescribeProducersRequest;
pub use describe_producers_response::DescribeProducersResponse;
pub use describe_quorum_request::DescribeQuorumRequest;
pub use describe_quorum_response::DescribeQuorumResponse;
pub use describe_topic_partitions_request::DescribeTopicPartitionsRequest;
pub use describe_topic_partitions_response::DescribeTopicPartitionsResponse;
pub use describe_transactions_request::DescribeTransactionsRequest;
pub use describe_transactions_response::DescribeTransactionsResponse;
pub use describe_user_scram_credentials_request::DescribeUserScramCredentialsRequest;
pub use describe_user_scram_credentials_response::DescribeUserScramCredentialsResponse;
pub use elect_leaders_request::ElectLeadersRequest;
pub use elect_leaders_response::ElectLeadersResponse;
pub use end_transaction_record::EndTransactionRecord;
pub use end_txn_marker::EndTxnMarker;
pub use end_txn_request::EndTxnRequest;
pub use end_txn_response::EndTxnResponse;
pub use expire_delegation_token_request::ExpireDelegationTokenRequest;
pub use expire_delegation_token_response::ExpireDelegationTokenResponse;
pub use feature_level_record::FeatureLevelRecord;
pub use fence_broker_record::FenceBrokerRecord;
pub use fetch_request::FetchRequest;
pub use fetch_response::FetchResponse;
pub use find_coordinator_request::FindCoordinatorRequest;
pub use find_coordinator_response::FindCoordinatorResponse;
pub use group_metadata_key::GroupMetadataKey;
pub use group_metadata_value::GroupMetadataValue;
pub use heartbeat_request::HeartbeatRequest;
pub use heartbeat_response::HeartbeatResponse;
pub use incremental_alter_configs_request::IncrementalAlterConfigsRequest;
pub use incremental_alter_configs_response::IncrementalAlterConfigsResponse;
pub use init_producer_id_request::InitProducerIdRequest;
pub use init_producer_id_response::InitProducerIdResponse;
pub use join_group_request::JoinGroupRequest;
pub use join_group_response::JoinGroupResponse;
pub use k_raft_version_record::KRaftVersionRecord;
pub use leader_change_message::LeaderChangeMessage;
pub use leave_group_request::LeaveGroupRequest;
pub use leave_group_response::LeaveGroupResponse;
pub use list_config_resources_request::ListConfigResourcesRequest;
pub use list_config_resources_response::ListConfigResourcesResponse;
pub use list_groups_request::ListGroupsRequest;
pub use list_groups_response::ListGroupsResponse;
pub use list_offsets_request::ListOffsetsRequest;
pub use list_offsets_response::ListOffsetsResponse;
pub use list_partition_reassignments_request::ListPartitionReassignmentsRequest;
pub use list_partition_reassignments_response::ListPartitionReassignmentsResponse;
pub use list_transactions_request::ListTransactionsRequest;
pub use list_transactions_response::ListTransactionsResponse;
pub use metadata_request::MetadataRequest;
pub use metadata_response::MetadataResponse;
pub use no_op_record::NoOpRecord;
pub use offset_commit_key::OffsetCommitKey;
pub use offset_commit_request::OffsetCommitRequest;
pub use offset_commit_response::OffsetCommitResponse;
pub use offset_commit_value::OffsetCommitValue;
pub use offset_delete_request::OffsetDeleteRequest;
pub use offset_delete_response::OffsetDeleteResponse;
pub use offset_fetch_request::OffsetFetchRequest;
pub use offset_fetch_response::OffsetFetchResponse;
pub use offset_for_leader_epoch_request::OffsetForLeaderEpochRequest;
pub use offset_for_leader_epoch_response::OffsetForLeaderEpochResponse;
pub use partition_change_record::PartitionChangeRecord;
pub use partition_record::PartitionRecord;
pub use produce_request::ProduceRequest;
pub use produce_response::ProduceResponse;
pub use producer_ids_record::ProducerIdsRecord;
pub use producer_snapshot::ProducerSnapshot;
pub use quorum_state_data::QuorumStateData;
pub use register_broker_record::RegisterBrokerRecord;
pub use register_controller_record::RegisterControllerRecord;
pub use remove_access_control_entry_record::RemoveAccessControlEntryRecord;
pub use remove_delegation_token_record::RemoveDelegationTokenRecord;
pub use remove_topic_record::RemoveTopicRecord;
pub use remove_user_scram_credential_record::RemoveUserScramCredentialRecord;
pub use renew_delegation_token_request::RenewDelegationTokenRequest;
pub use renew_delegation_token_response::RenewDelegationTokenResponse;
pub use request_header::RequestHeader;
pub use response_header::ResponseHeader;
pub use sasl_authenticate_request::SaslAuthenticateRequest;
pub use sasl_authenticate_response::SaslAuthenticateResponse;
pub use sasl_handshake_request::SaslHandshakeRequest;
pub use sasl_handshake_response::SaslHandshakeResponse;
pub use snapshot_footer_record::SnapshotFooterRecord;
pub use snapshot_header_record::SnapshotHeaderRecord;
pub use sync_group_request::SyncGroupRequest;
pub use sync_group_response::SyncGroupResponse;
pub use topic_record::TopicRecord;
pub use transaction_log_key::TransactionLogKey;
pub use transaction_log_value::TransactionLogValue;
pub use txn_offset_commit_request::TxnOffsetCommitRequest;
pub use txn_offset_commit_response::TxnOffsetCommitResponse;
pub use unfence_broker_record::UnfenceBrokerRecord;
pub use unregister_broker_record::UnregisterBrokerRecord;
pub use unregister_controller_record::UnregisterControllerRecord;
pub use update_features_request::UpdateFeaturesRequest;
pub use update_features_response::UpdateFeaturesResponse;
pub use user_scram_credential_record::UserScramCredentialRecord;
pub use voters_record::VotersRecord;
pub use write_txn_markers_request::WriteTxnMarkersRequest;
pub use write_txn_markers_response::WriteTxnMarkersResponse;
pub use zk_migration_state_record::ZkMigrationStateRecord;

use crate::Codec;

/// Every message in use.
pub const ALL: &[Codec] = &[
    Codec::of::<AbortTransactionRecord>(),
    Codec::of::<AbortedTxn>(),
    Codec::of::<AccessControlEntryRecord>(),
    Codec::of::<AddOffsetsToTxnRequest>(),
    Codec::of::<AddOffsetsToTxnResponse>(),
    Codec::of::<AddPartitionsToTxnRequest>(),
    Codec::of::<AddPartitionsToTxnResponse>(),
    Codec::of::<AlterClientQuotasRequest>(),
    Codec::of::<AlterClientQuotasResponse>(),
    Codec::of::<AlterConfigsRequest>(),
    Codec::of::<AlterConfigsResponse>(),
    Codec::of::<AlterPartitionReassignmentsRequest>(),
    Codec::of::<AlterPartitionReassignmentsResponse>(),
    Codec::of::<AlterReplicaLogDirsRequest>(),
    Codec::of::<AlterReplicaLogDirsResponse>(),
    Codec::of::<AlterUserScramCredentialsRequest>(),
    Codec::of::<AlterUserScramCredentialsResponse>(),
    Codec::of::<ApiVersionsRequest>(),
    Codec::of::<ApiVersionsResponse>(),
    Codec::of::<BeginTransactionRecord>(),
    Codec::of::<BrokerRegistrationChangeRecord>(),
    Codec::of::<ClearElrRecord>(),
    Codec::of::<ClientQuotaRecord>(),
    Codec::of::<ConfigRecord>(),
    Codec::of::<ConsumerGroupCurrentMemberAssignmentKey>(),
    Codec::of::<ConsumerGroupCurrentMemberAssignmentValue>(),
    Codec::of::<ConsumerGroupDescribeRequest>(),
    Codec::of::<ConsumerGroupDescribeResponse>(),
    Codec::of::<ConsumerGroupHeartbeatRequest>(),
    Codec::of::<ConsumerGroupHeartbeatResponse>(),
    Codec::of::<ConsumerGroupMemberMetadataKey>(),
    Codec::of::<ConsumerGroupMemberMetadataValue>(),
    Codec::of::<ConsumerGroupMetadataKey>(),
    Codec::of::<ConsumerGroupMetadataValue>(),
    Codec::of::<ConsumerGroupPartitionMetadataKey>(),
    Codec::of::<ConsumerGroupPartitionMetadataValue>(),
    Codec::of::<ConsumerGroupRegularExpressionKey>(),
    Codec::of::<ConsumerGroupRegularExpressionValue>(),
    Codec::of::<ConsumerGroupTargetAssignmentMemberKey>(),
    Codec::of::<ConsumerGroupTargetAssignmentMemberValue>(),
    Codec::of::<ConsumerGroupTargetAssignmentMetadataKey>(),
    Codec::of::<ConsumerGroupTargetAssignmentMetadataValue>(),
    Codec::of::<ConsumerProtocolAssignment>(),
    Codec::of::<ConsumerProtocolSubscription>(),
    Codec::of::<CreateAclsRequest>(),
    Codec::of::<CreateAclsResponse>(),
    Codec::of::<CreateDelegationTokenRequest>(),
    Codec::of::<CreateDelegationTokenResponse>(),
    Codec::of::<CreatePartitionsRequest>(),
    Codec::of::<CreatePartitionsResponse>(),
    Codec::of::<CreateTopicsRequest>(),
    Codec::of::<CreateTopicsResponse>(),
    Codec::of::<DelegationTokenRecord>(),
    Codec::of::<DeleteAclsRequest>(),
    Codec::of::<DeleteAclsResponse>(),
    Codec::of::<DeleteGroupsRequest>(),
    Codec::of::<DeleteGroupsResponse>(),
    Codec::of::<DeleteRecordsRequest>(),
    Codec::of::<DeleteRecordsResponse>(),
    Codec::of::<DeleteTopicsRequest>(),
    Codec::of::<DeleteTopicsResponse>(),
    Codec::of::<DescribeAclsRequest>(),
    Codec::of::<DescribeAclsResponse>(),
    Codec::of::<DescribeClientQuotasRequest>(),
    Codec::of::<DescribeClientQuotasResponse>(),
    Codec::of::<DescribeClusterRequest>(),
    Codec::of::<DescribeClusterResponse>(),
    Codec::of::<DescribeConfigsRequest>(),
    Codec::of::<DescribeConfigsResponse>(),
    Codec::of::<DescribeDelegationTokenRequest>(),
    Codec::of::<DescribeDelegationTokenResponse>(),
    Codec::of::<DescribeGroupsRequest>(),
    Codec::of::<DescribeGroupsResponse>(),
    Codec::of::<DescribeLogDirsRequest>(),
    Codec::of::<DescribeLogDirsResponse>(),
    Codec::of::<DescribeProducersRequest>(),
    Codec::of::<DescribeProducersResponse>(),
    Codec::of::<DescribeQuorumRequest>(),
    Codec::of::<DescribeQuorumResponse>(),
    Codec::of::<DescribeTopicPartitionsRequest>(),
    Codec::of::<DescribeTopicPartitionsResponse>(),
    Codec::of::<DescribeTransactionsRequest>(),
    Codec::of::<DescribeTransactionsResponse>(),
    Codec::of::<DescribeUserScramCredentialsRequest>(),
    Codec::of::<DescribeUserScramCredentialsResponse>(),
    Codec::of::<ElectLeadersRequest>(),
    Codec::of::<ElectLeadersResponse>(),
    Codec::of::<EndTransactionRecord>(),
    Codec::of::<EndTxnMarker>(),
    Codec::of::<EndTxnRequest>(),
    Codec::of::<EndTxnResponse>(),
    Codec::of::<ExpireDelegationTokenRequest>(),
    Codec::of::<ExpireDelegationTokenResponse>(),
    Codec::of::<FeatureLevelRecord>(),
    Codec::of::<FenceBrokerRecord>(),
    Codec::of::<FetchRequest>(),
    Codec::of::<FetchResponse>(),
    Codec::of::<FindCoordinatorRequest>(),
    Codec::of::<FindCoordinatorResponse>(),
    Codec::of::<GroupMetadataKey>(),
    Codec::of::<GroupMetadataValue>(),
    Codec::of::<HeartbeatRequest>(),
    Codec::of::<HeartbeatResponse>(),
    Codec::of::<IncrementalAlterConfigsRequest>(),
    Codec::of::<IncrementalAlterConfigsResponse>(),
    Codec::of::<InitProducerIdRequest>(),
    Codec::of::<InitProducerIdResponse>(),
    Codec::of::<JoinGroupRequest>(),
    Codec::of::<JoinGroupResponse>(),
    Codec::of::<KRaftVersionRecord>(),
    Codec::of::<LeaderChangeMessage>(),
    Codec::of::<LeaveGroupRequest>(),
    Codec::of::<LeaveGroupResponse>(),
    Codec::of::<ListConfigResourcesRequest>(),
    Codec::of::<ListConfigResourcesResponse>(),
    Codec::of::<ListGroupsRequest>(),
    Codec::of::<ListGroupsResponse>(),
    Codec::of::<ListOffsetsRequest>(),
    Codec::of::<ListOffsetsResponse>(),
    Codec::of::<ListPartitionReassignmentsRequest>(),
    Codec::of::<ListPartitionReassignmentsResponse>(),
    Codec::of::<ListTransactionsRequest>(),
    Codec::of::<ListTransactionsResponse>(),
    Codec::of::<MetadataRequest>(),
    Codec::of::<MetadataResponse>(),
    Codec::of::<NoOpRecord>(),
    Codec::of::<OffsetCommitKey>(),
    Codec::of::<OffsetCommitRequest>(),
    Codec::of::<OffsetCommitResponse>(),
    Codec::of::<OffsetCommitValue>(),
    Codec::of::<OffsetDeleteRequest>(),
    Codec::of::<OffsetDeleteResponse>(),
    Codec::of::<OffsetFetchRequest>(),
    Codec::of::<OffsetFetchResponse>(),
    Codec::of::<OffsetForLeaderEpochRequest>(),
    Codec::of::<OffsetForLeaderEpochResponse>(),
    Codec::of::<PartitionChangeRecord>(),
    Codec::of::<PartitionRecord>(),
    Codec::of::<ProduceRequest>(),
    Codec::of::<ProduceResponse>(),
    Codec::of::<ProducerIdsRecord>(),
    Codec::of::<ProducerSnapshot>(),
    Codec::of::<QuorumStateData>(),
    Codec::of::<RegisterBrokerRecord>(),
    Codec::of::<RegisterControllerRecord>(),
    Codec::of::<RemoveAccessControlEntryRecord>(),
    Codec::of::<RemoveDelegationTokenRecord>(),
    Codec::of::<RemoveTopicRecord>(),
    Codec::of::<RemoveUserScramCredentialRecord>(),
    Codec::of::<RenewDelegationTokenRequest>(),
    Codec::of::<RenewDelegationTokenResponse>(),
    Codec::of::<RequestHeader>(),
    Codec::of::<ResponseHeader>(),
    Codec::of::<SaslAuthenticateRequest>(),
    Codec::of::<SaslAuthenticateResponse>(),
    Codec::of::<SaslHandshakeRequest>(),
    Codec::of::<SaslHandshakeResponse>(),
    Codec::of::<SnapshotFooterRecord>(),
    Codec::of::<SnapshotHeaderRecord>(),
    Codec::of::<SyncGroupRequest>(),
    Codec::of::<SyncGroupResponse>(),
    Codec::of::<TopicRecord>(),
    Codec::of::<TransactionLogKey>(),
    Codec::of::<TransactionLogValue>(),
    Codec::of::<TxnOffsetCommitRequest>(),
    Codec::of::<TxnOffsetCommitResponse>(),
    Codec::of::<UnfenceBrokerRecord>(),
    Codec::of::<UnregisterBrokerRecord>(),
    Codec::of::<UnregisterControllerRecord>(),
    Codec::of::<UpdateFeaturesRequest>(),
    Codec::of::<UpdateFeaturesResponse>(),
    Codec::of::<UserScramCredentialRecord>(),
    Codec::of::<VotersRecord>(),
    Codec::of::<WriteTxnMarkersRequest>(),
    Codec::of::<WriteTxnMarkersResponse>(),
    Codec::of::<ZkMigrationStateRecord>(),
];
