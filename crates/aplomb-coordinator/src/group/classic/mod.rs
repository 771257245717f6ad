//! The classic protocol: members join, one of them assigns, all sync.
//!
//! - [`group`]: who is in a group and how far it has come; [`member`], [`protocols`], [`state`] and
//!   [`subscription`] are parts of it;
//! - [`phase`]: how one generation becomes the next;
//! - [`join`] with [`static_members`], [`sync`], [`heartbeat`], [`leave`], [`describe`]: an API
//!   each;
//! - [`offsets`]: what a group has to say about committed offsets;
//! - [`record`]: what the log holds of it.
//!
//! A group may become a consumer group ([`give_way`]), or may have been one ([`take_over`]).
//!
//! What always holds: a group changes in memory at once. Members are told of an assignment when the
//! log has kept it, of all else at once, so that no log that takes its time is felt as a rebalance.

mod answers;
mod describe;
mod group;
mod heartbeat;
mod join;
mod leave;
mod member;
mod offsets;
mod phase;
mod protocols;
mod record;
mod state;
mod static_members;
mod subscription;
mod sync;

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use self::answers::{refuse_join, refuse_sync, shown, write_error};
pub(crate) use self::describe::describe;
pub(crate) use self::group::{ClassicGroup, Parts};
use self::join::Join;
pub(crate) use self::member::{Member as ClassicMember, Protocols};
use self::member::{Waiting, millis};
pub(crate) use self::offsets::Expiry;
pub(crate) use self::record::{replay, tombstones};
use self::static_members::Replaced;
use self::sync::Assigned;
use super::table::Group;
use super::{Caller, GroupAfter, GroupRecord, GroupReply, GroupTurn, Groups, consumer};
use crate::runtime::Ticket;

/// From this version on SyncGroup says in which protocol it is.
const SYNC_NAMES_PROTOCOL: i16 = 5;

/// What is remembered about a write of a classic group.
#[derive(Debug)]
pub struct ClassicAfter(After);

#[derive(Debug)]
enum After {
    /// It is there since a member wanted to join.
    Created,
    /// Its last member has gone.
    Emptied(Arc<str>),
    /// The leader has assigned.
    Assigned(Assigned),
    /// A static member came back.
    Replaced(Box<Replaced>),
    /// It has become a consumer group.
    GaveWay(Box<ClassicGroup>),
}

impl From<After> for GroupAfter {
    fn from(after: After) -> Self {
        Self::Classic(ClassicAfter(after))
    }
}

pub(crate) fn join(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: m::JoinGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let waiting = Waiting { ticket, version: caller.version };
    if request.group_id.is_empty() {
        return refuse_join(waiting, &request.member_id, ErrorCode::InvalidGroupId, turn);
    }
    let timeouts = &turn.world.settings().classic.session_timeouts;
    if request.session_timeout_ms < 0 || !timeouts.contains(&millis(request.session_timeout_ms)) {
        return refuse_join(waiting, &request.member_id, ErrorCode::InvalidSessionTimeout, turn);
    }
    if groups.table.consumer(&request.group_id).is_some_and(|group| !group.is_empty()) {
        return consumer::join(groups, ticket, caller, request, turn);
    }
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

/// A group that nobody has joined yet, in place of a consumer group without members.
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
    turn.then(After::Created.into());
}

pub(crate) fn sync(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: m::SyncGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    let waiting = Waiting { ticket, version: caller.version };
    let names_none = request.protocol_type.is_none() || request.protocol_name.is_none();
    if caller.version >= SYNC_NAMES_PROTOCOL && names_none {
        return refuse_sync(waiting, ErrorCode::InconsistentGroupProtocol, turn);
    }
    if request.group_id.is_empty() {
        return refuse_sync(waiting, ErrorCode::InvalidGroupId, turn);
    }
    if groups.table.consumer(&request.group_id).is_some() {
        return consumer::sync(groups, ticket, request, turn);
    }
    if groups.table.classic(&request.group_id).is_none() {
        return refuse_sync(waiting, ErrorCode::UnknownMemberId, turn);
    }
    let id = groups.table.id(&request.group_id);
    groups.table.change_classic(&id, |group| group.sync(waiting, request, turn));
}

