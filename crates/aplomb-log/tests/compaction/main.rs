//! A compacted log on a simulated disk against the list of all that was ever appended to it.
//!
//! Random histories of records with keys, tombstones and transactions, passes that die at any call,
//! power cuts and restarts. After each step a reader finds of each key what it must, at the offset
//! that it always had; what may be gone is gone; a tombstone is there exactly as long as it has to
//! be; and a reader of committed records is never told of others.

mod history;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, DiskError, Done};
use aplomb_log::cold::{ColdRead, ColdStep};
use aplomb_log::compaction::{ActiveProducers, CompactionRules, Pass, PassFailed, PassStep, finish_swap};
use aplomb_log::index::IndexLimits;
use aplomb_log::recovery::{LoadRequest, load};
use aplomb_log::tail::{Claim, TailShare};
use aplomb_log::{CompactionConfig, Dirtiness, Fetched, Log, LogConfig, Reader};
use aplomb_model::batch::{
    AppendBytes, BatchBuilder, BatchHeader, Batches, Codec, EndTxnMarker, HEADER_SIZE, ProducerStamp,
};
use aplomb_model::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, SplitMix64, Timestamp, Uuid,
};
use bytes::Bytes;

use self::history::{History, Written};
use self::support::{DyingDisk, TestDisk, empty_log, share};

const DIRECTORY: &str = "table-3";
const EPOCH: LeaderEpoch = LeaderEpoch::new(4);
const DELETE_RETENTION_MS: u64 = 5_000;
const KEYS: u64 = 12;

struct Lab {
    rng: SplitMix64,
    device: TestDisk,
    share: Arc<TailShare>,
    log: Log,
    clock: i64,
    history: History,
    durable: Offset,
    /// What the checkpoint files say.
    recovery_point: Offset,
    cleaned: Option<Offset>,
    /// Bytes that passes have not read twice.
    passed_over: u64,
    /// The next sequence of each idempotent producer, and whether it is in a transaction.
    producers: [(i32, bool); 4],
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 3_000,
        indexes: IndexLimits { interval_bytes: 300, max_bytes: 4096 },
        deletes: false,
        compacts: true,
        compaction: CompactionConfig {
            delete_retention_ms: DELETE_RETENTION_MS,
            ..CompactionConfig::KAFKA_DEFAULTS
        },
        retention_ms: None,
        ..LogConfig::kafka_defaults()
    }
}

impl Lab {
    fn new(seed: u64) -> Self {
        let (share, clock) = (share(), 1_000_000);
        let log = empty_log(DIRECTORY, config(), share.clone(), clock);
        let mut lab = Self {
            rng: SplitMix64::new(seed),
            device: TestDisk::new(seed),
            share,
            log,
            clock,
            history: History::default(),
            durable: Offset::ZERO,
            recovery_point: Offset::ZERO,
            cleaned: None,
            passed_over: 0,
            producers: [(0, false); 4],
        };
        lab.flush(true);
        lab
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.bits() % n
    }

