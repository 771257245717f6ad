//! Appends that wait.

use aplomb_log::Loan;
use aplomb_log::tail::{Claim, TailShare};
use aplomb_model::Offset;
use aplomb_model::batch::Validated;

use crate::calls::{Appended, InTransaction, MarkerCall, OwnBatch};

/// A batch that may be appended.
#[derive(Debug)]
pub(super) enum Appending {
    /// A client's.
    Produced(ValidBatch),
    /// This broker's own.
    Own(OwnBatch),
    /// The end of a transaction.
    Marker(MarkerCall),
}

/// A client's batch that was found valid.
#[derive(Debug)]
pub(super) struct ValidBatch {
    pub(super) batch: Box<Validated>,
    /// Its transaction, if it is to be looked at as part of one.
    pub(super) transaction: Option<InTransaction>,
    pub(super) claim: Claim,
}

impl Appending {
    /// Whether it need not wait behind others: it overtakes none of its own connection.
    pub(super) fn is_light(&self) -> bool {
        matches!(self, Self::Produced(ValidBatch { claim: Claim::Light, .. }))
    }

    /// In bytes, as they lie in the log.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Produced(valid) => valid.batch.append.size(),
            Self::Own(own) => own.batch.len(),
            Self::Marker(_) => 0,
        }
    }
}

/// An append that found no memory.
#[derive(Debug)]
pub(super) struct WaitingForMemory {
    pub(super) batch: Appending,
    /// What a client's batch takes meanwhile, of what may wait for the partition's disk.
    loan: Option<Loan>,
}

impl WaitingForMemory {
    /// `loan`: what a client's batch takes meanwhile.
    pub(super) fn new(batch: Appending, loan: Option<Loan>) -> Self {
        Self { batch, loan }
    }

    /// It waits for another disk's memory from now on: those who wait for the one before have
    /// nothing to do with it any more.
    pub(super) fn relocate(&mut self, share: &TailShare) {
        if let Some(loan) = &mut self.loan {
            *loan = share.producing().take_anyway(loan.bytes());
        }
    }
}

/// An append that is answered when the disk has it.
#[derive(Debug)]
pub(super) struct WaitingForSync {
    pub(super) answer: Appended,
    pub(super) last: Offset,
}
