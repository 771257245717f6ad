//! Samples of async-profiler's wall clock, and the gaps between them.
//!
//! A thread in uninterruptible sleep takes no signal and so gives no sample; it gives one when its
//! wait is over, with the stack of the call that waited. So the wait is the gap before that sample:
//! its end is exact, its beginning early by up to an interval. A sleep that a signal interrupts is
//! sampled, and is a wait if it is one for a lock.

use std::collections::HashMap;

use crate::recording::Sighting;

use super::super::fault::JfrFault;
use super::super::values::FieldSet;
use super::found::{CallFrames, FoundWait, FoundWaits};
use super::frames::{WaitReason, in_the_kernel, waits_for_a_lock};
use super::names::ChunkNames;

/// A gap is a wait above so many intervals: samples come a little early and a little late.
const GAP_INTERVALS: f64 = 1.5;
/// A thread that is found asleep in the same place is still in the same sleep up to so many: a
/// profiler that has no processor is late, and the wait is said to be one or several.
const SLEEP_INTERVALS: f64 = 4.0;
/// Threads that are followed.
const MOST_THREADS: usize = 100_000;
/// Intervals that can be meant, in milliseconds.
const INTERVALS_MS: std::ops::RangeInclusive<f64> = 0.1..=10_000.0;
/// What async-profiler takes where it is told none, in milliseconds.
const USUAL_INTERVAL_MS: f64 = 50.0;

/// One sample, or several that found the same.
#[derive(Clone, Debug)]
pub(super) struct WallSample {
    pub(super) tid: u32,
    /// Milliseconds since 1970.
    pub(super) from_ms: f64,
    /// How long after the first of them the last was taken, where the file says so.
    pub(super) span_ms: Option<f64>,
    pub(super) runnable: bool,
    pub(super) count: u64,
    pub(super) frames: CallFrames,
}

/// Follows threads from sample to sample, and from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct WallClock {
    /// Of the chunk that is being read.
    samples: Vec<WallSample>,
    set_interval_ms: Option<f64>,
    interval_ms: Option<f64>,
    threads: HashMap<u32, LastSeen>,
    without_stack: u64,
}

/// Where a thread was seen last.
#[derive(Debug)]
struct LastSeen {
    at_ms: f64,
    /// The wait for a lock that it may still be in.
    lock: Option<FoundWait>,
}

impl WallClock {
    /// Takes an event of a chunk that async-profiler wrote.
    pub(super) fn event(&mut self, event: &FieldSet<'_>, names: &mut ChunkNames) -> Result<(), JfrFault> {
        match event.type_name() {
            "profiler.WallClockSample" | "jdk.ExecutionSample" => self.sample(event, names),
            "jdk.ActiveSetting" => self.setting(event),
            _ => Ok(()),
        }
    }

    fn sample(&mut self, event: &FieldSet<'_>, names: &mut ChunkNames) -> Result<(), JfrFault> {
        // By name: numbers differ between versions. A chunk without constants has only numbers.
        let runnable = match (event.text("state")?.as_deref(), event.constant("state")?) {
            (Some("STATE_RUNNABLE"), _) | (None, Some(1)) => true,
            (Some("STATE_SLEEPING"), _) | (None, Some(2)) => false,
            // Samples of processor time say nothing of waits.
            _ => return Ok(()),
        };
        let Some(tid) = names.tid(event, "sampledThread")? else { return Ok(()) };
        let frames = names.frames(event)?;
        if frames.is_empty() {
            self.without_stack += 1;
        }
        let span = event.integer("timeSpan")?.map(|ticks| names.header.ticks_ms(ticks));
        let count = event.integer("samples")?.and_then(|count| u64::try_from(count).ok()).unwrap_or(1).max(1);
        let from_ms = names.start_ms(event)?;
        self.samples.push(WallSample { tid, from_ms, span_ms: span, runnable, count, frames });
        Ok(())
    }

    fn setting(&mut self, event: &FieldSet<'_>) -> Result<(), JfrFault> {
        let name = event.text("name")?;
        // `wall` is the interval of the wall clock beside another event; alone, it is `interval`.
        if !matches!(name.as_deref(), Some("wall" | "interval")) {
            return Ok(());
        }
        let nanos = event.text("value")?.and_then(|value| value.parse::<f64>().ok());
        let ms = nanos.map(|nanos| nanos / 1e6).filter(|ms| INTERVALS_MS.contains(ms));
        if name.as_deref() == Some("wall") || self.set_interval_ms.is_none() {
            self.set_interval_ms = ms.or(self.set_interval_ms);
        }
        Ok(())
    }

