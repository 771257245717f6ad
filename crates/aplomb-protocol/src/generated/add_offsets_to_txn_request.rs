//! `AddOffsetsToTxnRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AddOffsetsToTxnRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AddOffsetsToTxnRequest`: request, key 25, versions 0-4, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddOffsetsToTxnRequest {
    /// `TransactionalId`: string, versions 0+.
    pub transactional_id: String,
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `GroupId`: string, versions 0+.
    pub group_id: String,
}

impl Message for AddOffsetsToTxnRequest {
    const NAME: &'static str = "AddOffsetsToTxnRequest";
    const API_KEY: Option<i16> = Some(25);
    const VERSIONS: VersionRange = VersionRange::new(0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let transactional_id = r.string(flexible)?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let group_id = r.string(flexible)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { transactional_id, producer_id, producer_epoch, group_id })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        w.string(&self.transactional_id, flexible)?;
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        w.string(&self.group_id, flexible)?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

impl Request for AddOffsetsToTxnRequest {
    const KEY: ApiKey = ApiKey::AddOffsetsToTxn;
    type Response = super::AddOffsetsToTxnResponse;
}
