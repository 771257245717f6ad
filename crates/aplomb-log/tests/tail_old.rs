//! An arena that is not what a killed Aplomb leaves: blank, foreign, of another version, cut, or
//! damaged.
//!
//! Whatever the bytes are, nothing panics, nothing that is no intact batch comes out, and the
//! reason is told.

use std::sync::Arc;

use aplomb_log::tail::{
    ArenaMemory, BLOCK, CrashSwitch, DamageKind, LogEnd, LogTail, OffsetsOutOfOrder, OldTail, SegmentEnd,
    TailBatch, TailShare, UnreadableReason, open_shares,
};
use aplomb_model::batch::{BatchBuilder, BatchHeader, Batches, Stop};
use aplomb_model::{Offset, PartitionIndex, Timestamp, Uuid};
use proptest::prelude::*;

const DISKS: [Uuid; 2] = [Uuid::from_u128(1), Uuid::from_u128(2)];
const TOPIC: Uuid = Uuid::from_u128(3);
/// One header after the superblock, then the chunks.
const FIRST_CHUNK: usize = 2 * BLOCK;

fn batch(base: u64, value: usize) -> bytes::Bytes {
    let mut builder = BatchBuilder::new(Offset::new(base));
    builder.append(Timestamp(7), None, Some(&vec![base as u8; value]), &[]);
    builder.build()
}

fn arena_with(durable: u64) -> Vec<u8> {
    let (_tail, share) = tail_with(durable);
    image_of(&share)
}

/// Twelve chunks; on the first disk a partition with ten batches of 1100 bytes, five a segment. The
/// disk has the batches below `durable`.
fn tail_with(durable: u64) -> (LogTail, Arc<TailShare>) {
    let memory = ArenaMemory::heap(FIRST_CHUNK + 12 * BLOCK);
    let shares = open_shares(memory, 4096, &DISKS, 41, Some(CrashSwitch::armed())).expect("it fits");
    let start = LogEnd { segment_base: Offset::new(100), at: 0, offset: Offset::new(100) };
    let mut tail = LogTail::new(shares[0].clone(), TOPIC, PartitionIndex(4), start);
    for n in 0..10 {
        if n == 5 {
            tail.roll(tail.end().offset);
        }
        let bytes = batch(100 + n, 1000);
        let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
        tail.push(tail.end().at, &[&bytes], facts).expect("there is room");
    }
    let taken = tail.take_unwritten(u64::MAX);
    assert_eq!(taken.len(), 2);
    tail.on_durable(Offset::new(durable));
    (tail, shares[0].clone())
}

fn image_of(share: &TailShare) -> Vec<u8> {
    share.arena().image().expect("there is a switch").as_slice().to_vec()
}

fn arena() -> Vec<u8> {
    arena_with(100)
}

fn open(bytes: &[u8]) -> Result<OldTail, UnreadableReason> {
    OldTail::open(ArenaMemory::copy_of(bytes)).map_err(|unreadable| {
        assert_eq!(unreadable.memory.as_slice(), bytes, "what cannot be read is not touched");
        unreadable.reason
    })
}

#[test]
fn an_intact_arena_says_what_it_is_and_what_it_has() {
    let bytes = arena();
    let old = open(&bytes).expect("an arena");
    assert_eq!((old.generation(), old.directories()), (41, &DISKS[..]));
    let recovered = old.recover();
    assert_eq!((recovered.damaged_chunks, recovered.partitions.len()), (0, 1));
    let partition = &recovered.partitions[0];
    assert_eq!(
        (partition.directory, partition.topic, partition.partition),
        (DISKS[0], TOPIC, PartitionIndex(4))
    );
    let size = 5 * batch(100, 1000).len() as u64;
    let end = |base| SegmentEnd { segment_base: Offset::new(base), at: size };
    assert_eq!(partition.segments, [end(100), end(105)]);
    let runs: Vec<_> =
        partition.runs.iter().map(|run| (run.first.get(), run.end.get(), run.at, run.len)).collect();
    assert_eq!(runs, [(100, 105, 0, size), (105, 110, 0, size)]);
}

#[test]
fn a_disk_that_has_failed_is_not_believed_what_it_said_before() {
    let (mut tail, share) = tail_with(110);
    assert_eq!(tail.durable_end(), Offset::new(110));
    let old = open(&image_of(&share)).expect("an arena");
    assert!(old.recover().partitions[0].runs.iter().all(|run| run.durable == run.len));
    tail.doubt();
    assert!(tail.durable_end() < tail.end().offset);
    assert_eq!((tail.durable_chunks(), tail.evict(usize::MAX)), (0, 0), "all of it is needed again");
    let old = open(&image_of(&share)).expect("an arena");
    let recovered = old.recover();
    let runs: Vec<_> = recovered.partitions[0]
        .runs
        .iter()
        .map(|run| (run.first.get(), run.end.get(), run.durable))
        .collect();
    assert_eq!(runs, [(100, 105, 0), (105, 110, 0)]);

    // The oldest chunk is gone, and with it the beginning of a batch whose end is in the next one.
    let (mut tail, share) = tail_with(110);
    assert_eq!(tail.evict(1), 1);
    tail.doubt();
    let old = open(&image_of(&share)).expect("an arena");
    let recovered = old.recover();
    assert_eq!(
        recovered.partitions[0].runs.iter().map(|run| (run.first.get(), run.end.get())).collect::<Vec<_>>(),
        [(104, 105), (105, 110)]
    );
    assert_eq!(recovered.damaged_chunks, 0);
}

