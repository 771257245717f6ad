//! The read lane's threads: readers take commands, fetchers wait for the device.
//!
//! A lookup is read by the reader that took it, and so is a stream's read as far as the page cache
//! has it. What is missing is read on by a fetcher, behind those that wait already. What comes next
//! in its file is brought into the page cache meanwhile, as [`Readahead`] says, so that each byte
//! is copied once. Fetchers serve waiting reads before they fetch ahead, and one of them is always
//! free for those. All of them let request threads go first: see `urgency` and `steps`.
//!
//! Always holds: no reader waits for the device with a stream's read; no more windows are under
//! way ahead than there are fetchers, since more would fill the queue in which the writer's
//! requests stand; and a read that waits can be given up, whatever its fetcher hangs in.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane, ReadPattern};
use bytes::Bytes;
use rustix::fs::Advice;

use crate::files::Files;
use crate::lane::{Accepted, Work};
use crate::lanes::Lanes;
use crate::open_file::OpenFile;
use crate::readahead::{Bounds, Order, Readahead};
use crate::steps::{self, Patience};

/// How much the kernel is asked for at a time; it cuts larger requests down to its own read-ahead,
/// which may be this small.
const KERNEL_STEP: u64 = 128 << 10;

/// Bytes up to which a read takes memory without a look at how many the file has.
const LITTLE: u64 = 4096;

/// What the fetchers of one disk are to do, shared by its threads.
pub(crate) struct Fetches {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    /// Reads that wait for the device, each by its number: those that no fetcher has begun yet ...
    waiting: VecDeque<(u64, Missing)>,
    /// ... and what is to be completed, of these and of those that were begun.
    reads: HashMap<u64, Accepted>,
    /// Reads that ever waited.
    count: u64,
    readahead: Readahead,
    /// Fetches ahead that are under way.
    ahead: usize,
    /// How many of them there may be.
    ahead_limit: usize,
    closed: bool,
}

/// What a read that waits has, and has not yet.
struct Missing {
    file: FileName,
    at: u64,
    len: u64,
    /// Its first bytes.
    bytes: Vec<u8>,
}

/// What a fetcher does next.
enum Fetch {
    /// Carries a read out.
    Read(u64, Missing),
    /// Has a window brought into the page cache.
    Ahead(Order),
}

impl Fetches {
    pub(crate) fn new(bounds: Bounds, fetchers: usize) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            reads: HashMap::new(),
            count: 0,
            readahead: Readahead::new(bounds),
            ahead: 0,
            ahead_limit: fetchers.saturating_sub(1).max(1),
            closed: false,
        };
        Self { state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Gives up all reads that wait, those too that a fetcher is at.
    pub(crate) fn abandon(&self) -> Vec<Accepted> {
        let mut state = self.lock();
        state.waiting.clear();
        state.reads.drain().map(|(_, job)| job).collect()
    }

    /// A read was answered out of the page cache.
    fn answered(&self, file: &FileName, at: u64, len: u64) {
        let more = self.lock().readahead.on_read(file, at..at.saturating_add(len), false);
        self.wake_for(more);
    }

    /// A read has to wait.
    fn wait(&self, job: Accepted, missing: Missing) {
        let mut state = self.lock();
        let range = missing.at..missing.at.saturating_add(missing.len);
        let more = state.readahead.on_read(&missing.file, range, true);
        state.count += 1;
        let number = state.count;
        state.waiting.push_back((number, missing));
        state.reads.insert(number, job);
        drop(state);
        self.wake_for(more + 1);
    }

    fn wake_for(&self, fetches: u64) {
        (0..fetches).for_each(|_| self.wake.notify_one());
    }

    /// No read comes any more.
    fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    /// What to fetch next; waits for it. `None` when no read can come any more and none waits.
    fn next(&self) -> Option<Fetch> {
        let mut state = self.lock();
        loop {
            let next = state.next();
            if next.is_some() || state.closed {
                return next;
            }
            state = self.wake.wait(state).expect("nothing in the fetches' code panics");
        }
    }

    /// A fetch ahead has ended. `here`: there was nothing to fetch.
    fn end_ahead(&self, order: &Order, here: bool) {
        let mut state = self.lock();
        state.ahead -= 1;
        if here {
            state.readahead.on_here(order);
        }
    }

    /// A read has been carried out; `None` if it was given up meanwhile.
    fn end_read(&self, number: u64) -> Option<Accepted> {
        self.lock().reads.remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing in the fetches' code panics")
    }
}

