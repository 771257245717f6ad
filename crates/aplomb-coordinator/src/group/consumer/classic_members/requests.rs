//! SyncGroup, Heartbeat and LeaveGroup of consumer groups.

use std::collections::BTreeSet;
use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use m::consumer_group_member_metadata_value::ClassicMemberMetadata;
use m::leave_group_request::MemberIdentity;

use super::super::change::Change;
use super::super::convert::embedded;
use super::super::{checks, leave as leaving};
use crate::group::state::classic::{CONSUMER, millis};
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember, MemberState};
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupReply, GroupTimer};
use crate::runtime::Ticket;

/// A classic member with what it has said when it joined.
type ClassicOf<'a> = (Arc<str>, &'a ConsumerMember, &'a ClassicMemberMetadata);

/// `SyncGroup`: the assignment is there already.
pub(crate) fn sync(
    groups: &mut Groups,
    ticket: Ticket,
    request: m::SyncGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let id = groups.table.id(&request.group_id);
    let group = groups.table.consumer(&id).expect("it is a consumer group");
    match assignment(&id, group, &request, turn) {
        Ok(assignment) => {
            let response = m::SyncGroupResponse {
                protocol_type: request.protocol_type,
                protocol_name: request.protocol_name,
                assignment,
                ..Default::default()
            };
            turn.answer(ticket, GroupReply::Sync(response));
        }
        Err(error) => {
            let response = m::SyncGroupResponse { error_code: error.to_wire(), ..Default::default() };
            turn.answer_at_once(ticket, GroupReply::Sync(response));
        }
    }
}

fn assignment(
    id: &Arc<str>,
    group: &ConsumerGroup,
    request: &m::SyncGroupRequest,
    turn: &mut GroupTurn<'_>,
) -> Result<bytes::Bytes, ErrorCode> {
    let instance = request.group_instance_id.as_deref();
    let (member_id, member, classic) = find(group, &request.member_id, instance, request.generation_id)?;
    let first = classic.supported_protocols.first();
    let is_other = |said: &Option<String>, known: &str| said.as_deref().is_some_and(|said| said != known);
    let protocol = first.map_or("", |protocol| protocol.name.as_str());
    if is_other(&request.protocol_type, CONSUMER) || is_other(&request.protocol_name, protocol) {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    if group.target_epoch() > member.epoch() && member.state() != MemberState::Unrevoked {
        expect_join(id, &member_id, member, turn);
        return Err(ErrorCode::RebalanceInProgress);
    }
    turn.cancel_timer(&GroupTimer::Rejoin(id.clone(), member_id.clone()));
    restart_session(id, &member_id, classic, turn);
    let current = member.current();
    let metadata = first.map(|protocol| &protocol.metadata);
    Ok(embedded::write_assignment(embedded::of_assigned(&current.assigned), metadata, turn.world))
}

/// `Heartbeat`.
pub(crate) fn heartbeat(
    groups: &Groups,
    request: &m::HeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) -> ErrorCode {
    let id = groups.table.id(&request.group_id);
    let Some(group) = groups.table.consumer(&id) else { return ErrorCode::UnknownMemberId };
    let instance = request.group_instance_id.as_deref();
    let found = find(group, &request.member_id, instance, request.generation_id);
    let (member_id, member, classic) = match found {
        Ok(found) => found,
        Err(error) => return error,
    };
    restart_session(&id, &member_id, classic, turn);
    let is_to_join = match member.state() {
        _ if member.epoch() < group.target_epoch() => true,
        MemberState::Unrevoked => true,
        MemberState::Unreleased => !waits(group, &member_id, member),
        MemberState::Stable | MemberState::Unknown(_) => false,
    };
    if !is_to_join {
        return ErrorCode::None;
    }
    expect_join(&id, &member_id, member, turn);
    ErrorCode::RebalanceInProgress
}

/// Whether others have yet what the member is to have.
fn waits(group: &ConsumerGroup, id: &str, member: &ConsumerMember) -> bool {
    let current = member.current();
    let target = group.target(id).into_iter().flatten();
    target.flat_map(|(topic, partitions)| partitions.iter().map(|partition| (*topic, *partition))).any(
        |(topic, partition)| {
            let has = current.assigned.get(&topic).is_some_and(|has| has.contains_key(&partition));
            !has && group.owners().of(topic, partition) > 0
        },
    )
}

/// The member that a request is of.
fn find<'a>(
    group: &'a ConsumerGroup,
    id: &str,
    instance: Option<&str>,
    generation: i32,
) -> Result<ClassicOf<'a>, ErrorCode> {
    let id = match instance {
        None => group.id_of(id).ok_or(ErrorCode::UnknownMemberId)?,
        Some(instance) => checks::check_instance(group.instance(instance), id, instance)
            .map_err(|refusal| refusal.code)?
            .clone(),
    };
    let member = group.member(&id).ok_or(ErrorCode::UnknownMemberId)?;
    let classic = member.about().and_then(|about| about.classic_member_metadata.as_ref());
    let classic = classic.ok_or(ErrorCode::UnknownMemberId)?;
    if member.epoch() == generation { Ok((id, member, classic)) } else { Err(ErrorCode::IllegalGeneration) }
}

fn restart_session(
    group: &Arc<str>,
    member: &Arc<str>,
    classic: &ClassicMemberMetadata,
    turn: &mut GroupTurn<'_>,
) {
    let session = millis(classic.session_timeout_ms);
    turn.set_timer(GroupTimer::Session(group.clone(), member.clone()), session);
}

/// The member has its rebalance timeout to join again, from when it was first told to.
fn expect_join(group: &Arc<str>, id: &Arc<str>, member: &ConsumerMember, turn: &mut GroupTurn<'_>) {
    let timer = GroupTimer::Rejoin(group.clone(), id.clone());
    if !turn.has_timer(&timer) {
        turn.set_timer(timer, millis(member.about().map_or(0, |about| about.rebalance_timeout_ms)));
    }
}

/// `LeaveGroup`, which may name members of either protocol. Gives a result for each.
pub(crate) fn leave(
    groups: &mut Groups,
    id: &str,
    named: &[MemberIdentity],
    turn: &mut GroupTurn<'_>,
) -> Vec<ErrorCode> {
    let group = groups.table.consumer(id).expect("it is a consumer group");
    let mut members = BTreeSet::new();
    let mut results = Vec::new();
    for who in named {
        let found = match who.group_instance_id.as_deref() {
            None => group.id_of(&who.member_id).ok_or(ErrorCode::UnknownMemberId),
            // An operator knows the instance alone.
            Some(instance) if who.member_id.is_empty() => {
                group.instance(instance).cloned().ok_or(ErrorCode::UnknownMemberId)
            }
            Some(instance) => checks::check_instance(group.instance(instance), &who.member_id, instance)
                .cloned()
                .map_err(|refusal| refusal.code),
        };
        results.push(found.as_ref().err().copied().unwrap_or(ErrorCode::None));
        members.extend(found);
    }
    let members: Vec<Arc<str>> = members.into_iter().collect();
    leaving::remove(&mut Change::new(groups, turn, id), &members);
    results
}
