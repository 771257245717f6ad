//! Any record of the metadata log; `crate::metadata` puts it in its frame.
//!
//! Written by `cargo xtask codegen` from `schema/`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// A record of the metadata log (`__cluster_metadata`).
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataRecord {
    /// Type 0.
    RegisterBroker(super::RegisterBrokerRecord),
    /// Type 1.
    UnregisterBroker(super::UnregisterBrokerRecord),
    /// Type 2.
    Topic(super::TopicRecord),
    /// Type 3.
    Partition(super::PartitionRecord),
    /// Type 4.
    Config(super::ConfigRecord),
    /// Type 5.
    PartitionChange(super::PartitionChangeRecord),
    /// Type 7.
    FenceBroker(super::FenceBrokerRecord),
    /// Type 8.
    UnfenceBroker(super::UnfenceBrokerRecord),
    /// Type 9.
    RemoveTopic(super::RemoveTopicRecord),
    /// Type 10.
    DelegationToken(super::DelegationTokenRecord),
    /// Type 11.
    UserScramCredential(super::UserScramCredentialRecord),
    /// Type 12.
    FeatureLevel(super::FeatureLevelRecord),
    /// Type 14.
    ClientQuota(super::ClientQuotaRecord),
    /// Type 15.
    ProducerIds(super::ProducerIdsRecord),
    /// Type 17.
    BrokerRegistrationChange(super::BrokerRegistrationChangeRecord),
    /// Type 18.
    AccessControlEntry(super::AccessControlEntryRecord),
    /// Type 19.
    RemoveAccessControlEntry(super::RemoveAccessControlEntryRecord),
    /// Type 20.
    NoOp(super::NoOpRecord),
    /// Type 21.
    ZkMigrationState(super::ZkMigrationStateRecord),
    /// Type 22.
    RemoveUserScramCredential(super::RemoveUserScramCredentialRecord),
    /// Type 23.
    BeginTransaction(super::BeginTransactionRecord),
    /// Type 24.
    EndTransaction(super::EndTransactionRecord),
    /// Type 25.
    AbortTransaction(super::AbortTransactionRecord),
    /// Type 26.
    RemoveDelegationToken(super::RemoveDelegationTokenRecord),
    /// Type 27.
    RegisterController(super::RegisterControllerRecord),
    /// Type 28.
    ClearElr(super::ClearElrRecord),
    /// Type 29.
    UnregisterController(super::UnregisterControllerRecord),
}

impl MetadataRecord {
    /// The record type's number.
    #[must_use]
    pub const fn key(&self) -> i16 {
        match self {
            Self::RegisterBroker(_) => 0,
            Self::UnregisterBroker(_) => 1,
            Self::Topic(_) => 2,
            Self::Partition(_) => 3,
            Self::Config(_) => 4,
            Self::PartitionChange(_) => 5,
            Self::FenceBroker(_) => 7,
            Self::UnfenceBroker(_) => 8,
            Self::RemoveTopic(_) => 9,
            Self::DelegationToken(_) => 10,
            Self::UserScramCredential(_) => 11,
            Self::FeatureLevel(_) => 12,
            Self::ClientQuota(_) => 14,
            Self::ProducerIds(_) => 15,
            Self::BrokerRegistrationChange(_) => 17,
            Self::AccessControlEntry(_) => 18,
            Self::RemoveAccessControlEntry(_) => 19,
            Self::NoOp(_) => 20,
            Self::ZkMigrationState(_) => 21,
            Self::RemoveUserScramCredential(_) => 22,
            Self::BeginTransaction(_) => 23,
            Self::EndTransaction(_) => 24,
            Self::AbortTransaction(_) => 25,
            Self::RemoveDelegationToken(_) => 26,
            Self::RegisterController(_) => 27,
            Self::ClearElr(_) => 28,
            Self::UnregisterController(_) => 29,
        }
    }

