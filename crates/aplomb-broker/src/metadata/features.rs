//! Features: which record versions may be written, which protocols are on. Names and levels are
//! those of Apache Kafka 4.4 (`MetadataVersion`, `Feature`).

use std::collections::BTreeMap;
use std::fmt;

/// The name of the feature that says which records may be written.
pub const METADATA_VERSION: &str = "metadata.version";
/// The name of the feature that says how voters are known. Its level is in a control record, not in
/// a feature record.
pub const KRAFT_VERSION: &str = "kraft.version";

/// The name of the feature that keeps out-of-sync replicas known that may lead without loss.
pub const ELIGIBLE_LEADERS: &str = "eligible.leader.replicas.version";

/// The name of the feature that says in which version transactions are written.
pub const TRANSACTION_VERSION: &str = "transaction.version";

/// A level of `metadata.version`: which versions of records all of the cluster can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataVersion(pub i16);

impl MetadataVersion {
    /// 3.3-IV3: the first that KRaft clusters have, and what a log without a feature record is
    /// written in.
    pub const MINIMUM: Self = Self(7);
    /// 3.4-IV0
    const MIGRATION: Self = Self(8);
    /// 3.6-IV2
    const DELEGATION_TOKENS: Self = Self(14);
    /// 3.7-IV0
    const CONTROLLER_REGISTRATION: Self = Self(15);
    /// 3.7-IV2
    const DIRECTORIES: Self = Self(17);
    /// 4.0-IV1
    const ELIGIBLE_LEADERS: Self = Self(23);
    /// 4.3-IV0
    const CORDONED_DIRECTORIES: Self = Self(30);
    /// 4.4-IV1
    const NETWORKS_IN_ACLS: Self = Self(32);
    /// 4.4-IV2, Apache Kafka 4.4's own.
    pub const LATEST: Self = Self(33);

    /// Levels that brought new records or new fields (`MetadataVersion#didMetadataChange`, printed
    /// from Apache Kafka 4.4.0).
    const WITH_NEW_RECORDS: [i16; 11] = [7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33];

    /// Whether what this level can express may be more than what a lower one can.
    #[must_use]
    pub fn has_more_records_than(self, lower: Self) -> bool {
        (lower.0 + 1..=self.0).any(|level| Self::WITH_NEW_RECORDS.contains(&level))
    }

    /// The version to write `RegisterBrokerRecord` in.
    #[must_use]
    pub fn register_broker(self) -> i16 {
        match self {
            v if v >= Self::CORDONED_DIRECTORIES => 4,
            v if v >= Self::DIRECTORIES => 3,
            v if v >= Self::MIGRATION => 2,
            _ => 1,
        }
    }

    /// The version to write `PartitionRecord` and `PartitionChangeRecord` in.
    #[must_use]
    pub fn partition(self) -> i16 {
        match self {
            v if v >= Self::ELIGIBLE_LEADERS => 2,
            v if v >= Self::DIRECTORIES => 1,
            _ => 0,
        }
    }

    /// Whether partitions say which log directories their replicas are in.
    #[must_use]
    pub fn has_directories(self) -> bool {
        self >= Self::DIRECTORIES
    }

    /// Whether brokers can keep new replicas away from log directories.
    #[must_use]
    pub fn has_cordoned_directories(self) -> bool {
        self >= Self::CORDONED_DIRECTORIES
    }

    /// Whether partitions have eligible leaders besides the in-sync replicas.
    #[must_use]
    pub fn has_eligible_leaders(self) -> bool {
        self >= Self::ELIGIBLE_LEADERS
    }

    /// Whether the host of an ACL can be a network.
    #[must_use]
    pub fn has_networks_in_acls(self) -> bool {
        self >= Self::NETWORKS_IN_ACLS
    }

    /// Whether there can be delegation tokens.
    #[must_use]
    pub fn has_delegation_tokens(self) -> bool {
        self >= Self::DELEGATION_TOKENS
    }

    /// Whether controllers register in the log.
    #[must_use]
    pub fn has_controller_registration(self) -> bool {
        self >= Self::CONTROLLER_REGISTRATION
    }
}

impl fmt::Display for MetadataVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The features that the cluster has agreed on. A feature at level 0 is not in here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    levels: BTreeMap<String, i16>,
    kraft_version: i16,
}

impl Features {
    /// The level of `metadata.version`.
    #[must_use]
    pub fn metadata_version(&self) -> MetadataVersion {
        self.levels.get(METADATA_VERSION).map_or(MetadataVersion::MINIMUM, |level| MetadataVersion(*level))
    }

    /// The level of `kraft.version`.
    #[must_use]
    pub const fn kraft_version(&self) -> i16 {
        self.kraft_version
    }

    /// The level of a feature; 0 is off.
    #[must_use]
    pub fn level(&self, name: &str) -> i16 {
        if name == KRAFT_VERSION { self.kraft_version } else { self.levels.get(name).copied().unwrap_or(0) }
    }

    /// All features that are on, but for `kraft.version`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i16)> {
        self.levels.iter().map(|(name, level)| (name.as_str(), *level))
    }

    /// Whether a feature record has been seen: a log without one has never been led.
    #[must_use]
    pub fn is_finalized(&self) -> bool {
        self.levels.contains_key(METADATA_VERSION)
    }

    pub(super) fn set(&mut self, name: &str, level: i16) {
        if level == 0 {
            self.levels.remove(name);
        } else {
            self.levels.insert(name.to_owned(), level);
        }
    }

    pub(crate) fn set_kraft_version(&mut self, level: i16) {
        self.kraft_version = level;
    }
}
