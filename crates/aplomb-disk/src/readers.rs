//! The read lane's threads: readers take commands, fetchers bring windows.
//!
//! A lookup is read by the reader that took it, and so is a stream's read if the page cache has all
//! of it: that saves a copy. Otherwise it is answered from the windows of [`Readahead`], or waits
//! there (no thread waits with it) until a fetcher has brought what is missing. Fetchers serve
//! waiting reads before they fetch ahead, and one of them is always free for those. All of them let
//! request threads go first: see `urgency` and `steps`.

use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane, ReadPattern};
use bytes::Bytes;
use rustix::fs::Advice;

use crate::cached::{read_cached, seems_cached};
use crate::files::{Files, OpenFile};
use crate::lane::{Accepted, Work};
use crate::lanes::Lanes;
use crate::readahead::{Bounds, Order, Readahead};
use crate::steps::{self, Patience};

/// How much the kernel is asked for at a time; it cuts larger requests down to its own read-ahead,
/// which may be this small.
const KERNEL_STEP: u64 = 128 << 10;

/// The windows of one disk, shared by its threads.
pub(crate) struct Windows {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    readahead: Readahead<Accepted>,
    /// Fetches ahead that are under way.
    ahead: usize,
    /// How many of them there may be.
    ahead_limit: usize,
    closed: bool,
}

impl Windows {
    pub(crate) fn new(bounds: Bounds, fetchers: usize) -> Self {
        let ahead_limit = fetchers.saturating_sub(1).max(1);
        let state = State { readahead: Readahead::new(bounds), ahead: 0, ahead_limit, closed: false };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Bytes of a file were written or cut off. To be called after the change and before its
    /// completion.
    pub(crate) fn changed(&self, file: &FileName, ranges: impl Iterator<Item = Range<u64>>) {
        let mut state = self.lock();
        ranges.for_each(|range| state.readahead.changed(file, range));
    }

    /// A name stands for something else now. To be called after the change and before its
    /// completion.
    pub(crate) fn forget(&self, name: &str) {
        self.lock().readahead.forget(name);
    }

    /// Gives up all reads that wait for a window.
    pub(crate) fn abandon(&self) -> Vec<Accepted> {
        self.lock().readahead.abandon()
    }

    /// No read comes any more.
    fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// The next window to fetch; waits for one. `None` when no read can come any more and none
    /// waits.
    fn next_order(&self) -> Option<Order> {
        let mut state = self.lock();
        loop {
            let ahead_too = state.ahead < state.ahead_limit && !state.closed;
            if let Some(order) = state.readahead.next_order(ahead_too) {
                state.ahead += usize::from(!order.wanted);
                return Some(order);
            }
            if state.closed {
                return None;
            }
            state = self.wake.wait(state).expect("nothing in the windows' code panics");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing in the windows' code panics")
    }
}

/// A reader's belongings.
pub(crate) struct Reader {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) windows: Arc<Windows>,
    /// Readers that still work; the last one closes the windows.
    pub(crate) working: Arc<AtomicUsize>,
}

impl Reader {
    /// Works until the lane is closed and empty.
    pub(crate) fn run(self) {
        while let Some(job) = self.lanes.take_one(Lane::Read) {
            self.read(job);
        }
    }

