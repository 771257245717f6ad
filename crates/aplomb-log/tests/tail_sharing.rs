//! Memory that many hold at once: readers on other threads, slow readers, a disk that is behind,
//! thousands of idle partitions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use aplomb_log::Reader;
use aplomb_log::tail::{
    ArenaMemory, Claim, CrashSwitch, DEFAULT_CHUNK_SIZE, LogEnd, LogTail, OldTail, Reserve, TailBatch,
    TailRead, TailShare, open_shares, renew_shares,
};
use aplomb_model::batch::{BatchBuilder, BatchHeader};
use aplomb_model::{Offset, PartitionIndex, Timestamp, Uuid};

const DISK: Uuid = Uuid::from_u128(0xd15c);
const FROM_THE_START: LogEnd = LogEnd { segment_base: Offset::ZERO, at: 0, offset: Offset::ZERO };
/// Miri takes minutes for what takes the processor seconds.
const PUSHES: u64 = if cfg!(miri) { 60 } else { 6000 };

fn share(chunks: usize) -> Arc<TailShare> {
    let memory = ArenaMemory::heap((chunks + 1) * 4096 + (chunks * 128).next_multiple_of(4096));
    let share = open_shares(memory, 4096, &[DISK], 1, None).expect("it fits").remove(0);
    assert_eq!(share.stats().chunks, chunks);
    share
}

fn tail(share: &Arc<TailShare>, partition: i32) -> LogTail {
    LogTail::new(share.clone(), Uuid::from_u128(1), PartitionIndex(partition), FROM_THE_START)
}

/// The bytes of the batch at an offset: each batch has one record and differs from its neighbours
/// in length and content.
fn content(offset: u64) -> Vec<u8> {
    (0..100 + offset * 37 % 2000).map(|n| (offset * 7 + n % 13) as u8).collect()
}

fn batch(offset: u64) -> TailBatch {
    TailBatch {
        base_offset: Offset::new(offset),
        last_offset: Offset::new(offset),
        max_timestamp: Timestamp(offset as i64),
        size: content(offset).len() as u32,
        leader_epoch: None,
        transactional: false,
        control: false,
    }
}

fn push_next(tail: &mut LogTail) -> bool {
    push_next_with(Claim::Ordinary, tail)
}

fn push_next_with(claim: Claim, tail: &mut LogTail) -> bool {
    let end = tail.end();
    let bytes = content(end.offset.get());
    tail.push_with(claim, end.at, &[&bytes[..60], &bytes[60..]], batch(end.offset.get())).is_ok()
}

fn disk_takes_all(tail: &mut LogTail) {
    while let Some(last) = tail.take_unwritten(1 << 20).last() {
        tail.on_durable(last.end);
    }
}

fn assert_content(read: &TailRead) {
    let wanted: Vec<u8> = (read.first.get()..read.end.get()).flat_map(content).collect();
    assert!(read.slices.concat() == wanted, "the bytes of {}..{} are others", read.first, read.end);
}

#[test]
fn readers_on_other_threads_see_whole_batches_while_the_log_goes_on() {
    let share = share(40);
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (give, take) = sync_channel::<TailRead>(8);
            let thread = std::thread::spawn(move || {
                let mut held = VecDeque::new();
                for read in take {
                    assert_content(&read);
                    held.push_back(read);
                    // What was read a while ago is still what it was, though its log has long let
                    // go of it.
                    if held.len() > 20 {
                        assert_content(&held.pop_front().expect("twenty"));
                    }
                }
                held.iter().for_each(assert_content);
            });
            (give, thread)
        })
        .collect();

    let mut tail = tail(&share, 0);
    for n in 0..PUSHES {
        while !push_next(&mut tail) {
            disk_takes_all(&mut tail);
        }
        if n % 3 == 0 {
            let from =
                Offset::new(tail.end().offset.get().saturating_sub(n % 5 + 1)).max(tail.start_offset());
            let read = tail.read(from, 8000, true, tail.end().offset, Reader::Others).expect("it is here");
            readers[n as usize / 3 % 2].0.send(read).expect("the reader lives");
        }
        if n % 7 == 0 {
            disk_takes_all(&mut tail);
            tail.evict(share.shortage());
        }
    }
    for (give, thread) in readers {
        drop(give);
        thread.join().expect("every reader saw what was written");
    }
    tail.clear(tail.end());
    let stats = share.stats();
    assert_eq!((stats.free, stats.held, stats.reader_pinned, stats.batches), (stats.chunks, 0, 0, 0));
}

