//! What to fetch before it is asked for: a pure state machine.
//!
//! A file is fetched in windows. A read that follows the one before it is a stream, and the further
//! a stream has come, the more windows are fetched ahead of it, all at the same time: a disk that
//! takes 20 ms for anything still gives 8 MiB in 20 ms. Fetched windows are kept within a budget of
//! bytes for the whole disk.
//!
//! Always holds: a read never gets bytes that were replaced, cut off or deleted before it was
//! submitted. Every change of a file removes the windows that it touches and detaches fetches under
//! way: they answer the reads that waited already, no later ones. A window that ended with the file is used
//! only for what it has.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

use aplomb_disk_api::{DiskError, FileName};
use bytes::Bytes;

use crate::steps;

/// Streams that are remembered.
const MAX_STREAMS: usize = 64;

/// A window that was fetched ahead and not read within so many reads is free to be replaced.
const PATIENCE: u64 = 256;

/// Bounds of the read-ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of a window.
    pub(crate) window: u64,
    /// Windows ahead of a stream, at most.
    pub(crate) ahead: u64,
    /// Bytes of all windows.
    pub(crate) budget: u64,
}

/// A window to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) id: u64,
    pub(crate) file: FileName,
    pub(crate) at: u64,
    pub(crate) len: u64,
    /// Whether a read waits for it.
    pub(crate) wanted: bool,
}

/// A read's bytes, still in the windows that they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    pieces: Vec<Bytes>,
    window: u64,
}

impl Pieces {
    /// One piece of memory; copied if they were several. Apart from the state machine, whose lock
    /// others wait for.
    pub(crate) fn join(self) -> Bytes {
        match self.pieces.as_slice() {
            // A small piece must not keep a large window in memory after the budget has let go of
            // it.
            [piece] if (piece.len() as u64) * 2 >= self.window => piece.clone(),
            pieces => steps::join(pieces),
        }
    }
}

/// The state. `R` is a reader, given back with its bytes.
#[derive(Debug)]
pub(crate) struct Readahead<R> {
    bounds: Bounds,
    windows: HashMap<FileName, BTreeMap<u64, Window>>,
    streams: VecDeque<Stream>,
    fetches: HashMap<u64, Fetch>,
    wanted: VecDeque<u64>,
    ahead: VecDeque<u64>,
    reads: HashMap<u64, Read<R>>,
    used: u64,
    tick: u64,
    next: u64,
}

#[derive(Debug)]
enum Window {
    Fetching(u64),
    Ready { bytes: Bytes, used: u64, passed: bool },
}

/// A reader that goes through a file. The most recent one is at the back.
#[derive(Debug)]
struct Stream {
    file: FileName,
    next: u64,
    ahead: u64,
}

#[derive(Debug)]
struct Fetch {
    file: FileName,
    index: u64,
    readers: Vec<u64>,
    /// A stream waits for it and is on its way to the next one.
    passed: bool,
    begun: bool,
    detached: bool,
    /// The file was written behind this window since the fetch was begun, so it may not end any
    /// more where the fetch finds its end.
    grown: bool,
}

#[derive(Debug)]
struct Read<R> {
    reader: R,
    range: Range<u64>,
    missing: usize,
    parts: BTreeMap<u64, Bytes>,
}

