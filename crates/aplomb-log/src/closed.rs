//! What a clean stop knows of a log, and the bytes in which the next start finds it
//! ([`crate::state_files::ClosedLogs`]). `log/rest.rs` says when a log is known so, and
//! `recovery/closed.rs` puts one together from it.
//!
//! All numbers are big-endian; no offset is -1.
//!
//! | bytes | what |
//! | --- | --- |
//! | 16 | topic id |
//! | 8 | log end offset |
//! | 4, ... | length and text of the leader epoch checkpoint |
//! | 4 | number of closed segments |
//! | 5 times 8 | of each: base, bytes of `.log`, `.index`, `.timeindex`, when it was written |
//! | 4, ... | and its transaction index: length and bytes, as in the file |
//! | 16 | the active segment: base, bytes of `.log` |
//! | 1, 8 | whether it has a first batch, and that one's timestamp |
//! | 8, 8, 4 | its offset index: bytes, and the last entry's offset and position |
//! | 8, 8, 8 | its time index: bytes, and the last entry's timestamp and offset |
//! | 8, 8, 8 | bytes of batches since the last entry, the greatest timestamp and its offset |
//! | 4, ... | its transaction index: length and bytes, as in the file |
//! | 1, 4, ... | whether there are producer snapshots; those at no segment's base: how many, where |
//! | 4, ... | length and bytes of the producers (`producers/at_rest.rs`) |

use std::collections::VecDeque;

use aplomb_model::{Offset, ProducerId, Timestamp, TopicId, Uuid};
use bytes::BufMut;

use crate::epochs::LeaderEpochs;
use crate::fields::Fields;
use crate::index::{
    AbortedTransaction, IndexesAtRest, OffsetPosition, ResumeFrom, TimestampOffset, parse_aborted,
};
use crate::producers::{ProducerEntry, encode_producers, parse_producers};
use crate::segments::Segment;

/// What a clean stop knows of a log.
#[derive(Debug)]
pub struct ClosedLog {
    pub(crate) topic: TopicId,
    pub(crate) end: Offset,
    pub(crate) epochs: LeaderEpochs,
    pub(crate) closed: VecDeque<Segment>,
    pub(crate) active: ClosedActive,
    /// Producer snapshots that are at no segment's base; `None` if there is no snapshot at all.
    pub(crate) loose_snapshots: Option<Vec<Offset>>,
    pub(crate) producers: Vec<(ProducerId, ProducerEntry)>,
}

/// Its active segment.
#[derive(Debug)]
pub(crate) struct ClosedActive {
    pub(crate) base: Offset,
    pub(crate) size: u64,
    pub(crate) first_timestamp: Option<Timestamp>,
    pub(crate) indexes: IndexesAtRest,
    pub(crate) aborted: Vec<AbortedTransaction>,
}

