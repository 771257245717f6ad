//! Before a partition takes what is written in a transaction that has nothing there yet, the
//! transaction's coordinator is asked whether the partition is in it; or, for clients of version 2
//! of transactions, told that it is from here on (KIP-890).

use std::sync::Arc;

use aplomb_coordinator::txn::{Add, ClientVersion, Incarnation, TxnAsk, TxnPartitions, TxnReply};
use aplomb_model::ErrorCode;
use aplomb_model::batch::{BatchHeader, ProducerStamp};
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::produce_request::{ProduceBody, ProducePartition};
use bytes::Bytes;

use super::transactions::{coordinator_of, incarnation};
use super::{Access, On};
use crate::calls::{Answer, PartitionKey, Slot};
use crate::metadata::MetadataImage;
use crate::operation::{Ask, Calls, WaitsAt};
use crate::security::AclOperation;

/// The slot of the coordinator's answer, behind all of partitions.
pub(super) const SLOT: Slot = Slot::MAX;
/// Where a batch has the low byte of its attributes.
pub(super) const ATTRIBUTES_LOW: usize = 22;
/// Its bit that says that a batch is part of a transaction.
const TRANSACTIONAL: u8 = 1 << 4;

/// A question to a transaction's coordinator, as part of another request.
#[derive(Debug)]
pub(super) struct Verification {
    coordinator: Option<PartitionKey>,
    of: Incarnation,
    /// Whether partitions are added, and not only looked for.
    adds: bool,
    stage: VerificationStage,
}

/// How far a question has come.
#[derive(Debug)]
enum VerificationStage {
    NotAsked,
    Asked,
    Told(Result<TxnPartitions, ErrorCode>),
    Taken,
}

impl Verification {
    pub(super) fn new(of: Incarnation, adds: bool, image: &MetadataImage) -> Self {
        Self { coordinator: coordinator_of(&of.id, image), of, adds, stage: VerificationStage::NotAsked }
    }

    /// Asks about these partitions. What is answered is [`Self::take`]n.
    pub(super) fn ask(&mut self, partitions: TxnPartitions, calls: &mut Calls) {
        assert!(matches!(self.stage, VerificationStage::NotAsked), "a request asks once");
        let Some(key) = self.coordinator else {
            self.stage = VerificationStage::Told(Err(ErrorCode::CoordinatorNotAvailable));
            return;
        };
        self.stage = VerificationStage::Asked;
        let ask = if self.adds {
            let version = ClientVersion::EPOCH_EACH;
            TxnAsk::Add(Add { of: self.of.clone(), partitions, version, waits: true })
        } else {
            TxnAsk::Verify(self.of.clone(), partitions)
        };
        calls.push((SLOT, key, ask.call()));
    }

    pub(super) fn on_answer(&mut self, answer: Answer) {
        assert!(self.is_asked(), "a question is answered once");
        self.stage = VerificationStage::Told(match TxnAsk::take(answer) {
            Ok(TxnReply::Done(ErrorCode::None)) => Ok(TxnPartitions::new()),
            Ok(TxnReply::Done(code)) | Err(code) => Err(code),
            Ok(TxnReply::Verified(verified)) => verified,
            Ok(other) => unreachable!("a question for partitions is answered {other:?}"),
        });
    }

    /// Whether nothing was asked yet.
    pub(super) fn is_to_ask(&self) -> bool {
        matches!(self.stage, VerificationStage::NotAsked)
    }

    /// Whether the answer is still to come.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.stage, VerificationStage::Asked)
    }

    /// It is not waited for any longer: something else of the transaction takes too long.
    pub(super) fn give_up(&mut self) {
        if self.is_asked() {
            self.stage = VerificationStage::Told(Err(ErrorCode::ConcurrentTransactions));
        }
    }

    /// Takes the answer: the partitions that are not in the transaction, or why none is.
    pub(super) fn take(&mut self) -> Option<Result<TxnPartitions, ErrorCode>> {
        if !matches!(self.stage, VerificationStage::Told(_)) {
            return None;
        }
        match std::mem::replace(&mut self.stage, VerificationStage::Taken) {
            VerificationStage::Told(told) => Some(told),
            other => unreachable!("{other:?} was looked at"),
        }
    }

    /// Where the question may still wait.
    pub(super) fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        let was_asked = !matches!(self.stage, VerificationStage::NotAsked);
        if let Some(key) = self.coordinator.filter(|_| was_asked) {
            waits(SLOT, WaitsAt::Partition(key));
        }
    }

    /// What a client is told that cannot write (`AddPartitionsToTxnManager`, `ReplicaManager`).
    /// `knows`: it knows `TRANSACTION_ABORTABLE`.
    pub(super) fn client_error(&self, error: ErrorCode, knows: bool) -> ErrorCode {
        match error {
            ErrorCode::ProducerFenced => ErrorCode::InvalidProducerEpoch,
            ErrorCode::TransactionAbortable if !knows => ErrorCode::InvalidTxnState,
            ErrorCode::ConcurrentTransactions if self.adds => error,
            // Older clients do not all try again at these.
            ErrorCode::ConcurrentTransactions
            | ErrorCode::NetworkException
            | ErrorCode::RequestTimedOut
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator => ErrorCode::NotEnoughReplicas,
            other => other,
        }
    }
}

/// A partition by the name of its topic, as a transaction has it.
pub(super) type TxnPlace = (Arc<str>, i32);

/// Whose transaction a request writes in. `Ok(None)`: in none, whatever id it names.
///
/// # Errors
/// When its batches are of a transaction, and not of one of this client.
pub(super) fn transaction(
    body: &ProduceBody,
    partitions: &[(TopicKey, ProducePartition<'_>)],
    access: &Access<'_>,
) -> Result<Option<Incarnation>, ErrorCode> {
    let records = partitions.iter().filter_map(|(_, partition)| partition.records.as_ref());
    let mut headers = records.filter_map(|records| transactional(records)).peekable();
    if headers.peek().is_none() {
        return Ok(None);
    }
    let Some(id) = &body.transactional_id else { return Err(ErrorCode::TransactionalIdAuthorizationFailed) };
    access.check(AclOperation::Write, On::TransactionalId(id))?;
    let mut stamps = headers.filter_map(|header| header.producer());
    let Some(first) = stamps.next() else { return Ok(None) }; // they are refused for what they are
    if stamps.any(|stamp| (stamp.id, stamp.epoch) != (first.id, first.epoch)) {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    Ok(Some(incarnation(id, first.id.to_wire(), first.epoch.0)))
}

/// Who has produced a batch, if it says that it is part of a transaction.
pub(super) fn stamp_in_transaction(records: &Bytes) -> Option<ProducerStamp> {
    transactional(records)?.producer()
}

/// The header of a batch, if it has a sound one that says that it is part of a transaction.
fn transactional(records: &[u8]) -> Option<BatchHeader> {
    records.get(ATTRIBUTES_LOW).filter(|attributes| **attributes & TRANSACTIONAL != 0)?;
    BatchHeader::parse(records).ok().filter(BatchHeader::is_transactional)
}
