//! What a killed process leaves in the arena, and what the next one makes of it.
//!
//! Random histories of a few partitions on two disks, each killed at random stores into the arena,
//! halves of copies included. After each death the runs that the tail gives back are laid over the
//! files as they were, and the log must be there: every batch whose push had returned, bit for bit,
//! and nothing else. Then life goes on, in a tail of another shape.
//!
//! A failure names the seed and the store; `APLOMB_TAIL_SEEDS=22..23 cargo test -p aplomb-log
//! --test tail_crash` repeats seed 22, and a wider range looks for more.

mod files;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;

use aplomb_log::tail::{
    ArenaMemory, CrashSwitch, LogEnd, LogTail, OldTail, TailBatch, TailShare, UnreadableReason, open_shares,
};
use aplomb_model::batch::{BatchBuilder, BatchHeader};
use aplomb_model::{LeaderEpoch, Offset, PartitionIndex, SplitMix64, Timestamp, Uuid};

use self::files::{DiskOp, Files, Placed, lay_over, parse, truncate, write};

const PARTITIONS: u32 = 3;
const DISKS: [Uuid; 2] = [Uuid::from_u128(0xa), Uuid::from_u128(0xb)];
const TOPIC: Uuid = Uuid::from_u128(0x70);
const STEPS: u64 = 60;

#[derive(Clone)]
struct Seed(SplitMix64);

impl Seed {
    fn next(&mut self) -> u64 {
        self.0.bits()
    }

    fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }
}

struct Partition {
    tail: LogTail,
    /// All of the log, from offset 0.
    log: Vec<Placed>,
    /// The log before the step that is under way.
    before: Vec<Placed>,
    files: Files,
    disk: VecDeque<DiskOp>,
}

impl Partition {
    fn new(share: &Arc<TailShare>, number: u32, log: Vec<Placed>, files: Files) -> Self {
        let end =
            log.last().map_or(LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO }, |last| {
                LogEnd {
                    segment_base: last.segment_base,
                    at: last.at + last.bytes.len() as u64,
                    offset: last.last.next(),
                }
            });
        let tail = LogTail::new(share.clone(), TOPIC, PartitionIndex(number as i32), end);
        Self { tail, before: log.clone(), log, files, disk: VecDeque::new() }
    }

    fn step(&mut self, seed: &mut Seed, switch: &CrashSwitch) {
        self.before.clone_from(&self.log);
        match seed.within(0..=19) {
            0..=8 => self.push(seed),
            9..=11 => self.take(seed.within(0..=20_000)),
            12..=14 => self.disk_works(seed.within(0..=3)),
            15..=16 => self.tail.on_durable(self.tail.written_end()),
            17 => assert!(self.tail.evict(seed.within(1..=4) as usize) <= 4),
            18 => self.roll(),
            _ => self.truncate(seed.within(1..=12), switch),
        }
    }

    fn push(&mut self, seed: &mut Seed) {
        let gap = if seed.within(0..=5) == 0 { 2 } else { 0 };
        let value_size = match seed.within(0..=9) {
            0 => 9000,
            1 => 4096 - 100,
            _ => seed.within(0..=700),
        };
        self.push_batch(seed, gap, value_size);
    }

    fn push_batch(&mut self, seed: &mut Seed, gap: u64, value_size: u64) {
        let end = self.tail.end();
        let mut builder =
            BatchBuilder::new(end.offset.max(end.segment_base).plus(gap)).leader_epoch(LeaderEpoch::new(1));
        for n in 0..seed.within(1..=3) {
            let bits = seed.clone().next();
            let value: Vec<u8> = (0..value_size).map(|n| bits.rotate_left((n % 64) as u32) as u8).collect();
            seed.next();
            builder.append(Timestamp(n as i64), None, Some(&value), &[]);
        }
        let bytes = builder.build();
        let batch = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
        if self.tail.push(end.at, &[&bytes[..61], &bytes[61..]], batch).is_ok() {
            self.log.push(Placed {
                segment_base: end.segment_base,
                at: end.at,
                last: batch.last_offset,
                bytes,
            });
        }
    }

    fn take(&mut self, max: u64) {
        for out in self.tail.take_unwritten(max) {
            let (segment_base, at, end) = (out.segment_base, out.at, Some(out.end));
            self.disk.push_back(DiskOp::Write { segment_base, at, bytes: out.data.concat(), end });
        }
    }

    fn disk_works(&mut self, ops: u64) {
        for _ in 0..ops {
            match self.disk.pop_front() {
                Some(DiskOp::Write { segment_base, at, bytes, end }) => {
                    write(&mut self.files, segment_base, at, &bytes);
                    if let Some(end) = end {
                        self.tail.on_written(end.max(self.tail.written_end()));
                    }
                }
                Some(DiskOp::Truncate { segment_base, at }) => truncate(&mut self.files, segment_base, at),
                None => return,
            }
        }
    }

    fn roll(&mut self) {
        let end = self.tail.end();
        if end.at > 0 && end.offset > end.segment_base {
            self.tail.roll(end.offset);
        }
    }

    fn truncate(&mut self, batches: u64, switch: &CrashSwitch) {
        let Some(cut) = self.log.len().checked_sub(batches as usize) else { return };
        let first = &self.log[cut];
        let to = BatchHeader::parse(&first.bytes).expect("a batch").base_offset();
        let end = match self.tail.truncate_to(to) {
            Some(end) => end,
            None => {
                let end = LogEnd { segment_base: first.segment_base, at: first.at, offset: to };
                self.tail.clear(end);
                end
            }
        };
        self.log.truncate(cut);
        if switch.has_dropped() {
            // The dead tell their disks nothing.
            return;
        }
        for op in &mut self.disk {
            if let DiskOp::Write { end, .. } = op {
                *end = None;
            }
        }
        self.disk.push_back(DiskOp::Truncate { segment_base: end.segment_base, at: end.at });
    }
}

