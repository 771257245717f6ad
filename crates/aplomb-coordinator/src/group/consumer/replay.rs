//! Records of consumer groups, applied. A group is in the table as long as a record of it is there.

use aplomb_model::Timestamp;
use aplomb_protocol::messages as m;

use super::group::ConsumerGroup;
use super::member::Current;
use super::records;
use crate::group::GroupRecord;
use crate::group::assignor::Partitions;
use crate::group::table::{Group, GroupTable};

/// Applies a record, and gives the one that takes it back.
pub(crate) fn replay(table: &mut GroupTable, record: GroupRecord) -> GroupRecord {
    let id = record.group().to_owned();
    if !matches!(table.get(&id), Some(Group::Consumer(_))) {
        // A group of another type is one that was before: compaction has taken its tombstone, or it
        // is a simple one, which no record speaks of.
        if record.is_tombstone() {
            return record;
        }
        table.insert(table.id(&id), Group::Consumer(Box::default()));
    }
    let changed = table.change_consumer(&id, |group| (apply(group, record), group.is_gone()));
    let (undo, is_gone) = changed.expect("the group is there");
    if is_gone {
        table.remove(&id);
    }
    undo
}

fn apply(group: &mut ConsumerGroup, record: GroupRecord) -> GroupRecord {
    match record {
        GroupRecord::Epoch(key, value) => {
            let before = group.set_epoch(value.map(|value| (value.epoch, value.metadata_hash)));
            records::epoch(&key.group_id, before)
        }
        GroupRecord::Topics(key, value) => records::topics(&key.group_id, group.set_topics(value)),
        GroupRecord::Member(key, value) => {
            let before = group.set_about(&key.member_id, value);
            records::member(&key.group_id, &key.member_id, before)
        }
        GroupRecord::TargetEpoch(key, value) => {
            let read = |value: m::ConsumerGroupTargetAssignmentMetadataValue| {
                (value.assignment_epoch, Timestamp(value.assignment_timestamp))
            };
            records::target_epoch(&key.group_id, group.set_target_epoch(value.map(read)))
        }
        GroupRecord::Target(key, value) => {
            let before = group.set_target(&key.member_id, value.map(read_target));
            records::target(&key.group_id, &key.member_id, before.as_ref())
        }
        GroupRecord::Current(key, value) => {
            let current = value.as_ref().map(Current::from_record);
            let before = group.set_current(&key.member_id, current);
            records::current(&key.group_id, &key.member_id, before.as_ref())
        }
        GroupRecord::Expression(key, value) => {
            let before = group.set_expression(&key.regular_expression, value);
            records::expression(&key.group_id, &key.regular_expression, before)
        }
        other @ (GroupRecord::Offset(..) | GroupRecord::Classic(..) | GroupRecord::Foreign { .. }) => {
            panic!("a record of a consumer group: {other:?}")
        }
    }
}

fn read_target(value: m::ConsumerGroupTargetAssignmentMemberValue) -> Partitions {
    value
        .topic_partitions
        .into_iter()
        .map(|topic| (topic.topic_id, topic.partitions.into_iter().collect()))
        .collect()
}
