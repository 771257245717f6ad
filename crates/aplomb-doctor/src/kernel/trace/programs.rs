//! The three programs: a thread of the process goes to sleep, one is woken, a device has answered.
//!
//! What always holds: a thread of another process costs a comparison; a wait that is shorter than
//! the threshold costs two visits to a map; a stack is walked of a longer one alone, when it is
//! over, and only if there is room in the ring to tell of it. Nothing waits for a reader: what
//! finds no room is counted.

use super::asm::{Assembler, Helper, Register, Size, Sum, When};
use super::btf::{Btf, TYPEDEF};
use super::records::{IO, Layout, WAIT};

use Register::{Frame, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use Size::{Eight, Four};

/// Kernel and processor differ in where things are: offsets in bytes, from the kernel's own types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    tgid: i16,
    pid: i16,
    /// How often a thread has given its processor away, and how often it had to.
    gave: i16,
    had_to: i16,
    /// Of the registers: the system call, and its arguments.
    call: i16,
    arguments: [i16; 6],
    /// `None` where a kernel keeps requests of devices otherwise: these are not traced there.
    request: Option<RequestOffsets>,
}

/// Of a request to a device.
#[derive(Clone, Copy, Debug)]
struct RequestOffsets {
    start: i16,
    flags: i16,
    sector: i16,
    queue: i16,
    disk: i16,
    major: i16,
    minor: i16,
}

/// The maps that programs work with, by their descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapNumbers {
    /// Of each thread that sleeps: since when, and how often it has left its processor by then.
    pub(super) asleep: i32,
    pub(super) ring: i32,
    /// [`KNOBS`].
    pub(super) knobs: i32,
    /// [`COUNTS`].
    pub(super) counts: i32,
    /// Of devices that are followed: how many requests took how long.
    pub(super) devices: i32,
}

/// What may be turned while programs run, as words of one value: from how many nanoseconds on a
/// wait, and a request of a device, is told.
pub(super) const KNOBS: usize = 2;
/// What programs count, as words of one value: what found no room in the ring, and threads that
/// found none among those asleep.
pub(super) const COUNTS: usize = 2;
const LOST: i16 = 0;
const UNTRACKED: i16 = 8;
/// Kinds of requests that are told apart: reads, writes, flushes, others.
pub(super) const OPERATIONS: usize = 4;
/// Times that are told apart: each up to twice as long as the one before, from a microsecond.
pub(super) const SLOTS: usize = 32;

// States of a thread that goes to sleep: it waits for something and no signal ends that; it waits
// and may be woken by a signal; it is one that has nothing to do.
const UNINTERRUPTIBLE: i32 = 2;
const INTERRUPTIBLE: i32 = 1;
const IDLE: i32 = 0x400;
/// Nothing is woken for a record: we come and look.
const NO_WAKEUP: i32 = 1;
/// Where on a program's stack it keeps a key, and what goes with it.
const KEY: i16 = -4;
const VALUE: i16 = -24;

/// The call's number and arguments among a thread's registers, and what goes to a futex.
#[cfg(target_arch = "x86_64")]
mod registers {
    pub(super) const CALL: &str = "orig_ax";
    pub(super) const ARGUMENTS: [(&str, i16); 6] =
        [("di", 0), ("si", 0), ("dx", 0), ("r10", 0), ("r8", 0), ("r9", 0)];
    pub(super) const FUTEX: i32 = 202;
    pub(super) const CALL_SIZE: super::Size = super::Size::Eight;
}
#[cfg(not(target_arch = "x86_64"))]
mod registers {
    pub(super) const CALL: &str = "syscallno";
    pub(super) const ARGUMENTS: [(&str, i16); 6] =
        [("orig_x0", 0), ("regs", 8), ("regs", 16), ("regs", 24), ("regs", 32), ("regs", 40)];
    pub(super) const FUTEX: i32 = 98;
    pub(super) const CALL_SIZE: super::Size = super::Size::Four;
}

impl Offsets {
    /// Finds them.
    ///
    /// # Errors
    /// The name of what this kernel does not have.
    pub(super) fn of(btf: &Btf) -> Result<Self, &'static str> {
        let find = |structure, member| btf.offset(structure, member).ok_or(member);
        let mut arguments = [0; 6];
        for (at, (member, further)) in arguments.iter_mut().zip(registers::ARGUMENTS) {
            *at = find("pt_regs", member)? + further;
        }
        Ok(Self {
            tgid: find("task_struct", "tgid")?,
            pid: find("task_struct", "pid")?,
            gave: find("task_struct", "nvcsw")?,
            had_to: find("task_struct", "nivcsw")?,
            call: find("pt_regs", registers::CALL)?,
            arguments,
            request: RequestOffsets::of(btf),
        })
    }
}

