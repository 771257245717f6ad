//! `AccessControlEntryRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AccessControlEntryRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `AccessControlEntryRecord`: metadata, key 18, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AccessControlEntryRecord {
    /// `Id`: uuid, versions 0+.
    pub id: Uuid,
    /// `ResourceType`: int8, versions 0+.
    pub resource_type: i8,
    /// `ResourceName`: string, versions 0+.
    pub resource_name: String,
    /// `PatternType`: int8, versions 0+.
    pub pattern_type: i8,
    /// `Principal`: string, versions 0+.
    pub principal: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Operation`: int8, versions 0+.
    pub operation: i8,
    /// `PermissionType`: int8, versions 0+.
    pub permission_type: i8,
}

impl Message for AccessControlEntryRecord {
    const NAME: &'static str = "AccessControlEntryRecord";
    const API_KEY: Option<i16> = Some(18);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let id = r.uuid()?;
        let resource_type = r.i8()?;
        let resource_name = r.string(true)?;
        let pattern_type = r.i8()?;
        let principal = r.string(true)?;
        let host = r.string(true)?;
        let operation = r.i8()?;
        let permission_type = r.i8()?;
        r.skip_tags()?;
        Ok(Self {
            id,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.uuid(self.id);
        w.i8(self.resource_type);
        w.string(&self.resource_name, true)?;
        w.i8(self.pattern_type);
        w.string(&self.principal, true)?;
        w.string(&self.host, true)?;
        w.i8(self.operation);
        w.i8(self.permission_type);
        w.no_tags();
        Ok(())
    }
}