    /// The record type's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RegisterBroker(_) => super::RegisterBrokerRecord::NAME,
            Self::UnregisterBroker(_) => super::UnregisterBrokerRecord::NAME,
            Self::Topic(_) => super::TopicRecord::NAME,
            Self::Partition(_) => super::PartitionRecord::NAME,
            Self::Config(_) => super::ConfigRecord::NAME,
            Self::PartitionChange(_) => super::PartitionChangeRecord::NAME,
            Self::FenceBroker(_) => super::FenceBrokerRecord::NAME,
            Self::UnfenceBroker(_) => super::UnfenceBrokerRecord::NAME,
            Self::RemoveTopic(_) => super::RemoveTopicRecord::NAME,
            Self::DelegationToken(_) => super::DelegationTokenRecord::NAME,
            Self::UserScramCredential(_) => super::UserScramCredentialRecord::NAME,
            Self::FeatureLevel(_) => super::FeatureLevelRecord::NAME,
            Self::ClientQuota(_) => super::ClientQuotaRecord::NAME,
            Self::ProducerIds(_) => super::ProducerIdsRecord::NAME,
            Self::BrokerRegistrationChange(_) => super::BrokerRegistrationChangeRecord::NAME,
            Self::AccessControlEntry(_) => super::AccessControlEntryRecord::NAME,
            Self::RemoveAccessControlEntry(_) => super::RemoveAccessControlEntryRecord::NAME,
            Self::NoOp(_) => super::NoOpRecord::NAME,
            Self::ZkMigrationState(_) => super::ZkMigrationStateRecord::NAME,
            Self::RemoveUserScramCredential(_) => super::RemoveUserScramCredentialRecord::NAME,
            Self::BeginTransaction(_) => super::BeginTransactionRecord::NAME,
            Self::EndTransaction(_) => super::EndTransactionRecord::NAME,
            Self::AbortTransaction(_) => super::AbortTransactionRecord::NAME,
            Self::RemoveDelegationToken(_) => super::RemoveDelegationTokenRecord::NAME,
            Self::RegisterController(_) => super::RegisterControllerRecord::NAME,
            Self::ClearElr(_) => super::ClearElrRecord::NAME,
            Self::UnregisterController(_) => super::UnregisterControllerRecord::NAME,
        }
    }

    /// The versions in which the record can be written.
    #[must_use]
    pub const fn versions(&self) -> VersionRange {
        match self {
            Self::RegisterBroker(_) => super::RegisterBrokerRecord::VERSIONS,
            Self::UnregisterBroker(_) => super::UnregisterBrokerRecord::VERSIONS,
            Self::Topic(_) => super::TopicRecord::VERSIONS,
            Self::Partition(_) => super::PartitionRecord::VERSIONS,
            Self::Config(_) => super::ConfigRecord::VERSIONS,
            Self::PartitionChange(_) => super::PartitionChangeRecord::VERSIONS,
            Self::FenceBroker(_) => super::FenceBrokerRecord::VERSIONS,
            Self::UnfenceBroker(_) => super::UnfenceBrokerRecord::VERSIONS,
            Self::RemoveTopic(_) => super::RemoveTopicRecord::VERSIONS,
            Self::DelegationToken(_) => super::DelegationTokenRecord::VERSIONS,
            Self::UserScramCredential(_) => super::UserScramCredentialRecord::VERSIONS,
            Self::FeatureLevel(_) => super::FeatureLevelRecord::VERSIONS,
            Self::ClientQuota(_) => super::ClientQuotaRecord::VERSIONS,
            Self::ProducerIds(_) => super::ProducerIdsRecord::VERSIONS,
            Self::BrokerRegistrationChange(_) => super::BrokerRegistrationChangeRecord::VERSIONS,
            Self::AccessControlEntry(_) => super::AccessControlEntryRecord::VERSIONS,
            Self::RemoveAccessControlEntry(_) => super::RemoveAccessControlEntryRecord::VERSIONS,
            Self::NoOp(_) => super::NoOpRecord::VERSIONS,
            Self::ZkMigrationState(_) => super::ZkMigrationStateRecord::VERSIONS,
            Self::RemoveUserScramCredential(_) => super::RemoveUserScramCredentialRecord::VERSIONS,
            Self::BeginTransaction(_) => super::BeginTransactionRecord::VERSIONS,
            Self::EndTransaction(_) => super::EndTransactionRecord::VERSIONS,
            Self::AbortTransaction(_) => super::AbortTransactionRecord::VERSIONS,
            Self::RemoveDelegationToken(_) => super::RemoveDelegationTokenRecord::VERSIONS,
            Self::RegisterController(_) => super::RegisterControllerRecord::VERSIONS,
            Self::ClearElr(_) => super::ClearElrRecord::VERSIONS,
            Self::UnregisterController(_) => super::UnregisterControllerRecord::VERSIONS,
        }
    }

    pub(crate) fn decode_body(key: u32, r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        Ok(match key {
            0 => Self::RegisterBroker(super::RegisterBrokerRecord::decode(r, v)?),
            1 => Self::UnregisterBroker(super::UnregisterBrokerRecord::decode(r, v)?),
            2 => Self::Topic(super::TopicRecord::decode(r, v)?),
            3 => Self::Partition(super::PartitionRecord::decode(r, v)?),
            4 => Self::Config(super::ConfigRecord::decode(r, v)?),
            5 => Self::PartitionChange(super::PartitionChangeRecord::decode(r, v)?),
            7 => Self::FenceBroker(super::FenceBrokerRecord::decode(r, v)?),
            8 => Self::UnfenceBroker(super::UnfenceBrokerRecord::decode(r, v)?),
            9 => Self::RemoveTopic(super::RemoveTopicRecord::decode(r, v)?),
            10 => Self::DelegationToken(super::DelegationTokenRecord::decode(r, v)?),
            11 => Self::UserScramCredential(super::UserScramCredentialRecord::decode(r, v)?),
            12 => Self::FeatureLevel(super::FeatureLevelRecord::decode(r, v)?),
            14 => Self::ClientQuota(super::ClientQuotaRecord::decode(r, v)?),
            15 => Self::ProducerIds(super::ProducerIdsRecord::decode(r, v)?),
            17 => Self::BrokerRegistrationChange(super::BrokerRegistrationChangeRecord::decode(r, v)?),
            18 => Self::AccessControlEntry(super::AccessControlEntryRecord::decode(r, v)?),
            19 => Self::RemoveAccessControlEntry(super::RemoveAccessControlEntryRecord::decode(r, v)?),
            20 => Self::NoOp(super::NoOpRecord::decode(r, v)?),
            21 => Self::ZkMigrationState(super::ZkMigrationStateRecord::decode(r, v)?),
            22 => Self::RemoveUserScramCredential(super::RemoveUserScramCredentialRecord::decode(r, v)?),
            23 => Self::BeginTransaction(super::BeginTransactionRecord::decode(r, v)?),
            24 => Self::EndTransaction(super::EndTransactionRecord::decode(r, v)?),
            25 => Self::AbortTransaction(super::AbortTransactionRecord::decode(r, v)?),
            26 => Self::RemoveDelegationToken(super::RemoveDelegationTokenRecord::decode(r, v)?),
            27 => Self::RegisterController(super::RegisterControllerRecord::decode(r, v)?),
            28 => Self::ClearElr(super::ClearElrRecord::decode(r, v)?),
            29 => Self::UnregisterController(super::UnregisterControllerRecord::decode(r, v)?),
            other => return Err(DecodeError::UnknownRecordType(other)),
        })
    }

    pub(crate) fn encode_body(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        match self {
            Self::RegisterBroker(record) => record.encode(w, v),
            Self::UnregisterBroker(record) => record.encode(w, v),
            Self::Topic(record) => record.encode(w, v),
            Self::Partition(record) => record.encode(w, v),
            Self::Config(record) => record.encode(w, v),
            Self::PartitionChange(record) => record.encode(w, v),
            Self::FenceBroker(record) => record.encode(w, v),
            Self::UnfenceBroker(record) => record.encode(w, v),
            Self::RemoveTopic(record) => record.encode(w, v),
            Self::DelegationToken(record) => record.encode(w, v),
            Self::UserScramCredential(record) => record.encode(w, v),
            Self::FeatureLevel(record) => record.encode(w, v),
            Self::ClientQuota(record) => record.encode(w, v),
            Self::ProducerIds(record) => record.encode(w, v),
            Self::BrokerRegistrationChange(record) => record.encode(w, v),
            Self::AccessControlEntry(record) => record.encode(w, v),
            Self::RemoveAccessControlEntry(record) => record.encode(w, v),
            Self::NoOp(record) => record.encode(w, v),
            Self::ZkMigrationState(record) => record.encode(w, v),
            Self::RemoveUserScramCredential(record) => record.encode(w, v),
            Self::BeginTransaction(record) => record.encode(w, v),
            Self::EndTransaction(record) => record.encode(w, v),
            Self::AbortTransaction(record) => record.encode(w, v),
            Self::RemoveDelegationToken(record) => record.encode(w, v),
            Self::RegisterController(record) => record.encode(w, v),
            Self::ClearElr(record) => record.encode(w, v),
            Self::UnregisterController(record) => record.encode(w, v),
        }
    }
}

