//! The API keys of Apache Kafka 4.4.0 and their versions.
//!
//! Written by `cargo xtask codegen` from the requests in `schema/`; not edited by hand.

use super::facts::{Facts, Listeners};
use crate::VersionRange;

/// An API by its key. `crate::api` says what can be asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum ApiKey {
    /// Key 0, versions 3-13.
    Produce = 0,
    /// Key 1, versions 4-18.
    Fetch = 1,
    /// Key 2, versions 1-11.
    ListOffsets = 2,
    /// Key 3, versions 0-13.
    Metadata = 3,
    /// Key 8, versions 2-10.
    OffsetCommit = 8,
    /// Key 9, versions 1-10.
    OffsetFetch = 9,
    /// Key 10, versions 0-6.
    FindCoordinator = 10,
    /// Key 11, versions 0-9.
    JoinGroup = 11,
    /// Key 12, versions 0-4.
    Heartbeat = 12,
    /// Key 13, versions 0-5.
    LeaveGroup = 13,
    /// Key 14, versions 0-5.
    SyncGroup = 14,
    /// Key 15, versions 0-6.
    DescribeGroups = 15,
    /// Key 16, versions 0-5.
    ListGroups = 16,
    /// Key 17, versions 0-1.
    SaslHandshake = 17,
    /// Key 18, versions 0-5.
    ApiVersions = 18,
    /// Key 19, versions 2-7.
    CreateTopics = 19,
    /// Key 20, versions 1-6.
    DeleteTopics = 20,
    /// Key 21, versions 0-2.
    DeleteRecords = 21,
    /// Key 22, versions 0-6.
    InitProducerId = 22,
    /// Key 23, versions 2-4.
    OffsetForLeaderEpoch = 23,
    /// Key 24, versions 0-5.
    AddPartitionsToTxn = 24,
    /// Key 25, versions 0-4.
    AddOffsetsToTxn = 25,
    /// Key 26, versions 0-5.
    EndTxn = 26,
    /// Key 27, versions 1-2.
    WriteTxnMarkers = 27,
    /// Key 28, versions 0-6.
    TxnOffsetCommit = 28,
    /// Key 29, versions 1-3.
    DescribeAcls = 29,
    /// Key 30, versions 1-3.
    CreateAcls = 30,
    /// Key 31, versions 1-3.
    DeleteAcls = 31,
    /// Key 32, versions 1-4.
    DescribeConfigs = 32,
    /// Key 33, versions 0-2.
    AlterConfigs = 33,
    /// Key 34, versions 1-2.
    AlterReplicaLogDirs = 34,
    /// Key 35, versions 1-5.
    DescribeLogDirs = 35,
    /// Key 36, versions 0-2.
    SaslAuthenticate = 36,
    /// Key 37, versions 0-3.
    CreatePartitions = 37,
    /// Key 38, versions 1-3.
    CreateDelegationToken = 38,
    /// Key 39, versions 1-2.
    RenewDelegationToken = 39,
    /// Key 40, versions 1-2.
    ExpireDelegationToken = 40,
    /// Key 41, versions 1-3.
    DescribeDelegationToken = 41,
    /// Key 42, versions 0-3.
    DeleteGroups = 42,
    /// Key 43, versions 0-2.
    ElectLeaders = 43,
    /// Key 44, versions 0-1.
    IncrementalAlterConfigs = 44,
    /// Key 45, versions 0-1.
    AlterPartitionReassignments = 45,
    /// Key 46, versions 0.
    ListPartitionReassignments = 46,
    /// Key 47, versions 0.
    OffsetDelete = 47,
    /// Key 48, versions 0-1.
    DescribeClientQuotas = 48,
    /// Key 49, versions 0-1.
    AlterClientQuotas = 49,
    /// Key 50, versions 0.
    DescribeUserScramCredentials = 50,
    /// Key 51, versions 0.
    AlterUserScramCredentials = 51,
    /// Key 52, versions 0-2.
    Vote = 52,
    /// Key 53, versions 0-1.
    BeginQuorumEpoch = 53,
    /// Key 54, versions 0-1.
    EndQuorumEpoch = 54,
    /// Key 55, versions 0-2.
    DescribeQuorum = 55,
    /// Key 56, versions 2-3.
    AlterPartition = 56,
    /// Key 57, versions 0-2.
    UpdateFeatures = 57,
    /// Key 58, versions 0.
    Envelope = 58,
    /// Key 59, versions 0-1.
    FetchSnapshot = 59,
    /// Key 60, versions 0-2.
    DescribeCluster = 60,
    /// Key 61, versions 0.
    DescribeProducers = 61,
    /// Key 62, versions 0-4.
    BrokerRegistration = 62,
    /// Key 63, versions 0-2.
    BrokerHeartbeat = 63,
    /// Key 64, versions 0.
    UnregisterBroker = 64,
    /// Key 65, versions 0.
    DescribeTransactions = 65,
    /// Key 66, versions 0-2.
    ListTransactions = 66,
    /// Key 67, versions 0.
    AllocateProducerIds = 67,
    /// Key 68, versions 0-1.
    ConsumerGroupHeartbeat = 68,
    /// Key 69, versions 0-1.
    ConsumerGroupDescribe = 69,
    /// Key 70, versions 0.
    ControllerRegistration = 70,
    /// Key 71, versions 0.
    GetTelemetrySubscriptions = 71,
    /// Key 72, versions 0.
    PushTelemetry = 72,
    /// Key 73, versions 0.
    AssignReplicasToDirs = 73,
    /// Key 74, versions 0-1.
    ListConfigResources = 74,
    /// Key 75, versions 0.
    DescribeTopicPartitions = 75,
    /// Key 76, versions 1.
    ShareGroupHeartbeat = 76,
    /// Key 77, versions 1.
    ShareGroupDescribe = 77,
    /// Key 78, versions 1-2.
    ShareFetch = 78,
    /// Key 79, versions 1-2.
    ShareAcknowledge = 79,
    /// Key 80, versions 0-1.
    AddRaftVoter = 80,
    /// Key 81, versions 0.
    RemoveRaftVoter = 81,
    /// Key 82, versions 0.
    UpdateRaftVoter = 82,
    /// Key 83, versions 0.
    InitializeShareGroupState = 83,
    /// Key 84, versions 0.
    ReadShareGroupState = 84,
    /// Key 85, versions 0-1.
    WriteShareGroupState = 85,
    /// Key 86, versions 0.
    DeleteShareGroupState = 86,
    /// Key 87, versions 0-1.
    ReadShareGroupStateSummary = 87,
    /// Key 88, versions 0-1.
    StreamsGroupHeartbeat = 88,
    /// Key 89, versions 0-1.
    StreamsGroupDescribe = 89,
    /// Key 90, versions 0-1.
    DescribeShareGroupOffsets = 90,
    /// Key 91, versions 0.
    AlterShareGroupOffsets = 91,
    /// Key 92, versions 0.
    DeleteShareGroupOffsets = 92,
    /// Key 93, versions 0.
    StreamsGroupTopologyDescriptionUpdate = 93,
    /// Key 94, versions 0.
    UnregisterController = 94,
}

