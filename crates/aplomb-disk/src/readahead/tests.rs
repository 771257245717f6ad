//! The read-ahead by itself, and before a device that takes its time.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const WINDOW: u64 = 100;

fn readahead(ahead: u64, budget: u64) -> Readahead {
    Readahead::new(Bounds { window: WINDOW, ahead, budget })
}

fn name(name: &str) -> FileName {
    FileName::new(name)
}

/// Where the windows begin that are to be asked for now.
fn orders(readahead: &mut Readahead) -> Vec<u64> {
    std::iter::from_fn(|| readahead.next_order()).map(|order| order.at).collect()
}

#[test]
fn nothing_is_asked_for_as_long_as_the_page_cache_has_what_is_read() {
    let mut readahead = readahead(8, 10_000);
    for at in (0..2000).step_by(70) {
        assert_eq!(readahead.on_read(&name("log"), at..at + 70, false), 0);
        assert_eq!(readahead.next_order(), None);
    }
    assert!(readahead.streams.is_empty());
}

#[test]
fn the_further_a_stream_comes_the_more_is_asked_for_ahead_of_it() {
    let mut readahead = readahead(8, 10_000);
    let mut ahead = Vec::new();
    let mut all = Vec::new();
    for at in (0..2000).step_by(WINDOW as usize) {
        let more = readahead.on_read(&name("log"), at..at + WINDOW, at == 0);
        let asked = orders(&mut readahead);
        assert_eq!(asked.len() as u64, more);
        all.extend(asked);
        ahead.push((all.last().expect("the first read ordered one") - at) / WINDOW);
    }
    assert_eq!(ahead[..6], [1, 2, 4, 8, 8, 8]);
    let each_once: Vec<u64> = (1..=all.len() as u64).map(|index| index * WINDOW).collect();
    assert_eq!(all, each_once);
}

#[test]
fn the_rest_of_the_window_that_a_read_ends_in_is_asked_for_too() {
    let mut readahead = readahead(8, 10_000);
    assert_eq!(readahead.on_read(&name("log"), 120..150, true), 2);
    assert_eq!(orders(&mut readahead), [100, 200]);
    assert_eq!(readahead.on_read(&name("log"), 150..180, false), 1);
    assert_eq!(orders(&mut readahead), [300]);
}

#[test]
fn who_overtakes_what_was_to_be_asked_for_is_not_behind_it() {
    let mut readahead = readahead(8, 10_000);
    readahead.on_read(&name("log"), 0..100, true);
    readahead.on_read(&name("log"), 100..400, true);
    // 100 and 300 were wanted, and are passed.
    assert_eq!(orders(&mut readahead), [400, 500]);
}

#[test]
fn windows_that_are_there_already_end_a_stream_and_a_read_that_misses_begins_another() {
    let mut readahead = readahead(8, 10_000);
    for at in [0, 100, 200] {
        readahead.on_read(&name("log"), at..at + 100, true);
    }
    for left in [2, 1, 0] {
        let order = readahead.next_order().expect("four are ahead");
        readahead.on_here(&order);
        assert_eq!(readahead.streams.front().map_or(0, |stream| stream.ahead), left);
    }
    assert_eq!(readahead.next_order(), None);
    assert_eq!(readahead.on_read(&name("log"), 300..400, false), 0);
    assert_eq!(readahead.on_read(&name("log"), 400..500, true), 1);
    // Of a stream that is forgotten nothing is to be learned.
    let order = readahead.next_order().expect("one is ahead");
    readahead.streams.clear();
    readahead.on_here(&order);
}

#[test]
fn streams_share_the_budget_and_each_has_a_window_of_it() {
    let mut readahead = readahead(8, 6 * WINDOW);
    let mut most = BTreeMap::new();
    for step in 0..20 {
        for file in ["a", "b", "c"] {
            let end = (step + 1) * WINDOW;
            readahead.on_read(&name(file), step * WINDOW..end, step == 0);
            for order in std::iter::from_fn(|| readahead.next_order()) {
                let ahead = (order.at + order.len - end) / WINDOW;
                most.entry(file).and_modify(|most: &mut u64| *most = ahead.max(*most)).or_insert(ahead);
            }
        }
    }
    assert_eq!(most, BTreeMap::from([("a", 2), ("b", 2), ("c", 2)]));
    for number in 0..20 {
        assert_eq!(readahead.on_read(&name(&number.to_string()), 0..WINDOW, true), 1);
    }
}

