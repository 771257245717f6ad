//! One record's effect on the image. Begin, end and abort of transactions are [`super::Replay`]'s
//! business and no error here.

use std::sync::Arc;

use aplomb_model::{BrokerId, PartitionIndex, ProducerId, TopicId};
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::brokers::{Broker, Endpoint, FeatureRange};
use super::configs::Resource;
use super::delta::Delta;
use super::image::MetadataImage;
use super::topics::{Partition, Topic};

/// A record that does not fit the image: the log is damaged, or written by other rules. Nothing
/// later can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The topic is not there.
    #[error("{record} names topic {topic}, which there is not")]
    UnknownTopic {
        /// The record's type.
        record: &'static str,
        /// The id that no topic has.
        topic: TopicId,
    },
    /// The topic is not there.
    #[error("ClearElrRecord names topic {0}, which there is not")]
    UnknownTopicName(String),
    /// The topic is there already, or another has its name.
    #[error("TopicRecord creates topic {name} with id {topic}, but one of these is taken")]
    TopicTaken {
        /// The name that two topics have.
        name: String,
        /// The id.
        topic: TopicId,
    },
    /// The partition is not there.
    #[error("PartitionChangeRecord names partition {index} of topic {topic}, which there is not")]
    UnknownPartition {
        /// The topic that lacks it.
        topic: TopicId,
        /// The partition that is not there.
        index: PartitionIndex,
    },
    /// The broker is not registered, or is under another epoch.
    #[error("{record} names broker {broker} in epoch {epoch}, which is not registered")]
    UnknownBroker {
        /// The record's type.
        record: &'static str,
        /// The broker that is not registered so.
        broker: BrokerId,
        /// The epoch that the record names.
        epoch: i64,
    },
    /// A transaction begins inside of another.
    #[error("BeginTransactionRecord inside of a transaction")]
    NestedTransaction,
    /// A transaction ends that has not begun.
    #[error("{0} without a transaction")]
    NoTransaction(&'static str),
}

impl MetadataImage {
    /// Applies one record, and notes in `delta` what it changed. The image's provenance is the
    /// caller's to advance.
    ///
    /// # Errors
    /// When the record does not fit the image, which is unchanged then.
    pub fn apply(&mut self, record: &MetadataRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        match record {
            MetadataRecord::Topic(_)
            | MetadataRecord::Partition(_)
            | MetadataRecord::PartitionChange(_)
            | MetadataRecord::RemoveTopic(_)
            | MetadataRecord::ClearElr(_) => self.apply_to_topics(record, delta)?,
            MetadataRecord::RegisterBroker(_)
            | MetadataRecord::UnregisterBroker(_)
            | MetadataRecord::FenceBroker(_)
            | MetadataRecord::UnfenceBroker(_)
            | MetadataRecord::BrokerRegistrationChange(_)
            | MetadataRecord::RegisterController(_)
            | MetadataRecord::UnregisterController(_) => self.apply_to_brokers(record, delta)?,
            MetadataRecord::Config(config) => self.apply_config(config, delta),
            MetadataRecord::FeatureLevel(feature) => {
                Arc::make_mut(&mut self.features).set(&feature.name, feature.feature_level);
                delta.features = true;
            }
            MetadataRecord::ProducerIds(ids) => {
                self.next_producer_id = ProducerId::from_wire(ids.next_producer_id)
            }
            MetadataRecord::ClientQuota(_)
            | MetadataRecord::UserScramCredential(_)
            | MetadataRecord::RemoveUserScramCredential(_)
            | MetadataRecord::AccessControlEntry(_)
            | MetadataRecord::RemoveAccessControlEntry(_)
            | MetadataRecord::DelegationToken(_)
            | MetadataRecord::RemoveDelegationToken(_) => self.apply_to_security(record, delta),
            MetadataRecord::NoOp(_)
            | MetadataRecord::ZkMigrationState(_)
            | MetadataRecord::BeginTransaction(_)
            | MetadataRecord::EndTransaction(_)
            | MetadataRecord::AbortTransaction(_) => {}
        }
        Ok(())
    }

    fn apply_to_topics(&mut self, record: &MetadataRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        match record {
            MetadataRecord::Topic(topic) => self.create_topic(topic, delta),
            MetadataRecord::Partition(partition) => self.create_partition(partition, delta),
            MetadataRecord::PartitionChange(change) => self.change_partition(change, delta),
            MetadataRecord::RemoveTopic(m::RemoveTopicRecord { topic_id }) => {
                self.require_topic(*topic_id, "RemoveTopicRecord")?;
                let topic = Arc::make_mut(&mut self.topics).remove(*topic_id).expect("just seen");
                Arc::make_mut(&mut self.configs).remove(&Resource::topic(&topic.name));
                delta.topic_deleted(topic);
                Ok(())
            }
            MetadataRecord::ClearElr(m::ClearElrRecord { topic_name }) => {
                self.clear_eligible_leaders(topic_name, delta)
            }
            other => unreachable!("{} is not about topics", other.name()),
        }
    }

