//! The phases of a rebalance: members are called to join, those who have are the next generation,
//! and each of them is to ask for its assignment.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::ErrorCode;
use bytes::Bytes;

use super::answers::{answer_join, refuse_join, refuse_sync, shown};
use crate::group::GroupTimer;
use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicAfter, ClassicGroup, ClassicMember, FirstRebalance, State};

/// For such a part of `group.initial.rebalance.delay.ms` no member must have come before a new
/// group's first generation begins.
const CALM_PART: u32 = 3;

impl ClassicGroup {
    /// Calls the members to join again; if they are called already, and were before this, looks
    /// whether all have come (`maybePrepareRebalanceOrCompleteJoin`).
    pub(super) fn rebalance(&mut self, reason: &str, turn: &mut GroupTurn<'_>) {
        match self.state() {
            State::Preparing { .. } => self.complete_join_if_all_have_come(turn),
            State::Empty | State::Completing { .. } | State::Stable => self.prepare(reason, turn),
        }
    }

    /// Goes on with a phase that was left, in which no request waits any more.
    pub(super) fn go_on(&mut self, turn: &mut GroupTurn<'_>) {
        match self.state() {
            State::Preparing { .. } => self.set_join_timer(self.rebalance_timeout(), turn),
            // What the leader has said may have been lost.
            State::Completing { .. } => self.prepare("it is no consumer group after all", turn),
            State::Empty | State::Stable => {}
        }
    }

    /// Calls the members to join again.
    pub(super) fn prepare(&mut self, reason: &str, turn: &mut GroupTurn<'_>) {
        if matches!(self.state(), State::Completing { .. }) {
            self.refuse_assignment(ErrorCode::RebalanceInProgress, turn);
        }
        self.forgive_syncs();
        turn.cancel_timer(&GroupTimer::Sync(self.id().clone()));
        let was_empty = self.state() == State::Empty;
        turn.say(format!(
            "group {}: preparing to rebalance, generation {} is over: {}",
            shown(self.id()),
            self.generation(),
            shown(reason)
        ));
        if was_empty {
            let delay = turn.world.settings().classic.initial_rebalance_delay;
            let until = turn.now.instant + self.rebalance_timeout().max(delay);
            let first = Some(FirstRebalance { until, newest: None });
            self.enter(State::Preparing { first }, turn.now.wall);
            self.set_join_timer(delay, turn);
        } else {
            self.enter(State::Preparing { first: None }, turn.now.wall);
            if self.has_all_joined() {
                self.complete_join(turn);
            } else {
                self.set_join_timer(self.rebalance_timeout(), turn);
            }
        }
    }

    fn set_join_timer(&self, after: Duration, turn: &mut GroupTurn<'_>) {
        turn.set_timer(GroupTimer::Join(self.id().clone()), after);
    }

    /// Ends the wait for members when all have come, but not that of a group that was empty
    /// (`maybeCompleteJoinPhase`).
    pub(super) fn complete_join_if_all_have_come(&mut self, turn: &mut GroupTurn<'_>) {
        if self.state() == (State::Preparing { first: None }) && self.has_all_joined() {
            self.complete_join(turn);
        }
    }

    /// As many as there are have joined, after one has gone: that ends the wait of a group that was
    /// empty, too.
    fn complete_join_without(&mut self, turn: &mut GroupTurn<'_>) {
        if matches!(self.state(), State::Preparing { .. }) && self.has_all_joined() {
            self.complete_join(turn);
        }
    }

    /// Members have been waited for long enough, unless one came just now: where one comes others
    /// may follow. (Apache Kafka waits for another whole delay when any has come since the first.)
    pub(super) fn on_join_timer(&mut self, turn: &mut GroupTurn<'_>) {
        let calm = turn.world.settings().classic.initial_rebalance_delay / CALM_PART;
        let now = turn.now.instant;
        if let Some(first) = self.first_rebalance()
            && let Some(newest) = first.newest.take()
        {
            let more = (newest + calm).min(first.until).since(now);
            if !more.is_zero() {
                return self.set_join_timer(more, turn);
            }
        }
        if matches!(self.state(), State::Preparing { .. }) {
            self.complete_join(turn);
        }
    }

    /// Those who have joined are the next generation (`completeClassicGroupJoin`).
    fn complete_join(&mut self, turn: &mut GroupTurn<'_>) {
        turn.cancel_timer(&GroupTimer::Join(self.id().clone()));
        self.drop_absent(turn);
        if !self.elect_joined() && self.size() > 0 {
            // Static members alone, of which none has come: their sessions are waited for.
            if let Some(first) = self.first_rebalance() {
                first.until = turn.now.instant;
            }
            return self.set_join_timer(self.rebalance_timeout(), turn);
        }
        self.next_generation(turn.now.wall);
        if self.state() == State::Empty {
            turn.say(format!("group {}: empty, generation {}", shown(self.id()), self.generation()));
            turn.note(self.record());
            turn.then(ClassicAfter::Emptied(self.id().clone()).into());
            return;
        }
        turn.say(format!(
            "group {}: generation {} has {} members",
            shown(self.id()),
            self.generation(),
            self.size()
        ));
        let mut for_leader = self.members_for_leader();
        for (id, waiting) in self.expect_syncs() {
            self.restart_session(&id, turn);
            let Some(waiting) = waiting else { continue };
            let mut response = self.joined(&id);
            if self.is_leader(&id) {
                response.members = std::mem::take(&mut for_leader);
            }
            answer_join(waiting, response, turn);
        }
        turn.set_timer(GroupTimer::Sync(self.id().clone()), self.rebalance_timeout());
    }