/// One process, from its start to its death.
struct Life {
    arena_shares: Vec<Arc<TailShare>>,
    switch: Arc<CrashSwitch>,
    partitions: Vec<Partition>,
}

fn disk_of(number: u32) -> Uuid {
    DISKS[number as usize % DISKS.len()]
}

impl Life {
    /// Each life has another chunk size and another order of disks.
    fn start(n: u32, memory: ArenaMemory, switch: Arc<CrashSwitch>, logs: Vec<(Vec<Placed>, Files)>) -> Self {
        let mut disks = DISKS;
        disks.rotate_left(n as usize % DISKS.len());
        let chunk_size = if n.is_multiple_of(2) { 4096 } else { 8192 };
        let shares =
            open_shares(memory, chunk_size, &disks, u64::from(n) + 1, Some(switch.clone())).expect("it fits");
        let share = |number| {
            shares.iter().find(|share| share.directory() == disk_of(number)).expect("a share a disk")
        };
        let partitions = (0..)
            .zip(logs)
            .map(|(number, (log, files))| Partition::new(share(number), number, log, files))
            .collect();
        Self { arena_shares: shares, switch, partitions }
    }

    fn run(&mut self, seed: &mut Seed) {
        for _ in 0..STEPS {
            let chosen = seed.within(0..=u64::from(PARTITIONS) - 1) as usize;
            self.partitions[chosen].step(seed, &self.switch);
            if self.switch.has_dropped() {
                return;
            }
            let partition = &mut self.partitions[chosen];
            partition.before.clone_from(&partition.log);
        }
    }

    fn image(&self) -> ArenaMemory {
        self.arena_shares[0].arena().image().expect("there is a switch")
    }
}

/// Recovers what a life left and compares. Returns what the next life starts with.
fn recover(life: Life, seed: &mut Seed) -> (ArenaMemory, Vec<(Vec<Placed>, Files)>) {
    let old = match OldTail::open(life.image()) {
        Ok(old) => old,
        Err(unreadable) => {
            // It died while the arena was being formatted, before anything was pushed.
            assert_eq!(unreadable.reason, UnreadableReason::Blank);
            return (unreadable.memory, life.partitions.into_iter().map(|p| (p.before, p.files)).collect());
        }
    };
    let recovered = old.recover();
    assert_eq!(recovered.damaged_chunks, 0);
    let skip_durable = seed.within(0..=1) == 0;
    let mut logs = Vec::new();
    for (number, partition) in (0..).zip(life.partitions) {
        let Partition { log, before, mut files, mut disk, .. } = partition;
        // The disk may have done some more of what it was told.
        let executed = seed.within(0..=disk.len() as u64) as usize;
        for op in disk.drain(..executed) {
            match op {
                DiskOp::Write { segment_base, at, bytes, .. } => write(&mut files, segment_base, at, &bytes),
                DiskOp::Truncate { segment_base, at } => truncate(&mut files, segment_base, at),
            }
        }
        let truncation_lost = disk.iter().any(|op| matches!(op, DiskOp::Truncate { .. }));
        let found = recovered.partitions.iter().find(|p| {
            (p.directory, p.topic, p.partition) == (disk_of(number), TOPIC, PartitionIndex(number as i32))
        });
        if let Some(old) = found {
            assert!(old.damage.is_none(), "{:?}", old.damage);
            lay_over(&mut files, old, skip_durable);
        }

        let now = parse(&files);
        let (low, high) = if log.len() < before.len() { (&log, &before) } else { (&before, &log) };
        let as_it_was = now.len() >= low.len() && now.len() <= high.len() && now[..] == high[..now.len()];
        // A truncation that the disk never heard of, with nothing behind it in the tail, has not
        // happened: the leader's epochs will ask for it again. All that is promised is there.
        let untruncated = truncation_lost && found.is_none() && now.starts_with(low);
        assert!(
            as_it_was || untruncated,
            "partition {number}: {} batches, {} to {} expected",
            now.len(),
            low.len(),
            high.len()
        );
        logs.push((now, files));
    }
    (old.into_memory(), logs)
}

