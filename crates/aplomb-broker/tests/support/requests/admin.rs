//! Topics, their settings, and what the cluster says of them.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::{Place, code, millis};
use crate::support::NODE;
use crate::support::client::Ask;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const SET: i8 = 0;

/// What the controller, or the leader of a partition, says of one thing that it was asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) error: ErrorCode,
    pub(crate) message: Option<String>,
}

/// Makes a topic.
#[derive(Clone, Debug)]
pub(crate) struct CreateTopic {
    name: String,
    partitions: i32,
    settings: Vec<(String, String)>,
    timeout: Duration,
}

impl CreateTopic {
    pub(crate) fn named(name: &str) -> Self {
        let timeout = Duration::from_secs(30);
        Self { name: name.to_owned(), partitions: 1, settings: Vec::new(), timeout }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn partitions(self, partitions: i32) -> Self {
        Self { partitions, ..self }
    }

    pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
        self.settings.push((key.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl Ask for CreateTopic {
    type Request = m::CreateTopicsRequest;
    type Answer = Decided;
    const VERSION: i16 = 7;

    fn request(&self) -> m::CreateTopicsRequest {
        use m::create_topics_request::{CreatableTopic, CreatableTopicConfig};
        let setting = |(name, value): &(String, String)| CreatableTopicConfig {
            name: name.clone(),
            value: Some(value.clone()),
        };
        let topic = CreatableTopic {
            name: self.name.clone(),
            num_partitions: self.partitions,
            replication_factor: 1,
            configs: self.settings.iter().map(setting).collect(),
            ..Default::default()
        };
        m::CreateTopicsRequest { topics: vec![topic], timeout_ms: millis(self.timeout), validate_only: false }
    }

    fn answer(response: m::CreateTopicsResponse) -> Decided {
        let topic = &response.topics[0];
        Decided { error: code(topic.error_code), message: topic.error_message.clone() }
    }
}

/// Deletes a topic.
#[derive(Clone, Debug)]
pub(crate) struct DeleteTopic {
    name: String,
    timeout: Duration,
}

impl DeleteTopic {
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), timeout: Duration::from_secs(30) }
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl Ask for DeleteTopic {
    type Request = m::DeleteTopicsRequest;
    type Answer = Decided;
    const VERSION: i16 = 5;

    fn request(&self) -> m::DeleteTopicsRequest {
        let timeout_ms = millis(self.timeout);
        m::DeleteTopicsRequest { topic_names: vec![self.name.clone()], timeout_ms, ..Default::default() }
    }

    fn answer(response: m::DeleteTopicsResponse) -> Decided {
        let topic = &response.responses[0];
        Decided { error: code(topic.error_code), message: topic.error_message.clone() }
    }
}

/// Gives a topic more partitions.
#[derive(Clone, Debug)]
pub(crate) struct AddPartitions {
    name: String,
    count: i32,
    timeout: Duration,
}

impl AddPartitions {
    /// So many in all.
    pub(crate) fn to(name: &str, count: i32) -> Self {
        Self { name: name.to_owned(), count, timeout: Duration::from_secs(30) }
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl Ask for AddPartitions {
    type Request = m::CreatePartitionsRequest;
    type Answer = Decided;
    const VERSION: i16 = 3;

    fn request(&self) -> m::CreatePartitionsRequest {
        use m::create_partitions_request::CreatePartitionsTopic;
        let topic = CreatePartitionsTopic { name: self.name.clone(), count: self.count, assignments: None };
        let timeout_ms = millis(self.timeout);
        m::CreatePartitionsRequest { topics: vec![topic], timeout_ms, validate_only: false }
    }

    fn answer(response: m::CreatePartitionsResponse) -> Decided {
        let topic = &response.results[0];
        Decided { error: code(topic.error_code), message: topic.error_message.clone() }
    }
}

/// Changes one setting at run time.
#[derive(Clone, Debug)]
pub(crate) struct Alter {
    resource: (i8, String),
    key: String,
    value: String,
}

impl Alter {
    /// A setting of a topic.
    pub(crate) fn topic(name: &str, key: &str, value: &str) -> Self {
        Self { resource: (TOPIC, name.to_owned()), key: key.to_owned(), value: value.to_owned() }
    }

    /// A setting of the broker that there is.
    pub(crate) fn broker(key: &str, value: &str) -> Self {
        let resource = (BROKER, NODE.to_string());
        Self { resource, ..Self::brokers(key, value) }
    }

    /// A setting of all brokers.
    pub(crate) fn brokers(key: &str, value: &str) -> Self {
        Self { resource: (BROKER, String::new()), key: key.to_owned(), value: value.to_owned() }
    }
}

impl Ask for Alter {
    type Request = m::IncrementalAlterConfigsRequest;
    type Answer = Decided;
    const VERSION: i16 = 1;

    fn request(&self) -> m::IncrementalAlterConfigsRequest {
        use m::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
        let config = AlterableConfig {
            name: self.key.clone(),
            config_operation: SET,
            value: Some(self.value.clone()),
        };
        let (resource_type, resource_name) = self.resource.clone();
        let resource = AlterConfigsResource { resource_type, resource_name, configs: vec![config] };
        m::IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false }
    }

    fn answer(response: m::IncrementalAlterConfigsResponse) -> Decided {
        let resource = &response.responses[0];
        Decided { error: code(resource.error_code), message: resource.error_message.clone() }
    }
}

/// Finalizes a feature's level.
#[derive(Clone, Debug)]
pub(crate) struct UpdateFeature {
    name: String,
    level: i16,
    timeout: Duration,
}

impl UpdateFeature {
    pub(crate) fn to(name: &str, level: i16) -> Self {
        Self { name: name.to_owned(), level, timeout: Duration::from_secs(30) }
    }

    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl Ask for UpdateFeature {
    type Request = m::UpdateFeaturesRequest;
    type Answer = Decided;
    const VERSION: i16 = 2;

    fn request(&self) -> m::UpdateFeaturesRequest {
        use m::update_features_request::FeatureUpdateKey;
        let update = FeatureUpdateKey {
            feature: self.name.clone(),
            max_version_level: self.level,
            ..Default::default()
        };
        let timeout_ms = millis(self.timeout);
        m::UpdateFeaturesRequest { timeout_ms, feature_updates: vec![update], ..Default::default() }
    }

    fn answer(response: m::UpdateFeaturesResponse) -> Decided {
        Decided { error: code(response.error_code), message: response.error_message }
    }
}

/// The new log start, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deleted {
    pub(crate) error: ErrorCode,
    pub(crate) log_start: i64,
}

/// Raises the log start.
#[derive(Clone, Debug)]
pub(crate) struct DeleteRecords {
    place: Place,
    before: i64,
}

impl DeleteRecords {
    pub(crate) fn before(place: impl Into<Place>, before: i64) -> Self {
        Self { place: place.into(), before }
    }
}

impl Ask for DeleteRecords {
    type Request = m::DeleteRecordsRequest;
    type Answer = Deleted;
    const VERSION: i16 = 2;

    fn request(&self) -> m::DeleteRecordsRequest {
        use m::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
        let partition = DeleteRecordsPartition { partition_index: self.place.index, offset: self.before };
        let topic = DeleteRecordsTopic { name: self.place.topic.clone(), partitions: vec![partition] };
        m::DeleteRecordsRequest { topics: vec![topic], timeout_ms: 30_000 }
    }

    fn answer(response: m::DeleteRecordsResponse) -> Deleted {
        let part = &response.topics[0].partitions[0];
        Deleted { error: code(part.error_code), log_start: part.low_watermark }
    }
}

/// A topic as Metadata describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) error: ErrorCode,
    pub(crate) partitions: Vec<DescribedPartition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DescribedPartition {
    pub(crate) error: ErrorCode,
    pub(crate) leader: i32,
    pub(crate) offline: Vec<i32>,
}

/// Asks where a topic is.
#[derive(Clone, Debug)]
pub(crate) struct Describe(pub(crate) &'static str);

impl Ask for Describe {
    type Request = m::MetadataRequest;
    type Answer = Described;
    const VERSION: i16 = 9;

    fn request(&self) -> m::MetadataRequest {
        let name = Some(self.0.to_owned());
        let topic = m::metadata_request::MetadataRequestTopic { name, ..Default::default() };
        m::MetadataRequest { topics: Some(vec![topic]), ..Default::default() }
    }

    fn answer(response: m::MetadataResponse) -> Described {
        let topic = &response.topics[0];
        let partition = |part: &m::metadata_response::MetadataResponsePartition| DescribedPartition {
            error: code(part.error_code),
            leader: part.leader_id,
            offline: part.offline_replicas.clone(),
        };
        let partitions = topic.partitions.iter().map(partition).collect();
        Described { error: code(topic.error_code), partitions }
    }
}
