//! Appends that wait.

use aplomb_model::Offset;
use aplomb_model::batch::Validated;

use crate::calls::{AppendCall, Appended};

/// An append that found no memory.
#[derive(Debug)]
pub(super) struct WaitingForMemory {
    pub(super) call: AppendCall,
    /// What validation made of a produced batch, once its turn came.
    pub(super) checked: Option<Box<Validated>>,
}

/// An append that is answered when the disk has it.
#[derive(Debug)]
pub(super) struct WaitingForSync {
    pub(super) answer: Appended,
    pub(super) last: Offset,
}