pub(crate) fn heartbeat(
    groups: &mut Groups,
    ticket: Ticket,
    request: &m::HeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) {
    let error = match groups.table.classic(&request.group_id) {
        _ if request.group_id.is_empty() => ErrorCode::InvalidGroupId,
        Some(group) => group.heartbeat(request, turn),
        None => consumer::heartbeat_of_classic(groups, request, turn),
    };
    let response = m::HeartbeatResponse { error_code: error.to_wire(), ..Default::default() };
    // It does not wait for the log: a member is there whether a disk is or not.
    turn.answer_at_once(ticket, GroupReply::Heartbeat(response));
}

pub(crate) fn leave(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: &m::LeaveGroupRequest,
    turn: &mut GroupTurn<'_>,
) {
    if request.group_id.is_empty() {
        let error_code = ErrorCode::InvalidGroupId.to_wire();
        let response = m::LeaveGroupResponse { error_code, ..Default::default() };
        return turn.answer_at_once(ticket, GroupReply::Leave(response));
    }
    let leaving = leave::leaving(request, caller.version);
    let left = match groups.table.consumer(&request.group_id) {
        Some(_) => Some(consumer::leave_by_admin(groups, &request.group_id, &leaving, turn)),
        None => groups.table.change_classic(&request.group_id, |group| group.leave(&leaving, turn)),
    };
    let results = left.unwrap_or_else(|| vec![ErrorCode::UnknownMemberId; leaving.len()]);
    let response = leave::respond(leaving, &results, caller.version);
    turn.answer(ticket, GroupReply::Leave(response));
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
pub(crate) fn on_loaded(groups: &mut Groups, turn: &mut GroupTurn<'_>) {
    groups.table.take_removed(); // nobody waits for what was replayed
    let most = turn.world.settings().classic.max_size;
    let of_classic =
        |(id, group): (&Arc<str>, &Group)| matches!(group, Group::Classic(_)).then(|| id.clone());
    let ids: Vec<Arc<str>> = groups.table.iter().filter_map(of_classic).collect();
    for id in ids {
        groups.table.change_classic(&id, |group| {
            group.restart_sessions(turn);
            if group.size() > most {
                group.prepare(&format!("it has {} members, and may have {most}", group.size()), turn);
            }
        });
    }
}

pub(crate) fn on_written(
    groups: &mut Groups,
    after: ClassicAfter,
    written: Result<(), ErrorCode>,
    turn: &mut GroupTurn<'_>,
) {
    match (after.0, written) {
        (After::Created | After::Emptied(_) | After::GaveWay(_), Ok(())) => {}
        (After::Created, Err(error)) => {
            turn.warn(format!("the log has refused a group: {error}"));
            release(groups, write_error(error), turn);
        }
        (After::GaveWay(group), Err(_)) => restore(groups, group, turn),
        // After a restart the members of the generation before would be there, and would time out.
        (After::Emptied(id), Err(error)) => {
            turn.warn(format!("group {}: the log has refused that it is empty: {error}", shown(&id)));
        }
        (After::Assigned(assigned), written) => {
            groups
                .table
                .change_classic(assigned.group(), |group| group.on_assigned(&assigned, written, turn));
        }
        (After::Replaced(replaced), written) => {
            groups
                .table
                .change_classic(replaced.group(), |group| group.on_replaced(&replaced, written, turn));
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
    group: ClassicGroup,
    reason: Option<&str>,
    turn: &mut GroupTurn<'_>,
) {
    let id = group.id().clone();
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
        turn.then(After::GaveWay(Box::new(group)).into());
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
