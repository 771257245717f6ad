//! From what a request names to a partition.

use aplomb_model::{ErrorCode, LeaderEpoch, PartitionIndex};
use aplomb_protocol::hot::TopicRef;

use crate::calls::PartitionKey;
use crate::metadata::{MetadataImage, Topic};

/// The topic that a request names, if there is such a partition of it.
///
/// # Errors
/// `UNKNOWN_TOPIC_OR_PARTITION`, or `UNKNOWN_TOPIC_ID` where the topic is named by its id.
pub(crate) fn resolve<'a>(
    image: &'a MetadataImage,
    topic: TopicRef<'_>,
    partition: i32,
) -> Result<(&'a Topic, PartitionKey), ErrorCode> {
    let (found, unknown) = match topic {
        TopicRef::Name(name) => (image.topics.by_name(name), ErrorCode::UnknownTopicOrPartition),
        TopicRef::Id(id) => (image.topics.by_id(id), ErrorCode::UnknownTopicId),
    };
    let topic = found.ok_or(unknown)?;
    let partition = PartitionIndex(partition);
    if !topic.partitions.contains_key(&partition) {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    Ok((topic, PartitionKey { topic: topic.id, partition }))
}

/// A partition by the name of its topic.
///
/// # Errors
/// `UNKNOWN_TOPIC_OR_PARTITION`.
pub(crate) fn named(image: &MetadataImage, topic: &str, partition: i32) -> Result<PartitionKey, ErrorCode> {
    resolve(image, TopicRef::Name(topic), partition).map(|(_, key)| key)
}

/// The epoch that a client believes the leader to be in; -1 is none.
///
/// # Errors
/// `FENCED_LEADER_EPOCH` for one below that: it is older than any.
pub(crate) fn current_epoch(raw: i32) -> Result<Option<LeaderEpoch>, ErrorCode> {
    match raw {
        -1 => Ok(None),
        _ => LeaderEpoch::from_wire(raw).map(Some).ok_or(ErrorCode::FencedLeaderEpoch),
    }
}

/// What Apache Kafka says in words of a partition that there is not.
pub(crate) const UNKNOWN_PARTITION: &str = "This server does not host this topic-partition.";
