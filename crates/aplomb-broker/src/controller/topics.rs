//! Creating and deleting topics.

use std::collections::BTreeMap;

use aplomb_model::{BrokerId, PartitionIndex, TopicId, Uuid};
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::draft::Draft;
use super::error::AdminError;
use super::{Controller, MAX_RECORDS, Random};
use crate::config::{BrokerConfig, Properties, TopicConfig};
use crate::metadata::{MetadataVersion, OFFSETS_TOPIC, Partition, Resource, TRANSACTIONS_TOPIC};
use crate::quotas::Permits;

/// The metadata log's own name, which no topic gets.
pub const METADATA_TOPIC: &str = "__cluster_metadata";

/// The most characters in a topic's name.
const MAX_NAME: usize = 249;
const INTERNAL_TOPICS: [&str; 3] = [OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "__share_group_state"];

/// Whether a topic is the broker's own: clients see it and do not write to it.
#[must_use]
pub fn is_internal_topic(name: &str) -> bool {
    INTERNAL_TOPICS.contains(&name)
}

/// Whether a topic can have this name (`org.apache.kafka.common.internals.Topic`).
///
/// # Errors
/// [`AdminError::TopicName`] with the reason.
pub fn check_topic_name(name: &str) -> Result<(), AdminError> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let reason = match name {
        "" => "the empty string is not allowed".to_owned(),
        "." | ".." => format!("'{name}' is not allowed"),
        long if long.encode_utf16().count() > MAX_NAME => {
            format!("the length of '{name}' is longer than the max allowed length {MAX_NAME}")
        }
        odd if !odd.chars().all(known) => {
            format!(
                "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
            )
        }
        _ => return Ok(()),
    };
    Err(AdminError::TopicName(reason))
}

/// How many partitions and replicas, or which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As many, on brokers that the controller chooses.
    Counts {
        /// -1: `num.partitions`.
        partitions: i32,
        /// Of each partition; -1: `default.replication.factor`.
        replicas: i16,
    },
    /// These brokers for these partitions.
    Assigned(Vec<(i32, Vec<BrokerId>)>),
}

/// A topic as a request asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    /// Not checked yet.
    pub name: String,
    /// Its partitions.
    pub placement: Placement,
    /// Its settings; one without a value is refused.
    pub configs: Vec<(String, Option<String>)>,
}

impl NewTopic {
    fn partition_count(&self, config: &BrokerConfig) -> i64 {
        match &self.placement {
            Placement::Counts { partitions: -1, .. } => i64::from(config.metadata.default_partitions),
            Placement::Counts { partitions, .. } => i64::from(*partitions).max(0),
            Placement::Assigned(assigned) => i64::try_from(assigned.len()).unwrap_or(i64::MAX),
        }
    }
}

/// Creates topics with the broker's defaults, because a client asked for their metadata. Those that
/// cannot be are left out: the client is told when it asks again.
#[must_use = "the records have to be written"]
pub fn create_with_defaults(
    names: &[String],
    controller: &mut Controller,
    config: &BrokerConfig,
    random: Random<'_>,
) -> Vec<MetadataRecord> {
    let topic = |name: &String| match name.as_str() {
        OFFSETS_TOPIC => offsets_topic(controller, config),
        TRANSACTIONS_TOPIC => transactions_topic(controller, config),
        _ => NewTopic {
            name: name.clone(),
            placement: Placement::Counts { partitions: -1, replicas: -1 },
            configs: Vec::new(),
        },
    };
    let wanted: Vec<NewTopic> = names.iter().map(topic).collect();
    let mut draft = controller.draft();
    if Draft::check_partition_total(wanted.iter(), config).is_err() {
        return Vec::new();
    }
    for topic in wanted.iter().filter(|topic| topic.name != METADATA_TOPIC) {
        // Topics that come into being by themselves count for no quota.
        let _ = draft.create_topic(topic, config, random, &mut Permits::unlimited());
    }
    controller.take(draft)
}

