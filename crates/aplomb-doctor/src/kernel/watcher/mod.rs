//! Watches a process: looks at its threads often, at the machine less often, and gives way where
//! that would cost too much.
//!
//! What always holds: the processor time of the watching thread, and of what it has put into the
//! kernel, stays below [`BUDGET`] of one processor over any few seconds: looks become rarer until
//! it does. A look that came late is not made up for.

use std::collections::HashSet;
use std::time::{Duration, Instant, SystemTime};

use rustix::thread::sched_getaffinity;
use rustix::time::{ClockId, clock_gettime};

use super::descriptors::{Descriptors, segment};
use super::devices::Devices;
use super::files::micro;
use super::host::Host;
use super::others::Others;
use super::threads::{Rights, Sleeper, Threads, began};
use super::trace::{Bpf, Found, TraceFault, Tracer};
use super::waits::Folder;
use crate::recording::{
    Clock, FORMAT, HostSample, Place, PlaceOf, Process, Recording, Role, Sight, WaitClass,
};

/// Share of one processor that watching may take.
pub const BUDGET: f64 = 0.02;
/// What looks are planned for: the rest is for what is done now and then, and for the threads that
/// read logs.
const AIM: f64 = 0.0125;
/// Looks are this far apart where that is within the budget, and no farther than [`RAREST`].
const OFTENEST: Duration = Duration::from_millis(10);
const RAREST: Duration = Duration::from_millis(500);
/// Between two rows of the machine.
const ROW: Duration = Duration::from_millis(200);
/// Rows that are kept, of the last one to two hours: each is a few bytes for every thread.
const MOST_ROWS: usize = 36_000;
/// Files and directories that are told apart.
const MOST_PLACES: usize = 256;
/// Threads begin and end seldom.
const FIND_THREADS: Duration = Duration::from_millis(500);
const FIND_OTHERS: Duration = Duration::from_secs(1);
/// Files are rolled and deleted.
const FIND_FILES: Duration = Duration::from_secs(2);
/// Other processes are looked at while a request waits, and no oftener than this.
const NEIGHBOURS: Duration = Duration::from_millis(100);
/// What is done now and then is put off until it is so many times cheaper than its interval.
const CHEAP: u32 = 200;
/// The partition of the metadata log.
const METADATA: &str = "__cluster_metadata-0";
/// A step of the wall clock: less is how clocks are slewed.
const STEP_MS: f64 = 20.0;

/// Why a process cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is none of this number.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// Another user's, on a machine that hides those.
    #[error("process {0} belongs to another user: run this as that user or as root")]
    NotOurs(u32),
    /// Its waits cannot be traced, and that was asked for.
    #[error("--bpf require: {0}")]
    NoTrace(#[from] TraceFault),
}

/// Watches one process.
#[derive(Debug)]
pub struct Watcher {
    pid: u32,
    /// Tells the process from a later one of its number.
    began: u64,
    rights: Rights,
    origin: Instant,
    clock: Clock,
    threads: Threads,
    others: Others,
    descriptors: Descriptors,
    devices: Devices,
    host: Host,
    samples: Vec<HostSample>,
    /// Rows that are not kept any more.
    forgotten: u64,
    folder: Folder,
    /// Programs in the kernel, or why there are none.
    tracer: Result<Tracer, String>,
    places: Vec<Place>,
    interval: Duration,
    last_look: Option<Instant>,
    looks: u64,
    longest_interval: Duration,
    cpu: Cpu,
    due: Due,
    alive: bool,
}

/// When things are done next.
#[derive(Debug)]
struct Due {
    look: Instant,
    row: Instant,
    threads: Instant,
    others: Instant,
    files: Instant,
    neighbours: Instant,
}

/// What the watching thread has cost.
#[derive(Debug)]
struct Cpu {
    began: Duration,
    /// At the last adjustment: processor time and the clock's.
    last: (Duration, Instant),
}