#[test]
fn a_consumer_that_holds_on_to_everything_holds_up_no_producer() {
    let share = share(40);
    let mut tail = tail(&share, 0);
    let mut hoard = Vec::new();
    for n in 0..PUSHES / 4 {
        if !push_next(&mut tail) {
            disk_takes_all(&mut tail);
            assert!(push_next(&mut tail), "the disk has everything, so there is room: {:?}", share.stats());
        }
        hoard.push(
            tail.read(Offset::new(n), 1, true, tail.end().offset, Reader::Others)
                .expect("the newest batch is here"),
        );
        assert!(share.stats().reader_pinned <= share.stats().chunks / 4);
    }
    hoard.iter().for_each(assert_content);
    drop(hoard);
    assert_eq!(share.stats().reader_pinned, 0);
}

#[test]
fn a_slice_outlives_the_log_and_then_gives_the_memory_back() {
    let share = share(8);
    let mut tail = tail(&share, 0);
    assert!(push_next(&mut tail));
    let read = tail.read(Offset::ZERO, 1, true, Offset::new(1), Reader::Others).expect("it is here");
    tail.clear(FROM_THE_START);
    drop(tail);
    assert_eq!((share.stats().held, share.stats().free), (0, 7), "released, and lingering");
    assert_content(&read);
    std::thread::spawn(move || drop(read)).join().expect("dropping is harmless");
    assert_eq!(share.stats().free, 8);
}

#[test]
fn a_batch_of_many_chunks_is_copied_as_one_when_readers_hold_all_they_may() {
    let share = share(16);
    share.reading().set_limit(4096);
    let mut tail = tail(&share, 0);
    let mut held = Vec::new();
    while share.stats().reader_pinned < 4 {
        let end = tail.end().offset;
        assert!(push_next(&mut tail));
        held.push(tail.read(end, 1, true, tail.end().offset, Reader::Others).expect("it is here"));
    }
    let (end, bytes) = (tail.end(), [7; 10_000]);
    let large = TailBatch { size: 10_000, ..batch(end.offset.get()) };
    tail.push(end.at, &[&bytes], large).expect("there is room");
    let read = tail
        .read(end.offset, 1, true, tail.end().offset, Reader::Others)
        .expect("more than the limit, but the only copy");
    assert_eq!(read.slices.concat(), bytes);
    assert_eq!(share.reading().used(), 10_000);
    drop(read);
    assert_eq!(share.reading().used(), 0);
}

#[test]
fn a_disk_that_is_behind_fills_its_own_share_and_no_other() {
    let disks = [DISK, Uuid::from_u128(0xd15d)];
    let shares =
        open_shares(ArenaMemory::heap(2 * 4096 + 40 * 4096), 4096, &disks, 1, None).expect("it fits");
    let (mut stalled, mut prompt) = (tail(&shares[0], 0), tail(&shares[1], 1));
    while push_next(&mut stalled) {}
    let end = stalled.end();
    let bytes = content(end.offset.get());
    let full = stalled.push(end.at, &[&bytes], batch(end.offset.get())).expect_err("there is no room");
    assert_eq!(full.waiting.0, end.at, "all of the log waits");
    assert_eq!(stalled.end(), end, "a refused batch leaves no trace");
    assert_eq!(shares[0].stats().batches, end.offset.get());

    for _ in 0..PUSHES / 6 {
        assert!(push_next(&mut prompt), "the other disk's share is its own");
        disk_takes_all(&mut prompt);
    }

    // The disk comes back, and with the first completion so do the producers.
    let out = stalled.take_unwritten(8000).remove(0);
    let (end, bytes) = (out.end, out.bytes);
    drop(out);
    stalled.on_durable(end);
    assert_eq!(shares[0].stats().waiting, full.waiting.0 - bytes);
    assert!(push_next(&mut stalled));
    let mut from = stalled.start_offset();
    while from < stalled.end().offset {
        let read = stalled
            .read(from, 10_000, true, stalled.end().offset, Reader::Others)
            .expect("everything else is still here");
        assert_content(&read);
        from = read.end;
    }
}