#[test]
fn memory_that_is_no_arena_is_refused_with_the_reason() {
    let bytes = arena();
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        open(&bytes).expect_err("not an arena")
    };
    assert_eq!(refused(&|bytes| bytes.fill(0)), UnreadableReason::Blank);
    assert_eq!(refused(&|bytes| bytes.fill(0xff)), UnreadableReason::NotATail);
    assert_eq!(
        refused(&|bytes| bytes[8..16].copy_from_slice(&9u64.to_ne_bytes())),
        UnreadableReason::Version { found: 9, known: 1 }
    );
    assert_eq!(refused(&|bytes| bytes[24] ^= 1), UnreadableReason::Damaged);
    assert_eq!(refused(&|bytes| bytes[16 * 8 + 20] ^= 1), UnreadableReason::Damaged);
    assert_eq!(refused(&|bytes| bytes[5 * 8..6 * 8].fill(0xff)), UnreadableReason::Damaged);
    assert_eq!(
        refused(&|bytes| bytes.truncate(100)),
        UnreadableReason::TooShort { has: 100, needs: BLOCK as u64 }
    );
    let len = bytes.len() as u64;
    assert_eq!(
        refused(&|bytes| {
            bytes.pop();
        }),
        UnreadableReason::TooShort { has: len - 1, needs: len }
    );
    assert!(
        open(&[bytes.clone(), vec![1; 5000]].concat()).is_ok(),
        "a longer file has the arena at its start"
    );
}

#[test]
fn a_flipped_bit_in_the_middle_costs_what_follows_and_is_told() {
    let mut bytes = arena();
    let size = batch(100, 1000).len() as u64;
    bytes[FIRST_CHUNK + size as usize * 2 + 500] ^= 4;
    let old = open(&bytes).expect("an arena");
    let recovered = old.recover();
    let partition = &recovered.partitions[0];
    assert_eq!(partition.runs.len(), 1);
    assert_eq!(partition.runs[0].end, Offset::new(102));
    assert_eq!(partition.segments, [SegmentEnd { segment_base: Offset::new(100), at: 2 * size }]);
    let damage = partition.damage.as_ref().expect("it is damaged");
    assert_eq!((damage.segment_base, damage.at, damage.lost), (Offset::new(100), 2 * size, 8 * size));
    assert!(matches!(damage.why, DamageKind::NotABatch(Stop::BadCrc { .. })));
}

#[test]
fn damage_to_what_the_disk_has_costs_nothing() {
    let size = batch(100, 1000).len() as u64;
    let end = |base, at| SegmentEnd { segment_base: Offset::new(base), at };
    for (durable, runs_wanted) in [
        (104, vec![(100, 102, 0, 2 * size), (104, 105, 4 * size, 0), (105, 110, 0, 0)]),
        (105, vec![(100, 102, 0, 2 * size), (105, 110, 0, 0)]),
        (107, vec![(100, 102, 0, 2 * size), (105, 110, 0, 2 * size)]),
    ] {
        let mut bytes = arena_with(durable);
        bytes[FIRST_CHUNK + size as usize * 2 + 500] ^= 4;
        let old = open(&bytes).expect("an arena");
        let recovered = old.recover();
        let partition = &recovered.partitions[0];
        let runs: Vec<_> =
            partition.runs.iter().map(|run| (run.first.get(), run.end.get(), run.at, run.durable)).collect();
        assert_eq!(runs, runs_wanted);
        assert_eq!(partition.segments, [end(100, 5 * size), end(105, 5 * size)]);
        let damage = partition.damage.as_ref().expect("it is told all the same");
        assert_eq!((damage.at, damage.lost), (2 * size, 0));
    }
}

#[test]
fn an_intact_batch_with_the_wrong_offset_ends_the_log() {
    let mut bytes = arena();
    let size = batch(100, 1000).len();
    let stray = batch(100, 1000);
    bytes[FIRST_CHUNK + size..][..size].copy_from_slice(&stray);
    let old = open(&bytes).expect("an arena");
    let recovered = old.recover();
    let partition = &recovered.partitions[0];
    assert_eq!(partition.runs[0].end, Offset::new(101));
    let wrong = OffsetsOutOfOrder { found: Offset::new(100), expected: Offset::new(101) };
    assert_eq!(partition.damage.as_ref().expect("damaged").why, DamageKind::Offsets(wrong));
}

/// Everything that comes out is a run of intact batches with rising offsets, where it says it is.
fn assert_sound(bytes: &[u8]) {
    let Ok(old) = open(bytes) else { return };
    for partition in &old.recover().partitions {
        let mut next = Offset::ZERO;
        for run in &partition.runs {
            let bytes = run.slices.concat();
            assert_eq!((bytes.len() as u64, run.durable <= run.len), (run.len, true));
            let mut walk = Batches::new(&bytes).checked();
            let offsets: Vec<_> =
                walk.by_ref().map(|b| (b.header.base_offset(), b.header.last_offset())).collect();
            assert_eq!(walk.end().expect("walked").why, Stop::Complete);
            for (base, last) in &offsets {
                assert!(*base >= next && *base >= run.segment_base);
                next = last.next();
            }
            assert_eq!((offsets[0].0, next), (run.first, run.end));
        }
        assert!(!partition.segments.is_empty() || partition.runs.is_empty());
        assert!(partition.segments.is_sorted_by(|a, b| a.segment_base < b.segment_base));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_damage_gets_through(changes in prop::collection::vec((0.0..1.0f64, any::<u64>(), 0usize..3), 1..12)) {
        let mut bytes = arena();
        for (place, value, kind) in changes {
            // Headers are few among many bytes, and the more interesting ones.
            let range = [BLOCK, BLOCK + 12 * 128, bytes.len()][kind];
            let at = (place * range as f64) as usize / 8 * 8;
            let word = [value, value % 5000, 1 << (value % 64)][value as usize % 3];
            bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
        }
        assert_sound(&bytes);
    }
}