impl State {
    /// Reads that wait come first. Nothing is begun ahead once no read can come.
    fn next(&mut self) -> Option<Fetch> {
        if let Some((number, missing)) = self.waiting.pop_front() {
            return Some(Fetch::Read(number, missing));
        }
        if self.closed || self.ahead >= self.ahead_limit {
            return None;
        }
        let order = self.readahead.next_order()?;
        self.ahead += 1;
        Some(Fetch::Ahead(order))
    }
}

/// A reader's belongings.
pub(crate) struct Reader {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) fetches: Arc<Fetches>,
    /// Readers that still work; the last one closes the fetches.
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
        if *pattern == ReadPattern::Random {
            let result = read(&self.files, &file, at, len);
            return self.lanes.complete(job, result.map(Done::Read));
        }
        let mut bytes = Vec::new();
        let open = self.files.existing(&file);
        if open.is_ok_and(|open| read_cached(&open, at, len, &mut bytes).is_ok()) {
            self.fetches.answered(&file, at, len);
            return self.lanes.complete(job, Ok(Done::Read(Bytes::from(bytes))));
        }
        // A missing page, a signal, an error: the other way finds out which.
        self.fetches.wait(job, Missing { file, at, len, bytes });
        if self.lanes.lost().is_some() {
            // The loss thread has perhaps given up already what waited before.
            self.fetches.abandon().into_iter().for_each(|job| self.lanes.complete_offline(job));
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.working.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.fetches.close();
        }
    }
}

/// A fetcher's belongings.
pub(crate) struct Fetcher {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) fetches: Arc<Fetches>,
}

impl Fetcher {
    /// Works until the fetches are closed and no read waits for one.
    pub(crate) fn run(self) {
        while let Some(fetch) = self.fetches.next() {
            match fetch {
                Fetch::Read(number, missing) => self.read(number, missing),
                Fetch::Ahead(order) => {
                    let requested = match self.lanes.lost() {
                        Some(_) => Err(DiskError::Offline),
                        None => self.request(&order),
                    };
                    self.fetches.end_ahead(&order, !matches!(requested, Ok(true)));
                    // Perhaps no read comes here that would find it.
                    if let Err(error @ DiskError::Failed { .. }) = requested {
                        self.lanes.lose(&error.to_string());
                    }
                }
            }
        }
    }

    fn read(&self, number: u64, missing: Missing) {
        let Missing { file, at, len, bytes } = missing;
        let result = match self.lanes.lost() {
            Some(_) => Err(DiskError::Offline),
            None => (self.files.existing(&file).and_then(|open| read_on(&open, at, len, true, bytes)))
                .map_err(|error| self.files.error("read", file.as_str(), &error)),
        };
        if let Some(job) = self.fetches.end_read(number) {
            self.lanes.complete(job, result.map(Done::Read));
        }
    }

    /// Requests a window from the device and waits for its end. False if there is nothing to
    /// request: the page cache has it, or the file ends before it.
    fn request(&self, order: &Order) -> Result<bool, DiskError> {
        let request = |file: Arc<OpenFile>| {
            let end = file.len()?.min(order.at + order.len);
            if order.at >= end || seems_cached(&file, order.at, end) {
                return Ok(false);
            }
            will_need(&file, order.at, end);
            read_steps(&file, end - 1, 1, &mut Vec::new(), Patience::Waits)?;
            Ok(true)
        };
        let requested = self.files.existing(&order.file).and_then(request);
        requested.map_err(|error| self.files.error("read", order.file.as_str(), &error))
    }
}

/// Reads up to `len` bytes of a file; fewer at its end. Others read it, too: it is kept open.
fn read(files: &Files, name: &FileName, at: u64, len: u64) -> Result<Bytes, DiskError> {
    read_of(files, files.existing(name), name, at, len)
}

/// The same of a file that is perhaps not read again.
pub(crate) fn read_once(files: &Files, name: &FileName, at: u64, len: u64) -> Result<Bytes, DiskError> {
    read_of(files, files.existing_once(name), name, at, len)
}

fn read_of(
    files: &Files,
    file: io::Result<Arc<OpenFile>>,
    name: &FileName,
    at: u64,
    len: u64,
) -> Result<Bytes, DiskError> {
    let bytes = file.and_then(|file| read_on(&file, at, len, len > KERNEL_STEP, Vec::new()));
    bytes.map_err(|error| files.error("read", name.as_str(), &error))
}

