//! `bpf(2)`: maps, programs, the ring that programs write into.
//!
//! What always holds: all that is unsafe about tracing is here. What the kernel is given are plain
//! bytes that outlive the call; what it makes is a descriptor of ours, and nothing is pinned: with
//! the last descriptor, also of a process that is killed, program and map are gone.
#![expect(unsafe_code, reason = "bpf(2) and the memory of its rings have no safe face")]

use std::ffi::c_void;
use std::io::{Error, Result};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

// Commands.
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const TRACEPOINT_OPEN: i32 = 17;
const STATS_ENABLE: i32 = 32;

/// A program that is run where a tracepoint of the kernel with types is passed.
const OF_TRACING: u32 = 26;
const AT_TRACEPOINT: u32 = 23;
/// What the verifier says of a program that it refuses.
const ROOM_FOR_LOG: usize = 64 << 10;
/// A record of a ring begins with its length, of which two bits are flags.
const RECORD_HEAD: u64 = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// A kind of map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapKind {
    /// By a key of four bytes.
    Hash = 1,
    /// By number.
    Array = 2,
    /// Records, written by programs and read by us.
    Ring = 27,
}

/// What a call of `bpf(2)` is given: as much of the kernel's union as is used here.
#[repr(C, align(8))]
struct Request([u8; 120]);

impl Request {
    const fn new() -> Self {
        Self([0; 120])
    }

    fn four(mut self, at: usize, number: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        self
    }

    fn eight(mut self, at: usize, number: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&number.to_ne_bytes());
        self
    }

    fn name(mut self, at: usize, name: &str) -> Self {
        let length = name.len().min(15);
        self.0[at..at + length].copy_from_slice(&name.as_bytes()[..length]);
        self
    }

    /// The address of something that the caller keeps for the call.
    fn address<T>(self, at: usize, of: *const T) -> Self {
        self.eight(at, of as u64)
    }

    /// # Safety
    /// Addresses in the request are those of memory that is there for as long as the call takes, of
    /// the length that the command reads or writes there.
    unsafe fn ask(&self, command: i32) -> Result<i64> {
        // SAFETY: the kernel copies the request, all of which is initialized; what that points to
        // is the caller's promise.
        let done = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_ptr(), self.0.len()) };
        if done < 0 { Err(Error::last_os_error()) } else { Ok(done) }
    }

    /// The same for commands that make a descriptor.
    ///
    /// # Safety
    /// As [`Request::ask`]; and the command is one that makes a descriptor.
    unsafe fn make(&self, command: i32) -> Result<OwnedFd> {
        // SAFETY: the caller's promise.
        let made = unsafe { self.ask(command) }?;
        let made = RawFd::try_from(made).map_err(|_| Error::from_raw_os_error(libc::EBADF))?;
        // SAFETY: the kernel has just made this descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(made) })
    }
}

/// Memory that programs and we share, by keys.
#[derive(Debug)]
pub(super) struct Map {
    descriptor: OwnedFd,
    value: usize,
}

impl Map {
    /// Makes one; keys have four bytes.
    pub(super) fn new(kind: MapKind, name: &str, value: usize, entries: u32) -> Result<Self> {
        let (key, value_size) = if kind == MapKind::Ring { (0, 0) } else { (4, value as u32) };
        let request = Request::new().four(0, kind as u32).four(4, key).four(8, value_size).four(12, entries);
        // SAFETY: the request has no addresses, and makes a map.
        let descriptor = unsafe { request.name(28, name).make(MAP_CREATE) }?;
        Ok(Self { descriptor, value })
    }

    pub(super) fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// What is at a key, in words of eight bytes; `None` if there is nothing.
    pub(super) fn get(&self, key: u32) -> Option<Vec<u64>> {
        let mut value = vec![0_u64; self.value.div_ceil(8)];
        let request = Request::new().four(0, self.number() as u32).address(8, &raw const key);
        let request = request.address(16, value.as_mut_ptr());
        // SAFETY: the map's keys have four bytes, as `key`; its values have no more than `value`.
        unsafe { request.ask(MAP_LOOKUP) }.ok()?;
        Some(value)
    }

