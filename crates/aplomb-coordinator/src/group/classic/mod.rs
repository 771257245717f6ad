//! The classic protocol: members join, one of them assigns, all sync.
//!
//! - [`phase`]: how one generation becomes the next;
//! - [`mod@join`] with [`static_members`], [`sync`], [`heartbeat`], [`leave`],
//!   [`mod@describe`]: an API each;
//! - [`request`], [`answers`]: what members ask for, and what they are told.
//!
//! A group may become a consumer group ([`give_way`]), or may have been one ([`take_over`]).
//!
//! What always holds: a group changes in memory at once. Members are told of an assignment when the
//! log has kept it, of all else at once, so that no log that takes its time is felt as a rebalance.

mod answers;
mod describe;
mod heartbeat;
mod join;
mod leave;
mod phase;
mod request;
mod static_members;
mod sync;

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

pub(crate) use self::answers::{refuse_join, refuse_sync};
use self::answers::{shown, write_error};
pub(crate) use self::describe::describe;
pub(crate) use self::leave::{leaving, respond as respond_to_leave};
use self::request::Join;
use super::state::classic::{ClassicAfter, ClassicGroup, Waiting};
use super::state::table::Group;
use super::state::{GroupTurn, Groups};
use super::{Caller, GroupEvent, GroupRecord};

/// JoinGroup of a group that is no consumer group with members.
pub(crate) fn join(
    groups: &mut Groups,
    waiting: Waiting,
    caller: &Caller,
    request: m::JoinGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let id = groups.table.id(&request.group_id);
    let join = Join::new(waiting, caller, request);
    let has_room = turn.world.has_room();
    match groups.table.get(&id) {
        Some(Group::Classic(_)) => {}
        Some(Group::Foreign(_)) => {
            return refuse_join(waiting, "", ErrorCode::InconsistentGroupProtocol, turn);
        }
        Some(Group::Consumer(_)) | None => {
            if !join.member.is_empty() {
                return refuse_join(waiting, &join.member, ErrorCode::UnknownMemberId, turn);
            }
            if join.protocol_type.is_empty() || join.protocols.is_empty() {
                return refuse_join(waiting, "", ErrorCode::InconsistentGroupProtocol, turn);
            }
            if !has_room {
                return refuse_join(waiting, "", ErrorCode::CoordinatorNotAvailable, turn);
            }
            create(groups, &id, turn);
        }
    }
    let joined = groups.table.change_classic(&id, |group| {
        if has_room || !group.grows_by(&join) {
            group.join(join, turn);
        } else {
            // Its client tries again, when others may have left.
            refuse_join(waiting, &join.member, ErrorCode::CoordinatorNotAvailable, turn);
        }
    });
    assert!(joined.is_some(), "it is there or was created");
}

/// A group that no member has joined yet, in place of a consumer group without members.
fn create(groups: &mut Groups, id: &str, turn: &mut GroupTurn<'_>) {
    let before = groups.table.consumer(id).map(|group| group.tombstones(id)).unwrap_or_default();
    for tombstone in before {
        groups.apply(tombstone, turn);
    }
    let key = m::GroupMetadataKey { group: id.to_owned() };
    let value = m::GroupMetadataValue {
        protocol_type: String::new(),
        generation: 0,
        protocol: None,
        leader: None,
        current_state_timestamp: turn.now.wall.0,
        members: Vec::new(),
    };
    groups.apply(GroupRecord::Classic(key, Some(value)), turn);
    turn.then(ClassicAfter::Created.into());
}

/// A commit of a member counts as its heartbeat.
pub(crate) fn touch(groups: &mut Groups, group: &str, member: &str, turn: &mut GroupTurn<'_>) {
    if let Some(group) = groups.table.classic(group) {
        group.touch(member, turn);
    }
}

pub(crate) fn on_session(groups: &mut Groups, group: &Arc<str>, member: &Arc<str>, turn: &mut GroupTurn<'_>) {
    groups.table.change_classic(group, |group| group.on_session(member, turn));
}

pub(crate) fn on_join_timer(groups: &mut Groups, group: &Arc<str>, turn: &mut GroupTurn<'_>) {
    groups.table.change_classic(group, |group| group.on_join_timer(turn));
}

pub(crate) fn on_sync_timer(groups: &mut Groups, group: &Arc<str>, turn: &mut GroupTurn<'_>) {
    groups.table.change_classic(group, |group| group.on_sync_timer(turn));
}

