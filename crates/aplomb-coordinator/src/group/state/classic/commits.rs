//! What committed offsets and their group have to do with each other.

use aplomb_model::{ErrorCode, Timestamp};

use super::group::ClassicGroup;
use super::progress::State;
use super::subscription::{CONSUMER, Subscription};

/// When offsets of a group expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Not while it is as it is.
    Never,
    /// So long after the group became what it is.
    Since(Timestamp),
    /// So long after they were committed.
    SinceCommit,
}

impl ClassicGroup {
    /// Whether this member may commit in this generation (`validateOffsetCommit`).
    pub(crate) fn check_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        let is_empty = self.state() == State::Empty;
        if generation < 0 && is_empty {
            return Ok(()); // an operator's, or of a consumer that assigns to itself
        }
        if generation < 0 && member.is_empty() && instance.is_none() {
            return Err(ErrorCode::UnknownMemberId);
        }
        self.check_member(member, instance)?;
        if generation != self.generation() {
            return Err(ErrorCode::IllegalGeneration);
        }
        // It has been told of the generation, and not yet what it has in it.
        if matches!(self.state(), State::Completing { .. }) {
            return Err(ErrorCode::RebalanceInProgress);
        }
        Ok(())
    }

    /// Whether a member of this id, in this generation, may commit in a transaction.
    pub(crate) fn check_txn_commit(
        &self,
        member: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Result<(), ErrorCode> {
        if generation < 0 && self.state() == State::Empty {
            return Ok(());
        }
        self.check_member(member, instance)?;
        if generation == self.generation() { Ok(()) } else { Err(ErrorCode::IllegalGeneration) }
    }

    /// When offsets of this topic expire (`offsetExpirationCondition`).
    pub(crate) fn expiry(&self, topic: &str) -> Expiry {
        if self.is_subscribed_to(topic) {
            return Expiry::Never;
        }
        if self.protocol_type().is_none() {
            return Expiry::SinceCommit;
        }
        match self.state() {
            State::Empty => self.since().map_or(Expiry::SinceCommit, Expiry::Since),
            State::Stable if matches!(self.subscription(), Subscription::Topics(..)) => Expiry::SinceCommit,
            State::Preparing { .. } | State::Completing { .. } | State::Stable => Expiry::Never,
        }
    }

    /// Whether a member is subscribed to the topic. Consumers that say what cannot be read may be.
    pub(crate) fn is_subscribed_to(&self, topic: &str) -> bool {
        match self.subscription() {
            Subscription::Topics(topics, _) => topics.contains(topic),
            Subscription::Unknown => self.uses_consumer_protocol(),
        }
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        self.state() == State::Empty
    }

    /// Whether its members are consumers; a simple group's are not.
    pub(crate) fn uses_consumer_protocol(&self) -> bool {
        self.protocol_type() == Some(CONSUMER)
    }

    /// Whether it may be deleted, or why not.
    pub(crate) fn check_delete(&self) -> Result<(), ErrorCode> {
        if self.is_empty() { Ok(()) } else { Err(ErrorCode::NonEmptyGroup) }
    }
}
