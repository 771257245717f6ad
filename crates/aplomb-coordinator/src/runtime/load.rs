//! A log is replayed: batches, their records, and the ends of transactions.

use aplomb_model::Offset;
use aplomb_model::batch::{Batches, ControlKind};
use bytes::Bytes;

use super::machine::Machine;

/// What a compressed batch of the log may stand for, in bytes: twice what the largest batch of
/// another broker may be.
const BATCH_LIMIT: usize = 128 << 20;

/// Why a log cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A batch cannot be read.
    #[error("batch at offset {at}: {error}")]
    Batch {
        /// The batch's base offset.
        at: Offset,
        /// What is wrong with it.
        error: aplomb_model::batch::BatchError,
    },
    /// A record in it cannot be understood.
    #[error("record in the batch at offset {at}: {error}")]
    Record {
        /// The batch's base offset.
        at: Offset,
        /// What is wrong with it.
        error: aplomb_protocol::DecodeError,
    },
}

/// Has a machine replay whole batches, in their order; a batch may lie in several of the slices.
/// Gives the offset after the last one.
pub(super) fn replay<M: Machine>(machine: &mut M, slices: &[&[u8]]) -> Result<Option<Offset>, LoadError> {
    let mut end = None;
    for batch in Batches::in_slices(slices) {
        let at = batch.header.base_offset();
        let unreadable = |error| LoadError::Batch { at, error };
        let producer = batch.header.producer().map(|producer| producer.id);
        let raw = batch.uncompressed(BATCH_LIMIT).map_err(unreadable)?;
        for record in batch.records(&raw) {
            let record = record.map_err(unreadable)?;
            if batch.header.is_control() {
                let kind = record.key.and_then(ControlKind::from_key);
                let (Some(producer), Some(kind)) = (producer, kind) else { continue };
                if matches!(kind, ControlKind::Commit | ControlKind::Abort) {
                    machine.replay_marker(producer, kind == ControlKind::Commit);
                }
                continue;
            }
            // A record without a key says nothing that a compacted log keeps.
            let Some(key) = record.key else { continue };
            let (key, value) = (Bytes::copy_from_slice(key), record.value.map(Bytes::copy_from_slice));
            let known = M::decode(key, value).map_err(|error| LoadError::Record { at, error })?;
            if let Some(known) = known {
                let producer = producer.filter(|_| batch.header.is_transactional());
                machine.replay(known, producer);
            }
        }
        end = Some(Offset::new(batch.header.last_offset().get() + 1));
    }
    Ok(end)
}
