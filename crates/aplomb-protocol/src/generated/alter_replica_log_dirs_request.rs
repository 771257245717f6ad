//! `AlterReplicaLogDirsRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AlterReplicaLogDirsRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AlterReplicaLogDirsRequest`: request, key 34, versions 1-2, flexible 2+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDirsRequest {
    /// `Dirs`: []AlterReplicaLogDir, versions 0+.
    pub dirs: Vec<AlterReplicaLogDir>,
}

impl Message for AlterReplicaLogDirsRequest {
    const NAME: &'static str = "AlterReplicaLogDirsRequest";
    const API_KEY: Option<i16> = Some(34);
    const VERSIONS: VersionRange = VersionRange::new(1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        let dirs = r.array(flexible, |r| AlterReplicaLogDir::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { dirs })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 2;
        w.array(&self.dirs, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterReplicaLogDir` in `AlterReplicaLogDirsRequest`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDir {
    /// `Path`: string, versions 0+.
    pub path: String,
    /// `Topics`: []AlterReplicaLogDirTopic, versions 0+.
    pub topics: Vec<AlterReplicaLogDirTopic>,
}

impl AlterReplicaLogDir {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let path = r.string(flexible)?;
        let topics = r.array(flexible, |r| AlterReplicaLogDirTopic::decode(r, v))?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { path, topics })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.path, flexible)?;
        w.array(&self.topics, flexible, |w, it| it.encode(w, v))?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AlterReplicaLogDirTopic` in `AlterReplicaLogDirsRequest`, versions 1-2.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AlterReplicaLogDirTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl AlterReplicaLogDirTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 2;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 2;
        w.string(&self.name, flexible)?;
        w.array(&self.partitions, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for AlterReplicaLogDirsRequest {
    const KEY: ApiKey = ApiKey::AlterReplicaLogDirs;
    type Response = super::AlterReplicaLogDirsResponse;
}