#[test]
fn chunks_without_memory_are_nobodys_until_they_are_released() {
    let disks = [DISK, Uuid::from_u128(0xd15d)];
    let memory = ArenaMemory::heap(2 * 4096 + 40 * 4096);
    let shares = open_shares(memory, 4096, &disks, 1, None).expect("it fits");
    let mut reserve = Reserve::all_but(10 * 4096, &shares);
    let mut tail = tail(&shares[1], 0);
    while push_next(&mut tail) {}
    let stats = shares[1].stats();
    assert_eq!((stats.held, stats.free), (5, stats.chunks - 5), "the others only wait for their pages");
    let mut ranges = Vec::new();
    while let Some(range) = reserve.next() {
        ranges.push(range);
        reserve.release();
    }
    let half: usize = shares.iter().map(|share| share.stats().chunks).sum::<usize>() / 2;
    assert!(
        ranges[0].start < half * 4096 && ranges[1].start > half * 4096,
        "the disks take turns: {ranges:?}"
    );
    ranges.sort_by_key(|range| range.start);
    assert_eq!(ranges.len(), shares.iter().map(|share| share.stats().chunks - 5).sum::<usize>());
    assert!(ranges.windows(2).all(|two| two[0].end <= two[1].start), "each once");
    while push_next(&mut tail) {}
    assert_eq!(shares[1].stats().free, 2, "now they are its own, but what is kept");
}

#[test]
fn small_batches_do_not_fill_the_heap_instead_of_the_tail() {
    let share = share(16);
    let mut tail = tail(&share, 0);
    let tiny = |n: u64| TailBatch { size: 61, ..batch(n) };
    let mut pushed = 0;
    while tail.push(pushed * 61, &[&[7; 61]], tiny(pushed)).is_ok() {
        pushed += 1;
    }
    assert_eq!(pushed, 14 * 4096 / 128, "one batch for 128 bytes of the share, less what is kept");
    disk_takes_all(&mut tail);
    assert!(tail.push(pushed * 61, &[&[7; 61]], tiny(pushed)).is_ok());
}

#[test]
fn parts_are_kept_for_light_clients_and_internal_topics_whatever_others_fill() {
    let share = share(48);
    let (mut other, mut light, mut internal) = (tail(&share, 0), tail(&share, 2), tail(&share, 1));
    internal.set_internal(true);
    while push_next(&mut other) {}
    assert_eq!(share.stats().free, 6, "an eighth");
    while push_next_with(Claim::Light, &mut light) {}
    assert_eq!(share.stats().free, 3, "a sixteenth");
    let mut pushed = 0;
    while push_next(&mut internal) {
        pushed += 1;
    }
    assert!(pushed > 3 && share.stats().free == 0, "{pushed} batches in three chunks");

    // What comes free is asked for until there is room for both.
    disk_takes_all(&mut internal);
    internal.evict(usize::MAX);
    assert!(share.shortage() == 0 && !push_next(&mut other), "its own are all that could go");
    disk_takes_all(&mut other);
    assert!(share.shortage() > 0 && push_next(&mut other), "{:?}", share.stats());
}

#[test]
fn room_to_remember_batches_is_kept_for_internal_topics_too() {
    let share = share(16);
    let (mut other, mut light, mut internal) = (tail(&share, 0), tail(&share, 2), tail(&share, 1));
    internal.set_internal(true);
    let tiny = |n: u64| TailBatch { size: 61, ..batch(n) };
    let fill = |claim: Claim, tail: &mut LogTail| {
        (0..).find(|n| tail.push_with(claim, n * 61, &[&[7; 61]], tiny(*n)).is_err())
    };
    assert_eq!(fill(Claim::Ordinary, &mut other), Some(14 * 4096 / 128));
    assert_eq!(fill(Claim::Light, &mut light), Some(4096 / 128), "the sixteenth that is kept");
    assert_eq!(fill(Claim::Ordinary, &mut internal), Some(4096 / 128), "the last sixteenth");
    assert!(share.shortage() == 0, "the disk has none of it");
    disk_takes_all(&mut other);
    // As many chunks are asked for as have the batches beyond thirteen sixteenths.
    assert_eq!(other.evict(share.shortage()), 2);
    assert!(share.shortage() == 0 && share.stats().batches <= 13 * 4096 / 128, "{:?}", share.stats());
}

#[test]
fn an_internal_topics_log_that_moves_to_another_disk_has_what_is_kept_there() {
    let (here, there) = (share(48), share(48));
    let (mut internal, mut other) = (tail(&here, 1), tail(&there, 0));
    internal.set_internal(true);
    assert!(push_next(&mut internal));
    while push_next(&mut other) {}
    let mut moved = internal.copy_to(&there, FROM_THE_START, 10).expect("there is room for it");
    assert!((0..3).all(|_| push_next(&mut moved)));
}