    fn create_topic(&mut self, topic: &m::TopicRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        if self.topics.by_name(&topic.name).is_some() || self.topics.by_id(topic.topic_id).is_some() {
            return Err(ApplyError::TopicTaken { name: topic.name.clone(), topic: topic.topic_id });
        }
        Arc::make_mut(&mut self.topics).insert(topic.name.as_str().into(), topic.topic_id);
        delta.topic_created(topic.topic_id);
        Ok(())
    }

    fn create_partition(&mut self, record: &m::PartitionRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        self.require_topic(record.topic_id, "PartitionRecord")?;
        let topic = Arc::make_mut(&mut self.topics).topic_mut(record.topic_id).expect("just seen");
        let index = PartitionIndex(record.partition_id);
        topic.partitions.insert(index, Partition::from_record(record));
        delta.partition_created(record.topic_id, index);
        Ok(())
    }

    fn change_partition(
        &mut self,
        record: &m::PartitionChangeRecord,
        delta: &mut Delta,
    ) -> Result<(), ApplyError> {
        let (topic, index) = (record.topic_id, PartitionIndex(record.partition_id));
        self.require_topic(topic, "PartitionChangeRecord")?;
        if self.topics.partition(topic, index).is_none() {
            return Err(ApplyError::UnknownPartition { topic, index });
        }
        let held = Arc::make_mut(&mut self.topics).topic_mut(topic).expect("just seen");
        let partition = held.partitions.get_mut(&index).expect("just seen");
        let old = partition.leader_epoch;
        partition.change(record);
        delta.partition_changed(topic, index, old, partition.leader_epoch);
        Ok(())
    }

    fn require_topic(&self, topic: TopicId, record: &'static str) -> Result<(), ApplyError> {
        match self.topics.by_id(topic) {
            Some(_) => Ok(()),
            None => Err(ApplyError::UnknownTopic { record, topic }),
        }
    }

    /// An empty name means every topic. A partition that has something to clear is changed by it,
    /// with its epoch.
    fn clear_eligible_leaders(&mut self, name: &str, delta: &mut Delta) -> Result<(), ApplyError> {
        if !name.is_empty() && self.topics.by_name(name).is_none() {
            return Err(ApplyError::UnknownTopicName(name.to_owned()));
        }
        let none = || Some(Vec::new());
        let clear = m::PartitionChangeRecord {
            eligible_leader_replicas: none(),
            last_known_elr: none(),
            ..Default::default()
        };
        let has_some = |p: &Partition| !p.eligible_leaders.is_empty() || !p.last_known_eligible.is_empty();
        let is_meant = |topic: &Topic| {
            (name.is_empty() || *topic.name == *name) && topic.partitions.values().any(has_some)
        };
        let meant: Vec<TopicId> =
            self.topics.iter().filter(|topic| is_meant(topic)).map(|topic| topic.id).collect();
        for id in meant {
            let topic = Arc::make_mut(&mut self.topics).topic_mut(id).expect("just seen");
            for (index, partition) in topic.partitions.iter_mut().filter(|(_, partition)| has_some(partition))
            {
                partition.change(&clear);
                delta.partition_changed(id, *index, partition.leader_epoch, partition.leader_epoch);
            }
        }
        Ok(())
    }

    fn apply_to_brokers(&mut self, record: &MetadataRecord, delta: &mut Delta) -> Result<(), ApplyError> {
        let name = record.name();
        let fence = |fenced: bool| move |broker: &mut Broker| broker.fenced = fenced;
        match record {
            MetadataRecord::RegisterBroker(broker) => {
                let broker = Broker::from_record(broker);
                Arc::make_mut(&mut self.brokers).brokers.insert(broker.id, Arc::new(broker));
            }
            MetadataRecord::UnregisterBroker(gone) => {
                self.change_broker(name, gone.broker_id, gone.broker_epoch, |_| {})?;
                Arc::make_mut(&mut self.brokers).brokers.remove(&BrokerId(gone.broker_id));
            }
            MetadataRecord::FenceBroker(fenced) => {
                self.change_broker(name, fenced.id, fenced.epoch, fence(true))?;
            }
            MetadataRecord::UnfenceBroker(unfenced) => {
                self.change_broker(name, unfenced.id, unfenced.epoch, fence(false))?;
            }
            MetadataRecord::BrokerRegistrationChange(change) => {
                self.change_broker(name, change.broker_id, change.broker_epoch, |broker| {
                    broker.change(change)
                })?;
            }
            MetadataRecord::RegisterController(controller) => {
                let controllers = &mut Arc::make_mut(&mut self.brokers).controllers;
                controllers.insert(controller.controller_id, Arc::new(controller.clone()));
            }
            MetadataRecord::UnregisterController(gone) => {
                Arc::make_mut(&mut self.brokers).controllers.remove(&gone.controller_id);
            }
            other => unreachable!("{} is not about nodes", other.name()),
        }
        delta.brokers = true;
        Ok(())
    }