/// The topic of committed offsets and groups, as the settings want it
/// (`DefaultAutoTopicCreationManager`). It has no more replicas than there are brokers: Apache
/// Kafka creates none then, and a broker that is alone has no groups until its operator changes
/// `offsets.topic.replication.factor`, whose default is 3.
fn offsets_topic(controller: &Controller, config: &BrokerConfig) -> NewTopic {
    let brokers = i16::try_from(controller.image().brokers.iter().count()).unwrap_or(i16::MAX);
    let groups = &config.groups;
    let set = |name: &str, value: String| (name.to_owned(), Some(value));
    NewTopic {
        name: OFFSETS_TOPIC.to_owned(),
        placement: Placement::Counts {
            partitions: groups.topic_partitions,
            replicas: groups.topic_replication_factor.min(brokers),
        },
        configs: vec![
            set("cleanup.policy", "compact".to_owned()),
            set("compression.type", "producer".to_owned()),
            set("segment.bytes", groups.topic_segment.to_string()),
        ],
    }
}

/// The topic of transactional ids, likewise.
fn transactions_topic(controller: &Controller, config: &BrokerConfig) -> NewTopic {
    let brokers = i16::try_from(controller.image().brokers.iter().count()).unwrap_or(i16::MAX);
    let transactions = &config.transactions;
    let set = |name: &str, value: String| (name.to_owned(), Some(value));
    NewTopic {
        name: TRANSACTIONS_TOPIC.to_owned(),
        placement: Placement::Counts {
            partitions: transactions.topic_partitions,
            replicas: transactions.topic_replication_factor.min(brokers),
        },
        configs: vec![
            set("cleanup.policy", "compact".to_owned()),
            set("compression.type", "uncompressed".to_owned()),
            set("min.insync.replicas", transactions.topic_min_in_sync.to_string()),
            set("segment.bytes", transactions.topic_segment.to_string()),
            set("unclean.leader.election.enable", "false".to_owned()),
        ],
    }
}

/// A topic that was drafted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its id.
    pub id: TopicId,
    /// How many partitions it has.
    pub partitions: i32,
    /// How many replicas each of them has.
    pub replicas: i16,
}

