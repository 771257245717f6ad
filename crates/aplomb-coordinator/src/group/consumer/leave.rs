//! Members that go: for good, for a while, or because they were not heard of.

use std::sync::Arc;

use aplomb_model::{ErrorCode, Timestamp};
use aplomb_protocol::messages as m;

use super::change::Change;
use super::checks;
use super::convert;
use super::refusal::Refusal;
use crate::group::state::consumer::{AWAY, ConsumerGroup, records};
use crate::group::state::table::{Group, GroupTable};
use crate::group::state::{GroupTurn, Groups};

/// A member says that it goes: for good (-1), or for a while (-2, static members).
pub(super) fn leave(
    groups: &mut Groups,
    request: &m::ConsumerGroupHeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) -> Result<m::ConsumerGroupHeartbeatResponse, Refusal> {
    let id = &request.group_id;
    let group = find(&groups.table, id)?;
    let member = match &request.instance_id {
        None => {
            group.id_of(&request.member_id).ok_or_else(|| checks::unknown_member(id, &request.member_id))?
        }
        Some(instance) => {
            checks::check_instance(group.instance(instance), &request.member_id, instance)?.clone()
        }
    };
    let mut change = Change::new(groups, turn, id);
    if request.member_epoch == AWAY && request.instance_id.is_some() {
        part_for_a_while(&mut change, &member);
    } else {
        remove(&mut change, std::slice::from_ref(&member));
    }
    Ok(m::ConsumerGroupHeartbeatResponse {
        member_id: Some(member.to_string()),
        member_epoch: request.member_epoch,
        ..Default::default()
    })
}

/// The consumer group of this id, for those who do not make one.
pub(super) fn find<'a>(table: &'a GroupTable, id: &str) -> Result<&'a ConsumerGroup, Refusal> {
    let why = match table.get(id) {
        Some(Group::Consumer(group)) => return Ok(group),
        Some(Group::Classic(_) | Group::Foreign(_)) => format!("Group {id} is not a consumer group."),
        None => format!("Group {id} not found."),
    };
    Err(Refusal::new(ErrorCode::GroupIdNotFound, why))
}

/// What it has waits for it, until its session ends.
fn part_for_a_while(change: &mut Change<'_, '_>, id: &str) {
    let mut current = change.group().member(id).expect("the member is there").current();
    current.epoch = AWAY;
    current.revoking.clear();
    for epoch in current.assigned.values_mut().flat_map(|partitions| partitions.values_mut()) {
        *epoch = 0;
    }
    let record = records::current(change.id(), id, Some(&current));
    change.apply(record);
}

/// Takes members out whose sessions or other deadlines have ended.
pub(super) fn fence(
    groups: &mut Groups,
    group: &Arc<str>,
    member: &Arc<str>,
    why: &str,
    turn: &mut GroupTurn<'_>,
) {
    if groups.table.consumer(group).is_none_or(|group| group.member(member).is_none()) {
        return;
    }
    turn.say(format!("group {group}: member {member} is taken out because {why}"));
    remove(&mut Change::new(groups, turn, group), std::slice::from_ref(member));
}

/// Takes members out: the group gets another epoch.
pub(super) fn remove(change: &mut Change<'_, '_>, members: &[Arc<str>]) {
    if members.is_empty() {
        return;
    }
    if convert::may_go_without(change.group(), members, change.turn.world) {
        return convert::downgrade(change, members, Some("the last members of the other protocol have left"));
    }
    let epoch = change.group().epoch().saturating_add(1);
    let is_last = change.group().members().len() == members.len();
    let mut expressions: Vec<String> = Vec::new();
    for member in members {
        let expression = change.group().member(member).and_then(|member| member.expression());
        expressions.extend(expression.map(str::to_owned));
    }
    for member in members {
        change.remove_member(member);
    }
    let id = change.id().clone();
    expressions.sort_unstable();
    expressions.dedup();
    for expression in expressions {
        let group = change.groups.table.consumer(&id);
        if group.is_none_or(|group| group.subscriptions().count(&expression) == 0) {
            change.apply(records::expression(&id, &expression, None));
        }
    }
    let hash = change.hash();
    change.apply(records::epoch(&id, Some((epoch, hash))));
    if is_last {
        change.apply(records::target_epoch(&id, Some((epoch, Timestamp(0)))));
    }
}