    /// Puts something at a key.
    pub(super) fn put(&self, key: u32, value: &[u64]) -> Result<()> {
        assert!(value.len() * 8 == self.value, "a value is as long as the map's");
        let request = Request::new().four(0, self.number() as u32).address(8, &raw const key);
        // SAFETY: the map's keys have four bytes, as `key`; its values as many as `value`.
        unsafe { request.address(16, value.as_ptr()).ask(MAP_UPDATE) }.map(drop)
    }
}

/// A program that runs whenever its tracepoint is passed, until this is dropped.
#[derive(Debug)]
pub(super) struct Attachment {
    program: OwnedFd,
    /// Closing it takes the program off.
    _link: OwnedFd,
}

impl Attachment {
    /// Loads a program and puts it onto the tracepoint of this number among the kernel's types.
    ///
    /// # Errors
    /// What the kernel says, and with it what its verifier has to say.
    pub(super) fn new(
        name: &str,
        code: &[u64],
        tracepoint: u32,
    ) -> std::result::Result<Self, (Error, String)> {
        // Functions of the kernel that programs call are for those that are free under its licence,
        // too; these are ours to offer so.
        let licence = c"Dual MIT/GPL";
        let request = Request::new()
            .four(0, OF_TRACING)
            .four(4, code.len() as u32)
            .address(8, code.as_ptr())
            .address(16, licence.as_ptr())
            .name(48, name)
            .four(68, AT_TRACEPOINT)
            .four(108, tracepoint);
        // SAFETY: `code` has as many instructions of eight bytes as is said, `licence` ends in 0.
        let program = unsafe { request.make(PROGRAM_LOAD) };
        let program = program.map_err(|error| (error, refusal(code, tracepoint, licence)))?;
        let request = Request::new().four(8, program.as_raw_fd() as u32);
        // SAFETY: the request has no addresses (no name: the program knows its tracepoint), and
        // makes a link.
        let link = unsafe { request.make(TRACEPOINT_OPEN) }.map_err(|error| (error, String::new()))?;
        Ok(Self { program, _link: link })
    }

    /// The program's descriptor, of which `/proc/self/fdinfo` tells.
    pub(super) fn number(&self) -> RawFd {
        self.program.as_raw_fd()
    }
}

/// The last line that the verifier says of a program that was refused; empty if it says nothing.
fn refusal(code: &[u64], tracepoint: u32, licence: &std::ffi::CStr) -> String {
    let mut log = vec![0_u8; ROOM_FOR_LOG];
    let request = Request::new()
        .four(0, OF_TRACING)
        .four(4, code.len() as u32)
        .address(8, code.as_ptr())
        .address(16, licence.as_ptr())
        .four(24, 1)
        .four(28, log.len() as u32)
        .address(32, log.as_mut_ptr())
        .four(68, AT_TRACEPOINT)
        .four(108, tracepoint);
    // SAFETY: as for the program; `log` has as much room as is said. Should it be taken this time,
    // its descriptor is closed again.
    let _ = unsafe { request.make(PROGRAM_LOAD) };
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let said = |line: &&str| !line.is_empty() && !line.starts_with("processed ");
    text.lines().rev().find(said).unwrap_or_default().to_owned()
}

/// The kernel counts what programs cost for as long as this is there.
#[derive(Debug)]
pub(super) struct Counting {
    /// Closing it ends the counting.
    _descriptor: OwnedFd,
}

impl Counting {
    pub(super) fn begin() -> Result<Self> {
        // SAFETY: the request has no addresses (its one word is 0: run times), and makes a
        // descriptor.
        unsafe { Request::new().make(STATS_ENABLE) }.map(|_descriptor| Self { _descriptor })
    }
}

