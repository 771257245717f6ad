//! Producers as a clean stop notes them ([`crate::closed`]): with all batches that are
//! remembered, where a snapshot has the last one only.
//!
//! Big-endian: a count in 4 bytes, and of each producer its id (8), epoch (2), coordinator epoch
//! (4), when it was last heard of (8), where its open transaction begins (8, or -1), the number of
//! its batches (1), and of each the last sequence number (4), the last offset (8), that one counted
//! from the first (4), and the greatest timestamp (8).

use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::BufMut;

use super::entry::NO_SEQUENCE;
use super::{ProducerEntry, RetainedBatch};
use crate::fields::Fields;

/// Writes them.
pub(crate) fn encode_producers(producers: &[(ProducerId, ProducerEntry)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_u32(u32::try_from(producers.len()).expect("a partition has fewer than 2^32 producers"));
    for (producer, entry) in producers {
        bytes.put_i64(producer.to_wire());
        bytes.put_i16(entry.epoch().0);
        bytes.put_i32(entry.coordinator_epoch());
        bytes.put_i64(entry.last_timestamp().0);
        bytes.put_i64(entry.open_transaction().map_or(-1, Offset::to_wire));
        bytes.put_u8(u8::try_from(entry.retained().len()).expect("five at most"));
        for batch in entry.retained() {
            bytes.put_i32(batch.last_sequence);
            bytes.put_i64(batch.last_offset.to_wire());
            bytes.put_u32(batch.offset_delta);
            bytes.put_i64(batch.timestamp.0);
        }
    }
    bytes
}

/// Reads them; `None` if the bytes are anything else. Memory is taken only for what is there.
pub(crate) fn parse_producers(bytes: &[u8]) -> Option<Vec<(ProducerId, ProducerEntry)>> {
    let mut fields = Fields(bytes);
    let mut producers = Vec::new();
    for _ in 0..fields.u32()? {
        producers.push(producer(&mut fields)?);
    }
    (fields.0.is_empty() && producers.is_sorted_by(|(one, _), (next, _)| one < next)).then_some(producers)
}

fn producer(fields: &mut Fields<'_>) -> Option<(ProducerId, ProducerEntry)> {
    let producer = ProducerId::from_wire(fields.i64()?)?;
    let epoch = ProducerEpoch(i16::from_be_bytes(fields.take()?));
    let coordinator_epoch = i32::from_be_bytes(fields.take()?);
    let (last_timestamp, open_transaction) = (Timestamp(fields.i64()?), fields.offset()?);
    let [count] = fields.take()?;
    let retained = (0..count).map(|_| batch(fields)).collect::<Option<Vec<_>>>()?;
    let entry = ProducerEntry::restored(epoch, coordinator_epoch, last_timestamp, open_transaction);
    Some((producer, entry.with_retained(&retained)?))
}

fn batch(fields: &mut Fields<'_>) -> Option<RetainedBatch> {
    let last_sequence = i32::from_be_bytes(fields.take()?);
    let (last_offset, offset_delta) = (fields.offset()??, fields.u32()?);
    let timestamp = Timestamp(fields.i64()?);
    let is_sound = last_sequence >= NO_SEQUENCE && last_offset.get() >= u64::from(offset_delta);
    is_sound.then_some(RetainedBatch { last_sequence, last_offset, offset_delta, timestamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: i64) -> ProducerId {
        ProducerId::from_wire(n).expect("an id")
    }

    fn producer(batches: u64) -> ProducerEntry {
        let batch = |n: u64| RetainedBatch {
            last_sequence: n as i32,
            last_offset: Offset::new(10 * n),
            offset_delta: 3,
            timestamp: Timestamp(n as i64),
        };
        let open = (batches > 1).then_some(Offset::new(7));
        let retained: Vec<RetainedBatch> = (1..=batches).map(batch).collect();
        ProducerEntry::restored(ProducerEpoch(2), 4, Timestamp(99), open)
            .with_retained(&retained)
            .expect("five at most")
    }

    #[test]
    fn producers_read_back_with_all_their_batches() {
        let producers: Vec<_> = (0..=5).map(|n| (id(n as i64), producer(n))).collect();
        let bytes = encode_producers(&producers);
        assert_eq!(parse_producers(&bytes), Some(producers));
        assert_eq!(parse_producers(&encode_producers(&[])), Some(Vec::new()));
        for len in 0..bytes.len() {
            assert_eq!(parse_producers(&bytes[..len]), None, "cut at {len}");
        }
        assert_eq!(parse_producers(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn what_no_producer_can_be_is_refused() {
        let changed = |at: usize, to: u8| {
            let mut bytes = encode_producers(&[(id(1), producer(5))]);
            bytes[at] = to;
            parse_producers(&bytes)
        };
        assert!(changed(4 + 7, 2).is_some(), "another id");
        assert_eq!(changed(4, 0xff), None, "a negative id");
        assert_eq!(changed(34, 6), None, "more batches than there are");
        assert_eq!(changed(35, 0xff), None, "a sequence number below -1");
        assert_eq!(changed(50, 11), None, "a batch that begins below 0");
        let twice = [(id(1), producer(0)), (id(1), producer(0))];
        assert_eq!(parse_producers(&encode_producers(&twice)), None);
        let mut six = encode_producers(&[(id(1), producer(5))]);
        let last = six[six.len() - 24..].to_vec();
        six[34] = 6;
        six.extend(last);
        assert_eq!(parse_producers(&six), None, "more batches than are retained");
    }
}