impl Watcher {
    /// Begins to watch. What it costs is the calling thread's: the same has to take the
    /// [steps](Self::step).
    ///
    /// # Errors
    /// When there is no such process, nothing of it can be seen, or tracing is required and not to
    /// be had.
    pub fn start(pid: u32, bpf: Bpf) -> Result<Self, WatchError> {
        let began = began(pid).ok_or(WatchError::NoProcess(pid))?;
        let rights = Rights::of(pid);
        let cpu_began = cpu_time();
        let (now, now_ms) = (Instant::now(), monotonic_ms());
        let tracer = match bpf {
            Bpf::Off => Err("it was switched off (--bpf off)".to_owned()),
            Bpf::Auto => Tracer::start(pid, (now_ms * 1e6) as u64).map_err(|fault| fault.to_string()),
            Bpf::Require => Ok(Tracer::start(pid, (now_ms * 1e6) as u64)?),
        };
        let cpus = sched_getaffinity(None).map_or(1, |set| set.count());
        let mut watcher = Self {
            pid,
            began,
            rights,
            origin: now,
            clock: Clock { began_unix_ms: unix_ms(), began_monotonic_ms: Some(now_ms), ..Clock::default() },
            threads: Threads::of(pid, rights),
            others: Others::of(pid, rights),
            descriptors: Descriptors::of(pid),
            devices: Devices::new(),
            host: Host::of(pid, cpus),
            samples: Vec::new(),
            forgotten: 0,
            folder: Folder::new(),
            tracer,
            places: Vec::new(),
            interval: OFTENEST,
            last_look: None,
            looks: 0,
            longest_interval: OFTENEST,
            cpu: Cpu { began: cpu_began, last: (cpu_time(), Instant::now()) },
            due: Due { look: now, row: now, threads: now, others: now, files: now, neighbours: now },
            alive: true,
        };
        if !watcher.threads.find(0) {
            return Err(WatchError::NotOurs(pid));
        }
        Ok(watcher)
    }

    /// Takes a step, and says when the next is due; `None` once the process is gone.
    pub fn step(&mut self) -> Option<Instant> {
        let now = Instant::now();
        if now >= self.due.threads {
            self.due.threads = now + FIND_THREADS;
            let same = began(self.pid) == Some(self.began);
            self.alive = same && self.threads.find(self.samples.len());
        }
        if !self.alive {
            return None;
        }
        if now >= self.due.files {
            self.find_files();
            self.due.files = now + FIND_FILES.max(now.elapsed() * CHEAP);
        }
        if now >= self.due.others {
            self.others.find(self.samples.len());
            self.due.others = now + FIND_OTHERS.max(now.elapsed() * CHEAP);
        }
        if let Ok(tracer) = &mut self.tracer {
            tracer.drain(&mut self.descriptors);
        }
        if now >= self.due.look {
            self.look();
        }
        if now >= self.due.row {
            self.row();
        }
        Some(self.due.look.min(self.due.row))
    }

    /// A place that matters and that no open file has shown.
    pub fn add_place(&mut self, path: &str, of: PlaceOf) {
        if let Some(place) = self.places.iter_mut().find(|place| place.path == path) {
            place.of = of;
            return;
        }
        if self.places.len() >= MOST_PLACES {
            return;
        }
        let Some(mount) = self.descriptors.mounts().at(path) else { return };
        self.devices.follow(&mount.device);
        self.places.push(Place {
            path: path.to_owned(),
            of,
            filesystem: mount.filesystem.clone(),
            options: mount.options.clone(),
            device: mount.device.clone(),
        });
    }

    /// The broker's own logs that have been found open.
    pub fn own_logs(&self) -> impl Iterator<Item = &str> {
        let logs = self.places.iter().filter(|place| place.of == PlaceOf::OwnLog);
        logs.map(|place| place.path.as_str())
    }

