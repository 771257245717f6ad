//! ListGroups: the groups that this broker coordinates, of all types.

use std::sync::Arc;

use aplomb_coordinator::group::{GroupAsk, GroupFilter, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::list_groups_request::ListGroupsRequest;
use aplomb_protocol::messages::list_groups_response::ListGroupsResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::MOST_NAMED;
use crate::calls::PartitionKey;
use crate::metadata::OFFSETS_TOPIC;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::ListGroups, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ListGroupsRequest = asked.decode()?;
    if request.states_filter.len() + request.types_filter.len() > MOST_NAMED {
        let error_code = ErrorCode::InvalidRequest.to_wire();
        return asked.answer(&ListGroupsResponse { error_code, ..Default::default() });
    }
    let sees_all = asked.access().may_quietly(AclOperation::Describe, On::Cluster);
    let filter = Arc::new(GroupFilter::new(&request.states_filter, &request.types_filter));
    let mut scatter = Scatter::new(asked.to, ListGroupsResponse::default(), fill);
    if let Some(topic) = asked.view.image().topics.by_name(OFFSETS_TOPIC) {
        for (n, partition) in topic.partitions.keys().enumerate() {
            let key = PartitionKey { topic: topic.id, partition: *partition };
            scatter.ask((n, 0), key, GroupAsk::List(filter.clone()), asked.calls);
        }
    }
    if let Some(later) = asked.access_later().filter(|_| !sees_all) {
        scatter.shape(move |response, audit| {
            let access = later.with(audit);
            let is_seen = |group: &str| access.may_quietly(AclOperation::Describe, On::Group(group));
            response.groups.retain(|group| is_seen(&group.group_id));
        });
    }
    asked.wait(scatter, PATIENCE)
}

/// A coordinator that is still loading makes the list a partial one, and it says so.
fn fill(response: &mut ListGroupsResponse, _: Cell, reply: Result<GroupReply, ErrorCode>, _: i16) {
    match reply {
        Ok(GroupReply::List(groups)) => response.groups.extend(groups),
        Ok(other) => unreachable!("a list is answered {other:?}"),
        Err(ErrorCode::NotCoordinator) => {} // another broker lists them
        Err(error) => response.error_code = error.to_wire(),
    }
}