impl ClosedLog {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.topic.0);
        put_offset(&mut bytes, Some(self.end));
        put_slice(&mut bytes, self.epochs.encode().as_bytes());
        bytes.put_u32(u32::try_from(self.closed.len()).expect("fewer segments than files"));
        for segment in &self.closed {
            put_offset(&mut bytes, Some(segment.base));
            bytes.put_u64(segment.size);
            bytes.put_u64(segment.index_len);
            bytes.put_u64(segment.time_index_len);
            bytes.put_i64(segment.modified.0);
            put_aborted(&mut bytes, &segment.aborted);
        }
        let ClosedActive { base, size, first_timestamp, indexes, aborted } = &self.active;
        put_offset(&mut bytes, Some(*base));
        bytes.put_u64(*size);
        bytes.put_u8(first_timestamp.is_some().into());
        bytes.put_i64(first_timestamp.unwrap_or(Timestamp::NONE).0);
        bytes.put_u64(indexes.from.offset_len);
        put_offset(&mut bytes, indexes.from.last_offset.map(|entry| entry.offset));
        bytes.put_u32(indexes.from.last_offset.map_or(0, |entry| entry.position));
        bytes.put_u64(indexes.from.time_len);
        put_time(&mut bytes, indexes.from.last_time);
        bytes.put_u64(indexes.since_last_entry);
        put_time(&mut bytes, indexes.greatest);
        put_aborted(&mut bytes, aborted);
        bytes.put_u8(self.loose_snapshots.is_some().into());
        let loose = self.loose_snapshots.as_deref().unwrap_or_default();
        bytes.put_u32(u32::try_from(loose.len()).expect("fewer snapshots than files"));
        loose.iter().for_each(|at| put_offset(&mut bytes, Some(*at)));
        put_slice(&mut bytes, &encode_producers(&self.producers));
        bytes
    }

    /// Reads what was said. `None` if that is no log; memory is taken only for what is there.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let topic = Uuid(fields.take()?);
        let end = fields.offset()??;
        let epochs = LeaderEpochs::parse(fields.slice()?).ok()?;
        let mut closed: VecDeque<Segment> = VecDeque::new();
        for _ in 0..fields.u32()? {
            let base = fields.offset()??;
            if closed.back().is_some_and(|before| before.base >= base) {
                return None;
            }
            closed.push_back(Segment {
                base,
                size: fields.u64()?,
                index_len: fields.u64()?,
                time_index_len: fields.u64()?,
                greatest: None,
                first_timestamp: None,
                modified: Timestamp(fields.i64()?),
                aborted: parse_aborted(fields.slice()?, base).ok()?,
                in_swap: false,
            });
        }
        let active = active(&mut fields)?;
        let is_last = closed.back().is_none_or(|before| before.base < active.base);
        let has_snapshots = fields.flag()?;
        let mut loose = Vec::new();
        for _ in 0..fields.u32()? {
            loose.push(fields.offset()??);
        }
        let producers = parse_producers(fields.slice()?)?;
        let is_sound = is_last
            && active.base <= end
            && loose.is_sorted_by(|one, next| one < next)
            && (has_snapshots || (loose.is_empty() && producers.is_empty()))
            && fields.0.is_empty();
        let loose_snapshots = has_snapshots.then_some(loose);
        is_sound.then_some(Self { topic, end, epochs, closed, active, loose_snapshots, producers })
    }
}

fn put_offset(bytes: &mut Vec<u8>, offset: Option<Offset>) {
    bytes.put_i64(offset.map_or(-1, Offset::to_wire));
}

fn put_time(bytes: &mut Vec<u8>, time: Option<TimestampOffset>) {
    bytes.put_i64(time.map_or(Timestamp::NONE, |time| time.timestamp).0);
    put_offset(bytes, time.map(|time| time.offset));
}

fn put_slice(bytes: &mut Vec<u8>, slice: &[u8]) {
    bytes.put_u32(u32::try_from(slice.len()).expect("shorter than a file of the log"));
    bytes.extend(slice);
}

fn put_aborted(bytes: &mut Vec<u8>, aborted: &[AbortedTransaction]) {
    let entries: Vec<u8> = aborted.iter().flat_map(AbortedTransaction::encode).collect();
    put_slice(bytes, &entries);
}

fn time(fields: &mut Fields<'_>) -> Option<Option<TimestampOffset>> {
    let timestamp = Timestamp(fields.i64()?);
    Some(fields.offset()?.map(|offset| TimestampOffset { timestamp, offset }))
}

fn active(fields: &mut Fields<'_>) -> Option<ClosedActive> {
    let (base, size) = (fields.offset()??, fields.u64()?);
    let (has_first, first) = (fields.flag()?, Timestamp(fields.i64()?));
    let offset_len = fields.u64()?;
    let (last_offset, position) = (fields.offset()?, fields.u32()?);
    let last_offset = last_offset.map(|offset| OffsetPosition { offset, position });
    let (time_len, last_time) = (fields.u64()?, time(fields)?);
    let from = ResumeFrom { offset_len, last_offset, time_len, last_time };
    let indexes = IndexesAtRest { from, since_last_entry: fields.u64()?, greatest: time(fields)? };
    let aborted = parse_aborted(fields.slice()?, base).ok()?;
    let first_timestamp = has_first.then_some(first);
    indexes.is_sound(base, size).then_some(ClosedActive { base, size, first_timestamp, indexes, aborted })
}

