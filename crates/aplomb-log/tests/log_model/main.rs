//! A log on a simulated disk against the simplest thing that could be true: a vector of batches.
//!
//! Random histories of appends, syncs, checkpoints, reads from memory and from files, lookups by
//! time, retention, truncations, power cuts and restarts. After each step the log must agree with
//! the vector; after a power cut it must be a prefix of it that holds everything that was reported
//! durable.

#[path = "../support/mod.rs"]
mod support;

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_disk_api::{DiskCommand, Done, FileName, FileStamp, PatientDisk};
use aplomb_log::cold::{ColdRead, ColdStep, TimeAnswer, TimeStep, TimeWanted};
use aplomb_log::index::IndexLimits;
use aplomb_log::layout::SegmentFile;
use aplomb_log::recovery::{LoadReport, LoadRequest, load, load_closed};
use aplomb_log::state_files::ClosedLogNote;
use aplomb_log::tail::{Claim, TailShare};
use aplomb_log::{Fetched, Log, LogConfig, Reader, TimeFound};
use aplomb_model::batch::{AppendBytes, BatchBuilder, BatchHeader, Batches, HEADER_SIZE, ProducerStamp};
use aplomb_model::{
    LeaderEpoch, Offset, PartitionIndex, ProducerEpoch, ProducerId, SplitMix64, Timestamp, Uuid,
};
use bytes::Bytes;

use self::support::{DyingDisk, TestDisk, empty_log, share};

const DIRECTORY: &str = "orders-3";
const EPOCH: LeaderEpoch = LeaderEpoch::new(4);

struct Rng(SplitMix64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0.bits()
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

struct Lab {
    rng: Rng,
    device: TestDisk,
    share: Arc<TailShare>,
    log: Log,
    /// Every batch from the log start on: its base offset, its bytes as stored, its timestamp.
    model: VecDeque<(Offset, Vec<u8>, i64)>,
    durable: Offset,
    /// What the checkpoint files say.
    recovery_point: Offset,
    log_start: Offset,
    sequences: [i32; 3],
    clock: i64,
}

fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 20_000,
        indexes: IndexLimits { interval_bytes: 700, max_bytes: 4096 },
        retention_ms: None,
        ..LogConfig::kafka_defaults()
    }
}

fn last_offset(stored: &[u8]) -> Offset {
    BatchHeader::parse(stored).expect("ours").last_offset()
}

impl Lab {
    fn new(seed: u64) -> Self {
        let share = share();
        let log = empty_log(DIRECTORY, config(), share.clone(), 0);
        Self {
            rng: Rng(SplitMix64::new(seed)),
            device: TestDisk::new(seed),
            share,
            log,
            model: VecDeque::new(),
            durable: Offset::ZERO,
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            sequences: [0; 3],
            clock: 1_000_000,
        }
    }

