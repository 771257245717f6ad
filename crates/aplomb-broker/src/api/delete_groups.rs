//! DeleteGroups: empty groups go, with the offsets that they have committed.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::delete_groups_request::DeleteGroupsRequest;
use aplomb_protocol::messages::delete_groups_response::{DeletableGroupResult, DeleteGroupsResponse};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_NAMED, coordinator_of, once};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::DeleteGroups, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DeleteGroupsRequest = asked.decode()?;
    let names = once(request.groups_names);
    let is_too_much = names.len() > MOST_NAMED;
    let results = names.iter().map(|group| DeletableGroupResult {
        group_id: group.clone(),
        error_code: ErrorCode::CoordinatorNotAvailable.to_wire(),
        error_message: None,
    });
    let response = DeleteGroupsResponse { results: results.collect(), ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (n, group) in names.into_iter().enumerate() {
        if is_too_much {
            scatter.fill((n, 0), ErrorCode::InvalidRequest);
            continue;
        }
        if let Err(error) = asked.access().check(AclOperation::Delete, On::Group(&group)) {
            scatter.fill((n, 0), error);
            continue;
        }
        match coordinator_of(&group, asked.view.image()) {
            Some(key) => scatter.ask((n, 0), key, GroupAsk::Delete(group), asked.calls),
            None => scatter.fill((n, 0), ErrorCode::NotCoordinator),
        }
    }
    asked.wait(scatter, PATIENCE)
}

fn fill(response: &mut DeleteGroupsResponse, (n, _): Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    match reply {
        Ok(GroupReply::Delete(result)) => response.results[n] = result,
        Ok(other) => unreachable!("a deletion is answered {other:?}"),
        Err(error) => response.results[n].error_code = error.to_wire(),
    }
}
