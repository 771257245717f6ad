//! SyncGroup: the leader says what each member is assigned, and each is told.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::answers::{answer_sync, refuse_sync, shown, write_error};
use crate::group::GroupTimer;
use crate::group::state::GroupTurn;
use crate::group::state::classic::{Assigned, ClassicAfter, ClassicGroup, State, Waiting};

impl ClassicGroup {
    pub(crate) fn sync(&mut self, waiting: Waiting, request: m::SyncGroupRequest, turn: &mut GroupTurn<'_>) {
        if let Err(error) = self.check_sync(&request) {
            return refuse_sync(waiting, error, turn);
        }
        let id = self.member_id(&request.member_id).expect("it is a member");
        match self.state() {
            State::Preparing { .. } => refuse_sync(waiting, ErrorCode::RebalanceInProgress, turn),
            State::Completing { is_assigned } => {
                self.settle(&id, turn);
                if let Some(before) = self.park_sync(&id, waiting) {
                    // Its connection was given up. Apache Kafka answers nothing.
                    refuse_sync(before, ErrorCode::RebalanceInProgress, turn);
                }
                // The leader asks again: what it has said is on its way.
                if self.is_leader(&id) && !is_assigned {
                    self.write_assignment(id, request.assignments, turn);
                }
            }
            State::Stable => {
                self.settle(&id, turn);
                let assignment = self.member(&id).map(|member| member.assignment.clone()).unwrap_or_default();
                answer_sync(waiting, self.synced(assignment), turn);
            }
            State::Empty => unreachable!("an empty group has no members"),
        }
    }

    /// `validateSyncGroup`.
    fn check_sync(&self, request: &m::SyncGroupRequest) -> Result<(), ErrorCode> {
        if self.state() == State::Empty {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(&request.member_id, request.group_instance_id.as_deref())?;
        if request.generation_id != self.generation() {
            return Err(ErrorCode::IllegalGeneration);
        }
        let differs = |said: Option<&str>, own: Option<&str>| said.is_some() && own.is_some() && said != own;
        if differs(request.protocol_type.as_deref(), self.protocol_type())
            || differs(request.protocol_name.as_deref(), self.protocol())
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn settle(&mut self, id: &str, turn: &mut GroupTurn<'_>) {
        self.settle_sync(id);
        if !self.is_sync_owed() {
            turn.cancel_timer(&GroupTimer::Sync(self.id().clone()));
        }
    }

    fn write_assignment(
        &mut self,
        leader: Arc<str>,
        said: Vec<m::sync_group_request::SyncGroupRequestAssignment>,
        turn: &mut GroupTurn<'_>,
    ) {
        let assignments = said.into_iter().map(|said| (said.member_id, said.assignment)).collect();
        let group = self.id().clone();
        let assigned = Assigned { group, generation: self.generation(), leader, assignments };
        turn.note(self.record_with(|member, _| assigned.to(member)));
        turn.then(ClassicAfter::Assigned(assigned).into());
        self.set_assigned();
    }

    /// The log has kept what the leader has assigned, or has not. Gives whether the group has
    /// become stable by that.
    pub(super) fn on_assigned(
        &mut self,
        assigned: &Assigned,
        written: Result<(), ErrorCode>,
        turn: &mut GroupTurn<'_>,
    ) -> bool {
        let is_awaited = self.state() == (State::Completing { is_assigned: true })
            && self.generation() == assigned.generation
            && self.is_leader(&assigned.leader);
        if !is_awaited {
            return false; // a rebalance has begun since
        }
        if let Err(error) = written {
            let error = write_error(error);
            self.refuse_assignment(error, turn);
            self.prepare(&format!("the log has refused the assignment: {error}"), turn);
            return false;
        }
        for (id, waiting) in self.assign(|member| assigned.to(member)) {
            let assignment = self.member(&id).map(|member| member.assignment.clone()).unwrap_or_default();
            answer_sync(waiting, self.synced(assignment), turn);
            self.restart_session(&id, turn);
        }
        self.enter(State::Stable, turn.now.wall);
        turn.say(format!("group {}: generation {} is stable", shown(self.id()), self.generation()));
        true
    }
}