    fn change_broker(
        &mut self,
        record: &'static str,
        broker: i32,
        epoch: i64,
        change: impl FnOnce(&mut Broker),
    ) -> Result<(), ApplyError> {
        let broker = BrokerId(broker);
        if self.brokers.get(broker).is_none_or(|known| known.epoch != epoch) {
            return Err(ApplyError::UnknownBroker { record, broker, epoch });
        }
        let known = Arc::make_mut(&mut self.brokers).brokers.get_mut(&broker).expect("just seen");
        change(Arc::make_mut(known));
        Ok(())
    }

    fn apply_config(&mut self, config: &m::ConfigRecord, delta: &mut Delta) {
        let resource = Resource { kind: config.resource_type, name: config.resource_name.clone() };
        match resource.kind {
            Resource::TOPIC => {
                delta.topic_configs.insert(resource.name.clone());
            }
            Resource::BROKER => delta.broker_configs = true,
            _ => {}
        }
        Arc::make_mut(&mut self.configs).set(resource, &config.name, config.value.as_deref());
    }

    fn apply_to_security(&mut self, record: &MetadataRecord, delta: &mut Delta) {
        let security = Arc::make_mut(&mut self.security);
        match record {
            MetadataRecord::ClientQuota(quota) => {
                let mut entity: Vec<_> = quota
                    .entity
                    .iter()
                    .map(|part| (part.entity_type.clone(), part.entity_name.clone()))
                    .collect();
                entity.sort();
                let of_entity = security.quotas.entry(entity.clone()).or_default();
                if quota.remove {
                    of_entity.remove(&quota.key);
                } else {
                    of_entity.insert(quota.key.clone(), quota.value);
                }
                if of_entity.is_empty() {
                    security.quotas.remove(&entity);
                }
            }
            MetadataRecord::UserScramCredential(scram) => {
                security.scram.insert((scram.name.clone(), scram.mechanism), scram.clone());
            }
            MetadataRecord::RemoveUserScramCredential(gone) => {
                security.scram.remove(&(gone.name.clone(), gone.mechanism));
            }
            MetadataRecord::AccessControlEntry(acl) => {
                security.acls.insert(acl);
            }
            MetadataRecord::RemoveAccessControlEntry(gone) => {
                security.acls.remove(gone.id);
            }
            MetadataRecord::DelegationToken(token) => {
                security.tokens.insert(token);
            }
            MetadataRecord::RemoveDelegationToken(gone) => {
                security.tokens.remove(&gone.token_id);
            }
            other => unreachable!("{} is not about security", other.name()),
        }
        delta.security = true;
    }
}

impl Broker {
    fn from_record(record: &m::RegisterBrokerRecord) -> Self {
        let endpoint = |endpoint: &m::register_broker_record::BrokerEndpoint| Endpoint {
            name: endpoint.name.clone(),
            host: endpoint.host.clone(),
            port: endpoint.port,
            security_protocol: endpoint.security_protocol,
        };
        let feature = |feature: &m::register_broker_record::BrokerFeature| {
            let range =
                FeatureRange { min: feature.min_supported_version, max: feature.max_supported_version };
            (feature.name.clone(), range)
        };
        let mut directories = record.log_dirs.clone();
        directories.sort_unstable();
        Self {
            id: BrokerId(record.broker_id),
            epoch: record.broker_epoch,
            incarnation: record.incarnation_id,
            endpoints: record.end_points.iter().map(endpoint).collect(),
            features: record.features.iter().map(feature).collect(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            is_migrating_zk_broker: record.is_migrating_zk_broker,
            directories,
            cordoned_directories: record.cordoned_log_dirs.clone(),
        }
    }

    /// -1 is "no more", 1 is "from now on", 0 is "as it was"; empty lists of directories are "as
    /// they were", but a list of cordoned ones is a list also when it is empty.
    fn change(&mut self, record: &m::BrokerRegistrationChangeRecord) {
        if record.fenced != 0 {
            self.fenced = record.fenced > 0;
        }
        if record.in_controlled_shutdown != 0 {
            self.in_controlled_shutdown = record.in_controlled_shutdown > 0;
        }
        if !record.log_dirs.is_empty() {
            self.directories.clone_from(&record.log_dirs);
            self.directories.sort_unstable();
        }
        if record.cordoned_log_dirs.is_some() {
            self.cordoned_directories.clone_from(&record.cordoned_log_dirs);
        }
    }
}
