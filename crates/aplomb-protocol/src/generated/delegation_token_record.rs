//! `DelegationTokenRecord` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/DelegationTokenRecord.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `DelegationTokenRecord`: metadata, key 10, versions 0, flexible 0+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DelegationTokenRecord {
    /// `Owner`: string, versions 0+.
    pub owner: String,
    /// `Requester`: string, versions 0+.
    pub requester: String,
    /// `Renewers`: []string, versions 0+.
    pub renewers: Vec<String>,
    /// `IssueTimestamp`: int64, versions 0+.
    pub issue_timestamp: i64,
    /// `MaxTimestamp`: int64, versions 0+.
    pub max_timestamp: i64,
    /// `ExpirationTimestamp`: int64, versions 0+.
    pub expiration_timestamp: i64,
    /// `TokenId`: string, versions 0+.
    pub token_id: String,
}

impl Message for DelegationTokenRecord {
    const NAME: &'static str = "DelegationTokenRecord";
    const API_KEY: Option<i16> = Some(10);
    const VERSIONS: VersionRange = VersionRange::new(0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let owner = r.string(true)?;
        let requester = r.string(true)?;
        let renewers = r.array(true, |r| r.string(true))?;
        let issue_timestamp = r.i64()?;
        let max_timestamp = r.i64()?;
        let expiration_timestamp = r.i64()?;
        let token_id = r.string(true)?;
        r.skip_tags()?;
        Ok(Self {
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        w.string(&self.owner, true)?;
        w.string(&self.requester, true)?;
        w.array(&self.renewers, true, |w, it| w.string(it, true))?;
        w.i64(self.issue_timestamp);
        w.i64(self.max_timestamp);
        w.i64(self.expiration_timestamp);
        w.string(&self.token_id, true)?;
        w.no_tags();
        Ok(())
    }
}