    /// The chunk is over: its samples are put in order, and looked at for waits.
    pub(super) fn chunk_ends(&mut self, found: &mut FoundWaits) {
        let mut samples = std::mem::take(&mut self.samples);
        if samples.is_empty() {
            return;
        }
        samples.sort_by(|a, b| a.tid.cmp(&b.tid).then_with(|| a.from_ms.total_cmp(&b.from_ms)));
        let interval = self.set_interval_ms.or_else(|| guess(&samples)).or(self.interval_ms);
        let interval = interval.unwrap_or(USUAL_INTERVAL_MS);
        self.interval_ms = Some(interval);
        for sample in &samples {
            self.follow(sample, interval, found);
        }
    }

    /// The file is over: waits that no later sample has ended are over too. What is told is the
    /// interval, and how many samples had no stack.
    pub(super) fn finish(self, found: &mut FoundWaits) -> (Option<f64>, u64) {
        let locks = self.threads.into_values().filter_map(|seen| seen.lock);
        locks.for_each(|wait| found.add(wait));
        (self.interval_ms, self.without_stack)
    }

    fn follow(&mut self, sample: &WallSample, interval: f64, found: &mut FoundWaits) {
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&sample.tid) {
            return;
        }
        let usual_span = (sample.count - 1) as f64 * interval;
        let end = sample.from_ms + sample.span_ms.unwrap_or(usual_span);
        let seen = self.threads.remove(&sample.tid);
        let gap = seen.as_ref().map(|seen| (seen.at_ms, sample.from_ms - seen.at_ms));
        if let Some((since, gap)) = gap
            && sample.runnable
            && gap > GAP_INTERVALS * interval
            && let Some(doing) = in_the_kernel(&sample.frames)
        {
            let mut wait = FoundWait::new(sample.tid, (since, sample.from_ms), Sighting::Gap, doing);
            wait.frames = sample.frames.clone();
            found.add(wait);
        }
        let at_ms = seen.as_ref().map_or(end, |seen| seen.at_ms.max(end));
        let is_near = gap.is_some_and(|(_, gap)| gap <= SLEEP_INTERVALS * interval);
        let before = seen.and_then(|seen| seen.lock);
        let lock = if !sample.runnable && waits_for_a_lock(&sample.frames) {
            Some(lock_wait(sample, end + interval, before, is_near, found))
        } else {
            before.into_iter().for_each(|wait| found.add(wait));
            None
        };
        self.threads.insert(sample.tid, LastSeen { at_ms, lock });
    }
}

/// A sleep for a lock until `to_ms`: the one before goes on if it was in the same place a moment
/// ago, else it is over.
fn lock_wait(
    sample: &WallSample,
    to_ms: f64,
    before: Option<FoundWait>,
    is_near: bool,
    found: &mut FoundWaits,
) -> FoundWait {
    if let Some(mut wait) = before {
        if is_near && wait.frames == sample.frames {
            wait.to_ms = wait.to_ms.max(to_ms);
            wait.sighting = match wait.sighting {
                // The first sample is an event of its own; a batch behind it has found no change.
                Sighting::One { looks: 1 } if sample.count > 1 => Sighting::One { looks: 1 + sample.count },
                // A new event is written when a thread has run: these may be several waits.
                before => Sighting::Several { looks: looks(before).saturating_add(sample.count) },
            };
            return wait;
        }
        found.add(wait);
    }
    let looks = Sighting::One { looks: sample.count };
    let mut wait = FoundWait::new(sample.tid, (sample.from_ms, to_ms), looks, WaitReason::Lock);
    wait.frames = sample.frames.clone();
    wait
}

fn looks(sighting: Sighting) -> u64 {
    match sighting {
        Sighting::One { looks } | Sighting::Several { looks } => looks,
        Sighting::Exact | Sighting::Gap => 1,
    }
}

