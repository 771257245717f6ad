//! `ConfigRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/ConfigRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `ConfigRecord`: metadata, key 4, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigRecord {
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Value`: string, versions 0+, nullable in 0+.
    pub value: Option<String>,
}

impl Default for ConfigRecord {
    fn default() -> Self {
        Self {
            resource_type: 0,
            resource_name: String::new(),
            name: String::new(),
            value: Some(String::new()),
        }
    }
}

impl Message for ConfigRecord {
    const NAME: &'static str = "ConfigRecord";
    const API_KEY: Option<i16> = Some(4);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let resource_type = r.i8()?;
        let resource_name = r.string(true)?;
        let name = r.string(true)?;
        let value = r.nullable_string(true)?;
        r.skip_tags()?;
        Ok(Self { resource_type, resource_name, name, value })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i8(self.resource_type);
        w.string(&self.resource_name, true)?;
        w.string(&self.name, true)?;
        w.nullable_string(self.value.as_deref(), true)?;
        w.no_tags();
        Ok(())
    }
}
