//! A recording as rules ask it: waits with their threads, devices with their states, pauses.

use std::collections::HashMap;

use super::spans::Spans;
use super::verdict::Span;
use crate::kernel::stacks::{fits, has};
use crate::recording::{
    Device, DeviceSample, HostSample, Kind, Place, PlaceOf, Recording, Role, Safepoint, Sighting, Thread,
    Traffic, Wait, WaitClass,
};

/// A device that has answered nothing for so long, with something under way, stands still.
const FROZEN_MS: f64 = 1_500.0;
/// A request that took so long makes a device a slow one.
const SLOW_MS: f64 = 200.0;
/// A wait that one look alone has found is no stall, however far apart looks are: it counts for so
/// much at most, which is less than a stall that is felt.
pub(super) const LOOK_MS: f64 = 75.0;
/// A JVM that has stopped its threads for less has not slowed anything that is looked at here.
const PAUSE_MS: f64 = 20.0;

/// A recording, prepared for questions.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    pub(super) recording: &'a Recording,
    seen: Vec<Seen<'a>>,
}

/// A wait and its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub(super) wait: &'a Wait,
    pub(super) thread: &'a Thread,
}

impl<'a> Seen<'a> {
    pub(super) fn span(&self) -> Span {
        let Wait { from_ms, to_ms, .. } = *self.wait;
        let once = matches!(self.wait.sighting, Sighting::One { looks: 1 });
        Span { from_ms, to_ms: if once { to_ms.min(from_ms + LOOK_MS) } else { to_ms } }
    }

    pub(super) fn length_ms(&self) -> f64 {
        let Span { from_ms, to_ms } = self.span();
        to_ms - from_ms
    }

    pub(super) fn is(&self, class: WaitClass) -> bool {
        self.wait.class == class
    }

    pub(super) fn role(&self) -> Role {
        self.thread.role
    }

    pub(super) fn carries_requests(&self) -> bool {
        self.thread.role.carries_requests()
    }

    /// The file that its call is about.
    pub(super) fn path(&self) -> Option<&'a str> {
        self.wait.call.as_ref()?.path.as_deref()
    }

    /// The thread that ended it by letting go of what it waited for, where that was traced, and the
    /// kernel's functions in which it did.
    pub(super) fn let_go_by(&self) -> Option<(u32, &'a [String])> {
        let waker = self.wait.woken_by.as_ref()?;
        let tid = waker.tid.filter(|tid| self.wait.holders.contains(tid))?;
        Some((tid, &waker.kernel))
    }

    /// Whether these functions of the kernel are on its stack, in this order.
    pub(super) fn fits(&self, steps: &[&[&str]]) -> bool {
        fits(&self.wait.kernel, steps)
    }

    /// Whether any of these functions of the kernel is.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        has(&self.wait.kernel, names)
    }

    /// Whether any of the program's frames contains one of these texts.
    pub(super) fn is_below(&self, texts: &[&str]) -> bool {
        self.wait.frames.iter().any(|frame| texts.iter().any(|text| frame.contains(text)))
    }
}

