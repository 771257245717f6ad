//! What clients ask.

use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use aplomb_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use bytes::Bytes;

use crate::group::Caller;

pub(super) const GROUP: &str = "g";
pub(super) const SESSION: Duration = Duration::from_secs(10);
pub(super) const REBALANCE: Duration = Duration::from_secs(60);

pub(super) fn caller(version: i16) -> Caller {
    Caller::new(version, "client", "/192.0.2.1")
}

pub(super) fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).expect("a code that Kafka knows")
}

/// A JoinGroup.
#[derive(Clone, Debug)]
pub(super) struct JoinSpec {
    pub(super) version: i16,
    pub(super) group: &'static str,
    pub(super) member: String,
    pub(super) instance: Option<String>,
    pub(super) protocol_type: &'static str,
    pub(super) protocols: Vec<(&'static str, Bytes)>,
    pub(super) session: Duration,
    pub(super) rebalance: Duration,
}

impl JoinSpec {
    pub(super) fn new() -> Self {
        Self {
            version: 9,
            group: GROUP,
            member: String::new(),
            instance: None,
            protocol_type: "consumer",
            protocols: vec![("range", subscription(&["t"]))],
            session: SESSION,
            rebalance: REBALANCE,
        }
    }

    pub(super) fn version(mut self, version: i16) -> Self {
        self.version = version;
        self
    }

    pub(super) fn member(mut self, member: &str) -> Self {
        self.member = member.to_owned();
        self
    }

    pub(super) fn instance(mut self, instance: &str) -> Self {
        self.instance = Some(instance.to_owned());
        self
    }

    pub(super) fn protocols(mut self, names: &[&'static str]) -> Self {
        self.protocols = names.iter().map(|name| (*name, subscription(&["t"]))).collect();
        self
    }

    pub(super) fn metadata(mut self, metadata: &'static [u8]) -> Self {
        self.protocols = vec![("range", Bytes::from_static(metadata))];
        self
    }

    pub(super) fn request(&self) -> m::JoinGroupRequest {
        let millis = |time: Duration| i32::try_from(time.as_millis()).expect("in bounds");
        let protocols = self.protocols.iter().map(|(name, metadata)| JoinGroupRequestProtocol {
            name: (*name).to_owned(),
            metadata: metadata.clone(),
        });
        m::JoinGroupRequest {
            group_id: self.group.to_owned(),
            session_timeout_ms: millis(self.session),
            rebalance_timeout_ms: if self.version == 0 { -1 } else { millis(self.rebalance) },
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: self.protocol_type.to_owned(),
            protocols: protocols.collect(),
            reason: Some("\u{1b}[31mtest".to_owned()),
        }
    }
}

/// A SyncGroup.
#[derive(Clone, Debug)]
pub(super) struct SyncSpec {
    pub(super) version: i16,
    pub(super) member: String,
    pub(super) instance: Option<String>,
    pub(super) generation: i32,
    pub(super) protocol_type: Option<&'static str>,
    pub(super) protocol: Option<&'static str>,
    pub(super) assignments: Vec<(String, String)>,
}

impl SyncSpec {
    pub(super) fn of(member: &str, generation: i32) -> Self {
        Self {
            version: 4,
            member: member.to_owned(),
            instance: None,
            generation,
            protocol_type: None,
            protocol: None,
            assignments: Vec::new(),
        }
    }

    pub(super) fn request(&self) -> m::SyncGroupRequest {
        let assignments = self.assignments.iter().map(|(member, assignment)| SyncGroupRequestAssignment {
            member_id: member.clone(),
            assignment: Bytes::copy_from_slice(assignment.as_bytes()),
        });
        m::SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.member.clone(),
            group_instance_id: self.instance.clone(),
            protocol_type: self.protocol_type.map(str::to_owned),
            protocol_name: self.protocol.map(str::to_owned),
            assignments: assignments.collect(),
        }
    }
}

/// What a consumer says that is subscribed to these topics.
pub(super) fn subscription(topics: &[&str]) -> Bytes {
    let mut w = aplomb_protocol::Writer::new();
    w.i16(1);
    w.count(topics.len(), false).expect("few topics");
    topics.iter().for_each(|topic| w.string(topic, false).expect("a short name"));
    w.nullable_bytes(None, false).expect("no data");
    w.count(0, false).expect("owns nothing");
    w.freeze()
}
