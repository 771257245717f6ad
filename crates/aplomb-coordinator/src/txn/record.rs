//! The records of `__transaction_state`, in Apache Kafka's bytes.
//!
//! A key begins with its type (int16; 0, the transactional id), a value with its version (int16; 0,
//! or 1 from `transaction.version` 1 on: `TransactionLog`).

use std::sync::Arc;

use aplomb_protocol::messages as m;
use aplomb_protocol::{DecodeError, EncodeError, Message, Reader, Writer};
use bytes::Bytes;
use m::transaction_log_value::PartitionsSchema;

use super::state::{ClientVersion, Txn, TxnPartitions, TxnState};

/// The type of keys.
const ID: i16 = 0;

/// What is known of a transactional id, or a tombstone.
#[derive(Clone, Debug, PartialEq)]
pub struct TxnRecord {
    id: Arc<str>,
    txn: Option<Txn>,
    /// In which version the value is written.
    version: i16,
}

impl TxnRecord {
    /// A record for the level `transaction.version` of the feature.
    pub(super) fn new(id: &Arc<str>, txn: Option<&Txn>, transaction_version: i16) -> Self {
        Self { id: id.clone(), txn: txn.cloned(), version: transaction_version.min(1) }
    }

    /// The transactional id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn clone_with(&self, txn: Option<&Txn>) -> Self {
        Self { id: self.id.clone(), txn: txn.cloned(), version: self.version }
    }

    pub(super) fn into_txn(self) -> Option<Txn> {
        self.txn
    }

    /// Key and value in bytes.
    ///
    /// # Errors
    /// When a field is too large for its format.
    pub fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        let mut w = Writer::new();
        w.i16(ID);
        m::TransactionLogKey { transactional_id: self.id.to_string() }.encode(&mut w, 0)?;
        let key = w.freeze();
        let Some(txn) = &self.txn else { return Ok((key, None)) };
        let mut w = Writer::new();
        w.i16(self.version);
        value(txn, self.version).encode(&mut w, self.version)?;
        Ok((key, Some(w.freeze())))
    }

    /// Reads key and value. `Ok(None)`: a type that only later versions know.
    ///
    /// # Errors
    /// When the bytes are no record, or of a state that a log does not have.
    pub fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<Self>, DecodeError> {
        let mut r = Reader::new(key);
        if r.i16()? != ID {
            return Ok(None);
        }
        let key = m::TransactionLogKey::decode(&mut r, 0)?;
        r.finish()?;
        let (txn, version) = match value {
            Some(value) => {
                let mut r = Reader::new(value);
                let version = r.i16()?;
                (txn(m::TransactionLogValue::decode(&mut r, version)?)?, version)
            }
            None => (None, 0),
        };
        Ok(Some(Self { id: key.transactional_id.into(), txn, version }))
    }
}

fn value(txn: &Txn, version: i16) -> m::TransactionLogValue {
    let partitions = txn.partitions.iter().map(|(topic, ids)| PartitionsSchema {
        topic: topic.to_string(),
        partition_ids: ids.iter().copied().collect(),
    });
    let value = m::TransactionLogValue {
        producer_id: txn.producer_id,
        producer_epoch: txn.epoch,
        transaction_timeout_ms: txn.timeout,
        transaction_status: txn.state as i8,
        // Apache Kafka writes no list, and not an empty one, for a transaction that has none.
        transaction_partitions: (txn.state != TxnState::Empty).then(|| partitions.collect()),
        transaction_last_update_timestamp_ms: txn.updated,
        transaction_start_timestamp_ms: txn.began,
        ..Default::default()
    };
    if version == 0 {
        return value;
    }
    m::TransactionLogValue {
        previous_producer_id: txn.previous_id,
        next_producer_id: txn.next_id,
        client_transaction_version: txn.version.0,
        ..value
    }
}

/// `Ok(None)`: it is dead, which is as good as gone.
fn txn(value: m::TransactionLogValue) -> Result<Option<Txn>, DecodeError> {
    /// `Dead`: never written, and understood by Apache Kafka.
    const DEAD: i8 = 6;
    if value.transaction_status == DEAD {
        return Ok(None);
    }
    let unknown =
        DecodeError::UnknownValue { name: "TransactionStatus", value: value.transaction_status.into() };
    let state = TxnState::from_log(value.transaction_status).ok_or(unknown)?;
    let mut partitions = TxnPartitions::new();
    for PartitionsSchema { topic, partition_ids } in value.transaction_partitions.unwrap_or_default() {
        partitions.entry(topic.into()).or_default().extend(partition_ids);
    }
    Ok(Some(Txn {
        producer_id: value.producer_id,
        previous_id: value.previous_producer_id,
        next_id: value.next_producer_id,
        epoch: value.producer_epoch,
        timeout: value.transaction_timeout_ms,
        state,
        partitions,
        began: value.transaction_start_timestamp_ms,
        updated: value.transaction_last_update_timestamp_ms,
        version: ClientVersion(value.client_transaction_version),
    }))
}