impl RequestOffsets {
    fn of(btf: &Btf) -> Option<Self> {
        Some(Self {
            start: btf.offset("request", "start_time_ns")?,
            flags: btf.offset("request", "cmd_flags")?,
            sector: btf.offset("request", "__sector")?,
            queue: btf.offset("request", "q")?,
            disk: btf.offset("request_queue", "disk")?,
            major: btf.offset("gendisk", "major")?,
            minor: btf.offset("gendisk", "first_minor")?,
        })
    }
}

/// A program and where it goes.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: &'static str,
    /// The number of its tracepoint among the kernel's types.
    pub(super) tracepoint: u32,
    pub(super) code: Vec<u64>,
}

/// Programs for the waits of process `tgid`.
///
/// # Errors
/// The name of what this kernel does not have.
pub(super) fn of_waits(
    btf: &Btf,
    offsets: &Offsets,
    maps: MapNumbers,
    tgid: u32,
) -> Result<[Program; 2], &'static str> {
    let tgid = i32::try_from(tgid).map_err(|_| "the process")?;
    let (sleeps, woken) = ("btf_trace_sched_switch", "btf_trace_sched_waking");
    let sleeps = btf.number(TYPEDEF, sleeps).ok_or(sleeps)?;
    // The state comes as an argument since 5.18, behind one that programs do not see.
    if btf.arguments(sleeps).is_none_or(|count| count < 5) {
        return Err("prev_state of sched_switch");
    }
    let woken = btf.number(TYPEDEF, woken).ok_or(woken)?;
    Ok([
        Program { name: "aplomb_sleeps", tracepoint: sleeps, code: sleeps_code(offsets, maps, tgid) },
        Program { name: "aplomb_woken", tracepoint: woken, code: woken_code(offsets, maps, tgid) },
    ])
}

/// The program for requests of devices.
///
/// # Errors
/// The name of what this kernel does not have.
pub(super) fn of_devices(btf: &Btf, offsets: &Offsets, maps: MapNumbers) -> Result<Program, &'static str> {
    let name = "btf_trace_block_rq_complete";
    let tracepoint = btf.number(TYPEDEF, name).ok_or(name)?;
    let request = offsets.request.ok_or("the beginning of a request")?;
    Ok(Program { name: "aplomb_answered", tracepoint, code: answered_code(&request, maps) })
}

/// `sched_switch(preempt, prev, next, prev_state)`: notes when a thread of the process goes to
/// sleep, if it is a sleep that may be told.
fn sleeps_code(offsets: &Offsets, maps: MapNumbers, tgid: i32) -> Vec<u64> {
    let mut code = Assembler::new();
    let (out, sleeps) = (code.label(), code.label());
    code.register(Sum::Set, R6, R1);
    code.load(Eight, R7, R6, 8);
    code.load(Four, R1, R7, offsets.tgid);
    code.jump(When::Other, R1, tgid, out);
    // A thread that is put aside goes on as soon as there is a processor.
    code.load(Eight, R1, R6, 0);
    code.jump(When::Other, R1, 0, out);
    code.load(Eight, R8, R6, 24);
    code.jump(When::AnyBit, R8, IDLE, out);
    code.jump(When::AnyBit, R8, UNINTERRUPTIBLE, sleeps);
    code.register(Sum::Set, R1, R8);
    code.number(Sum::And, R1, INTERRUPTIBLE);
    code.jump(When::Equal, R1, 0, out);
    // Of sleeps that a signal ends, those for a futex without a limit in time: locks of the
    // program. A queue that may stay empty is waited for with one.
    code.register(Sum::Set, R1, R7);
    code.call(Helper::TaskRegisters);
    code.load(registers::CALL_SIZE, R1, R0, offsets.call);
    code.jump(When::Other, R1, registers::FUTEX, out);
    code.load(Eight, R1, R0, offsets.arguments[3]);
    code.jump(When::Other, R1, 0, out);
    code.bind(sleeps);
    code.load(Four, R1, R7, offsets.pid);
    code.store(Four, Frame, KEY, R1);
    code.call(Helper::Nanoseconds);
    code.store(Eight, Frame, VALUE, R0);
    switches(&mut code, offsets);
    code.store(Eight, Frame, VALUE + 8, R1);
    code.map(R1, maps.asleep);
    point(&mut code, R2, KEY);
    point(&mut code, R3, VALUE);
    code.number(Sum::Set, R4, 0);
    code.call(Helper::MapUpdate);
    code.jump(When::Equal, R0, 0, out);
    count(&mut code, maps, UNTRACKED);
    code.bind(out);
    code.exit();
    code.finish()
}

