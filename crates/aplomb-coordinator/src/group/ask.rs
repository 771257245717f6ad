//! What is asked of a group coordinator, and what it answers: messages of the protocol, or the part
//! of one that is about a single group.

use std::sync::Arc;

use aplomb_model::{ProducerEpoch, ProducerId, TopicId};
use aplomb_protocol::messages as m;

use super::filter::GroupFilter;
use super::sight::Sight;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The version of the request, and of the response.
    pub version: i16,
    /// `client.id`; empty if it has none.
    pub client_id: Arc<str>,
    /// Its address as Apache Kafka shows it: `/192.0.2.1`.
    pub host: Arc<str>,
    /// The topics that it is shown.
    pub sight: Sight,
}

impl Caller {
    /// One that is shown all topics.
    #[must_use]
    pub fn new(version: i16, client_id: &str, host: impl Into<Arc<str>>) -> Self {
        Self { version, client_id: client_id.into(), host: host.into(), sight: Sight::default() }
    }
}

/// A question, with what it takes to answer it.
#[derive(Clone, Debug)]
pub enum GroupAsk {
    /// `JoinGroup`.
    Join(Caller, m::JoinGroupRequest),
    /// `SyncGroup`.
    Sync(Caller, m::SyncGroupRequest),
    /// `Heartbeat`.
    Heartbeat(m::HeartbeatRequest),
    /// `LeaveGroup`.
    Leave(Caller, m::LeaveGroupRequest),
    /// `DescribeGroups`, of one group, in this version.
    Describe(i16, String),
    /// `ConsumerGroupHeartbeat`.
    ConsumerHeartbeat(Caller, m::ConsumerGroupHeartbeatRequest),
    /// `ConsumerGroupDescribe`, of one group.
    ConsumerDescribe(String),
    /// `ListGroups`: of which groups.
    List(Arc<GroupFilter>),
    /// `DeleteGroups`, of one group.
    Delete(String),
    /// `OffsetCommit`, without what the caller may not write or what is not there.
    Commit(Caller, m::OffsetCommitRequest),
    /// `TxnOffsetCommit`, likewise.
    TxnCommit(Caller, TxnCommit),
    /// `OffsetFetch`, of one group; whether only offsets that no open transaction may change.
    Fetch {
        /// The group and its partitions; topics `None`: all.
        group: m::offset_fetch_request::OffsetFetchRequestGroup,
        /// `RequireStable`.
        require_stable: bool,
    },
    /// `OffsetDelete`.
    DeleteOffsets(m::OffsetDeleteRequest),
    /// Topics are gone: so are their offsets. No client is answered.
    TopicsDeleted(Vec<(Arc<str>, TopicId)>),
}

/// Offsets that are committed when a transaction is.
#[derive(Clone, Debug, PartialEq)]
pub struct TxnCommit {
    /// Whose transaction it is.
    pub producer: ProducerId,
    /// The epoch that it says it is in.
    pub epoch: ProducerEpoch,
    /// What is committed, by whom.
    pub request: m::OffsetCommitRequest,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupReply {
    /// To [`GroupAsk::Join`].
    Join(m::JoinGroupResponse),
    /// To [`GroupAsk::Sync`].
    Sync(m::SyncGroupResponse),
    /// To [`GroupAsk::Heartbeat`].
    Heartbeat(m::HeartbeatResponse),
    /// To [`GroupAsk::Leave`].
    Leave(m::LeaveGroupResponse),
    /// To [`GroupAsk::Describe`].
    Describe(m::describe_groups_response::DescribedGroup),
    /// To [`GroupAsk::ConsumerHeartbeat`].
    ConsumerHeartbeat(m::ConsumerGroupHeartbeatResponse),
    /// To [`GroupAsk::ConsumerDescribe`].
    ConsumerDescribe(m::consumer_group_describe_response::DescribedGroup),
    /// To [`GroupAsk::List`].
    List(Vec<m::list_groups_response::ListedGroup>),
    /// To [`GroupAsk::Delete`].
    Delete(m::delete_groups_response::DeletableGroupResult),
    /// To [`GroupAsk::Commit`] and [`GroupAsk::TxnCommit`].
    Commit(m::OffsetCommitResponse),
    /// To [`GroupAsk::Fetch`].
    Fetch(m::offset_fetch_response::OffsetFetchResponseGroup),
    /// To [`GroupAsk::DeleteOffsets`].
    DeleteOffsets(m::OffsetDeleteResponse),
    /// To what is not answered.
    Nothing,
}