impl<'a> Evidence<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let threads: HashMap<u32, &Thread> =
            recording.threads.iter().map(|thread| (thread.tid, thread)).collect();
        let seen = |wait: &'a Wait| Some(Seen { wait, thread: threads.get(&wait.tid)? });
        Self { recording, seen: recording.waits.iter().filter_map(seen).collect() }
    }

    /// Waits that are so.
    pub(super) fn waits(&self, which: impl Fn(&Seen<'a>) -> bool) -> Waits<'a> {
        Waits(self.seen.iter().filter(|seen| which(seen)).copied().collect())
    }

    /// How long it went on.
    pub(super) fn length_ms(&self) -> f64 {
        self.recording.clock.length_ms
    }

    pub(super) fn is_kafka(&self) -> bool {
        self.recording.process.kind == Kind::Kafka
    }

    /// Pauses that are so, of those that matter.
    pub(super) fn pauses(&self, which: impl Fn(&Safepoint) -> bool) -> Spans {
        let long =
            self.recording.safepoints.iter().filter(|pause| pause.total_ms >= PAUSE_MS && which(pause));
        long.map(|pause| Span { from_ms: pause.at_ms, to_ms: pause.at_ms + pause.total_ms }).collect()
    }

    /// Times at which a thread that carries requests waited for something of this machine, or all
    /// threads stood.
    pub(super) fn stands(&self) -> Spans {
        // A lock of the program is waited for at times in any program.
        let idle = |class| {
            matches!(class, WaitClass::Other | WaitClass::Socket | WaitClass::Safepoint | WaitClass::Lock)
        };
        let waits = self.waits(|seen| seen.carries_requests() && !idle(seen.wait.class));
        waits.spans().and(&self.pauses(|_| true))
    }

    /// The place that a path is in, the most particular.
    pub(super) fn place_of(&self, path: &str) -> Option<&'a Place> {
        let above = |place: &&Place| {
            path.strip_prefix(place.path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.recording.places.iter().filter(above).max_by_key(|place| place.path.len())
    }

    /// Whether a file is what this kind of place is for.
    pub(super) fn is_of(&self, path: &str, of: PlaceOf) -> bool {
        self.place_of(path).is_some_and(|place| place.of == of)
    }

    /// The filesystem of a path; empty if it is not known.
    pub(super) fn filesystem_of(&self, path: &str) -> &'a str {
        self.place_of(path).map_or("", |place| place.filesystem.as_str())
    }

    /// The device under a path.
    pub(super) fn device_of(&self, path: &str) -> Option<&'a Device> {
        let place = self.place_of(path)?;
        self.recording.devices.iter().find(|device| device.number == place.device)
    }

    /// Whether the one device that is known to have been slow has logs of the broker on it and no
    /// records: then that is what was written there.
    pub(super) fn logs_are_slow(&self) -> bool {
        let slow = |device: &&Device| device.longest_ms.is_some_and(|longest| longest >= SLOW_MS);
        let mut slow = self.recording.devices.iter().filter(slow);
        let (Some(device), None) = (slow.next(), slow.next()) else { return false };
        let places = self.places_on(device);
        !places.is_empty() && places.iter().all(|place| matches!(place.of, PlaceOf::OwnLog | PlaceOf::JvmLog))
    }

    /// Devices of log directories.
    pub(super) fn log_devices(&self) -> Vec<&'a Device> {
        let of_logs =
            |device: &&Device| self.places_on(device).iter().any(|place| place.of == PlaceOf::LogDirectory);
        self.recording.devices.iter().filter(of_logs).collect()
    }

    /// Places on a device.
    pub(super) fn places_on(&self, device: &Device) -> Vec<&'a Place> {
        self.recording.places.iter().filter(|place| place.device == device.number).collect()
    }

    /// Rows of the machine that are so, each from the row before to itself.
    pub(super) fn rows(&self, which: impl Fn(&HostSample) -> bool) -> Spans {
        let interval = self.recording.sight.host_interval_ms;
        let rows = self.recording.host.iter().filter(|row| which(row));
        rows.map(|row| Span { from_ms: row.at_ms - interval - row.late_ms, to_ms: row.at_ms }).collect()
    }

    /// Times between two looks at sockets of which both were so.
    pub(super) fn between_looks(&self, which: impl Fn(&Traffic) -> bool) -> Spans {
        let looks = self.recording.host.iter().filter_map(|row| Some((row.at_ms, row.traffic?)));
        let looks: Vec<(f64, bool)> = looks.map(|(at_ms, traffic)| (at_ms, which(&traffic))).collect();
        let both = looks.windows(2).filter(|pair| pair[0].1 && pair[1].1);
        both.map(|pair| Span { from_ms: pair[0].0, to_ms: pair[1].0 }).collect()
    }

    /// Looks at sockets.
    pub(super) fn traffic(&self) -> impl Iterator<Item = Traffic> {
        self.recording.host.iter().filter_map(|row| row.traffic)
    }

    /// Times at which a device answered nothing, though something was under way. Where only the
    /// slowest request is known, and it took as long as that, these are the long waits for files.
    pub(super) fn frozen(&self, device: &Device) -> Spans {
        let interval = self.recording.sight.host_interval_ms;
        let stands = |row: &&DeviceSample| row.in_flight > 0 && row.reads + row.writes + row.flushes == 0;
        let rows = device.samples.iter().filter(stands);
        let spans: Spans =
            rows.map(|row| Span { from_ms: row.at_ms - 1.5 * interval, to_ms: row.at_ms }).collect();
        let seen = spans.of_at_least(FROZEN_MS);
        if device.samples.is_empty() && device.longest_ms.is_some_and(|longest| longest >= FROZEN_MS) {
            let locks = |class| matches!(class, WaitClass::Lock | WaitClass::Safepoint | WaitClass::Socket);
            return self.waits(|wait| !locks(wait.wait.class)).spans().of_at_least(FROZEN_MS / 2.0);
        }
        seen
    }

    /// What a device's requests took on average, in milliseconds; `None` if it answered none.
    pub(super) fn service_ms(&self, device: &Device, when: &Spans) -> Option<f64> {
        let inside = |row: &&DeviceSample| {
            let moment: Spans = [Span { from_ms: row.at_ms - 1.0, to_ms: row.at_ms }].into_iter().collect();
            !moment.within(when).is_empty()
        };
        let (mut count, mut time) = (0, 0.0);
        for row in device.samples.iter().filter(inside) {
            count += row.reads + row.writes;
            time += row.reads_ms + row.writes_ms;
        }
        (count > 0).then(|| time / count as f64)
    }

    /// Lines of the broker's log that contain all these texts.
    pub(super) fn lines(&self, texts: &[&str]) -> Vec<&'a crate::recording::LogLine> {
        let all = |line: &&crate::recording::LogLine| texts.iter().all(|text| line.text.contains(text));
        self.recording.log.iter().filter(all).collect()
    }
}