/// The reading end of a ring.
#[derive(Debug)]
pub(super) struct RingReader {
    /// How far we have read: the first word of a page of our own.
    read: NonNull<c_void>,
    /// How far it is written, on a page; then the records, twice in a row, so that none is cut.
    written: NonNull<c_void>,
    page: usize,
    /// A power of two.
    size: usize,
}

// SAFETY: the mappings belong to this value alone; what the kernel writes in them is read by
// atomic loads, or is not written any more once these have said so.
unsafe impl Send for RingReader {}

impl RingReader {
    /// Maps the memory of a ring of `size` bytes.
    pub(super) fn new(ring: &Map, size: usize) -> Result<Self> {
        let page = rustix::param::page_size();
        let map = |length: usize, protection: ProtFlags, offset: usize| -> Result<NonNull<c_void>> {
            let descriptor = ring.descriptor.as_fd();
            // SAFETY: a new mapping, wherever the kernel has room.
            let at = unsafe {
                mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, descriptor, offset as u64)
            }?;
            NonNull::new(at).ok_or_else(|| Error::from_raw_os_error(libc::ENOMEM))
        };
        let read = map(page, ProtFlags::READ | ProtFlags::WRITE, 0)?;
        match map(page + 2 * size, ProtFlags::READ, page) {
            Ok(written) => Ok(Self { read, written, page, size }),
            Err(error) => {
                // SAFETY: mapped above, and nothing points into it.
                let _ = unsafe { munmap(read.as_ptr(), page) };
                Err(error)
            }
        }
    }

    /// Takes the next record, if one is complete; `record` becomes it.
    pub(super) fn take(&mut self, record: &mut Vec<u8>) -> bool {
        record.clear();
        // SAFETY: both pages begin with a counter of eight bytes, which we and the kernel read and
        // write as a whole.
        let (read, written) = unsafe {
            (AtomicU64::from_ptr(self.read.as_ptr().cast()), &*self.written.as_ptr().cast::<AtomicU64>())
        };
        loop {
            let at = read.load(Ordering::Relaxed);
            if at >= written.load(Ordering::Acquire) {
                return false;
            }
            let offset = self.page + (at as usize & (self.size - 1));
            // SAFETY: heads are aligned to eight bytes and lie in the first of the two copies.
            let head = unsafe { &*self.written.as_ptr().cast::<u8>().add(offset).cast::<AtomicU32>() };
            let head = head.load(Ordering::Acquire);
            let length = (head & !(BUSY | DISCARDED)) as usize;
            // The kernel writes no record that is longer than its ring.
            if head & BUSY != 0 || length > self.size {
                return false;
            }
            if head & DISCARDED == 0 {
                // SAFETY: the record begins in the first copy and is no longer than one, so it ends
                // in the second at the latest; it is not written any more until it was read.
                let bytes = unsafe {
                    let begin = self.written.as_ptr().cast::<u8>().add(offset + RECORD_HEAD as usize);
                    std::slice::from_raw_parts(begin, length)
                };
                record.extend_from_slice(bytes);
            }
            read.store(at + (length as u64 + RECORD_HEAD).next_multiple_of(8), Ordering::Release);
            if head & DISCARDED == 0 {
                return true;
            }
        }
    }
}

impl Drop for RingReader {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, with these lengths, and nothing points into them any more.
        unsafe {
            let _ = munmap(self.read.as_ptr(), self.page);
            let _ = munmap(self.written.as_ptr(), self.page + 2 * self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_words_where_they_belong() {
        let request = Request::new().four(4, 0x0102_0304).eight(8, 7).name(48, "a-name-of-more-than-fifteen");
        assert_eq!(request.0[4..8], 0x0102_0304_u32.to_ne_bytes());
        assert_eq!(request.0[8..16], 7_u64.to_ne_bytes());
        assert_eq!(&request.0[48..64], b"a-name-of-more-\0");
        assert!(request.0[64..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn what_is_no_command_is_an_error() {
        // SAFETY: the kernel knows no such command, and reads nothing.
        assert!(unsafe { Request::new().ask(9_999) }.is_err());
    }
}
