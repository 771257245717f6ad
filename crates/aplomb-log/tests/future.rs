//! A log goes to another disk while it grows: the copy is the log, byte for byte, and goes on as
//! the log would have.

use std::sync::Arc;

use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::{DiskCommand, DiskError, DiskIndex, FileName, PatientDisk, SmallFile};
use aplomb_log::future::{FutureLog, FutureStep};
use aplomb_log::index::IndexLimits;
use aplomb_log::layout::SegmentFile;
use aplomb_log::recovery::{LoadRequest, load};
use aplomb_log::tail::{ArenaMemory, Claim, TailShare, open_shares};
use aplomb_log::{Log, LogConfig};
use aplomb_model::batch::{AppendBytes, BatchBuilder, BatchHeader, HEADER_SIZE};
use aplomb_model::{LeaderEpoch, Offset, PartitionIndex, Timestamp, TopicId, Uuid};
use bytes::Bytes;

const ORDERS: TopicId = Uuid::TWO;

/// Two disks, each with a share of the same arena, and a log on the first.
struct Story {
    disks: [SimDisk; 2],
    shares: Vec<Arc<TailShare>>,
    log: Log,
    appended: u64,
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 20_000,
        indexes: IndexLimits { interval_bytes: 700, max_bytes: 4096 },
        ..LogConfig::kafka_defaults()
    }
}

fn carry_out(disk: &SimDisk, commands: Vec<DiskCommand>) {
    for command in commands {
        match command {
            DiskCommand::Write { file, at, data } => disk.write(&file, at, &data.concat()),
            DiskCommand::Publish { files, .. } => disk.publish(&files),
            DiskCommand::Sync { files } => disk.sync(&files),
            other => panic!("{other:?} is not asked for here"),
        }
        .expect("the disk is well");
    }
}

impl Story {
    fn begin() -> Self {
        let disks = [0, 1].map(|n| SimDisk::new(DiskIndex(n), SimOptions::default()));
        let ids = [Uuid::from_u128(1 << 100), Uuid::from_u128(2 << 100)];
        let shares = open_shares(ArenaMemory::heap(2 << 20), 4096, &ids, 1, None).expect("it fits");
        let metadata = SmallFile {
            name: FileName::new("orders-0/partition.metadata"),
            content: Bytes::from_static(b"version: 0\n"),
        };
        disks[1].publish(std::slice::from_ref(&metadata)).expect("the disk is well"); // as a move begins
        let share = Arc::clone(&shares[0]);
        let partition = PartitionIndex(0);
        let log = Log::empty("orders-0", ORDERS, partition, config(), share, metadata, Timestamp(0));
        Self { disks, shares, log, appended: 0 }
    }

    fn append(&mut self, batches: u64) {
        for _ in 0..batches {
            let mut builder = BatchBuilder::new(Offset::ZERO);
            let value = vec![self.appended as u8; 300];
            builder.append(Timestamp(1000 + self.appended as i64), None, Some(&value), &[]);
            let bytes = builder.build();
            let header = BatchHeader::parse(&bytes).expect("a batch");
            let batch = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
            self.log
                .append(batch, Claim::Ordinary, LeaderEpoch::new(1), Timestamp(5000))
                .expect("there is room");
            self.log.advance_high_watermark(self.log.end());
            self.appended += 1;
        }
    }

    /// A round of writes and syncs on the disk that the log is on.
    fn flush(&mut self, disk: usize) {
        let mut commands = Vec::new();
        self.log.take_writes(&mut commands);
        let part = self.log.begin_sync();
        commands.push(DiskCommand::Sync { files: part.files });
        carry_out(&self.disks[disk], commands);
        self.log.on_synced(part.covers);
    }

    /// Copies until there is nothing to copy. Gives the number of reads.
    fn follow(&mut self, copy: &mut FutureLog) -> usize {
        let mut reads = 0;
        loop {
            let writes = match copy.step(&self.log, 3000).expect("the source is sound") {
                FutureStep::CaughtUp => return reads,
                FutureStep::Write(writes) => writes,
                FutureStep::Read(DiskCommand::Read { file, at, len, .. }) => {
                    reads += 1;
                    let bytes = self.disks[0].read(&file, at, len as usize).expect("it is there");
                    copy.on_read(&bytes).expect("the source is sound")
                }
                FutureStep::Read(other) => panic!("{other:?} is no read"),
            };
            carry_out(&self.disks[1], writes);
        }
    }

    fn settle(&mut self, copy: &mut FutureLog) {
        let mut commands = copy.take_index_writes();
        commands.push(DiskCommand::Sync { files: copy.take_sync() });
        carry_out(&self.disks[1], commands);
    }