/// `sched_waking(p)`, in the thread or interrupt that wakes `p`: tells of its wait, if that was
/// long. The sleeper has not gone on yet, so its stack is that of the wait.
fn woken_code(offsets: &Offsets, maps: MapNumbers, tgid: i32) -> Vec<u64> {
    let mut code = Assembler::new();
    let (out, lost) = (code.label(), code.label());
    code.register(Sum::Set, R6, R1);
    code.load(Eight, R7, R6, 0);
    code.load(Four, R1, R7, offsets.tgid);
    code.jump(When::Other, R1, tgid, out);
    code.load(Four, R1, R7, offsets.pid);
    code.store(Four, Frame, KEY, R1);
    code.map(R1, maps.asleep);
    point(&mut code, R2, KEY);
    code.call(Helper::MapLookup);
    code.jump(When::Equal, R0, 0, out);
    code.load(Eight, R8, R0, 0);
    // A thread may be woken before it was noted to sleep. What was noted then stays, and is of no
    // later sleep: the thread has run since.
    code.load(Eight, R9, R0, 8);
    switches(&mut code, offsets);
    code.register(Sum::Subtract, R9, R1);
    code.map(R1, maps.asleep);
    point(&mut code, R2, KEY);
    code.call(Helper::MapDelete);
    code.jump(When::Other, R9, 0, out);
    code.call(Helper::Nanoseconds);
    code.register(Sum::Set, R9, R0);
    code.register(Sum::Set, R1, R9);
    code.register(Sum::Subtract, R1, R8);
    code.value(R2, maps.knobs, 0);
    code.load(Eight, R2, R2, 0);
    code.jump_by(When::Below, R1, R2, out);
    reserve(&mut code, maps, Layout::WAIT_SIZE);
    code.jump(When::Equal, R0, 0, lost);
    code.store_number(Four, R0, Layout::KIND, WAIT);
    code.store(Eight, R0, Layout::BEGAN, R8);
    code.store(Eight, R0, Layout::ENDED, R9);
    code.register(Sum::Set, R8, R0);
    code.load(Four, R1, R7, offsets.pid);
    code.store(Four, R8, Layout::TID, R1);
    code.call(Helper::CurrentPidTgid);
    code.store(Eight, R8, Layout::WAKER, R0);
    code.register(Sum::Set, R1, R8);
    code.number(Sum::Add, R1, i32::from(Layout::WAKER_NAME));
    code.number(Sum::Set, R2, Layout::NAME_SIZE);
    code.call(Helper::CurrentName);
    code.register(Sum::Set, R1, R7);
    code.call(Helper::TaskRegisters);
    code.load(registers::CALL_SIZE, R1, R0, offsets.call);
    code.store(Eight, R8, Layout::CALL, R1);
    for (at, argument) in (0_i16..).zip(offsets.arguments) {
        code.load(Eight, R1, R0, argument);
        code.store(Eight, R8, Layout::ARGUMENTS + 8 * at, R1);
    }
    stack(&mut code, R7, Layout::STACK, Helper::TaskStack, Layout::DEPTH);
    stack(&mut code, R6, Layout::WAKER_STACK, Helper::OwnStack, Layout::WAKER_DEPTH);
    submit(&mut code);
    code.go(out);
    code.bind(lost);
    count(&mut code, maps, LOST);
    code.bind(out);
    code.exit();
    code.finish()
}

