//! What clients of the classic protocol ask: JoinGroup, SyncGroup, Heartbeat and LeaveGroup. Their
//! group is a classic one, or a consumer group that has members of both protocols.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::state::classic::{Waiting, millis};
use super::state::{GroupTurn, Groups};
use super::{Caller, GroupReply, classic, consumer};
use crate::runtime::Ticket;

/// From this version on SyncGroup says in which protocol it is.
const SYNC_NAMES_PROTOCOL: i16 = 5;

pub(super) fn join(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: m::JoinGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let waiting = Waiting { ticket, version: caller.version };
    if request.group_id.is_empty() {
        return classic::refuse_join(waiting, &request.member_id, ErrorCode::InvalidGroupId, turn);
    }
    let timeouts = &turn.world.settings().classic.session_timeouts;
    if request.session_timeout_ms < 0 || !timeouts.contains(&millis(request.session_timeout_ms)) {
        return classic::refuse_join(waiting, &request.member_id, ErrorCode::InvalidSessionTimeout, turn);
    }
    if groups.table.consumer(&request.group_id).is_some_and(|group| !group.is_empty()) {
        consumer::join(groups, ticket, caller, request, turn);
    } else {
        classic::join(groups, waiting, caller, request, turn);
    }
}

pub(super) fn sync(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: m::SyncGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let waiting = Waiting { ticket, version: caller.version };
    let names_none = request.protocol_type.is_none() || request.protocol_name.is_none();
    if caller.version >= SYNC_NAMES_PROTOCOL && names_none {
        return classic::refuse_sync(waiting, ErrorCode::InconsistentGroupProtocol, turn);
    }
    if request.group_id.is_empty() {
        return classic::refuse_sync(waiting, ErrorCode::InvalidGroupId, turn);
    }
    if groups.table.consumer(&request.group_id).is_some() {
        return consumer::sync(groups, ticket, request, turn);
    }
    if groups.table.classic(&request.group_id).is_none() {
        return classic::refuse_sync(waiting, ErrorCode::UnknownMemberId, turn);
    }
    let id = groups.table.id(&request.group_id);
    groups.table.change_classic(&id, |group| group.sync(waiting, request, turn));
}

pub(super) fn heartbeat(
    groups: &Groups,
    ticket: Ticket,
    request: &m::HeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) {
    let error = match groups.table.classic(&request.group_id) {
        _ if request.group_id.is_empty() => ErrorCode::InvalidGroupId,
        Some(group) => group.heartbeat(request, turn),
        None => consumer::heartbeat_of_classic(groups, request, turn),
    };
    let response = m::HeartbeatResponse { error_code: error.to_wire(), ..Default::default() };
    // It does not wait for the log: a member is there whether a disk is or not.
    turn.answer_at_once(ticket, GroupReply::Heartbeat(response));
}

pub(super) fn leave(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: &m::LeaveGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    if request.group_id.is_empty() {
        let error_code = ErrorCode::InvalidGroupId.to_wire();
        let response = m::LeaveGroupResponse { error_code, ..Default::default() };
        return turn.answer_at_once(ticket, GroupReply::Leave(response));
    }
    let leaving = classic::leaving(request, caller.version);
    let left = match groups.table.consumer(&request.group_id) {
        Some(_) => Some(consumer::leave_by_admin(groups, &request.group_id, &leaving, turn)),
        None => groups.table.change_classic(&request.group_id, |group| group.leave(&leaving, turn)),
    };
    let results = left.unwrap_or_else(|| vec![ErrorCode::UnknownMemberId; leaving.len()]);
    let response = classic::respond_to_leave(leaving, &results, caller.version);
    turn.answer(ticket, GroupReply::Leave(response));
}
