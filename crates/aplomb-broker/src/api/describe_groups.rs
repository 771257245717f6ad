//! DescribeGroups: classic groups, with their members.

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_groups_request::DescribeGroupsRequest;
use aplomb_protocol::messages::describe_groups_response::{DescribeGroupsResponse, DescribedGroup};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_NAMED, coordinator_of, once};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::DescribeGroups, begin);

/// What a client may do that did not ask for it.
const NOT_ASKED: i32 = i32::MIN;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeGroupsRequest = asked.decode()?;
    let (access, is_asked) = (asked.access(), request.include_authorized_operations);
    let operations = |group: &str| if is_asked { access.operations(On::Group(group)) } else { NOT_ASKED };
    let names = once(request.groups);
    let groups = names.iter().map(|group| DescribedGroup {
        group_id: group.clone(),
        error_code: ErrorCode::CoordinatorNotAvailable.to_wire(),
        authorized_operations: operations(group),
        ..Default::default()
    });
    let response = DescribeGroupsResponse { groups: groups.collect(), ..Default::default() };
    let is_too_much = names.len() > MOST_NAMED;
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (n, group) in names.into_iter().enumerate() {
        if is_too_much {
            scatter.fill((n, 0), ErrorCode::InvalidRequest);
            continue;
        }
        if let Err(error) = access.check(AclOperation::Describe, On::Group(&group)) {
            scatter.fill((n, 0), error);
            continue;
        }
        match coordinator_of(&group, asked.view.image()) {
            Some(key) => scatter.ask((n, 0), key, GroupAsk::Describe(asked.to.version, group), asked.calls),
            None => scatter.fill((n, 0), ErrorCode::NotCoordinator),
        }
    }
    asked.wait(scatter, PATIENCE)
}

fn fill(response: &mut DescribeGroupsResponse, (n, _): Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    let group = &mut response.groups[n];
    match reply {
        Ok(GroupReply::Describe(described)) => {
            let is_known = described.error_code == ErrorCode::None.to_wire();
            let authorized_operations = if is_known { group.authorized_operations } else { NOT_ASKED };
            *group = DescribedGroup { authorized_operations, ..described };
        }
        Ok(other) => unreachable!("a question for a group is answered {other:?}"),
        Err(error) => {
            group.error_code = error.to_wire();
            group.authorized_operations = NOT_ASKED;
        }
    }
}
