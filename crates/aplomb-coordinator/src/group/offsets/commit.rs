//! OffsetCommit and TxnOffsetCommit.

use aplomb_model::{ErrorCode, ProducerId};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_commit_request::OffsetCommitRequestPartition;
use aplomb_protocol::messages::offset_commit_response::{
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};

use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups};
use crate::group::{Caller, GroupEvent, GroupRecord, GroupReply, TxnCommit, classic};
use crate::runtime::Ticket;

/// From this version on a group that is not there is called so.
const KNOWS_GROUP_ID_NOT_FOUND: i16 = 9;
/// The same of TxnOffsetCommit.
const TXN_KNOWS_GROUP_ID_NOT_FOUND: i16 = 6;

impl Groups {
    pub(in crate::group) fn commit(
        &mut self,
        ticket: Ticket,
        caller: &Caller,
        request: m::OffsetCommitRequest,
        turn: &mut GroupTurn<'_>,
    ) {
        if let Err(error) = self.check_commit(caller, &request, turn) {
            let refused = respond(&request, |_, _| error);
            return turn.answer(ticket, GroupReply::Commit(refused));
        }
        if self.table.classic(&request.group_id).is_some() {
            classic::touch(self, &request.group_id, &request.member_id, turn);
        }
        let response = self.set_all(&request, None, turn);
        turn.answer(ticket, GroupReply::Commit(response));
    }

    /// What is committed holds when the producer's transaction is committed.
    pub(in crate::group) fn commit_in_transaction(
        &mut self,
        ticket: Ticket,
        caller: &Caller,
        commit: TxnCommit,
        turn: &mut GroupTurn<'_>,
    ) {
        let TxnCommit { producer, epoch, request } = commit;
        let mut checked = self.check_txn_commit(caller, &request, turn);
        if turn.is_ending(producer) {
            // It would lie behind the end of its transaction. A client that is alive asks again.
            checked = Err(ErrorCode::CoordinatorLoadInProgress);
        }
        let response = match checked {
            Ok(()) => {
                turn.in_transaction(producer, epoch);
                self.set_all(&request, Some(producer), turn)
            }
            Err(error) => respond(&request, |_, _| error),
        };
        turn.answer(ticket, GroupReply::Commit(response));
    }

    /// Writes all offsets of a request that can be.
    fn set_all(
        &mut self,
        request: &m::OffsetCommitRequest,
        producer: Option<ProducerId>,
        turn: &mut GroupTurn<'_>,
    ) -> m::OffsetCommitResponse {
        let world = turn.world;
        let (most, has_room) = (world.settings().offsets.metadata_max, world.has_room());
        respond(request, |topic, partition| {
            let metadata = partition.committed_metadata.as_deref().unwrap_or_default();
            if metadata.encode_utf16().count() > most {
                return ErrorCode::OffsetMetadataTooLarge;
            }
            let index = partition.partition_index;
            // Of the codes that clients know of a commit this one says best that it does not fit.
            let is_new = || self.offsets.get(&request.group_id, &topic.name, index).is_none();
            if !has_room && is_new() {
                return ErrorCode::InvalidCommitOffsetSize;
            }
            let key = m::OffsetCommitKey {
                group: request.group_id.clone(),
                topic: topic.name.clone(),
                partition: index,
            };
            let now = turn.now.wall.0;
            let expires =
                (request.retention_time_ms >= 0).then(|| now.saturating_add(request.retention_time_ms));
            let value = m::OffsetCommitValue {
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: metadata.to_owned(),
                commit_timestamp: now,
                expire_timestamp: expires.unwrap_or(-1),
                topic_id: topic.topic_id,
            };
            self.apply_in(GroupRecord::Offset(key, Some(value)), producer, turn);
            self.count(GroupEvent::OffsetCommitted, 1);
            ErrorCode::None
        })
    }

    /// Whether the group lets this caller commit in a transaction. Clients before 2.5 name no
    /// member.
    fn check_txn_commit(
        &self,
        caller: &Caller,
        request: &m::OffsetCommitRequest,
        turn: &GroupTurn<'_>,
    ) -> Result<(), ErrorCode> {
        let (member, instance) = (request.member_id.as_str(), request.group_instance_id.as_deref());
        let epoch = request.generation_id_or_member_epoch;
        let names_member = epoch >= 0 || !member.is_empty() || instance.is_some();
        let is_new = caller.version >= TXN_KNOWS_GROUP_ID_NOT_FOUND;
        match self.table.get(&request.group_id) {
            Some(Group::Classic(group)) if names_member => group.check_txn_commit(member, instance, epoch),
            Some(Group::Consumer(group)) if names_member => {
                let checked = group.check_commit(member, epoch, i16::MAX, &request.topics, turn.world);
                checked.map_err(|error| match error {
                    ErrorCode::StaleMemberEpoch if !is_new => ErrorCode::IllegalGeneration,
                    other => other,
                })
            }
            Some(Group::Classic(_) | Group::Consumer(_)) => Ok(()),
            None if epoch < 0 => Ok(()),
            None | Some(Group::Foreign(_)) if is_new => Err(ErrorCode::GroupIdNotFound),
            None | Some(Group::Foreign(_)) => Err(ErrorCode::IllegalGeneration),
        }
    }

    /// Whether the group lets this caller commit.
    fn check_commit(
        &self,
        caller: &Caller,
        request: &m::OffsetCommitRequest,
        turn: &GroupTurn<'_>,
    ) -> Result<(), ErrorCode> {
        let (member, instance) = (request.member_id.as_str(), request.group_instance_id.as_deref());
        let epoch = request.generation_id_or_member_epoch;
        match self.table.get(&request.group_id) {
            Some(Group::Classic(group)) => group.check_commit(member, instance, epoch),
            Some(Group::Consumer(group)) => {
                group.check_commit(member, epoch, caller.version, &request.topics, turn.world)
            }
            // A commit without a generation needs no group.
            None if epoch < 0 => Ok(()),
            None | Some(Group::Foreign(_)) if caller.version >= KNOWS_GROUP_ID_NOT_FOUND => {
                Err(ErrorCode::GroupIdNotFound)
            }
            None | Some(Group::Foreign(_)) => Err(ErrorCode::IllegalGeneration),
        }
    }
}

/// The response with a code for each partition.
fn respond(
    request: &m::OffsetCommitRequest,
    mut code: impl FnMut(
        &m::offset_commit_request::OffsetCommitRequestTopic,
        &OffsetCommitRequestPartition,
    ) -> ErrorCode,
) -> m::OffsetCommitResponse {
    let topics = request.topics.iter().map(|topic| OffsetCommitResponseTopic {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        partitions: topic
            .partitions
            .iter()
            .map(|partition| OffsetCommitResponsePartition {
                partition_index: partition.partition_index,
                error_code: code(topic, partition).to_wire(),
            })
            .collect(),
    });
    m::OffsetCommitResponse { topics: topics.collect(), ..Default::default() }
}
