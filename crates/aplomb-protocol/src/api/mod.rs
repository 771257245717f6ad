//! What can be asked of an [`ApiKey`]: its versions, its headers, who serves it. The table itself
//! is generated.

mod facts;
mod key;

use std::fmt;

pub use self::facts::Listeners;
pub use self::key::ApiKey;
use crate::VersionRange;

impl ApiKey {
    /// The number on the wire.
    #[must_use]
    pub const fn key(self) -> i16 {
        self as i16
    }

    /// Kafka's name, for example `ListOffsets`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// Every version that has a schema.
    #[must_use]
    pub const fn versions(self) -> VersionRange {
        self.facts().versions
    }

    /// The versions that may be advertised: all but the highest where that one may still change.
    #[must_use]
    pub const fn stable_versions(self) -> VersionRange {
        let facts = self.facts();
        VersionRange::new(facts.versions.min, facts.versions.max - facts.unstable as i16)
    }

    /// Who serves it.
    #[must_use]
    pub const fn listeners(self) -> Listeners {
        self.facts().listeners
    }

    /// Whether this version has compact lengths and tagged fields.
    #[must_use]
    pub const fn is_flexible(self, version: i16) -> bool {
        match self.facts().flexible_from {
            Some(from) => version >= from,
            None => false,
        }
    }

    /// The version of the header in front of a request of this version.
    #[must_use]
    pub const fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// The version of the header in front of a response of this version. A client that asks for the
    /// versions does not know them yet, so the answer to `ApiVersions` keeps the oldest header
    /// (KIP-511).
    #[must_use]
    pub const fn response_header_version(self, version: i16) -> i16 {
        match self {
            Self::ApiVersions => 0,
            _ if self.is_flexible(version) => 1,
            _ => 0,
        }
    }

    /// Whether a broker passes the request on to the active controller, in an Envelope
    /// (`forwardable` in Kafka's `ApiKeys`; not in the schemas).
    #[must_use]
    pub const fn is_forwardable(self) -> bool {
        matches!(
            self,
            Self::CreateTopics
                | Self::DeleteTopics
                | Self::CreateAcls
                | Self::DeleteAcls
                | Self::AlterConfigs
                | Self::CreatePartitions
                | Self::CreateDelegationToken
                | Self::RenewDelegationToken
                | Self::ExpireDelegationToken
                | Self::ElectLeaders
                | Self::IncrementalAlterConfigs
                | Self::AlterPartitionReassignments
                | Self::ListPartitionReassignments
                | Self::AlterClientQuotas
                | Self::AlterUserScramCredentials
                | Self::DescribeQuorum
                | Self::UpdateFeatures
                | Self::UnregisterBroker
                | Self::AllocateProducerIds
                | Self::AddRaftVoter
                | Self::RemoveRaftVoter
                | Self::UnregisterController
        )
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_as_the_api_it_came_from() {
        for &api in ApiKey::ALL {
            assert_eq!(ApiKey::from_i16(api.key()), Some(api));
        }
        for removed in [-1, 4, 5, 6, 7, 95, i16::MAX] {
            assert_eq!(ApiKey::from_i16(removed), None);
        }
    }

    #[test]
    fn an_unstable_version_is_read_but_not_advertised() {
        assert_eq!(ApiKey::InitProducerId.versions(), VersionRange::new(0, 6));
        assert_eq!(ApiKey::InitProducerId.stable_versions(), VersionRange::new(0, 5));
        assert_eq!(ApiKey::Fetch.stable_versions(), ApiKey::Fetch.versions());
    }

    #[test]
    fn the_answer_to_api_versions_keeps_the_oldest_header() {
        assert_eq!(ApiKey::ApiVersions.request_header_version(3), 2);
        assert_eq!(ApiKey::ApiVersions.response_header_version(3), 0);
        assert_eq!(ApiKey::Metadata.response_header_version(8), 0);
        assert_eq!(ApiKey::Metadata.response_header_version(9), 1);
    }
}
