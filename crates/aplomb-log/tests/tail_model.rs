//! The tail against the simplest thing that could be true: a vector of batches and three numbers.
//!
//! Random histories of everything that can be asked of a tail; after each step both must agree on
//! every byte, every place and every count.

use std::sync::Arc;

use aplomb_log::Reader;
use aplomb_log::tail::{ArenaMemory, BatchAt, LogEnd, LogTail, TailBatch, TailShare, Unread, open_shares};
use aplomb_model::{LeaderEpoch, Offset, PartitionIndex, Timestamp, Uuid};
use bytes::Bytes;
use proptest::prelude::*;

const CHUNK: u32 = 4096;
const CHUNKS: usize = 24;

#[derive(Clone, Debug)]
enum Step {
    Push { size: usize, records: u64, gap: u64, timestamp: i64 },
    Read { from: u32, max: u64, at_least_one: bool, upper: u32 },
    Take { max: u64 },
    Durable { upto: u32 },
    Evict { chunks: usize },
    ReleaseBelow { at: u32 },
    Roll { gap: u64 },
    Truncate { to: u32 },
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![6 => 62usize..900, 2 => 900usize..5000, 1 => 5000usize..20_000, 1 => Just(4096)];
    let gap = prop_oneof![4 => Just(0u64), 1 => 1u64..9];
    prop_oneof![
        12 => (size, 1u64..20, gap, 0i64..100)
            .prop_map(|(size, records, gap, timestamp)| Step::Push { size, records, gap, timestamp }),
        4 => (any::<u32>(), 0u64..30_000, any::<bool>(), any::<u32>())
            .prop_map(|(from, max, at_least_one, upper)| Step::Read { from, max, at_least_one, upper }),
        4 => (0u64..60_000).prop_map(|max| Step::Take { max }),
        4 => any::<u32>().prop_map(|upto| Step::Durable { upto }),
        2 => (0usize..6).prop_map(|chunks| Step::Evict { chunks }),
        1 => any::<u32>().prop_map(|at| Step::ReleaseBelow { at }),
        2 => (0u64..5).prop_map(|gap| Step::Roll { gap }),
        1 => any::<u32>().prop_map(|to| Step::Truncate { to }),
        1 => Just(Step::Clear),
    ]
}

/// What should be there.
#[derive(Clone)]
struct Model {
    batches: Vec<(BatchAt, Vec<u8>)>,
    end: LogEnd,
    taken: Offset,
    durable: Offset,
    pushed: u8,
}

impl Model {
    /// Some offset, between two batches or inside one.
    fn any_offset(pick: u32, from: Offset, to: Offset) -> Offset {
        from.plus(u64::from(pick) % (to.distance_from(from) + 1))
    }

    /// Some offset at which a batch ends.
    fn any_end(&self, pick: u32, from: Offset, to: Offset) -> Offset {
        let ends = self.batches.iter().map(|(b, _)| b.batch.last_offset.next());
        let all: Vec<_> = ends.filter(|end| (from..=to).contains(end)).chain([from]).collect();
        all[pick as usize % all.len()]
    }

    fn first_reaching(&self, offset: Offset) -> Option<usize> {
        self.batches.iter().position(|(b, _)| b.batch.last_offset >= offset)
    }

    fn oldest(&self) -> Offset {
        self.batches.first().map_or(self.end.offset, |(b, _)| b.batch.base_offset)
    }

    /// Where the disk has all there is, the frontiers are at the log end.
    fn close_gap(&mut self) {
        if self.waiting() == 0 {
            (self.taken, self.durable) = (self.end.offset, self.end.offset);
        }
    }

    fn waiting(&self) -> u64 {
        let late = self.batches.iter().filter(|(b, _)| b.batch.last_offset >= self.durable);
        late.map(|(_, bytes)| bytes.len() as u64).sum()
    }
}

fn share() -> Arc<TailShare> {
    let memory = ArenaMemory::heap(2 * 4096 + CHUNKS * CHUNK as usize);
    let shares = open_shares(memory, CHUNK, &[Uuid::from_u128(7)], 1, None).expect("it fits");
    assert_eq!(shares[0].stats().chunks, CHUNKS);
    shares.into_iter().next().expect("one share")
}

fn joined(slices: &[Bytes]) -> Vec<u8> {
    slices.concat()
}

/// Address and file position agree modulo 4096, so that a disk may be written directly from this
/// memory.
fn assert_aligned(slices: &[Bytes], mut at: u64) {
    for slice in slices {
        assert_eq!(slice.as_ptr().addr() as u64 % 4096, at % 4096);
        at += slice.len() as u64;
    }
}