#[test]
#[cfg_attr(miri, ignore = "a gibibyte")]
fn ten_thousand_idle_partitions_fit_into_a_gibibyte() {
    let memory = ArenaMemory::heap(1 << 30);
    let share = open_shares(memory, DEFAULT_CHUNK_SIZE, &[DISK], 1, None).expect("it fits").remove(0);
    assert!(size_of::<LogTail>() <= 256, "{} bytes", size_of::<LogTail>());
    let mut tails: Vec<_> = (0..10_000).map(|n| tail(&share, n)).collect();
    assert_eq!(share.stats().held, 0, "an empty tail has no memory");
    for tail in &mut tails {
        assert!(push_next(tail) && push_next(tail));
    }
    let stats = share.stats();
    assert_eq!((stats.held, stats.batches), (10_000, 20_000));
    for tail in &mut tails {
        disk_takes_all(tail);
        assert_eq!(tail.evict(usize::MAX), 1);
        assert_eq!(tail.start_offset(), Offset::new(2));
    }
    assert_eq!(share.stats().free, share.stats().chunks);
    for tail in &mut tails {
        assert!(push_next(tail), "a log goes on in the middle of a chunk");
        let read = tail.read(Offset::new(2), 1, true, Offset::new(3), Reader::Others).expect("it is here");
        assert_eq!(read.slices[0].as_ptr().addr() as u64 % 4096, read.at % 4096);
        assert_content(&read);
    }
}

#[test]
fn a_tail_that_is_dropped_without_being_cleared_is_found_by_the_next_process() {
    let memory = ArenaMemory::heap(10 * 4096);
    let share = open_shares(memory, 4096, &[DISK], 1, Some(CrashSwitch::armed())).expect("it fits").remove(0);
    let mut builder = BatchBuilder::new(Offset::ZERO);
    builder.append(Timestamp(5), None, Some(b"acknowledged"), &[]);
    let bytes = builder.build();
    let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
    let unwinding = std::thread::spawn({
        let share = share.clone();
        let bytes = bytes.clone();
        move || {
            let mut tail = tail(&share, 3);
            tail.push(0, &[&bytes], facts).expect("there is room");
            std::panic::resume_unwind(Box::new("a bug somewhere else"));
        }
    });
    assert!(unwinding.join().is_err());
    let old = OldTail::open(share.arena().image().expect("there is a switch")).expect("an arena");
    let recovered = old.recover();
    let partition = &recovered.partitions[0];
    assert_eq!((partition.directory, partition.partition), (DISK, PartitionIndex(3)));
    assert_eq!(partition.runs[0].slices.concat(), bytes);
}

/// A whole batch with one record, at the log's end.
fn push_record(tail: &mut LogTail) -> Vec<u8> {
    let end = tail.end();
    let mut builder = BatchBuilder::new(end.offset);
    builder.append(Timestamp(5), None, Some(&content(end.offset.get())), &[]);
    let bytes = builder.build();
    let facts = TailBatch::of(&BatchHeader::parse(&bytes).expect("a batch"));
    tail.push(end.at, &[&bytes], facts).expect("there is room");
    bytes.to_vec()
}

#[test]
fn what_is_appended_after_a_change_of_memory_is_what_the_next_process_finds() {
    const SIZE: usize = 20 * 4096;
    let shares = open_shares(ArenaMemory::heap(SIZE), 4096, &[DISK], 1, None).expect("it fits");
    let share = &shares[0];
    let mut log = tail(share, 3);
    let mut idle = tail(share, 4);
    push_record(&mut idle);
    for _ in 0..3 {
        // Twice and a third time: memory that was given up does not come back.
        for _ in 0..5 {
            push_record(&mut log);
        }
        let (from, offset) = (log.end().at, log.end().offset);
        let before = renew_shares(&shares, ArenaMemory::heap(SIZE), Some(CrashSwitch::armed()));
        assert!(before.waiting() > 0, "no disk has it");
        let after: Vec<u8> = (0..5).flat_map(|_| push_record(&mut log)).collect();
        let image = share.arena().image().expect("there is a switch");
        let old = OldTail::open(image).expect("an arena");
        let [partition] = &old.recover().partitions[..] else { panic!("{:?}", old.recover()) };
        let [run] = &partition.runs[..] else { panic!("{partition:?}") };
        assert_eq!((run.at, run.first, run.slices.concat()), (from, offset, after));

        disk_takes_all(&mut log);
        disk_takes_all(&mut idle);
        assert_eq!(before.waiting(), 0);
        assert!(share.shortage() > 0, "what is of the memory before is to go");
        log.evict(usize::MAX);
        idle.evict(usize::MAX);
        share.exchange_free();
        assert_eq!(Arc::strong_count(&before), 1, "it is not in use any more");
        let stats = share.stats();
        assert_eq!((stats.free, stats.held), (stats.chunks, 0));
    }
}
