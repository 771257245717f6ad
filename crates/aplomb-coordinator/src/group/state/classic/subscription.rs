//! The topics that the members of a group are subscribed to, as far as they say it in a way that is
//! known: in the protocol type `consumer`. Their metadata is theirs, and may be anything.

use std::collections::HashSet;

use aplomb_protocol::messages as m;
use aplomb_protocol::{Message, Reader};
use bytes::Bytes;

use super::member::ClassicMember;

/// The protocol type of consumers.
pub(crate) const CONSUMER: &str = "consumer";

/// What a topic's name takes in memory beside its text.
const TOPIC_OVERHEAD: usize = 48;

/// The topics that a group's members are subscribed to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subscription {
    /// Its members are no consumers, or one of them says what cannot be read.
    Unknown,
    /// To these, which take so many bytes.
    Topics(HashSet<Box<str>>, usize),
}

impl Subscription {
    /// As the members say it in the group's protocol.
    pub(super) fn of<'a>(
        protocol_type: Option<&str>,
        protocol: Option<&str>,
        members: impl Iterator<Item = &'a ClassicMember>,
    ) -> Self {
        if protocol_type != Some(CONSUMER) {
            return Self::Unknown;
        }
        let mut topics = HashSet::new();
        for member in members {
            let metadata = protocol.and_then(|protocol| member.protocols.metadata(protocol));
            let Some(said) = metadata.and_then(read) else { return Self::Unknown };
            topics.extend(said.into_iter().map(String::into_boxed_str));
        }
        let bytes = topics.iter().map(|topic| TOPIC_OVERHEAD + topic.len()).sum();
        Self::Topics(topics, bytes)
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Topics(_, bytes) => *bytes,
        }
    }
}

/// The topics of a subscription. Every version begins as version 0 does.
fn read(metadata: &Bytes) -> Option<Vec<String>> {
    let mut r = Reader::new(metadata.clone());
    let version = r.i16().ok()?;
    if version < 0 {
        return None;
    }
    m::ConsumerProtocolSubscription::decode(&mut r, 0).ok().map(|said| said.topics)
}