    /// Dynamic members that have not joined again are out. Static ones have their session.
    fn drop_absent(&mut self, turn: &mut GroupTurn<'_>) {
        let is_absent = |member: &ClassicMember| member.instance.is_none() && member.join.is_none();
        let absent: Vec<Arc<str>> =
            self.members().filter(|(_, member)| is_absent(member)).map(|(id, _)| id.clone()).collect();
        for id in &absent {
            self.drop_member(id, turn);
        }
        if !absent.is_empty() {
            let gone = absent.len();
            turn.say(format!("group {}: {gone} members have not joined again", shown(self.id())));
        }
    }

    /// Members have had time enough to ask for their assignment.
    pub(super) fn on_sync_timer(&mut self, turn: &mut GroupTurn<'_>) {
        let owing: Vec<Arc<str>> =
            self.members().filter(|(_, member)| member.owes_sync).map(|(id, _)| id.clone()).collect();
        if owing.is_empty() {
            return;
        }
        for id in &owing {
            self.drop_member(id, turn);
        }
        self.prepare(&format!("{} members have not synced in time", owing.len()), turn);
    }

    /// Takes a member out, whose requests that wait are refused.
    pub(super) fn drop_member(&mut self, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
        let Some(member) = self.remove(id) else { return };
        turn.cancel_timer(&GroupTimer::Session(self.id().clone(), id.clone()));
        if let Some(join) = member.join {
            // It comes back as a new member, if it is still there.
            refuse_join(join, "", ErrorCode::UnknownMemberId, turn);
        }
        if let Some(sync) = member.sync {
            refuse_sync(sync, ErrorCode::UnknownMemberId, turn);
        }
    }

    /// Takes an id out that was given out and not used.
    pub(super) fn drop_pending(&mut self, id: &Arc<str>, turn: &mut GroupTurn<'_>) -> bool {
        turn.cancel_timer(&GroupTimer::Pending(self.id().clone(), id.clone()));
        self.forget_pending(id)
    }

    /// A member's session has ended.
    pub(super) fn on_session(&mut self, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
        let Some(member) = self.member(id) else { return };
        if member.is_excused() {
            return; // begins anew when it is answered
        }
        self.drop_member(id, turn);
        match self.state() {
            State::Stable | State::Completing { .. } => {
                self.prepare(&format!("session of member {id} has ended"), turn);
            }
            State::Preparing { .. } => self.complete_join_without(turn),
            State::Empty => unreachable!("an empty group has no members"),
        }
    }

    /// An id that was given out has not been used in time.
    pub(super) fn on_pending_timer(&mut self, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
        if self.drop_pending(id, turn) {
            self.complete_join_without(turn);
        }
    }

    /// A member's session begins anew.
    pub(super) fn restart_session(&self, id: &str, turn: &mut GroupTurn<'_>) {
        let Ok((id, member)) = self.check_member(id, None) else { return }; // it has left
        self.begin_session(id, member, turn);
    }

    /// The same for one that was looked up.
    pub(super) fn begin_session(&self, id: &Arc<str>, member: &ClassicMember, turn: &mut GroupTurn<'_>) {
        turn.set_timer(GroupTimer::Session(self.id().clone(), id.clone()), member.session_timeout());
    }

    /// The sessions of all members begin anew.
    pub(super) fn restart_sessions(&self, turn: &mut GroupTurn<'_>) {
        for (id, member) in self.members() {
            self.begin_session(id, member, turn);
        }
    }

    /// Nothing is assigned; who asks is told why (`resetAndPropagateAssignmentWithError`).
    pub(super) fn refuse_assignment(&mut self, error: ErrorCode, turn: &mut GroupTurn<'_>) {
        for (id, waiting) in self.assign(|_| Bytes::new()) {
            refuse_sync(waiting, error, turn);
            self.restart_session(&id, turn);
        }
    }

    /// Requests that wait are answered with this: the group goes, or becomes another one.
    pub(super) fn refuse_all(&mut self, error: ErrorCode, turn: &mut GroupTurn<'_>) {
        for (id, join) in self.take_joins() {
            refuse_join(join, &id, error, turn);
        }
        for sync in self.take_syncs() {
            refuse_sync(sync, error, turn);
        }
    }

    /// It is in the table no more: its deadlines are none.
    pub(super) fn cancel_timers(&self, turn: &mut GroupTurn<'_>) {
        turn.cancel_timer(&GroupTimer::Join(self.id().clone()));
        turn.cancel_timer(&GroupTimer::Sync(self.id().clone()));
        for (id, _) in self.members() {
            turn.cancel_timer(&GroupTimer::Session(self.id().clone(), id.clone()));
        }
        for id in self.pending() {
            turn.cancel_timer(&GroupTimer::Pending(self.id().clone(), id.clone()));
        }
    }
}
