//! OffsetFetch, of one group.

use std::sync::Arc;

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use aplomb_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};

use crate::group::GroupReply;
use crate::group::long::PIECE;
use crate::group::state::offsets::Committed;
use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups, Long};

/// How far the list of a group's offsets has come.
#[derive(Debug)]
enum Wanted {
    /// These, of which the topic and the partition with these places are next.
    Named(Vec<OffsetFetchRequestTopics>, (usize, usize)),
    /// All, of which those up to this topic and partition are listed.
    All(Option<(Arc<str>, i32)>),
}

/// What is committed, as it is being listed. The answer waits for what is being written, and so do
/// those of clients that do not ask for that (`RequireStable`): in this broker a write is kept at
/// once.
#[derive(Debug)]
pub(in crate::group) struct FetchQuestion {
    group: String,
    member: Option<String>,
    member_epoch: i32,
    require_stable: bool,
    wanted: Wanted,
    topics: Vec<OffsetFetchResponseTopics>,
}

impl FetchQuestion {
    pub(in crate::group) fn new(asked: OffsetFetchRequestGroup, require_stable: bool) -> Self {
        Self {
            group: asked.group_id,
            member: asked.member_id,
            member_epoch: asked.member_epoch,
            require_stable,
            wanted: asked.topics.map_or(Wanted::All(None), |topics| Wanted::Named(topics, (0, 0))),
            topics: Vec::new(),
        }
    }

    fn respond(&mut self, error: ErrorCode) -> GroupReply {
        GroupReply::Fetch(OffsetFetchResponseGroup {
            group_id: std::mem::take(&mut self.group),
            topics: std::mem::take(&mut self.topics),
            error_code: error.to_wire(),
        })
    }
}

impl Long for FetchQuestion {
    fn go_on(&mut self, groups: &mut Groups, turn: &mut GroupTurn<'_>) -> Option<GroupReply> {
        let checked = match groups.table.get(&self.group) {
            Some(Group::Consumer(group)) => group.check_fetch(self.member.as_deref(), self.member_epoch),
            Some(Group::Classic(_) | Group::Foreign(_)) | None => Ok(()),
        };
        if let Err(error) = checked {
            self.topics.clear();
            return Some(self.respond(error));
        }
        let group = self.group.as_str();
        let shown = |topic: &str, index: i32, id: TopicId, found: Option<&Committed>| {
            if self.require_stable && groups.offsets.is_open(group, topic, index) {
                return shown(index, None, ErrorCode::UnstableOffsetCommit);
            }
            let is_same =
                |found: &&Committed| [id, TopicId::ZERO].contains(&found.topic_id) || id == TopicId::ZERO;
            shown(index, found.filter(is_same), ErrorCode::None)
        };
        let mut left = PIECE;
        match &mut self.wanted {
            Wanted::Named(topics, next) => {
                while let Some(topic) = topics.get(next.0) {
                    if left == 0 {
                        return None;
                    }
                    if next.1 == 0 {
                        self.topics.push(named(&topic.name, topic.topic_id));
                    }
                    let answered = self.topics.last_mut().expect("the topic is there");
                    for index in topic.partition_indexes[next.1..].iter().take(left) {
                        let found = groups.offsets.get(group, &topic.name, *index);
                        answered.partitions.push(shown(&topic.name, *index, topic.topic_id, found));
                        next.1 += 1;
                        left -= 1;
                    }
                    if next.1 == topic.partition_indexes.len() {
                        *next = (next.0 + 1, 0);
                        left = left.saturating_sub(1);
                    }
                }
            }
            Wanted::All(done) => {
                let place = done.take();
                let after = place.as_ref().map(|(topic, index)| (&**topic, *index));
                for (name, index, found) in groups.offsets.after(group, after).take(PIECE) {
                    if self.topics.last().is_none_or(|topic| topic.name != **name) {
                        let id = turn.world.topic(name).map_or(TopicId::ZERO, |topic| topic.id);
                        self.topics.push(named(name, id));
                    }
                    let answered = self.topics.last_mut().expect("the topic is there");
                    answered.partitions.push(shown(name, index, answered.topic_id, Some(found)));
                    *done = Some((name.clone(), index));
                    left -= 1;
                }
                if left == 0 {
                    return None;
                }
            }
        }
        Some(self.respond(ErrorCode::None))
    }
}

fn named(name: &str, topic_id: TopicId) -> OffsetFetchResponseTopics {
    OffsetFetchResponseTopics { name: name.to_owned(), topic_id, partitions: Vec::new() }
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
