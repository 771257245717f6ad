//! SyncGroup: the leader of a classic group says who gets what, and all others are told.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::sync_group_request::SyncGroupRequest;
use aplomb_protocol::messages::sync_group_response::SyncGroupResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{LONGEST, MOST_NAMED, ask_one, caller};
use crate::operation::{Api, Asked, Begun, Cell};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::SyncGroup, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: SyncGroupRequest = asked.decode()?;
    if let Err(error) = asked.access().check(AclOperation::Read, On::Group(&request.group_id)) {
        return asked.answer(&refused(error));
    }
    if request.group_id.is_empty() {
        return asked.answer(&refused(ErrorCode::InvalidGroupId));
    }
    if request.assignments.len() > MOST_NAMED {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    let group = request.group_id.clone();
    let ask = GroupAsk::Sync(caller(asked), request);
    ask_one(asked, &group, ask, refused(ErrorCode::CoordinatorNotAvailable), fill, LONGEST)
}

fn refused(error: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut SyncGroupResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    match reply {
        Ok(GroupReply::Sync(synced)) => *response = synced,
        Ok(other) => unreachable!("a sync is answered {other:?}"),
        Err(error) => response.error_code = error.to_wire(),
    }
}
