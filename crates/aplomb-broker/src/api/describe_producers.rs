//! DescribeProducers: who has written to partitions of late, and whose transactions are open there.
//! What `kafka-transactions` looks for hanging transactions with.

use std::collections::HashSet;

use aplomb_log::producers::ProducerEntry;
use aplomb_model::{ErrorCode, Offset, ProducerId};
use aplomb_protocol::messages::describe_producers_request::{DescribeProducersRequest, TopicRequest};
use aplomb_protocol::messages::describe_producers_response::{
    DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::in_words;
use crate::controller::{AdminError, check_topic_name};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, PATIENCE, Place, Question, Scatter, UNKNOWN_PARTITION, named};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::DescribeProducers, begin);

/// Who has written, by id.
pub(super) type Producers = Vec<(ProducerId, ProducerEntry)>;

/// Who has written to a partition, as far as its log remembers.
#[derive(Debug)]
struct ActiveProducers;

impl Question for ActiveProducers {
    type Answer = Producers;

    fn ask(self, place: &mut Place<'_>) -> Result<Producers, ErrorCode> {
        place.partition.check_epoch(None)?;
        let producers = place.partition.log().producers().producers();
        Ok(producers.map(|(id, entry)| (id, entry.clone())).collect())
    }
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let mut request: DescribeProducersRequest = asked.decode()?;
    // A partition has an answer as long as its producers are many: who names it a thousand times
    // gets one.
    let mut seen = HashSet::new();
    for topic in &mut request.topics {
        let TopicRequest { name, partition_indexes, .. } = topic;
        partition_indexes.retain(|partition| seen.insert((name.clone(), *partition)));
    }
    let unanswered = |partition: &i32| PartitionResponse {
        partition_index: *partition,
        error_code: ErrorCode::RequestTimedOut.to_wire(),
        ..Default::default()
    };
    let topics = request.topics.iter().map(|topic| TopicResponse {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(unanswered).collect(),
    });
    let response = DescribeProducersResponse { topics: topics.collect(), ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (t, topic) in request.topics.iter().enumerate() {
        let denied = asked.access().check(AclOperation::Read, On::Topic(&topic.name)).err();
        let denied = denied.map(|error| (error, in_words(&AdminError::Denied(error))));
        let refused = denied.or_else(|| refusal(&topic.name, asked.view.image()));
        for (p, partition) in topic.partition_indexes.iter().enumerate() {
            match (&refused, named(asked.view.image(), &topic.name, *partition)) {
                (None, Ok(key)) => scatter.ask((t, p), key, ActiveProducers, asked.calls),
                // Only what is wrong with a topic is said in words.
                (None, Err(error)) => scatter.fill((t, p), error),
                (Some((error, message)), _) => {
                    scatter.fill((t, p), *error);
                    scatter.response().topics[t].partitions[p].error_message = Some(message.clone());
                }
            }
        }
    }
    asked.wait(scatter, PATIENCE)
}

/// What is wrong with a topic.
fn refusal(topic: &str, image: &MetadataImage) -> Option<(ErrorCode, String)> {
    if let Err(error) = check_topic_name(topic) {
        return Some((ErrorCode::from(&error), in_words(&error)));
    }
    let is_known = image.topics.by_name(topic).is_some();
    (!is_known).then(|| (ErrorCode::UnknownTopicOrPartition, UNKNOWN_PARTITION.to_owned()))
}

pub(super) fn fill(
    response: &mut DescribeProducersResponse,
    (t, p): (usize, usize),
    answer: Result<Producers, ErrorCode>,
    _: i16,
) {
    let cell = &mut response.topics[t].partitions[p];
    match answer {
        Ok(producers) => {
            cell.error_code = ErrorCode::None.to_wire();
            cell.active_producers = producers.iter().map(shown).collect();
        }
        Err(error) => cell.error_code = error.to_wire(),
    }
}

fn shown((id, entry): &(ProducerId, ProducerEntry)) -> ProducerState {
    ProducerState {
        producer_id: id.to_wire(),
        producer_epoch: entry.epoch().0.into(),
        last_sequence: entry.last_sequence(),
        last_timestamp: entry.last_timestamp().0,
        coordinator_epoch: entry.coordinator_epoch(),
        current_txn_start_offset: entry.open_transaction().map_or(-1, Offset::to_wire),
    }
}
