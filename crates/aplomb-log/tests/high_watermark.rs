//! The high watermark of a log: the leader moves it, an append does not, and nothing is deleted
//! above it.

use aplomb_disk_api::{FileName, SmallFile};
use aplomb_log::producers::MarkerEpochRule;
use aplomb_log::tail::{ArenaMemory, Claim, open_shares};
use aplomb_log::{Log, LogConfig};
use aplomb_model::batch::{AppendBytes, BatchBuilder, BatchHeader, EndTxnMarker, HEADER_SIZE, ProducerStamp};
use aplomb_model::{
    ErrorCode, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, Uuid,
};
use bytes::Bytes;

const NOW: Timestamp = Timestamp(1_000_000);

fn log() -> Log {
    let config = LogConfig { segment_bytes: 1000, retention_bytes: Some(0), ..LogConfig::kafka_defaults() };
    let share =
        open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None).expect("it fits").remove(0);
    let name = FileName::new("orders-0/partition.metadata");
    let metadata = SmallFile { name, content: Bytes::from_static(b"version: 0\n") };
    Log::empty("orders-0", Uuid::TWO, PartitionIndex(0), config, share, metadata, NOW)
}

fn append(log: &mut Log, batches: u64) {
    for _ in 0..batches {
        let mut builder = BatchBuilder::new(Offset::ZERO);
        builder.append(NOW, None, Some(&[b'v'; 300]), &[]);
        let bytes = builder.build();
        let header = BatchHeader::parse(&bytes).expect("a batch");
        let batch = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
        log.append(batch, Claim::Ordinary, LeaderEpoch::ZERO, NOW).expect("there is room");
    }
}

fn checkpoint(log: &mut Log) {
    log.take_writes(&mut Vec::new());
    let mut part = log.begin_sync();
    log.begin_checkpoint(&mut part);
    log.on_synced(part.covers);
    log.on_checkpointed(part.covers);
}

#[test]
fn an_append_leaves_it_to_the_leader() {
    let mut log = log();
    append(&mut log, 3);
    assert_eq!((log.high_watermark(), log.end()), (Offset::ZERO, Offset::new(3)));
    log.advance_high_watermark(Offset::new(2));
    assert_eq!((log.high_watermark(), log.last_stable_offset()), (Offset::new(2), Offset::new(2)));
    log.advance_high_watermark(Offset::new(2));
    log.advance_high_watermark(Offset::new(3));
    assert_eq!(log.high_watermark(), log.end());
}

#[test]
fn a_transaction_is_stable_once_its_marker_is_below_it() {
    let mut log = log();
    let id = ProducerId::from_wire(7).expect("an id");
    let stamp = ProducerStamp { id, epoch: ProducerEpoch(2), base_sequence: 0 };
    let mut builder = BatchBuilder::new(Offset::ZERO).producer(stamp).transactional();
    builder.append(NOW, None, Some(b"value"), &[]);
    let bytes = builder.build();
    let header = BatchHeader::parse(&bytes).expect("a batch");
    log.append_own(header, &bytes[HEADER_SIZE..], LeaderEpoch::ZERO, NOW).expect("there is room");
    let end = |log: &mut Log, epoch, coordinator_epoch| {
        let marker = EndTxnMarker { committed: true, coordinator_epoch };
        let rule = MarkerEpochRule::NotBelow;
        log.append_marker((id, ProducerEpoch(epoch)), marker, rule, LeaderEpoch::ZERO, NOW)
    };
    let late = end(&mut log, 1, 5).expect_err("it is of an older incarnation");
    assert_eq!(ErrorCode::from(&late), ErrorCode::InvalidProducerEpoch);
    assert_eq!(end(&mut log, 2, 5).expect("it is in time").base, Offset::new(1));
    log.advance_high_watermark(Offset::new(1));
    assert_eq!(log.last_stable_offset(), Offset::ZERO, "the marker is not replicated");
    log.advance_high_watermark(Offset::new(2));
    assert_eq!(log.last_stable_offset(), Offset::new(2));
    let fenced = end(&mut log, 2, 4).expect_err("another coordinator has taken over");
    assert_eq!(ErrorCode::from(&fenced), ErrorCode::TransactionCoordinatorFenced);
    assert_eq!(log.end(), Offset::new(2), "what is refused changes nothing");
}

#[test]
fn no_segment_above_it_is_deleted() {
    let mut log = log();
    append(&mut log, 10);
    log.advance_high_watermark(Offset::new(5));
    checkpoint(&mut log);
    let bases: Vec<_> = log.segments().closed().iter().map(|segment| segment.base.get()).collect();
    assert_eq!(bases, [0, 2, 4, 6], "two batches fill a segment");
    let first = log.apply_retention(NOW, 1);
    assert_eq!((first.segments, first.goes_on, log.start()), (1, true, Offset::new(2)));
    let rest = log.apply_retention(NOW, 1);
    assert_eq!((rest.segments, rest.goes_on), (1, false));
    assert_eq!(
        log.start(),
        Offset::new(4),
        "the segment from 4 to 6 has a record that consumers may not see"
    );
    log.advance_high_watermark(log.end());
    assert_eq!(log.apply_retention(NOW, usize::MAX).segments, 2);
}

#[test]
#[should_panic(expected = "the high watermark never goes backwards")]
fn it_never_goes_backwards() {
    let mut log = log();
    append(&mut log, 2);
    log.advance_high_watermark(Offset::new(2));
    log.advance_high_watermark(Offset::new(1));
}

#[test]
#[should_panic(expected = "the high watermark is not above the log end offset")]
fn it_is_not_above_the_log_end_offset() {
    let mut log = log();
    append(&mut log, 2);
    log.advance_high_watermark(Offset::new(3));
}

#[test]
#[should_panic(expected = "a log does not start above its high watermark")]
fn records_above_it_are_not_deleted() {
    let mut log = log();
    append(&mut log, 2);
    log.advance_high_watermark(Offset::new(1));
    log.raise_start(Offset::new(2));
}