fn check(tail: &LogTail, model: &Model) {
    assert_eq!(tail.end(), model.end);
    assert_eq!(tail.taken_end(), model.taken);
    assert_eq!(tail.durable_end(), model.durable);
    let start = tail.start_offset();
    assert!(start <= model.durable, "only what is durable was given up: {start} <= {}", model.durable);

    let mut wanted: Vec<(Offset, u64, Vec<u8>)> = Vec::new();
    for (b, bytes) in &model.batches {
        match wanted.last_mut() {
            Some((base, _, all)) if *base == b.segment_base => all.extend(bytes),
            _ => wanted.push((b.segment_base, b.at, bytes.clone())),
        }
    }
    let mut from = start;
    let mut seen = Vec::new();
    loop {
        let read = tail
            .read(from, u64::MAX, false, Offset::new(i64::MAX as u64), Reader::Others)
            .expect("all of it is here");
        if read.bytes == 0 {
            break;
        }
        seen.push((read.segment_base, read.at, joined(&read.slices)));
        from = read.end;
    }
    assert_eq!(seen, wanted);
    assert_eq!(tail.last_batch(), model.batches.last().map(|(b, _)| *b));

    let stats = tail.share().stats();
    assert_eq!(stats.waiting, model.waiting());
    assert_eq!(stats.held, tail.held_chunks());
    assert_eq!(stats.cached, tail.durable_chunks());
    assert_eq!(stats.batches, model.batches.len() as u64);
    assert_eq!(stats.reader_pinned, 0);
    assert_eq!(stats.free + stats.held, CHUNKS, "nothing lingers when nobody holds slices");
}

fn push(tail: &mut LogTail, model: &mut Model, size: usize, records: u64, gap: u64, timestamp: i64) {
    model.pushed = model.pushed.wrapping_add(1);
    let bytes: Vec<u8> = (0..size).map(|n| model.pushed ^ (n % 251) as u8).collect();
    let base = model.end.offset.max(model.end.segment_base).plus(gap);
    let batch = TailBatch {
        base_offset: base,
        last_offset: base.plus(records - 1),
        max_timestamp: Timestamp(timestamp),
        size: size as u32,
        leader_epoch: size.is_multiple_of(5).then_some(LeaderEpoch::new(3)),
        transactional: size.is_multiple_of(2),
        control: size.is_multiple_of(3),
    };
    let (header, rest) = bytes.split_at(61);
    match tail.push(model.end.at, &[header, &[], rest], batch) {
        Ok(()) => {
            let place = BatchAt { batch, segment_base: model.end.segment_base, at: model.end.at };
            model.batches.push((place, bytes));
            model.end.at += size as u64;
            model.end.offset = batch.last_offset.next();
        }
        Err(full) => {
            let stats = tail.share().stats();
            let first = model.end.at / u64::from(CHUNK);
            let last = (model.end.at + size as u64 - 1) / u64::from(CHUNK);
            assert_eq!(stats.cached, 0, "what the disk has was given up first");
            let kept = stats.chunks as u64 / 16 * 2; // for light clients, and for internal topics
            assert!((stats.free as u64) < last - first + 1 + kept, "there really was no room: {stats:?}");
            assert_eq!(full.waiting.0, model.waiting());
        }
    }
}

fn read(tail: &LogTail, model: &Model, from: Offset, max: u64, at_least_one: bool, upper: Offset) {
    let read = match tail.read(from, max, at_least_one, upper, Reader::Others) {
        Ok(read) => read,
        Err(unread) => {
            assert_eq!(unread, Unread::Evicted);
            assert!(from < tail.start_offset());
            return;
        }
    };
    let rest = &model.batches[model.first_reaching(from).unwrap_or(model.batches.len())..];
    let mut bytes: Vec<u8> = Vec::new();
    let mut end = from;
    for (b, batch_bytes) in rest {
        let fits = (bytes.len() + batch_bytes.len()) as u64 <= max || (at_least_one && bytes.is_empty());
        if !fits || b.segment_base != rest[0].0.segment_base || b.batch.last_offset >= upper {
            break;
        }
        bytes.extend(batch_bytes);
        end = b.batch.last_offset.next();
    }
    assert_eq!((read.bytes, read.end), (bytes.len() as u64, end));
    assert_eq!(joined(&read.slices), bytes);

    let facts = || rest.iter().map(|(b, _)| *b);
    assert_eq!(tail.batch_at(from), facts().next());
    for timestamp in [Timestamp(0), Timestamp(30), Timestamp(99)] {
        let late = facts().find(|b| b.batch.max_timestamp >= timestamp);
        assert_eq!(tail.batch_by_timestamp(timestamp, from), late);
    }
    let latest = facts().rev().max_by_key(|b| b.batch.max_timestamp);
    assert_eq!(tail.batch_with_max_timestamp(from), latest);
}

