//! The producer snapshot file: `<offset>.snapshot`, state up to that offset, exclusive
//! (`ProducerStateManager.readSnapshot` and `writeSnapshot`, schema `ProducerSnapshot.json`).
//!
//! Big-endian: `int16 version 1`, `uint32 crc` (CRC-32C of all that follows it), `int32 count`,
//! then 46 bytes a producer: `int64 producerId, int16 epoch, int32 lastSequence, int64 lastOffset,
//! int32 offsetDelta, int64 timestamp, int32 coordinatorEpoch, int64 currentTxnFirstOffset`; -1
//! where there is nothing. Only the last batch of a producer is kept. A bad snapshot is deleted and
//! the one before it used. Next: `state.rs`.

use aplomb_model::batch::crc32c;
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};

use super::entry::NO_SEQUENCE;
use super::{ProducerEntry, RetainedBatch};
use crate::fields::Fields;

const VERSION: i16 = 1;
const HEADER: usize = 10;
/// The checksum covers the bytes from here on.
const CHECKED_FROM: usize = 6;
const ENTRY: usize = 46;
const NONE: i64 = -1;

/// Bytes that are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Shorter than its header, or than its count of producers says.
    #[error("producer snapshot of {len} bytes is cut short")]
    Cut {
        /// The length of the file in bytes.
        len: usize,
    },
    /// Another version than 1.
    #[error("producer snapshot has version {0}, only 1 is known")]
    UnknownVersion(i16),
    /// The checksum does not fit the bytes.
    #[error("producer snapshot's checksum is {stored:08x} and should be {computed:08x}")]
    BadChecksum {
        /// What the file says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// A negative count of producers.
    #[error("producer snapshot counts {0} producers")]
    BadCount(i32),
    /// A producer that cannot be: a negative id, or a batch that begins below offset 0.
    #[error("entry {slot} of the producer snapshot is no producer")]
    BadEntry {
        /// Which entry, counted from 0.
        slot: usize,
    },
}