/// `block_rq_complete(rq, error, nr_bytes)`: counts how long a request took from when it was made,
/// by its device, if that is followed, and tells of one that took long.
fn answered_code(request: &RequestOffsets, maps: MapNumbers) -> Vec<u64> {
    let mut code = Assembler::new();
    let (out, lost, known) = (code.label(), code.label(), code.label());
    code.register(Sum::Set, R6, R1);
    code.load(Eight, R7, R6, 0);
    // A kernel that was told to keep no figures of this device (`iostats`) has no beginning.
    code.load(Eight, R8, R7, request.start);
    code.jump(When::Equal, R8, 0, out);
    code.load(Eight, R1, R7, request.queue);
    code.load(Eight, R1, R1, request.disk);
    code.load(Four, R2, R1, request.major);
    code.load(Four, R3, R1, request.minor);
    code.number(Sum::ShiftLeft, R2, 20);
    code.register(Sum::Or, R2, R3);
    code.store(Four, Frame, KEY, R2);
    code.map(R1, maps.devices);
    point(&mut code, R2, KEY);
    code.call(Helper::MapLookup);
    code.jump(When::Equal, R0, 0, out);
    code.register(Sum::Set, R9, R0);
    code.call(Helper::Nanoseconds);
    code.store(Eight, Frame, VALUE, R0);
    code.register(Sum::Subtract, R0, R8);
    // R1: the operation, of which those that have no number here are the last.
    code.load(Four, R1, R7, request.flags);
    code.number(Sum::And, R1, 0xff);
    let last = OPERATIONS as i32 - 1;
    code.jump(When::Below, R1, last, known);
    code.number(Sum::Set, R1, last);
    code.bind(known);
    // R2: the time as a power of two of microseconds.
    code.register(Sum::Set, R3, R0);
    code.number(Sum::ShiftRight, R3, 10);
    code.number(Sum::Set, R2, 0);
    for bits in [16, 8, 4, 2, 1] {
        let shorter = code.label();
        code.jump(When::Below, R3, 1 << bits, shorter);
        code.number(Sum::ShiftRight, R3, bits);
        code.number(Sum::Add, R2, bits);
        code.bind(shorter);
    }
    code.number(Sum::ShiftLeft, R1, SLOTS.ilog2() as i32);
    code.register(Sum::Add, R1, R2);
    // What the verifier knows already, in words that it understands.
    code.number(Sum::And, R1, (OPERATIONS * SLOTS) as i32 - 1);
    code.number(Sum::ShiftLeft, R1, 3);
    code.register(Sum::Add, R9, R1);
    code.number(Sum::Set, R2, 1);
    code.add_atomically(R9, 0, R2);
    code.value(R2, maps.knobs, 8);
    code.load(Eight, R2, R2, 0);
    code.jump_by(When::Below, R0, R2, out);
    reserve(&mut code, maps, Layout::IO_SIZE);
    code.jump(When::Equal, R0, 0, lost);
    code.store_number(Four, R0, Layout::KIND, IO);
    code.load(Four, R1, Frame, KEY);
    code.store(Four, R0, Layout::DEVICE, R1);
    code.store(Eight, R0, Layout::BEGAN, R8);
    code.load(Eight, R1, Frame, VALUE);
    code.store(Eight, R0, Layout::ENDED, R1);
    code.register(Sum::Set, R8, R0);
    code.load(Four, R1, R7, request.flags);
    code.number(Sum::And, R1, 0xff);
    code.store(Four, R8, Layout::OPERATION, R1);
    code.load(Eight, R1, R6, 16);
    code.store(Four, R8, Layout::BYTES, R1);
    code.load(Eight, R1, R7, request.sector);
    code.store(Eight, R8, Layout::SECTOR, R1);
    submit(&mut code);
    code.go(out);
    code.bind(lost);
    count(&mut code, maps, LOST);
    code.bind(out);
    code.exit();
    code.finish()
}

/// `to = the address of what is there on the program's stack`.
fn point(code: &mut Assembler, to: Register, at: i16) {
    code.register(Sum::Set, to, Frame);
    code.number(Sum::Add, to, i32::from(at));
}

/// `R1 = how often the thread in R7 has left its processor`.
fn switches(code: &mut Assembler, offsets: &Offsets) {
    code.load(Eight, R1, R7, offsets.gave);
    code.load(Eight, R2, R7, offsets.had_to);
    code.register(Sum::Add, R1, R2);
}

/// Adds one to what is counted there.
fn count(code: &mut Assembler, maps: MapNumbers, what: i16) {
    code.value(R1, maps.counts, i32::from(what));
    code.number(Sum::Set, R2, 1);
    code.add_atomically(R1, 0, R2);
}

/// `R0 = room for a record in the ring, or 0`.
fn reserve(code: &mut Assembler, maps: MapNumbers, size: i32) {
    code.map(R1, maps.ring);
    code.number(Sum::Set, R2, size);
    code.number(Sum::Set, R3, 0);
    code.call(Helper::RingReserve);
}

/// Hands on the record in `R8`.
fn submit(code: &mut Assembler) {
    code.register(Sum::Set, R1, R8);
    code.number(Sum::Set, R2, NO_WAKEUP);
    code.call(Helper::RingSubmit);
}

/// A stack of the kernel into the record in `R8`: its bytes, and before it how many these are.
fn stack(code: &mut Assembler, of: Register, at: i16, helper: Helper, depth: usize) {
    code.register(Sum::Set, R1, of);
    code.register(Sum::Set, R2, R8);
    code.number(Sum::Add, R2, i32::from(at) + 8);
    code.number(Sum::Set, R3, (depth * 8) as i32);
    code.number(Sum::Set, R4, 0);
    code.call(helper);
    code.store(Eight, R8, at, R0);
}
