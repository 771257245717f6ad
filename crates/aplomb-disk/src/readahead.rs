//! What to ask a device for before it is read: a pure state machine.
//!
//! A read that follows the one before it is a stream. As long as the page cache has what a stream
//! reads, nothing is done for it. From the first read on for which something was missing, the
//! windows of its file that come next are asked for, twice as many with each read, so that they
//! come at the same time: a disk that takes 20 ms for anything still gives 8 MiB in 20 ms. A window
//! that turns out to be in the page cache already halves that number, and a stream for which
//! nothing is to be asked any more is forgotten. What comes goes to the page cache; no bytes are
//! kept here, so that no change of a file has to be told.
//!
//! Always holds: a window is asked for once for a stream, when it is in it or has at most
//! [`Bounds::ahead`] before it, and no more of those than its share of [`Bounds::budget`], but one;
//! at most [`MAX_STREAMS`] are remembered.

use std::collections::VecDeque;
use std::ops::Range;

use aplomb_disk_api::FileName;

/// Streams that are remembered.
const MAX_STREAMS: usize = 64;

/// Bounds of the read-ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of a window.
    pub(crate) window: u64,
    /// Windows ahead of a stream, at most, beside the rest of the one that it is in.
    pub(crate) ahead: u64,
    /// Bytes ahead of all streams.
    pub(crate) budget: u64,
}

/// A window to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    stream: u64,
    pub(crate) file: FileName,
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// The state.
#[derive(Debug)]
pub(crate) struct Readahead {
    bounds: Bounds,
    /// The one that was read last is at the back.
    streams: VecDeque<Stream>,
    /// Streams that there ever were.
    begun: u64,
}

/// A reader that goes through a file.
#[derive(Debug)]
struct Stream {
    number: u64,
    file: FileName,
    /// Where its next read begins.
    next: u64,
    /// How many windows are asked for ahead of it.
    ahead: u64,
    /// By their index: the windows that may be asked for. All before them were, or it has passed
    /// them.
    wanted: Range<u64>,
}

impl Readahead {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, streams: VecDeque::new(), begun: 0 }
    }

    /// A range of a file is read. `missing`: the page cache has not got all of it. Gives how many
    /// windows more are to be asked for.
    pub(crate) fn on_read(&mut self, file: &FileName, range: Range<u64>, missing: bool) -> u64 {
        let window = self.bounds.window;
        let follows = |stream: &Stream| stream.file == *file && range.start.abs_diff(stream.next) <= window;
        let known = self.streams.iter().position(follows).and_then(|place| self.streams.remove(place));
        if known.is_none() && !missing {
            return 0;
        }
        let mut stream = known.unwrap_or_else(|| {
            self.begun += 1;
            Stream { number: self.begun, file: file.clone(), next: 0, ahead: 0, wanted: 0..0 }
        });
        if self.streams.len() == MAX_STREAMS {
            self.streams.pop_front();
        }
        let windows = self.bounds.budget / window;
        let share = (windows / (self.streams.len() as u64 + 1)).max(1).min(windows);
        stream.next = range.end;
        stream.ahead = (stream.ahead * 2).clamp(1, self.bounds.ahead);
        let here = range.end / window;
        // What is left of the window that it is in is none of those ahead.
        let rest = u64::from(share > 0 && !range.end.is_multiple_of(window));
        let end_before = stream.wanted.end.max(here);
        let end = end_before.max(here + rest + stream.ahead.min(share));
        stream.wanted = stream.wanted.start.max(here)..end;
        let more = end - end_before;
        self.streams.push_back(stream);
        more
    }

    /// The next window to ask for.
    pub(crate) fn next_order(&mut self) -> Option<Order> {
        let window = self.bounds.window;
        let stream = self.streams.iter_mut().find(|stream| !stream.wanted.is_empty())?;
        let index = stream.wanted.start;
        stream.wanted.start += 1;
        Some(Order { stream: stream.number, file: stream.file.clone(), at: index * window, len: window })
    }

    /// There was nothing to ask for: the page cache has this window, or the file ends before it.
    pub(crate) fn on_here(&mut self, order: &Order) {
        let Some(place) = self.streams.iter().position(|stream| stream.number == order.stream) else {
            return; // forgotten meanwhile
        };
        let stream = &mut self.streams[place];
        stream.ahead /= 2;
        if stream.ahead == 0 {
            self.streams.remove(place);
        }
    }
}

#[cfg(test)]
mod tests;
