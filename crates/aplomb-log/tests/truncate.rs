//! Truncating a log: what is left is the log that it was at that offset, in memory, in its files
//! and after a crash.

use std::sync::Arc;

use aplomb_disk_api::sim::{SimDisk, SimOptions};
use aplomb_disk_api::{DiskCommand, DiskIndex, FileName, PatientDisk, SmallFile};
use aplomb_log::producers::MarkerEpochRule;
use aplomb_log::recovery::restore::{Wanted, restore};
use aplomb_log::recovery::{LoadRequest, load};
use aplomb_log::state_files::PartitionMetadata;
use aplomb_log::tail::{ArenaMemory, Claim, CrashSwitch, OldTail, TailShare, open_shares};
use aplomb_log::{Log, LogConfig};
use aplomb_model::batch::{
    AppendBytes, BatchBuilder, BatchHeader, EndTxnMarker, HEADER_SIZE, ProducerStamp, crc32c,
};
use aplomb_model::{
    DirectoryId, LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, Timestamp, Uuid,
};

const NOW: Timestamp = Timestamp(1_000_000);
const DISK: DirectoryId = Uuid::from_u128(1 << 100);
const ORDERS: Uuid = Uuid::from_u128(2 << 100);

/// A log, with every batch in it of three records.
struct Story {
    disk: SimDisk,
    share: Arc<TailShare>,
    log: Log,
    sequence: i32,
}

fn config() -> LogConfig {
    LogConfig { segment_bytes: 2000, ..LogConfig::kafka_defaults() }
}

fn log_in(share: &Arc<TailShare>) -> Log {
    let metadata = SmallFile {
        name: FileName::new("orders-0/partition.metadata"),
        content: PartitionMetadata { topic_id: ORDERS }.encode().into(),
    };
    Log::empty("orders-0", ORDERS, PartitionIndex(0), config(), Arc::clone(share), metadata, NOW)
}

fn offset(raw: u64) -> Offset {
    Offset::new(raw)
}

impl Story {
    fn begin() -> Self {
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        let memory = ArenaMemory::heap(1 << 20);
        let share =
            open_shares(memory, 4096, &[DISK], 1, Some(CrashSwitch::armed())).expect("it fits").remove(0);
        let log = log_in(&share);
        Self { disk, share, log, sequence: 0 }
    }

    /// Batches of producer 7 in the transaction that is open, or none.
    fn append(&mut self, batches: usize, epoch: u32, transactional: bool) {
        for _ in 0..batches {
            let id = ProducerId::from_wire(7).expect("an id");
            let stamp = ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence: self.sequence };
            let mut builder = BatchBuilder::new(Offset::ZERO).producer(stamp);
            if transactional {
                builder = builder.transactional();
            }
            for _ in 0..3 {
                builder.append(NOW, None, Some(&[b'v'; 100]), &[]);
            }
            self.sequence += 3;
            let bytes = builder.build();
            let header = BatchHeader::parse(&bytes).expect("a batch");
            let epoch = LeaderEpoch::new(epoch);
            if transactional {
                self.log.append_own(header, &bytes[HEADER_SIZE..], epoch, NOW).expect("there is room");
            } else {
                let batch = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
                self.log.append(batch, Claim::Ordinary, epoch, NOW).expect("there is room");
            }
        }
    }

    fn abort(&mut self, epoch: u32) {
        let marker = EndTxnMarker { committed: false, coordinator_epoch: 0 };
        let id = ProducerId::from_wire(7).expect("an id");
        let rule = MarkerEpochRule::NotBelow;
        let appended =
            self.log.append_marker((id, ProducerEpoch(0)), marker, rule, LeaderEpoch::new(epoch), NOW);
        appended.expect("it is in time");
    }

    fn checkpoint(&mut self) {
        let mut commands = Vec::new();
        self.log.take_writes(&mut commands);
        for command in commands {
            match command {
                DiskCommand::Publish { files, .. } => self.disk.publish(&files).expect("the disk is well"),
                DiskCommand::Write { file, at, data } => {
                    self.disk.write(&file, at, &data.concat()).expect("the disk is well");
                }
                other => panic!("{other:?} is no write"),
            }
        }
        let mut part = self.log.begin_sync();
        let state = self.log.begin_checkpoint(&mut part);
        self.disk.sync(&part.files).expect("the disk is well");
        self.log.on_synced(part.covers);
        self.disk.publish(&state.publish).expect("the disk is well");
        self.log.on_checkpointed(part.covers);
    }

    /// What is appended is on the disk; what is truncated is gone.
    fn truncate_to(&mut self, to: u64) {
        while !self.log.is_settled() {
            self.checkpoint();
        }
        let log = std::mem::replace(&mut self.log, log_in(&self.share));
        self.log = log.truncate_to(offset(to), NOW).run(&self.disk).expect("the disk is well").log;
    }

    /// The log as a process finds it that is started after this one stopped.
    fn reloaded(&mut self, recovery_point: Offset) -> Log {
        let request = LoadRequest {
            directory: "orders-0".to_owned(),
            topic: ORDERS,
            partition: PartitionIndex(0),
            config: config().into(),
            clean: false,
            recovery_point,
            log_start: Offset::ZERO,
            cleaned: None,
            high_watermark: None,
            share: Arc::clone(&self.share),
            now: NOW,
        };
        load(&self.disk, &request).expect("it is a log").log
    }
}

