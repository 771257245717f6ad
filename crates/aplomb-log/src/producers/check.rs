//! Whether a batch or a marker may be appended, given what is known of its producer
//! (`org.apache.kafka.storage.internals.log.ProducerAppendInfo`).
//!
//! Only a leader asks: what replication or recovery brings was checked before. Every refusal is
//! named by what is wrong; its code is chosen in the `From` at the end of its type. Next:
//! `state.rs`, which asks and then applies.

use aplomb_model::{ErrorCode, Offset, ProducerEpoch, ProducerId, Timestamp};

use super::entry::{NO_EPOCH, ProducerBatch, ProducerEntry};
use super::transaction::TransactionMarker;

/// Who asks a leader to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A client's Produce: sequence numbers are checked, repetitions recognised.
    Client,
    /// The broker's own group coordinator, whose batches for a producer all begin at sequence 0:
    /// only their epoch is checked.
    Coordinator,
}

/// What to do with a batch that is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It follows the producer's last batch: append it.
    Append,
    /// It is in the log already: answer where.
    Duplicate {
        /// The offset of its first record.
        base_offset: Offset,
        /// The offset of its last record.
        last_offset: Offset,
        /// The greatest timestamp of its records.
        timestamp: Timestamp,
    },
}

/// Why a batch must not be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// A newer incarnation of the producer has written already.
    #[error("epoch {} of producer {} is below the last seen epoch {}", epoch.0, producer.to_wire(), current.0)]
    OldEpoch {
        /// Which producer sent the batch.
        producer: ProducerId,
        /// In which incarnation of the producer.
        epoch: ProducerEpoch,
        /// The epoch last seen.
        current: ProducerEpoch,
    },
    /// A new incarnation does not begin at 0.
    #[error("producer {} begins epoch {} with sequence {sequence} instead of 0", producer.to_wire(), epoch.0)]
    NewEpochNotAtZero {
        /// Which producer sent the batch.
        producer: ProducerId,
        /// In which incarnation of the producer.
        epoch: ProducerEpoch,
        /// The batch's first sequence number.
        sequence: i32,
    },
    /// Something between the last batch and this one is missing, or this one is too old to be
    /// remembered.
    #[error("sequence {sequence} of producer {} does not follow {last}", producer.to_wire())]
    OutOfOrder {
        /// Which producer sent the batch.
        producer: ProducerId,
        /// The batch's first sequence number.
        sequence: i32,
        /// The last sequence number in the log; -1 if there is none.
        last: i32,
    },
    /// The producer has an open transaction and the batch does not belong to it.
    #[error("producer {} writes outside of its transaction, open since {open_since}", producer.to_wire())]
    OutsideTransaction {
        /// Which producer sent the batch.
        producer: ProducerId,
        /// Where the transaction begins.
        open_since: Offset,
    },
}

impl From<&SequenceError> for ErrorCode {
    fn from(error: &SequenceError) -> Self {
        match error {
            SequenceError::OldEpoch { .. } => Self::InvalidProducerEpoch,
            SequenceError::NewEpochNotAtZero { .. } | SequenceError::OutOfOrder { .. } => {
                Self::OutOfOrderSequenceNumber
            }
            SequenceError::OutsideTransaction { .. } => Self::InvalidTxnState,
        }
    }
}

/// How a marker's epoch relates to the producer's: feature `transaction.version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerEpochRule {
    /// Versions 0 and 1: the epoch of the transaction's records, or a later one.
    NotBelow,
    /// Version 2: the coordinator raises the epoch for each marker, so an equal one is late or
    /// repeated.
    Above,
}

/// Why a transaction marker must not be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// The marker is of an older transaction than the producer's last.
    #[error(
        "epoch {} of a marker for producer {} does not go beyond the last seen epoch {}",
        epoch.0, producer.to_wire(), current.0
    )]
    OldEpoch {
        /// Which producer's transaction the marker ends.
        producer: ProducerId,
        /// The producer epoch in the marker.
        epoch: ProducerEpoch,
        /// The epoch last seen.
        current: ProducerEpoch,
    },
    /// Another coordinator has taken over since.
    #[error(
        "coordinator epoch {epoch} of a marker for producer {} is below the last seen {current}",
        producer.to_wire()
    )]
    OldCoordinator {
        /// Which producer's transaction the marker ends.
        producer: ProducerId,
        /// The marker's coordinator epoch.
        epoch: i32,
        /// The coordinator epoch last seen.
        current: i32,
    },
}

impl From<&MarkerError> for ErrorCode {
    fn from(error: &MarkerError) -> Self {
        match error {
            MarkerError::OldEpoch { .. } => Self::InvalidProducerEpoch,
            MarkerError::OldCoordinator { .. } => Self::TransactionCoordinatorFenced,
        }
    }
}

/// Checks a batch of records against its producer's entry.
pub(super) fn check_batch(
    entry: &ProducerEntry,
    batch: &ProducerBatch,
    origin: AppendOrigin,
) -> Result<Admission, SequenceError> {
    let producer = batch.producer;
    if origin == AppendOrigin::Client
        && let Some(known) = entry.find_duplicate(batch)
    {
        return Ok(Admission::Duplicate {
            base_offset: known.base_offset(),
            last_offset: known.last_offset,
            timestamp: known.timestamp,
        });
    }
    if batch.epoch < entry.epoch() {
        return Err(SequenceError::OldEpoch { producer, epoch: batch.epoch, current: entry.epoch() });
    }
    if origin == AppendOrigin::Client {
        check_sequence(entry, batch)?;
    }
    match entry.open_transaction() {
        Some(open_since) if !batch.transactional => {
            Err(SequenceError::OutsideTransaction { producer, open_since })
        }
        Some(_) | None => Ok(Admission::Append),
    }
}

fn check_sequence(entry: &ProducerEntry, batch: &ProducerBatch) -> Result<(), SequenceError> {
    let (producer, sequence) = (batch.producer, batch.base_sequence);
    if entry.epoch() == NO_EPOCH {
        // Retention or DeleteRecords may have removed all that the producer wrote: any number will
        // do.
        return Ok(());
    }
    if batch.epoch != entry.epoch() {
        return match sequence {
            0 => Ok(()),
            _ => Err(SequenceError::NewEpochNotAtZero { producer, epoch: batch.epoch, sequence }),
        };
    }
    let last = entry.last_sequence();
    let follows = last.checked_add(1).unwrap_or(0) == sequence;
    if follows { Ok(()) } else { Err(SequenceError::OutOfOrder { producer, sequence, last }) }
}

/// Checks a transaction marker against its producer's entry.
pub(super) fn check_marker(
    entry: &ProducerEntry,
    marker: &TransactionMarker,
    rule: MarkerEpochRule,
) -> Result<(), MarkerError> {
    let (producer, epoch, current) = (marker.producer, marker.epoch, entry.epoch());
    let high_enough = match rule {
        MarkerEpochRule::NotBelow => epoch >= current,
        // An equal epoch without an open transaction repeats a marker that is in the log already.
        // The highest epoch cannot be raised any more, and must not leave a transaction open for
        // ever.
        MarkerEpochRule::Above => {
            let repeated = entry.open_transaction().is_none() || epoch.0 == i16::MAX;
            epoch > current || (epoch == current && repeated)
        }
    };
    if !high_enough {
        return Err(MarkerError::OldEpoch { producer, epoch, current });
    }
    let (epoch, current) = (marker.end.coordinator_epoch, entry.coordinator_epoch());
    if epoch < current { Err(MarkerError::OldCoordinator { producer, epoch, current }) } else { Ok(()) }
}
