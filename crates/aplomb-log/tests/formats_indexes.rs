//! A segment that Apache Kafka 4.4.0 wrote: indexing it here gives the same files, and the files
//! the same answers.
//!
//! `tests/oracle-formats/golden.sh` makes the golden files anew; `Indexes.java` there says what the
//! segment is.

use aplomb_log::index::{
    AbortedIndexBuilder, AbortedTransaction, BatchPosition, IndexLimits, IndexTail, OffsetIndex,
    SegmentIndexes, TimeIndex, aborted_len_below, collect_aborted, parse_aborted,
};
use aplomb_model::batch::Batches;
use aplomb_model::{Offset, Timestamp};

const BASE: Offset = Offset::new(1000);
const LIMITS: IndexLimits = IndexLimits { interval_bytes: 300, max_bytes: 600 };

const LOG: &[u8] = include_bytes!("golden/00000000000000001000.log");
const OFFSETS: &[u8] = include_bytes!("golden/00000000000000001000.index");
const TIMES: &[u8] = include_bytes!("golden/00000000000000001000.timeindex");
const ABORTED: &[u8] = include_bytes!("golden/00000000000000001000.txnindex");
const ACTIVE_OFFSETS: &[u8] = include_bytes!("golden/active.index");
const ACTIVE_TIMES: &[u8] = include_bytes!("golden/active.timeindex");

fn indexed() -> SegmentIndexes {
    let mut indexes = SegmentIndexes::new(BASE, LIMITS);
    let mut position = 0;
    for batch in Batches::new(LOG).checked() {
        let size = batch.header.size() as u32;
        indexes.on_append(BatchPosition {
            last_offset: batch.header.last_offset(),
            max_timestamp: batch.header.max_timestamp(),
            position,
            size,
        });
        position += size;
    }
    assert_eq!(position as usize, LOG.len());
    indexes
}

fn written(taken: Option<(u64, bytes::Bytes)>) -> Vec<u8> {
    taken.map(|(at, bytes)| (at == 0).then(|| bytes.to_vec()).expect("all of it")).unwrap_or_default()
}

/// Without the zeros behind the last entry.
fn entries(preallocated: &[u8], entry: usize) -> &[u8] {
    let used = preallocated.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &preallocated[..used.div_ceil(entry) * entry]
}

#[test]
fn a_scan_makes_the_indexes_of_the_active_segment() {
    let mut indexes = indexed();
    assert_eq!(written(indexes.offsets.take_unwritten()), entries(ACTIVE_OFFSETS, OffsetIndex::ENTRY_LEN));
    assert_eq!(written(indexes.times.take_unwritten()), entries(ACTIVE_TIMES, TimeIndex::ENTRY_LEN));
}

#[test]
fn a_roll_makes_the_indexes_of_the_rolled_segment() {
    let mut indexes = indexed();
    indexes.on_close();
    assert_eq!(written(indexes.offsets.take_unwritten()), OFFSETS);
    assert_eq!(written(indexes.times.take_unwritten()), TIMES);
}

#[test]
fn aborted_transactions_are_written_alike() {
    let transactions = parse_aborted(ABORTED, BASE).unwrap();
    let mut builder = AbortedIndexBuilder::default();
    transactions.iter().for_each(|transaction| builder.push(*transaction));
    assert_eq!(written(builder.take_unwritten()), ABORTED);
    assert_eq!(aborted_len_below(&transactions, BASE.plus(20)), AbortedTransaction::ENTRY_LEN as u64);
}

#[test]
fn every_question_has_the_same_answer() {
    let sizes =
        [(OFFSETS, TIMES, IndexTail::Trimmed), (ACTIVE_OFFSETS, ACTIVE_TIMES, IndexTail::MaybePreallocated)];
    for (offset_bytes, time_bytes, tail) in sizes {
        let offsets = OffsetIndex::new(offset_bytes, BASE, tail).unwrap();
        let times = TimeIndex::new(time_bytes, BASE, tail).unwrap();
        assert_eq!((offsets.check(), times.check()), (Ok(()), Ok(())));
        for line in include_str!("golden/index-answers.txt").lines() {
            let (question, rest) = line.split_once(' ').unwrap();
            let answer = match question {
                "offset" => ask_offset(&offsets, rest),
                "upper" => ask_upper(&offsets, rest),
                "time" if tail == IndexTail::MaybePreallocated => ask_time(&times, rest),
                "aborted" => ask_aborted(rest),
                "truncate" if tail == IndexTail::Trimmed => ask_truncate(&offsets, &times, rest),
                "time" | "truncate" => continue, // asked of the other state of the files
                other => panic!("unknown question {other}"),
            };
            assert_eq!(answer, rest, "{question}");
        }
    }
}

fn number(rest: &str, field: usize) -> i64 {
    rest.split(' ').nth(field).unwrap().parse().unwrap()
}

fn offset(rest: &str, field: usize) -> Offset {
    Offset::from_wire(number(rest, field)).unwrap()
}

fn ask_offset(offsets: &OffsetIndex<'_>, rest: &str) -> String {
    let target = offset(rest, 0);
    let found = offsets.lookup(target).unwrap();
    format!("{target} {} {}", found.offset, found.position)
}

fn ask_upper(offsets: &OffsetIndex<'_>, rest: &str) -> String {
    let position = u32::try_from(number(rest, 0)).unwrap();
    match offsets.upper_bound(position).unwrap() {
        Some(found) => format!("{position} {} {}", found.offset, found.position),
        None => format!("{position} none"),
    }
}

fn ask_time(times: &TimeIndex<'_>, rest: &str) -> String {
    let target = number(rest, 0);
    let found = times.lookup(Timestamp(target)).unwrap();
    format!("{target} {} {}", found.timestamp.0, found.offset)
}

fn ask_aborted(rest: &str) -> String {
    let (from, upper) = (offset(rest, 0), offset(rest, 1));
    let transactions = parse_aborted(ABORTED, BASE).unwrap();
    let found = collect_aborted(&transactions, from, upper);
    let mut answer = format!("{from} {upper} {}", found.complete);
    for transaction in found.transactions {
        answer += &format!(" {}:{}", transaction.producer.to_wire(), transaction.first_offset);
    }
    answer
}

fn ask_truncate(offsets: &OffsetIndex<'_>, times: &TimeIndex<'_>, rest: &str) -> String {
    let end = offset(rest, 0);
    let kept_offsets = offsets.len_below(end).unwrap() / OffsetIndex::ENTRY_LEN as u64;
    let kept_times = times.len_below(end).unwrap() / TimeIndex::ENTRY_LEN as u64;
    format!("{end} {kept_offsets} {kept_times}")
}
