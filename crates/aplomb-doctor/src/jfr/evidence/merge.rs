//! What JFR says, added to what is known from elsewhere.

use super::{JfrEvidence, UNCERTAINTY_MS};
use crate::recording::{Collection, Recording, Safepoint, Thread};

impl JfrEvidence {
    /// Adds it to a recording of the same process, on that one's clock. Waits are added as they
    /// are; safepoints and collections where the recording has none at that time, as a log of the
    /// JVM is more exact; rows of the machine where it has no rows at all; names replace the
    /// kernel's fifteen bytes.
    pub fn add_to(self, recording: &mut Recording) {
        let ours = self.recording;
        let shift = ours.clock.began_unix_ms - recording.clock.began_unix_ms;
        recording.clock.uncertainty_ms = recording.clock.uncertainty_ms.max(ours.clock.uncertainty_ms);
        recording.process.pid = recording.process.pid.or(ours.process.pid);
        if recording.process.java.is_none() {
            recording.process.java = ours.process.java;
        }
        if recording.process.jvm_flags.is_empty() {
            recording.process.jvm_flags = ours.process.jvm_flags;
        }
        if recording.sight.look_interval_ms.is_none() {
            recording.sight.look_interval_ms = ours.sight.look_interval_ms;
        }
        recording.sight.sources.extend(ours.sight.sources);
        recording.sight.missing.extend(ours.sight.missing);
        ours.threads.into_iter().for_each(|thread| add_thread(&mut recording.threads, thread));
        recording.waits.extend(ours.waits.into_iter().map(|mut wait| {
            wait.from_ms += shift;
            wait.to_ms += shift;
            wait
        }));
        recording.waits.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
        let safepoints = ours.safepoints.into_iter();
        let safepoints = safepoints.map(|one| Safepoint { at_ms: one.at_ms + shift, ..one });
        add_unknown_safepoints(&mut recording.safepoints, safepoints.collect());
        let collections = ours.collections.into_iter();
        let collections = collections.map(|one| Collection { at_ms: one.at_ms + shift, ..one });
        let span = |one: &Collection| (one.at_ms, one.at_ms + one.pause_ms);
        add_unknown(&mut recording.collections, collections.collect(), span);
        if recording.host.is_empty() {
            recording.sight.host_interval_ms = ours.sight.host_interval_ms;
            recording.host = ours.host;
            recording.host.iter_mut().for_each(|row| row.at_ms += shift);
        }
    }
}

fn add_thread(threads: &mut Vec<Thread>, thread: Thread) {
    match threads.iter_mut().find(|known| known.tid == thread.tid) {
        Some(known) if known.name != thread.name => {
            known.name = thread.name;
            known.role = thread.role;
        }
        Some(_) => {}
        None => threads.push(thread),
    }
}

/// Adds safepoints that overlap none of those which are known. Both are in the order of times.
pub(crate) fn add_unknown_safepoints(all: &mut Vec<Safepoint>, new: Vec<Safepoint>) {
    add_unknown(all, new, |one| (one.at_ms, one.at_ms + one.total_ms));
}

/// Adds those of `new` that overlap none of `all`. Both are in the order of their times.
fn add_unknown<T>(all: &mut Vec<T>, new: Vec<T>, span: impl Fn(&T) -> (f64, f64)) {
    let spans: Vec<(f64, f64)> = all.iter().map(&span).collect();
    let is_known = |one: &T| {
        let (from, to) = span(one);
        let begun = spans.partition_point(|(at, _)| *at <= to + UNCERTAINTY_MS);
        // Pauses do not overlap each other, so the last that had begun ends last.
        begun.checked_sub(1).is_some_and(|last| spans[last].1 + UNCERTAINTY_MS >= from)
    };
    all.extend(new.into_iter().filter(|one| !is_known(one)));
    all.sort_by(|a, b| span(a).0.total_cmp(&span(b).0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Clock, Role, Sighting, Wait, WaitClass};

    fn safepoint(at_ms: f64, total_ms: f64) -> Safepoint {
        Safepoint { at_ms, total_ms, count: 1, ..Safepoint::default() }
    }

    #[test]
    fn times_move_to_the_other_clock_and_what_a_log_has_told_stays() {
        let wait = Wait {
            tid: 7,
            from_ms: 5.0,
            to_ms: 9.0,
            sighting: Sighting::Exact,
            class: WaitClass::Lock,
            call: None,
            kernel: Vec::new(),
            frames: Vec::new(),
            holders: Vec::new(),
            holders_known: false,
            woken_by: None,
        };
        let thread = |name: &str, role| Thread { tid: 7, name: name.to_owned(), role, usage: Vec::new() };
        let clock = |began_unix_ms| Clock { began_unix_ms, ..Clock::default() };
        let ours = Recording {
            clock: clock(10_000.0),
            waits: vec![wait],
            threads: vec![thread("data-plane-kafka-request-handler-1", Role::Request)],
            safepoints: vec![safepoint(10.0, 5.0), safepoint(500.0, 5.0)],
            ..Recording::default()
        };
        let mut recording = Recording {
            clock: clock(9_000.0),
            threads: vec![thread("data-plane-kafk", Role::Other)],
            safepoints: vec![safepoint(1_009.5, 6.0), safepoint(2_000.0, 1.0)],
            ..Recording::default()
        };
        JfrEvidence { recording: ours, ..JfrEvidence::default() }.add_to(&mut recording);
        assert_eq!((recording.waits[0].from_ms, recording.waits[0].to_ms), (1_005.0, 1_009.0));
        assert_eq!(recording.threads, [thread("data-plane-kafka-request-handler-1", Role::Request)]);
        let at: Vec<f64> = recording.safepoints.iter().map(|one| one.at_ms).collect();
        assert_eq!(at, [1_009.5, 1_500.0, 2_000.0]);
    }
}
