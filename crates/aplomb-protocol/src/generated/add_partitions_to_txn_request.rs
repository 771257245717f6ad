//! `AddPartitionsToTxnRequest` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/AddPartitionsToTxnRequest.schema`; not edited by hand.

use crate::{ApiKey, DecodeError, EncodeError, Message, Reader, Request, VersionRange, Writer};

/// `AddPartitionsToTxnRequest`: request, key 24, versions 0-5, flexible 3+.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnRequest {
    /// `Transactions`: []AddPartitionsToTxnTransaction, versions 4+.
    pub transactions: Vec<AddPartitionsToTxnTransaction>,
    /// `V3AndBelowTransactionalId`: string, versions 0-3.
    pub v3_and_below_transactional_id: String,
    /// `V3AndBelowProducerId`: int64, versions 0-3.
    pub v3_and_below_producer_id: i64,
    /// `V3AndBelowProducerEpoch`: int16, versions 0-3.
    pub v3_and_below_producer_epoch: i16,
    /// `V3AndBelowTopics`: []AddPartitionsToTxnTopic, versions 0-3.
    pub v3_and_below_topics: Vec<AddPartitionsToTxnTopic>,
}

impl Message for AddPartitionsToTxnRequest {
    const NAME: &'static str = "AddPartitionsToTxnRequest";
    const API_KEY: Option<i16> = Some(24);
    const VERSIONS: VersionRange = VersionRange::new(0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        let transactions = if v >= 4 {
            r.array(flexible, |r| AddPartitionsToTxnTransaction::decode(r, v))?
        } else {
            Vec::new()
        };
        let v3_and_below_transactional_id = if v <= 3 { r.string(flexible)? } else { String::new() };
        let v3_and_below_producer_id = if v <= 3 { r.i64()? } else { 0 };
        let v3_and_below_producer_epoch = if v <= 3 { r.i16()? } else { 0 };
        let v3_and_below_topics =
            if v <= 3 { r.array(flexible, |r| AddPartitionsToTxnTopic::decode(r, v))? } else { Vec::new() };
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self {
            transactions,
            v3_and_below_transactional_id,
            v3_and_below_producer_id,
            v3_and_below_producer_epoch,
            v3_and_below_topics,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v >= 3;
        if v >= 4 {
            w.array(&self.transactions, flexible, |w, it| it.encode(w, v))?;
        } else if !self.transactions.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnRequest",
                field: "Transactions",
                version: v,
            });
        }
        if v <= 3 {
            w.string(&self.v3_and_below_transactional_id, flexible)?;
        } else if !self.v3_and_below_transactional_id.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnRequest",
                field: "V3AndBelowTransactionalId",
                version: v,
            });
        }
        if v <= 3 {
            w.i64(self.v3_and_below_producer_id);
        } else if self.v3_and_below_producer_id != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnRequest",
                field: "V3AndBelowProducerId",
                version: v,
            });
        }
        if v <= 3 {
            w.i16(self.v3_and_below_producer_epoch);
        } else if self.v3_and_below_producer_epoch != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnRequest",
                field: "V3AndBelowProducerEpoch",
                version: v,
            });
        }
        if v <= 3 {
            w.array(&self.v3_and_below_topics, flexible, |w, it| it.encode(w, v))?;
        } else if !self.v3_and_below_topics.is_empty() {
            return Err(EncodeError::FieldNotInVersion {
                message: "AddPartitionsToTxnRequest",
                field: "V3AndBelowTopics",
                version: v,
            });
        }
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}

/// `AddPartitionsToTxnTransaction` in `AddPartitionsToTxnRequest`, versions 4-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnTransaction {
    /// `TransactionalId`: string, versions 4+.
    pub transactional_id: String,
    /// `ProducerId`: int64, versions 4+.
    pub producer_id: i64,
    /// `ProducerEpoch`: int16, versions 4+.
    pub producer_epoch: i16,
    /// `VerifyOnly`: bool, versions 4+, default false.
    pub verify_only: bool,
    /// `Topics`: []AddPartitionsToTxnTopic, versions 4+.
    pub topics: Vec<AddPartitionsToTxnTopic>,
}

impl AddPartitionsToTxnTransaction {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let transactional_id = r.string(true)?;
        let producer_id = r.i64()?;
        let producer_epoch = r.i16()?;
        let verify_only = r.bool()?;
        let topics = r.array(true, |r| AddPartitionsToTxnTopic::decode(r, v))?;
        r.skip_tags()?;
        Ok(Self { transactional_id, producer_id, producer_epoch, verify_only, topics })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        w.string(&self.transactional_id, true)?;
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        w.bool(self.verify_only);
        w.array(&self.topics, true, |w, it| it.encode(w, v))?;
        w.no_tags();
        Ok(())
    }
}

/// `AddPartitionsToTxnTopic` in `AddPartitionsToTxnRequest`, versions 0-5.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct AddPartitionsToTxnTopic {
    /// `Name`: string, versions 0+.
    pub name: String,
    /// `Partitions`: []int32, versions 0+.
    pub partitions: Vec<i32>,
}

impl AddPartitionsToTxnTopic {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v >= 3;
        let name = r.string(flexible)?;
        let partitions = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { name, partitions })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v >= 3;
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

impl Request for AddPartitionsToTxnRequest {
    const KEY: ApiKey = ApiKey::AddPartitionsToTxn;
    type Response = super::AddPartitionsToTxnResponse;
}
