//! `RegisterControllerRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RegisterControllerRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RegisterControllerRecord`: metadata, key 27, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RegisterControllerRecord {
    /// `ControllerId`: int32, versions 0+.
    pub controller_id: i32,
    /// `IncarnationId`: uuid, versions 0+.
    pub incarnation_id: Uuid,
    /// `ZkMigrationReady`: bool, versions 0+.
    pub zk_migration_ready: bool,
    /// `EndPoints`: []ControllerEndpoint, versions 0+.
    pub end_points: Vec<ControllerEndpoint>,
    /// `Features`: []ControllerFeature, versions 0+.
    pub features: Vec<ControllerFeature>,
}

impl Message for RegisterControllerRecord {
    const NAME: &'static str = "RegisterControllerRecord";
    const API_KEY: Option<i16> = Some(27);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let controller_id = r.i32()?;
        let incarnation_id = r.uuid()?;
        let zk_migration_ready = r.bool()?;
        let end_points = r.array(true, |r| ControllerEndpoint::decode(r, v))?;
        let features = r.array(true, |r| ControllerFeature::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { controller_id, incarnation_id, zk_migration_ready, end_points, features })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.controller_id);
        w.uuid(self.incarnation_id);
        w.bool(self.zk_migration_ready);
        w.array(&self.end_points, true, |w, it| it.encode(w, v))?;
        w.array(&self.features, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `ControllerEndpoint` in `RegisterControllerRecord`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ControllerEndpoint {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Port`: uint16, versions 0+.
    pub port: u16,
    /// `SecurityProtocol`: int16, versions 0+.
    pub security_protocol: i16,
}

impl ControllerEndpoint {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let host = r.string(true)?;
        let port = r.u16()?;
        let security_protocol = r.i16()?;
        r.skip_tags()?;
        Ok(Self { name, host, port, security_protocol })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.string(&self.host, true)?;
        w.u16(self.port);
        w.i16(self.security_protocol);
        w.no_tags();
        Ok(())
    }
}

/// `ControllerFeature` in `RegisterControllerRecord`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ControllerFeature {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `MinSupportedVersion`: int16, versions 0+.
    pub min_supported_version: i16,
    /// `MaxSupportedVersion`: int16, versions 0+.
    pub max_supported_version: i16,
}

impl ControllerFeature {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let min_supported_version = r.i16()?;
        let max_supported_version = r.i16()?;
        r.skip_tags()?;
        Ok(Self { name, min_supported_version, max_supported_version })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.i16(self.min_supported_version);
        w.i16(self.max_supported_version);
        w.no_tags();
        Ok(())
    }
}