    fn load_from(&self, disk: usize, log_start: Offset) -> Log {
        let request = LoadRequest {
            directory: "orders-0".to_owned(),
            topic: ORDERS,
            partition: PartitionIndex(0),
            config: config().into(),
            clean: false,
            recovery_point: Offset::ZERO,
            log_start,
            cleaned: None,
            high_watermark: None,
            share: Arc::clone(&self.shares[disk]),
            now: Timestamp(6000),
        };
        load(&self.disks[disk], &request).expect("it is a log").log
    }
}

#[test]
fn a_log_that_has_moved_has_the_same_files_and_goes_on() {
    let mut story = Story::begin();
    story.append(150);
    story.flush(0);
    story.log.evict(usize::MAX);
    story.append(30);
    let mut copy = story.log.begin_future("orders-0");
    assert!(story.follow(&mut copy) > 10, "what memory had given up is read");
    story.append(40);
    story.follow(&mut copy);
    assert!(copy.state(&story.log).is_some());
    story.settle(&mut copy);
    story.append(3);
    assert!(story.log.relocate(copy, &story.shares[1]).expect("it is close").is_empty());
    assert_eq!(story.shares[0].stats().held, 0, "the old share has its memory back");
    story.append(50);
    story.flush(1);

    let moved = story.load_from(1, Offset::ZERO);
    assert_eq!(moved.end(), Offset::new(273));
    assert_eq!(moved.size(), story.log.size());
    let sizes = |log: &Log| -> Vec<(Offset, u64)> {
        log.segments().closed().iter().map(|segment| (segment.base, segment.size)).collect()
    };
    assert_eq!(sizes(&moved), sizes(&story.log));
    for (base, _) in sizes(&moved) {
        let file = moved.segments().file(SegmentFile::OffsetIndex, base);
        let known = story.log.segments().closed().iter().find(|segment| segment.base == base);
        let len = story.disks[1].read(&file, 0, 1 << 20).expect("it is there").len() as u64;
        assert_eq!(Some(len), known.map(|segment| segment.index_len));
    }
}

#[test]
fn a_copy_that_lacks_too_much_does_not_take_over() {
    let mut story = Story::begin();
    story.append(10);
    story.flush(0);
    let mut copy = story.log.begin_future("orders-0");
    story.follow(&mut copy);
    story.append(100); // the segment that the copy is in is closed meanwhile
    let copy = *story.log.relocate(copy, &story.shares[1]).expect_err("it is a segment behind");
    assert_eq!(story.shares[1].stats().held, 0);
    assert_eq!((copy.end(), story.log.end()), (Offset::new(10), Offset::new(110)));
}

#[test]
fn a_segment_that_is_deleted_under_way_is_no_part_of_the_moved_log() {
    let mut story = Story::begin();
    story.append(150);
    story.flush(0);
    let mut sync = story.log.begin_sync();
    let checkpoint = story.log.begin_checkpoint(&mut sync);
    carry_out(&story.disks[0], vec![DiskCommand::Sync { files: sync.files }]);
    story.disks[0].publish(&checkpoint.publish).expect("the disk is well");
    story.log.on_synced(sync.covers);
    story.log.on_checkpointed(sync.covers);
    let mut copy = story.log.begin_future("orders-0");
    story.follow(&mut copy);
    story.log.raise_start(Offset::new(100));
    let gone = story.log.apply_retention(Timestamp(5000), usize::MAX).segments;
    assert!(gone > 0);
    story.settle(&mut copy);
    let obsolete = story.log.relocate(copy, &story.shares[1]).expect("it is close");
    for file in &obsolete {
        story.disks[1].remove(file).expect("the disk is well");
    }
    let moved = story.load_from(1, Offset::new(100));
    assert_eq!(moved.segments().first_base(), story.log.segments().first_base());
    assert_eq!(moved.start(), Offset::new(100));
}

#[test]
fn a_source_that_does_not_hold_what_it_should_is_not_copied() {
    let mut story = Story::begin();
    story.append(20);
    story.flush(0);
    story.log.evict(usize::MAX);
    let log = FileName::new("orders-0/00000000000000000000.log");
    story.disks[0].write(&log, 200, b"something else").expect("the disk is well");
    let mut copy = story.log.begin_future("orders-0");
    let Ok(FutureStep::Read(DiskCommand::Read { file, at, len, .. })) = copy.step(&story.log, 3000) else {
        panic!("memory has nothing")
    };
    let bytes = story.disks[0].read(&file, at, len as usize).expect("it is there");
    assert!(copy.on_read(&bytes).is_err());
    assert_eq!(copy.end(), Offset::ZERO);
    let missing = story.disks[0].read(&FileName::new("orders-0/x.log"), 0, 1);
    assert!(matches!(missing, Err(DiskError::NotFound { .. })) && copy.on_missing(&story.log).is_err());
}