    fn append(&mut self) {
        let mut batch = BatchBuilder::new(Offset::ZERO);
        let who = self.rng.below(4) as usize;
        let records = 1 + self.rng.below(5);
        if let Some(sequence) = self.sequences.get_mut(who) {
            let id = ProducerId::from_wire(who as i64).expect("an id");
            batch = batch.producer(ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence: *sequence });
            *sequence += records as i32;
        }
        self.clock += self.rng.below(50) as i64 - 10;
        let largest = if self.rng.below(20) == 0 { 3_500 } else { 400 };
        let value = vec![b'v'; self.rng.below(largest) as usize];
        for _ in 0..records {
            batch.append(Timestamp(self.clock), None, Some(&value), &[]);
        }
        let bytes = batch.build();
        let header = BatchHeader::parse(&bytes).expect("a batch");
        let at = self.log.end();
        let append = AppendBytes { header, records: bytes.slice(HEADER_SIZE..) };
        let appended =
            self.log.append(append, Claim::Ordinary, EPOCH, Timestamp(self.clock)).expect("there is room");
        assert_eq!((appended.base, appended.duplicate), (at, None));
        let mut stored = bytes.to_vec();
        aplomb_model::batch::stamp_base_offset(&mut stored, at);
        aplomb_model::batch::stamp_leader_epoch(&mut stored, EPOCH);
        self.model.push_back((at, stored, self.clock));
        if self.rng.below(4) > 0 {
            self.advance_high_watermark();
        }
    }

    /// The leader learns that replicas have more, all of it or not.
    fn advance_high_watermark(&mut self) {
        let (before, end) = (self.log.high_watermark(), self.log.end());
        let to = Offset::new(before.get() + self.rng.below(end.distance_from(before) + 1));
        self.log.advance_high_watermark(if self.rng.below(2) == 0 { end } else { to });
    }

    fn flush(&mut self, checkpoint: bool) {
        let flushed = self.device.flush(&mut self.log, checkpoint);
        self.durable = flushed.durable;
        self.recovery_point = flushed.recovery_point.unwrap_or(self.recovery_point);
    }

    fn read(&mut self) {
        let (start, end) = (self.log.start(), self.log.end());
        let from = Offset::new(start.get() + self.rng.below(end.distance_from(start) + 1));
        let max_bytes = self.rng.below(6_000) as u32;
        let place = self.model.partition_point(|(base, ..)| *base <= from).saturating_sub(1);
        let bytes = match self.log.fetch(from, max_bytes, end, Reader::Others) {
            Fetched::CaughtUp => {
                assert_eq!(from, end);
                return;
            }
            Fetched::NoMemory => panic!("memory for readers is not limited here"),
            Fetched::Hot { slices, .. } => slices.concat(),
            Fetched::Cold(plan) => {
                let base = plan.base;
                let mut read = ColdRead::new(plan);
                loop {
                    let step = match self.device.run(read.command()) {
                        Ok(Done::Read(bytes)) => read.on_read(&bytes),
                        _ => read.on_missing(),
                    };
                    match step {
                        ColdStep::Again => {}
                        ColdStep::Found(found) => {
                            self.log.on_cold_read(base, &found);
                            break found.records.to_vec();
                        }
                        step => panic!("offset {from} of {start}..{end} was not found: {step:?}"),
                    }
                }
            }
        };
        assert!(!bytes.is_empty(), "at least one batch is read at {from}");
        let mut rest = &bytes[..];
        for (n, (base, stored, _)) in self.model.iter().skip(place).enumerate() {
            if rest.is_empty() {
                assert!(n == 1 || bytes.len() <= max_bytes as usize, "the limit is kept");
                return;
            }
            assert!(rest.starts_with(stored), "the batch at {base}, read from {from}, is as it was appended");
            rest = &rest[stored.len()..];
        }
        assert!(rest.is_empty());
    }

    fn find_time(&mut self) {
        let span = self.model.iter().map(|(.., t)| *t);
        let (Some(low), Some(high)) = (span.clone().min(), span.max()) else { return };
        let target = low - 5 + self.rng.below((high - low + 10) as u64) as i64;
        let (wanted, expected) = if self.rng.below(5) == 0 {
            (TimeWanted::Greatest, self.model.iter().find(|(.., t)| *t == high))
        } else {
            (TimeWanted::AtOrAfter(Timestamp(target)), self.model.iter().find(|(.., t)| *t >= target))
        };
        let expected =
            expected.map(|(base, _, timestamp)| (*base.max(&self.log.start()), Timestamp(*timestamp)));
        let upper = self.log.end();
        let found: Option<TimeAnswer> = match self.log.find_time(wanted, upper) {
            TimeFound::Hot(answer) => answer,
            TimeFound::Cold(mut lookup) => loop {
                let step = match self.device.run(lookup.command()) {
                    Ok(Done::Read(bytes)) => lookup.on_read(&bytes),
                    _ => lookup.on_missing(),
                };
                match step {
                    TimeStep::Again => {}
                    TimeStep::Found(answer) => break Some(answer),
                    TimeStep::NotHere => break self.log.find_time_in_tail(wanted, upper),
                }
            },
        };
        assert_eq!(found.map(|f| (f.offset, f.timestamp)), expected, "{wanted:?}");
    }

    fn delete_records(&mut self) {
        let end = self.log.high_watermark();
        let start = self.log.start();
        let to = Offset::new(start.get() + self.rng.below(end.distance_from(start) + 1));
        self.log.raise_start(to);
        self.log_start = self.log.start();
        let retention = self.log.apply_retention(Timestamp(self.clock), usize::MAX);
        for (rename, deleted) in retention.deletions {
            match self.device.run(rename) {
                Ok(_) => {}
                Err(error) => assert!(!error.is_loss(), "{error}"),
            }
            self.device.run(DiskCommand::DeleteFiles { files: vec![deleted] }).expect("deleted");
        }
        self.forget_below(to);
    }

    fn forget_below(&mut self, start: Offset) {
        while self.model.get(1).is_some_and(|(base, ..)| *base <= start) {
            self.model.pop_front();
        }
        if start == self.log.end() {
            self.model.clear();
        }
    }

    fn truncate(&mut self) {
        while !self.log.is_settled() {
            self.flush(true);
        }
        let (start, end, visible) = (self.log.start(), self.log.end(), self.log.high_watermark());
        let lowest = Offset::new(start.get().saturating_sub(3));
        let to = Offset::new(lowest.get() + self.rng.below(end.distance_from(lowest).max(1)));
        if to == end {
            return;
        }
        let log = std::mem::replace(&mut self.log, empty_log(DIRECTORY, config(), self.share.clone(), 0));
        let truncation = log.truncate_to(to, Timestamp(self.clock));
        (self.recovery_point, self.log_start) = (truncation.recovery_point(), truncation.log_start());
        let stays = self.model.iter().take_while(|(_, stored, _)| last_offset(stored) < to).count();
        let last = stays.checked_sub(1).map(|last| last_offset(&self.model[last].1).next());
        let expected = if to <= start { to } else { last.unwrap_or(start) };
        self.durable = self.durable.min(expected);
        let dies = to > start && self.rng.below(2) == 0;
        let changes = if dies { self.rng.below(12) } else { u64::MAX };
        let Ok(loaded) = truncation.run(&DyingDisk::after(changes, &self.device.disk)) else {
            self.power_cut();
            return;
        };
        self.log = loaded.log;
        self.model.truncate(stays);
        assert_eq!((self.log.start(), self.log.end()), (start.min(to), expected), "cut from {end} to {to}");
        assert_eq!(self.log.high_watermark(), visible.clamp(self.log.start(), expected));
        self.resume_sequences();
    }

    fn request(&self, clean: bool) -> LoadRequest {
        LoadRequest {
            directory: DIRECTORY.into(),
            topic: Uuid::TWO,
            partition: PartitionIndex(3),
            config: config().into(),
            clean,
            recovery_point: self.recovery_point,
            log_start: self.log_start,
            cleaned: None,
            high_watermark: None,
            share: self.share.clone(),
            now: Timestamp(self.clock),
        }
    }

    fn reload(&mut self, clean: bool) -> LoadReport {
        self.device.begin_anew();
        self.share = share();
        let loaded = load(&self.device.disk, &self.request(clean)).expect("the log loads");
        self.log = loaded.log;
        loaded.report
    }

    /// What a clean stop notes of the log.
    fn note(&self) -> Option<ClosedLogNote> {
        let at_rest = self.log.at_rest()?;
        let active = self.log.segments().file(SegmentFile::Log, self.log.segments().active().base);
        let stamp = |name: &FileName| self.device.disk.stamp(name).ok();
        let directory = stamp(&FileName::new(DIRECTORY))?;
        Some(ClosedLogNote { directory, active: stamp(&active)?, said: at_rest.encode().into() })
    }

    /// A start may go by what was noted, until something has changed. That the log is the same is
    /// asserted where it is put together.
    fn load_as_noted(&self, note: &ClosedLogNote) {
        let loaded = |log_start| {
            let request = LoadRequest { log_start, ..self.request(true) };
            load_closed(&self.device.disk, &request, note).expect("the disk is well").map(|found| found.log)
        };
        let log = loaded(self.log_start).expect("nothing has changed");
        assert_eq!((log.start(), log.end()), (self.log.start(), self.log.end()));
        assert!(loaded(self.log.end().next()).is_none(), "it would have to begin anew");
        let other = LoadRequest { topic: Uuid::ONE, ..self.request(true) };
        assert!(load_closed(&self.device.disk, &other, note).expect("the disk is well").is_none());
        let moved = FileStamp { inode: note.directory.inode + 1, ..note.directory };
        let moved = ClosedLogNote { directory: moved, ..note.clone() };
        let found = load_closed(&self.device.disk, &self.request(true), &moved).expect("the disk is well");
        assert!(found.is_none(), "the directory is another");
    }

    fn power_cut(&mut self) {
        self.device.disk.power_cut();
        if self.device.disk.list(Some(&FileName::new(DIRECTORY))).is_err() {
            assert_eq!(self.durable, Offset::ZERO, "a directory with durable records is there");
            *self = Self::new(self.rng.next());
            return;
        }
        self.reload(false);
        let end = self.log.end();
        assert!(
            end >= self.durable,
            "what was reported durable at {} is there, not only {end}",
            self.durable
        );
        while self.model.back().is_some_and(|(base, ..)| *base >= end) {
            self.model.pop_back();
        }
        let last =
            self.model.back().map(|(_, stored, _)| BatchHeader::parse(stored).expect("ours").last_offset());
        if self.log.start() == end {
            self.model.clear(); // records were deleted beyond what was durable, so it begins anew there
        } else if let Some(last) = last {
            assert_eq!(last.next(), end, "the log ends with a whole batch");
        }
        self.resume_sequences();
        self.flush(true);
    }

    fn clean_stop(&mut self) {
        self.log.close_indexes();
        self.flush(true);
        self.recovery_point = self.log.end();
        let note = self.note().expect("it was closed cleanly");
        self.device.disk.process_killed();
        let closed = self.device.disk.image();
        self.load_as_noted(&note);
        let report = self.reload(true);
        assert_eq!(self.durable, self.log.end());
        assert_eq!(self.device.disk.image(), closed, "what was closed cleanly is only read");
        let mut writes = Vec::new();
        self.log.take_writes(&mut writes);
        assert!(writes.is_empty(), "all files are there: {writes:?}");
        assert!(report.bytes_read < 40_000, "a clean start reads only the end: {report:?}");
    }

    /// Producers go on where the log has them, and a repetition of their last batch is recognised.
    fn resume_sequences(&mut self) {
        for (who, next) in self.sequences.iter_mut().enumerate() {
            let id = ProducerId::from_wire(who as i64).expect("an id");
            let mut last = None;
            for (base, stored, _) in &self.model {
                let header = BatchHeader::parse(stored).expect("ours");
                if header.producer().is_some_and(|stamp| stamp.id == id) {
                    last = Some((*base, stored, header));
                }
            }
            *next = 0;
            if let Some((base, stored, header)) = last {
                let records = Bytes::copy_from_slice(&stored[HEADER_SIZE..]);
                *next = header.last_sequence().expect("idempotent") + 1;
                let again = self
                    .log
                    .append(AppendBytes { header, records }, Claim::Ordinary, EPOCH, Timestamp(0))
                    .expect("known");
                assert!(
                    again.duplicate.is_some() && again.base == base,
                    "the last batch of producer {who} is known"
                );
            } else if let Some(entry) = self.log.producers().producer(id) {
                *next = entry.last_sequence() + 1;
            }
        }
    }

    fn check_files(&self) {
        let (mut position, mut all) = (Offset::ZERO, Vec::new());
        for (name, content) in self.device.disk.image() {
            if name.ends_with(".log") {
                all.extend_from_slice(&content);
            }
        }
        for batch in Batches::new(&all).checked() {
            assert!(batch.header.base_offset() >= position, "offsets rise through the files");
            position = batch.header.last_offset().next();
        }
    }
}

