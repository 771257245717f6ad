//! `ProduceResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ProduceResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ProduceResponse`: response, key 0, versions 3-13, flexible 9+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ProduceResponse {
    /// `Responses`: []TopicProduceResponse, versions 0+.
    pub responses: Vec<TopicProduceResponse>,
    /// `ThrottleTimeMs`: int32, versions 1+, default 0, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `NodeEndpoints`: []NodeEndpoint, versions 10+, tag 0 in 10+.
    pub node_endpoints: Vec<NodeEndpoint>,
}

impl Message for ProduceResponse {
    const NAME: &'static str = "ProduceResponse";
    const API_KEY: Option<i16> = Some(0);
    const VERSIONS: VersionRange = VersionRange::new(3, 13);
    const FLEXIBLE_FROM: Option<i16> = Some(9);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        let responses = r.array(flexible, |r| TopicProduceResponse::decode(r, v))?;
        let throttle_time_ms = r.i32()?;
        let mut node_endpoints = Vec::new();
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 if v >= 10 => node_endpoints = r.array(true, |r| NodeEndpoint::decode(r, v))?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self { responses, throttle_time_ms, node_endpoints })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 9;
        w.array(&self.responses, flexible, |w, it| it.encode(w, v))?;
        w.throttle_time(self.throttle_time_ms);
        if v < 10 && !self.node_endpoints.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "ProduceResponse",
                field: "NodeEndpoints",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if v >= 10 && !self.node_endpoints.is_empty() {
                w.tagged(&mut tags, 0, |w| w.array(&self.node_endpoints, true, |w, it| it.encode(w, v)))?;
            }
        }
        Ok(())
    }
}

/// `TopicProduceResponse` in `ProduceResponse`, versions 3-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct TopicProduceResponse {
    /// `Name`: string, versions 0-12, dropped by versions without it.
    pub name: String,
    /// `TopicId`: uuid, versions 13+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `PartitionResponses`: []PartitionProduceResponse, versions 0+.
    pub partition_responses: Vec<PartitionProduceResponse>,
}

impl TopicProduceResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let name = if v <= 12 { r.string(flexible)? } else { String::new() };
        let topic_id = if v == 13 { r.uuid()? } else { Uuid::ZERO };
        let partition_responses = r.array(flexible, |r| PartitionProduceResponse::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, partition_responses })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        if v <= 12 {
            w.string(&self.name, flexible)?;
        }
        if v == 13 {
            w.uuid(self.topic_id);
        }
        w.array(&self.partition_responses, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `PartitionProduceResponse` in `ProduceResponse`, versions 3-13.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionProduceResponse {
    /// `Index`: int32, versions 0+.
    pub index: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `BaseOffset`: int64, versions 0+.
    pub base_offset: i64,
    /// `LogAppendTimeMs`: int64, versions 2+, default -1, dropped by versions without it.
    pub log_append_time_ms: i64,
    /// `LogStartOffset`: int64, versions 5+, default -1, dropped by versions without it.
    pub log_start_offset: i64,
    /// `RecordErrors`: []BatchIndexAndErrorMessage, versions 8+, dropped by versions without it.
    pub record_errors: Vec<BatchIndexAndErrorMessage>,
    /// `ErrorMessage`: string, versions 8+, nullable in 8+, default null, dropped by versions without it.
    pub error_message: Option<String>,
    /// `CurrentLeader`: LeaderIdAndEpoch, versions 10+, tag 0 in 10+.
    pub current_leader: LeaderIdAndEpoch,
}

impl Default for PartitionProduceResponse {
    fn default() -> Self {
        Self {
            index: 0,
            error_code: 0,
            base_offset: 0,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: LeaderIdAndEpoch::default(),
        }
    }
}

impl PartitionProduceResponse {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let index = r.i32()?;
        let error_code = r.i16()?;
        let base_offset = r.i64()?;
        let log_append_time_ms = r.i64()?;
        let log_start_offset = if v >= 5 { r.i64()? } else { -1 };
        let record_errors =
            if v >= 8 { r.array(flexible, |r| BatchIndexAndErrorMessage::decode(r, v))? } else { Vec::new() };
        let error_message = if v >= 8 { r.nullable_string(flexible)? } else { None };
        let mut current_leader = LeaderIdAndEpoch::default();
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 if v >= 10 => current_leader = LeaderIdAndEpoch::decode(r, v)?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            index,
            error_code,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
        })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.i32(self.index);
        w.error_code(self.error_code);
        w.i64(self.base_offset);
        w.i64(self.log_append_time_ms);
        if v >= 5 {
            w.i64(self.log_start_offset);
        }
        if v >= 8 {
            w.array(&self.record_errors, flexible, |w, it| it.encode(w, v))?;
        }
        if v >= 8 {
            w.nullable_string(self.error_message.as_deref(), flexible)?;
        }
        if v < 10 && self.current_leader != LeaderIdAndEpoch::default() {
            return Err(EncodeError::FieldNotInVersion {
                message: "PartitionProduceResponse",
                field: "CurrentLeader",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if v >= 10 && self.current_leader != LeaderIdAndEpoch::default() {
                w.tagged(&mut tags, 0, |w| self.current_leader.encode(w, v))?;
            }
        }
        Ok(())
    }
}

/// `BatchIndexAndErrorMessage` in `ProduceResponse`, versions 8-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BatchIndexAndErrorMessage {
    /// `BatchIndex`: int32, versions 8+.
    pub batch_index: i32,
    /// `BatchIndexErrorMessage`: string, versions 8+, nullable in 8+, default null.
    pub batch_index_error_message: Option<String>,
}

impl BatchIndexAndErrorMessage {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 9;
        let batch_index = r.i32()?;
        let batch_index_error_message = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { batch_index, batch_index_error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 9;
        w.i32(self.batch_index);
        w.nullable_string(self.batch_index_error_message.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `LeaderIdAndEpoch` in `ProduceResponse`, versions 10-13.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaderIdAndEpoch {
    /// `LeaderId`: int32, versions 10+, default -1.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 10+, default -1.
    pub leader_epoch: i32,
}

impl Default for LeaderIdAndEpoch {
    fn default() -> Self {
        Self { leader_id: -1, leader_epoch: -1 }
    }
}

impl LeaderIdAndEpoch {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        r.skip_tags()?;
        Ok(Self { leader_id, leader_epoch })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.no_tags();
        Ok(())
    }
}

/// `NodeEndpoint` in `ProduceResponse`, versions 10-13.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NodeEndpoint {
    /// `NodeId`: int32, versions 10+.
    pub node_id: i32,
    /// `Host`: string, versions 10+.
    pub host: String,
    /// `Port`: int32, versions 10+.
    pub port: i32,
    /// `Rack`: string, versions 10+, nullable in 10+, default null.
    pub rack: Option<String>,
}

impl NodeEndpoint {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let node_id = r.i32()?;
        let host = r.string(true)?;
        let port = r.i32()?;
        let rack = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { node_id, host, port, rack })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.node_id);
        w.string(&self.host, true)?;
        w.i32(self.port);
        w.nullable_string(self.rack.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
