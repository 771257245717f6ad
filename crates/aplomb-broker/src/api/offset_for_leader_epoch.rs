//! OffsetForLeaderEpoch: where a leader's records end, so that a client can find out where its log leaves ours.

use aplomb_model::{ErrorCode, LeaderEpoch, Offset};
use aplomb_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderEpochRequest;
use aplomb_protocol::messages::offset_for_leader_epoch_response::{
    EpochEndOffset, OffsetForLeaderEpochResponse, OffsetForLeaderTopicResult,
};

use super::produce::Calls;
use super::scatter::{ReplyTo, Scatter, named};
use crate::message::{PartitionAnswer, PartitionCall};
use crate::metadata::MetadataImage;

/// Takes a request apart.
pub(crate) fn begin(
    request: &OffsetForLeaderEpochRequest,
    to: ReplyTo,
    image: &MetadataImage,
) -> (Scatter<OffsetForLeaderEpochResponse>, Calls) {
    let mut calls = Calls::new();
    let none = |partition: i32, error: ErrorCode| EpochEndOffset {
        error_code: error.to_wire(),
        partition,
        leader_epoch: -1,
        end_offset: -1,
    };
    let topics = request.topics.iter().map(|topic| OffsetForLeaderTopicResult {
        topic: topic.topic.clone(),
        partitions: topic.partitions.iter().map(|p| none(p.partition, ErrorCode::RequestTimedOut)).collect(),
    });
    let response = OffsetForLeaderEpochResponse { topics: topics.collect(), ..Default::default() };
    let mut scatter = Scatter::new(to, response, fill);
    let mut refused = Vec::new();
    for (t, topic) in request.topics.iter().enumerate() {
        for (p, partition) in topic.partitions.iter().enumerate() {
            match (
                named(image, &topic.topic, partition.partition),
                LeaderEpoch::from_wire(partition.leader_epoch),
            ) {
                (Err(error), _) => refused.push(((t, p), error)),
                // No epoch ends nowhere.
                (Ok(_), None) => refused.push(((t, p), ErrorCode::None)),
                (Ok(key), Some(epoch)) => {
                    let current = LeaderEpoch::from_wire(partition.current_leader_epoch);
                    scatter.ask((t, p), key, PartitionCall::EpochEnd { current, epoch }, &mut calls);
                }
            }
        }
    }
    scatter.preset(|response| {
        for ((t, p), error) in refused {
            response.topics[t].partitions[p].error_code = error.to_wire();
        }
    });
    (scatter, calls)
}

fn fill(
    response: &mut OffsetForLeaderEpochResponse,
    (t, p): (usize, usize),
    answer: PartitionAnswer,
    _: i16,
) {
    let PartitionAnswer::EpochEnd(answer) = answer else { panic!("an epoch's end is what was asked for") };
    let place = &mut response.topics[t].partitions[p];
    match answer {
        Ok(end) => {
            place.error_code = 0;
            place.leader_epoch = end.map_or(-1, |(epoch, _)| epoch.to_wire());
            place.end_offset = end.map_or(-1, |(_, end): (_, Offset)| end.to_wire());
        }
        Err(error) => place.error_code = error.to_wire(),
    }
}