fn story(seed: u64) {
    let mut lab = Lab::new(seed);
    for _ in 0..300 {
        match lab.rng.below(100) {
            0..50 => lab.append(),
            50..60 => lab.flush(false),
            60..64 => lab.flush(true),
            64..70 => {
                let some = lab.rng.below(20) as usize;
                lab.log.evict(some);
            }
            70..86 => lab.read(),
            86..94 => lab.find_time(),
            94..96 => lab.delete_records(),
            96 => lab.truncate(),
            97 => lab.power_cut(),
            98 => lab.clean_stop(),
            _ => lab.check_files(),
        }
    }
}

#[test]
fn a_log_is_what_was_appended_to_it() {
    for seed in 0..300 {
        let result = std::panic::catch_unwind(|| story(seed));
        assert!(result.is_ok(), "seed {seed} tells a wrong story");
    }
}

#[test]
fn who_reads_behind_memory_gets_more_than_it_has_given_up() {
    let mut lab = Lab::new(1);
    while lab.model.iter().map(|(_, stored, _)| stored.len()).sum::<usize>() < 12_000 {
        lab.append();
    }
    lab.flush(false);
    lab.log.evict(1);
    let (memory, end) = (lab.log.tail().start_offset(), lab.log.end());
    assert!(Offset::ZERO < memory && memory < end);
    let Fetched::Cold(plan) = lab.log.fetch(Offset::ZERO, 20_000, end, Reader::Others) else {
        panic!("memory has given it up")
    };
    let mut read = ColdRead::new(plan);
    let found = loop {
        let Ok(Done::Read(bytes)) = lab.device.run(read.command()) else { panic!("the file is there") };
        match read.on_read(&bytes) {
            ColdStep::Again => {}
            ColdStep::Found(found) => break found,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(found.next, end, "memory begins at {memory}");
}
