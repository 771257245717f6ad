//! `ClientQuotaRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ClientQuotaRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ClientQuotaRecord`: metadata, key 14, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ClientQuotaRecord {
    /// `Entity`: []EntityData, versions 0+.
    pub entity: Vec<EntityData>,
    /// `Key`: string, versions 0+.
    pub key: String,
    /// `Value`: float64, versions 0+.
    pub value: f64,
    /// `Remove`: bool, versions 0+.
    pub remove: bool,
}

impl Message for ClientQuotaRecord {
    const NAME: &'static str = "ClientQuotaRecord";
    const API_KEY: Option<i16> = Some(14);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let entity = r.array(true, |r| EntityData::decode(r, v))?;
        let key = r.string(true)?;
        let value = r.f64()?;
        let remove = r.bool()?;
        r.skip_tags()?;
        Ok(Self { entity, key, value, remove })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.array(&self.entity, true, |w, it| it.encode(w, v))?;
        w.string(&self.key, true)?;
        w.f64(self.value);
        w.bool(self.remove);
        w.no_tags();
        Ok(())
    }
}

/// `EntityData` in `ClientQuotaRecord`, versions 0.
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
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let entity_type = r.string(true)?;
        let entity_name = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { entity_type, entity_name })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.entity_type, true)?;
        w.nullable_string(self.entity_name.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
