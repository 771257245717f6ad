//! `AlterClientQuotasRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterClientQuotasRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AlterClientQuotasRequest`: request, key 49, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterClientQuotasRequest {
    /// `Entries`: []EntryData, versions 0+.
    pub entries: Vec<EntryData>,
    /// `ValidateOnly`: bool, versions 0+.
    pub validate_only: bool,
}

impl Message for AlterClientQuotasRequest {
    const NAME: &'static str = "AlterClientQuotasRequest";
    const API_KEY: Option<i16> = Some(49);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let entries = r.array(flexible, |r| EntryData::decode(r, v))?;
        let validate_only = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { entries, validate_only })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.array(&self.entries, flexible, |w, it| it.encode(w, v))?;
        w.bool(self.validate_only);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntryData` in `AlterClientQuotasRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct EntryData {
    /// `Entity`: []EntityData, versions 0+.
    pub entity: Vec<EntityData>,
    /// `Ops`: []OpData, versions 0+.
    pub ops: Vec<OpData>,
}

impl EntryData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let entity = r.array(flexible, |r| EntityData::decode(r, v))?;
        let ops = r.array(flexible, |r| OpData::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { entity, ops })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.array(&self.entity, flexible, |w, it| it.encode(w, v))?;
        w.array(&self.ops, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `EntityData` in `AlterClientQuotasRequest`, versions 0-1.
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

/// `OpData` in `AlterClientQuotasRequest`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OpData {
    /// `Key`: string, versions 0+.
    pub key: String,
    /// `Value`: float64, versions 0+.
    pub value: f64,
    /// `Remove`: bool, versions 0+.
    pub remove: bool,
}

impl OpData {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let key = r.string(flexible)?;
        let value = r.f64()?;
        let remove = r.bool()?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { key, value, remove })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.string(&self.key, flexible)?;
        w.f64(self.value);
        w.bool(self.remove);
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for AlterClientQuotasRequest {
    const KEY: ApiKey = ApiKey::AlterClientQuotas;
    type Response = super::AlterClientQuotasResponse;
}
