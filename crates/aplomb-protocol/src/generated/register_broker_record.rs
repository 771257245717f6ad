//! `RegisterBrokerRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/RegisterBrokerRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `RegisterBrokerRecord`: metadata, key 0, versions 0-4, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterBrokerRecord {
    /// `BrokerId`: int32, versions 0+.
    pub broker_id: i32,
    /// `IsMigratingZkBroker`: bool, versions 2+, default false.
    pub is_migrating_zk_broker: bool,
    /// `IncarnationId`: uuid, versions 0+.
    pub incarnation_id: Uuid,
    /// `BrokerEpoch`: int64, versions 0+.
    pub broker_epoch: i64,
    /// `EndPoints`: []BrokerEndpoint, versions 0+.
    pub end_points: Vec<BrokerEndpoint>,
    /// `Features`: []BrokerFeature, versions 0+.
    pub features: Vec<BrokerFeature>,
    /// `Rack`: string, versions 0+, nullable in 0+.
    pub rack: Option<String>,
    /// `Fenced`: bool, versions 0+, default true.
    pub fenced: bool,
    /// `InControlledShutdown`: bool, versions 1+, default false.
    pub in_controlled_shutdown: bool,
    /// `LogDirs`: []uuid, versions 3+, tag 0 in 3+.
    pub log_dirs: Vec<Uuid>,
    /// `CordonedLogDirs`: []uuid, versions 4+, nullable in 4+, tag 1 in 4+, default null.
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

impl Default for RegisterBrokerRecord {
    fn default() -> Self {
        Self {
            broker_id: 0,
            is_migrating_zk_broker: false,
            incarnation_id: Uuid::ZERO,
            broker_epoch: 0,
            end_points: Vec::new(),
            features: Vec::new(),
            rack: Some(String::new()),
            fenced: true,
            in_controlled_shutdown: false,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        }
    }
}

impl Message for RegisterBrokerRecord {
    const NAME: &'static str = "RegisterBrokerRecord";
    const API_KEY: Option<i16> = Some(0);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let broker_id = r.i32()?;
        let is_migrating_zk_broker = if v >= 2 { r.bool()? } else { false };
        let incarnation_id = r.uuid()?;
        let broker_epoch = r.i64()?;
        let end_points = r.array(true, |r| BrokerEndpoint::decode(r, v))?;
        let features = r.array(true, |r| BrokerFeature::decode(r, v))?;
        let rack = r.nullable_string(true)?;
        let fenced = r.bool()?;
        let in_controlled_shutdown = if v >= 1 { r.bool()? } else { false };
        let mut log_dirs = Vec::new();
        let mut cordoned_log_dirs = None;
        for _ in 0..r.tag_count()? {
            let (tag, outer) = r.enter_tag()?;
            match tag {
                0 if v >= 3 => log_dirs = r.array(true, Reader::uuid)?,
                1 if v == 4 => cordoned_log_dirs = r.nullable_array(true, Reader::uuid)?,
                _ => r.skip_tag(),
            }
            r.leave_tag(outer)?;
        }
        Ok(Self {
            broker_id,
            is_migrating_zk_broker,
            incarnation_id,
            broker_epoch,
            end_points,
            features,
            rack,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i32(self.broker_id);
        if v >= 2 {
            w.bool(self.is_migrating_zk_broker);
        } else if self.is_migrating_zk_broker {
            return Err(EncodeError::FieldNotInVersion {
                message: "RegisterBrokerRecord",
                field: "IsMigratingZkBroker",
                version: v,
            });
        }
        w.uuid(self.incarnation_id);
        w.i64(self.broker_epoch);
        w.array(&self.end_points, true, |w, it| it.encode(w, v))?;
        w.array(&self.features, true, |w, it| it.encode(w, v))?;
        w.nullable_string(self.rack.as_deref(), true)?;
        w.bool(self.fenced);
        if v >= 1 {
            w.bool(self.in_controlled_shutdown);
        } else if self.in_controlled_shutdown {
            return Err(EncodeError::FieldNotInVersion {
                message: "RegisterBrokerRecord",
                field: "InControlledShutdown",
                version: v,
            });
        }
        if v < 3 && !self.log_dirs.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "RegisterBrokerRecord",
                field: "LogDirs",
                version: v,
            });
        }
        if v < 4 && self.cordoned_log_dirs.is_some() {
            return Err(EncodeError::FieldNotInVersion {
                message: "RegisterBrokerRecord",
                field: "CordonedLogDirs",
                version: v,
            });
        }
        let mut tags = w.open_tags();
        if v >= 3 && !self.log_dirs.is_empty() {
            w.tagged(&mut tags, 0, |w| {
                w.array(&self.log_dirs, true, |w, it| {
                    w.uuid(*it);
                    Ok(())
                })
            })?;
        }
        if v == 4 && self.cordoned_log_dirs.is_some() {
            w.tagged(&mut tags, 1, |w| {
                w.nullable_array(self.cordoned_log_dirs.as_deref(), true, |w, it| {
                    w.uuid(*it);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}

/// `BrokerEndpoint` in `RegisterBrokerRecord`, versions 0-4.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BrokerEndpoint {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Port`: uint16, versions 0+.
    pub port: u16,
    /// `SecurityProtocol`: int16, versions 0+.
    pub security_protocol: i16,
}

impl BrokerEndpoint {
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

/// `BrokerFeature` in `RegisterBrokerRecord`, versions 0-4.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BrokerFeature {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `MinSupportedVersion`: int16, versions 0+.
    pub min_supported_version: i16,
    /// `MaxSupportedVersion`: int16, versions 0+.
    pub max_supported_version: i16,
}

impl BrokerFeature {
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
