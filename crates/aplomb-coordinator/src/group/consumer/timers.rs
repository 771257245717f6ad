//! Deadlines of members that have come, and those that are set anew: sessions, partitions to be
//! given up, classic members that are to rejoin.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::ErrorCode;

use super::deadlines::{AGAIN, cancel, is_revoking, start_session, watch_revocation};
use super::{gaps, leave};
use crate::group::state::consumer::ConsumerGroup;
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupRecord, GroupTimer, classic};

/// All members have their whole time again, and are told again what they have.
pub(crate) fn on_loaded(groups: &mut Groups, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
    groups.table.change_consumer(id, ConsumerGroup::tell_again);
    let Some(group) = groups.table.consumer(id) else { return };
    gaps::on_loaded(id, group, turn);
    for (member_id, member) in group.members() {
        start_session(turn, id, member_id);
        watch_revocation(turn, id, member_id, member, Duration::ZERO);
    }
}

/// Members are what they were: their deadlines, too, where they were taken out or set since.
pub(crate) fn on_taken_back(groups: &mut Groups, records: &[GroupRecord], turn: &mut GroupTurn<'_>) {
    let members: BTreeSet<(&str, &str)> = records.iter().filter_map(member_of).collect();
    if !members.is_empty() {
        // Of a group that had become a classic one. Deadlines that it has are not these members'.
        classic::release(groups, ErrorCode::CoordinatorNotAvailable, turn);
    }
    for &(id, member_id) in &members {
        if groups.table.get(id).is_none() && groups.offsets.has(id) {
            // No record says that it was there before: its offsets do.
            groups.add_simple(id);
        }
        let group_id = groups.table.id(id);
        let group = groups.table.consumer(id);
        let Some((member_id, member)) = group.and_then(|group: &ConsumerGroup| group.entry(member_id)) else {
            cancel(turn, &group_id, &member_id.into());
            continue;
        };
        if !turn.has_timer(&GroupTimer::Session(group_id.clone(), member_id.clone())) {
            start_session(turn, &group_id, member_id);
        }
        watch_revocation(turn, &group_id, member_id, member, AGAIN);
    }
    for id in records.iter().filter_map(group_of).collect::<BTreeSet<_>>() {
        if let Some(group) = groups.table.consumer(id) {
            gaps::on_taken_back(&groups.table.id(id), group, turn);
        }
    }
}

fn member_of(record: &GroupRecord) -> Option<(&str, &str)> {
    match record {
        GroupRecord::Member(key, _) => Some((&key.group_id, &key.member_id)),
        GroupRecord::Current(key, _) => Some((&key.group_id, &key.member_id)),
        _ => None,
    }
}

/// The group of which something may be left over.
fn group_of(record: &GroupRecord) -> Option<&str> {
    match record {
        GroupRecord::Target(key, _) => Some(&key.group_id),
        GroupRecord::Expression(key, _) => Some(&key.group_id),
        _ => member_of(record).map(|(group, _)| group),
    }
}

/// A member has not been heard of for the length of its session.
pub(crate) fn on_session(groups: &mut Groups, group: &Arc<str>, member: &Arc<str>, turn: &mut GroupTurn<'_>) {
    leave::fence(groups, group, member, "the member session expired", turn);
}

/// A member has not given up in time what it was to give up.
pub(crate) fn on_revocation(
    groups: &mut Groups,
    group: &Arc<str>,
    member: &Arc<str>,
    turn: &mut GroupTurn<'_>,
) {
    let found = groups.table.consumer(group).and_then(|group| group.member(member));
    if found.is_some_and(is_revoking) {
        leave::fence(groups, group, member, "it failed to give up its partitions in time", turn);
    }
}

/// A classic member has not rejoined or synced in time.
pub(crate) fn on_rejoin(groups: &mut Groups, group: &Arc<str>, member: &Arc<str>, turn: &mut GroupTurn<'_>) {
    leave::fence(groups, group, member, "the classic member failed to join or sync in time", turn);
}
