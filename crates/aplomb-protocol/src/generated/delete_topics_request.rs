//! `DeleteTopicsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteTopicsRequest.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `DeleteTopicsRequest`: request, key 20, versions 1-6, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteTopicsRequest {
    /// `Topics`: []DeleteTopicState, versions 6+.
    pub topics: Vec<DeleteTopicState>,
    /// `TopicNames`: []string, versions 0-5, dropped by versions without it.
    pub topic_names: Vec<String>,
    /// `TimeoutMs`: int32, versions 0+.
    pub timeout_ms: i32,
}

impl Message for DeleteTopicsRequest {
    const NAME: &'static str = "DeleteTopicsRequest";
    const API_KEY: Option<i16> = Some(20);
    const VERSIONS: VersionRange = VersionRange::new(1, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let topics = if v == 6 { r.array(flexible, |r| DeleteTopicState::decode(r, v))? } else { Vec::new() };
        let topic_names = if v <= 5 { r.array(flexible, |r| r.string(flexible))? } else { Vec::new() };
        let timeout_ms = r.i32()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topics, topic_names, timeout_ms })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        if v == 6 {
            w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        } else if !self.topics.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "DeleteTopicsRequest",
                field: "Topics",
                version: v,
            });
        }
        if v <= 5 {
            w.array(&self.topic_names, flexible, |w, it| w.string(it, flexible))?;
        }
        w.i32(self.timeout_ms);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeleteTopicState` in `DeleteTopicsRequest`, versions 6.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteTopicState {
    /// `Name`: string, versions 6+, nullable in 6+, default null.
    pub name: Option<String>,
    /// `TopicId`: uuid, versions 6+.
    pub topic_id: Uuid,
}

impl DeleteTopicState {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.nullable_string(true)?;
        let topic_id = r.uuid()?;
        r.skip_tags()?;
        Ok(Self { name, topic_id })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.nullable_string(self.name.as_deref(), true)?;
        w.uuid(self.topic_id);
        w.no_tags();
        Ok(())
    }
}

impl Request for DeleteTopicsRequest {
    const KEY: ApiKey = ApiKey::DeleteTopics;
    type Response = super::DeleteTopicsResponse;
}
