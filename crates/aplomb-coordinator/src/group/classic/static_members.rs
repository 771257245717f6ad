//! A static member that comes back without its id: it takes the place of the one that it was.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::answers::{answer_join, refuse_join, refuse_sync, shown, write_error};
use super::request::Join;
use crate::group::GroupTimer;
use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicAfter, ClassicGroup, Replaced, State};

/// From this version on a leader that came back is told that it need not assign.
const SKIP_ASSIGNMENT: i16 = 9;

impl ClassicGroup {
    /// The member with this instance id comes back under a new id
    /// (`updateStaticMemberThenRebalanceOrCompleteJoin`).
    pub(super) fn replace(&mut self, join: Join, old: &Arc<str>, new: Arc<str>, turn: &mut GroupTurn<'_>) {
        let leader = self.leader().cloned();
        self.take_place(old, new.clone(), turn);
        let before = self.member(&new).expect("it has just taken the place");
        let replaced = Replaced {
            group: self.id().clone(),
            instance: before.instance.clone().expect("it is static"),
            old: old.clone(),
            new: new.clone(),
            waiting: join.waiting,
            protocols: before.protocols.clone(),
            rebalance_ms: before.rebalance_timeout_ms,
            session_ms: before.session_timeout_ms,
            leader,
        };
        let reason = join.reason(&format!("static member {} comes back as {new}", replaced.instance));
        self.update(&new, join.protocols, join.rebalance_ms, join.session_ms);
        let parked = self.park_join(&new, join.waiting);
        assert_eq!(parked, None, "who is new waits for nothing");
        match self.state() {
            State::Stable if self.protocol() == Some(&*self.select_protocol()) => {
                turn.note(self.record());
                turn.then(ClassicAfter::Replaced(Box::new(replaced)).into());
            }
            // The leader may assign to the id that is gone (KAFKA-9801), or the protocol changes.
            State::Completing { .. } | State::Stable => self.prepare(&reason, turn),
            State::Preparing { .. } => self.complete_join_if_all_have_come(turn),
            State::Empty => unreachable!("an empty group has no members"),
        }
    }

    /// Gives a static member another id. The one that had its place is fenced.
    fn take_place(&mut self, old: &Arc<str>, new: Arc<str>, turn: &mut GroupTurn<'_>) {
        let (join, sync) = self.rename(old, new.clone());
        if let Some(join) = join {
            refuse_join(join, old, ErrorCode::FencedInstanceId, turn);
        }
        if let Some(sync) = sync {
            refuse_sync(sync, ErrorCode::FencedInstanceId, turn);
        }
        turn.cancel_timer(&GroupTimer::Session(self.id().clone(), old.clone()));
        self.restart_session(&new, turn);
    }

    /// The log has kept that a static member came back, or has not.
    pub(super) fn on_replaced(
        &mut self,
        replaced: &Replaced,
        written: Result<(), ErrorCode>,
        turn: &mut GroupTurn<'_>,
    ) {
        let waits = self.member(&replaced.new).is_some_and(|member| member.join == Some(replaced.waiting));
        // In a rebalance that has begun since it waits like all others, and that one's record will
        // say who it is.
        if !waits || self.state() != State::Stable {
            return;
        }
        match written {
            Ok(()) => self.answer_replaced(replaced, turn),
            Err(error) => self.take_back(replaced, error, turn),
        }
    }

    fn answer_replaced(&mut self, replaced: &Replaced, turn: &mut GroupTurn<'_>) {
        let mut response = self.joined(&replaced.new);
        if replaced.waiting.version >= SKIP_ASSIGNMENT {
            if self.is_leader(&replaced.new) {
                response.members = self.members_for_leader();
                response.skip_assignment = true;
            }
        } else {
            // Not its own id, so that it does not assign: that would not be taken from it.
            response.leader = replaced.leader.as_ref().map_or_else(String::new, |leader| leader.to_string());
        }
        self.take_join(&replaced.new);
        self.restart_session(&replaced.new, turn);
        answer_join(replaced.waiting, response, turn);
    }

    /// It never came back.
    fn take_back(&mut self, replaced: &Replaced, error: ErrorCode, turn: &mut GroupTurn<'_>) {
        turn.warn(format!(
            "group {}: static member {} stays as it was, since the log has refused its return: {error}",
            shown(self.id()),
            shown(&replaced.instance)
        ));
        self.take_join(&replaced.new);
        let response = m::JoinGroupResponse {
            error_code: write_error(error).to_wire(),
            leader: replaced.leader.as_ref().map_or_else(String::new, |leader| leader.to_string()),
            ..self.joined("")
        };
        answer_join(replaced.waiting, response, turn);
        let protocols = replaced.protocols.clone();
        self.update(&replaced.new, protocols, replaced.rebalance_ms, replaced.session_ms);
        self.take_place(&replaced.new, replaced.old.clone(), turn);
    }
}
