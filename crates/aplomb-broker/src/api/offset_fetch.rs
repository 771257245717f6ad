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
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};

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
    let mut all = HashSet::new();
    let mut response = OffsetFetchResponse::default();
    let mut asks = Vec::new();
    for mut group in groups {
        if group.topics.is_none() && !all.insert(group.group_id.clone()) {
            continue; // all of its offsets are in the answer already
        }
        let mut answered =
            OffsetFetchResponseGroup { group_id: group.group_id.clone(), ..Default::default() };
        if let Some(topics) = &mut group.topics {
            topics.retain_mut(|topic| {
                let is_known = complete(topic, version, asked.view.image());
                if !is_known {
                    answered.topics.push(refuse(topic, ErrorCode::UnknownTopicId));
                }
                is_known
            });
        }
        response.groups.push(answered);
        asks.push(group);
    }
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (n, group) in asks.into_iter().enumerate() {
        // Where it has no place for it, each partition is answered by the code for the group.
        if version < WITH_ERROR {
            let topics = group.topics.iter().flatten();
            let refused = topics.map(|topic| refuse(topic, ErrorCode::CoordinatorNotAvailable));
            scatter.response().groups[n].topics = refused.collect();
        }
        scatter.response().groups[n].error_code = ErrorCode::CoordinatorNotAvailable.to_wire();
        if is_too_much {
            scatter.fill((n, 0), ErrorCode::InvalidRequest);
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
fn complete(topic: &mut OffsetFetchRequestTopics, version: i16, image: &MetadataImage) -> bool {
    if version >= BY_ID {
        let Some(name) = image.topics.name(topic.topic_id) else { return false };
        topic.name = name.to_string();
    } else if let Some(found) = image.topics.by_name(&topic.name) {
        topic.topic_id = found.id;
    }
    true
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
                group.topics.clear();
            }
            group.topics.extend(fetched.topics.into_iter().filter(shown));
        }
        Ok(other) => unreachable!("a fetch of offsets is answered {other:?}"),
        Err(error) => {
            group.error_code = error.to_wire();
            for partition in group.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
                if version < WITH_ERROR {
                    partition.error_code = error.to_wire();
                }
            }
        }
    }
    if version < GROUPS {
        response.error_code = group.error_code;
        response.topics = std::mem::take(&mut group.topics).into_iter().map(old).collect();
        response.groups.clear();
    }
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
