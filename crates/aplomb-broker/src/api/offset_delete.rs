//! OffsetDelete: a group forgets how far it has come.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::{ErrorCode, PartitionIndex};
use aplomb_protocol::messages::offset_delete_request::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use aplomb_protocol::messages::offset_delete_response::{
    OffsetDeleteResponse, OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_NAMED, ask_one};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::OffsetDelete, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let mut request: OffsetDeleteRequest = asked.decode()?;
    let access = asked.access();
    if let Err(error) = access.check(AclOperation::Delete, On::Group(&request.group_id)) {
        return asked.answer(&refused(error));
    }
    if request.group_id.is_empty() {
        return asked.answer(&refused(ErrorCode::InvalidGroupId));
    }
    if request.topics.iter().map(|topic| 1 + topic.partitions.len()).sum::<usize>() > MOST_NAMED {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    let mut response = OffsetDeleteResponse {
        error_code: ErrorCode::CoordinatorNotAvailable.to_wire(),
        ..Default::default()
    };
    let topics = std::mem::take(&mut request.topics);
    for mut topic in topics {
        if let Err(error) = access.check(AclOperation::Read, On::Topic(&topic.name)) {
            response.topics.push(answered(&topic.name, &topic.partitions, error));
            continue;
        }
        let found = asked.view.image().topics.by_name(&topic.name);
        let is_there =
            |index: i32| found.is_some_and(|found| found.partitions.contains_key(&PartitionIndex(index)));
        let (known, unknown): (Vec<_>, Vec<_>) =
            topic.partitions.drain(..).partition(|partition| is_there(partition.partition_index));
        if !unknown.is_empty() {
            response.topics.push(answered(&topic.name, &unknown, ErrorCode::UnknownTopicOrPartition));
        }
        if !known.is_empty() {
            request.topics.push(OffsetDeleteRequestTopic { name: topic.name, partitions: known });
        }
    }
    let group = request.group_id.clone();
    ask_one(asked, &group, GroupAsk::DeleteOffsets(request), response, fill, PATIENCE)
}

fn answered(
    name: &str,
    partitions: &[OffsetDeleteRequestPartition],
    error: ErrorCode,
) -> OffsetDeleteResponseTopic {
    let partitions = partitions.iter().map(|partition| OffsetDeleteResponsePartition {
        partition_index: partition.partition_index,
        error_code: error.to_wire(),
    });
    OffsetDeleteResponseTopic { name: name.to_owned(), partitions: partitions.collect() }
}

fn refused(error: ErrorCode) -> OffsetDeleteResponse {
    OffsetDeleteResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut OffsetDeleteResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    match reply {
        Ok(GroupReply::DeleteOffsets(deleted)) if deleted.error_code == 0 => {
            response.error_code = 0;
            response.topics.extend(deleted.topics);
        }
        Ok(GroupReply::DeleteOffsets(deleted)) => *response = deleted,
        Ok(other) => unreachable!("a deletion of offsets is answered {other:?}"),
        Err(error) => *response = refused(error),
    }
}