#[test]
fn without_a_budget_nothing_is_asked_for() {
    let mut readahead = readahead(8, WINDOW - 1);
    for at in [0, 50, 150, 300] {
        assert_eq!(readahead.on_read(&name("log"), at..at + 50, true), 0);
        assert_eq!(readahead.next_order(), None);
    }
}

#[test]
fn a_million_streams_are_no_more_than_the_last_of_them() {
    let mut readahead = readahead(8, 1 << 40);
    for number in 0..1_000_000_u64 {
        readahead.on_read(&name("log"), number * 1000..number * 1000 + 10, true);
    }
    assert_eq!(readahead.streams.len(), MAX_STREAMS);
    assert_eq!(orders(&mut readahead).len(), 2 * MAX_STREAMS);
}

/// A disk that takes 20 ms for whatever it is asked, 128 KiB at a time, is no reason for a consumer
/// that catches up to wait for each of its reads: that would be 52 MB/s.
#[test]
fn a_stream_outruns_a_disk_that_takes_its_time() {
    const MIB: u64 = 1 << 20;
    const LATENCY_MS: u64 = 20;
    const TOTAL: u64 = 200 * MIB;
    let mut readahead = Readahead::new(Bounds { window: MIB, ahead: 8, budget: 32 * MIB });
    // When each window comes.
    let mut comes: BTreeMap<u64, u64> = BTreeMap::new();
    let mut now = 0;
    // Reads do not begin where windows do.
    for at in (MIB / 3..TOTAL).step_by(MIB as usize) {
        let windows = [at / MIB, at / MIB + 1];
        let missing = windows.iter().any(|window| comes.get(window).is_none_or(|comes| *comes > now));
        readahead.on_read(&name("log"), at..at + MIB, missing);
        while let Some(order) = readahead.next_order() {
            let window = order.at / MIB;
            if comes.get(&window).is_some_and(|comes| *comes <= now) {
                readahead.on_here(&order);
            } else {
                comes.entry(window).or_insert(now + LATENCY_MS);
            }
        }
        // A read asks for what it misses itself, and waits for it.
        for window in windows {
            now = now.max(*comes.entry(window).or_insert(now + LATENCY_MS));
        }
    }
    let rate = TOTAL / now / 1000; // bytes a millisecond, by a thousand: MB/s
    assert!(rate >= 200, "{rate} MB/s");
}

/// Reads of a few files in any order, of which some find what they want: whatever is asked for is
/// within the bounds.
#[test]
fn what_is_asked_for_is_near_its_stream_and_asked_for_once() {
    for seed in 1..40_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut readahead = readahead(3, 20 * WINDOW);
        let mut asked: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let mut places = [0_u64; 4];
        let mut ordered = 0;
        for _ in 0..4000 {
            let file = below(4) as usize;
            if below(20) == 0 {
                places[file] = below(1_000_000);
            }
            let (at, len) = (places[file], below(250));
            places[file] = at + len;
            readahead.on_read(&name(&file.to_string()), at..at + len, below(3) == 0);
            assert!(readahead.streams.len() <= MAX_STREAMS);
            for _ in 0..below(4) {
                let Some(order) = readahead.next_order() else { break };
                ordered += 1;
                let stream = readahead.streams.iter().find(|stream| stream.number == order.stream);
                let next = stream.expect("orders are of streams that are known").next;
                assert!(order.at + WINDOW > next && order.at <= next + 4 * WINDOW, "{order:?} at {next}");
                assert!(asked.entry(order.stream).or_default().insert(order.at), "{order:?} again");
                if below(3) == 0 {
                    readahead.on_here(&order);
                }
            }
        }
        assert!(ordered > 500, "seed {seed} ordered only {ordered}");
    }
}