/// The interval by the samples themselves: the middle one of all steps from a sample to the next.
/// `samples` are in order of thread and time.
fn guess(samples: &[WallSample]) -> Option<f64> {
    let batches = samples.iter().filter(|sample| sample.count > 1);
    let in_batches = batches.filter_map(|sample| Some(sample.span_ms? / (sample.count - 1) as f64));
    let between = samples.windows(2).filter(|pair| pair[0].tid == pair[1].tid);
    let between = between.map(|pair| pair[1].from_ms - pair[0].from_ms);
    let mut steps: Vec<f64> = in_batches.filter(|step| INTERVALS_MS.contains(step)).collect();
    if steps.is_empty() {
        steps = between.filter(|step| INTERVALS_MS.contains(step)).collect();
    }
    let middle = steps.len() / 2;
    if steps.is_empty() {
        return None;
    }
    Some(*steps.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const WRITE: &str = "write < sun.nio.ch.FileDispatcherImpl.write0 < a.FileRecords.append";
    const ENTER: &str = "futex < ObjectMonitor::enter < a.B.c";
    const IDLE: &str = "epoll_wait < sun.nio.ch.EPoll.wait";

    fn sample(tid: u32, from_ms: f64, (state, count): (&str, u64), stack: &str) -> WallSample {
        let frames = stack.split(" < ").map(Arc::from).collect();
        let span_ms = (count > 1).then_some((count - 1) as f64 * 20.0);
        WallSample { tid, from_ms, span_ms, runnable: state == "R", count, frames }
    }

    /// (thread, beginning, end, how it is known) of what `chunks` of samples show at 20 ms.
    fn waits(chunks: Vec<Vec<WallSample>>) -> Vec<(u32, f64, f64, Sighting)> {
        let mut clock = WallClock { set_interval_ms: Some(20.0), ..WallClock::default() };
        let mut found = FoundWaits::new(0.0);
        for samples in chunks {
            clock.samples = samples;
            clock.chunk_ends(&mut found);
        }
        clock.finish(&mut found);
        let (waits, _) = found.finish();
        waits.into_iter().map(|wait| (wait.tid, wait.from_ms, wait.to_ms, wait.sighting)).collect()
    }

    #[test]
    fn the_gap_before_a_sample_in_a_call_is_a_wait() {
        let samples = vec![
            sample(1, 0.0, ("S", 6), IDLE),
            sample(1, 400.0, ("R", 1), WRITE),
            sample(1, 420.0, ("R", 1), WRITE),
            sample(1, 800.0, ("R", 1), "a.B.compute"),
        ];
        assert_eq!(waits(vec![samples]), [(1, 100.0, 400.0, Sighting::Gap)]);
    }

    #[test]
    fn a_gap_goes_on_over_the_end_of_a_chunk_and_order_does_not_matter() {
        let first = vec![sample(1, 20.0, ("R", 1), WRITE), sample(1, 0.0, ("R", 1), WRITE)];
        let second = vec![sample(1, 320.0, ("R", 1), WRITE), sample(2, 320.0, ("R", 1), WRITE)];
        assert_eq!(waits(vec![first, second]), [(1, 20.0, 320.0, Sighting::Gap)]);
    }

    #[test]
    fn a_sleep_for_a_lock_is_a_wait_of_its_samples_and_an_interval() {
        let batch = vec![sample(1, 100.0, ("S", 5), ENTER), sample(1, 220.0, ("R", 1), "a.B.c")];
        assert_eq!(waits(vec![batch]), [(1, 100.0, 200.0, Sighting::One { looks: 5 })]);
        let single = (0..4).map(|n| sample(1, f64::from(n) * 20.0, ("S", 1), ENTER)).collect();
        assert_eq!(waits(vec![single]), [(1, 0.0, 80.0, Sighting::Several { looks: 4 })]);
        let first = vec![sample(1, 80.0, ("S", 1), ENTER), sample(1, 100.0, ("S", 5), ENTER)];
        assert_eq!(waits(vec![first]), [(1, 80.0, 200.0, Sighting::One { looks: 6 })]);
        let apart = vec![sample(1, 0.0, ("S", 1), ENTER), sample(1, 100.0, ("S", 1), ENTER)];
        assert_eq!(waits(vec![apart]).len(), 2);
    }

    #[test]
    fn the_interval_is_guessed_where_it_is_not_said() {
        let each =
            |step: f64| (0..9).map(|n| sample(1, f64::from(n) * step, ("R", 1), WRITE)).collect::<Vec<_>>();
        assert_eq!(guess(&each(10.0)), Some(10.0));
        assert_eq!(guess(&[sample(1, 0.0, ("S", 9), IDLE), sample(1, 999.0, ("R", 1), WRITE)]), Some(20.0));
        assert_eq!(guess(&each(0.0)), None);
        assert_eq!(guess(&[]), None);
    }
}
