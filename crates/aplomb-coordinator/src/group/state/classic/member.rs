//! A member of a classic group, and the protocols that it offers.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aplomb_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use bytes::Bytes;

use crate::runtime::Ticket;

/// What a member takes in memory beside what it names: table entries, deadlines.
const OVERHEAD: usize = 512;
/// A protocol's, beside its name and metadata.
const PROTOCOL_OVERHEAD: usize = 64;

/// A request that is answered later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    pub(crate) version: i16,
}

/// The protocols that a member offers, its favourite first, each with the member's metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Protocols(Arc<[(Box<str>, Bytes)]>);

impl Protocols {
    /// In this order. What a name that comes again says does not count: each is one vote.
    pub(crate) fn new(offered: impl IntoIterator<Item = (String, Bytes)>) -> Self {
        let mut seen = HashSet::new();
        let own = |(name, metadata): (String, Bytes)| {
            // Own copies: what is kept for long is not to keep the whole request.
            seen.insert(name.clone()).then(|| (name.into_boxed_str(), Bytes::copy_from_slice(&metadata)))
        };
        Self(offered.into_iter().filter_map(own).collect())
    }

    pub(crate) fn of_request(offered: Vec<JoinGroupRequestProtocol>) -> Self {
        Self::new(offered.into_iter().map(|protocol| (protocol.name, protocol.metadata)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.0.iter().map(|(name, metadata)| (&**name, metadata))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// What the member says in this protocol.
    pub(crate) fn metadata(&self, name: &str) -> Option<&Bytes> {
        self.iter().find(|(offered, _)| *offered == name).map(|(_, metadata)| metadata)
    }

    /// About what they take in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.iter().map(|(name, metadata)| PROTOCOL_OVERHEAD + name.len() + metadata.len()).sum()
    }
}

/// A member of a classic group. Only its group changes it.
#[derive(Debug)]
pub(crate) struct ClassicMember {
    /// `group.instance.id`: it is a static member.
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    /// As the client said it: it may be negative.
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    pub(crate) protocols: Protocols,
    pub(crate) assignment: Bytes,
    /// Its JoinGroup waits for the phase to end.
    pub(crate) join: Option<Waiting>,
    /// Its SyncGroup waits for the leader's.
    pub(crate) sync: Option<Waiting>,
    /// It does not know its id before its first phase ends, and sends no heartbeats.
    pub(crate) is_new: bool,
    /// It has been told of this generation, and has not asked for its assignment.
    pub(crate) owes_sync: bool,
}

impl ClassicMember {
    /// A member that waits for nothing and has nothing assigned.
    pub(crate) fn new(
        instance: Option<Arc<str>>,
        client_id: Arc<str>,
        client_host: Arc<str>,
        rebalance_timeout_ms: i32,
        session_timeout_ms: i32,
        protocols: Protocols,
    ) -> Self {
        Self {
            instance,
            client_id,
            client_host,
            rebalance_timeout_ms,
            session_timeout_ms,
            protocols,
            assignment: Bytes::new(),
            join: None,
            sync: None,
            is_new: false,
            owes_sync: false,
        }
    }

    pub(crate) fn with_assignment(mut self, assignment: &[u8]) -> Self {
        self.assignment = Bytes::copy_from_slice(assignment);
        self
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        millis(self.session_timeout_ms)
    }

    /// Whether it need not send heartbeats now: it waits for an answer. A new member is given up
    /// all the same: its client may be gone, and would try again under another id.
    pub(crate) fn is_excused(&self) -> bool {
        !self.is_new && (self.join.is_some() || self.sync.is_some())
    }

    /// About what it takes in memory.
    pub(crate) fn bytes(&self, id: &str) -> usize {
        let instance = self.instance.as_ref().map_or(0, |instance| instance.len());
        let names = id.len() + instance + self.client_id.len() + self.client_host.len();
        OVERHEAD + names + self.protocols.bytes() + self.assignment.len()
    }
}

/// Milliseconds as the wire has them; a negative number is none.
pub(crate) fn millis(raw: i32) -> Duration {
    Duration::from_millis(u64::try_from(raw).unwrap_or(0))
}
