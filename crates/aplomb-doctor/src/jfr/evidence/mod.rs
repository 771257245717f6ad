//! From events to the doctor's evidence.
//!
//! Start at [`JfrEvidence::read`]. Events with a length are [`waits`], samples of a wall clock
//! become waits in [`samples`], [`pauses`] has safepoints and collections, [`edges`] looks for
//! holders; [`frames`] knows what stacks mean, [`names`] looks up what numbers stand for.
//!
//! What always holds: an event that cannot be read is a fault and no more, and so is a chunk; each
//! chunk's times count by its own header, so chunks of different clocks meet in epoch time.

mod edges;
mod found;
mod frames;
mod merge;
mod names;
mod pauses;
mod samples;
mod waits;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::path::Path;

use super::chunk::{JfrChunk, JfrEvent};
use super::fault::JfrFault;
use super::file::JfrFile;
use super::values::FieldSet;
use crate::recording::{Clock, FORMAT, HostSample, Process, Recording, Role, Sight, Thread};
use found::{FoundWaits, micros};
pub(crate) use merge::add_unknown_safepoints;
use names::ChunkNames;
use pauses::Pauses;
use samples::WallClock;

/// Faults that are kept; more are counted.
const MOST_FAULTS: usize = 50;
/// Threads whose names are kept, and rows of the control group.
const MOST_THREADS: usize = 100_000;
const MOST_ROWS: usize = 100_000;
/// How exact the JDK's times are against other clocks.
const UNCERTAINTY_MS: f64 = 1.0;

/// How a recording is to be read.
#[derive(Clone, Copy, Debug)]
pub struct JfrOptions {
    /// Waits that took less are left out, in milliseconds.
    pub shortest_ms: f64,
    /// What a thread is there for, by its name.
    pub role_of: fn(&str) -> Role,
}

/// What a recording of JFR says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JfrEvidence {
    /// It, on a clock that begins with its first chunk.
    pub recording: Recording,
    /// What of it could not be read, the first of it.
    pub faults: Vec<JfrFault>,
    /// Faults that are not in `faults`.
    pub more_faults: u64,
}

impl JfrEvidence {
    /// Reads a file, one chunk in memory at a time.
    ///
    /// # Errors
    /// When it cannot be opened. What is wrong inside of it is in [`Self::faults`].
    pub fn read(path: &Path, options: &JfrOptions) -> io::Result<Self> {
        Ok(Collector::new(options).all_of(JfrFile::open(path)?))
    }

    /// Reads a file that is in memory.
    #[must_use]
    pub fn of_bytes(bytes: &[u8], options: &JfrOptions) -> Self {
        Collector::new(options).all_of(JfrFile::in_memory(bytes))
    }
}

/// Takes one chunk after the other.
struct Collector {
    evidence: JfrEvidence,
    role_of: fn(&str) -> Role,
    waits: FoundWaits,
    pauses: Pauses,
    wall: WallClock,
    names: BTreeMap<u32, String>,
    /// Sum of the periods, of the throttled ones, and of the time, since the group began.
    throttled_until: Option<(u64, u64, f64)>,
    /// Beginning and end, in milliseconds since 1970.
    span: Option<(f64, f64)>,
    has_events: bool,
    by_jdk: bool,
    by_profiler: bool,
}

impl Collector {
    fn new(options: &JfrOptions) -> Self {
        Self {
            evidence: JfrEvidence::default(),
            role_of: options.role_of,
            waits: FoundWaits::new(options.shortest_ms),
            pauses: Pauses::default(),
            wall: WallClock::default(),
            names: BTreeMap::new(),
            throttled_until: None,
            span: None,
            has_events: false,
            by_jdk: false,
            by_profiler: false,
        }
    }

    fn all_of<R: Read + Seek>(mut self, mut file: JfrFile<R>) -> JfrEvidence {
        while let Some(chunk) = file.next_chunk() {
            match chunk {
                Ok(chunk) => self.chunk(&chunk),
                Err(fault) => self.fault(fault),
            }
        }
        self.finish()
    }

    fn chunk(&mut self, chunk: &JfrChunk<'_>) {
        let by_profiler = chunk.type_names().any(|name| name.starts_with("profiler."));
        self.by_profiler |= by_profiler;
        self.by_jdk |= !by_profiler;
        chunk.faults().iter().for_each(|fault| self.fault(fault.clone()));
        let header = *chunk.header();
        self.includes(header.start_unix_ms());
        self.includes(header.start_unix_ms() + header.duration_ns.max(0) as f64 / 1e6);
        let mut names = ChunkNames::new(header, by_profiler);
        for event in chunk.events() {
            self.has_events = true;
            if let Err(fault) = event.and_then(|event| self.event(&event, &mut names)) {
                self.fault(fault);
            }
        }
        self.wall.chunk_ends(&mut self.waits);
        if let Err(fault) = self.threads(chunk) {
            self.fault(fault);
        }
    }

    fn event(&mut self, event: &JfrEvent<'_>, names: &mut ChunkNames) -> Result<(), JfrFault> {
        let fields = &event.fields;
        match fields.type_name() {
            known if waits::is_wait(known) => {
                if let Some(wait) = waits::wait_of(event, names)? {
                    self.waits.add(wait);
                }
                Ok(())
            }
            "jdk.ContainerCPUThrottling" => self.throttling(fields, names),
            "jdk.JVMInformation" => self.process(fields),
            _ if names.by_profiler => self.wall.event(fields, names),
            _ => self.pauses.event(fields, names),
        }
    }