pub(crate) fn on_pending_timer(
    groups: &mut Groups,
    group: &Arc<str>,
    member: &Arc<str>,
    turn: &mut GroupTurn<'_>,
) {
    groups.table.change_classic(group, |group| group.on_pending_timer(member, turn));
}

/// Members have their whole sessions again: a coordinator that has just come does not know when it
/// last heard of them.
pub(crate) fn on_loaded(groups: &mut Groups, id: &str, turn: &mut GroupTurn<'_>) {
    let most = turn.world.settings().classic.max_size;
    groups.table.change_classic(id, |group| {
        group.restart_sessions(turn);
        if group.size() > most {
            group.prepare(&format!("it has {} members, and may have {most}", group.size()), turn);
        } else if group.is_unsettled() {
            group.prepare("its members had been called to join when it was loaded", turn);
        }
    });
}

pub(crate) fn on_written(
    groups: &mut Groups,
    after: ClassicAfter,
    written: Result<(), ErrorCode>,
    turn: &mut GroupTurn<'_>,
) {
    match (after, written) {
        (ClassicAfter::Created | ClassicAfter::Emptied(_) | ClassicAfter::GaveWay(_), Ok(())) => {}
        (ClassicAfter::Created, Err(error)) => {
            turn.warn(format!("the log has refused a group: {error}"));
            release(groups, write_error(error), turn);
        }
        (ClassicAfter::GaveWay(group), Err(_)) => restore(groups, group, turn),
        // After a restart the members of the generation before would be there, and would time out.
        (ClassicAfter::Emptied(id), Err(error)) => {
            turn.warn(format!("group {}: the log has refused that it is empty: {error}", shown(&id)));
        }
        (ClassicAfter::Assigned(assigned), written) => {
            let group = &assigned.group;
            let is_stable =
                groups.table.change_classic(group, |group| group.on_assigned(&assigned, written, turn));
            groups.count(GroupEvent::ClassicRebalance, usize::from(is_stable == Some(true)));
        }
        (ClassicAfter::Replaced(replaced), written) => {
            groups.table.change_classic(&replaced.group, |group| group.on_replaced(&replaced, written, turn));
        }
    }
}

/// Groups are there again that were taken out.
pub(crate) fn on_taken_back(groups: &mut Groups, records: &[GroupRecord], turn: &mut GroupTurn<'_>) {
    for record in records {
        if let GroupRecord::Classic(key, Some(_)) = record
            && let Some(group) = groups.table.classic(&key.group)
        {
            group.restart_sessions(turn);
        }
    }
}

/// A group that was of another type until now takes its place in the table and in the log. Its
/// members are called to join again if there is a reason.
pub(crate) fn take_over(
    groups: &mut Groups,
    mut group: ClassicGroup,
    reason: Option<&str>,
    turn: &mut GroupTurn<'_>,
) {
    let id = group.id().clone();
    if reason.is_none() {
        group.keep_as_it_is();
    }
    groups.apply(group.record(), turn);
    // The record knows one protocol of each member, the group knows all.
    groups.table.insert(id.clone(), Group::Classic(Box::new(group)));
    groups.table.change_classic(&id, |group| {
        group.restart_sessions(turn);
        if let Some(reason) = reason {
            group.prepare(reason, turn);
        }
    });
}

/// Classic groups are there no more: their members are told this.
pub(crate) fn release(groups: &mut Groups, error: ErrorCode, turn: &mut GroupTurn<'_>) {
    for mut group in groups.table.take_removed() {
        group.refuse_all(error, turn);
        group.cancel_timers(turn);
    }
}

/// A classic group becomes a consumer group: its members are to join again.
pub(crate) fn give_way(groups: &mut Groups, turn: &mut GroupTurn<'_>) {
    for mut group in groups.table.take_removed() {
        group.refuse_all(ErrorCode::RebalanceInProgress, turn);
        group.cancel_timers(turn);
        turn.then(ClassicAfter::GaveWay(Box::new(group)).into());
    }
}

/// It has not become a consumer group: it goes on from where it was, which its record says in part.
fn restore(groups: &mut Groups, group: Box<ClassicGroup>, turn: &mut GroupTurn<'_>) {
    let id = group.id().clone();
    // Of several changes that never were the first one is taken back to what was before.
    if groups.table.classic(&id).is_some_and(|recorded| recorded.is_like(&group)) {
        groups.table.insert(id.clone(), Group::Classic(group));
        groups.table.change_classic(&id, |group| {
            group.restart_sessions(turn);
            group.go_on(turn);
        });
    }
}

#[cfg(test)]
mod tests;
