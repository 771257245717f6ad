//! `VotersRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/VotersRecord.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `VotersRecord`: data, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct VotersRecord {
    /// `Version`: int16, versions 0+.
    pub version: i16,
    /// `Voters`: []Voter, versions 0+.
    pub voters: Vec<Voter>,
}

impl Message for VotersRecord {
    const NAME: &'static str = "VotersRecord";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let version = r.i16()?;
        let voters = r.array(true, |r| Voter::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { version, voters })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i16(self.version);
        w.array(&self.voters, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `Voter` in `VotersRecord`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Voter {
    /// `VoterId`: int32, versions 0+.
    pub voter_id: i32,
    /// `VoterDirectoryId`: uuid, versions 0+.
    pub voter_directory_id: Uuid,
    /// `Endpoints`: []Endpoint, versions 0+.
    pub endpoints: Vec<Endpoint>,
    /// `KRaftVersionFeature`: KRaftVersionFeature, versions 0+.
    pub k_raft_version_feature: KRaftVersionFeature,
}

impl Voter {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let voter_id = r.i32()?;
        let voter_directory_id = r.uuid()?;
        let endpoints = r.array(true, |r| Endpoint::decode(r, v))?;
        let k_raft_version_feature = KRaftVersionFeature::decode(r, v)?;
        r.skip_tags()?;
        Ok(Self { voter_id, voter_directory_id, endpoints, k_raft_version_feature })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.voter_id);
        w.uuid(self.voter_directory_id);
        w.array(&self.endpoints, true, |w, it| it.encode(w, v))?;
        self.k_raft_version_feature.encode(w, v)?;
        w.no_tags();
        Ok(())
    }
}

/// `Endpoint` in `VotersRecord`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Endpoint {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Host`: string, versions 0+.
    pub host: String,
    /// `Port`: uint16, versions 0+.
    pub port: u16,
}

impl Endpoint {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let name = r.string(true)?;
        let host = r.string(true)?;
        let port = r.u16()?;
        r.skip_tags()?;
        Ok(Self { name, host, port })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.string(&self.name, true)?;
        w.string(&self.host, true)?;
        w.u16(self.port);
        w.no_tags();
        Ok(())
    }
}

/// `KRaftVersionFeature` in `VotersRecord`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct KRaftVersionFeature {
    /// `MinSupportedVersion`: int16, versions 0+.
    pub min_supported_version: i16,
    /// `MaxSupportedVersion`: int16, versions 0+.
    pub max_supported_version: i16,
}

impl KRaftVersionFeature {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let min_supported_version = r.i16()?;
        let max_supported_version = r.i16()?;
        r.skip_tags()?;
        Ok(Self { min_supported_version, max_supported_version })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i16(self.min_supported_version);
        w.i16(self.max_supported_version);
        w.no_tags();
        Ok(())
    }
}
