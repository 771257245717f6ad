//! io_uring: the runs of different files, and the syncs of a group, are in flight at the same time.
//!
//! Always holds: while the kernel may look at an operation's memory (its vector, its bytes, its
//! descriptor), the operation's slot owns that memory; a slot is emptied only after its completion
//! was reaped, and leaked if this thread panics before.
#![expect(unsafe_code, reason = "io_uring shares memory with the kernel")]

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, squeue, types};

use super::{Backend, Cursor, FileRun, RunEnd, SyncFailed, Syncs, Write};
use crate::open_file::OpenFile;

/// Operations in flight.
const DEPTH: u32 = 64;

/// Whether this kernel, and its administrator, let us.
pub(super) fn probe() -> io::Result<()> {
    Uring::new().map(drop)
}

/// A ring of one disk thread.
pub(super) struct Uring {
    ring: IoUring,
}

impl Uring {
    /// Sets a ring up.
    ///
    /// # Errors
    /// If the kernel has none, forbids it (`kernel.io_uring_disabled`, seccomp), or does not know
    /// our operations.
    pub(super) fn new() -> io::Result<Self> {
        let ring = IoUring::new(DEPTH)?;
        let mut known = Probe::new();
        ring.submitter().register_probe(&mut known)?;
        if [opcode::Writev::CODE, opcode::Fsync::CODE].iter().all(|code| known.is_supported(*code)) {
            Ok(Self { ring })
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Puts operations into the ring.
    ///
    /// # Safety
    /// What the entry points to stays valid until its completion was reaped.
    unsafe fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: as required of the caller.
        let pushed = unsafe { self.ring.submission().push(entry) };
        assert!(pushed.is_ok(), "no more operations are in flight than the ring has room for");
    }

    /// Submits what was pushed, waits for at least one completion, and gives all: the slot, and the
    /// kernel's result.
    fn reap(&mut self) -> Vec<(usize, io::Result<usize>)> {
        loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if is_passing(&error) => {}
                // The ring itself is broken. The thread ends; its slots leak what the kernel may
                // still look at.
                Err(error) => panic!("io_uring_enter failed: {error}"),
            }
            let reaped: Vec<_> = self
                .ring
                .completion()
                .map(|entry| {
                    let slot = usize::try_from(entry.user_data()).expect("slots are numbered by us");
                    let count = usize::try_from(entry.result());
                    (slot, count.map_err(|_| io::Error::from_raw_os_error(-entry.result())))
                })
                .collect();
            if !reaped.is_empty() {
                return reaped;
            }
        }
    }
}

/// Conditions that pass by themselves: a signal, too little memory for now, completions to be
/// reaped first.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

/// A run at work, and the vector that the kernel reads while a write of it is in flight.
struct Active<W> {
    run: FileRun<W>,
    cursor: Cursor,
    vector: Vec<libc::iovec>,
}

// SAFETY: the vector's pointers lead into `run`'s bytes, which move with it and are themselves
// `Send`.
unsafe impl<W: Write> Send for Active<W> {}

/// What the kernel may be looking at. Leaks it when dropped in the middle, which only a panic does.
struct Slots<S>(Vec<Option<S>>);

impl<S> Slots<S> {
    fn new() -> Self {
        Self((0..DEPTH).map(|_| None).collect())
    }

    fn free(&self) -> Option<usize> {
        self.0.iter().position(Option::is_none)
    }

    fn all_free(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    fn reaped(&mut self, slot: usize) -> S {
        self.0[slot].take().expect("a completion names a slot in use")
    }
}

impl<S> Drop for Slots<S> {
    fn drop(&mut self) {
        self.0.drain(..).flatten().for_each(std::mem::forget);
    }
}

impl<W: Write> Backend<W> for Uring {
    fn write(&mut self, runs: Vec<FileRun<W>>, ended: &mut dyn FnMut(FileRun<W>, RunEnd)) {
        let mut waiting: VecDeque<Active<W>> = runs
            .into_iter()
            .map(|run| Active { run, cursor: Cursor::default(), vector: Vec::new() })
            .collect();
        let mut slots = Slots::new();
        let mut failed = false;
        while !(waiting.is_empty() && slots.all_free()) {
            while let Some(slot) = slots.free() {
                let Some(mut active) = waiting.pop_front() else { break };
                let Some((at, parts)) = active.cursor.span(&active.run.writes) else {
                    ended(active.run, RunEnd::Done);
                    continue;
                };
                if failed {
                    ended(active.run, RunEnd::Skipped);
                    continue;
                }
                active.vector = parts.iter().map(as_iovec).collect();
                let active = slots.0[slot].insert(active);
                let descriptor = types::Fd(active.run.file.as_fd().as_raw_fd());
                let count = u32::try_from(active.vector.len()).expect("a span has at most IOV_MAX parts");
                let entry = opcode::Writev::new(descriptor, active.vector.as_ptr(), count)
                    .offset(at)
                    .build()
                    .user_data(slot as u64);
                // SAFETY: the slot keeps the vector, the bytes and the file until the completion
                // was reaped.
                unsafe { self.push(&entry) };
            }
            if slots.all_free() {
                continue;
            }
            for (slot, result) in self.reap() {
                let mut active = slots.reaped(slot);
                match result {
                    Ok(0) => {
                        failed = true;
                        ended(active.run, RunEnd::Failed(io::ErrorKind::WriteZero.into()));
                    }
                    Ok(count) => {
                        active.cursor.advance(&active.run.writes, count);
                        waiting.push_front(active);
                    }
                    Err(error) if is_passing(&error) => waiting.push_front(active),
                    Err(error) => {
                        failed = true;
                        ended(active.run, RunEnd::Failed(error));
                    }
                }
            }
        }
    }
}

impl Syncs for Uring {
    fn sync(&mut self, files: &[Arc<OpenFile>]) -> Result<(), SyncFailed> {
        let mut waiting: VecDeque<Arc<OpenFile>> = files.iter().cloned().collect();
        let mut slots = Slots::new();
        let mut outcome = Ok(());
        while !(waiting.is_empty() && slots.all_free()) {
            while let Some(slot) = slots.free() {
                let Some(file) = waiting.pop_front() else { break };
                let descriptor = types::Fd(file.as_fd().as_raw_fd());
                slots.0[slot] = Some(file);
                let entry = opcode::Fsync::new(descriptor)
                    .flags(types::FsyncFlags::DATASYNC)
                    .build()
                    .user_data(slot as u64);
                // SAFETY: the slot keeps the file open until the completion was reaped.
                unsafe { self.push(&entry) };
            }
            for (slot, result) in self.reap() {
                let file = slots.reaped(slot);
                match result {
                    Ok(_) => {}
                    Err(error) if is_passing(&error) => waiting.push_front(file),
                    Err(error) => outcome = outcome.and(Err(SyncFailed { file, error })),
                }
            }
        }
        outcome
    }
}

/// The kernel's form of a part. The pointer is good as long as the bytes that the part was made of.
fn as_iovec(part: &IoSlice<'_>) -> libc::iovec {
    libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }
}