fn memory() -> ArenaMemory {
    ArenaMemory::heap(48 * 4096)
}

fn fresh() -> Vec<(Vec<Placed>, Files)> {
    (0..PARTITIONS).map(|_| (Vec::new(), Files::new())).collect()
}

/// Lives, dies at a store (or at the end of its history), and twice again. Returns how many stores
/// the first life did.
fn three_lives(seed: u64, crash_at: Option<u64>) -> u64 {
    let mut history = Seed(SplitMix64::new(seed));
    let (mut memory, mut logs) = (memory(), fresh());
    let mut stores = 0;
    for n in 0..3 {
        let switch = if n == 0 {
            crash_at.map_or_else(CrashSwitch::armed, CrashSwitch::after)
        } else {
            CrashSwitch::after(history.within(1..=4000))
        };
        let mut life = Life::start(n, memory, switch.clone(), logs);
        life.run(&mut history);
        if n == 0 {
            stores = switch.stores();
        }
        (memory, logs) = recover(life, &mut history);
    }
    stores
}

#[test]
fn every_batch_that_was_pushed_before_a_crash_is_there_after_it() {
    let range = std::env::var("APLOMB_TAIL_SEEDS").unwrap_or_else(|_| "0..100".to_owned());
    let (from, to) = range.split_once("..").expect("from..to");
    let seeds = from.parse::<u64>().expect("a number")..to.parse().expect("a number");
    for seed in seeds {
        let at_what = std::cell::Cell::new(None);
        let guard = Context { seed, crash_at: &at_what };
        let stores = three_lives(seed, None);
        let mut points = Seed(SplitMix64::new(!seed));
        for _ in 0..12 {
            let crash_at = points.within(0..=stores);
            at_what.set(Some(crash_at));
            three_lives(seed, Some(crash_at));
        }
        drop(guard);
    }
}

/// One log through everything that stores: batches over several chunks, a roll, cuts across chunks
/// and segments, eviction.
fn eventful(life: &mut Life, seed: &mut Seed) {
    type Event = fn(&mut Partition, &mut Seed, &CrashSwitch);
    let events: &[Event] = &[
        |p, seed, _| p.push_batch(seed, 0, 500),
        |p, seed, _| p.push_batch(seed, 0, 5000),
        |p, seed, _| p.push_batch(seed, 3, 9000),
        |p, seed, _| p.push_batch(seed, 0, 2000),
        |p, _, _| p.take(20_000),
        |p, _, _| p.disk_works(1),
        |p, _, _| p.tail.on_durable(p.tail.written_end()),
        |p, _, _| p.roll(),
        |p, seed, _| p.push_batch(seed, 0, 6000),
        |p, seed, _| p.push_batch(seed, 0, 100),
        |p, seed, _| p.push_batch(seed, 0, 3000),
        |p, _, switch| p.truncate(2, switch),
        |p, seed, _| p.push_batch(seed, 0, 700),
        |p, _, _| assert!(p.tail.evict(2) <= 2),
        |p, _, switch| p.truncate(3, switch),
        |p, seed, _| p.push_batch(seed, 0, 4000),
        |p, _, _| p.roll(),
        |p, seed, _| p.push_batch(seed, 0, 50),
        // The disk has all, does not hear of a cut, and the log goes on in other segments, back and
        // forth.
        |p, seed, _| p.push_batch(seed, 0, 1000),
        |p, _, _| p.take(u64::MAX),
        |p, _, _| p.disk_works(u64::MAX),
        |p, _, _| p.tail.on_durable(p.tail.written_end()),
        |p, _, switch| p.truncate(1, switch),
        |p, _, _| p.roll(),
        |p, seed, _| p.push_batch(seed, 0, 300),
        |p, _, _| p.roll(),
        |p, seed, _| p.push_batch(seed, 0, 400),
        |p, _, switch| p.truncate(2, switch),
        |p, seed, _| p.push_batch(seed, 0, 200),
        |p, _, _| assert!(p.tail.evict(usize::MAX) > 0),
    ];
    for event in events {
        let partition = &mut life.partitions[0];
        partition.before.clone_from(&partition.log);
        event(partition, seed, &life.switch);
        if life.switch.has_dropped() {
            return;
        }
    }
    let partition = &mut life.partitions[0];
    partition.before.clone_from(&partition.log);
}

