//! Whether a member may commit and fetch offsets (`ConsumerGroup.validateOffsetCommit` and
//! `validateOffsetFetch`).

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages as m;
use m::offset_commit_request::OffsetCommitRequestTopic;

use super::group::ConsumerGroup;
use super::member::ConsumerMember;
use crate::group::world::World;

/// Members of this protocol commit by this version or a later one.
const WITH_MEMBER_EPOCHS: i16 = 9;

impl ConsumerGroup {
    /// Whether this member may commit in this epoch. In an earlier one than its own it may commit
    /// what it has had since. `version` is the request's.
    pub(crate) fn check_commit(
        &self,
        member: &str,
        epoch: i32,
        version: i16,
        topics: &[OffsetCommitRequestTopic],
        world: &dyn World,
    ) -> Result<(), ErrorCode> {
        if epoch < 0 && self.is_empty() {
            return Ok(()); // of no member: of an admin, or of a client that assigns itself
        }
        let member = self.member(member).ok_or(ErrorCode::UnknownMemberId)?;
        if !member.is_classic() && version < WITH_MEMBER_EPOCHS {
            return Err(ErrorCode::UnsupportedVersion);
        }
        if epoch == member.epoch() {
            return Ok(());
        }
        if epoch < member.epoch() && topics.iter().all(|topic| has_had(member, epoch, topic, world)) {
            return Ok(());
        }
        Err(stale(member))
    }

    /// Whether this member may fetch committed offsets in this epoch.
    pub(crate) fn check_fetch(&self, member: Option<&str>, epoch: i32) -> Result<(), ErrorCode> {
        let member = match member {
            None if epoch < 0 => return Ok(()),
            None => return Err(ErrorCode::UnknownMemberId),
            Some(member) => self.member(member).ok_or(ErrorCode::UnknownMemberId)?,
        };
        if epoch == member.epoch() { Ok(()) } else { Err(stale(member)) }
    }
}

fn stale(member: &ConsumerMember) -> ErrorCode {
    if member.is_classic() { ErrorCode::IllegalGeneration } else { ErrorCode::StaleMemberEpoch }
}

/// Whether the member has had all of these partitions since the epoch, or longer. What is refused
/// for its metadata is not looked at.
fn has_had(member: &ConsumerMember, epoch: i32, topic: &OffsetCommitRequestTopic, world: &dyn World) -> bool {
    let most = world.settings().offsets.metadata_max;
    let id = if topic.topic_id == TopicId::ZERO {
        world.topic(&topic.name).map_or(TopicId::ZERO, |topic| topic.id)
    } else {
        topic.topic_id
    };
    topic.partitions.iter().all(|partition| {
        let metadata = partition.committed_metadata.as_deref().unwrap_or("");
        let is_refused = metadata.len() > most && metadata.encode_utf16().count() > most;
        let since = member.written().and_then(|current| current.assigned_in(id, partition.partition_index));
        is_refused || since.is_some_and(|since| since <= epoch)
    })
}
