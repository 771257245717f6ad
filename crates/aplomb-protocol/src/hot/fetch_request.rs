//! Fetch requests in the compact form that a fetch session keeps: one flat list of partitions, each
//! pointing to its topic.

use std::sync::Arc;

use super::TopicKey;
use super::topic::IDS_FROM;
use crate::messages::FetchRequest;
use crate::messages::fetch_request::ReplicaState;
use crate::{ApiKey, DecodeError, Message as _, Reader};

/// A fetch request. Of the fields that only the metadata partition's voters use,
/// `ReplicaDirectoryId` and `HighWatermark` of a partition are read and left out; who needs them
/// takes the generated `FetchRequest`.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchBody {
    /// The version it came in.
    pub version: i16,
    /// The cluster that the client believes to be in, if it says so.
    pub cluster_id: Option<String>,
    /// The follower's id; negative for consumers.
    pub replica_id: i32,
    /// The follower's broker epoch, or -1. Version 15 and above.
    pub replica_epoch: i64,
    /// How long the response may wait for records, in milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes end that wait.
    pub min_bytes: i32,
    /// The limit of the response's records in bytes; one batch may exceed it.
    pub max_bytes: i32,
    /// 0 reads up to the high watermark, 1 up to the last stable offset.
    pub isolation_level: i8,
    /// The fetch session, or 0. See KIP-227.
    pub session_id: i32,
    /// The request's number within the session; 0 opens one, -1 wants none.
    pub session_epoch: i32,
    /// The consumer's rack, or empty. Version 11 and above.
    pub rack_id: String,
    /// The topics that [`FetchPartition::topic`] points to.
    pub topics: Vec<TopicKey>,
    /// What is to be read, in the order of the request.
    pub partitions: Vec<FetchPartition>,
    /// What an incremental request takes out of its session. Version 7 and above.
    pub forgotten: Vec<ForgottenPartitions>,
}

/// What is to be read of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchPartition {
    /// The topic's place in [`FetchBody::topics`].
    pub topic: u32,
    /// The partition's number.
    pub partition: i32,
    /// The leader epoch that the client knows, or -1. Version 9 and above.
    pub current_leader_epoch: i32,
    /// The first offset wanted.
    pub fetch_offset: i64,
    /// The epoch of the last record that a follower has, or -1. Version 12 and above.
    pub last_fetched_epoch: i32,
    /// The first offset of a follower's log, or -1. Version 5 and above.
    pub log_start_offset: i64,
    /// The limit of this partition's records in bytes; one batch may exceed it.
    pub partition_max_bytes: i32,
}

/// Partitions of one topic that leave the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenPartitions {
    /// Their topic, as the request names it.
    pub topic: TopicKey,
    /// The numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl FetchBody {
    /// Reads a request's body. What is left over behind it is ignored, as by Apache Kafka.
    ///
    /// # Errors
    /// As the generated `FetchRequest::decode`.
    pub fn decode(body: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        if !FetchRequest::VERSIONS.contains(version) {
            return Err(DecodeError::UnsupportedVersion { message: FetchRequest::NAME, version });
        }
        let r = body;
        let flexible = ApiKey::Fetch.is_flexible(version);
        let replica_id = if version <= 14 { r.i32()? } else { -1 };
        let max_wait_ms = r.i32()?;
        let min_bytes = r.i32()?;
        let max_bytes = r.i32()?;
        let isolation_level = r.i8()?;
        let (session_id, session_epoch) = if version >= 7 { (r.i32()?, r.i32()?) } else { (0, -1) };
        let (topics, partitions) = decode_topics(r, version, flexible)?;
        let forgotten = if version >= 7 {
            r.array(flexible, |r| decode_forgotten(r, version, flexible))?
        } else {
            Vec::new()
        };
        let rack_id = if version >= 11 { r.string(flexible)? } else { String::new() };
        let mut request = Self {
            version,
            cluster_id: None,
            replica_id,
            replica_epoch: -1,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            rack_id,
            topics,
            partitions,
            forgotten,
        };
        if flexible {
            request.decode_tags(r)?;
        }
        Ok(request)
    }

    fn decode_tags(&mut self, r: &mut Reader) -> Result<(), DecodeError> {
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 => self.cluster_id = r.nullable_string(true)?,
                1 if self.version >= 15 => {
                    let state = ReplicaState::decode(r, self.version)?;
                    (self.replica_id, self.replica_epoch) = (state.replica_id, state.replica_epoch);
                }
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(())
    }

    /// The topic of one of the partitions.
    #[must_use]
    pub fn topic_of(&self, partition: &FetchPartition) -> &TopicKey {
        &self.topics[partition.topic as usize]
    }
}

fn decode_topics(
    r: &mut Reader,
    version: i16,
    flexible: bool,
) -> Result<(Vec<TopicKey>, Vec<FetchPartition>), DecodeError> {
    let topic_count = r.count(flexible)?;
    let mut topics = r.vector(topic_count)?;
    let mut partitions = Vec::new();
    for _ in 0..topic_count {
        // A frame has less than 2^31 bytes, and a topic takes at least one.
        let topic = u32::try_from(topics.len()).expect("a frame's topics fit in 32 bits");
        let name = decode_topic(r, version, flexible)?;
        r.push(&mut topics, name)?;
        let partition_count = r.count(flexible)?;
        if partitions.is_empty() {
            partitions = r.vector(partition_count)?;
        }
        for _ in 0..partition_count {
            let partition = decode_partition(r, topic, version)?;
            r.push(&mut partitions, partition)?;
        }
        if flexible {
            r.skip_tags()?;
        }
    }
    Ok((topics, partitions))
}

fn decode_topic(r: &mut Reader, version: i16, flexible: bool) -> Result<TopicKey, DecodeError> {
    if version >= IDS_FROM {
        r.uuid().map(TopicKey::Id)
    } else {
        r.str(flexible).map(Arc::from).map(TopicKey::Name)
    }
}

fn decode_partition(r: &mut Reader, topic: u32, version: i16) -> Result<FetchPartition, DecodeError> {
    let partition = r.i32()?;
    let current_leader_epoch = if version >= 9 { r.i32()? } else { -1 };
    let fetch_offset = r.i64()?;
    let last_fetched_epoch = if version >= 12 { r.i32()? } else { -1 };
    let log_start_offset = if version >= 5 { r.i64()? } else { -1 };
    let partition_max_bytes = r.i32()?;
    if ApiKey::Fetch.is_flexible(version) {
        r.skip_tags()?;
    }
    Ok(FetchPartition {
        topic,
        partition,
        current_leader_epoch,
        fetch_offset,
        last_fetched_epoch,
        log_start_offset,
        partition_max_bytes,
    })
}

fn decode_forgotten(
    r: &mut Reader,
    version: i16,
    flexible: bool,
) -> Result<ForgottenPartitions, DecodeError> {
    let topic = decode_topic(r, version, flexible)?;
    let partitions = r.array(flexible, Reader::i32)?;
    if flexible {
        r.skip_tags()?;
    }
    Ok(ForgottenPartitions { topic, partitions })
}
