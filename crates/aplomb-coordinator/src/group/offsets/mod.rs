//! Committed offsets.

use std::sync::Arc;

use aplomb_model::{ProducerId, TopicId};
use aplomb_protocol::messages as m;

use super::{Caller, GroupRecord, GroupTurn, Groups};
use crate::runtime::Ticket;

/// Committed offsets by group, topic and partition.
#[derive(Debug, Default)]
pub(super) struct Offsets {}

#[expect(unused_variables, reason = "to be written")]
impl Offsets {
    pub(super) fn replay(
        &mut self,
        key: m::OffsetCommitKey,
        value: Option<m::OffsetCommitValue>,
        producer: Option<ProducerId>,
    ) -> GroupRecord {
        todo!()
    }
    pub(super) fn replay_marker(&mut self, producer: ProducerId, is_committed: bool) {
        todo!()
    }
}

#[expect(unused_variables, reason = "to be written")]
impl Groups {
    pub(super) fn commit(
        &mut self,
        ticket: Ticket,
        caller: &Caller,
        request: m::OffsetCommitRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(super) fn fetch(
        &mut self,
        ticket: Ticket,
        group: m::offset_fetch_request::OffsetFetchRequestGroup,
        require_stable: bool,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(super) fn delete_offsets(
        &mut self,
        ticket: Ticket,
        request: m::OffsetDeleteRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        todo!()
    }
    pub(super) fn forget_topics(&mut self, topics: &[(Arc<str>, TopicId)], turn: &mut GroupTurn<'_>) {
        todo!()
    }
    pub(super) fn expire(&mut self, turn: &mut GroupTurn<'_>) {
        todo!()
    }
}
