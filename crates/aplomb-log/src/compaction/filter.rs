//! Which records of a batch stay (`Cleaner.cleanInto`, `MemoryRecords.filterTo`).

use aplomb_model::Timestamp;
use aplomb_model::batch::{
    BatchBuilder, BatchError, BatchHeader, BatchView, HEADER_SIZE, RecordRef, TimestampType,
};
use bytes::Bytes;

use super::offset_map::OffsetMap;
use super::plan::CompactionPlan;
use super::transactions::CleanedTransactions;
use crate::index::AbortedTransaction;
use crate::producers::marker_of;

/// What becomes of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Nothing,
    /// Byte for byte.
    AsItWas,
    /// With fewer records, with none, or with a delete horizon.
    Other(Bytes),
}

/// A batch that was looked at.
#[derive(Clone, Debug)]
pub(super) struct Filtered {
    pub(super) kept: Kept,
    /// Records that stay.
    pub(super) records: u32,
    /// The entry that goes with an abort marker that stays.
    pub(super) aborted: Option<AbortedTransaction>,
}

/// Looks at the next batch of a pass.
///
/// # Errors
/// [`BatchError`]: its records cannot be read.
pub(super) fn filter(
    view: &BatchView<'_>,
    plan: &CompactionPlan,
    map: &OffsetMap,
    transactions: &mut CleanedTransactions,
) -> Result<Filtered, BatchError> {
    let header = &view.header;
    let (may_go, aborted) = if header.is_control() {
        let marker = marker_of(header, &view.record_bytes());
        let marker = transactions.on_control(header, marker.map(|marker| marker.committed));
        (marker.may_go, marker.entry)
    } else {
        (transactions.on_records(header), None)
    };
    // A marker goes one pass, and delete.retention.ms, after the last record of its transaction.
    let discarded = may_go
        && (!header.is_control() || header.delete_horizon().is_some_and(|horizon| horizon <= plan.now));
    let stays_empty = stays_empty(header, plan);
    // Of a transaction's records the map is not sure to know.
    let is_outdated = !header.is_control()
        && !header.is_transactional()
        && map.outdates_all(header.base_offset(), header.last_offset());
    if (discarded || is_outdated) && !stays_empty {
        return Ok(Filtered { kept: Kept::Nothing, records: 0, aborted });
    }
    let bytes = view.uncompressed(plan.rules.decompressed)?;
    let (mut records, mut all, mut has_tombstone) = (0, true, false);
    for record in view.records(&bytes) {
        let record = record?;
        if !discarded && stays(header, &record, plan, map)? {
            records += 1;
            has_tombstone |= record.value.is_none();
        } else {
            all = false;
        }
    }
    let kept = if records == 0 {
        // One that was emptied before counts as changed: it is written as it was.
        if stays_empty {
            Kept::Other(Bytes::copy_from_slice(header.emptied().as_bytes()))
        } else {
            Kept::Nothing
        }
    } else {
        let begins_horizon =
            (has_tombstone || header.is_control() && may_go) && header.delete_horizon().is_none();
        if all && !begins_horizon {
            Kept::AsItWas
        } else {
            let horizon = if begins_horizon { Some(horizon_of(plan)) } else { header.delete_horizon() };
            Kept::Other(rebuild(view, &bytes, horizon, |record| stays(header, record, plan, map))?)
        }
    };
    Ok(Filtered { kept, records, aborted })
}

/// Whether a batch stays as a header when its records go.
pub(super) fn stays_empty(header: &BatchHeader, plan: &CompactionPlan) -> bool {
    is_last_of_producer(header, plan) || header.last_offset().next() == plan.high_watermark
}

/// Until when tombstones and markers that this pass is the first to meet are kept.
fn horizon_of(plan: &CompactionPlan) -> Timestamp {
    let retention = i64::try_from(plan.rules.delete_retention_ms).unwrap_or(i64::MAX);
    Timestamp(plan.now.0.saturating_add(retention))
}

/// Whether a producer's last sequence number, or its epoch, would be lost with the batch.
fn is_last_of_producer(header: &BatchHeader, plan: &CompactionPlan) -> bool {
    let Some(stamp) = header.producer() else { return false };
    match plan.producers.marker_of(stamp.id) {
        Some(epoch) => header.is_control() && stamp.epoch == epoch,
        None => plan.producers.has_data_at(header.last_offset()),
    }
}

fn stays(
    header: &BatchHeader,
    record: &RecordRef<'_>,
    plan: &CompactionPlan,
    map: &OffsetMap,
) -> Result<bool, BatchError> {
    if header.is_control() {
        return Ok(true);
    }
    let offset = header
        .record_offset(record.offset_delta)
        .ok_or(BatchError::Field { field: "offsetDelta", value: record.offset_delta.into() })?;
    if map.latest().is_none_or(|latest| offset > latest) {
        return Ok(true);
    }
    let Some(key) = record.key else { return Ok(false) };
    if map.get(key).is_some_and(|last| offset < last) {
        return Ok(false);
    }
    Ok(record.value.is_some() || header.delete_horizon().is_none_or(|horizon| plan.now < horizon))
}

/// The batch with the records that stay: same offsets, producer, epochs and codec.
fn rebuild(
    view: &BatchView<'_>,
    bytes: &[u8],
    horizon: Option<Timestamp>,
    stays: impl Fn(&RecordRef<'_>) -> Result<bool, BatchError>,
) -> Result<Bytes, BatchError> {
    let header = &view.header;
    let mut builder = BatchBuilder::new(header.base_offset())
        .compression(header.codec()?)
        .last_offset_delta(header.last_offset_delta());
    if let Some(epoch) = header.leader_epoch() {
        builder = builder.leader_epoch(epoch);
    }
    builder = match header.producer() {
        Some(stamp) => builder.producer(stamp),
        None if header.last_sequence().is_some() => builder.numbered(),
        None => builder,
    };
    if header.is_transactional() {
        builder = builder.transactional();
    }
    if header.is_control() {
        builder = builder.control();
    }
    if header.timestamp_type() == TimestampType::LogAppendTime {
        builder = builder.log_append_time(header.max_timestamp());
    }
    if let Some(horizon) = horizon {
        builder = builder.delete_horizon(horizon);
    }
    for record in view.records(bytes) {
        let record = record?;
        if stays(&record)? {
            let timestamp = header.record_timestamp(record.timestamp_delta);
            let delta = record.offset_delta.unsigned_abs();
            builder.append_at(delta, timestamp, record.key, record.value, record.headers.iter());
        }
    }
    let batch = builder.build();
    assert!(batch.len() >= HEADER_SIZE, "a batch has a header");
    Ok(batch)
}