#[cfg(test)]
pub(crate) mod tests {
    use aplomb_model::LeaderEpoch;

    use super::*;

    fn offset(n: u64) -> Offset {
        Offset::new(n)
    }

    fn aborted(first: u64, last: u64) -> AbortedTransaction {
        AbortedTransaction {
            producer: ProducerId::from_wire(7).expect("an id"),
            first_offset: offset(first),
            last_offset: offset(last),
            last_stable_offset: offset(last + 1),
        }
    }

    /// A log with everything.
    pub(crate) fn full() -> ClosedLog {
        let closed = |base, aborted| Segment {
            base: offset(base),
            size: 5000,
            index_len: 8,
            time_index_len: 24,
            greatest: None,
            first_timestamp: None,
            modified: Timestamp(1_700_000_000_000),
            aborted,
            in_swap: false,
        };
        let time = |timestamp, at| TimestampOffset { timestamp: Timestamp(timestamp), offset: offset(at) };
        let mut epochs = LeaderEpochs::default();
        epochs.assign(LeaderEpoch::new(3), offset(0));
        epochs.assign(LeaderEpoch::new(5), offset(40));
        let from = ResumeFrom {
            offset_len: 16,
            last_offset: Some(OffsetPosition { offset: offset(90), position: 4500 }),
            time_len: 12,
            last_time: Some(time(1000, 85)),
        };
        // One producer with a batch and an open transaction.
        let mut producer = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 0, 0, 0, 4];
        producer.extend([0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 95]);
        producer.extend([1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 3, 0xe8]);
        ClosedLog {
            topic: Uuid::TWO,
            end: offset(100),
            epochs,
            closed: [closed(0, Vec::new()), closed(30, vec![aborted(31, 33), aborted(35, 39)])].into(),
            active: ClosedActive {
                base: offset(60),
                size: 6000,
                first_timestamp: Some(Timestamp::NONE),
                indexes: IndexesAtRest { from, since_last_entry: 1500, greatest: Some(time(1001, 99)) },
                aborted: vec![aborted(61, 63)],
            },
            loose_snapshots: Some(vec![offset(50), offset(100)]),
            producers: parse_producers(&producer).expect("it is one"),
        }
    }

    /// A log with nothing.
    pub(crate) fn empty() -> ClosedLog {
        let indexes = IndexesAtRest { from: ResumeFrom::default(), since_last_entry: 0, greatest: None };
        ClosedLog {
            topic: Uuid::TWO,
            end: offset(0),
            epochs: LeaderEpochs::default(),
            closed: VecDeque::new(),
            active: ClosedActive {
                base: offset(0),
                size: 0,
                first_timestamp: None,
                indexes,
                aborted: Vec::new(),
            },
            loose_snapshots: None,
            producers: Vec::new(),
        }
    }

    #[test]
    fn what_is_cut_or_goes_on_is_no_log() {
        let bytes = full().encode();
        for len in 0..bytes.len() {
            assert!(ClosedLog::parse(&bytes[..len]).is_none(), "cut at {len}");
        }
        assert!(ClosedLog::parse(&[&bytes[..], &[0]].concat()).is_none());
    }

    #[test]
    fn what_contradicts_itself_is_no_log() {
        let refused = |change: fn(&mut ClosedLog)| {
            let mut closed = full();
            change(&mut closed);
            assert!(ClosedLog::parse(&closed.encode()).is_none(), "{closed:?}");
        };
        refused(|log| log.end = offset(59));
        refused(|log| log.closed[1].base = offset(0));
        refused(|log| log.active.base = offset(30));
        refused(|log| log.active.size = 4500);
        refused(|log| log.active.indexes.from.offset_len = 0);
        refused(|log| log.active.indexes.from.time_len = 13);
        refused(|log| log.active.indexes.from.last_time = None);
        refused(|log| log.active.indexes.greatest = None);
        refused(|log| log.active.indexes.since_last_entry = 6001);
        refused(|log| log.loose_snapshots = None);
        refused(|log| log.loose_snapshots = Some(vec![offset(9), offset(9)]));
    }
}