/// Writes a snapshot.
///
/// # Panics
/// With 2^31 producers or more.
#[must_use]
pub fn encode_snapshot<'a>(
    producers: impl ExactSizeIterator<Item = (ProducerId, &'a ProducerEntry)>,
) -> Vec<u8> {
    let count = i32::try_from(producers.len()).expect("a partition has fewer than 2^31 producers");
    let mut bytes = Vec::with_capacity(HEADER + producers.len() * ENTRY);
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(count.to_be_bytes());
    for (producer, entry) in producers {
        let last = entry.last_batch();
        bytes.extend(producer.to_wire().to_be_bytes());
        bytes.extend(entry.epoch().0.to_be_bytes());
        bytes.extend(last.map_or(NO_SEQUENCE, |batch| batch.last_sequence).to_be_bytes());
        bytes.extend(last.map_or(NONE, |batch| batch.last_offset.to_wire()).to_be_bytes());
        bytes.extend(last.map_or(0, |batch| batch.offset_delta).to_be_bytes());
        bytes.extend(entry.last_timestamp().0.to_be_bytes());
        bytes.extend(entry.coordinator_epoch().to_be_bytes());
        bytes.extend(entry.open_transaction().map_or(NONE, Offset::to_wire).to_be_bytes());
    }
    let crc = crc32c(&bytes[CHECKED_FROM..]);
    bytes[2..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
    bytes
}

/// Reads a snapshot.
///
/// # Errors
/// [`SnapshotError`] if it is damaged or of an unknown version. Memory is taken only for producers
/// that are really there.
pub fn parse_snapshot(bytes: &[u8]) -> Result<Vec<(ProducerId, ProducerEntry)>, SnapshotError> {
    let cut = SnapshotError::Cut { len: bytes.len() };
    let mut fields = Fields(bytes);
    let version = i16::from_be_bytes(fields.take().ok_or(cut)?);
    if version != VERSION {
        return Err(SnapshotError::UnknownVersion(version));
    }
    let stored = u32::from_be_bytes(fields.take().ok_or(cut)?);
    let computed = crc32c(fields.0);
    if stored != computed {
        return Err(SnapshotError::BadChecksum { stored, computed });
    }
    let count = i32::from_be_bytes(fields.take().ok_or(cut)?);
    let count = usize::try_from(count).map_err(|_| SnapshotError::BadCount(count))?;
    if fields.0.len() / ENTRY < count {
        return Err(cut);
    }
    let mut producers = Vec::with_capacity(count);
    for slot in 0..count {
        producers.push(entry(&mut fields).ok_or(SnapshotError::BadEntry { slot })?);
    }
    Ok(producers)
}

fn entry(fields: &mut Fields<'_>) -> Option<(ProducerId, ProducerEntry)> {
    let producer = ProducerId::from_wire(i64::from_be_bytes(fields.take()?))?;
    let epoch = ProducerEpoch(i16::from_be_bytes(fields.take()?));
    let last_sequence = i32::from_be_bytes(fields.take()?);
    let last_offset = Offset::from_wire(i64::from_be_bytes(fields.take()?));
    let offset_delta = i32::from_be_bytes(fields.take()?);
    let timestamp = Timestamp(i64::from_be_bytes(fields.take()?));
    let coordinator_epoch = i32::from_be_bytes(fields.take()?);
    let open_transaction = Offset::from_wire(i64::from_be_bytes(fields.take()?));
    let mut entry = ProducerEntry::restored(epoch, coordinator_epoch, timestamp, open_transaction);
    if let Some(last_offset) = last_offset {
        let offset_delta = u32::try_from(offset_delta).ok()?;
        if last_sequence < NO_SEQUENCE || last_offset.get() < u64::from(offset_delta) {
            return None;
        }
        entry.remember(epoch, RetainedBatch { last_sequence, last_offset, offset_delta, timestamp });
    }
    Some((producer, entry))
}

/// Which snapshot to load for a log whose batches are there from `first` on, up to `end`: the
/// newest that is neither above the end nor below the first. One at the first counts too, which
/// Apache Kafka leaves out, and so it does with all below the log start: what they say of producers
/// whose records were deleted is still what a retry is told apart by. A bad one is left out and the
/// question asked again.
#[must_use]
pub fn snapshot_to_load(
    snapshots: impl IntoIterator<Item = Offset>,
    first: Offset,
    end: Offset,
) -> Option<Offset> {
    snapshots.into_iter().filter(|at| first <= *at && *at <= end).max()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn producer(id: i64, last: Option<RetainedBatch>) -> (ProducerId, ProducerEntry) {
        let timestamp = last.map_or(Timestamp(5), |batch| batch.timestamp);
        let mut entry = ProducerEntry::restored(ProducerEpoch(3), 2, timestamp, Some(Offset::new(9)));
        if let Some(batch) = last {
            entry.remember(ProducerEpoch(3), batch);
        }
        (ProducerId::from_wire(id).unwrap(), entry)
    }

    fn encoded(producers: &[(ProducerId, ProducerEntry)]) -> Vec<u8> {
        encode_snapshot(producers.iter().map(|(id, entry)| (*id, entry)))
    }

    fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
        let crc = crc32c(&bytes[CHECKED_FROM..]);
        bytes[2..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    #[test]
    fn damage_is_named() {
        let bytes = encoded(&[producer(1, None)]);
        assert_eq!(parse_snapshot(&bytes), Ok(vec![producer(1, None)]));
        for len in 0..2 {
            assert_eq!(parse_snapshot(&bytes[..len]), Err(SnapshotError::Cut { len }));
        }
        for len in 6..bytes.len() {
            assert!(matches!(parse_snapshot(&bytes[..len]), Err(SnapshotError::BadChecksum { .. })));
            let len_checked = with_checksum(bytes[..len].to_vec());
            assert_eq!(parse_snapshot(&len_checked), Err(SnapshotError::Cut { len }));
        }
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            parse_snapshot(&with_checksum(bytes)).unwrap_err()
        };
        assert_eq!(changed(1, 2), SnapshotError::UnknownVersion(2));
        assert_eq!(changed(6, 0xff), SnapshotError::BadCount(-16_777_215));
        assert_eq!(changed(6, 0x7f), SnapshotError::Cut { len: 56 });
        assert_eq!(changed(10, 0x80), SnapshotError::BadEntry { slot: 0 });
    }

    #[test]
    fn the_newest_snapshot_within_the_log_is_loaded() {
        let at = |raw: &[u64]| raw.iter().map(|raw| Offset::new(*raw)).collect::<Vec<_>>();
        let pick = |start, end| snapshot_to_load(at(&[10, 20, 30]), Offset::new(start), Offset::new(end));
        assert_eq!(pick(0, 30), Some(Offset::new(30)));
        assert_eq!(pick(0, 29), Some(Offset::new(20)));
        assert_eq!(pick(10, 19), Some(Offset::new(10)));
        assert_eq!(pick(11, 19), None);
    }

    proptest! {
        #[test]
        fn producers_read_back_as_they_were_written(
            ids in prop::collection::btree_set(0..=i64::MAX, 0..6),
            batch in prop::option::of((-1..=i32::MAX, 0..=i32::MAX.unsigned_abs(), 0..=i64::MAX / 2, any::<i64>()))
        ) {
            let last = batch.map(|(last_sequence, offset_delta, base, timestamp)| RetainedBatch {
                last_sequence,
                last_offset: Offset::new(base.unsigned_abs()).plus(offset_delta.into()),
                offset_delta,
                timestamp: Timestamp(timestamp),
            });
            let producers: Vec<_> = ids.into_iter().map(|id| producer(id, last)).collect();
            prop_assert_eq!(parse_snapshot(&encoded(&producers)), Ok(producers));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(body: Vec<u8>, count in -2..4) {
            let _ = parse_snapshot(&body);
            let mut bytes = vec![0, 1, 0, 0, 0, 0];
            bytes.extend(i32::to_be_bytes(count));
            bytes.extend(&body);
            if let Ok(producers) = parse_snapshot(&with_checksum(bytes)) {
                prop_assert_eq!(producers.len(), usize::try_from(count).unwrap());
            }
        }
    }
}
