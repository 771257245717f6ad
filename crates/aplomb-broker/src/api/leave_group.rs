//! LeaveGroup: members leave a group, or an operator has them leave.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::leave_group_request::LeaveGroupRequest;
use aplomb_protocol::messages::leave_group_response::LeaveGroupResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_CHANGED, ask_one, caller};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::LeaveGroup, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: LeaveGroupRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Read, On::Group(&request.group_id)) {
        return asked.answer(&refused(error));
    }
    if request.group_id.is_empty() {
        return asked.answer(&refused(ErrorCode::InvalidGroupId));
    }
    if request.members.len() > MOST_CHANGED {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    let group = request.group_id.clone();
    let ask = GroupAsk::Leave(caller(asked), request);
    ask_one(asked, &group, ask, refused(ErrorCode::CoordinatorNotAvailable), fill, PATIENCE)
}

fn refused(error: ErrorCode) -> LeaveGroupResponse {
    LeaveGroupResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut LeaveGroupResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    *response = match reply {
        Ok(GroupReply::Leave(left)) => left,
        Ok(other) => unreachable!("a leave is answered {other:?}"),
        Err(error) => refused(error),
    };
}
