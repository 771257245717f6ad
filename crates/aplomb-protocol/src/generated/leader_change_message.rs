//! `LeaderChangeMessage` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/LeaderChangeMessage.schema`; not edited by hand.

use aplomb_model::Uuid;

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `LeaderChangeMessage`: data, versions 0-1, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LeaderChangeMessage {
    /// `Version`: int16, versions 0+.
    pub version: i16,
    /// `LeaderId`: int32, versions 0+.
    pub leader_id: i32,
    /// `Voters`: []Voter, versions 0+.
    pub voters: Vec<Voter>,
    /// `GrantingVoters`: []Voter, versions 0+.
    pub granting_voters: Vec<Voter>,
}

impl Message for LeaderChangeMessage {
    const NAME: &'static str = "LeaderChangeMessage";
    const API_KEY: Option<i16> = None;
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let version = r.i16()?;
        let leader_id = r.i32()?;
        let voters = r.array(true, |r| Voter::decode(r, v))?;
        let granting_voters = r.array(true, |r| Voter::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { version, leader_id, voters, granting_voters })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.i16(self.version);
        w.i32(self.leader_id);
        w.array(&self.voters, true, |w, it| it.encode(w, v))?;
        w.array(&self.granting_voters, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `Voter` in `LeaderChangeMessage`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Voter {
    /// `VoterId`: int32, versions 0+.
    pub voter_id: i32,
    /// `VoterDirectoryId`: uuid, versions 1+.
    pub voter_directory_id: Uuid,
}

impl Voter {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let voter_id = r.i32()?;
        let voter_directory_id = if v == 1 { r.uuid()? } else { Uuid::ZERO };
        r.skip_tags()?;
        Ok(Self { voter_id, voter_directory_id })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.i32(self.voter_id);
        if v == 1 {
            w.uuid(self.voter_directory_id);
        } else if self.voter_directory_id != Uuid::ZERO {
            return Err(EncodeError::FieldNotInVersion {
                message: "Voter",
                field: "VoterDirectoryId",
                version: v,
            });
        }
        w.no_tags();
        Ok(())
    }
}
