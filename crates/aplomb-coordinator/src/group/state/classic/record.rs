//! The record of a classic group: all that its members and its log have in common.

use std::sync::Arc;

use aplomb_model::Timestamp;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::group_metadata_value::MemberMetadata;
use bytes::Bytes;

use super::group::{ClassicGroup, Parts};
use super::member::{ClassicMember, Protocols};
use crate::group::GroupRecord;

/// `GroupMetadataValue` v0 does not know rebalance timeouts: they are as long as the session's.
const NO_TIMEOUT: i32 = -1;

/// The tombstones of a group that is to go.
pub(crate) fn tombstones(id: &str) -> Vec<GroupRecord> {
    vec![GroupRecord::Classic(m::GroupMetadataKey { group: id.to_owned() }, None)]
}

impl ClassicGroup {
    /// The group as it is, with what its members are assigned.
    pub(crate) fn record(&self) -> GroupRecord {
        GroupRecord::Classic(self.key(), Some(self.value()))
    }

    /// The group as it will be when its members are assigned this.
    pub(crate) fn record_with(&self, assignment: impl Fn(&str, &ClassicMember) -> Bytes) -> GroupRecord {
        GroupRecord::Classic(self.key(), Some(self.value_with(assignment)))
    }

    fn key(&self) -> m::GroupMetadataKey {
        m::GroupMetadataKey { group: self.id().to_string() }
    }

    pub(crate) fn value(&self) -> m::GroupMetadataValue {
        self.value_with(|_, member| member.assignment.clone())
    }

    fn value_with(&self, assignment: impl Fn(&str, &ClassicMember) -> Bytes) -> m::GroupMetadataValue {
        let protocol = self.protocol();
        let members = self.members().map(|(id, member)| MemberMetadata {
            member_id: id.to_string(),
            group_instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
            client_id: member.client_id.to_string(),
            client_host: member.client_host.to_string(),
            rebalance_timeout: member.rebalance_timeout_ms,
            session_timeout: member.session_timeout_ms,
            subscription: protocol
                .and_then(|protocol| member.protocols.metadata(protocol))
                .cloned()
                .unwrap_or_default(),
            assignment: assignment(id, member),
        });
        m::GroupMetadataValue {
            protocol_type: self.protocol_type().unwrap_or_default().to_owned(),
            generation: self.generation(),
            protocol: protocol.map(str::to_owned),
            leader: self.leader().filter(|_| !self.is_unsettled()).map(|leader| leader.to_string()),
            current_state_timestamp: self.since().unwrap_or(Timestamp::NONE).0,
            members: members.collect(),
        }
    }

    /// The group that a record tells of.
    pub(crate) fn of_value(id: Arc<str>, value: m::GroupMetadataValue) -> Self {
        let protocol = value.protocol.clone().unwrap_or_default();
        let members = value.members.into_iter().map(|member| {
            let has_timeout = member.rebalance_timeout != NO_TIMEOUT;
            let loaded = ClassicMember::new(
                member.group_instance_id.map(Arc::from),
                member.client_id.into(),
                member.client_host.into(),
                if has_timeout { member.rebalance_timeout } else { member.session_timeout },
                member.session_timeout,
                Protocols::new([(protocol.clone(), member.subscription)]),
            );
            (member.member_id.into(), loaded.with_assignment(&member.assignment))
        });
        let since = Timestamp(value.current_state_timestamp);
        let parts = Parts {
            generation: value.generation,
            since: (since != Timestamp::NONE).then_some(since),
            protocol_type: Some(value.protocol_type).filter(|name| !name.is_empty()).map(Arc::from),
            protocol: value.protocol.map(Arc::from),
            leader: value.leader.map(Arc::from),
            members: members.collect(),
        };
        Self::of_parts(id, parts)
    }
}