    /// The file tells sums since the control group began; a row is what came since the row before.
    fn throttling(&mut self, event: &FieldSet<'_>, names: &ChunkNames) -> Result<(), JfrFault> {
        let number =
            |name| event.integer(name).map(|value| value.and_then(|value| u64::try_from(value).ok()));
        let sums =
            number("cpuElapsedSlices")?.zip(number("cpuThrottledSlices")?).zip(number("cpuThrottledTime")?);
        let Some(((periods, throttled), nanos)) = sums else { return Ok(()) };
        let now = (periods, throttled, nanos as f64 / 1e6);
        let before = self.throttled_until.replace(now);
        let at_ms = names.start_ms(event)?;
        let rows = &mut self.evidence.recording.host;
        if let Some(before) = before
            && before.0 <= now.0
            && rows.len() < MOST_ROWS
        {
            rows.push(HostSample {
                at_ms,
                cgroup_periods: Some((now.0 - before.0, now.1.saturating_sub(before.1))),
                cgroup_throttled_ms: Some(micros((now.2 - before.2).max(0.0))),
                ..HostSample::default()
            });
        }
        Ok(())
    }

    fn process(&mut self, event: &FieldSet<'_>) -> Result<(), JfrFault> {
        let java = [event.text("jvmName")?, event.text("jvmVersion")?];
        let arguments = event.text("jvmArguments")?.unwrap_or_default();
        // Properties (-D) may hold passwords, and no rule asks for them.
        let flags = arguments.split_whitespace().filter(|flag| flag.starts_with("-X")).map(str::to_owned);
        let pid = event.integer("pid")?.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0);
        let java: Vec<String> = java.into_iter().flatten().collect();
        self.evidence.recording.process = Process {
            pid,
            java: (!java.is_empty()).then(|| java.join(" ")),
            jvm_flags: flags.collect(),
            ..Process::default()
        };
        Ok(())
    }

    fn threads(&mut self, chunk: &JfrChunk<'_>) -> Result<(), JfrFault> {
        for (_, thread) in chunk.constants("java.lang.Thread") {
            let tid = thread.integer("osThreadId")?.and_then(|tid| u32::try_from(tid).ok());
            let Some(tid) = tid.filter(|tid| *tid > 0) else { continue };
            let java = thread.text("javaName")?.filter(|name| !name.is_empty());
            let name = java.or(thread.text("osName")?.filter(|name| !name.is_empty()));
            let has_room = self.names.len() < MOST_THREADS || self.names.contains_key(&tid);
            // The kernel uses numbers again: the later name counts.
            if let Some(name) = name.filter(|_| has_room) {
                self.names.insert(tid, name);
            }
        }
        Ok(())
    }

    fn includes(&mut self, unix_ms: f64) {
        let (from, to) = self.span.unwrap_or((unix_ms, unix_ms));
        self.span = Some((from.min(unix_ms), to.max(unix_ms)));
    }

    fn fault(&mut self, fault: JfrFault) {
        if self.evidence.faults.len() < MOST_FAULTS {
            self.evidence.faults.push(fault);
        } else {
            self.evidence.more_faults += 1;
        }
    }

    fn finish(mut self) -> JfrEvidence {
        let (interval, without_stack) = self.wall.finish(&mut self.waits);
        let (mut waits, left_out) = self.waits.finish();
        edges::find_holders(&mut waits, interval.unwrap_or(UNCERTAINTY_MS));
        let (began, ended) = self.span.unwrap_or_default();
        let (began, ended) = waits
            .iter()
            .fold((began, ended), |(from, to), wait| (from.min(wait.from_ms), to.max(wait.to_ms)));
        let mut missing: Vec<String> = self.evidence.faults.iter().map(ToString::to_string).collect();
        if self.evidence.more_faults > 0 {
            missing.push(format!(
                "{} more places of the recording could not be read",
                self.evidence.more_faults
            ));
        }
        if left_out > 0 {
            missing.push(format!("{left_out} shorter waits were left out"));
        }
        if without_stack > 0 {
            missing.push(format!("{without_stack} samples have no stack: the recording was not finished"));
        }
        let by = [(self.by_jdk, "JFR"), (self.by_profiler, "async-profiler")];
        let sources = by.iter().filter(|(is, _)| *is && self.has_events).map(|(_, name)| (*name).to_owned());
        let recording = &mut self.evidence.recording;
        recording.format = FORMAT;
        recording.clock = Clock {
            began_unix_ms: began,
            length_ms: micros(ended - began),
            uncertainty_ms: interval.unwrap_or(UNCERTAINTY_MS),
            ..Clock::default()
        };
        recording.sight =
            Sight { sources: sources.collect(), missing, look_interval_ms: interval, ..Sight::default() };
        let named = self.names.into_iter();
        recording.threads = named
            .map(|(tid, name)| Thread { tid, role: (self.role_of)(&name), name, usage: Vec::new() })
            .collect();
        recording.waits = waits.into_iter().map(|wait| wait.recorded(began)).collect();
        (recording.safepoints, recording.collections) = self.pauses.finish(began);
        recording.host.iter_mut().for_each(|row| row.at_ms = micros(row.at_ms - began));
        let rows = &recording.host;
        if let (Some(first), Some(last)) = (rows.first(), rows.last())
            && rows.len() > 1
        {
            recording.sight.host_interval_ms = micros((last.at_ms - first.at_ms) / (rows.len() - 1) as f64);
        }
        self.evidence
    }
}