    /// Where the recording lies in time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether the process is still there, by the last step.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.alive
    }

    /// Ends, and tells what was seen.
    #[must_use]
    pub fn finish(mut self) -> Recording {
        let length_ms = self.now_ms();
        // What comes from here on is no watching any more: nothing is looked at.
        let own = cpu_time().saturating_sub(self.cpu.began).as_secs_f64() * 1e3;
        let (dropped, mut waits) = self.folder.finish(length_ms);
        let mut missing = Vec::new();
        if !self.rights.stacks {
            missing.push(
                "kernel stacks: the innermost function alone was read; run as root for the whole".to_owned(),
            );
        }
        if !self.rights.calls {
            missing.push(
                "system calls and their files: run as root, or as the broker's user where ptrace is allowed"
                    .to_owned(),
            );
        }
        if !self.host.has_pressure() {
            missing.push("pressure (PSI): this kernel has none, or it is switched off (psi=1)".to_owned());
        }
        if dropped > 0 {
            missing.push(format!("{dropped} of the shortest waits: there were too many to keep"));
        }
        if self.forgotten > 0 {
            let hours = self.forgotten as f64 * ROW.as_secs_f64() / 3600.0;
            missing.push(format!(
                "processors, memory and devices in the first {hours:.1} hours: they are not kept as long"
            ));
        }
        if !self.alive {
            missing.push(format!("what came after {:.1} s: the process ended then", length_ms / 1e3));
        }
        let mut threads = self.threads.finish();
        threads.extend(self.others.finish());
        let mut devices = self.devices.finish();
        let mut sources = vec!["/proc".to_owned()];
        let trace = match self.tracer {
            Ok(tracer) => {
                let Found { waits: all, wakers, trace, missing: more } =
                    tracer.finish(length_ms, &threads, waits, &mut devices, &mut self.descriptors);
                waits = all;
                threads.extend(wakers);
                missing.extend(more);
                sources.push("BPF".to_owned());
                Some(trace)
            }
            Err(why) => {
                missing.push(format!("short waits, and what ended each, by tracing: {why}"));
                None
            }
        };
        let of_trace = trace.as_ref().map_or(0.0, |trace| trace.cost_cpu_ms);
        let asleep: HashSet<u32> =
            waits.iter().flat_map(|w| w.holders.iter().copied().chain([w.tid])).collect();
        threads.retain(|thread| {
            !matches!(thread.role, Role::Kernel | Role::Neighbour) || asleep.contains(&thread.tid)
        });
        Recording {
            format: FORMAT,
            clock: Clock { length_ms, ..self.clock },
            process: Process { pid: Some(self.pid), ..Process::default() },
            sight: Sight {
                sources,
                missing,
                look_interval_ms: Some(micro(length_ms / self.looks.max(1) as f64)),
                looks: self.looks,
                host_interval_ms: ROW.as_secs_f64() * 1e3,
                cost_cpu_ms: micro(own + of_trace),
                trace,
            },
            threads,
            waits,
            places: self.places,
            devices,
            host: self.samples,
            ..Recording::default()
        }
    }

    fn look(&mut self) {
        let began = Instant::now();
        let since = self.last_look.map_or(self.interval, |last| began - last);
        self.last_look = Some(began);
        let mut sleepers = self.threads.look(&mut self.descriptors);
        sleepers.extend(self.others.look(&mut self.descriptors));
        if began >= self.due.neighbours && self.requests_wait(&sleepers) {
            sleepers.extend(self.others.neighbours(self.rights));
            self.due.neighbours = began + NEIGHBOURS.max(began.elapsed() * CHEAP);
        }
        self.folder.look(self.ms_at(began), micro(since.as_secs_f64() * 1e3), &sleepers);
        self.looks += 1;
        self.due.look = (self.due.look + self.interval).max(Instant::now());
    }

    /// Whether a thread that carries requests waits for something that another may hold.
    fn requests_wait(&self, sleepers: &[Sleeper]) -> bool {
        sleepers.iter().any(|sleeper| {
            let held = matches!(sleeper.class, WaitClass::Inode | WaitClass::Journal | WaitClass::Lock);
            held && matches!(self.threads.role(sleeper.tid), Role::Request | Role::Network | Role::Collector)
        })
    }

    fn row(&mut self) {
        let now = Instant::now();
        let late_ms = micro(now.saturating_duration_since(self.due.row).as_secs_f64() * 1e3);
        let at_ms = self.now_ms();
        self.devices.row(at_ms);
        if let Ok(tracer) = &mut self.tracer {
            self.devices.numbers().for_each(|number| tracer.follow(number));
            tracer.row(at_ms, BUDGET);
        }
        if let Some(sample) = self.host.row(at_ms, late_ms) {
            self.samples.push(sample);
            self.threads.row();
            self.others.row();
        }
        if self.samples.len() >= MOST_ROWS {
            self.forget(MOST_ROWS / 2);
        }
        self.watch_clock();
        self.give_way(now);
        self.due.row = (self.due.row + ROW).max(Instant::now());
    }

    /// Forgets the oldest rows: of the machine, its devices and all threads alike. Waits stay.
    fn forget(&mut self, rows: usize) {
        self.samples.drain(..rows);
        self.threads.forget(rows);
        self.others.forget(rows);
        self.devices.forget(rows);
        self.forgotten += rows as u64;
    }

    /// Notes a step of the wall clock.
    fn watch_clock(&mut self) {
        let before_ms = self.now_ms();
        let unix_ms = unix_ms();
        let at_ms = self.now_ms();
        // Who was put aside between two clocks has read a step that was none.
        if at_ms - before_ms > STEP_MS / 4.0 {
            return;
        }
        let stepped: f64 = self.clock.steps.iter().map(|(_, by)| by).sum();
        let by = unix_ms - (self.clock.began_unix_ms + at_ms + stepped);
        if by.abs() > STEP_MS {
            self.clock.steps.push((at_ms, micro(by)));
        }
    }

    /// Makes looks as rare as what they cost asks for.
    fn give_way(&mut self, now: Instant) {
        let (cpu_before, before) = self.cpu.last;
        let elapsed = now - before;
        if elapsed < 2 * ROW {
            return;
        }
        let cpu = cpu_time();
        let of_trace = self.tracer.as_ref().map_or(0.0, Tracer::share);
        let share = cpu.saturating_sub(cpu_before).as_secs_f64() / elapsed.as_secs_f64() + of_trace;
        self.cpu.last = (cpu, now);
        // Half of the way, so that one busy moment does not blind it.
        let wanted = self.interval.mul_f64((share / AIM).clamp(0.25, 4.0));
        self.interval = ((self.interval + wanted) / 2).clamp(OFTENEST, RAREST);
        self.longest_interval = self.longest_interval.max(self.interval);
    }

    /// Finds what the process has open: its log directories and logs, and which segments are the
    /// last.
    fn find_files(&mut self) {
        for path in self.descriptors.all() {
            let Some((_, name)) = path.rsplit_once('/') else { continue };
            if let Some((folder, _)) = segment(&path) {
                let Some((directory, partition)) = folder.rsplit_once('/') else { continue };
                if partition == METADATA {
                    self.see_place(directory, PlaceOf::MetadataDirectory);
                } else {
                    self.add_place(directory, PlaceOf::LogDirectory);
                }
            } else if name.contains("gc") && name.contains(".log") {
                self.see_place(&path, PlaceOf::JvmLog);
            } else if name.ends_with(".log") {
                self.see_place(&path, PlaceOf::OwnLog);
            }
        }
    }

    fn see_place(&mut self, path: &str, of: PlaceOf) {
        if !self.places.iter().any(|place| place.path == path) {
            self.add_place(path, of);
        }
    }

    fn now_ms(&self) -> f64 {
        self.ms_at(Instant::now())
    }

    fn ms_at(&self, moment: Instant) -> f64 {
        micro((moment - self.origin).as_secs_f64() * 1e3)
    }
}

fn unix_ms() -> f64 {
    micro(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3)
}

fn monotonic_ms() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    micro(now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6)
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests;