    fn read(&self, job: Accepted) {
        if self.lanes.lost().is_some() {
            return self.lanes.complete_offline(job);
        }
        let Work::Command(DiskCommand::Read { file, at, len, pattern }) = &job.work else {
            panic!("{:?} does not stand in the read lane", job.work)
        };
        let (file, at, len) = (file.clone(), *at, u64::from(*len));
        let mut windows = self.windows.lock();
        if *pattern == ReadPattern::Random || len == 0 || len > windows.readahead.longest() {
            drop(windows);
            let result = read(&self.files, &file, at, len);
            return self.lanes.complete(job, result.map(Done::Read));
        }
        if !windows.readahead.knows(&file, at, len) {
            drop(windows);
            let open = self.files.existing(&file);
            if let Some(bytes) = open.ok().and_then(|open| read_cached(&*open, at, len)) {
                return self.lanes.complete(job, Ok(Done::Read(bytes)));
            }
            windows = self.windows.lock();
        }
        let before = windows.readahead.orders();
        let answered = windows.readahead.read(job, &file, at, len);
        let orders = windows.readahead.orders() - before;
        drop(windows);
        (0..orders).for_each(|_| self.windows.wake.notify_one());
        if let Some((job, pieces)) = answered {
            self.lanes.complete(job, Ok(Done::Read(pieces.join())));
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.working.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.windows.close();
        }
    }
}

/// A fetcher's belongings.
pub(crate) struct Fetcher {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) windows: Arc<Windows>,
}

impl Fetcher {
    /// Works until the windows are closed and no read waits for one.
    pub(crate) fn run(self) {
        while let Some(order) = self.windows.next_order() {
            if !order.wanted && self.is_cached(&order) {
                // Who reads it next gets it from there, with a copy less and by one thread.
                let mut windows = self.windows.lock();
                if windows.readahead.skip(order.id) {
                    windows.ahead -= 1;
                    continue;
                }
            }
            let result =
                if self.lanes.lost().is_some() { Err(DiskError::Offline) } else { self.fetch(&order) };
            let mut windows = self.windows.lock();
            windows.ahead -= usize::from(!order.wanted);
            let ended = windows.readahead.fetched(order.id, &result);
            let orders = windows.readahead.orders();
            drop(windows);
            if orders > 0 {
                // This one was perhaps all that could be under way ahead.
                self.windows.wake.notify_one();
            }
            for (job, result) in ended {
                self.lanes.complete(job, result.map(|pieces| Done::Read(pieces.join())));
            }
            // After its readers have heard of it, so that they hear this; and perhaps no read was
            // waiting for the window.
            if let Err(error @ DiskError::Failed { .. }) = &result {
                self.lanes.lose(&error.to_string());
            }
        }
    }

    fn is_cached(&self, order: &Order) -> bool {
        let file = self.files.existing(&order.file);
        file.is_ok_and(|file| seems_cached(&*file, order.at..order.at + order.len))
    }

    fn fetch(&self, order: &Order) -> Result<Bytes, DiskError> {
        let bytes = self.files.existing(&order.file);
        let bytes = bytes.and_then(|file| read_at(&file, order.at, order.len, true));
        bytes.map_err(|error| self.files.error("read", order.file.as_str(), &error))
    }
}

/// Reads up to `len` bytes of a file; fewer at its end.
pub(crate) fn read(files: &Files, name: &FileName, at: u64, len: u64) -> Result<Bytes, DiskError> {
    let bytes = files.existing(name).and_then(|file| read_at(&file, at, len, len > KERNEL_STEP));
    bytes.map_err(|error| files.error("read", name.as_str(), &error))
}

/// Reads what is there of a range. `hurry`: all of it is requested from the device before the first
/// byte is waited for.
fn read_at(file: &OpenFile, at: u64, len: u64, hurry: bool) -> io::Result<Bytes> {
    // No more memory than the file has bytes, whatever was asked for.
    let len = len.min(file.len()?.saturating_sub(at));
    if hurry && len > KERNEL_STEP {
        let end = at + len;
        for step in (at..end).step_by(usize::try_from(KERNEL_STEP).expect("it is small")) {
            let wanted = NonZeroU64::new(KERNEL_STEP.min(end - step));
            // A hint: the read that follows finds every error.
            let _ = rustix::fs::fadvise(file, step, wanted, Advice::WillNeed);
            steps::let_others_in();
        }
    }
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        match steps::read(file, at, &mut bytes, len, Patience::Waits) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Bytes::from(bytes))
}
