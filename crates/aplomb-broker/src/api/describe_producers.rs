//! DescribeProducers: who has written to partitions of late, and whose transactions are open there. What `kafka-transactions` looks for
//! hanging transactions with.

use aplomb_log::producers::ProducerEntry;
use aplomb_model::{ErrorCode, Offset, ProducerId};
use aplomb_protocol::messages::describe_producers_request::DescribeProducersRequest;
use aplomb_protocol::messages::describe_producers_response::{
    DescribeProducersResponse, PartitionResponse, ProducerState, TopicResponse,
};

use super::produce::Calls;
use super::scatter::{ReplyTo, Scatter, UNKNOWN_PARTITION, named};
use crate::controller::check_topic_name;
use crate::message::{PartitionAnswer, PartitionCall};
use crate::metadata::MetadataImage;

/// Takes a request apart.
pub(crate) fn begin(
    request: &DescribeProducersRequest,
    to: ReplyTo,
    image: &MetadataImage,
) -> (Scatter<DescribeProducersResponse>, Calls) {
    let mut calls = Calls::new();
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
    let mut scatter = Scatter::new(to, response, fill);
    for (t, topic) in request.topics.iter().enumerate() {
        let refused = refusal(&topic.name, image);
        for (p, partition) in topic.partition_indexes.iter().enumerate() {
            let key = named(image, &topic.name, *partition);
            match (&refused, key) {
                (None, Ok(key)) => scatter.ask((t, p), key, PartitionCall::Producers, &mut calls),
                // Only what is wrong with a topic is said in words.
                (None, Err(error)) => scatter.preset(|response| {
                    response.topics[t].partitions[p].error_code = error.to_wire();
                }),
                (Some((error, message)), _) => scatter.preset(|response| {
                    let place = &mut response.topics[t].partitions[p];
                    place.error_code = error.to_wire();
                    place.error_message = Some(message.clone());
                }),
            }
        }
    }
    (scatter, calls)
}

/// What is wrong with a topic.
fn refusal(topic: &str, image: &MetadataImage) -> Option<(ErrorCode, String)> {
    if let Err(error) = check_topic_name(topic) {
        return Some((ErrorCode::from(&error), error.to_string()));
    }
    let is_known = image.topics.by_name(topic).is_some();
    (!is_known).then(|| (ErrorCode::UnknownTopicOrPartition, UNKNOWN_PARTITION.to_owned()))
}

fn fill(response: &mut DescribeProducersResponse, (t, p): (usize, usize), answer: PartitionAnswer, _: i16) {
    let PartitionAnswer::Producers(answer) = answer else { panic!("producers are what was asked for") };
    let place = &mut response.topics[t].partitions[p];
    match answer {
        Ok(producers) => {
            place.error_code = ErrorCode::None.to_wire();
            place.active_producers = producers.iter().map(shown).collect();
        }
        Err(error) => place.error_code = error.to_wire(),
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
