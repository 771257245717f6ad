//! DeleteRecords: moves log starts up.

use aplomb_model::{ErrorCode, Offset};
use aplomb_protocol::messages::delete_records_request::DeleteRecordsRequest;
use aplomb_protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult,
};

use super::produce::Calls;
use super::scatter::{ReplyTo, Scatter, named};
use crate::message::{PartitionAnswer, PartitionCall};
use crate::metadata::MetadataImage;

/// The offset that stands for "all there are".
const ALL: i64 = -1;

/// Takes a request apart.
pub(crate) fn begin(
    request: &DeleteRecordsRequest,
    to: ReplyTo,
    image: &MetadataImage,
) -> (Scatter<DeleteRecordsResponse>, Calls) {
    let mut calls = Calls::new();
    let unanswered = |partition_index: i32| DeleteRecordsPartitionResult {
        partition_index,
        low_watermark: -1,
        error_code: ErrorCode::RequestTimedOut.to_wire(),
    };
    let topics = request.topics.iter().map(|topic| DeleteRecordsTopicResult {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(|p| unanswered(p.partition_index)).collect(),
    });
    let response = DeleteRecordsResponse { topics: topics.collect(), ..Default::default() };
    let mut scatter = Scatter::new(to, response, fill);
    let mut refused = Vec::new();
    for (t, topic) in request.topics.iter().enumerate() {
        for (p, partition) in topic.partitions.iter().enumerate() {
            let before = match partition.offset {
                ALL => Ok(None),
                offset => Offset::from_wire(offset).map(Some).ok_or(ErrorCode::OffsetOutOfRange),
            };
            match (named(image, &topic.name, partition.partition_index), before) {
                (Err(error), _) | (Ok(_), Err(error)) => refused.push(((t, p), error)),
                (Ok(key), Ok(before)) => {
                    scatter.ask((t, p), key, PartitionCall::DeleteRecords { before }, &mut calls);
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

fn fill(response: &mut DeleteRecordsResponse, (t, p): (usize, usize), answer: PartitionAnswer, _: i16) {
    let PartitionAnswer::DeleteRecords(answer) = answer else { panic!("a deletion is what was asked for") };
    let place = &mut response.topics[t].partitions[p];
    match answer {
        Ok(start) => {
            place.error_code = 0;
            place.low_watermark = start.to_wire();
        }
        Err(error) => place.error_code = error.to_wire(),
    }
}
