//! Before a partition takes what is written in a transaction that has nothing there yet, the
//! transaction's coordinator is asked whether the partition is in it; or, for clients of version 2
//! of transactions, told that it is from here on (KIP-890).

use std::sync::Arc;

use aplomb_coordinator::txn::{Add, ClientVersion, Incarnation, TxnAsk, TxnPartitions, TxnReply};
use aplomb_model::ErrorCode;

use super::transactions::coordinator_of;
use crate::calls::{Answer, PartitionKey, Slot};
use crate::metadata::MetadataImage;
use crate::operation::{Ask, Calls, WaitsAt};

/// The slot of the coordinator's answer, behind all of partitions.
pub(super) const SLOT: Slot = Slot::MAX;

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