#[test]
fn an_eventful_log_survives_a_crash_at_every_single_store() {
    let stores_with = |crash_at: u64| {
        let (mut seed, switch) = (Seed(SplitMix64::new(5)), CrashSwitch::after(crash_at));
        let mut life = Life::start(0, memory(), switch.clone(), fresh());
        eventful(&mut life, &mut seed);
        let killed_at = std::cell::Cell::new(Some(crash_at));
        let _guard = Context { seed: 5, crash_at: &killed_at };
        recover(life, &mut Seed(SplitMix64::new(crash_at)));
        switch.stores()
    };
    let all = stores_with(u64::MAX);
    assert!(all > 500, "the history does something: {all}");
    for crash_at in 0..all {
        assert_eq!(stores_with(crash_at), crash_at);
    }
}

#[test]
fn a_crash_during_formatting_leaves_the_old_arena_or_none_or_the_new_one() {
    let mut life = Life::start(0, memory(), CrashSwitch::armed(), fresh());
    eventful(&mut life, &mut Seed(SplitMix64::new(5)));
    let old = life.image();
    for crash_at in 0.. {
        let switch = CrashSwitch::after(crash_at);
        let shares = open_shares(ArenaMemory::copy_of(old.as_slice()), 8192, &DISKS, 9, Some(switch.clone()))
            .expect("it fits");
        match OldTail::open(shares[0].arena().image().expect("there is a switch")) {
            Ok(found) if crash_at == 0 => assert_eq!(found.recover().partitions.len(), 1),
            Ok(found) => {
                assert!(!switch.has_dropped(), "killed at store {crash_at}, it is neither old nor new");
                assert_eq!((found.generation(), found.recover().partitions.len()), (9, 0));
                return;
            }
            Err(unreadable) => {
                assert_eq!(unreadable.reason, UnreadableReason::Blank, "killed at store {crash_at}")
            }
        }
    }
}

/// Says on the way out of a failed test where it was.
struct Context<'a> {
    seed: u64,
    crash_at: &'a std::cell::Cell<Option<u64>>,
}

impl Drop for Context<'_> {
    #[expect(clippy::disallowed_macros, reason = "a failed test says on standard error where it was")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {} fails, killed at store {:?}", self.seed, self.crash_at.get());
        }
    }
}

#[test]
fn a_process_that_dies_while_it_closes_a_durable_log_does_not_shorten_it() {
    let disk = Uuid::from_u128(1);
    for stores in 0.. {
        let switch = CrashSwitch::armed();
        let memory = ArenaMemory::heap(64 * 4096);
        let shares = open_shares(memory, 4096, &[disk], 1, Some(switch.clone())).expect("it fits");
        let start = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
        let mut tail = LogTail::new(shares[0].clone(), Uuid::from_u128(3), PartitionIndex(0), start);
        for n in 0..20 {
            let mut builder = BatchBuilder::new(Offset::new(n));
            builder.append(Timestamp(7), None, Some(&[7; 1000]), &[]);
            let bytes = builder.build();
            let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
            tail.push(tail.end().at, &[&bytes], facts).expect("there is room");
        }
        drop(tail.take_unwritten(u64::MAX));
        tail.on_durable(Offset::new(20));
        let end = tail.end();
        switch.trip_after(stores);
        tail.clear(end);
        let old = OldTail::open(shares[0].arena().image().expect("there is a switch")).expect("an arena");
        // The files are cut to what the tail says.
        for partition in &old.recover().partitions {
            let last = partition.segments.last().expect("something is left");
            assert_eq!(last.at, end.at, "after {stores} stores");
        }
        if !switch.has_dropped() {
            return;
        }
    }
}
