//! The records of consumer groups: keys with their values, or tombstones.

use aplomb_model::{Timestamp, TopicId};
use aplomb_protocol::messages as m;

use super::member::{About, Current};
use crate::group::GroupRecord;
use crate::group::assignor::Partitions;

pub(crate) fn epoch(group: &str, epoch: Option<(i32, i64)>) -> GroupRecord {
    let value = epoch.map(|(epoch, metadata_hash)| m::ConsumerGroupMetadataValue { epoch, metadata_hash });
    GroupRecord::Epoch(m::ConsumerGroupMetadataKey { group_id: group.to_owned() }, value)
}

/// Only brokers before 4.1 wrote another value than none.
pub(crate) fn topics(group: &str, value: Option<m::ConsumerGroupPartitionMetadataValue>) -> GroupRecord {
    GroupRecord::Topics(m::ConsumerGroupPartitionMetadataKey { group_id: group.to_owned() }, value)
}

pub(crate) fn member(group: &str, member: &str, about: Option<About>) -> GroupRecord {
    let key = m::ConsumerGroupMemberMetadataKey { group_id: group.to_owned(), member_id: member.to_owned() };
    GroupRecord::Member(key, about)
}

/// The epoch of the target assignment, and when it was computed.
pub(crate) fn target_epoch(group: &str, target: Option<(i32, Timestamp)>) -> GroupRecord {
    let key = m::ConsumerGroupTargetAssignmentMetadataKey { group_id: group.to_owned() };
    let value = target.map(|(assignment_epoch, timestamp)| m::ConsumerGroupTargetAssignmentMetadataValue {
        assignment_epoch,
        assignment_timestamp: timestamp.0,
    });
    GroupRecord::TargetEpoch(key, value)
}

pub(crate) fn target(group: &str, member: &str, target: Option<&Partitions>) -> GroupRecord {
    use m::consumer_group_target_assignment_member_value::TopicPartition;
    let key = m::ConsumerGroupTargetAssignmentMemberKey {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
    };
    let topic = |(topic_id, partitions): (&TopicId, &std::collections::BTreeSet<i32>)| TopicPartition {
        topic_id: *topic_id,
        partitions: partitions.iter().copied().collect(),
    };
    let value = target.map(|target| m::ConsumerGroupTargetAssignmentMemberValue {
        topic_partitions: target.iter().map(topic).collect(),
    });
    GroupRecord::Target(key, value)
}

pub(crate) fn current(group: &str, member: &str, current: Option<&Current>) -> GroupRecord {
    let key = m::ConsumerGroupCurrentMemberAssignmentKey {
        group_id: group.to_owned(),
        member_id: member.to_owned(),
    };
    GroupRecord::Current(key, current.map(Current::to_record))
}

pub(crate) fn expression(
    group: &str,
    expression: &str,
    value: Option<m::ConsumerGroupRegularExpressionValue>,
) -> GroupRecord {
    let key = m::ConsumerGroupRegularExpressionKey {
        group_id: group.to_owned(),
        regular_expression: expression.to_owned(),
    };
    GroupRecord::Expression(key, value)
}
