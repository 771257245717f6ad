//! The one table of what is served: the dispatcher looks requests up in it, and ApiVersions advertises it.

use aplomb_protocol::{ApiKey, VersionRange};

/// An API that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Which.
    pub key: ApiKey,
    /// In which versions.
    pub versions: VersionRange,
}

const fn all(key: ApiKey) -> Served {
    Served { key, versions: key.stable_versions() }
}

/// What is served on a broker's listeners.
pub const SUPPORTED: &[Served] = &[
    all(ApiKey::Produce),
    all(ApiKey::Fetch),
    all(ApiKey::ListOffsets),
    all(ApiKey::Metadata),
    all(ApiKey::ApiVersions),
    all(ApiKey::CreateTopics),
    all(ApiKey::DeleteTopics),
    all(ApiKey::DeleteRecords),
    all(ApiKey::InitProducerId),
    all(ApiKey::OffsetForLeaderEpoch),
    all(ApiKey::DescribeConfigs),
    all(ApiKey::AlterConfigs),
    all(ApiKey::AlterReplicaLogDirs),
    all(ApiKey::DescribeLogDirs),
    all(ApiKey::CreatePartitions),
    all(ApiKey::IncrementalAlterConfigs),
    all(ApiKey::DescribeQuorum),
    all(ApiKey::AlterPartitionReassignments),
    all(ApiKey::ListPartitionReassignments),
    all(ApiKey::UpdateFeatures),
    all(ApiKey::DescribeCluster),
    all(ApiKey::DescribeProducers),
    all(ApiKey::ListConfigResources),
    all(ApiKey::DescribeTopicPartitions),
];

/// The API of a request, if it is served in this version. Otherwise the connection is closed, but for ApiVersions, which is answered in
/// any version ([`super::api_versions::unsupported_version`]).
#[must_use]
pub fn served(api_key: i16, version: i16) -> Option<ApiKey> {
    SUPPORTED
        .iter()
        .find(|served| served.key.key() == api_key && served.versions.contains(version))
        .map(|served| served.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_may_still_change_is_not_served() {
        assert_eq!(served(22, 5), Some(ApiKey::InitProducerId));
        assert_eq!(served(22, 6), None);
        assert_eq!(served(0, 2), None);
        assert_eq!(served(4, 0), None);
    }
}