impl From<super::RegisterBrokerRecord> for MetadataRecord {
    fn from(record: super::RegisterBrokerRecord) -> Self {
        Self::RegisterBroker(record)
    }
}

impl From<super::UnregisterBrokerRecord> for MetadataRecord {
    fn from(record: super::UnregisterBrokerRecord) -> Self {
        Self::UnregisterBroker(record)
    }
}

impl From<super::TopicRecord> for MetadataRecord {
    fn from(record: super::TopicRecord) -> Self {
        Self::Topic(record)
    }
}

impl From<super::PartitionRecord> for MetadataRecord {
    fn from(record: super::PartitionRecord) -> Self {
        Self::Partition(record)
    }
}

impl From<super::ConfigRecord> for MetadataRecord {
    fn from(record: super::ConfigRecord) -> Self {
        Self::Config(record)
    }
}

impl From<super::PartitionChangeRecord> for MetadataRecord {
    fn from(record: super::PartitionChangeRecord) -> Self {
        Self::PartitionChange(record)
    }
}

impl From<super::FenceBrokerRecord> for MetadataRecord {
    fn from(record: super::FenceBrokerRecord) -> Self {
        Self::FenceBroker(record)
    }
}

impl From<super::UnfenceBrokerRecord> for MetadataRecord {
    fn from(record: super::UnfenceBrokerRecord) -> Self {
        Self::UnfenceBroker(record)
    }
}

