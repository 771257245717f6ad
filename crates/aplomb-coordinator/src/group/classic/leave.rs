//! LeaveGroup: of members that go, or that an operator takes out by their instance id.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::leave_group_request::MemberIdentity;
use aplomb_protocol::messages::leave_group_response::MemberResponse;

use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicGroup, State};

/// From this version on several members can leave at once, and each has a result.
const SEVERAL: i16 = 3;

/// The members that a request names.
pub(crate) fn leaving(request: &m::LeaveGroupRequest, version: i16) -> Vec<MemberIdentity> {
    if version >= SEVERAL {
        return request.members.clone();
    }
    vec![MemberIdentity { member_id: request.member_id.clone(), ..Default::default() }]
}

/// The response: a result for each member, or for the only one.
pub(crate) fn respond(
    leaving: Vec<MemberIdentity>,
    results: &[ErrorCode],
    version: i16,
) -> m::LeaveGroupResponse {
    if version < SEVERAL {
        let error = results.first().copied().unwrap_or(ErrorCode::None);
        return m::LeaveGroupResponse { error_code: error.to_wire(), ..Default::default() };
    }
    let members = leaving.into_iter().zip(results).map(|(who, result)| MemberResponse {
        member_id: who.member_id,
        group_instance_id: who.group_instance_id,
        error_code: result.to_wire(),
    });
    m::LeaveGroupResponse { members: members.collect(), ..Default::default() }
}

impl ClassicGroup {
    /// Gives a result for each.
    pub(crate) fn leave(&mut self, leaving: &[MemberIdentity], turn: &mut GroupTurn<'_>) -> Vec<ErrorCode> {
        let results: Vec<ErrorCode> = leaving.iter().map(|who| self.leave_one(who, turn)).collect();
        if results.contains(&ErrorCode::None) {
            let reason = leaving.iter().find_map(|who| who.reason.as_deref()).unwrap_or("not provided");
            match self.state() {
                State::Stable | State::Completing { .. } => {
                    self.prepare(&format!("members have left; client reason: {reason}"), turn);
                }
                State::Preparing { .. } => self.complete_join_if_all_have_come(turn),
                State::Empty => {}
            }
        }
        results
    }

    fn leave_one(&mut self, who: &MemberIdentity, turn: &mut GroupTurn<'_>) -> ErrorCode {
        let instance = who.group_instance_id.as_deref();
        let id: Arc<str> = if who.member_id.is_empty() {
            // An operator takes a static member out.
            match instance.and_then(|instance| self.instance(instance)) {
                Some(id) => id.clone(),
                None => return ErrorCode::UnknownMemberId,
            }
        } else {
            who.member_id.as_str().into()
        };
        if self.drop_pending(&id, turn) {
            return ErrorCode::None;
        }
        if let Err(error) = self.check_member(&id, instance) {
            return error;
        }
        self.drop_member(&id, turn);
        ErrorCode::None
    }
}
