//! The classic protocol: members join, one of them assigns, all sync.

use std::sync::Arc;

use aplomb_model::{ErrorCode, Timestamp};
use aplomb_protocol::messages as m;

use super::table::GroupTable;
use super::{Caller, GroupRecord, GroupTurn, Groups};
use crate::runtime::Ticket;

/// A classic group.
#[derive(Debug)]
pub(crate) struct ClassicGroup {}

/// What is remembered about a write of a classic group.
#[derive(Debug)]
pub enum ClassicAfter {}

/// When offsets of a group expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Not while it is as it is.
    Never,
    /// So long after the group became what it is.
    Since(Timestamp),
    /// So long after they were committed.
    SinceCommit,
}

#[expect(unused_variables, reason = "to be written")]
impl ClassicGroup {
    /// A group of a client that only commits: no protocol type, no members; its offsets expire since
    /// they were committed.
    pub(crate) fn simple() -> Self {
        todo!()
    }

    /// Whether this member may commit in this generation (`validateOffsetCommit`).
    pub(crate) fn check_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        todo!()
    }

    /// Whether this member may fetch committed offsets (`validateOffsetFetch`: always).
    pub(crate) fn expiry(&self, topic: &str) -> Expiry {
        todo!()
    }

    /// Whether a member is subscribed to the topic, as far as members say in a way that we read.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        todo!()
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        todo!()
    }

    /// Whether its members are consumers; a simple group's are not.
    pub(crate) fn uses_consumer_protocol(&self) -> bool {
        todo!()
    }

    /// `DELETE` and `OffsetDelete` may take it, or why not.
    pub(crate) fn check_delete(&self) -> Result<(), ErrorCode> {
        todo!()
    }

    /// As `ListGroups` shows it: protocol type and state.
    pub(crate) fn listed(&self) -> (&str, &'static str) {
        todo!()
    }
}

#[expect(unused_variables, reason = "to be written")]
mod stubs {
    use super::*;

    pub(crate) fn replay(
        table: &mut GroupTable,
        key: m::GroupMetadataKey,
        value: Option<m::GroupMetadataValue>,
    ) -> GroupRecord {
        todo!()
    }
    pub(crate) fn on_loaded(groups: &mut Groups, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn join(
        groups: &mut Groups,
        ticket: Ticket,
        caller: &Caller,
        request: m::JoinGroupRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn sync(
        groups: &mut Groups,
        ticket: Ticket,
        caller: &Caller,
        request: m::SyncGroupRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn heartbeat(
        groups: &mut Groups,
        ticket: Ticket,
        request: &m::HeartbeatRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn leave(
        groups: &mut Groups,
        ticket: Ticket,
        caller: &Caller,
        request: &m::LeaveGroupRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn describe(
        table: &GroupTable,
        version: i16,
        group: String,
    ) -> m::describe_groups_response::DescribedGroup {
        todo!()
    }
    /// A commit of a member counts as its heartbeat.
    pub(crate) fn touch(groups: &mut Groups, group: &str, member: &str, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn on_session(
        groups: &mut Groups,
        group: &Arc<str>,
        member: &Arc<str>,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn on_join_timer(groups: &mut Groups, group: &Arc<str>, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn on_sync_timer(groups: &mut Groups, group: &Arc<str>, turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(crate) fn on_pending_timer(
        groups: &mut Groups,
        group: &Arc<str>,
        member: &Arc<str>,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(crate) fn on_written(
        groups: &mut Groups,
        after: ClassicAfter,
        written: Result<(), ErrorCode>,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    /// The tombstones of a group that is to go.
    pub(crate) fn tombstones(id: &str) -> Vec<GroupRecord> {
        vec![GroupRecord::Classic(m::GroupMetadataKey { group: id.to_owned() }, None)]
    }
}
pub(crate) use stubs::*;
