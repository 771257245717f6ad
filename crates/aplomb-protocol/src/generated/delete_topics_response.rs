//! `DeleteTopicsResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DeleteTopicsResponse.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DeleteTopicsResponse`: response, key 20, versions 1-6, flexible 4+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DeleteTopicsResponse {
    /// `ThrottleTimeMs`: int32, versions 1+, dropped by versions without it.
    pub throttle_time_ms: i32,
    /// `Responses`: []DeletableTopicResult, versions 0+.
    pub responses: Vec<DeletableTopicResult>,
}

impl Message for DeleteTopicsResponse {
    const NAME: &'static str = "DeleteTopicsResponse";
    const API_KEY: Option<i16> = Some(20);
    const VERSIONS: VersionRange = VersionRange::new(1, 6);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        let throttle_time_ms = r.i32()?;
        let responses = r.array(flexible, |r| DeletableTopicResult::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, responses })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 4;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.responses, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `DeletableTopicResult` in `DeleteTopicsResponse`, versions 1-6.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletableTopicResult {
    /// `Name`: string, versions 0+, nullable in 6+.
    pub name: Option<String>,
    /// `TopicId`: uuid, versions 6+, dropped by versions without it.
    pub topic_id: Uuid,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 5+, nullable in 5+, default null, dropped by versions without it.
    pub error_message: Option<String>,
}

impl Default for DeletableTopicResult {
    fn default() -> Self {
        Self { name: Some(String::new()), topic_id: Uuid::ZERO, error_code: 0, error_message: None }
    }
}

impl DeletableTopicResult {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 4;
        let name = if v == 6 { r.nullable_string(flexible)? } else { Some(r.string(flexible)?) };
        let topic_id = if v == 6 { r.uuid()? } else { Uuid::ZERO };
        let error_code = r.i16()?;
        let error_message = if v >= 5 { r.nullable_string(flexible)? } else { None };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, topic_id, error_code, error_message })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 4;
        if v == 6 {
            w.nullable_string(self.name.as_deref(), flexible)?;
        } else {
            let it = self.name.as_ref().ok_or(EncodeError::UnexpectedNull {
                message: "DeletableTopicResult",
                field: "Name",
                version: v,
            })?;
            w.string(it, flexible)?;
        }
        if v == 6 {
            w.uuid(self.topic_id);
        }
        w.error_code(self.error_code);
        if v >= 5 {
            w.nullable_string(self.error_message.as_deref(), flexible)?;
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
