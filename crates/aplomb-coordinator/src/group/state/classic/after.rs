//! What is remembered about a write of a classic group until it is kept or refused.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::group::ClassicGroup;
use super::member::{Protocols, Waiting};

/// What a write has brought with it.
#[derive(Debug)]
pub(crate) enum ClassicAfter {
    /// The group is there since a member wanted to join.
    Created,
    /// Its last member has gone.
    Emptied(Arc<str>),
    /// The leader has assigned.
    Assigned(Assigned),
    /// A static member came back.
    Replaced(Box<Replaced>),
    /// It has become a consumer group.
    GaveWay(Box<ClassicGroup>),
}

/// What a leader has assigned; its record is on its way.
#[derive(Debug)]
pub(crate) struct Assigned {
    pub(crate) group: Arc<str>,
    pub(crate) generation: i32,
    pub(crate) leader: Arc<str>,
    pub(crate) assignments: HashMap<String, Bytes>,
}

impl Assigned {
    /// A member's part: a copy, which does not keep the whole of the leader's request.
    pub(crate) fn to(&self, member: &str) -> Bytes {
        self.assignments.get(member).map_or_else(Bytes::new, |assigned| Bytes::copy_from_slice(assigned))
    }
}

/// A static member has taken a place without a rebalance; its record is on its way.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub(crate) group: Arc<str>,
    pub(crate) instance: Arc<str>,
    pub(crate) old: Arc<str>,
    pub(crate) new: Arc<str>,
    pub(crate) waiting: Waiting,
    /// As they were before.
    pub(crate) protocols: Protocols,
    pub(crate) rebalance_ms: i32,
    pub(crate) session_ms: i32,
    pub(crate) leader: Option<Arc<str>>,
}
