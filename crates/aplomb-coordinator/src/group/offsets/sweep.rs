//! OffsetDelete, and offsets that go by themselves: expired ones, and those of topics that are
//! gone.
//!
//! A sweep looks at every group, some in a turn, so that a million offsets make no client wait.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_delete_response::{
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use crate::group::state::classic::Expiry;
use crate::group::state::offsets::tombstone;
use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupReply, GroupTimer};
use crate::runtime::Ticket;

/// So many offsets are looked at in a turn, but for a single group that has more.
const OFFSETS_A_TURN: usize = 1_000;
/// Groups without offsets count as so many.
const GROUP: usize = 10;

impl Groups {
    pub(in crate::group) fn delete_offsets(
        &mut self,
        ticket: Ticket,
        request: m::OffsetDeleteRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        let id = request.group_id.as_str();
        let refused = match self.table.get(id) {
            None | Some(Group::Foreign(_)) => Some(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(group)) if !group.is_empty() && !group.uses_consumer_protocol() => {
                Some(ErrorCode::NonEmptyGroup)
            }
            Some(Group::Classic(_) | Group::Consumer(_)) => None,
        };
        if let Some(error) = refused {
            let response = m::OffsetDeleteResponse { error_code: error.to_wire(), ..Default::default() };
            return turn.answer(ticket, GroupReply::DeleteOffsets(response));
        }
        let topics = request.topics.iter().map(|topic| {
            let is_subscribed = self.is_subscribed(id, &topic.name);
            let partitions = topic.partitions.iter().map(|partition| {
                let index = partition.partition_index;
                let error = if is_subscribed { ErrorCode::GroupSubscribedToTopic } else { ErrorCode::None };
                if !is_subscribed && self.offsets.get(id, &topic.name, index).is_some() {
                    self.apply(tombstone(id, &topic.name, index), turn);
                }
                OffsetDeleteResponsePartition { partition_index: index, error_code: error.to_wire() }
            });
            let partitions = partitions.collect();
            OffsetDeleteResponseTopic { partitions, name: topic.name.clone() }
        });
        let topics = topics.collect();
        let response = m::OffsetDeleteResponse { topics, ..Default::default() };
        turn.answer(ticket, GroupReply::DeleteOffsets(response));
    }

    /// Whether a member of the group is subscribed to the topic.
    fn is_subscribed(&self, group: &str, topic: &str) -> bool {
        match self.table.get(group) {
            Some(Group::Classic(group)) => group.is_subscribed_to(topic),
            Some(Group::Consumer(group)) => group.is_subscribed_to(topic),
            Some(Group::Foreign(_)) | None => false,
        }
    }

    /// Topics are gone: so are the offsets that were committed for them.
    pub(in crate::group) fn forget_topics(
        &mut self,
        topics: &[(Arc<str>, TopicId)],
        turn: &mut GroupTurn<'_>,
    ) {
        for (name, id) in topics {
            self.offsets.sweep.add_gone(name.clone(), *id);
        }
        self.begin_sweep();
        self.sweep(turn);
    }

    /// Time to look for what has expired, or to go on with that.
    pub(in crate::group) fn expire(&mut self, turn: &mut GroupTurn<'_>) {
        if !self.offsets.sweep.is_under_way() {
            self.begin_sweep();
        }
        self.sweep(turn);
    }

    fn begin_sweep(&mut self) {
        self.offsets.sweep.begin(self.table.iter().map(|(id, _)| id.clone()));
    }

    /// Looks at some more groups.
    fn sweep(&mut self, turn: &mut GroupTurn<'_>) {
        let mut looked = 0;
        while looked < OFFSETS_A_TURN {
            let Some(id) = self.offsets.sweep.next_group() else {
                let interval = turn.world.settings().offsets.check_interval;
                return turn.set_timer(GroupTimer::Expiry, interval);
            };
            looked += GROUP + self.sweep_group(&id, turn);
            turn.end_unit();
        }
        turn.set_timer(GroupTimer::Expiry, Duration::ZERO);
    }

    /// Takes out what is over of a group; of one that then has neither members nor offsets, the
    /// group itself. Gives how many offsets were looked at.
    fn sweep_group(&mut self, id: &Arc<str>, turn: &mut GroupTurn<'_>) -> usize {
        let group = self.table.get(id);
        let retention =
            i64::try_from(turn.world.settings().offsets.retention.as_millis()).unwrap_or(i64::MAX);
        let now = turn.now.wall.0;
        let is_over = |since: i64| since.saturating_add(retention) <= now;
        let mut over = Vec::new();
        let mut looked = 0;
        for (topic, offsets) in self.offsets.of(id) {
            let expiry = match group {
                Some(Group::Classic(group)) => group.expiry(topic),
                Some(Group::Consumer(group)) if group.is_subscribed_to(topic) => Expiry::Never,
                Some(Group::Consumer(_)) | None => Expiry::SinceCommit,
                Some(Group::Foreign(_)) => Expiry::Never,
            };
            for (index, committed) in offsets {
                looked += 1;
                let has_expired = match expiry {
                    Expiry::Never => false,
                    _ if committed.expires_at >= 0 => committed.expires_at <= now,
                    Expiry::Since(since) => is_over(since.0),
                    Expiry::SinceCommit => is_over(committed.committed_at),
                };
                let is_open = self.offsets.is_open(id, topic, *index);
                if self.offsets.sweep.is_gone(topic, committed) || (has_expired && !is_open) {
                    over.push(tombstone(id, topic, *index));
                }
            }
        }
        for (n, record) in over.into_iter().enumerate() {
            if n % OFFSETS_A_TURN == OFFSETS_A_TURN - 1 {
                turn.end_unit();
            }
            self.apply(record, turn);
        }
        if !self.offsets.has(id) {
            self.remove_if_empty(id, turn);
        }
        looked
    }
}