/// Waits of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits<'a>(Vec<Seen<'a>>);

impl<'a> Waits<'a> {
    pub(super) fn spans(&self) -> Spans {
        self.0.iter().map(Seen::span).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they were recorded.
    pub(super) fn waits(&self) -> impl Iterator<Item = &'a Wait> {
        self.0.iter().map(|seen| seen.wait)
    }

    /// Those that are so.
    pub(super) fn that(&self, which: impl Fn(&Seen<'a>) -> bool) -> Self {
        Self(self.0.iter().filter(|seen| which(seen)).copied().collect())
    }

    /// The threads, each once.
    pub(super) fn threads(&self) -> Vec<u32> {
        let mut threads: Vec<u32> = self.0.iter().map(|seen| seen.thread.tid).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    pub(super) fn longest(&self) -> Option<&Seen<'a>> {
        self.0.iter().max_by(|a, b| a.length_ms().total_cmp(&b.length_ms()))
    }

    /// Who held what they waited for, those first that were found oftenest.
    pub(super) fn holders(&self) -> Vec<u32> {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for holder in self.0.iter().flat_map(|seen| &seen.wait.holders) {
            *counts.entry(*holder).or_default() += 1;
        }
        let mut holders: Vec<(u32, usize)> = counts.into_iter().collect();
        holders.sort_by_key(|&(tid, count)| (std::cmp::Reverse(count), tid));
        holders.into_iter().map(|(tid, _)| tid).collect()
    }

    /// Files that they are about, those first that took longest.
    pub(super) fn paths(&self) -> Vec<&'a str> {
        let mut times: HashMap<&str, f64> = HashMap::new();
        for seen in &self.0 {
            if let Some(path) = seen.path() {
                *times.entry(path).or_default() += seen.length_ms();
            }
        }
        let mut paths: Vec<(&str, f64)> = times.into_iter().collect();
        paths.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        paths.into_iter().map(|(path, _)| path).collect()
    }
}
