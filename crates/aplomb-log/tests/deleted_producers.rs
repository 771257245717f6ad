//! Producers whose records retention has deleted are known after a kill, too: what they send again
//! is told apart by that.

use std::sync::Arc;

use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, PatientDisk, SmallFile};
use aplomb_log::recovery::{LoadRequest, load};
use aplomb_log::state_files::PartitionMetadata;
use aplomb_log::tail::{ArenaMemory, Claim, TailShare, open_shares};
use aplomb_log::{Log, LogConfig};
use aplomb_model::batch::{AppendBytes, BatchBuilder, BatchHeader, HEADER_SIZE, ProducerStamp};
use aplomb_model::{LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, Uuid};

const NOW: Timestamp = Timestamp(1_000_000);
const ORDERS: Uuid = Uuid::from_u128(2 << 100);

fn config() -> LogConfig {
    LogConfig { segment_bytes: 1000, retention_bytes: Some(0), ..LogConfig::kafka_defaults() }
}

fn log_in(share: &Arc<TailShare>) -> Log {
    let metadata = SmallFile {
        name: FileName::new("orders-0/partition.metadata"),
        content: PartitionMetadata { topic_id: ORDERS }.encode().into(),
    };
    Log::empty("orders-0", ORDERS, PartitionIndex(0), config(), Arc::clone(share), metadata, NOW)
}

/// Appends one record of a producer; whether its sequence is the next one.
fn append(log: &mut Log, producer: i64, base_sequence: i32) -> bool {
    let id = ProducerId::from_wire(producer).expect("an id");
    let stamp = ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence };
    let mut builder = BatchBuilder::new(Offset::ZERO).producer(stamp);
    builder.append(NOW, None, Some(&[b'v'; 300]), &[]);
    let bytes = builder.build();
    let header = BatchHeader::parse(&bytes).expect("a batch");
    let batch = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
    log.append(batch, Claim::Ordinary, LeaderEpoch::ZERO, NOW).is_ok()
}

fn carry_out(disk: &SimDisk, commands: Vec<DiskCommand>) {
    for command in commands {
        match command {
            DiskCommand::Publish { files, .. } => disk.publish(&files),
            DiskCommand::Write { file, at, data } => disk.write(&file, at, &data.concat()),
            DiskCommand::Rename { from, to } if disk.file(from.as_str()).is_some() => disk.rename(&from, &to),
            DiskCommand::Rename { .. } => Ok(()),
            other => panic!("{other:?} is not expected"),
        }
        .expect("the disk is well");
    }
}

fn write(log: &mut Log, disk: &SimDisk) {
    let mut commands = Vec::new();
    log.take_writes(&mut commands);
    carry_out(disk, commands);
}

fn checkpoint(log: &mut Log, disk: &SimDisk) {
    write(log, disk);
    let mut part = log.begin_sync();
    let state = log.begin_checkpoint(&mut part);
    disk.sync(&part.files).expect("the disk is well");
    log.on_synced(part.covers);
    disk.publish(&state.publish).expect("the disk is well");
    log.on_checkpointed(part.covers);
}

/// The log as the next process finds it after a kill.
fn found(disk: &SimDisk, share: &Arc<TailShare>, recovery_point: Offset, log_start: Offset) -> Log {
    let request = LoadRequest {
        directory: "orders-0".to_owned(),
        topic: ORDERS,
        partition: PartitionIndex(0),
        config: config().into(),
        clean: false,
        recovery_point,
        log_start,
        cleaned: None,
        high_watermark: None,
        share: Arc::clone(share),
        now: NOW,
    };
    load(disk, &request).expect("it is a log").log
}

/// A log whose first segments are gone, with the records of 7. Of 8 there are more; the recovery
/// point is from before the deletion.
fn deleted(disk: &SimDisk, share: &Arc<TailShare>) -> (Log, Offset) {
    let mut log = log_in(share);
    assert!(append(&mut log, 7, 0));
    checkpoint(&mut log, disk);
    let recovery_point = log.end();
    assert!(append(&mut log, 7, 1));
    assert!((0..8).all(|sequence| append(&mut log, 8, sequence)));
    write(&mut log, disk);
    // The segments that are found have no snapshots at their bases.
    let mut log = found(disk, share, recovery_point, Offset::ZERO);
    checkpoint(&mut log, disk);
    retain(&mut log, disk);
    assert!(log.start() > Offset::new(2), "the records of 7 are gone");
    (log, recovery_point)
}

/// Deletes all that retention may.
fn retain(log: &mut Log, disk: &SimDisk) {
    log.advance_high_watermark(log.end());
    let deleted = log.apply_retention(NOW, usize::MAX);
    carry_out(disk, deleted.deletions.into_iter().map(|(rename, _)| rename).collect());
}

fn a_disk_and_a_share() -> (SimDisk, Arc<TailShare>) {
    let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
    let shares = open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None);
    (disk, shares.expect("it fits").remove(0))
}

#[test]
fn a_recovery_point_from_before_the_deletion_does_not_hide_them() {
    let (disk, share) = a_disk_and_a_share();
    let (log, recovery_point) = deleted(&disk, &share);
    let mut again = found(&disk, &share, recovery_point, Offset::ZERO);
    assert_eq!((again.start(), again.end()), (log.start(), log.end()));
    assert!(!append(&mut again, 7, 3), "it is known");
    assert!(append(&mut again, 8, 8) && append(&mut again, 7, 2));
}

#[test]
fn a_log_start_within_the_first_segment_does_not_hide_them() {
    let (disk, share) = a_disk_and_a_share();
    let (mut log, recovery_point) = deleted(&disk, &share);
    // The next segment has its snapshot where it begins, and nothing before it stays.
    assert!((8..12).all(|sequence| append(&mut log, 8, sequence)));
    checkpoint(&mut log, &disk);
    retain(&mut log, &disk);
    let first = log.start();
    assert!(disk.file(&format!("orders-0/{:020}.snapshot", first.get())).is_some());
    log.raise_start(first.next());

    for point in [recovery_point, first] {
        let mut again = found(&disk, &share, point, log.start());
        assert_eq!((again.start(), again.end()), (log.start(), log.end()));
        assert!(!append(&mut again, 7, 3), "it is known: {point}");
        assert!(append(&mut again, 8, 12) && append(&mut again, 7, 2));
    }
}
