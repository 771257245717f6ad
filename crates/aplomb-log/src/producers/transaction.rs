//! Transactions as one partition sees them: open, ended by a marker, decided.

use std::collections::BTreeMap;

use aplomb_model::batch::{BatchHeader, EndTxnMarker, RecordIter};
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};

use crate::index::AbortedTransaction;

/// A transaction marker at its place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionMarker {
    /// Which producer's transaction ends.
    pub producer: ProducerId,
    /// The producer's epoch in the marker's batch.
    pub epoch: ProducerEpoch,
    /// How it ends, and who decided.
    pub end: EndTxnMarker,
    /// The marker's offset. Not looked at by [`super::ProducerState::check_marker`].
    pub offset: Offset,
    /// When the marker was written.
    pub timestamp: Timestamp,
}

/// A transaction that has ended in this partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedTransaction {
    /// Which producer's transaction it is.
    pub producer: ProducerId,
    /// The offset of its first record.
    pub first_offset: Offset,
    /// The offset of its marker.
    pub last_offset: Offset,
    /// Whether its records count.
    pub committed: bool,
    /// Up to where the log is decided after it: where the earliest other open transaction begins,
    /// or the offset after the marker.
    pub last_stable_offset: Offset,
}

impl CompletedTransaction {
    /// The entry for the transaction index; `None` if the transaction was committed.
    #[must_use]
    pub fn aborted(&self) -> Option<AbortedTransaction> {
        (!self.committed).then_some(AbortedTransaction {
            producer: self.producer,
            first_offset: self.first_offset,
            last_offset: self.last_offset,
            last_stable_offset: self.last_stable_offset,
        })
    }
}

/// Where each producer's last marker lies. Without memory until there is one: most partitions never
/// see any.
#[derive(Debug, Default)]
pub(super) struct LastMarkers(Option<Box<Markers>>);

#[derive(Debug, Default)]
struct Markers(BTreeMap<ProducerId, Offset>);

impl LastMarkers {
    pub(super) fn note(&mut self, producer: ProducerId, at: Offset) {
        self.0.get_or_insert_default().0.insert(producer, at);
    }

    pub(super) fn of(&self, producer: ProducerId) -> Option<Offset> {
        self.0.as_ref()?.0.get(&producer).copied()
    }

    pub(super) fn forget(&mut self, is_gone: impl Fn(ProducerId) -> bool) {
        if let Some(markers) = &mut self.0 {
            markers.0.retain(|producer, _| !is_gone(*producer));
        }
    }
}

/// A transaction that is not decided yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Which producer's transaction it is.
    pub producer: ProducerId,
    /// The offset of its first record.
    pub first_offset: Offset,
    /// When its producer was last heard of.
    pub last_timestamp: Timestamp,
}

/// The transaction marker in a control batch, if it is one.
#[must_use]
pub fn marker_of(header: &BatchHeader, records: &[u8]) -> Option<EndTxnMarker> {
    if !header.is_control() || !header.is_transactional() {
        return None;
    }
    let record = RecordIter::new(records, header.count()).next()?.ok()?;
    EndTxnMarker::from_record(record.key?, record.value?)
}
