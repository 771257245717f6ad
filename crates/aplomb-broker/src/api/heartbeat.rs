//! Heartbeat: a member of a classic group lives.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::heartbeat_request::HeartbeatRequest;
use aplomb_protocol::messages::heartbeat_response::HeartbeatResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::ask_one;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::Heartbeat, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: HeartbeatRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Read, On::Group(&request.group_id)) {
        return asked.answer(&answered(error));
    }
    if request.group_id.is_empty() {
        return asked.answer(&answered(ErrorCode::InvalidGroupId));
    }
    let group = request.group_id.clone();
    let late = answered(ErrorCode::CoordinatorNotAvailable);
    ask_one(asked, &group, GroupAsk::Heartbeat(request), late, fill, PATIENCE)
}

fn answered(error: ErrorCode) -> HeartbeatResponse {
    HeartbeatResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut HeartbeatResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    *response = match reply {
        Ok(GroupReply::Heartbeat(beaten)) => beaten,
        Ok(other) => unreachable!("a heartbeat is answered {other:?}"),
        // Its session begins anew when the group is loaded: no member need join again for that.
        Err(ErrorCode::CoordinatorLoadInProgress) => answered(ErrorCode::None),
        Err(error) => answered(error),
    };
}