/// What a log is, besides its bytes.
fn describe(log: &Log) -> impl PartialEq + std::fmt::Debug {
    let segments: Vec<_> =
        log.segments().closed().iter().map(|s| (s.base, s.size, s.index_len, s.time_index_len)).collect();
    let active = log.segments().active();
    let producers: Vec<_> = log
        .producers()
        .producers()
        .map(|(id, entry)| (id, entry.epoch(), entry.last_sequence(), entry.open_transaction()))
        .collect();
    let aborted = log.aborted_transactions(Offset::ZERO, log.end());
    let ends = (log.start(), log.end(), log.producers().first_unstable_offset());
    (ends, segments, (active.base, active.size), producers, log.epochs().clone(), aborted)
}

/// The files that only records make, by their checksums.
fn logs(disk: &SimDisk) -> Vec<(String, u32)> {
    let is_log = |name: &str| name.ends_with(".log") || name.ends_with(".txnindex");
    let files = disk.image().into_iter().filter(|(name, bytes)| is_log(name) && !bytes.is_empty());
    files.map(|(name, bytes)| (name, crc32c(&bytes))).collect()
}

/// Eleven batches, three segments, two epochs, an aborted transaction.
fn longer() -> Story {
    let mut story = Story::begin();
    story.append(5, 1, false);
    story.append(2, 2, true);
    story.abort(2);
    story.append(4, 3, false);
    story
}

#[test]
fn what_is_left_is_the_log_that_it_was_at_that_offset() {
    let mut shorter = Story::begin();
    shorter.append(5, 1, false);
    shorter.append(1, 2, true);
    shorter.log.advance_high_watermark(offset(12));
    for evicted in [0, usize::MAX] {
        let mut longer = longer();
        longer.log.advance_high_watermark(offset(12));
        while !longer.log.is_settled() {
            longer.checkpoint();
        }
        longer.log.evict(evicted);
        longer.truncate_to(18);
        shorter.checkpoint();
        assert_eq!(describe(&longer.log), describe(&shorter.log));
        assert_eq!(logs(&longer.disk), logs(&shorter.disk));
        assert_eq!(longer.log.high_watermark(), offset(12));
        assert_eq!(longer.share.stats().held, 0, "the memory of the longer log is released");
        assert_eq!(describe(&longer.reloaded(longer.log.recovery_point())), describe(&shorter.log));
    }
}

#[test]
fn a_log_goes_on_behind_its_new_end() {
    let mut story = longer();
    story.truncate_to(12);
    story.sequence = 12;
    story.append(9, 4, false);
    let end = story.log.end();
    assert_eq!(end, offset(12 + 9 * 3));
    story.checkpoint();
    story.checkpoint();
    let reloaded = story.reloaded(story.log.recovery_point());
    assert_eq!(describe(&reloaded), describe(&story.log));
    let starts: Vec<_> = reloaded.epochs().entries().iter().map(|e| (e.epoch, e.start)).collect();
    assert_eq!(starts, [(LeaderEpoch::new(1), Offset::ZERO), (LeaderEpoch::new(4), offset(12))]);
}

#[test]
fn a_batch_that_reaches_over_the_offset_goes_wholly() {
    let mut story = longer();
    story.log.advance_high_watermark(story.log.end());
    story.truncate_to(14);
    assert_eq!((story.log.end(), story.log.high_watermark()), (offset(12), offset(12)));
}

#[test]
fn a_log_of_which_nothing_is_left_begins_anew_at_the_offset() {
    let mut story = longer();
    story.log.advance_high_watermark(offset(20));
    story.log.raise_start(offset(20));
    story.truncate_to(17);
    assert_eq!((story.log.start(), story.log.end()), (offset(17), offset(17)));
    assert!(logs(&story.disk).is_empty());
    story.append(1, 3, false);
    assert_eq!(story.log.end(), offset(20));
}

#[test]
fn a_process_that_is_killed_before_the_files_are_cut_finds_them_cut_at_its_next_start() {
    let mut story = longer();
    while !story.log.is_settled() {
        story.checkpoint();
    }
    let log = std::mem::replace(&mut story.log, log_in(&story.share));
    let truncation = log.truncate_to(offset(18), NOW);
    let old = OldTail::open(story.share.arena().image().expect("there is a switch")).expect("an arena");
    let names = |topic| (topic == ORDERS).then(|| "orders".into());
    let disks: [(DirectoryId, &dyn PatientDisk); 1] = [(DISK, &story.disk)];
    restore(&old.recover(), &disks, &Wanted::Topics(&names), &mut || Uuid::ONE).expect("the disk is well");
    let found = story.reloaded(truncation.recovery_point());
    assert_eq!((found.end(), found.segments().active().base), (offset(18), offset(15)));
}

#[test]
#[should_panic(expected = "the disk has all of a log that is truncated")]
fn a_log_that_its_files_do_not_have_is_not_truncated() {
    let mut story = longer();
    story.checkpoint();
    story.append(1, 3, false);
    let _ = story.log.truncate_to(offset(3), NOW);
}

#[test]
#[should_panic(expected = "a log is truncated below its end")]
fn a_log_is_not_truncated_to_more_than_it_is() {
    let _ = longer().log.truncate_to(offset(34), NOW);
}

#[test]
fn an_index_that_was_never_made_is_made_though_it_has_no_entries() {
    let mut story = Story::begin();
    story.append(20, 0, false);
    story.checkpoint();
    let base = story.log.segments().closed()[1].base.get();
    let index = FileName::new(format!("orders-0/{base:020}.index"));
    assert_eq!(story.disk.file(index.as_str()).map(|file| file.len()), Some(0));
    story.disk.remove(&index).expect("it is there");
    story.reloaded(Offset::ZERO);
    assert_eq!(story.disk.file(index.as_str()).map(|file| file.len()), Some(0));
}
