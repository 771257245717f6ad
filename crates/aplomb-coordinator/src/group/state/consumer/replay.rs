//! Records of a consumer group, applied, and those by which it goes.

use aplomb_model::Timestamp;
use aplomb_protocol::messages as m;

use super::group::ConsumerGroup;
use super::member::Current;
use super::records;
use crate::group::GroupRecord;
use crate::group::assignor::Partitions;

impl ConsumerGroup {
    /// Applies a record, and gives the one that takes it back.
    pub(crate) fn replay(&mut self, record: GroupRecord) -> GroupRecord {
        match record {
            GroupRecord::Epoch(key, value) => {
                let before = self.set_epoch(value.map(|value| (value.epoch, value.metadata_hash)));
                records::epoch(&key.group_id, before)
            }
            GroupRecord::Topics(key, value) => records::topics(&key.group_id, self.set_topics(value)),
            GroupRecord::Member(key, value) => {
                let before = self.set_about(&key.member_id, value);
                records::member(&key.group_id, &key.member_id, before)
            }
            GroupRecord::TargetEpoch(key, value) => {
                let read = |value: m::ConsumerGroupTargetAssignmentMetadataValue| {
                    (value.assignment_epoch, Timestamp(value.assignment_timestamp))
                };
                records::target_epoch(&key.group_id, self.set_target_epoch(value.map(read)))
            }
            GroupRecord::Target(key, value) => {
                let before = self.set_target(&key.member_id, value.map(read_target));
                records::target(&key.group_id, &key.member_id, before.as_ref())
            }
            GroupRecord::Current(key, value) => {
                let current = value.as_ref().map(Current::from_record);
                let before = self.set_current(&key.member_id, current);
                records::current(&key.group_id, &key.member_id, before.as_ref())
            }
            GroupRecord::Expression(key, value) => {
                let before = self.set_expression(&key.regular_expression, value);
                records::expression(&key.group_id, &key.regular_expression, before)
            }
            other @ (GroupRecord::Offset(..)
            | GroupRecord::TakesBack(_)
            | GroupRecord::Classic(..)
            | GroupRecord::Foreign { .. }) => panic!("a record of a consumer group: {other:?}"),
        }
    }

    /// The tombstones of the group with all that is in it.
    pub(crate) fn tombstones(&self, id: &str) -> Vec<GroupRecord> {
        let members = || self.members().map(|(member, _)| member);
        let mut all: Vec<GroupRecord> = members().map(|member| records::current(id, member, None)).collect();
        all.extend(self.targets().map(|member| records::target(id, member, None)));
        all.push(records::target_epoch(id, None));
        all.extend(members().map(|member| records::member(id, member, None)));
        all.extend(self.expressions().map(|(expression, _)| records::expression(id, expression, None)));
        all.push(records::topics(id, None));
        all.push(records::epoch(id, None));
        all
    }
}

fn read_target(value: m::ConsumerGroupTargetAssignmentMemberValue) -> Partitions {
    value
        .topic_partitions
        .into_iter()
        .map(|topic| (topic.topic_id, topic.partitions.into_iter().collect()))
        .collect()
}
