//! Waits from beginning to end, and what ended each, by programs in the kernel (BPF).
//!
//! What always holds: programs only look, and only at what the watched process's threads sleep for
//! and its devices answer. Nothing is pinned: with our descriptors everything is gone, also when
//! this process is killed. What it costs is measured while it runs, and it ends where that is too
//! much; what found no room is counted, and said.
//!
//! Programs are made here ([`programs`], by [`asm`]) for the kernel that runs, whose own types say
//! where things are ([`btf`]): there is no compiler and no object file.

mod asm;
mod btf;
mod cost;
mod fault;
mod meter;
mod programs;
mod records;
mod symbols;
mod sys;
mod told;

use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use btf::Btf;
use cost::{Decision, Governor, LOWEST};
use fault::TYPES;
pub use fault::{Bpf, TraceFault};
use meter::Meter;
use programs::{COUNTS, KNOBS, MapNumbers, OPERATIONS, Offsets, Program, SLOTS};
use records::{IoRecord, Layout, Record, WaitRecord};
use symbols::Symbols;
use sys::{Attachment, Counting, Map, MapKind, RingReader};
use told::{Told, Traced};

use super::calls::{Doing, doing_by};
use super::descriptors::Descriptors;
use super::files::micro;
use super::others::is_of_kernel;
use super::roles::waits_for_locks;
use crate::recording::{Call, Device, Latency, Operation, Role, SlowRequest, Thread, Trace, Wait};

/// The namespace in which processes have the numbers that the kernel knows them by.
const NAMESPACE: &str = "pid:[4026531836]";
/// What the kernel keeps of records that we have not read yet, in bytes: 1,400 waits, as all
/// threads of a large broker may end at once when a device goes on.
const RING: u32 = 1 << 20;
/// Threads of the process that sleep at a time.
const MOST_ASLEEP: u32 = 16_384;
const MOST_DEVICES: u32 = 64;
/// Waits that are kept: the shortest go first.
const MOST_WAITS: usize = 100_000;
const MOST_STACKS: usize = 50_000;
/// Slow requests that are kept of a device.
const MOST_SLOW: usize = 1_000;
/// A device's request is slow that takes so many times the threshold of a wait.
const SLOW: u32 = 10;
/// Traces the waits of one process.
#[derive(Debug)]
pub(super) struct Tracer {
    pid: u32,
    /// Programs; none once it has given way.
    attached: Vec<Attachment>,
    reader: RingReader,
    maps: Maps,
    /// What is 0 on the recording's clock, by the kernel's.
    origin_ns: u64,
    governor: Governor,
    meter: Meter,
    /// Devices that are followed, by the kernel's number.
    devices: HashMap<u32, Vec<SlowRequest>>,
    waits: Vec<Traced>,
    stacks: HashMap<Vec<u64>, usize>,
    /// Threads that woke others: name and process.
    wakers: HashMap<u32, (String, u32)>,
    /// Kept no more, or never: too many of them.
    dropped: u64,
    told: u64,
    /// Why block requests are not traced, if they are not.
    no_devices: Option<TraceFault>,
    gave_way: Option<(f64, f64)>,
    record: Vec<u8>,
}

#[derive(Debug)]
struct Maps {
    asleep: Map,
    ring: Map,
    knobs: Map,
    counts: Map,
    devices: Map,
}

/// What tracing has found.
#[derive(Debug)]
pub(super) struct Found {
    /// All waits, those of looks among them.
    pub(super) waits: Vec<Wait>,
    /// Threads that woke those of the process and are not known otherwise.
    pub(super) wakers: Vec<Thread>,
    pub(super) trace: Trace,
    /// What could not be seen.
    pub(super) missing: Vec<String>,
}

