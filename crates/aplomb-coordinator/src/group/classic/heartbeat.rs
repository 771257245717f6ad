//! Heartbeat, and what else shows that a member is there.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicGroup, State};

impl ClassicGroup {
    pub(crate) fn heartbeat(&self, request: &m::HeartbeatRequest, turn: &mut GroupTurn<'_>) -> ErrorCode {
        let (id, member) = match self.check_member(&request.member_id, request.group_instance_id.as_deref()) {
            Ok(found) => found,
            Err(error) => return error,
        };
        if request.generation_id != self.generation() {
            return ErrorCode::IllegalGeneration;
        }
        self.begin_session(id, member, turn);
        match self.state() {
            State::Preparing { .. } => ErrorCode::RebalanceInProgress,
            // A member may send heartbeats before it has its assignment.
            State::Completing { .. } | State::Stable => ErrorCode::None,
            State::Empty => unreachable!("an empty group has no members"),
        }
    }

    /// A member has committed offsets, which was let pass.
    pub(super) fn touch(&self, member: &str, turn: &mut GroupTurn<'_>) {
        if !matches!(self.state(), State::Completing { .. }) {
            self.restart_session(member, turn);
        }
    }
}