impl From<super::RemoveTopicRecord> for MetadataRecord {
    fn from(record: super::RemoveTopicRecord) -> Self {
        Self::RemoveTopic(record)
    }
}

impl From<super::DelegationTokenRecord> for MetadataRecord {
    fn from(record: super::DelegationTokenRecord) -> Self {
        Self::DelegationToken(record)
    }
}

impl From<super::UserScramCredentialRecord> for MetadataRecord {
    fn from(record: super::UserScramCredentialRecord) -> Self {
        Self::UserScramCredential(record)
    }
}

impl From<super::FeatureLevelRecord> for MetadataRecord {
    fn from(record: super::FeatureLevelRecord) -> Self {
        Self::FeatureLevel(record)
    }
}

impl From<super::ClientQuotaRecord> for MetadataRecord {
    fn from(record: super::ClientQuotaRecord) -> Self {
        Self::ClientQuota(record)
    }
}

impl From<super::ProducerIdsRecord> for MetadataRecord {
    fn from(record: super::ProducerIdsRecord) -> Self {
        Self::ProducerIds(record)
    }
}

impl From<super::BrokerRegistrationChangeRecord> for MetadataRecord {
    fn from(record: super::BrokerRegistrationChangeRecord) -> Self {
        Self::BrokerRegistrationChange(record)
    }
}

impl From<super::AccessControlEntryRecord> for MetadataRecord {
    fn from(record: super::AccessControlEntryRecord) -> Self {
        Self::AccessControlEntry(record)
    }
}

impl From<super::RemoveAccessControlEntryRecord> for MetadataRecord {
    fn from(record: super::RemoveAccessControlEntryRecord) -> Self {
        Self::RemoveAccessControlEntry(record)
    }
}

impl From<super::NoOpRecord> for MetadataRecord {
    fn from(record: super::NoOpRecord) -> Self {
        Self::NoOp(record)
    }
}

impl From<super::ZkMigrationStateRecord> for MetadataRecord {
    fn from(record: super::ZkMigrationStateRecord) -> Self {
        Self::ZkMigrationState(record)
    }
}

impl From<super::RemoveUserScramCredentialRecord> for MetadataRecord {
    fn from(record: super::RemoveUserScramCredentialRecord) -> Self {
        Self::RemoveUserScramCredential(record)
    }
}

impl From<super::BeginTransactionRecord> for MetadataRecord {
    fn from(record: super::BeginTransactionRecord) -> Self {
        Self::BeginTransaction(record)
    }
}

impl From<super::EndTransactionRecord> for MetadataRecord {
    fn from(record: super::EndTransactionRecord) -> Self {
        Self::EndTransaction(record)
    }
}

impl From<super::AbortTransactionRecord> for MetadataRecord {
    fn from(record: super::AbortTransactionRecord) -> Self {
        Self::AbortTransaction(record)
    }
}

impl From<super::RemoveDelegationTokenRecord> for MetadataRecord {
    fn from(record: super::RemoveDelegationTokenRecord) -> Self {
        Self::RemoveDelegationToken(record)
    }
}

impl From<super::RegisterControllerRecord> for MetadataRecord {
    fn from(record: super::RegisterControllerRecord) -> Self {
        Self::RegisterController(record)
    }
}

impl From<super::ClearElrRecord> for MetadataRecord {
    fn from(record: super::ClearElrRecord) -> Self {
        Self::ClearElr(record)
    }
}

impl From<super::UnregisterControllerRecord> for MetadataRecord {
    fn from(record: super::UnregisterControllerRecord) -> Self {
        Self::UnregisterController(record)
    }
}
