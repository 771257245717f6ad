//! OffsetFetch: how far groups have come.

use std::collections::HashSet;

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::{ErrorCode, Uuid};
use aplomb_protocol::messages::offset_fetch_request::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use aplomb_protocol::messages::offset_fetch_response::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::groups::{MOST_NAMED, coordinator_of};
use super::{Access, On};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::OffsetFetch, begin);

/// The first version that asks about several groups.
const GROUPS: i16 = 8;
/// The first version that names topics by id.
const BY_ID: i16 = 10;
/// The first version with a code for the whole group.
const WITH_ERROR: i16 = 2;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: OffsetFetchRequest = asked.decode()?;
    let (version, require_stable) = (asked.to.version, request.require_stable);
    let groups = if version >= GROUPS { request.groups } else { vec![only(request)] };
    let is_too_much = groups.iter().map(named).sum::<usize>() > MOST_NAMED;
    // How long an answer of all offsets is, the request does not tell.
    let wants_all = groups.iter().any(|group| group.topics.is_none());
    if wants_all && !asked.is_at_head() {
        return Ok(Begun::ForHead);
    }
    let access = asked.access();
    let mut all = HashSet::new();
    let mut response = OffsetFetchResponse::default();
    let mut asks = Vec::new();
    for mut group in groups {
        if group.topics.is_none() && !all.insert(group.group_id.clone()) {
            continue; // all of its offsets are in the answer already
        }
        let mut answered =
            OffsetFetchResponseGroup { group_id: group.group_id.clone(), ..Default::default() };
        let allowed = access.check(AclOperation::Describe, On::Group(&group.group_id));
        if let Some(topics) = group.topics.as_mut().filter(|_| allowed.is_ok()) {
            topics.retain_mut(|topic| {
                let known = complete(topic, version, asked.view.image());
                let checked =
                    known.and_then(|()| access.check(AclOperation::Describe, On::Topic(&topic.name)));
                answered.topics.extend(checked.err().map(|error| refuse(topic, error)));
                checked.is_ok()
            });
        }
        response.groups.push(answered);
        asks.push((group, allowed));
    }
    let mut scatter = Scatter::new(asked.to, response, fill);
    if let Some(later) = asked.access_later().filter(|_| wants_all) {
        let whole: Vec<bool> = asks.iter().map(|(group, _)| group.topics.is_none()).collect();
        scatter.shape(move |response, audit| hide(response, &whole, &later.with(audit)));
    }
    for (n, (group, allowed)) in asks.into_iter().enumerate() {
        // Where it has no place for it, each partition is answered by the code for the group.
        if version < WITH_ERROR {
            let topics = group.topics.iter().flatten();
            let refused = topics.map(|topic| refuse(topic, ErrorCode::CoordinatorNotAvailable));
            scatter.response().groups[n].topics.extend(refused);
        }
        scatter.response().groups[n].error_code = ErrorCode::CoordinatorNotAvailable.to_wire();
        if let Err(error) = allowed.and(if is_too_much { Err(ErrorCode::InvalidRequest) } else { Ok(()) }) {
            scatter.fill((n, 0), error);
            continue;
        }
        match coordinator_of(&group.group_id, asked.view.image()) {
            Some(key) => scatter.ask((n, 0), key, GroupAsk::Fetch { group, require_stable }, asked.calls),
            None => scatter.fill((n, 0), ErrorCode::NotCoordinator),
        }
    }
    asked.wait(scatter, PATIENCE)
}

/// How many things a group's part of the request names.
fn named(group: &OffsetFetchRequestGroup) -> usize {
    let topics = group.topics.iter().flatten();
    1 + topics.map(|topic| 1 + topic.partition_indexes.len()).sum::<usize>()
}

/// The one group that versions before [`GROUPS`] ask about.
fn only(request: OffsetFetchRequest) -> OffsetFetchRequestGroup {
    let topics = request.topics.map(|topics| {
        let topics = topics.into_iter().map(|topic| OffsetFetchRequestTopics {
            name: topic.name,
            topic_id: Uuid::ZERO,
            partition_indexes: topic.partition_indexes,
        });
        topics.collect()
    });
    OffsetFetchRequestGroup { group_id: request.group_id, topics, ..Default::default() }
}

/// Gives a topic the name or the id that it was not asked by. Whether that can be done; a name that
/// there is not may have offsets all the same.
fn complete(
    topic: &mut OffsetFetchRequestTopics,
    version: i16,
    image: &MetadataImage,
) -> Result<(), ErrorCode> {
    if version >= BY_ID {
        let name = image.topics.name(topic.topic_id).ok_or(ErrorCode::UnknownTopicId)?;
        topic.name = name.to_string();
    } else if let Some(found) = image.topics.by_name(&topic.name) {
        topic.topic_id = found.id;
    }
    Ok(())
}

/// Of groups whose offsets were asked for as a whole, those of topics that the client may describe
/// are shown.
fn hide(response: &mut OffsetFetchResponse, whole: &[bool], access: &Access<'_>) {
    let is_seen = |name: &str| access.may_quietly(AclOperation::Describe, On::Topic(name));
    response.topics.retain(|topic| is_seen(&topic.name));
    for (group, _) in response.groups.iter_mut().zip(whole).filter(|(_, whole)| **whole) {
        group.topics.retain(|topic| is_seen(&topic.name));
    }
}

fn refuse(topic: &OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics {
    let partitions = topic.partition_indexes.iter().map(|index| OffsetFetchResponsePartitions {
        partition_index: *index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(String::new()),
        error_code: error.to_wire(),
    });
    OffsetFetchResponseTopics {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: partitions.collect(),
    }
}

fn fill(
    response: &mut OffsetFetchResponse,
    (n, _): Cell,
    reply: Result<GroupReply, ErrorCode>,
    version: i16,
) {
    let group = &mut response.groups[n];
    match reply {
        Ok(GroupReply::Fetch(fetched)) => {
            group.error_code = fetched.error_code;
            let shown = |topic: &OffsetFetchResponseTopics| version < BY_ID || topic.topic_id != Uuid::ZERO;
            if version < WITH_ERROR {
                group.topics.retain(|topic| !is_waiting(topic));
            }
            group.topics.extend(fetched.topics.into_iter().filter(shown));
        }
        Ok(other) => unreachable!("a fetch of offsets is answered {other:?}"),
        Err(error) => {
            group.error_code = error.to_wire();
            let waiting = group.topics.iter_mut().filter(|topic| is_waiting(topic));
            for partition in waiting.flat_map(|topic| &mut topic.partitions) {
                partition.error_code = error.to_wire();
            }
        }
    }
    if version < GROUPS {
        response.error_code = group.error_code;
        response.topics = std::mem::take(&mut group.topics).into_iter().map(old).collect();
        response.groups.clear();
    }
}

/// Whether the answer about a topic is still to come: versions before [`WITH_ERROR`] have a place
/// for it meanwhile.
fn is_waiting(topic: &OffsetFetchResponseTopics) -> bool {
    let waiting = ErrorCode::CoordinatorNotAvailable.to_wire();
    topic.partitions.iter().all(|partition| partition.error_code == waiting)
}

/// As versions before [`GROUPS`] have it.
fn old(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic {
    let partitions = topic.partitions.into_iter().map(|partition| OffsetFetchResponsePartition {
        partition_index: partition.partition_index,
        committed_offset: partition.committed_offset,
        committed_leader_epoch: partition.committed_leader_epoch,
        metadata: partition.metadata,
        error_code: partition.error_code,
    });
    OffsetFetchResponseTopic { name: topic.name, partitions: partitions.collect() }
}