impl Tracer {
    /// Begins to trace process `pid`; `origin_ns` is 0 on the recording's clock.
    ///
    /// # Errors
    /// When the kernel has no such thing, or not for us.
    pub(super) fn start(pid: u32, origin_ns: u64) -> Result<Self, TraceFault> {
        // What cannot be measured cannot be bounded: this comes first, and takes most rights.
        let counting = Counting::begin().map_err(TraceFault::Refused)?;
        let namespace = std::fs::read_link("/proc/self/ns/pid");
        if namespace.is_ok_and(|name| name.as_os_str() != NAMESPACE) {
            return Err(TraceFault::Namespace);
        }
        if !symbols::are_shown() {
            return Err(TraceFault::Names);
        }
        let btf = Btf::read(std::fs::read(TYPES).map_err(TraceFault::Types)?)?;
        let offsets = Offsets::of(&btf).map_err(TraceFault::Missing)?;
        let maps = Maps::new().map_err(TraceFault::Refused)?;
        let reader = RingReader::new(&maps.ring, RING as usize).map_err(TraceFault::Refused)?;
        maps.tell_from(LOWEST).map_err(TraceFault::Refused)?;
        let mut attached = Vec::new();
        // Who is woken comes first: a sleep that was noted and is over with nothing noticing would
        // be told with the end of the next.
        for program in programs::of_waits(&btf, &offsets, maps.numbers(), pid)
            .map_err(TraceFault::Missing)?
            .into_iter()
            .rev()
        {
            attached.push(attach(&program)?);
        }
        let of_devices = programs::of_devices(&btf, &offsets, maps.numbers()).map_err(TraceFault::Missing);
        let no_devices = match of_devices.and_then(|program| attach(&program)) {
            Ok(program) => {
                attached.push(program);
                None
            }
            Err(fault) => Some(fault),
        };
        let meter = Meter::begin(&attached, counting);
        Ok(Self {
            pid,
            attached,
            reader,
            maps,
            origin_ns,
            governor: Governor::new(),
            meter,
            devices: HashMap::new(),
            waits: Vec::new(),
            stacks: HashMap::from([(Vec::new(), 0)]),
            wakers: HashMap::new(),
            dropped: 0,
            told: 0,
            no_devices,
            gave_way: None,
            record: Vec::with_capacity(Layout::WAIT_SIZE as usize),
        })
    }

    /// Times requests of the device of this number, too.
    pub(super) fn follow(&mut self, number: &str) {
        let Some(device) = kernel_number(number) else { return };
        let is_new = !self.devices.contains_key(&device) && self.devices.len() < MOST_DEVICES as usize;
        if is_new && self.maps.devices.put(device, &[0; OPERATIONS * SLOTS]).is_ok() {
            self.devices.insert(device, Vec::new());
        }
    }

    /// Reads what programs have told since.
    pub(super) fn drain(&mut self, descriptors: &mut Descriptors) {
        let mut record = std::mem::take(&mut self.record);
        // No more than the ring holds, however fast it is filled meanwhile.
        for _ in 0..RING / Layout::IO_SIZE as u32 {
            if !self.reader.take(&mut record) {
                break;
            }
            self.meter.count_record();
            match Record::read(&record) {
                Some(Record::Wait(wait)) => self.keep(wait, descriptors),
                Some(Record::Io(io)) => self.keep_io(&io),
                None => self.dropped += 1,
            }
        }
        self.record = record;
    }

    /// A row of the machine is over: what programs cost is looked at now and then, and followed.
    /// `most` is the share of one processor that they may take.
    pub(super) fn row(&mut self, at_ms: f64, most: f64) {
        if self.attached.is_empty() {
            return;
        }
        let Some((share, records)) = self.meter.row(&self.attached) else { return };
        match self.governor.decide(share, records, most) {
            Decision::GoOn => {}
            Decision::Tell(threshold) => {
                // A knob that does not turn is one that is too low: the next sample says so.
                let _ = self.maps.tell_from(threshold);
            }
            Decision::GiveUp => {
                self.gave_way = Some((at_ms, share));
                self.attached.clear();
            }
        }
    }

    /// Share of one processor that programs take, by the last sample.
    pub(super) fn share(&self) -> f64 {
        if self.attached.is_empty() { 0.0 } else { self.meter.share() }
    }

