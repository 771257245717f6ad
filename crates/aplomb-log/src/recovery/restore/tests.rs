use aplomb_disk_api::DiskIndex;
use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_model::batch::{BatchBuilder, BatchHeader};
use aplomb_model::{PartitionIndex, Timestamp};

use super::*;
use crate::recovery::{LoadRequest, load};
use crate::tail::{ArenaMemory, CrashSwitch, LogEnd, LogTail, OldTail, TailBatch, TailShare, open_shares};
use crate::{Log, LogConfig};

const DISK: DirectoryId = Uuid::from_u128(1 << 100);
const ORDERS: TopicId = Uuid::from_u128(2 << 100);

struct Story {
    disk: SimDisk,
    share: Arc<TailShare>,
    tail: LogTail,
}

impl Story {
    fn begin(topic: TopicId) -> Self {
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        let memory = ArenaMemory::heap(1 << 20);
        let shares = open_shares(memory, 4096, &[DISK], 1, Some(CrashSwitch::armed())).expect("it fits");
        let start = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
        let tail = LogTail::new(Arc::clone(&shares[0]), topic, PartitionIndex(0), start);
        Self { disk, share: Arc::clone(&shares[0]), tail }
    }

    /// Appends one record and gives the bytes of its batch.
    fn append(&mut self, value: &str) -> Bytes {
        let mut builder = BatchBuilder::new(self.tail.end().offset);
        builder.append(Timestamp(7), None, Some(value.as_bytes()), &[]);
        let bytes = builder.build();
        let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
        self.tail.push(self.tail.end().at, &[&bytes], facts).expect("there is room");
        bytes
    }

    /// The disk says that it has everything.
    fn make_durable(&mut self) {
        drop(self.tail.take_unwritten(u64::MAX));
        self.tail.on_durable(self.tail.end().offset);
    }

    /// The process is killed; the next one writes what it finds into the files.
    fn killed(&self, wanted: &Wanted<'_>) -> Result<Restored, RestoreError> {
        let image = self.share.arena().image().expect("there is a switch");
        let old = OldTail::open(image).expect("an arena");
        restore(&old.recover(), &[(DISK, &self.disk)], wanted, &mut || Uuid::from_u128(9 << 100))
    }

    /// The log as it is loaded after an unclean stop.
    fn load(&self, recovery_point: Offset) -> Log {
        let request = LoadRequest {
            directory: "orders-0".to_owned(),
            topic: ORDERS,
            partition: PartitionIndex(0),
            config: LogConfig::kafka_defaults().into(),
            clean: false,
            recovery_point,
            log_start: Offset::ZERO,
            cleaned: None,
            high_watermark: None,
            share: Arc::clone(&self.share),
            now: Timestamp(7),
        };
        load(&self.disk, &request).expect("it is a log").log
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.disk.file(name).map(|bytes| bytes.to_vec())
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let content = Bytes::copy_from_slice(bytes);
        let file = SmallFile { name: FileName::new(name), content };
        self.disk.publish(&[file]).expect("it can be written");
    }
}

fn orders(topic: TopicId) -> Option<Arc<str>> {
    (topic == ORDERS).then(|| "orders".into())
}

const LOG: &str = "orders-0/00000000000000000000.log";

#[test]
fn a_partition_that_no_disk_knew_gets_its_directory_and_its_records() {
    let mut story = Story::begin(ORDERS);
    let bytes = [story.append("one"), story.append("two")].concat();
    for _ in 0..2 {
        let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
        assert!(restored.remarks.is_empty(), "{restored:?}");
        assert_eq!(story.read(LOG), Some(bytes.clone()));
        let metadata = story.read("orders-0/partition.metadata").expect("it was written");
        assert_eq!(PartitionMetadata::parse(&metadata).expect("it is right").topic_id, ORDERS);
    }
}

#[test]
fn the_metadata_log_comes_first_and_deleted_topics_never() {
    let mut story = Story::begin(Uuid::ONE);
    let bytes = story.append("a record");
    let nothing = story.killed(&Wanted::Topics(&|_| Some("x".into()))).expect("the disk is well");
    assert_eq!(nothing, Restored::default());
    story.write("__cluster_metadata-0/quorum-state", b"{}");
    story.killed(&Wanted::Metadata).expect("the disk is well");
    assert_eq!(story.read("__cluster_metadata-0/00000000000000000000.log"), Some(bytes.to_vec()));

    let mut story = Story::begin(ORDERS);
    story.append("of a deleted topic");
    story.killed(&Wanted::Topics(&|_| None)).expect("the disk is well");
    assert_eq!(story.read(LOG), None);
}

