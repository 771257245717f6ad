//! What a gap in the log has made of a group. A power cut takes records that were not on disk, and
//! of those that were there before compaction may have taken the older ones already. Then records
//! that were written together are there in part: a partition has two owners, an instance two
//! members, a member has nothing that it said of itself, and there is a target of a member that has
//! left, or an expression without a subscriber.
//!
//! All that is taken out once the log is loaded. Members learn of it by their next heartbeat, give
//! up what they have and join again. All others are told once more what they have: they may have
//! been told what is forgotten.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::change::Change;
use super::deadlines::AGAIN;
use super::leave;
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember, records};
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupRecord, GroupTimer};

/// A group is loaded.
pub(super) fn on_loaded(id: &Arc<str>, group: &ConsumerGroup, turn: &mut GroupTurn<'_>) {
    if has_gaps(id, group) {
        turn.set_timer(GroupTimer::Gaps(id.clone()), Duration::ZERO);
    }
}

/// The log has refused to take members out, or something else.
pub(super) fn on_taken_back(id: &Arc<str>, group: &ConsumerGroup, turn: &mut GroupTurn<'_>) {
    if has_gaps(id, group) {
        turn.set_timer(GroupTimer::Gaps(id.clone()), AGAIN);
    }
}

fn has_gaps(id: &str, group: &ConsumerGroup) -> bool {
    !contradicted(group).is_empty() || !left_over(id, group).is_empty()
}

/// Takes out members whose records contradict others', and what is left of those that are gone.
pub(crate) fn take_out(groups: &mut Groups, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
    let Some(group) = groups.table.consumer(id) else { return }; // it was deleted since
    let members: Vec<Arc<str>> = contradicted(group).into_iter().cloned().collect();
    if !members.is_empty() {
        let count = members.len();
        turn.warn(format!(
            "group {id}: the log has lost records of {count} members, which are to join again"
        ));
    }
    for record in left_over(id, group) {
        groups.apply(record, turn);
    }
    if !members.is_empty() {
        leave::remove(&mut Change::new(groups, turn, id), &members);
    }
}

fn contradicted(group: &ConsumerGroup) -> BTreeSet<&Arc<str>> {
    let owners = group.owners();
    let shares = |member: &ConsumerMember| {
        let mut partitions = member.written().into_iter().flat_map(|current| current.partitions());
        owners.is_shared() && partitions.any(|(topic, partition)| owners.of(topic, partition) > 1)
    };
    let unknown = group.members().filter(|(_, member)| member.about().is_none() || shares(member));
    unknown.map(|(id, _)| id).chain(group.rivals()).collect()
}

/// The tombstones of what belongs to no member.
fn left_over(id: &str, group: &ConsumerGroup) -> Vec<GroupRecord> {
    let targets = group.targets().filter(|member| group.member(member).is_none());
    let mut all: Vec<GroupRecord> = targets.map(|member| records::target(id, member, None)).collect();
    let expressions = group.expressions().map(|(expression, _)| expression);
    let unused = expressions.filter(|expression| group.subscriptions().count(expression) == 0);
    all.extend(unused.map(|expression| records::expression(id, expression, None)));
    all
}
