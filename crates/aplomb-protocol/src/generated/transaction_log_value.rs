//! `TransactionLogValue` as Apache Kafka 4.4.0 speaks it.
//!
//! Written by `cargo xtask codegen` from `schema/TransactionLogValue.schema`; not edited by hand.

use crate::{DecodeError, EncodeError, Message, Reader, VersionRange, Writer};

/// `TransactionLogValue`: coordinator-value, key 0, versions 0-1, flexible 1+.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionLogValue {
    /// `ProducerId`: int64, versions 0+.
    pub producer_id: i64,
    /// `PreviousProducerId`: int64, versions 1+, tag 0 in 1+, default -1.
    pub previous_producer_id: i64,
    /// `NextProducerId`: int64, versions 1+, tag 1 in 1+, default -1.
    pub next_producer_id: i64,
    /// `ProducerEpoch`: int16, versions 0+.
    pub producer_epoch: i16,
    /// `NextProducerEpoch`: int16, versions 1+, tag 3 in 1+, default -1.
    pub next_producer_epoch: i16,
    /// `TransactionTimeoutMs`: int32, versions 0+.
    pub transaction_timeout_ms: i32,
    /// `TransactionStatus`: int8, versions 0+.
    pub transaction_status: i8,
    /// `TransactionPartitions`: []PartitionsSchema, versions 0+, nullable in 0+.
    pub transaction_partitions: Option<Vec<PartitionsSchema>>,
    /// `TransactionLastUpdateTimestampMs`: int64, versions 0+.
    pub transaction_last_update_timestamp_ms: i64,
    /// `TransactionStartTimestampMs`: int64, versions 0+.
    pub transaction_start_timestamp_ms: i64,
    /// `ClientTransactionVersion`: int16, versions 1+, tag 2 in 1+, default 0.
    pub client_transaction_version: i16,
}

impl Default for TransactionLogValue {
    fn default() -> Self {
        Self {
            producer_id: 0,
            previous_producer_id: -1,
            next_producer_id: -1,
            producer_epoch: 0,
            next_producer_epoch: -1,
            transaction_timeout_ms: 0,
            transaction_status: 0,
            transaction_partitions: Some(Vec::new()),
            transaction_last_update_timestamp_ms: 0,
            transaction_start_timestamp_ms: 0,
            client_transaction_version: 0,
        }
    }
}

impl Message for TransactionLogValue {
    const NAME: &'static str = "TransactionLogValue";
    const API_KEY: Option<i16> = Some(0);
    const VERSIONS: VersionRange = VersionRange::new(0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(DecodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        let producer_id = r.i64()?;
        let mut previous_producer_id = -1;
        let mut next_producer_id = -1;
        let producer_epoch = r.i16()?;
        let mut next_producer_epoch = -1;
        let transaction_timeout_ms = r.i32()?;
        let transaction_status = r.i8()?;
        let transaction_partitions = r.nullable_array(flexible, |r| PartitionsSchema::decode(r, v))?;
        let transaction_last_update_timestamp_ms = r.i64()?;
        let transaction_start_timestamp_ms = r.i64()?;
        let mut client_transaction_version = 0;
        if flexible {
            for _ in 0..r.tag_count()? {
                let (tag, outer) = r.enter_tag()?;
                match tag {
                    0 => previous_producer_id = r.i64()?,
                    1 => next_producer_id = r.i64()?,
                    2 => client_transaction_version = r.i16()?,
                    3 => next_producer_epoch = r.i16()?,
                    _ => r.skip_tag(),
                }
                r.leave_tag(outer)?;
            }
        }
        Ok(Self {
            producer_id,
            previous_producer_id,
            next_producer_id,
            producer_epoch,
            next_producer_epoch,
            transaction_timeout_ms,
            transaction_status,
            transaction_partitions,
            transaction_last_update_timestamp_ms,
            transaction_start_timestamp_ms,
            client_transaction_version,
        })
    }

    fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        if !Self::VERSIONS.contains(v) {
            return Err(EncodeError::UnsupportedVersion { message: Self::NAME, version: v });
        }
        let flexible = v == 1;
        w.i64(self.producer_id);
        w.i16(self.producer_epoch);
        w.i32(self.transaction_timeout_ms);
        w.i8(self.transaction_status);
        w.nullable_array(self.transaction_partitions.as_deref(), flexible, |w, it| it.encode(w, v))?;
        w.i64(self.transaction_last_update_timestamp_ms);
        w.i64(self.transaction_start_timestamp_ms);
        if v < 1 && self.previous_producer_id != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "TransactionLogValue",
                field: "PreviousProducerId",
                version: v,
            });
        }
        if v < 1 && self.next_producer_id != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "TransactionLogValue",
                field: "NextProducerId",
                version: v,
            });
        }
        if v < 1 && self.client_transaction_version != 0 {
            return Err(EncodeError::FieldNotInVersion {
                message: "TransactionLogValue",
                field: "ClientTransactionVersion",
                version: v,
            });
        }
        if v < 1 && self.next_producer_epoch != -1 {
            return Err(EncodeError::FieldNotInVersion {
                message: "TransactionLogValue",
                field: "NextProducerEpoch",
                version: v,
            });
        }
        if flexible {
            let mut tags = w.open_tags();
            if self.previous_producer_id != -1 {
                w.tagged(&mut tags, 0, |w| {
                    w.i64(self.previous_producer_id);
                    Ok(())
                })?;
            }
            if self.next_producer_id != -1 {
                w.tagged(&mut tags, 1, |w| {
                    w.i64(self.next_producer_id);
                    Ok(())
                })?;
            }
            if self.client_transaction_version != 0 {
                w.tagged(&mut tags, 2, |w| {
                    w.i16(self.client_transaction_version);
                    Ok(())
                })?;
            }
            if self.next_producer_epoch != -1 {
                w.tagged(&mut tags, 3, |w| {
                    w.i16(self.next_producer_epoch);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// `PartitionsSchema` in `TransactionLogValue`, versions 0-1.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PartitionsSchema {
    /// `Topic`: string, versions 0+.
    pub topic: String,
    /// `PartitionIds`: []int32, versions 0+.
    pub partition_ids: Vec<i32>,
}

impl PartitionsSchema {
    pub(crate) fn decode(r: &mut Reader, v: i16) -> Result<Self, DecodeError> {
        let flexible = v == 1;
        let topic = r.string(flexible)?;
        let partition_ids = r.array(flexible, Reader::i32)?;
        if flexible {
            r.skip_tags()?;
        }
        Ok(Self { topic, partition_ids })
    }

    pub(crate) fn encode(&self, w: &mut Writer, v: i16) -> Result<(), EncodeError> {
        let flexible = v == 1;
        w.string(&self.topic, flexible)?;
        w.array(&self.partition_ids, flexible, |w, it| {
            w.i32(*it);
            Ok(())
        })?;
        if flexible {
            w.no_tags();
        }
        Ok(())
    }
}
