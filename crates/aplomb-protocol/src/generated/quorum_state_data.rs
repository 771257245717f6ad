//! `QuorumStateData` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/QuorumStateData.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `QuorumStateData`: data, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq)]
pub struct QuorumStateData {
    /// `ClusterId`: string, versions 0.
    pub cluster_id: String,
    /// `LeaderId`: int32, versions 0+, default -1.
    pub leader_id: i32,
    /// `LeaderEpoch`: int32, versions 0+, default -1.
    pub leader_epoch: i32,
    /// `VotedId`: int32, versions 0+, default -1.
    pub voted_id: i32,
    /// `VotedDirectoryId`: uuid, versions 1+.
    pub voted_directory_id: Uuid,
    /// `AppliedOffset`: int64, versions 0.
    pub applied_offset: i64,
    /// `CurrentVoters`: []Voter, versions 0, nullable in 0.
    pub current_voters: Option<Vec<Voter>>,
}

impl Default for QuorumStateData {
    fn default() -> Self {
        Self {
            cluster_id: String::new(),
            leader_id: -1,
            leader_epoch: -1,
            voted_id: -1,
            voted_directory_id: Uuid::ZERO,
            applied_offset: 0,
            current_voters: Some(Vec::new()),
        }
    }
}

impl Message for QuorumStateData {
    const NAME: &'static str = "QuorumStateData";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let cluster_id = if v == 0 { r.string(true)? } else { String::new() };
        let leader_id = r.i32()?;
        let leader_epoch = r.i32()?;
        let voted_id = r.i32()?;
        let voted_directory_id = if v == 1 { r.uuid()? } else { Uuid::ZERO };
        let applied_offset = if v == 0 { r.i64()? } else { 0 };
        let current_voters =
            if v == 0 { r.nullable_array(true, |r| Voter::decode(r, v))? } else { Some(Vec::new()) };
        r.skip_tags()?;
        Ok(Self {
            cluster_id,
            leader_id,
            leader_epoch,
            voted_id,
            voted_directory_id,
            applied_offset,
            current_voters,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        if v == 0 {
            w.string(&self.cluster_id, true)?;
        } else if !self.cluster_id.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "QuorumStateData",
                field: "ClusterId",
                version: v,
            });
        }
        w.i32(self.leader_id);
        w.i32(self.leader_epoch);
        w.i32(self.voted_id);
        if v == 1 {
            w.uuid(self.voted_directory_id);
        } else if self.voted_directory_id != Uuid::ZERO {
            return Err(EncodeError::FieldNotInVersion {
                message: "QuorumStateData",
                field: "VotedDirectoryId",
                version: v,
            });
        }
        if v == 0 {
            w.i64(self.applied_offset);
        } else if self.applied_offset != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "QuorumStateData",
                field: "AppliedOffset",
                version: v,
            });
        }
        if v == 0 {
            w.nullable_array(self.current_voters.as_deref(), true, |w, it| it.encode(w, v))?;
        } else if self.current_voters.as_ref().is_none_or(|it| !it.is_empty()) {
            return Err(EncodeError::FieldNotInVersion {
                message: "QuorumStateData",
                field: "CurrentVoters",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}

/// `Voter` in `QuorumStateData`, versions 0.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Voter {
    /// `VoterId`: int32, versions 0.
    pub voter_id: i32,
}

impl Voter {
    pub(crate) fn decode(r: &mut Reader, _v: i16) -> Result<Self, DecodeError> {
        let voter_id = r.i32()?;
        r.skip_tags()?;
        Ok(Self { voter_id })
    }

    pub(crate) fn encode(&self, w: &mut Writer, _v: i16) -> Result<(), EncodeError> {
        w.i32(self.voter_id);
        w.no_tags();
        Ok(())
    }
}