impl Draft {
    /// Whether these topics together ask for more partitions than one request may.
    ///
    /// # Errors
    /// [`AdminError::TooManyPartitions`].
    pub fn check_partition_total<'a>(
        topics: impl Iterator<Item = &'a NewTopic>,
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let total: i64 = topics.map(|topic| topic.partition_count(config)).sum();
        if total > MAX_RECORDS as i64 { Err(AdminError::TooManyPartitions) } else { Ok(()) }
    }

    /// Drafts a topic.
    ///
    /// # Errors
    /// When it cannot be; the draft is as before then.
    pub fn create_topic(
        &mut self,
        topic: &NewTopic,
        config: &BrokerConfig,
        random: Random<'_>,
        permits: &mut Permits,
    ) -> Result<CreatedTopic, AdminError> {
        check_topic_name(&topic.name)?;
        self.check_name_is_free(&topic.name)?;
        let settings = settings(&topic.configs)?;
        TopicConfig::from_overrides(&settings, &self.image().layers(config))?;
        let partitions = self.place(&topic.placement, config)?;
        self.check_room(1 + settings.len() + partitions.len())?;
        permits.take(partitions.len())?;

        let id = self.free_id(random);
        let created = CreatedTopic {
            id,
            partitions: i32::try_from(partitions.len()).expect("checked against the limit of records"),
            replicas: partitions.values().next().map_or(0, |first| {
                i16::try_from(first.replicas.len())
                    .expect("no more replicas than brokers, which have 16-bit counts")
            }),
        };
        let version = self.image().features.metadata_version();
        let mut records = vec![m::TopicRecord { name: topic.name.clone(), topic_id: id }.into()];
        records.extend(settings.into_iter().map(|(name, value)| config_record(&topic.name, name, value)));
        records.extend(
            partitions.iter().map(|(index, partition)| partition_record(partition, id, *index, version)),
        );
        self.push(records);
        Ok(created)
    }

    /// Drafts the end of a topic.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete_topic(&mut self, id: TopicId, permits: &mut Permits) -> Result<(), AdminError> {
        let topic = self.image().topics.by_id(id).ok_or(AdminError::UnknownTopicId(id))?;
        self.check_room(1)?;
        permits.take(topic.partitions.len())?;
        self.push(vec![m::RemoveTopicRecord { topic_id: id }.into()]);
        Ok(())
    }

    fn check_name_is_free(&self, name: &str) -> Result<(), AdminError> {
        let topics = &self.image().topics;
        if topics.by_name(name).is_some() {
            return Err(AdminError::TopicExists(name.to_owned()));
        }
        match topics.with_same_metrics(name) {
            Some(existing) => {
                Err(AdminError::TopicCollision { name: name.to_owned(), existing: existing.to_string() })
            }
            None => Ok(()),
        }
    }

    fn place(
        &mut self,
        placement: &Placement,
        config: &BrokerConfig,
    ) -> Result<BTreeMap<PartitionIndex, Partition>, AdminError> {
        match placement {
            Placement::Assigned(assigned) => self.place_assigned(assigned),
            Placement::Counts { replicas, .. } if *replicas < -1 || *replicas == 0 => {
                Err(AdminError::NoReplicas)
            }
            Placement::Counts { partitions, .. } if *partitions < -1 || *partitions == 0 => {
                Err(AdminError::NoPartitions)
            }
            Placement::Counts { partitions, replicas } => {
                let partitions =
                    if *partitions == -1 { config.metadata.default_partitions } else { *partitions };
                let replicas =
                    if *replicas == -1 { config.metadata.default_replication_factor } else { *replicas };
                if usize::try_from(partitions).is_ok_and(|partitions| partitions > MAX_RECORDS) {
                    return Err(AdminError::TooManyPartitions);
                }
                let (_, placer) = self.placer();
                (0..partitions).map(|index| Ok((PartitionIndex(index), placer.place(replicas)?))).collect()
            }
        }
    }

    fn place_assigned(
        &mut self,
        assigned: &[(i32, Vec<BrokerId>)],
    ) -> Result<BTreeMap<PartitionIndex, Partition>, AdminError> {
        let mut partitions = BTreeMap::new();
        let (image, placer) = self.placer();
        for (index, replicas) in assigned {
            let partition = placer.place_on(replicas, image, *index)?;
            check_same_replication(&partition, assigned[0].1.len())?;
            if partitions.insert(PartitionIndex(*index), partition).is_some() {
                let why = format!("Found multiple manual partition assignments for partition {index}");
                return Err(AdminError::Assignment(why));
            }
        }
        if partitions.keys().enumerate().any(|(at, index)| usize::try_from(index.0) != Ok(at)) {
            let why = "partitions should be a consecutive 0-based integer sequence".to_owned();
            return Err(AdminError::Assignment(why));
        }
        Ok(partitions)
    }

    fn free_id(&self, random: Random<'_>) -> TopicId {
        loop {
            if let Some(id) =
                Uuid::from_random(random()).filter(|id| self.image().topics.by_id(*id).is_none())
            {
                return id;
            }
        }
    }
}

pub(super) fn check_same_replication(partition: &Partition, replicas: usize) -> Result<(), AdminError> {
    if partition.replicas.len() == replicas {
        return Ok(());
    }
    Err(AdminError::Assignment(format!(
        "The manual partition assignment includes a partition with {} replica(s), but this is not consistent with previous partitions, which have {replicas} replica(s).",
        partition.replicas.len()
    )))
}

pub(super) fn partition_record(
    partition: &Partition,
    topic: TopicId,
    index: PartitionIndex,
    version: MetadataVersion,
) -> MetadataRecord {
    let mut record = partition.to_record(topic, index);
    if !version.has_directories() {
        record.directories.clear();
    }
    record.into()
}

/// A later value of the same name wins, as it does where Apache Kafka reads these into a map.
fn settings(configs: &[(String, Option<String>)]) -> Result<Properties, AdminError> {
    let nulls: Vec<&str> =
        configs.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| name.as_str()).collect();
    if !nulls.is_empty() {
        return Err(AdminError::NullConfigs(nulls.join(",")));
    }
    Ok(configs.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect())
}

fn config_record(topic: &str, name: String, value: String) -> MetadataRecord {
    m::ConfigRecord {
        resource_type: Resource::TOPIC,
        resource_name: topic.to_owned(),
        name,
        value: Some(value),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_name_is_what_a_directory_can_be_named_after() {
        for good in ["a", "A.b_c-9", "...", &"x".repeat(249)] {
            assert_eq!(check_topic_name(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "ä", &"x".repeat(250)] {
            assert!(check_topic_name(bad).is_err(), "{bad}");
        }
        assert_eq!(
            check_topic_name("a/b").expect_err("refused").to_string(),
            "Topic name is invalid: 'a/b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        );
    }
}
