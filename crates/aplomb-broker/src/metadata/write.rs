//! From an image to the records that make it, in the order in which Apache Kafka writes them
//! (`MetadataImage#write`): the metadata version first, because it says how to read the rest.

use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::brokers::Broker;
use super::features::{METADATA_VERSION, MetadataVersion};
use super::image::MetadataImage;
use super::topics::Topic;

impl MetadataImage {
    /// The records of a snapshot. What the finalized `metadata.version` cannot express is left out,
    /// as Apache Kafka does.
    #[must_use]
    pub fn to_records(&self) -> Vec<MetadataRecord> {
        let version = self.features.metadata_version();
        let mut records = Vec::new();
        self.write_features(version, &mut records);
        records.extend(self.brokers.iter().map(|broker| broker.to_record(version).into()));
        if version.has_controller_registration() {
            records.extend(self.brokers.controllers().map(|controller| (**controller).clone().into()));
        }
        for topic in self.topics.iter() {
            write_topic(topic, version, &mut records);
        }
        self.write_configs(&mut records);
        self.write_quotas(&mut records);
        if let Some(next) = self.next_producer_id {
            let (broker_id, broker_epoch, next_producer_id) = (-1, -1, next.to_wire());
            records.push(m::ProducerIdsRecord { broker_id, broker_epoch, next_producer_id }.into());
        }
        records.extend(self.security.acls.records().into_iter().cloned().map(MetadataRecord::from));
        records.extend(self.security.scram.values().cloned().map(MetadataRecord::from));
        if version.has_delegation_tokens() {
            let tokens = self.security.tokens.sorted().into_iter();
            records.extend(tokens.map(|token| MetadataRecord::from((**token).clone())));
        }
        records
    }

    fn write_features(&self, version: MetadataVersion, records: &mut Vec<MetadataRecord>) {
        if !self.features.is_finalized() {
            return;
        }
        let level =
            |name: &str, level: i16| m::FeatureLevelRecord { name: name.to_owned(), feature_level: level };
        records.push(level(METADATA_VERSION, version.0).into());
        let others = self.features.iter().filter(|(name, _)| *name != METADATA_VERSION);
        records.extend(others.map(|(name, of)| MetadataRecord::from(level(name, of))));
    }

    fn write_configs(&self, records: &mut Vec<MetadataRecord>) {
        for (kind, resource, settings) in self.configs.iter() {
            records.extend(settings.iter().map(|(name, value)| {
                MetadataRecord::from(m::ConfigRecord {
                    resource_type: kind,
                    resource_name: resource.to_owned(),
                    name: name.clone(),
                    value: Some(value.clone()),
                })
            }));
        }
    }

    fn write_quotas(&self, records: &mut Vec<MetadataRecord>) {
        for (entity, quotas) in &self.security.quotas {
            let entity: Vec<_> = entity
                .iter()
                .map(|(kind, name)| m::client_quota_record::EntityData {
                    entity_type: kind.clone(),
                    entity_name: name.clone(),
                })
                .collect();
            records.extend(quotas.iter().map(|(key, value)| {
                MetadataRecord::from(m::ClientQuotaRecord {
                    entity: entity.clone(),
                    key: key.clone(),
                    value: *value,
                    remove: false,
                })
            }));
        }
    }
}

fn write_topic(topic: &Topic, version: MetadataVersion, records: &mut Vec<MetadataRecord>) {
    records.push(m::TopicRecord { name: topic.name.to_string(), topic_id: topic.id }.into());
    records.extend(topic.partitions.iter().map(|(index, partition)| {
        let mut record = partition.to_record(topic.id, *index);
        if !version.has_directories() {
            record.directories.clear();
        }
        if !version.has_eligible_leaders() {
            record.eligible_leader_replicas = None;
            record.last_known_elr = None;
        }
        MetadataRecord::from(record)
    }));
}

impl Broker {
    pub(crate) fn to_record(&self, version: MetadataVersion) -> m::RegisterBrokerRecord {
        m::RegisterBrokerRecord {
            broker_id: self.id.0,
            is_migrating_zk_broker: self.is_migrating_zk_broker,
            incarnation_id: self.incarnation,
            broker_epoch: self.epoch,
            end_points: self
                .endpoints
                .iter()
                .map(|endpoint| m::register_broker_record::BrokerEndpoint {
                    name: endpoint.name.clone(),
                    host: endpoint.host.clone(),
                    port: endpoint.port,
                    security_protocol: endpoint.security_protocol,
                })
                .collect(),
            features: self
                .features
                .iter()
                .map(|(name, range)| m::register_broker_record::BrokerFeature {
                    name: name.clone(),
                    min_supported_version: range.min,
                    max_supported_version: range.max,
                })
                .collect(),
            rack: self.rack.clone(),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: if version.has_directories() { self.directories.clone() } else { Vec::new() },
            cordoned_log_dirs: self
                .cordoned_directories
                .clone()
                .filter(|_| version.has_cordoned_directories()),
        }
    }
}