#[test]
fn a_deleted_topic_of_the_same_name_makes_way() {
    let mut story = Story::begin(ORDERS);
    let older = PartitionMetadata { topic_id: Uuid::from_u128(3 << 100) }.encode();
    story.write("orders-0/partition.metadata", older.as_bytes());
    story.write(LOG, b"records of the older topic");
    let bytes = story.append("one");
    story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
    assert_eq!(story.read(LOG), Some(bytes.to_vec()));
    let away = PartitionDir::deleted(TopicPartition::new("orders", 0), Uuid::from_u128(9 << 100)).name();
    assert!(story.read(&format!("{away}/00000000000000000000.log")).is_some());
}

#[test]
fn files_follow_what_was_cut_in_memory() {
    let mut story = Story::begin(ORDERS);
    let kept = story.append("kept");
    let cut = story.append("cut off");
    story.write("orders-0/partition.metadata", PartitionMetadata { topic_id: ORDERS }.encode().as_bytes());
    story.write(LOG, &[&kept[..], &cut[..]].concat());
    story.write("orders-0/00000000000000000002.log", b"a segment after the cut");
    story.write("orders-0/00000000000000000002.index", b"and its index");
    story.tail.truncate_to(Offset::new(1));
    let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
    assert_eq!(story.read(LOG), Some(kept.to_vec()));
    assert_eq!(story.read("orders-0/00000000000000000002.log"), None);
    assert_eq!(story.read("orders-0/00000000000000000002.index"), None);
    assert_eq!(restored.remarks.len(), 3, "{restored:?}");
}

#[test]
fn a_file_that_is_gone_is_made_again_from_a_tail_that_has_all_of_it() {
    let mut story = Story::begin(ORDERS);
    let old = story.append("old");
    story.make_durable();
    let behind = story.append("behind it");
    let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
    assert_eq!(story.read(LOG), Some([old, behind].concat()));
    assert_eq!(restored.remarks.len(), 1, "{restored:?}");
}

#[test]
fn a_file_that_was_cut_shorter_is_made_whole_as_far_as_the_tail_reaches() {
    let mut story = Story::begin(ORDERS);
    let bytes = [story.append("one"), story.append("two")].concat();
    story.make_durable();
    for cut in [0, 17, bytes.len() - 1] {
        story.write(LOG, &bytes[..cut]);
        let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
        assert_eq!(story.read(LOG), Some(bytes.clone()), "cut at {cut}");
        assert_eq!(restored.remarks.len(), 1, "{restored:?}");
    }
}

#[test]
fn what_lies_behind_a_hole_follows_a_gap() {
    const BEHIND: &str = "orders-0/00000000000000000002.log";
    for cut in [None, Some(0), Some(1), Some(2)] {
        let mut story = Story::begin(ORDERS);
        let large = "x".repeat(5000); // more than a chunk
        let (small, old) = (story.append("small"), story.append(&large));
        story.make_durable();
        let behind = story.append("begins in the second chunk");
        assert_eq!(story.tail.evict(1), 1, "the tail begins in the second chunk now");
        let whole = [&small[..], &old[..]].concat();
        // Nothing, the first batch and a part of the second, a part of the first.
        let (len, left) = match cut {
            None => (None, None),
            Some(0) => (Some(0), None),
            Some(1) => (Some(small.len() + 100), Some(small.to_vec())),
            Some(_) => (Some(17), None),
        };
        if let Some(len) = len {
            story.write(LOG, &whole[..len]);
            story.write("orders-0/00000000000000000000.index", b"of what is gone");
        }
        for _ in 0..2 {
            let restored = story.killed(&Wanted::Topics(&orders)).expect("the disk is well");
            assert_eq!(story.read(BEHIND), Some(behind.to_vec()));
            assert_eq!(story.read(LOG), left, "only what is whole");
            let is_said = |remark: &String| remark.contains("records 2 to 3 follow a gap");
            assert!(restored.remarks.iter().any(is_said), "{restored:?}");
        }
        let point = story.read("recovery-point-offset-checkpoint").expect("it was written");
        assert!(String::from_utf8_lossy(&point).ends_with("orders 0 3\n"), "{point:?}");
        let log = story.load(Offset::new(3));
        assert_eq!(log.end(), Offset::new(3));
        assert_eq!(log.start(), if left.is_some() { Offset::ZERO } else { Offset::new(2) });
    }
}

#[test]
fn records_of_a_log_directory_that_is_not_there_any_more_are_not_given_up() {
    let mut story = Story::begin(ORDERS);
    story.append("one");
    let image = story.share.arena().image().expect("there is a switch");
    let old = OldTail::open(image).expect("an arena");
    let other = [(Uuid::from_u128(5 << 100), &story.disk as &dyn PatientDisk)];
    let result = restore(&old.recover(), &other, &Wanted::Topics(&orders), &mut || Uuid::ONE);
    assert!(matches!(result, Err(RestoreError::UnknownDirectory { directory: DISK, .. })), "{result:?}");
}
