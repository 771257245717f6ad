//! ConsumerGroupDescribe (KIP-848): consumer groups, with their members.

use std::collections::BTreeSet;

use aplomb_coordinator::group::{GroupAsk, GroupReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::consumer_group_describe_request::ConsumerGroupDescribeRequest;
use aplomb_protocol::messages::consumer_group_describe_response::{
    ConsumerGroupDescribeResponse, DescribedGroup,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::groups::{MOST_NAMED, coordinator_of, once};
use super::{Access, On};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::ConsumerGroupDescribe, begin);

/// What a client may do that did not ask for it.
const NOT_ASKED: i32 = i32::MIN;

/// What Apache Kafka says of a group with such a topic.
const HIDDEN: &str = "The group has described topic(s) that the client is not authorized to describe.";

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ConsumerGroupDescribeRequest = asked.decode()?;
    let (access, is_asked) = (asked.access(), request.include_authorized_operations);
    let operations = |group: &str| if is_asked { access.operations(On::Group(group)) } else { NOT_ASKED };
    let names = once(request.group_ids);
    let groups = names.iter().map(|group| DescribedGroup {
        group_id: group.clone(),
        error_code: ErrorCode::CoordinatorNotAvailable.to_wire(),
        authorized_operations: operations(group),
        ..Default::default()
    });
    let response = ConsumerGroupDescribeResponse { groups: groups.collect(), ..Default::default() };
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
        if group.is_empty() {
            scatter.fill((n, 0), ErrorCode::InvalidGroupId);
            continue;
        }
        match coordinator_of(&group, asked.view.image()) {
            Some(key) => scatter.ask((n, 0), key, GroupAsk::ConsumerDescribe(group), asked.calls),
            None => scatter.fill((n, 0), ErrorCode::NotCoordinator),
        }
    }
    if let Some(later) = asked.access_later() {
        scatter.shape(move |response, audit| {
            response.groups.iter_mut().for_each(|group| hide(group, &later.with(audit)));
        });
    }
    asked.wait(scatter, PATIENCE)
}

/// A group that has to do with a topic which the client may not describe is not shown.
fn hide(group: &mut DescribedGroup, access: &Access<'_>) {
    let assignments = group.members.iter().flat_map(|member| [&member.assignment, &member.target_assignment]);
    let assigned = assignments.flat_map(|assignment| &assignment.topic_partitions);
    let topics: BTreeSet<&str> = assigned.map(|topic| topic.topic_name.as_str()).collect();
    let hidden = topics.iter().filter(|topic| !access.may(AclOperation::Describe, On::Topic(topic)));
    if hidden.count() > 0 {
        *group = DescribedGroup {
            group_id: std::mem::take(&mut group.group_id),
            error_code: ErrorCode::TopicAuthorizationFailed.to_wire(),
            error_message: Some(HIDDEN.to_owned()),
            authorized_operations: NOT_ASKED,
            ..Default::default()
        };
    }
}

fn fill(
    response: &mut ConsumerGroupDescribeResponse,
    (n, _): Cell,
    reply: Result<GroupReply, ErrorCode>,
    _: i16,
) {
    let group = &mut response.groups[n];
    match reply {
        Ok(GroupReply::ConsumerDescribe(described)) => {
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
