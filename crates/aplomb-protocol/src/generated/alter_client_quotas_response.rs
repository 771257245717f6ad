//! `AlterClientQuotasResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterClientQuotasResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AlterClientQuotasResponse`: response, key 49, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterClientQuotasResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `Entries`: []EntryData, versions 0+.
    pub entries: Vec<EntryData>,
}

impl Message for AlterClientQuotasResponse {
    const NAME: &'static str = "AlterClientQuotasResponse";
    const API_KEY: Option<i16> = Some(49);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let throttle_time_ms = r.i32()?;
        let entries = r.array(flexible, |r| EntryData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, entries })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.throttle_time(self.throttle_time_ms);
        w.array(&self.entries, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntryData` in `AlterClientQuotasResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryData {
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Entity`: []EntityData, versions 0+.
    pub entity: Vec<EntityData>,
}

impl Default for EntryData {
    fn default() -> Self {
        Self { error_code: 0, error_message: Some(String::new()), entity: Vec::new() }
    }
}

impl EntryData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let entity = r.array(flexible, |r| EntityData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { error_code, error_message, entity })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.array(&self.entity, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntityData` in `AlterClientQuotasResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityData {
    /// `EntityType`: string, versions 0+.
    pub entity_type: String,
    /// `EntityName`: string, versions 0+, nullable in 0+.
    pub entity_name: Option<String>,
}

impl Default for EntityData {
    fn default() -> Self {
        Self { entity_type: String::new(), entity_name: Some(String::new()) }
    }
}

impl EntityData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let entity_type = r.string(flexible)?;
        let entity_name = r.nullable_string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { entity_type, entity_name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.string(&self.entity_type, flexible)?;
        w.nullable_string(self.entity_name.as_deref(), flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
