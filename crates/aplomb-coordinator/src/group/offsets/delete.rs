//! OffsetDelete: a group forgets how far it has come.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use crate::group::long::PIECE;
use crate::group::state::offsets::tombstone;
use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups, Long};
use crate::group::{GroupEvent, GroupReply};

/// Offsets that are being deleted.
#[derive(Debug)]
pub(in crate::group) struct OffsetDeleteQuestion {
    request: m::OffsetDeleteRequest,
    /// The topic and the partition, by their places in the request, that are next.
    next: (usize, usize),
    topics: Vec<OffsetDeleteResponseTopic>,
}

impl OffsetDeleteQuestion {
    pub(in crate::group) fn new(request: m::OffsetDeleteRequest) -> Self {
        Self { request, next: (0, 0), topics: Vec::new() }
    }
}

impl Long for OffsetDeleteQuestion {
    fn go_on(&mut self, groups: &mut Groups, turn: &mut GroupTurn<'_>) -> Option<GroupReply> {
        let id = self.request.group_id.as_str();
        if let Err(error) = groups.check_delete_offsets(id) {
            let response = m::OffsetDeleteResponse { error_code: error.to_wire(), ..Default::default() };
            return Some(GroupReply::DeleteOffsets(response));
        }
        let mut left = PIECE;
        while let Some(topic) = self.request.topics.get(self.next.0) {
            if left == 0 {
                return None;
            }
            if self.next.1 == 0 {
                let name = topic.name.clone();
                self.topics.push(OffsetDeleteResponseTopic { name, partitions: Vec::new() });
            }
            let answered = self.topics.last_mut().expect("the topic is there");
            let is_subscribed = groups.is_subscribed(id, &topic.name);
            let code = if is_subscribed { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None };
            for partition in topic.partitions[self.next.1..].iter().take(left) {
                let index = partition.partition_index;
                if !is_subscribed && groups.offsets.get(id, &topic.name, index).is_some() {
                    groups.apply(tombstone(id, &topic.name, index), turn);
                    groups.count(GroupEvent::OffsetDeleted, 1);
                    turn.end_unit();
                }
                let error_code = code.to_wire();
                answered
                    .partitions
                    .push(OffsetDeleteResponsePartition { partition_index: index, error_code });
                self.next.1 += 1;
                left -= 1;
            }
            if self.next.1 == topic.partitions.len() {
                self.next = (self.next.0 + 1, 0);
                left = left.saturating_sub(1);
            }
        }
        let topics = std::mem::take(&mut self.topics);
        Some(GroupReply::DeleteOffsets(m::OffsetDeleteResponse { topics, ..Default::default() }))
    }
}

impl Groups {
    fn check_delete_offsets(&self, id: &str) -> Result<(), ErrorCode> {
        match self.table.get(id) {
            None | Some(Group::Foreign(_)) => Err(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(group)) if !group.is_empty() && !group.uses_consumer_protocol() => {
                Err(ErrorCode::NonEmptyGroup)
            }
            Some(Group::Classic(_) | Group::Consumer(_)) => Ok(()),
        }
    }

    /// Whether a member of the group is subscribed to the topic.
    fn is_subscribed(&self, group: &str, topic: &str) -> bool {
        match self.table.get(group) {
            Some(Group::Classic(group)) => group.is_subscribed_to(topic),
            Some(Group::Consumer(group)) => group.is_subscribed_to(topic),
            Some(Group::Foreign(_)) | None => false,
        }
    }
}