    fn append(&mut self) {
        let who = self.below(6) as usize;
        let codec = match self.below(4) {
            0 => Codec::Lz4,
            1 => Codec::Zstd,
            _ => Codec::None,
        };
        let mut batch = BatchBuilder::new(Offset::ZERO).compression(codec);
        let records = 1 + self.below(5);
        let mut transactional = false;
        let producer = (who < self.producers.len()).then_some(who as i64);
        if let Some((sequence, in_transaction)) = self.producers.get_mut(who) {
            let id = ProducerId::from_wire(who as i64).expect("an id");
            batch = batch.producer(ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence: *sequence });
            *sequence += records as i32;
            // The last two write in transactions only.
            if who >= 2 {
                batch = batch.transactional();
                *in_transaction = true;
                transactional = true;
            }
        }
        let mut written = Vec::new();
        for n in 0..records {
            self.clock += self.below(50) as i64;
            let key = format!("k{}", self.below(KEYS));
            let value = (self.below(4) > 0).then(|| vec![b'v'; self.below(200) as usize]);
            batch.append(Timestamp(self.clock), Some(key.as_bytes()), value.as_deref(), &[]);
            let offset = self.log.end().plus(n);
            written.push(Written { offset, key, value, timestamp: self.clock });
        }
        let bytes = batch.build();
        let header = BatchHeader::parse(&bytes).expect("a batch");
        let append = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
        let appended =
            self.log.append(append, Claim::Ordinary, EPOCH, Timestamp(self.clock)).expect("there is room");
        assert_eq!(appended.duplicate, None);
        self.history.append(producer.filter(|_| transactional), written);
        self.log.advance_high_watermark(self.log.end());
    }

    fn end_transaction(&mut self) {
        let who = 2 + self.below(2) as usize;
        if !std::mem::take(&mut self.producers[who].1) {
            return;
        }
        let committed = self.below(2) == 0;
        self.clock += 1;
        let id = ProducerId::from_wire(who as i64).expect("an id");
        let rule = aplomb_log::producers::MarkerEpochRule::NotBelow;
        let end = EndTxnMarker { committed, coordinator_epoch: 1 };
        let marker = self.log.append_marker((id, ProducerEpoch(0)), end, rule, EPOCH, Timestamp(self.clock));
        let at = marker.expect("it is appended").base;
        self.history.end(who as i64, committed, at);
        self.log.advance_high_watermark(self.log.end());
    }

    fn flush(&mut self, checkpoint: bool) {
        let flushed = self.device.flush(&mut self.log, checkpoint);
        self.durable = flushed.durable;
        self.recovery_point = flushed.recovery_point.unwrap_or(self.recovery_point);
    }

    /// A pass, if there is something to do. It may die.
    fn compact(&mut self) {
        let Some(found) = self.settled() else { return };
        let rules = CompactionRules {
            delete_retention_ms: DELETE_RETENTION_MS,
            segment_bytes: 3_000,
            indexes: config().indexes,
            // So small now and then that the map is full before the dirty part is over.
            map_bytes: if self.below(3) == 0 { 24 * 8 } else { 1 << 20 },
            map_load: 0.9,
            window: 1 + self.below(2_000) as usize,
            decompressed: 1 << 20,
        };
        let mut producers = ActiveProducers::default();
        for (id, entry) in self.log.producers().producers_after(None) {
            producers.add(id, entry, found.first_uncleanable);
        }
        let calls = if self.below(3) == 0 { self.below(60) } else { u64::MAX };
        let disk = self.device.disk.clone();
        let dying = DyingDisk::after(calls, &disk);
        self.history.on_pass(found.first_uncleanable, self.clock);
        let plan =
            self.log.begin_compaction(found.first_uncleanable, producers, rules, Timestamp(self.clock));
        let mut pass = Pass::new(plan.expect("there is something to compact"));
        let end = loop {
            match pass.step(&dying) {
                Ok(PassStep::Again(_)) => {}
                Ok(PassStep::Group(replacement, _)) => {
                    let (sources, base) = (replacement.sources.clone(), replacement.segment.base);
                    self.log.replace_segments(replacement);
                    self.read_all();
                    match finish_swap(&dying, DIRECTORY, &sources, base) {
                        Ok(deleted) => {
                            // A read that was planned for the `.swap` names does not find them.
                            self.log.on_swapped(base);
                            self.device.run(DiskCommand::DeleteFiles { files: deleted }).expect("deleted");
                        }
                        Err(_) => break None,
                    }
                    self.read_all();
                }
                Ok(PassStep::Done(result)) => {
                    self.passed_over += result.stats.passed_over;
                    break Some(result.clean_end);
                }
                Err(PassFailed::Disk(DiskError::Offline)) => break None,
                Err(failed) => panic!("{failed}"),
            }
        };
        match end {
            Some(end) => {
                assert!(found.first_dirty < end && end <= found.first_uncleanable, "{end} of {found:?}");
                self.log.on_compacted(end);
                self.cleaned = self.log.cleaned();
                self.read_all();
                let records = self.records();
                self.history.on_compacted(end, self.clock, &records, DELETE_RETENTION_MS);
            }
            // What it has done may be there: tombstones were met, or went.
            None if self.below(2) == 0 => self.power_cut(),
            None => self.kill(),
        }
    }

    /// What a pass would find, if it would find anything: once the disk has it all.
    fn settled(&mut self) -> Option<Dirtiness> {
        for _ in 0..3 {
            let found = self.log.dirtiness(Timestamp(self.clock)).expect("no lag is to be kept");
            if found.dirty == 0 {
                return None;
            }
            if found.is_settled {
                return Some(found);
            }
            self.flush(true);
        }
        panic!("two checkpoints settle all that is closed")
    }

    /// All batches from the log start on, as fetches of any size give them.
    fn batches(&mut self) -> Vec<Bytes> {
        let (mut from, end) = (self.log.start(), self.log.end());
        let mut all = Vec::new();
        while from < end {
            let most = 1 + self.below(4_000) as u32;
            match self.log.fetch(from, most, end, Reader::Others) {
                Fetched::Hot { slices, next } => {
                    all.push(slices.concat().into());
                    from = next;
                }
                Fetched::Cold(plan) => {
                    let (base, behind) = (plan.base, plan.end);
                    let mut read = ColdRead::new(plan);
                    from = loop {
                        let step = match self.device.run(read.command()) {
                            Ok(Done::Read(bytes)) => read.on_read(&bytes),
                            _ => read.on_missing(),
                        };
                        match step {
                            ColdStep::Again => {}
                            ColdStep::Found(found) => {
                                assert!(found.next > from, "a fetch goes on");
                                self.log.on_cold_read(base, &found);
                                all.push(found.records.clone());
                                break found.next;
                            }
                            ColdStep::Nothing => break behind,
                            step => panic!("{from} of {end}: {step:?}"),
                        }
                    };
                }
                Fetched::CaughtUp => break,
                Fetched::NoMemory => panic!("memory for readers is not limited here"),
            }
        }
        all
    }

    /// What a consumer finds, from the log start on.
    fn records(&mut self) -> Vec<Written> {
        let mut found: Vec<Written> = Vec::new();
        for bytes in self.batches() {
            let mut walk = Batches::new(&bytes).checked();
            for view in walk.by_ref().filter(|view| !view.header.is_control()) {
                let uncompressed = view.uncompressed(1 << 20).expect("ours");
                for record in view.records(&uncompressed) {
                    let record = record.expect("ours");
                    let offset = view.header.record_offset(record.offset_delta).expect("an offset");
                    if found.last().is_some_and(|last| last.offset >= offset) {
                        continue; // a fetch begins with a batch that was seen before
                    }
                    found.push(Written {
                        offset,
                        key: String::from_utf8(record.key.expect("all have one").to_vec()).expect("ours"),
                        value: record.value.map(<[u8]>::to_vec),
                        timestamp: view.header.record_timestamp(record.timestamp_delta).0,
                    });
                }
            }
            assert_eq!(walk.end().expect("it has ended").why, aplomb_model::batch::Stop::Complete);
        }
        found
    }

    /// Readers of all records, and of committed ones, find what they must.
    fn read_all(&mut self) {
        let records = self.records();
        let end = self.log.end();
        let aborted = self.log.aborted_transactions(self.log.start(), end);
        self.history.check(&records, &aborted, self.clock, DELETE_RETENTION_MS);
    }

    fn reload(&mut self, clean: bool) {
        self.device.begin_anew();
        self.share = share();
        let request = LoadRequest {
            directory: DIRECTORY.into(),
            topic: Uuid::TWO,
            partition: PartitionIndex(3),
            config: config().into(),
            clean,
            recovery_point: self.recovery_point,
            log_start: Offset::ZERO,
            cleaned: self.cleaned,
            high_watermark: None,
            share: self.share.clone(),
            now: Timestamp(self.clock),
        };
        self.log = load(&self.device.disk, &request).expect("the log loads").log;
        let end = self.log.end();
        assert!(end >= self.durable, "what was durable below {} is there, not only {end}", self.durable);
        self.history.cut(end);
        for who in 0..self.producers.len() {
            let id = ProducerId::from_wire(who as i64).expect("an id");
            let entry = self.log.producers().producer(id);
            // What was lost was not durable; what is there, the producer knows.
            let next = entry.map_or(0, |entry| entry.last_sequence() + 1);
            let (sequence, open) = &mut self.producers[who];
            assert!(next <= *sequence, "producer {who} goes on at {next}, and has sent up to {sequence}");
            assert!(
                next == *sequence || end < self.history.lost_below(),
                "nothing of producer {who} was lost"
            );
            *sequence = next;
            *open = entry.is_some_and(|entry| entry.open_transaction().is_some());
        }
        self.read_all();
    }

    fn power_cut(&mut self) {
        self.history.note_end(self.log.end());
        self.device.disk.power_cut();
        self.reload(false);
        self.flush(true);
    }

    /// The process dies, and memory with it; what the disk was given stays.
    fn kill(&mut self) {
        self.history.note_end(self.log.end());
        self.device.disk.process_killed();
        self.reload(false);
        self.flush(true);
    }

    fn clean_stop(&mut self) {
        self.history.note_end(self.log.end());
        self.log.close_indexes();
        self.flush(true);
        self.recovery_point = self.log.end();
        self.device.disk.process_killed();
        self.reload(true);
    }
}

