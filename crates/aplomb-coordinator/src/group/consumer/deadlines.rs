//! Deadlines of members: sessions, and partitions to be given up.

use std::sync::Arc;
use std::time::Duration;

use crate::group::GroupTimer;
use crate::group::state::GroupTurn;
use crate::group::state::classic::millis;
use crate::group::state::consumer::{AWAY, ConsumerMember, MemberState};

/// Who could not be taken out because the log has refused it is not tried again sooner.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// A session as long as the group has them.
pub(super) fn start_session(turn: &mut GroupTurn<'_>, group: &Arc<str>, member: &Arc<str>) {
    let overrides = turn.world.overrides(group);
    // Switched off: no member of a group that is left has a session.
    let Some(settings) = &turn.world.settings().consumer else { return };
    let session = settings.session_timeout.of(overrides.session_timeout);
    turn.set_timer(GroupTimer::Session(group.clone(), member.clone()), session);
}

/// A member that has to give partitions up has its rebalance timeout for that, and at least
/// `least`. Classic members have to rejoin and sync in time instead. One that has said nothing of
/// itself is taken out in any case.
pub(super) fn watch_revocation(
    turn: &mut GroupTurn<'_>,
    group: &Arc<str>,
    id: &Arc<str>,
    member: &ConsumerMember,
    least: Duration,
) {
    if member.is_classic() {
        return;
    }
    let Some(about) = member.about() else { return };
    let timer = GroupTimer::Revocation(group.clone(), id.clone());
    if is_revoking(member) {
        turn.set_timer(timer, millis(about.rebalance_timeout_ms).max(least));
    } else {
        turn.cancel_timer(&timer);
    }
}

pub(super) fn is_revoking(member: &ConsumerMember) -> bool {
    member.state() == MemberState::Unrevoked && member.epoch() != AWAY
}

/// A member is gone.
pub(super) fn cancel(turn: &mut GroupTurn<'_>, group: &Arc<str>, member: &Arc<str>) {
    let of = |timer: fn(Arc<str>, Arc<str>) -> GroupTimer| timer(group.clone(), member.clone());
    turn.cancel_timer(&of(GroupTimer::Session));
    turn.cancel_timer(&of(GroupTimer::Revocation));
    turn.cancel_timer(&of(GroupTimer::Rejoin));
}
