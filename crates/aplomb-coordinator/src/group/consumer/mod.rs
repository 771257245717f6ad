//! The consumer protocol (KIP-848): the coordinator assigns, members reconcile.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::table::GroupTable;
use super::world::World;
use super::{Caller, GroupRecord, GroupTurn, Groups};
use crate::runtime::Ticket;

/// A consumer group.
#[derive(Debug)]
pub(crate) struct ConsumerGroup {}

#[expect(unused_variables, reason = "to be written")]
impl ConsumerGroup {
    /// Whether this member may commit in this epoch (`validateOffsetCommit`), these partitions by
    /// name. `version` is the request's.
    pub(crate) fn check_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        epoch: i32,
        version: i16,
        topics: &[m::offset_commit_request::OffsetCommitRequestTopic],
        world: &dyn World,
    ) -> Result<(), ErrorCode> {
        todo!()
    }

    /// Whether this member may fetch committed offsets in this epoch (`validateOffsetFetch`).
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        todo!()
    }

    /// Whether a member is subscribed to the topic.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        todo!()
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        todo!()
    }

    /// Its state as `ListGroups` shows it.
    pub(crate) fn state(&self) -> &'static str {
        todo!()
    }

    /// The tombstones of the group with all that is in it.
    pub(crate) fn tombstones(&self, id: &str) -> Vec<GroupRecord> {
        todo!()
    }
}

#[expect(unused_variables, reason = "to be written")]
mod stubs {
    use super::*;

    pub(crate) fn replay(table: &mut GroupTable, record: GroupRecord) -> GroupRecord {
        todo!()
    }
    pub(crate) fn on_loaded(groups: &mut Groups, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn heartbeat(
        groups: &mut Groups,
        ticket: Ticket,
        caller: &Caller,
        request: m::ConsumerGroupHeartbeatRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn describe(
        table: &GroupTable,
        group: String,
        world: &dyn World,
    ) -> m::consumer_group_describe_response::DescribedGroup {
        todo!()
    }
    pub(crate) fn on_member_timer(
        groups: &mut Groups,
        group: &Arc<str>,
        member: &Arc<str>,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn resolve_expressions(groups: &mut Groups, group: &Arc<str>, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn on_taken_back(groups: &mut Groups, records: &[GroupRecord], turn: &mut GroupTurn<'_>) {
        todo!()
    }
}
pub(crate) use stubs::*;