/// How many bytes its passes have passed over.
fn story(seed: u64) -> u64 {
    let mut lab = Lab::new(seed);
    for _ in 0..150 {
        match lab.below(100) {
            0..50 => lab.append(),
            50..62 => lab.end_transaction(),
            62..66 => lab.flush(false),
            66..70 => lab.flush(true),
            70..75 => {
                let some = lab.below(20) as usize;
                lab.log.evict(some);
            }
            75..79 => lab.read_all(),
            79..83 => lab.clock += lab.below(2 * DELETE_RETENTION_MS) as i64,
            83..96 => lab.compact(),
            96 => lab.power_cut(),
            97 => lab.kill(),
            _ => lab.clean_stop(),
        }
    }
    lab.read_all();
    lab.passed_over
}

#[test]
fn of_each_key_the_last_record_stays_and_nothing_else_has_to() {
    let from: u64 = std::env::var("COMPACTION_FROM").map_or(0, |from| from.parse().expect("a number"));
    let count: u64 = std::env::var("COMPACTION_SEEDS").map_or(300, |count| count.parse().expect("a number"));
    let mut passed_over = 0;
    for seed in from..from + count {
        let result = std::panic::catch_unwind(|| story(seed));
        passed_over += result.unwrap_or_else(|_| panic!("seed {seed} tells a wrong story"));
    }
    assert!(passed_over > 0 || count < 100, "no pass has found a stretch to pass over");
}
