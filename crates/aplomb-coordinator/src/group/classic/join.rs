//! JoinGroup.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::ErrorCode;

use super::answers::{answer_join, refuse_join};
use super::request::Join;
use crate::group::GroupTimer;
use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicGroup, State, millis};

/// From this version on a dynamic member is told its id before it joins.
const ID_REQUIRED: i16 = 4;
/// How long a new member is waited for while it waits: it knows no id and can send no heartbeats.
const NEW_MEMBER_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest string that Kafka allows, in bytes.
const STRING_MAX: usize = 32_767;

impl ClassicGroup {
    /// Whether the group takes more memory when this is let in.
    pub(super) fn grows_by(&self, join: &Join) -> bool {
        let came_back = join.instance.as_deref().and_then(|instance| self.instance(instance));
        let before = self.member(came_back.map_or(&join.member, |id| id));
        before.is_none_or(|before| before.protocols.bytes() < join.protocols.bytes())
    }

    pub(super) fn join(&mut self, join: Join, turn: &mut GroupTurn<'_>) {
        if !self.has_room_for(&join.member, turn) {
            return self.turn_away(&join, turn);
        }
        if join.member.is_empty() { self.join_new(join, turn) } else { self.join_known(join, turn) }
    }

    /// Whether `group.max.size` lets it in (`acceptJoiningMember`). While a group prepares, those
    /// who wait count: it may have more members than it may have, of which the last ones go.
    fn has_room_for(&self, member: &str, turn: &GroupTurn<'_>) -> bool {
        let most = turn.world.settings().classic.max_size;
        match self.state() {
            State::Empty => true,
            State::Preparing { .. } => {
                self.joining() < most || self.member(member).is_some_and(|member| member.join.is_some())
            }
            State::Completing { .. } | State::Stable => self.member(member).is_some() || self.size() < most,
        }
    }

    fn turn_away(&mut self, join: &Join, turn: &mut GroupTurn<'_>) {
        refuse_join(join.waiting, "", ErrorCode::GroupMaxSizeReached, turn);
        let id: Arc<str> = join.member.as_str().into();
        self.drop_member(&id, turn);
        self.drop_pending(&id, turn);
        // It may have been the last one that was waited for.
        self.complete_join_if_all_have_come(turn);
    }

    fn join_new(&mut self, join: Join, turn: &mut GroupTurn<'_>) {
        if !self.supports(&join.protocol_type, &join.protocols) {
            return refuse_join(join.waiting, "", ErrorCode::InconsistentGroupProtocol, turn);
        }
        let id = new_id(join.instance.as_deref().unwrap_or(&join.client_id), turn);
        match &join.instance {
            Some(instance) => match self.instance(instance).cloned() {
                Some(old) => self.replace(join, &old, id, turn),
                None => self.admit(join, id, turn),
            },
            None if join.waiting.version >= ID_REQUIRED => {
                let session = millis(join.session_ms);
                turn.set_timer(GroupTimer::Pending(self.id().clone(), id.clone()), session);
                self.expect(id.clone());
                refuse_join(join.waiting, &id, ErrorCode::MemberIdRequired, turn);
            }
            None => self.admit(join, id, turn),
        }
    }

    fn join_known(&mut self, join: Join, turn: &mut GroupTurn<'_>) {
        if !self.supports(&join.protocol_type, &join.protocols) {
            return refuse_join(join.waiting, &join.member, ErrorCode::InconsistentGroupProtocol, turn);
        }
        if self.is_pending(&join.member) {
            if join.instance.is_some() {
                // No id is given out to a static member. Apache Kafka fails here, and says no more.
                return refuse_join(join.waiting, "", ErrorCode::UnknownServerError, turn);
            }
            let id = Arc::from(join.member.as_str());
            turn.cancel_timer(&GroupTimer::Pending(self.id().clone(), Arc::clone(&id)));
            return self.admit(join, id, turn);
        }
        if let Err(error) = self.check_member(&join.member, join.instance.as_deref()) {
            return refuse_join(join.waiting, &join.member, error, turn);
        }
        let is_leader = self.is_leader(&join.member);
        let is_same = self.member(&join.member).is_some_and(|member| member.protocols == join.protocols);
        match self.state() {
            State::Preparing { .. } => self.rejoin(join, "a member joins again", turn),
            // It may not have got the answer to its first JoinGroup.
            State::Completing { .. } if is_same => {
                let mut response = self.joined(&join.member);
                if is_leader {
                    response.members = self.members_for_leader();
                }
                answer_join(join.waiting, response, turn);
            }
            State::Completing { .. } => self.rejoin(join, "a member's metadata has changed", turn),
            // The leader may know of something that no member's metadata says: topics have grown.
            State::Stable if is_leader => self.rejoin(join, "the leader joins again", turn),
            State::Stable if !is_same => self.rejoin(join, "a member's metadata has changed", turn),
            State::Stable => answer_join(join.waiting, self.joined(&join.member), turn),
            State::Empty => unreachable!("an empty group has no members"),
        }
    }

    /// Takes a new member in.
    fn admit(&mut self, join: Join, id: Arc<str>, turn: &mut GroupTurn<'_>) {
        if let Some(first) = self.first_rebalance() {
            first.newest = Some(turn.now.instant);
        }
        let reason = join.reason(&format!("new member {id}"));
        let protocol_type = join.protocol_type.clone();
        self.add(id.clone(), join.into_member(), &protocol_type);
        turn.set_timer(GroupTimer::Session(self.id().clone(), id), NEW_MEMBER_TIMEOUT);
        self.rebalance(&reason, turn);
    }

    /// A member has come to join the next generation.
    fn rejoin(&mut self, join: Join, what: &str, turn: &mut GroupTurn<'_>) {
        let reason = join.reason(what);
        self.update(&join.member, join.protocols, join.rebalance_ms, join.session_ms);
        if let Some(before) = self.park_join(&join.member, join.waiting) {
            // Its connection was given up. Apache Kafka answers nothing.
            refuse_join(before, &join.member, ErrorCode::RebalanceInProgress, turn);
        }
        self.rebalance(&reason, turn);
    }
}

/// A member's id: `<prefix>-<uuid>`.
fn new_id(prefix: &str, turn: &mut GroupTurn<'_>) -> Arc<str> {
    const UUID_LENGTH: usize = 37;
    let mut end = prefix.len().min(STRING_MAX - UUID_LENGTH);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut id = String::with_capacity(end + UUID_LENGTH);
    id.push_str(&prefix[..end]);
    for (place, byte) in turn.random_id().0.iter().enumerate() {
        let dash = if matches!(place, 0 | 4 | 6 | 8 | 10) { "-" } else { "" };
        write!(id, "{dash}{byte:02x}").expect("a string takes what is written");
    }
    id.into()
}