    /// Ends it. `threads` are those of the process and others that are known; `looked` are the
    /// waits that looks have found.
    pub(super) fn finish(
        mut self,
        length_ms: f64,
        threads: &[Thread],
        looked: Vec<Wait>,
        devices: &mut [Device],
        descriptors: &mut Descriptors,
    ) -> Found {
        self.meter.end_sample(&self.attached);
        self.attached.clear();
        self.drain(descriptors);
        let counts = self.maps.counts.get(0).unwrap_or_default();
        let count = |at: usize| counts.get(at).copied().unwrap_or(0);
        let (lost, untracked) = (count(0) + self.dropped, count(1));
        self.tell_devices(devices);
        let traced_ms = self.gave_way.map_or(length_ms, |(at_ms, _)| at_ms);
        let (ran, runs) = self.meter.over(traced_ms / 1e3);
        let trace = Trace {
            threshold_ms: LOWEST.as_secs_f64() * 1e3,
            highest_threshold_ms: self.governor.highest().as_secs_f64() * 1e3,
            waits: self.told,
            lost,
            cost_cpu_ms: micro(ran * 1e3),
            runs: runs as u64,
            until_ms: self.gave_way.map(|(at_ms, _)| at_ms),
        };
        let missing = self.missing(&trace, untracked);
        let known: HashMap<u32, &Thread> = threads.iter().map(|thread| (thread.tid, thread)).collect();
        let is_meant = |traced: &Traced| {
            let thread = known.get(&traced.tid);
            !traced.is_lock || thread.is_some_and(|thread| waits_for_locks(&thread.name, thread.role))
        };
        self.waits.retain(is_meant);
        let mut stacks = vec![Vec::new(); self.stacks.len()];
        self.stacks.into_iter().for_each(|(stack, number)| stacks[number] = stack);
        // All names of the kernel take longer to read than anything else here.
        let symbols = if self.waits.is_empty() { Symbols::default() } else { Symbols::read() };
        let stacks = told::named(&stacks, &symbols);
        let mut waits = Vec::with_capacity(self.waits.len());
        for traced in self.waits {
            let thread = known.get(&traced.tid);
            let mut wait = told::told(traced, &stacks);
            // A thread of the kernel's that works for the process is in no call of it.
            if thread.is_some_and(|thread| thread.name.starts_with("iou-wrk-")) {
                wait.call = None;
            }
            waits.push(wait);
        }
        let named = waits.iter().filter_map(|wait| wait.woken_by.as_ref()?.tid);
        let mut wakers: Vec<u32> = named.filter(|tid| !known.contains_key(tid)).collect();
        wakers.sort_unstable();
        wakers.dedup();
        let wakers =
            wakers.into_iter().filter_map(|tid| Some(thread_of(tid, self.wakers.get(&tid)?, self.pid)));
        let is_own = |thread: &&Thread| !matches!(thread.role, Role::Kernel | Role::Neighbour);
        let own = threads.iter().filter(is_own).map(|thread| thread.tid).collect();
        let told = Told { threads: &own, least_ms: trace.highest_threshold_ms, until_ms: traced_ms };
        // Where some have found no room there is no telling which.
        let all_told = trace.lost == 0 && untracked == 0;
        let waits = told::merged(looked, waits, all_told.then_some(&told));
        Found { wakers: wakers.collect(), waits, trace, missing }
    }

    fn keep(&mut self, wait: WaitRecord, descriptors: &mut Descriptors) {
        let room = MOST_STACKS.saturating_sub(self.stacks.len());
        let is_known = |stack: &Vec<u64>| self.stacks.contains_key(stack);
        if room < 2 && !(is_known(&wait.stack) && is_known(&wait.waker_stack)) {
            self.dropped += 1;
            return;
        }
        let (call, is_lock) = match doing_by(wait.call, &wait.arguments) {
            Doing::Call { name, descriptor, untimed_futex } => {
                let file = descriptor.and_then(|number| descriptors.file(number));
                let call = Call { name: name.to_owned(), ..Call::default() };
                let call = file.map_or(call.clone(), |known| Call {
                    path: Some(known.path),
                    file: known.file,
                    active_segment: known.active_segment,
                    ..call
                });
                (Some(call), untimed_futex)
            }
            Doing::Fault => (Some(Call { name: "fault".to_owned(), ..Call::default() }), false),
            Doing::Running => (None, false),
        };
        let mut number = |stack: Vec<u64>| {
            let next = self.stacks.len();
            *self.stacks.entry(stack).or_insert(next)
        };
        let stacks = (number(wait.stack), number(wait.waker_stack));
        self.wakers.insert(wait.waker_tid, (wait.waker_name, wait.waker_pid));
        self.told += 1;
        self.waits.push(Traced {
            tid: wait.tid,
            from_ms: self.origin_ms(wait.began_ns),
            to_ms: self.origin_ms(wait.ended_ns),
            waker: wait.waker_tid,
            call,
            is_lock,
            stacks,
        });
        if self.waits.len() >= MOST_WAITS {
            let half = MOST_WAITS / 2;
            self.waits.sort_by(|a, b| (b.to_ms - b.from_ms).total_cmp(&(a.to_ms - a.from_ms)));
            self.waits.truncate(half);
            self.dropped += (MOST_WAITS - half) as u64;
        }
    }