impl ApiKey {
    /// Every API, by rising key.
    pub const ALL: &'static [Self] = &[
        Self::Produce,
        Self::Fetch,
        Self::ListOffsets,
        Self::Metadata,
        Self::OffsetCommit,
        Self::OffsetFetch,
        Self::FindCoordinator,
        Self::JoinGroup,
        Self::Heartbeat,
        Self::LeaveGroup,
        Self::SyncGroup,
        Self::DescribeGroups,
        Self::ListGroups,
        Self::SaslHandshake,
        Self::ApiVersions,
        Self::CreateTopics,
        Self::DeleteTopics,
        Self::DeleteRecords,
        Self::InitProducerId,
        Self::OffsetForLeaderEpoch,
        Self::AddPartitionsToTxn,
        Self::AddOffsetsToTxn,
        Self::EndTxn,
        Self::WriteTxnMarkers,
        Self::TxnOffsetCommit,
        Self::DescribeAcls,
        Self::CreateAcls,
        Self::DeleteAcls,
        Self::DescribeConfigs,
        Self::AlterConfigs,
        Self::AlterReplicaLogDirs,
        Self::DescribeLogDirs,
        Self::SaslAuthenticate,
        Self::CreatePartitions,
        Self::CreateDelegationToken,
        Self::RenewDelegationToken,
        Self::ExpireDelegationToken,
        Self::DescribeDelegationToken,
        Self::DeleteGroups,
        Self::ElectLeaders,
        Self::IncrementalAlterConfigs,
        Self::AlterPartitionReassignments,
        Self::ListPartitionReassignments,
        Self::OffsetDelete,
        Self::DescribeClientQuotas,
        Self::AlterClientQuotas,
        Self::DescribeUserScramCredentials,
        Self::AlterUserScramCredentials,
        Self::Vote,
        Self::BeginQuorumEpoch,
        Self::EndQuorumEpoch,
        Self::DescribeQuorum,
        Self::AlterPartition,
        Self::UpdateFeatures,
        Self::Envelope,
        Self::FetchSnapshot,
        Self::DescribeCluster,
        Self::DescribeProducers,
        Self::BrokerRegistration,
        Self::BrokerHeartbeat,
        Self::UnregisterBroker,
        Self::DescribeTransactions,
        Self::ListTransactions,
        Self::AllocateProducerIds,
        Self::ConsumerGroupHeartbeat,
        Self::ConsumerGroupDescribe,
        Self::ControllerRegistration,
        Self::GetTelemetrySubscriptions,
        Self::PushTelemetry,
        Self::AssignReplicasToDirs,
        Self::ListConfigResources,
        Self::DescribeTopicPartitions,
        Self::ShareGroupHeartbeat,
        Self::ShareGroupDescribe,
        Self::ShareFetch,
        Self::ShareAcknowledge,
        Self::AddRaftVoter,
        Self::RemoveRaftVoter,
        Self::UpdateRaftVoter,
        Self::InitializeShareGroupState,
        Self::ReadShareGroupState,
        Self::WriteShareGroupState,
        Self::DeleteShareGroupState,
        Self::ReadShareGroupStateSummary,
        Self::StreamsGroupHeartbeat,
        Self::StreamsGroupDescribe,
        Self::DescribeShareGroupOffsets,
        Self::AlterShareGroupOffsets,
        Self::DeleteShareGroupOffsets,
        Self::StreamsGroupTopologyDescriptionUpdate,
        Self::UnregisterController,
    ];

    /// The API that has this key; `None` for keys that never had, or no longer have, a version.
    #[must_use]
    pub const fn from_i16(key: i16) -> Option<Self> {
        Some(match key {
            0 => Self::Produce,
            1 => Self::Fetch,
            2 => Self::ListOffsets,
            3 => Self::Metadata,
            8 => Self::OffsetCommit,
            9 => Self::OffsetFetch,
            10 => Self::FindCoordinator,
            11 => Self::JoinGroup,
            12 => Self::Heartbeat,
            13 => Self::LeaveGroup,
            14 => Self::SyncGroup,
            15 => Self::DescribeGroups,
            16 => Self::ListGroups,
            17 => Self::SaslHandshake,
            18 => Self::ApiVersions,
            19 => Self::CreateTopics,
            20 => Self::DeleteTopics,
            21 => Self::DeleteRecords,
            22 => Self::InitProducerId,
            23 => Self::OffsetForLeaderEpoch,
            24 => Self::AddPartitionsToTxn,
            25 => Self::AddOffsetsToTxn,
            26 => Self::EndTxn,
            27 => Self::WriteTxnMarkers,
            28 => Self::TxnOffsetCommit,
            29 => Self::DescribeAcls,
            30 => Self::CreateAcls,
            31 => Self::DeleteAcls,
            32 => Self::DescribeConfigs,
            33 => Self::AlterConfigs,
            34 => Self::AlterReplicaLogDirs,
            35 => Self::DescribeLogDirs,
            36 => Self::SaslAuthenticate,
            37 => Self::CreatePartitions,
            38 => Self::CreateDelegationToken,
            39 => Self::RenewDelegationToken,
            40 => Self::ExpireDelegationToken,
            41 => Self::DescribeDelegationToken,
            42 => Self::DeleteGroups,
            43 => Self::ElectLeaders,
            44 => Self::IncrementalAlterConfigs,
            45 => Self::AlterPartitionReassignments,
            46 => Self::ListPartitionReassignments,
            47 => Self::OffsetDelete,
            48 => Self::DescribeClientQuotas,
            49 => Self::AlterClientQuotas,
            50 => Self::DescribeUserScramCredentials,
            51 => Self::AlterUserScramCredentials,
            52 => Self::Vote,
            53 => Self::BeginQuorumEpoch,
            54 => Self::EndQuorumEpoch,
            55 => Self::DescribeQuorum,
            56 => Self::AlterPartition,
            57 => Self::UpdateFeatures,
            58 => Self::Envelope,
            59 => Self::FetchSnapshot,
            60 => Self::DescribeCluster,
            61 => Self::DescribeProducers,
            62 => Self::BrokerRegistration,
            63 => Self::BrokerHeartbeat,
            64 => Self::UnregisterBroker,
            65 => Self::DescribeTransactions,
            66 => Self::ListTransactions,
            67 => Self::AllocateProducerIds,
            68 => Self::ConsumerGroupHeartbeat,
            69 => Self::ConsumerGroupDescribe,
            70 => Self::ControllerRegistration,
            71 => Self::GetTelemetrySubscriptions,
            72 => Self::PushTelemetry,
            73 => Self::AssignReplicasToDirs,
            74 => Self::ListConfigResources,
            75 => Self::DescribeTopicPartitions,
            76 => Self::ShareGroupHeartbeat,
            77 => Self::ShareGroupDescribe,
            78 => Self::ShareFetch,
            79 => Self::ShareAcknowledge,
            80 => Self::AddRaftVoter,
            81 => Self::RemoveRaftVoter,
            82 => Self::UpdateRaftVoter,
            83 => Self::InitializeShareGroupState,
            84 => Self::ReadShareGroupState,
            85 => Self::WriteShareGroupState,
            86 => Self::DeleteShareGroupState,
            87 => Self::ReadShareGroupStateSummary,
            88 => Self::StreamsGroupHeartbeat,
            89 => Self::StreamsGroupDescribe,
            90 => Self::DescribeShareGroupOffsets,
            91 => Self::AlterShareGroupOffsets,
            92 => Self::DeleteShareGroupOffsets,
            93 => Self::StreamsGroupTopologyDescriptionUpdate,
            94 => Self::UnregisterController,
            _ => return None,
        })
    }

    pub(crate) const fn facts(self) -> Facts {
        match self {
            Self::Produce => Facts {
                name: "Produce",
                versions: VersionRange::new(3, 13),
                flexible_from: Some(9),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::Fetch => Facts {
                name: "Fetch",
                versions: VersionRange::new(4, 18),
                flexible_from: Some(12),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::ListOffsets => Facts {
                name: "ListOffsets",
                versions: VersionRange::new(1, 11),
                flexible_from: Some(6),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::Metadata => Facts {
                name: "Metadata",
                versions: VersionRange::new(0, 13),
                flexible_from: Some(9),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::OffsetCommit => Facts {
                name: "OffsetCommit",
                versions: VersionRange::new(2, 10),
                flexible_from: Some(8),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::OffsetFetch => Facts {
                name: "OffsetFetch",
                versions: VersionRange::new(1, 10),
                flexible_from: Some(6),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::FindCoordinator => Facts {
                name: "FindCoordinator",
                versions: VersionRange::new(0, 6),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::JoinGroup => Facts {
                name: "JoinGroup",
                versions: VersionRange::new(0, 9),
                flexible_from: Some(6),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::Heartbeat => Facts {
                name: "Heartbeat",
                versions: VersionRange::new(0, 4),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::LeaveGroup => Facts {
                name: "LeaveGroup",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::SyncGroup => Facts {
                name: "SyncGroup",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeGroups => Facts {
                name: "DescribeGroups",
                versions: VersionRange::new(0, 6),
                flexible_from: Some(5),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ListGroups => Facts {
                name: "ListGroups",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::SaslHandshake => Facts {
                name: "SaslHandshake",
                versions: VersionRange::new(0, 1),
                flexible_from: None,
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::ApiVersions => Facts {
                name: "ApiVersions",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::CreateTopics => Facts {
                name: "CreateTopics",
                versions: VersionRange::new(2, 7),
                flexible_from: Some(5),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DeleteTopics => Facts {
                name: "DeleteTopics",
                versions: VersionRange::new(1, 6),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DeleteRecords => Facts {
                name: "DeleteRecords",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::InitProducerId => Facts {
                name: "InitProducerId",
                versions: VersionRange::new(0, 6),
                flexible_from: Some(2),
                unstable: true,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::OffsetForLeaderEpoch => Facts {
                name: "OffsetForLeaderEpoch",
                versions: VersionRange::new(2, 4),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AddPartitionsToTxn => Facts {
                name: "AddPartitionsToTxn",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AddOffsetsToTxn => Facts {
                name: "AddOffsetsToTxn",
                versions: VersionRange::new(0, 4),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::EndTxn => Facts {
                name: "EndTxn",
                versions: VersionRange::new(0, 5),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::WriteTxnMarkers => Facts {
                name: "WriteTxnMarkers",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::TxnOffsetCommit => Facts {
                name: "TxnOffsetCommit",
                versions: VersionRange::new(0, 6),
                flexible_from: Some(3),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeAcls => Facts {
                name: "DescribeAcls",
                versions: VersionRange::new(1, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::CreateAcls => Facts {
                name: "CreateAcls",
                versions: VersionRange::new(1, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DeleteAcls => Facts {
                name: "DeleteAcls",
                versions: VersionRange::new(1, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DescribeConfigs => Facts {
                name: "DescribeConfigs",
                versions: VersionRange::new(1, 4),
                flexible_from: Some(4),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::AlterConfigs => Facts {
                name: "AlterConfigs",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::AlterReplicaLogDirs => Facts {
                name: "AlterReplicaLogDirs",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeLogDirs => Facts {
                name: "DescribeLogDirs",
                versions: VersionRange::new(1, 5),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::SaslAuthenticate => Facts {
                name: "SaslAuthenticate",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::CreatePartitions => Facts {
                name: "CreatePartitions",
                versions: VersionRange::new(0, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::CreateDelegationToken => Facts {
                name: "CreateDelegationToken",
                versions: VersionRange::new(1, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::RenewDelegationToken => Facts {
                name: "RenewDelegationToken",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::ExpireDelegationToken => Facts {
                name: "ExpireDelegationToken",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DescribeDelegationToken => Facts {
                name: "DescribeDelegationToken",
                versions: VersionRange::new(1, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DeleteGroups => Facts {
                name: "DeleteGroups",
                versions: VersionRange::new(0, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ElectLeaders => Facts {
                name: "ElectLeaders",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::IncrementalAlterConfigs => Facts {
                name: "IncrementalAlterConfigs",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::AlterPartitionReassignments => Facts {
                name: "AlterPartitionReassignments",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::ListPartitionReassignments => Facts {
                name: "ListPartitionReassignments",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::OffsetDelete => Facts {
                name: "OffsetDelete",
                versions: VersionRange::new(0, 0),
                flexible_from: None,
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeClientQuotas => Facts {
                name: "DescribeClientQuotas",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AlterClientQuotas => Facts {
                name: "AlterClientQuotas",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DescribeUserScramCredentials => Facts {
                name: "DescribeUserScramCredentials",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::AlterUserScramCredentials => Facts {
                name: "AlterUserScramCredentials",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::Vote => Facts {
                name: "Vote",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::BeginQuorumEpoch => Facts {
                name: "BeginQuorumEpoch",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::EndQuorumEpoch => Facts {
                name: "EndQuorumEpoch",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::DescribeQuorum => Facts {
                name: "DescribeQuorum",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::AlterPartition => Facts {
                name: "AlterPartition",
                versions: VersionRange::new(2, 3),
                flexible_from: Some(2),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::UpdateFeatures => Facts {
                name: "UpdateFeatures",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::Envelope => Facts {
                name: "Envelope",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::FetchSnapshot => Facts {
                name: "FetchSnapshot",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::DescribeCluster => Facts {
                name: "DescribeCluster",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DescribeProducers => Facts {
                name: "DescribeProducers",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::BrokerRegistration => Facts {
                name: "BrokerRegistration",
                versions: VersionRange::new(0, 4),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::BrokerHeartbeat => Facts {
                name: "BrokerHeartbeat",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::UnregisterBroker => Facts {
                name: "UnregisterBroker",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::DescribeTransactions => Facts {
                name: "DescribeTransactions",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ListTransactions => Facts {
                name: "ListTransactions",
                versions: VersionRange::new(0, 2),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AllocateProducerIds => Facts {
                name: "AllocateProducerIds",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::ConsumerGroupHeartbeat => Facts {
                name: "ConsumerGroupHeartbeat",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ConsumerGroupDescribe => Facts {
                name: "ConsumerGroupDescribe",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ControllerRegistration => Facts {
                name: "ControllerRegistration",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::GetTelemetrySubscriptions => Facts {
                name: "GetTelemetrySubscriptions",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::PushTelemetry => Facts {
                name: "PushTelemetry",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AssignReplicasToDirs => Facts {
                name: "AssignReplicasToDirs",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::ListConfigResources => Facts {
                name: "ListConfigResources",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeTopicPartitions => Facts {
                name: "DescribeTopicPartitions",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ShareGroupHeartbeat => Facts {
                name: "ShareGroupHeartbeat",
                versions: VersionRange::new(1, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ShareGroupDescribe => Facts {
                name: "ShareGroupDescribe",
                versions: VersionRange::new(1, 1),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ShareFetch => Facts {
                name: "ShareFetch",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ShareAcknowledge => Facts {
                name: "ShareAcknowledge",
                versions: VersionRange::new(1, 2),
                flexible_from: Some(1),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AddRaftVoter => Facts {
                name: "AddRaftVoter",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::RemoveRaftVoter => Facts {
                name: "RemoveRaftVoter",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
            Self::UpdateRaftVoter => Facts {
                name: "UpdateRaftVoter",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: false, controller: true },
            },
            Self::InitializeShareGroupState => Facts {
                name: "InitializeShareGroupState",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ReadShareGroupState => Facts {
                name: "ReadShareGroupState",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::WriteShareGroupState => Facts {
                name: "WriteShareGroupState",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DeleteShareGroupState => Facts {
                name: "DeleteShareGroupState",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::ReadShareGroupStateSummary => Facts {
                name: "ReadShareGroupStateSummary",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::StreamsGroupHeartbeat => Facts {
                name: "StreamsGroupHeartbeat",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::StreamsGroupDescribe => Facts {
                name: "StreamsGroupDescribe",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DescribeShareGroupOffsets => Facts {
                name: "DescribeShareGroupOffsets",
                versions: VersionRange::new(0, 1),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::AlterShareGroupOffsets => Facts {
                name: "AlterShareGroupOffsets",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::DeleteShareGroupOffsets => Facts {
                name: "DeleteShareGroupOffsets",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::StreamsGroupTopologyDescriptionUpdate => Facts {
                name: "StreamsGroupTopologyDescriptionUpdate",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: false },
            },
            Self::UnregisterController => Facts {
                name: "UnregisterController",
                versions: VersionRange::new(0, 0),
                flexible_from: Some(0),
                unstable: false,
                listeners: Listeners { broker: true, controller: true },
            },
        }
    }
}
