use std::sync::Arc;

use aplomb_model::{Offset, PartitionIndex, TopicId, TopicPartition};
use bytes::Bytes;

use super::*;
use crate::calls::PartitionKey;
use crate::fetch_sessions::{FetchKey, PartitionData};
use crate::figures::PartitionFigures;

const SLOT: Slot = 0;

/// Records of one partition, as long as somebody holds them.
struct Records(Arc<Vec<u8>>);

struct Held(Arc<Vec<u8>>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Records {
    fn new(bytes: usize) -> Self {
        Self(Arc::new(vec![7; bytes]))
    }

    fn answer(&self) -> Result<ReadRecords, ReadRefusal> {
        let end = Offset::new(10);
        Ok(ReadRecords {
            records: vec![Bytes::from_owner(Held(Arc::clone(&self.0)))],
            high_watermark: end,
            last_stable: end,
            log_start: Offset::ZERO,
            aborted: Vec::new(),
            visible_end: end,
            seen: 0,
            figures: Arc::new(PartitionFigures::new(TopicPartition::new("orders", 0))),
        })
    }

    fn are_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

fn at(millis: u64) -> Instant {
    Instant::START + Duration::from_secs(10) + Duration::from_millis(millis)
}

/// A fetch of one partition, from 0 ms to 100 ms.
fn wants(min_bytes: u64) -> FetchOp {
    wants_of(1, min_bytes)
}

fn key(partition: i32) -> FetchKey {
    FetchKey { topic: TopicKey::Name("orders".into()), partition: PartitionIndex(partition) }
}

fn wish(fetch_offset: i64) -> PartitionData {
    PartitionData { fetch_offset, current_leader_epoch: -1, last_fetched_epoch: -1, max_bytes: 1 << 20 }
}

/// The same of several, of which each may bring a megabyte, and all together four.
fn wants_of(partitions: i32, min_bytes: u64) -> FetchOp {
    let part = |partition| {
        let target = PartitionKey { topic: TopicId::from_u128(5), partition: PartitionIndex(partition) };
        FetchPart::new(key(partition), wish(0), Ok(target))
    };
    FetchOp {
        version: 12,
        correlation_id: 1,
        context: FetchContext::Sessionless,
        parts: (0..partitions).map(part).collect(),
        committed_only: false,
        min_bytes,
        max_bytes: 4 << 20,
        begun: at(0),
        deadline: at(100),
        unread: 0,
        outstanding: 0,
        cold: 0,
        reserved: 0,
        found: 0,
        patience: Patience::default(),
        let_go: 0,
        news: 0,
        patient: false,
        collecting: false,
    }
}

fn calls(ask: impl FnOnce(&mut Calls)) -> usize {
    let mut calls = Calls::new();
    ask(&mut calls);
    calls.len()
}

/// Goes on: what is next, and how many calls are made.
fn go_on(op: &mut FetchOp, now: Instant) -> (Progress, usize) {
    let mut calls = Calls::new();
    (op.progress(now, &mut calls), calls.len())
}

#[test]
fn a_fetch_that_waits_for_more_holds_no_records_and_reads_them_again_when_its_time_is_up() {
    let mut op = wants(1000);
    let records = Records::new(100);
    assert_eq!(calls(|calls| op.read_on(calls)), 1);
    op.take(SLOT, records.answer(), false);
    assert_eq!(go_on(&mut op, at(1)), (Progress::WaitUntil(at(100)), 1), "watches");
    assert!(!records.are_held());
    assert_eq!(go_on(&mut op, at(99)), (Progress::WaitUntil(at(100)), 0));
    let (progress, reads) = go_on(&mut op, at(100));
    assert!(matches!(progress, Progress::WaitUntil(_)) && reads == 1, "reads again");
    assert!(matches!(op.next(at(100)), Next::WaitUntil(_)));
    op.take(SLOT, records.answer(), false);
    assert_eq!(go_on(&mut op, at(100)), (Progress::Reply, 0));
    assert!(records.are_held());
}

#[test]
fn what_was_let_go_of_counts_until_it_is_read_again() {
    let mut op = wants(1000);
    op.read_on(&mut Calls::new());
    op.take(SLOT, Records::new(600).answer(), false);
    assert_eq!(go_on(&mut op, at(1)).1, 1, "watches");
    // The whole of it, not only what came since.
    assert_eq!(calls(|calls| op.on_woken(SLOT, calls)), 1);
    op.take(SLOT, Records::new(1000).answer(), false);
    assert_eq!(op.next(at(2)), Next::Reply);
}

#[test]
fn what_only_the_disk_has_when_it_is_read_again_is_waited_for_as_ever() {
    let mut op = wants(1000);
    op.read_on(&mut Calls::new());
    op.take(SLOT, Records::new(600).answer(), false);
    assert_eq!(go_on(&mut op, at(1)).1, 1, "watches");
    assert_eq!(op.next(at(100)), Next::Collect);
    assert_eq!(go_on(&mut op, at(100)).1, 1, "reads again");
    op.take(SLOT, Records::new(0).answer(), true);
    assert!(matches!(op.next(at(101)), Next::WaitUntil(_)));
    op.take(SLOT, Records::new(600).answer(), false);
    assert_eq!(op.next(at(200)), Next::Reply);
}

#[test]
fn no_more_is_read_at_a_time_than_the_response_has_room_for() {
    let mut op = wants_of(100, 1);
    assert_eq!(calls(|calls| op.read_on(calls)), 4, "a megabyte each");
    for slot in 0..3 {
        op.take(slot, Records::new(0).answer(), false);
    }
    assert_eq!(go_on(&mut op, at(1)), (Progress::WaitUntil(at(100)), 3), "those had nothing");
    for slot in 3..7 {
        op.take(slot, Records::new(1 << 20).answer(), false);
    }
    let (_, rest) = go_on(&mut op, at(1));
    assert_eq!(rest, 93, "only where their logs are");
    assert_eq!((op.reserved, op.found), (0, 4 << 20));
    for slot in 7..100 {
        op.take(slot, Records::new(0).answer(), false);
    }
    assert_eq!(go_on(&mut op, at(1)), (Progress::Reply, 0));
}

#[test]
fn a_first_batch_has_room_whatever_the_limit_and_the_next_has_not() {
    let mut op = wants_of(2, 1);
    op.max_bytes = 0;
    assert_eq!(calls(|calls| op.read_on(calls)), 1);
    op.take(0, Records::new(5000).answer(), false);
    assert_eq!(calls(|calls| op.read_on(calls)), 1);
    assert_eq!((op.reserved, op.found), (0, 5000));
}
