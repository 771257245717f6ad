//! OffsetCommit: how far a group has come.

use std::time::Duration;

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::{ErrorCode, PartitionIndex};
use aplomb_protocol::hot::TopicRef;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::offset_commit_response::{
    OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::groups::{ask_one, caller};
use super::{Access, On, rights};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, Cell};
use crate::security::AclOperation;
use crate::view::View;

pub(super) const API: Api = Api::new(ApiKey::OffsetCommit, begin);

/// The first version that names topics by id.
const BY_ID: i16 = 10;

/// What the record of an offset takes at least, beside texts: partition, offset, epoch, times.
const RECORD_BYTES: usize = 40;

/// The coordinator answers within `offsets.commit.timeout.ms`; so much longer than that a broken
/// one is waited for.
pub(super) const BEYOND: Duration = Duration::from_secs(5);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let mut request: OffsetCommitRequest = asked.decode()?;
    let (access, by_id) = (asked.access(), asked.to.version >= BY_ID);
    if let Err(error) = access.check(AclOperation::Read, On::Group(&request.group_id)) {
        let topics = request.topics.iter().map(|topic| answer(topic, error)).collect();
        return asked.answer(&OffsetCommitResponse { topics, ..Default::default() });
    }
    let is_too_large = is_too_large(&request, asked.view);
    let named = std::mem::take(&mut request.topics);
    let mut response = OffsetCommitResponse::default();
    for topic in named {
        let checked = authorize(&topic, by_id, asked.view.image(), &access);
        let too_large = is_too_large.then_some(ErrorCode::InvalidCommitOffsetSize);
        if let Some(error) = checked.err().or(too_large) {
            response.topics.push(answer(&topic, error));
            continue;
        }
        let (known, unknown) = part(topic, by_id, asked.view.image());
        if let Some(unknown) = unknown {
            response.topics.push(unknown);
        }
        if let Some(known) = known {
            response.topics.push(answer(&known, ErrorCode::CoordinatorNotAvailable));
            request.topics.push(known);
        }
    }
    if request.topics.is_empty() {
        return asked.answer(&response);
    }
    let patience = asked.view.config().groups.commit_timeout + BEYOND;
    let group = request.group_id.clone();
    let ask = GroupAsk::Commit(caller(asked), request);
    ask_one(asked, &group, ask, response, fill, patience)
}

/// Whether no batch of the offsets topic can hold what is committed. It would be refused in the
/// end; all that lies before would keep other clients waiting.
pub(super) fn is_too_large(request: &OffsetCommitRequest, view: &View) -> bool {
    let records = request.topics.iter().flat_map(|topic| {
        let key = request.group_id.len() + topic.name.len();
        let partitions = topic.partitions.iter();
        partitions
            .map(move |each| RECORD_BYTES + key + each.committed_metadata.as_ref().map_or(0, String::len))
    });
    records.sum::<usize>() as u64 > view.largest_commit().0
}

/// Whether the client may read the topic that it commits for, there or not.
pub(super) fn authorize(
    topic: &OffsetCommitRequestTopic,
    by_id: bool,
    image: &MetadataImage,
    access: &Access<'_>,
) -> Result<(), ErrorCode> {
    let topic = if by_id { TopicRef::Id(topic.topic_id) } else { TopicRef::Name(&topic.name) };
    rights::authorize(image, topic, |on| access.check(AclOperation::Read, on))
}

/// Parts a topic into what is there, with its name and id, and the answer to what is not.
pub(super) fn part(
    mut topic: OffsetCommitRequestTopic,
    by_id: bool,
    image: &MetadataImage,
) -> (Option<OffsetCommitRequestTopic>, Option<OffsetCommitResponseTopic>) {
    let found = if by_id { image.topics.by_id(topic.topic_id) } else { image.topics.by_name(&topic.name) };
    let Some(found) = found else {
        let error = if by_id { ErrorCode::UnknownTopicId } else { ErrorCode::UnknownTopicOrPartition };
        return (None, Some(answer(&topic, error)));
    };
    if by_id {
        topic.name = found.name.to_string();
    }
    topic.topic_id = found.id;
    let is_unknown = |partition: &mut OffsetCommitRequestPartition| {
        !found.partitions.contains_key(&PartitionIndex(partition.partition_index))
    };
    let unknown: Vec<_> = topic.partitions.extract_if(.., is_unknown).collect();
    let unknown = (!unknown.is_empty()).then(|| {
        let (name, topic_id) = (topic.name.clone(), topic.topic_id);
        let unknown = OffsetCommitRequestTopic { name, topic_id, partitions: unknown };
        answer(&unknown, ErrorCode::UnknownTopicOrPartition)
    });
    ((!topic.partitions.is_empty()).then_some(topic), unknown)
}

fn answer(topic: &OffsetCommitRequestTopic, error: ErrorCode) -> OffsetCommitResponseTopic {
    let partitions = topic.partitions.iter().map(|partition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code: error.to_wire(),
    });
    OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: partitions.collect(),
    }
}

/// Puts what the coordinator has answered in the place of what waited for it: the topics that were
/// passed on, in their order.
fn fill(response: &mut OffsetCommitResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    let waiting = ErrorCode::CoordinatorNotAvailable.to_wire();
    let is_waiting = |topic: &&mut OffsetCommitResponseTopic| {
        topic.partitions.iter().all(|partition| partition.error_code == waiting)
    };
    let places = response.topics.iter_mut().filter(is_waiting);
    match reply {
        Ok(GroupReply::Commit(committed)) => {
            for (place, topic) in places.zip(committed.topics) {
                *place = topic;
            }
        }
        Ok(other) => unreachable!("a commit is answered {other:?}"),
        Err(error) => {
            for partition in places.flat_map(|topic| &mut topic.partitions) {
                partition.error_code = error.to_wire();
            }
        }
    }
}
