//! DeleteRecords: moves log start offsets up.

use std::time::Duration;

use aplomb_model::{ErrorCode, Offset};
use aplomb_protocol::messages::delete_records_request::DeleteRecordsRequest;
use aplomb_protocol::messages::delete_records_response::{
    DeleteRecordsPartitionResult, DeleteRecordsResponse, DeleteRecordsTopicResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::context::each_once;
use crate::operation::{Api, Asked, Begun, Place, Question, Scatter, named, patience};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::DeleteRecords, begin);

/// The time that shards have at least.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);

/// The offset that stands for the high watermark.
const ALL: i64 = -1;

/// Moves a log start offset up, to the high watermark if `before` is `None`. Answered with the new
/// one.
#[derive(Debug)]
struct DeleteBefore {
    before: Option<Offset>,
}

impl Question for DeleteBefore {
    type Answer = Offset;

    fn ask(self, place: &mut Place<'_>) -> Result<Offset, ErrorCode> {
        place.partition.delete_records(self.before, place.fx)
    }
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DeleteRecordsRequest = asked.decode()?;
    let unanswered = |partition_index: i32| DeleteRecordsPartitionResult {
        partition_index,
        low_watermark: -1,
        error_code: ErrorCode::RequestTimedOut.to_wire(),
    };
    let named_all = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|partition| (topic.name.as_str(), partition.partition_index, partition))
    });
    let once = each_once(named_all);
    let topics = once.iter().map(|(name, partitions)| DeleteRecordsTopicResult {
        name: (*name).to_owned(),
        partitions: partitions.iter().map(|p| unanswered(p.partition_index)).collect(),
    });
    let response = DeleteRecordsResponse { topics: topics.collect(), ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (t, (name, partitions)) in once.iter().enumerate() {
        let allowed = asked.access().check(AclOperation::Delete, On::Topic(name));
        for (p, partition) in partitions.iter().enumerate() {
            let before = match partition.offset {
                ALL => Ok(None),
                offset => Offset::from_wire(offset).map(Some).ok_or(ErrorCode::OffsetOutOfRange),
            };
            let key = allowed.and_then(|()| named(asked.view.image(), name, partition.partition_index));
            match (key, before) {
                (Err(error), _) | (Ok(_), Err(error)) => scatter.fill((t, p), error),
                (Ok(key), Ok(before)) => {
                    scatter.ask((t, p), key, DeleteBefore { before }, asked.calls);
                }
            }
        }
    }
    // Nothing is waited for but the shards: with no time at all, too, it is answered.
    asked.wait(scatter, patience(request.timeout_ms).max(SHORTEST_PATIENCE))
}

fn fill(
    response: &mut DeleteRecordsResponse,
    (t, p): (usize, usize),
    answer: Result<Offset, ErrorCode>,
    _: i16,
) {
    let cell = &mut response.topics[t].partitions[p];
    match answer {
        Ok(start) => {
            cell.error_code = 0;
            cell.low_watermark = start.to_wire();
        }
        Err(error) => cell.error_code = error.to_wire(),
    }
}
