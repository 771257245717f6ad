//! `DescribeClientQuotasResponse` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DescribeClientQuotasResponse.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DescribeClientQuotasResponse`: response, key 48, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribeClientQuotasResponse {
    /// `ThrottleTimeMs`: int32, versions 0+.
    pub throttle_time_ms: i32,
    /// `ErrorCode`: int16, versions 0+.
    pub error_code: i16,
    /// `ErrorMessage`: string, versions 0+, nullable in 0+.
    pub error_message: Option<String>,
    /// `Entries`: []EntryData, versions 0+, nullable in 0+.
    pub entries: Option<Vec<EntryData>>,
}

impl Default for DescribeClientQuotasResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: Some(String::new()),
            entries: Some(Vec::new()),
        }
    }
}

impl Message for DescribeClientQuotasResponse {
    const NAME: &'static str = "DescribeClientQuotasResponse";
    const API_KEY: Option<i16> = Some(48);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let throttle_time_ms = r.i32()?;
        let error_code = r.i16()?;
        let error_message = r.nullable_string(flexible)?;
        let entries = r.nullable_array(flexible, |r| EntryData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { throttle_time_ms, error_code, error_message, entries })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.throttle_time(self.throttle_time_ms);
        w.error_code(self.error_code);
        w.nullable_string(self.error_message.as_deref(), flexible)?;
        w.nullable_array(self.entries.as_deref(), flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntryData` in `DescribeClientQuotasResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct EntryData {
    /// `Entity`: []EntityData, versions 0+.
    pub entity: Vec<EntityData>,
    /// `Values`: []ValueData, versions 0+.
    pub values: Vec<ValueData>,
}

impl EntryData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let entity = r.array(flexible, |r| EntityData::decode(r, v))?;
        let values = r.array(flexible, |r| ValueData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { entity, values })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.array(&self.entity, flexible, |w, it| it.encode(w, v))?;
        w.array(&self.values, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntityData` in `DescribeClientQuotasResponse`, versions 0-1.
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

/// `ValueData` in `DescribeClientQuotasResponse`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ValueData {
    /// `Key`: string, versions 0+.
    pub key: String,
    /// `Value`: float64, versions 0+.
    pub value: f64,
}

impl ValueData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let key = r.string(flexible)?;
        let value = r.f64()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { key, value })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.string(&self.key, flexible)?;
        w.f64(self.value);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
