//! Apache Kafka's own log, read: `tests/oracle-metadata/golden.sh` has Kafka 4.4 write a log with
//! every type of record, and the records that its image of that log consists of.

use aplomb_model::batch::{BatchView, Batches};
use aplomb_model::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Timestamp, Uuid};
use aplomb_protocol::MetadataRecord;

use super::*;

const LOG: &[u8] = include_bytes!("../../tests/golden/kafka.log");
const IMAGE: &[u8] = include_bytes!("../../tests/golden/kafka.image");

fn replay(bytes: &[u8]) -> Replay {
    let mut replay = Replay::from_image(MetadataImage::empty("cluster"));
    for batch in Batches::new(bytes).checked() {
        let end = batch.header.last_offset().next();
        let entries = decode_batch(&batch).expect("readable");
        replay.apply_batch(&entries, end, LeaderEpoch::new(1)).expect("fits");
    }
    replay
}

/// The bytes of every record, sorted: the order of topics is not part of what an image says.
fn record_values(bytes: &[u8]) -> Vec<Vec<u8>> {
    let values = |batch: BatchView<'_>| -> Vec<Vec<u8>> {
        let bytes = batch.record_bytes();
        let records = batch.records(&bytes).map(|record| record.expect("whole"));
        records.map(|record| record.value.expect("a value").to_vec()).collect()
    };
    let mut all: Vec<_> =
        Batches::new(bytes).checked().filter(|batch| !batch.header.is_control()).flat_map(values).collect();
    all.sort_unstable();
    all
}

#[test]
fn the_image_of_kafkas_log_is_kafkas_image() {
    let image = replay(LOG).into_image();
    let snapshot = snapshot_bytes(&image, None, Timestamp(0), Timestamp(0)).expect("encodes");
    assert_eq!(record_values(&snapshot), record_values(IMAGE));
}

#[test]
fn the_golden_log_has_every_type_of_record() {
    let batches = Batches::new(LOG).checked();
    let mut keys: Vec<i16> = batches
        .flat_map(|batch| decode_batch(&batch).expect("readable"))
        .filter_map(|entry| match entry {
            Entry::Record(record) => Some(record.key()),
            _ => None,
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    let all: Vec<i16> = (0..=29).filter(|key| ![6, 13, 16].contains(key)).collect();
    assert_eq!(keys, all);
}

#[test]
fn a_snapshot_of_kafkas_image_is_that_image() {
    let image = replay(LOG).into_image();
    let snapshot = snapshot_bytes(&image, None, Timestamp(0), Timestamp(0)).expect("encodes");
    let mut restored = replay(&snapshot).into_image();
    restored.provenance = image.provenance;
    assert_eq!(restored, image);
}

#[test]
fn epochs_follow_from_the_order_of_changes() {
    let mut replay = replay(LOG);
    let id = |n: u64| Uuid::from_u128(0x1122_3344_5566_7788 << 64 | u128::from(n));
    let delta = replay.take_delta();
    assert!(delta.topics[&id(500)].created && delta.deleted.is_empty(), "all of it is new");
    let image = replay.into_image();
    let partition = image.topics.partition(id(500), PartitionIndex(0)).expect("there");
    assert_eq!((partition.leader, partition.leader_epoch), (None, LeaderEpoch::new(2)));
    assert_eq!((partition.partition_epoch, partition.recovery_state), (3, RecoveryState::Recovering));
    assert_eq!(image.topics.by_name("topic.2").map(|topic| topic.id), Some(id(600)));
    assert!(image.topics.by_name("kept").is_some() && image.topics.by_name("forgotten").is_none());
    assert!(image.is_live(BrokerId(1)) && !image.is_live(BrokerId(3)) && !image.is_live(BrokerId(4)));
    assert_eq!(image.provenance.end, Offset::new(record_values(LOG).len() as u64));
}

#[test]
fn no_cut_and_no_flipped_bit_in_a_record_is_more_than_an_error() {
    for batch in Batches::new(LOG).checked() {
        for entry in decode_batch(&batch).expect("readable") {
            let Entry::Record(record) = entry else { continue };
            let Ok(bytes) = (0..=4).rev().find_map(|version| record.to_bytes(version).ok()).ok_or(()) else {
                continue;
            };
            for at in 0..bytes.len() {
                drop(MetadataRecord::decode(bytes.slice(..at)));
                for bit in 0..8 {
                    let mut damaged = bytes.to_vec();
                    damaged[at] ^= 1 << bit;
                    if let Ok((record, _)) = MetadataRecord::decode(damaged.into()) {
                        let mut image = MetadataImage::empty("cluster");
                        drop(image.apply(&record, &mut Delta::default()));
                    }
                }
            }
        }
    }
}
