//! What members are told, by version.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::join_group_response::JoinGroupResponseMember;
use bytes::Bytes;

use crate::group::state::GroupTurn;
use crate::group::state::classic::{ClassicGroup, Waiting};
use crate::group::{GroupReply, JOIN_WITHOUT_PROTOCOL};

pub(super) fn answer_join(waiting: Waiting, mut response: m::JoinGroupResponse, turn: &mut GroupTurn<'_>) {
    if response.protocol_name.is_none() && waiting.version < JOIN_WITHOUT_PROTOCOL {
        response.protocol_name = Some(String::new());
    }
    turn.answer_at_once(waiting.ticket, GroupReply::Join(response));
}

/// Refuses a JoinGroup. The response names this member.
pub(crate) fn refuse_join(waiting: Waiting, member: &str, error: ErrorCode, turn: &mut GroupTurn<'_>) {
    let response = m::JoinGroupResponse {
        error_code: error.to_wire(),
        member_id: member.to_owned(),
        protocol_name: None,
        ..Default::default()
    };
    answer_join(waiting, response, turn);
}

pub(super) fn answer_sync(waiting: Waiting, response: m::SyncGroupResponse, turn: &mut GroupTurn<'_>) {
    turn.answer_at_once(waiting.ticket, GroupReply::Sync(response));
}

pub(crate) fn refuse_sync(waiting: Waiting, error: ErrorCode, turn: &mut GroupTurn<'_>) {
    let response = m::SyncGroupResponse { error_code: error.to_wire(), ..Default::default() };
    answer_sync(waiting, response, turn);
}

impl ClassicGroup {
    /// What a member is told of the generation that it is in, without the other members.
    pub(super) fn joined(&self, member: &str) -> m::JoinGroupResponse {
        m::JoinGroupResponse {
            generation_id: self.generation(),
            protocol_type: self.protocol_type().map(str::to_owned),
            protocol_name: self.protocol().map(str::to_owned),
            leader: self.leader().map_or_else(String::new, |leader| leader.to_string()),
            member_id: member.to_owned(),
            ..Default::default()
        }
    }

    /// All members with what they say in the group's protocol, for the leader.
    pub(super) fn members_for_leader(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol().unwrap_or_default();
        let shown = self.members().map(|(id, member)| JoinGroupResponseMember {
            member_id: id.to_string(),
            group_instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
            metadata: member.protocols.metadata(protocol).cloned().unwrap_or_default(),
        });
        shown.collect()
    }

    /// What a member is told of its assignment.
    pub(super) fn synced(&self, assignment: Bytes) -> m::SyncGroupResponse {
        m::SyncGroupResponse {
            protocol_type: self.protocol_type().map(str::to_owned),
            protocol_name: self.protocol().map(str::to_owned),
            assignment,
            ..Default::default()
        }
    }
}

/// What a client is told when the log did not take what its request wrote
/// (`appendGroupMetadataErrorToResponseError`).
pub(super) fn write_error(error: ErrorCode) -> ErrorCode {
    use ErrorCode as E;
    match error {
        E::UnknownTopicOrPartition | E::NotEnoughReplicas | E::RequestTimedOut => E::CoordinatorNotAvailable,
        E::NotLeaderOrFollower | E::KafkaStorageError => E::NotCoordinator,
        E::MessageTooLarge | E::RecordListTooLarge | E::InvalidFetchSize => E::UnknownServerError,
        other => other,
    }
}

/// What a client says, fit for a line of the log.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}
