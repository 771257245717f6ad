//! The read-ahead against a model of a file system whose fetches take time.

use std::collections::BTreeMap;

use super::*;

const WINDOW: u64 = 100;

fn readahead<R>(ahead: u64, budget: u64) -> Readahead<R> {
    Readahead::new(Bounds { window: WINDOW, ahead, budget })
}

fn name(name: &str) -> FileName {
    FileName::new(name)
}

/// Bytes of a file that never changes.
fn steady(order: &Order, len: u64) -> Result<Bytes, DiskError> {
    Ok((order.at.min(len)..(order.at + order.len).min(len)).map(|at| at as u8).collect())
}

fn orders<R>(readahead: &mut Readahead<R>) -> Vec<Order> {
    std::iter::from_fn(|| readahead.next_order(true)).collect()
}

#[test]
fn the_further_a_stream_comes_the_more_is_fetched_ahead_of_it() {
    let mut readahead = readahead(8, 10_000);
    let mut ahead = Vec::new();
    for at in (0..2000).step_by(WINDOW as usize) {
        let answered = readahead.read((), &name("log"), at, WINDOW);
        assert!(answered.is_some() || at == 0, "the read at {at} had to wait");
        for order in orders(&mut readahead) {
            readahead.fetched(order.id, &steady(&order, 1 << 20));
        }
        let windows = &readahead.windows[&name("log")];
        ahead.push(windows.keys().last().expect("just read") - at / WINDOW);
    }
    assert_eq!(ahead[..6], [1, 2, 4, 8, 8, 8]);
}

#[test]
fn a_range_is_known_as_soon_as_one_of_its_windows_is_on_its_way() {
    let mut readahead = readahead(1, 10_000);
    readahead.read((), &name("log"), 120, 50);
    // Its own window, and the one ahead.
    for (at, len, known) in
        [(0, 100, false), (0, 101, true), (299, 1, true), (300, 50, false), (150, 500, true)]
    {
        assert_eq!(readahead.knows(&name("log"), at, len), known, "{len} bytes at {at}");
    }
    assert!(!readahead.knows(&name("other"), 120, 50));
}

#[test]
fn nothing_is_fetched_ahead_beyond_the_end_of_the_file() {
    let mut readahead = readahead(8, 10_000);
    for round in 0..5 {
        readahead.read((), &name("log"), 0, 50);
        let fetched = orders(&mut readahead);
        if round > 0 {
            assert_eq!(fetched, [], "the file is known to end in its first window");
        }
        for order in fetched {
            readahead.fetched(order.id, &steady(&order, 60));
        }
    }
}

#[test]
fn windows_stay_within_their_budget_and_streams_share_it() {
    let mut readahead = readahead(8, 8 * WINDOW);
    for step in 0..20 {
        for file in ["a", "b", "c", "d"] {
            readahead.read((), &name(file), step * 30, 30);
            for order in orders(&mut readahead) {
                readahead.fetched(order.id, &steady(&order, 1 << 20));
            }
            assert!(readahead.used <= 8 * WINDOW, "{} bytes are kept", readahead.used);
        }
        let files: Vec<&FileName> = readahead.windows.keys().collect();
        assert_eq!(files.len(), 4, "a stream has no window left: {files:?}");
    }
}

#[test]
fn a_small_piece_does_not_keep_its_window_alive() {
    let mut readahead = readahead(1, 10_000);
    readahead.read((), &name("log"), 0, 10);
    let order = readahead.next_order(true).expect("a window is missing");
    let window = steady(&order, 1 << 20).expect("steady");
    let ended = readahead.fetched(order.id, &Ok(window.clone()));
    let piece = ended[0].1.clone().expect("it came").join();
    assert_eq!(piece, window[..10]);
    assert_ne!(piece.as_ptr(), window.as_ptr());
    let (_, whole) = readahead.read((), &name("log"), 0, WINDOW).expect("it is here");
    let whole = whole.join();
    assert_eq!(whole.as_ptr(), window.as_ptr(), "a large piece is not copied");
}

#[test]
fn an_error_ends_every_read_that_waits_for_the_window() {
    let mut readahead = readahead(2, 10_000);
    assert!(readahead.read(1, &name("log"), 50, 100).is_none());
    assert!(readahead.read(2, &name("log"), 60, 10).is_none());
    let order = readahead.next_order(false).expect("a window is missing");
    let gone = DiskError::NotFound { name: "log".into() };
    let ended = readahead.fetched(order.id, &Err(gone.clone()));
    assert_eq!(ended, [(1, Err(gone.clone())), (2, Err(gone))]);
    let other = readahead.next_order(false).expect("the second window of the first read");
    assert_eq!(readahead.fetched(other.id, &steady(&other, 1 << 20)), []);
}

/// A disk that takes 20 ms for whatever it is asked, six things at a time, is no reason for a
/// consumer that catches up to wait for each of its reads: that would be 52 MB/s.
#[test]
fn a_stream_outruns_a_disk_that_takes_its_time() {
    const MIB: u64 = 1 << 20;
    const LATENCY_MS: u64 = 20;
    const FETCHERS: usize = 6;
    const TOTAL: u64 = 200 * MIB;
    let mut readahead = Readahead::new(Bounds { window: MIB, ahead: 8, budget: 32 * MIB });
    let window = Bytes::from(vec![0; MIB as usize]);
    let mut under_way: VecDeque<(u64, Order)> = VecDeque::new();
    let (mut now, mut at) = (0, 0);
    while at < TOTAL {
        // One read of the consumer, which waits for its answer before it asks again.
        let mut answered = readahead.read((), &name("log"), at, MIB).is_some();
        while !answered {
            while under_way.len() < FETCHERS {
                let ahead_too = under_way.iter().filter(|(_, order)| !order.wanted).count() < FETCHERS - 1;
                let Some(order) = readahead.next_order(ahead_too) else { break };
                under_way.push_back((now + LATENCY_MS, order));
            }
            let (done, order) = under_way.pop_front().expect("the missing window is under way");
            now = done;
            answered = !readahead.fetched(order.id, &Ok(window.clone())).is_empty();
        }
        at += MIB;
    }
    let rate = TOTAL / now / 1000; // bytes a millisecond, by a thousand: MB/s
    assert!(rate >= 200, "{rate} MB/s");
}

