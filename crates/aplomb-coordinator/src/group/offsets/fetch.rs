//! OffsetFetch, of one group.

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use aplomb_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};

use crate::group::GroupReply;
use crate::group::state::offsets::Committed;
use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups};
use crate::runtime::Ticket;

impl Groups {
    /// Fetches what is committed. The answer waits for what is being written, and so do those of
    /// clients that do not ask for that (`RequireStable`): in this broker a write is kept at once.
    pub(in crate::group) fn fetch(
        &mut self,
        ticket: Ticket,
        asked: OffsetFetchRequestGroup,
        require_stable: bool,
        turn: &mut GroupTurn<'_>,
    ) {
        let mut response = OffsetFetchResponseGroup { group_id: asked.group_id, ..Default::default() };
        let group = response.group_id.as_str();
        let checked = match self.table.get(group) {
            Some(Group::Consumer(group)) => group.check_fetch(asked.member_id.as_deref(), asked.member_epoch),
            Some(Group::Classic(_) | Group::Foreign(_)) | None => Ok(()),
        };
        if let Err(error) = checked {
            response.error_code = error.to_wire();
            return turn.answer(ticket, GroupReply::Fetch(response));
        }
        let shown = |topic: &str, index: i32, id: TopicId, found: Option<&Committed>| {
            if require_stable && self.offsets.is_open(group, topic, index) {
                return shown(index, None, ErrorCode::UnstableOffsetCommit);
            }
            let is_same =
                |found: &&Committed| [id, TopicId::ZERO].contains(&found.topic_id) || id == TopicId::ZERO;
            shown(index, found.filter(is_same), ErrorCode::None)
        };
        let topics = match asked.topics {
            Some(topics) => topics
                .into_iter()
                .map(|topic| {
                    let partitions = topic.partition_indexes.iter().map(|index| {
                        let found = self.offsets.get(group, &topic.name, *index);
                        shown(&topic.name, *index, topic.topic_id, found)
                    });
                    let partitions = partitions.collect();
                    OffsetFetchResponseTopics { partitions, name: topic.name, topic_id: topic.topic_id }
                })
                .collect(),
            None => self
                .offsets
                .of(group)
                .map(|(name, offsets)| {
                    let id = turn.world.topic(name).map_or(TopicId::ZERO, |topic| topic.id);
                    let partitions =
                        offsets.iter().map(|(index, found)| shown(name, *index, id, Some(found)));
                    let partitions = partitions.collect();
                    OffsetFetchResponseTopics { partitions, name: name.to_string(), topic_id: id }
                })
                .collect(),
        };
        response.topics = topics;
        turn.answer(ticket, GroupReply::Fetch(response));
    }
}

fn shown(index: i32, found: Option<&Committed>, error: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index: index,
        committed_offset: found.map_or(-1, |found| found.offset),
        committed_leader_epoch: found.map_or(-1, |found| found.leader_epoch),
        metadata: Some(found.map_or_else(String::new, |found| found.metadata.to_string())),
        error_code: error.to_wire(),
    }
}