impl<R> Readahead<R> {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            windows: HashMap::new(),
            streams: VecDeque::new(),
            fetches: HashMap::new(),
            wanted: VecDeque::new(),
            ahead: VecDeque::new(),
            reads: HashMap::new(),
            used: 0,
            tick: 0,
            next: 0,
        }
    }

    /// The longest read that goes through windows; longer ones are a stream by themselves.
    pub(crate) fn longest(&self) -> u64 {
        self.bounds.window * self.bounds.ahead
    }

    /// Whether windows of this range are here or on their way: then [`Readahead::read`] is the way
    /// to it, and keeps its stream going.
    pub(crate) fn knows(&self, file: &FileName, at: u64, len: u64) -> bool {
        let (first, end) = (at / self.bounds.window, at.saturating_add(len).div_ceil(self.bounds.window));
        self.windows.get(file).is_some_and(|windows| windows.range(first..end).next().is_some())
    }

    /// Reads `len` bytes (more than none, at most [`Readahead::longest`]). Answers at once if they
    /// are here; otherwise the answer comes out of [`Readahead::fetched`].
    pub(crate) fn read(&mut self, reader: R, file: &FileName, at: u64, len: u64) -> Option<(R, Pieces)> {
        assert!(0 < len && len <= self.longest(), "a read of {len} bytes does not go through windows");
        self.tick += 1;
        let range = at..at.saturating_add(len);
        let id = self.fresh_id();
        let (first, last) = (range.start / self.bounds.window, (range.end - 1) / self.bounds.window);
        let mut read = Read { reader, range: range.clone(), missing: 0, parts: BTreeMap::new() };
        for index in first..=last {
            match self.ready(file, index, range.end) {
                Some(bytes) => {
                    read.parts.insert(index, bytes);
                }
                None => {
                    read.missing += 1;
                    let fetch = self.fetching_or_new(file, index);
                    let state = self.fetches.get_mut(&fetch).expect("it is under way");
                    state.readers.push(id);
                    state.passed |= range.end >= (index + 1) * self.bounds.window;
                    self.wanted.push_back(fetch);
                }
            }
        }
        self.fetch_ahead(file, range, last);
        if read.missing == 0 {
            return Some(self.cut(read));
        }
        self.reads.insert(id, read);
        None
    }

    /// The next window to fetch: wanted ones first, those ahead only if `ahead_too`.
    pub(crate) fn next_order(&mut self, ahead_too: bool) -> Option<Order> {
        loop {
            let id =
                self.wanted.pop_front().or_else(|| if ahead_too { self.ahead.pop_front() } else { None })?;
            if let Some(fetch) = self.fetches.get_mut(&id).filter(|fetch| !fetch.begun) {
                fetch.begun = true;
                return Some(Order {
                    id,
                    file: fetch.file.clone(),
                    at: fetch.index * self.bounds.window,
                    len: self.bounds.window,
                    wanted: !fetch.readers.is_empty(),
                });
            }
        }
    }

    /// How many windows may be waiting to be fetched: some may turn out to be under way already.
    pub(crate) fn orders(&self) -> usize {
        self.wanted.len() + self.ahead.len()
    }

    /// A window that was ordered ahead is not to be fetched after all. False if a read has come to
    /// want it meanwhile.
    pub(crate) fn skip(&mut self, id: u64) -> bool {
        let fetch = self.fetches.get(&id).expect("it was ordered");
        if !fetch.readers.is_empty() {
            return false;
        }
        let fetch = self.fetches.remove(&id).expect("it was there just now");
        if !fetch.detached {
            self.remove_window(&fetch.file, fetch.index);
        }
        true
    }

    /// A window has come, short or empty at the end of its file, or has not. Gives the reads that
    /// end with it.
    pub(crate) fn fetched(
        &mut self,
        id: u64,
        result: &Result<Bytes, DiskError>,
    ) -> Vec<(R, Result<Pieces, DiskError>)> {
        let mut fetch = self.fetches.remove(&id).expect("it was ordered");
        let ended_early = match result {
            Ok(bytes) => (bytes.len() as u64) < self.bounds.window,
            Err(error) => matches!(error, DiskError::NotFound { .. }),
        };
        if fetch.grown && ended_early && !fetch.detached {
            // Only a file that was just made, or written with a gap, comes here: look again.
            (fetch.begun, fetch.grown) = (false, false);
            self.fetches.insert(id, fetch);
            self.wanted.push_back(id);
            return Vec::new();
        }
        if !fetch.detached {
            self.remove_window(&fetch.file, fetch.index);
            if let Ok(bytes) = result {
                self.keep(&fetch, bytes.clone());
            }
        }
        let mut ended = Vec::new();
        for read_id in fetch.readers {
            let Some(read) = self.reads.get_mut(&read_id) else { continue };
            if let Ok(bytes) = result {
                read.parts.insert(fetch.index, bytes.clone());
                read.missing -= 1;
                if read.missing > 0 {
                    continue;
                }
            }
            let read = self.reads.remove(&read_id).expect("it was just there");
            match result {
                Ok(_) => {
                    let (reader, pieces) = self.cut(read);
                    ended.push((reader, Ok(pieces)));
                }
                Err(error) => ended.push((read.reader, Err(error.clone()))),
            }
        }
        ended
    }

    /// Bytes of a file were written or cut off.
    pub(crate) fn changed(&mut self, file: &FileName, range: Range<u64>) {
        let window = self.bounds.window;
        let Some(windows) = self.windows.get(file) else { return };
        let mut touched = Vec::new();
        for (index, state) in windows {
            let start = index * window;
            match state {
                // An append right behind what a short window has leaves it valid.
                Window::Ready { bytes, .. } => {
                    if range.start < start + bytes.len() as u64 && start < range.end {
                        touched.push(*index);
                    }
                }
                Window::Fetching(id) => {
                    let fetch = self.fetches.get_mut(id).expect("it is under way");
                    if fetch.begun && range.start < start + window {
                        touched.push(*index);
                    } else if fetch.begun {
                        fetch.grown = true;
                    }
                }
            }
        }
        touched.into_iter().for_each(|index| self.remove_window(file, index));
    }

    /// A name, and everything below it, stands for something else now, or for nothing.
    pub(crate) fn forget(&mut self, name: &str) {
        let below = |file: &FileName| {
            file.as_str().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let files: Vec<FileName> = self.windows.keys().filter(|file| below(file)).cloned().collect();
        for file in files {
            self.changed(&file, 0..u64::MAX);
        }
        self.streams.retain(|stream| !below(&stream.file));
    }

    /// Gives up all reads that wait.
    pub(crate) fn abandon(&mut self) -> Vec<R> {
        self.reads.drain().map(|(_, read)| read.reader).collect()
    }

    /// The window's bytes, if it is here and has all that the file could have had of it up to
    /// `end`.
    fn ready(&mut self, file: &FileName, index: u64, end: u64) -> Option<Bytes> {
        let window = self.bounds.window;
        let tick = self.tick;
        match self.windows.get_mut(file)?.get_mut(&index)? {
            Window::Ready { bytes, used, passed } => {
                let wanted = end.min((index + 1) * window);
                if index * window + bytes.len() as u64 >= wanted {
                    *used = tick;
                    *passed |= end >= (index + 1) * window;
                    return Some(bytes.clone());
                }
            }
            Window::Fetching(_) => return None,
        }
        // It ended with the file, which may have grown.
        self.remove_window(file, index);
        None
    }

    fn fetching_or_new(&mut self, file: &FileName, index: u64) -> u64 {
        match self.windows.get(file).and_then(|windows| windows.get(&index)) {
            Some(Window::Fetching(id)) => *id,
            Some(Window::Ready { .. }) => panic!("a window that is here is not fetched"),
            None => {
                let id = self.fresh_id();
                let fetch = Fetch {
                    file: file.clone(),
                    index,
                    readers: Vec::new(),
                    passed: false,
                    begun: false,
                    detached: false,
                    grown: false,
                };
                self.fetches.insert(id, fetch);
                self.windows.entry(file.clone()).or_default().insert(index, Window::Fetching(id));
                self.used += self.bounds.window;
                id
            }
        }
    }

    /// Orders windows behind `last` for the stream that this read belongs to.
    fn fetch_ahead(&mut self, file: &FileName, range: Range<u64>, last: u64) {
        let window = self.bounds.window;
        let follows = |stream: &Stream| stream.file == *file && range.start.abs_diff(stream.next) <= window;
        let ahead = match self.streams.iter().position(follows).and_then(|place| self.streams.remove(place)) {
            Some(stream) => (stream.ahead * 2).min(self.bounds.ahead),
            None => 1,
        };
        self.streams.push_back(Stream { file: file.clone(), next: range.end, ahead });
        if self.streams.len() > MAX_STREAMS {
            self.streams.pop_front();
        }
        let share = self.bounds.budget / window / self.streams.len() as u64;
        for index in last + 1..=last + ahead.min(share.max(1)) {
            let known = self.windows.get(file).and_then(|windows| windows.get(&index));
            let file_ends_here =
                matches!(known, Some(Window::Ready { bytes, .. }) if (bytes.len() as u64) < window);
            let here = known.is_some();
            if file_ends_here || !here && !self.make_room() {
                return;
            }
            if !here {
                let fetch = self.fetching_or_new(file, index);
                self.ahead.push_back(fetch);
            }
        }
    }

    /// Room for one more window ahead, without taking one that a stream is going to need.
    fn make_room(&mut self) -> bool {
        while self.used + self.bounds.window > self.bounds.budget {
            let too_old = self.tick.saturating_sub(PATIENCE);
            match self.oldest() {
                Some((file, index, used, passed)) if passed || used < too_old => {
                    self.remove_window(&file, index);
                }
                _ => return false,
            }
        }
        true
    }

    fn keep(&mut self, fetch: &Fetch, bytes: Bytes) {
        self.used += bytes.len() as u64;
        let window = Window::Ready { bytes, used: self.tick, passed: fetch.passed };
        self.windows.entry(fetch.file.clone()).or_default().insert(fetch.index, window);
        while self.used > self.bounds.budget {
            let Some((file, index, ..)) = self.oldest() else { break };
            self.remove_window(&file, index);
        }
    }

    /// The window that is needed least: one that a stream has passed, else the one that was not
    /// used for the longest time.
    fn oldest(&self) -> Option<(FileName, u64, u64, bool)> {
        let all = self.windows.iter().flat_map(|(file, windows)| {
            windows.iter().filter_map(move |(index, window)| match window {
                Window::Ready { used, passed, .. } => Some((!*passed, *used, file, *index)),
                Window::Fetching(_) => None,
            })
        });
        all.min().map(|(kept, used, file, index)| (file.clone(), index, used, !kept))
    }

    fn remove_window(&mut self, file: &FileName, index: u64) {
        let Some(windows) = self.windows.get_mut(file) else { return };
        match windows.remove(&index) {
            Some(Window::Ready { bytes, .. }) => self.used -= bytes.len() as u64,
            Some(Window::Fetching(id)) => {
                self.used -= self.bounds.window;
                if let Some(fetch) = self.fetches.get_mut(&id) {
                    fetch.detached = true;
                }
            }
            None => {}
        }
        if windows.is_empty() {
            self.windows.remove(file);
        }
    }

    /// Cuts the read's bytes out of its windows, up to the first one that ended with the file.
    fn cut(&self, read: Read<R>) -> (R, Pieces) {
        let window = self.bounds.window;
        let mut pieces = Vec::with_capacity(read.parts.len());
        for (index, bytes) in &read.parts {
            let start = index * window;
            let len = bytes.len() as u64;
            let within =
                |place: u64| usize::try_from(place.saturating_sub(start).min(len)).expect("in a window");
            pieces.push(bytes.slice(within(read.range.start)..within(read.range.end)));
            if len < window {
                break;
            }
        }
        (read.reader, Pieces { pieces, window })
    }

    fn fresh_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
mod tests;
