//! JoinGroup: a member joins a classic group, and waits for the others.

use std::time::Duration;

use aplomb_coordinator::group::{GroupAsk, GroupReply, JOIN_WITHOUT_PROTOCOL};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::join_group_request::JoinGroupRequest;
use aplomb_protocol::messages::join_group_response::JoinGroupResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{LONGEST, MOST_PROTOCOLS, ask_one, caller};
use crate::operation::{Api, Asked, Begun, Cell};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::JoinGroup, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: JoinGroupRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Read, On::Group(&request.group_id)) {
        return asked.answer(&refused(asked.to.version, String::new(), error));
    }
    if request.group_id.is_empty() {
        return asked.answer(&refused(asked.to.version, request.member_id, ErrorCode::InvalidGroupId));
    }
    if request.protocols.len() > MOST_PROTOCOLS {
        return asked.answer(&refused(asked.to.version, request.member_id, ErrorCode::InvalidRequest));
    }
    let waits =
        Duration::from_millis(request.rebalance_timeout_ms.max(request.session_timeout_ms).max(0) as u64);
    let group = request.group_id.clone();
    let late = refused(asked.to.version, request.member_id.clone(), ErrorCode::CoordinatorNotAvailable);
    let ask = GroupAsk::Join(caller(asked), request);
    ask_one(asked, &group, ask, late, fill, (2 * waits).min(LONGEST) + Duration::from_secs(600))
}

fn refused(version: i16, member_id: String, error: ErrorCode) -> JoinGroupResponse {
    let protocol_name = (version < JOIN_WITHOUT_PROTOCOL).then(String::new);
    let error_code = error.to_wire();
    JoinGroupResponse { error_code, generation_id: -1, protocol_name, member_id, ..Default::default() }
}

fn fill(response: &mut JoinGroupResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    match reply {
        Ok(GroupReply::Join(joined)) => *response = joined,
        Ok(other) => unreachable!("a join is answered {other:?}"),
        Err(error) => response.error_code = error.to_wire(),
    }
}
