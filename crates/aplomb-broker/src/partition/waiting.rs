//! Appends that wait.

use aplomb_log::Loan;
use aplomb_model::Offset;
use aplomb_model::batch::Validated;

use crate::calls::{Appended, OwnBatch};

/// A batch that may be appended.
#[derive(Debug)]
pub(super) enum Appending {
    /// A client's.
    Produced(Box<Validated>),
    /// This broker's own.
    Own(OwnBatch),
}

/// An append that found no memory.
#[derive(Debug)]
pub(super) struct WaitingForMemory {
    pub(super) batch: Appending,
    /// What a client's batch takes meanwhile.
    pub(super) _loan: Option<Loan>,
}

/// An append that is answered when the disk has it.
#[derive(Debug)]
pub(super) struct WaitingForSync {
    pub(super) answer: Appended,
    pub(super) last: Offset,
}