    fn keep_io(&mut self, io: &IoRecord) {
        let (from_ms, to_ms) = (self.origin_ms(io.began_ns), self.origin_ms(io.ended_ns));
        let Some(slow) = self.devices.get_mut(&io.device) else { return };
        if slow.len() >= MOST_SLOW {
            self.dropped += 1;
            return;
        }
        let IoRecord { operation, bytes, sector, .. } = *io;
        slow.push(SlowRequest { from_ms, to_ms, operation, bytes, sector });
    }

    fn tell_devices(&mut self, devices: &mut [Device]) {
        for device in devices {
            let Some(number) = kernel_number(&device.number) else { continue };
            let (Some(slow), Some(counts)) = (self.devices.remove(&number), self.maps.devices.get(number))
            else {
                continue;
            };
            device.slow = slow;
            let kinds = [Operation::Read, Operation::Write, Operation::Flush, Operation::Other];
            for (operation, counts) in kinds.into_iter().zip(counts.chunks(SLOTS)) {
                let last = counts.iter().rposition(|count| *count > 0);
                let counts = counts[..last.map_or(0, |last| last + 1)].to_vec();
                if !counts.is_empty() {
                    device.latencies.push(Latency { operation, counts });
                }
            }
        }
    }

    fn missing(&self, trace: &Trace, untracked: u64) -> Vec<String> {
        let mut missing = Vec::new();
        if let Some((at_ms, share)) = self.gave_way {
            missing.push(format!(
                "tracing after {:.1} s: it had become too dear ({:.1} % of one processor, or too many waits to tell), and was taken off",
                at_ms / 1e3,
                share * 100.0
            ));
        }
        if trace.highest_threshold_ms > trace.threshold_ms {
            missing.push(format!(
                "waits shorter than {:.0} ms from beginning to end, at times: there were too many",
                trace.highest_threshold_ms
            ));
        }
        if trace.lost > 0 {
            missing.push(format!("{} waits and requests that were traced and found no room", trace.lost));
        }
        if untracked > 0 {
            missing.push(format!("{untracked} waits of threads: more were asleep at a time than are traced"));
        }
        if let Some(fault) = &self.no_devices {
            missing.push(format!("requests of devices, one by one: {fault}"));
        }
        missing
    }

    fn origin_ms(&self, at_ns: u64) -> f64 {
        // What began before we did is before 0.
        micro((at_ns as f64 - self.origin_ns as f64) / 1e6)
    }
}

impl Maps {
    fn new() -> io::Result<Self> {
        Ok(Self {
            asleep: Map::new(MapKind::Hash, "aplomb_asleep", 16, MOST_ASLEEP)?,
            ring: Map::new(MapKind::Ring, "aplomb_ring", 0, RING)?,
            knobs: Map::new(MapKind::Array, "aplomb_knobs", 8 * KNOBS, 1)?,
            counts: Map::new(MapKind::Array, "aplomb_counts", 8 * COUNTS, 1)?,
            devices: Map::new(MapKind::Hash, "aplomb_devices", 8 * OPERATIONS * SLOTS, MOST_DEVICES)?,
        })
    }

    fn numbers(&self) -> MapNumbers {
        let Self { asleep, ring, knobs, counts, devices } = self;
        let number = |map: &Map| -> RawFd { map.number() };
        MapNumbers {
            asleep: number(asleep),
            ring: number(ring),
            knobs: number(knobs),
            counts: number(counts),
            devices: number(devices),
        }
    }

    /// Waits from this on are told.
    fn tell_from(&self, threshold: Duration) -> io::Result<()> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.knobs.put(0, &[ns(threshold), ns(threshold * SLOW)])
    }
}

fn attach(program: &Program) -> Result<Attachment, TraceFault> {
    Attachment::new(program.name, &program.code, program.tracepoint).map_err(|(error, said)| {
        match error.kind() {
            io::ErrorKind::PermissionDenied if said.is_empty() => TraceFault::Refused(error),
            _ => TraceFault::Verifier { program: program.name, error, said },
        }
    })
}

/// The kernel's number of the device `major:minor`.
fn kernel_number(number: &str) -> Option<u32> {
    let (major, minor) = number.split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// A thread that is known by having woken one of process `ours`.
fn thread_of(tid: u32, (name, pid): &(String, u32), ours: u32) -> Thread {
    let (name, role) = if *pid == ours {
        (name.clone(), Role::Other)
    } else if is_of_kernel(*pid) {
        (name.clone(), Role::Kernel)
    } else {
        (format!("{name} (process {pid})"), Role::Neighbour)
    };
    Thread { tid, name, role, usage: Vec::new() }
}

#[cfg(test)]
mod tests;
