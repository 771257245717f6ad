//! DescribeTopicPartitions: topics and who holds them, in pages. A response has at most so many
//! partitions, and a cursor to where the next one goes on.

use std::collections::BTreeMap;

use aplomb_model::{ErrorCode, PartitionIndex, Uuid};
use aplomb_protocol::messages::describe_topic_partitions_request::DescribeTopicPartitionsRequest;
use aplomb_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
};

use super::On;
use super::context::Context;
use super::metadata::ClusterView;
use crate::controller::{check_topic_name, is_internal_topic};
use crate::metadata::{Partition, Topic};
use crate::operation::{Api, Asked, Begun};
use crate::security::AclOperation;
use aplomb_protocol::{ApiKey, DecodeError};

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeTopicPartitions, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeTopicPartitionsRequest = asked.decode()?;
    asked.answer(&handle(&request, asked.to.version, &Context::of(asked)))
}

/// Answers.
#[must_use]
pub fn handle(
    request: &DescribeTopicPartitionsRequest,
    version: i16,
    ctx: &Context<'_>,
) -> DescribeTopicPartitionsResponse {
    let is_everything = request.topics.is_empty();
    let (cursor_topic, cursor_partition) = request
        .cursor
        .as_ref()
        .map_or(("", 0), |cursor| (cursor.topic_name.as_str(), cursor.partition_index));
    let from = JavaOrder::of(cursor_topic);
    let all = ctx.image.topics.iter().map(|topic| &*topic.name).filter(|_| is_everything);
    let named = request.topics.iter().map(|topic| topic.name.as_str());
    let names: BTreeMap<JavaOrder, &str> = all
        .chain(named)
        .map(|name| (JavaOrder::of(name), name))
        .filter(|(order, _)| *order >= from)
        .collect();
    let has_lost_its_topic = request.cursor.is_some() && !is_everything && !names.contains_key(&from);
    let Ok(cursor_partition) = usize::try_from(cursor_partition) else { return refusal(request) };
    if has_lost_its_topic {
        return refusal(request);
    }
    let limit = request.response_partition_limit.min(ctx.config.network.max_response_partitions).max(1);
    let mut denied = Vec::new();
    let names: Vec<&str> = names
        .into_values()
        .filter(|name| {
            let (access, on) = (&ctx.access, On::Topic(name));
            if is_everything {
                return access.may_quietly(AclOperation::Describe, on);
            }
            let allowed = access.check(AclOperation::Describe, on);
            denied.extend(allowed.err().map(|error| unseen(name, error)));
            allowed.is_ok()
        })
        .collect();
    let mut page = Page {
        view: ClusterView { ctx, version },
        left: usize::try_from(limit).unwrap_or(1),
        response: DescribeTopicPartitionsResponse::default(),
    };
    for name in names {
        let from = if name == cursor_topic { cursor_partition } else { 0 };
        if page.is_full(name) {
            break;
        }
        match ctx.image.topics.by_name(name) {
            Some(topic) => page.add(topic, from),
            None if is_everything => {}
            None => page.response.topics.push(missing(name, ctx)),
        }
    }
    page.response.topics.extend(denied);
    page.response
}

/// A topic that the client may not describe; it does not learn whether there is one.
fn unseen(name: &str, error: ErrorCode) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code: error.to_wire(),
        name: Some(name.to_owned()),
        is_internal: is_internal_topic(name),
        ..Default::default()
    }
}

/// Names in the order in which Apache Kafka compares strings: by units of UTF-16. It matters to
/// names that no topic has, too, since they are paged like the others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct JavaOrder(Vec<u16>);

impl JavaOrder {
    fn of(name: &str) -> Self {
        Self(name.encode_utf16().collect())
    }
}

/// A response that fills up.
struct Page<'a> {
    view: ClusterView<'a>,
    /// So many more partitions.
    left: usize,
    response: DescribeTopicPartitionsResponse,
}

impl Page<'_> {
    /// Whether the response ends before this topic; it says so then.
    fn is_full(&mut self, topic: &str) -> bool {
        if self.left == 0 && self.response.next_cursor.is_none() {
            self.response.next_cursor = Some(Cursor { topic_name: topic.to_owned(), partition_index: 0 });
        }
        self.response.next_cursor.is_some()
    }

    /// Adds the partitions of a topic from a number on, as many as there is room for.
    fn add(&mut self, topic: &Topic, from: usize) {
        let count = topic.partitions.len();
        let end = count.min(from.saturating_add(self.left));
        let partitions: Vec<_> = (from..end)
            .filter_map(|number| {
                let index = PartitionIndex(i32::try_from(number).ok()?);
                Some(self.partition(index, topic.partitions.get(&index)?))
            })
            .collect();
        self.left -= partitions.len();
        self.response.topics.push(DescribeTopicPartitionsResponseTopic {
            error_code: ErrorCode::None.to_wire(),
            name: Some(topic.name.to_string()),
            topic_id: topic.id,
            is_internal: is_internal_topic(&topic.name),
            partitions,
            topic_authorized_operations: self.view.ctx.access.operations(On::Topic(&topic.name)),
        });
        if end < count {
            let partition_index = i32::try_from(end).unwrap_or(i32::MAX);
            self.response.next_cursor = Some(Cursor { topic_name: topic.name.to_string(), partition_index });
        }
    }

    fn partition(
        &self,
        index: PartitionIndex,
        partition: &Partition,
    ) -> DescribeTopicPartitionsResponsePartition {
        DescribeTopicPartitionsResponsePartition {
            error_code: ErrorCode::None.to_wire(),
            partition_index: index.0,
            leader_id: self.view.leader(partition).map_or(-1, |leader| leader.id.0),
            leader_epoch: partition.leader_epoch.to_wire(),
            replica_nodes: partition.replicas.iter().map(|id| id.0).collect(),
            isr_nodes: partition.isr.iter().map(|id| id.0).collect(),
            eligible_leader_replicas: Some(partition.eligible_leaders.iter().map(|id| id.0).collect()),
            last_known_elr: Some(partition.last_known_eligible.iter().map(|id| id.0).collect()),
            offline_replicas: self.view.offline(partition),
        }
    }
}

fn missing(name: &str, ctx: &Context<'_>) -> DescribeTopicPartitionsResponseTopic {
    let error = match check_topic_name(name) {
        Ok(()) => ErrorCode::UnknownTopicOrPartition,
        Err(error) => ErrorCode::from(&error),
    };
    DescribeTopicPartitionsResponseTopic {
        error_code: error.to_wire(),
        name: Some(name.to_owned()),
        topic_id: Uuid::ZERO,
        is_internal: is_internal_topic(name),
        topic_authorized_operations: ctx.access.operations(On::Topic(name)),
        ..Default::default()
    }
}

/// A cursor that leads nowhere: every topic that was named has the error, and a request that named
/// none is answered by none.
fn refusal(request: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let refused = |name: &String| DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::InvalidRequest.to_wire(),
        name: Some(name.clone()),
        ..Default::default()
    };
    DescribeTopicPartitionsResponse {
        topics: request.topics.iter().map(|topic| refused(&topic.name)).collect(),
        ..Default::default()
    }
}