fn take(tail: &mut LogTail, model: &mut Model, max: u64) {
    let outs = tail.take_unwritten(max);
    let mut total = 0;
    for out in &outs {
        let rest = &model.batches[model.first_reaching(model.taken).expect("something was not taken")..];
        let (place, _) = &rest[0];
        assert_eq!((out.segment_base, out.at), (place.segment_base, place.at));
        let taken = rest.iter().take_while(|(b, _)| b.batch.last_offset < out.end);
        let wanted: Vec<u8> = taken.flat_map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(joined(&out.data), wanted);
        assert_eq!(out.bytes, wanted.len() as u64);
        assert_aligned(&out.data, out.at);
        model.taken = out.end;
        total += out.bytes;
    }
    let one_large = model
        .batches
        .iter()
        .any(|(b, bytes)| b.batch.last_offset.next() == model.taken && bytes.len() as u64 == total);
    assert!(total <= max || one_large);
    if let Some(next) = model.first_reaching(model.taken) {
        assert!(total > 0 && total + model.batches[next].1.len() as u64 > max, "what is left did not fit");
    }
}

fn truncate(tail: &mut LogTail, model: &mut Model, to: Offset) {
    let before = model.clone();
    let Some(end) = tail.truncate_to(to) else {
        let first = before.first_reaching(to);
        assert!(
            to < tail.start_offset() || first == Some(0) || before.batches.is_empty(),
            "it was within reach"
        );
        return;
    };
    if to >= before.end.offset {
        assert_eq!(end, before.end);
        return;
    }
    model.batches.truncate(before.first_reaching(to).unwrap_or(before.batches.len()));
    assert_eq!(end.offset, to);
    assert!(end.segment_base <= to);
    let place = (end.segment_base, end.at);
    let cut = before.batches.get(model.batches.len()).map(|(b, _)| (b.segment_base, b.at));
    let last = model.batches.last().map(|(b, bytes)| (b.segment_base, b.at + bytes.len() as u64));
    assert!(
        place == cut.unwrap_or((before.end.segment_base, before.end.at)) || Some(place) == last,
        "{place:?} is neither {cut:?} nor {last:?}"
    );
    model.end = end;
    model.taken = model.taken.min(to);
    model.durable = model.durable.min(to);
    model.close_gap();
}

fn run(steps: &[Step]) {
    let end = LogEnd { segment_base: Offset::new(1000), at: 70_000, offset: Offset::new(1500) };
    let mut tail = LogTail::new(share(), Uuid::from_u128(9), PartitionIndex(2), end);
    let mut model = Model { batches: Vec::new(), end, taken: end.offset, durable: end.offset, pushed: 0 };
    check(&tail, &model);
    for step in steps {
        let (oldest, newest) = (model.oldest(), model.end.offset);
        match *step {
            Step::Push { size, records, gap, timestamp } => {
                push(&mut tail, &mut model, size, records, gap, timestamp);
            }
            Step::Read { from, max, at_least_one, upper } => {
                let from = Model::any_offset(from, oldest, newest);
                let upper = Model::any_offset(upper, from, newest.plus(3));
                read(&tail, &model, from, max, at_least_one, upper);
            }
            Step::Take { max } => take(&mut tail, &mut model, max),
            Step::Durable { upto } => {
                model.durable = model.any_end(upto, model.durable, model.taken);
                tail.on_durable(model.durable);
                model.close_gap();
            }
            Step::Evict { chunks } => {
                let evictable = tail.durable_chunks();
                assert_eq!(tail.evict(chunks), chunks.min(evictable));
            }
            Step::ReleaseBelow { at } => {
                let at = Model::any_offset(at, oldest, newest);
                tail.release_below(at);
                let start = tail.start_offset();
                let gone = model.batches.iter().filter(|(b, _)| b.batch.last_offset < start);
                assert!(gone.into_iter().all(|(b, _)| b.batch.last_offset < at), "what lies above stays");
            }
            Step::Roll { gap } => {
                let base = newest.max(model.end.segment_base.next()).plus(gap);
                model.end = LogEnd { segment_base: base, at: 0, offset: newest };
                tail.roll(model.end.segment_base);
            }
            Step::Truncate { to } => {
                truncate(&mut tail, &mut model, Model::any_offset(to, oldest, newest.plus(2)));
            }
            Step::Clear => {
                let to = LogEnd { segment_base: newest, at: 0, offset: newest.plus(5) };
                tail.clear(to);
                model = Model { batches: Vec::new(), end: to, taken: to.offset, durable: to.offset, ..model };
            }
        }
        let start = tail.start_offset();
        model.batches.retain(|(b, _)| b.batch.last_offset >= start);
        check(&tail, &model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_tail_and_a_vector_agree_on_every_history(steps in prop::collection::vec(step(), 1..80)) {
        run(&steps);
    }
}