/// A file system in which each fetch looks at its file some time between its beginning and its end.
struct Model {
    readahead: Readahead<usize>,
    files: BTreeMap<&'static str, Vec<u8>>,
    /// How often each file was changed.
    changes: BTreeMap<&'static str, u64>,
    under_way: Vec<(Order, Option<Result<Bytes, DiskError>>)>,
    /// Reads by number: file, place, length, and the changes the file had seen when it was
    /// submitted.
    reads: Vec<(&'static str, u64, u64, u64)>,
    checked: usize,
    stamp: u8,
}

impl Model {
    fn look(&self, order: &Order) -> Result<Bytes, DiskError> {
        let Some(content) = self.files.get(order.file.as_str()) else {
            return Err(DiskError::NotFound { name: order.file.as_str().into() });
        };
        let len = content.len() as u64;
        let range = order.at.min(len) as usize..(order.at + order.len).min(len) as usize;
        Ok(Bytes::copy_from_slice(&content[range]))
    }

    fn changed(&mut self, file: &'static str) {
        *self.changes.entry(file).or_default() += 1;
    }

    /// An answer must be what the file held, if the file was not changed since the question.
    fn check(&mut self, number: usize, result: Result<Bytes, DiskError>) {
        let (file, at, len, changes) = self.reads[number];
        if self.changes.get(file).copied().unwrap_or(0) != changes {
            return;
        }
        self.checked += 1;
        match (result, self.files.get(file)) {
            (Ok(bytes), Some(content)) => {
                let end = content.len() as u64;
                let expected = &content[at.min(end) as usize..(at + len).min(end) as usize];
                assert_eq!(bytes, expected, "{file} at {at}");
            }
            (Err(DiskError::NotFound { .. }), None) => {}
            (result, content) => panic!("{file}: {result:?}, but there is {content:?}"),
        }
    }

    fn step(&mut self, below: &mut impl FnMut(u64) -> u64) {
        let file = ["log", "log.deleted", "index"][below(3) as usize];
        self.stamp = self.stamp.wrapping_add(1);
        match below(36) {
            0 | 1 => {
                let content = self.files.entry(file).or_default();
                let gap = if below(4) == 0 { below(300) as usize } else { 0 };
                content.resize(content.len() + gap, 0);
                let at = content.len() as u64;
                let more = below(150) + 1;
                content.extend(std::iter::repeat_n(self.stamp, more as usize));
                self.readahead.changed(&name(file), at..at + more);
                self.changed(file);
            }
            2 => {
                if let Some(content) = self.files.get_mut(file) {
                    let len = below(content.len() as u64 + 1);
                    content.truncate(len as usize);
                    self.readahead.changed(&name(file), len..u64::MAX);
                    self.changed(file);
                }
            }
            3 => {
                self.files.remove(file);
                self.readahead.forget(file);
                self.changed(file);
            }
            4 => {
                if let Some(content) = self.files.remove("log") {
                    self.files.insert("log.deleted", content);
                    for renamed in ["log", "log.deleted"] {
                        self.readahead.forget(renamed);
                        self.changed(renamed);
                    }
                }
            }
            5..14 => {
                let end = self.files.get(file).map_or(0, |content| content.len() as u64);
                let (at, len) = (below(end + 50), below(250) + 1);
                let number = self.reads.len();
                self.reads.push((file, at, len, self.changes.get(file).copied().unwrap_or(0)));
                if let Some((number, pieces)) = self.readahead.read(number, &name(file), at, len) {
                    self.check(number, Ok(pieces.join()));
                }
            }
            14..22 => {
                if let Some(order) = self.readahead.next_order(below(2) == 0) {
                    self.under_way.push((order, None));
                }
            }
            22..26 => {
                if !self.under_way.is_empty() {
                    let chosen = below(self.under_way.len() as u64) as usize;
                    let seen = self.look(&self.under_way[chosen].0);
                    self.under_way[chosen].1.get_or_insert(seen);
                }
            }
            _ => {
                if !self.under_way.is_empty() {
                    let chosen = below(self.under_way.len() as u64) as usize;
                    let (order, seen) = self.under_way.swap_remove(chosen);
                    let seen = seen.unwrap_or_else(|| self.look(&order));
                    for (number, result) in self.readahead.fetched(order.id, &seen) {
                        self.check(number, result.map(Pieces::join));
                    }
                }
            }
        }
    }
}

#[test]
fn no_read_is_answered_with_bytes_that_were_gone_when_it_was_asked() {
    for seed in 1..40_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut model = Model {
            readahead: readahead(3, 6 * WINDOW),
            files: BTreeMap::new(),
            changes: BTreeMap::new(),
            under_way: Vec::new(),
            reads: Vec::new(),
            checked: 0,
            stamp: 0,
        };
        for _ in 0..4000 {
            model.step(&mut below);
        }
        assert!(model.checked > 200, "seed {seed} compared only {} reads", model.checked);
    }
}