/// Reads what is there of a range as far as the page cache has it. An error if it has not got all.
fn read_cached(file: &OpenFile, at: u64, len: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    read_steps(file, at, len, bytes, Patience::None)
}

/// Reads what is there of a range, behind what was read of it before. `hurry`: all of it is
/// requested from the device before the first byte is waited for.
fn read_on(file: &OpenFile, at: u64, len: u64, hurry: bool, mut bytes: Vec<u8>) -> io::Result<Bytes> {
    if hurry {
        let end = at.saturating_add(len).min(file.len()?);
        will_need(file, at.saturating_add(bytes.len() as u64), end);
    }
    read_steps(file, at, len, &mut bytes, Patience::Waits)?;
    Ok(Bytes::from(bytes))
}

fn read_steps(file: &OpenFile, at: u64, len: u64, bytes: &mut Vec<u8>, patience: Patience) -> io::Result<()> {
    // No more memory than the file has bytes, whatever was asked for; a little is not worth the
    // call.
    let len = if len > LITTLE { len.min(file.len()?.saturating_sub(at)) } else { len };
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.reserve_exact(len.saturating_sub(bytes.len()));
    while bytes.len() < len {
        match steps::read(file, at, bytes, len, patience) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Requests a range from the device, without waiting for it.
fn will_need(file: &OpenFile, at: u64, end: u64) {
    for step in (at..end).step_by(usize::try_from(KERNEL_STEP).expect("it is small")) {
        let wanted = NonZeroU64::new(KERNEL_STEP.min(end - step));
        // A hint: the read that follows finds every error.
        let _ = rustix::fs::fadvise(file, step, wanted, Advice::WillNeed);
        steps::let_others_in();
    }
}

/// Whether a range is likely to be in the page cache: a byte of every so many is.
fn seems_cached(file: &OpenFile, at: u64, end: u64) -> bool {
    let probes = (at..end).step_by(usize::try_from(KERNEL_STEP).expect("it is small"));
    let mut byte = Vec::with_capacity(1);
    probes.chain([end - 1]).all(|at| {
        byte.clear();
        steps::read(file, at, &mut byte, 1, Patience::None).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, Ticket};

    use super::*;

    struct Nobody;

    impl CompletionSink for Nobody {
        fn complete(&self, _: Completion) {}
    }

    /// A read as a reader takes it from its lane.
    fn taken(lanes: &Lanes) -> Accepted {
        let (file, pattern) = (FileName::new("0.log"), ReadPattern::Sequential);
        let command = DiskCommand::Read { file, at: 0, len: 100, pattern };
        let sink: Arc<dyn CompletionSink> = Arc::new(Nobody);
        lanes.submit(Lane::Read, command, Ticket(0), &sink, crate::clock::now()).expect("there is room");
        lanes.take_one(Lane::Read).expect("it was just put there")
    }

    #[test]
    fn reads_go_first_and_one_fetcher_is_left_for_them() {
        let lanes = Lanes::new(DiskIndex(0), 10, None);
        let fetches = Fetches::new(Bounds { window: 10, ahead: 8, budget: 1000 }, 3);
        for _ in 0..3 {
            let missing = Missing { file: FileName::new("0.log"), at: 0, len: 100, bytes: Vec::new() };
            fetches.wait(taken(&lanes), missing);
        }
        let mut under_way = Vec::new();
        for _ in 0..5 {
            under_way.extend(fetches.lock().next());
        }
        let is_read = |fetch: &Fetch| matches!(fetch, Fetch::Read(..));
        assert_eq!(under_way.iter().map(is_read).collect::<Vec<_>>(), [true, true, true, false, false]);
        assert!(fetches.lock().next().is_none(), "all three fetchers are ahead");
        let Some(Fetch::Ahead(order)) = under_way.pop() else { panic!("two are ahead") };
        fetches.end_ahead(&order, false);
        assert!(matches!(fetches.lock().next(), Some(Fetch::Ahead(_))));
        // What its fetcher is at is given up as well, and is not completed again.
        assert_eq!(fetches.abandon().len(), 3);
        assert!(fetches.end_read(1).is_none());
        fetches.lock().ahead = 0;
        fetches.close();
        assert!(fetches.next().is_none(), "nothing is begun ahead once no read can come");
    }
}
