//! How late the machine itself is: a thread on each processor that wants to run every two milliseconds, before everybody else.
//!
//! What always holds: its moments are fixed beforehand, so a machine that stands still for 10 ms is late five times, as it is for a load of open loop. What it
//! is late by, no broker could have avoided: a host that has taken the processor away, a kernel that lets nobody in. Latencies below it are the machine's.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::record::Percentiles;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(2);
/// Its priority, as `nice` counts: the first of all that are not of real time.
const FIRST: i32 = -20;

/// Beats from its start to [`Self::finish`].
#[derive(Debug)]
pub struct Metronome {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<u32>>>,
}

/// How late each beat came.
#[derive(Debug, Default)]
pub struct Beats {
    /// Microseconds, by processor and beat.
    late_us: Vec<Vec<u32>>,
}

impl Metronome {
    /// Begins; beats are counted from `origin`, which is not far away.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn start(origin: Instant) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let ours = sched_getaffinity(None)?;
        let mut threads = Vec::new();
        for processor in (0..CpuSet::MAX_CPU).filter(|processor| ours.is_set(*processor)) {
            let stop = Arc::clone(&stop);
            let thread = thread::Builder::new().name("lab-metronome".to_owned());
            threads.push(thread.spawn(move || beat(processor, origin, &stop))?);
        }
        Ok(Self { stop, threads })
    }

    /// Ends, and tells.
    ///
    /// # Panics
    /// If a beating thread has.
    #[must_use]
    pub fn finish(mut self) -> Beats {
        self.stop.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut self.threads).into_iter();
        Beats { late_us: threads.map(|thread| thread.join().expect("it does not panic")).collect() }
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn beat(processor: usize, origin: Instant, stop: &AtomicBool) -> Vec<u32> {
    let mut only = CpuSet::new();
    only.set(processor);
    // Where either is refused it says less: how late a thread like any other is, on some processor.
    let _ = sched_setaffinity(None, &only);
    let _ = rustix::process::setpriority_process(None, FIRST);
    let mut late = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let now = origin.elapsed();
        count(&mut late, now);
        let next = BEAT * u32::try_from(late.len()).unwrap_or(u32::MAX);
        thread::sleep(next.saturating_sub(origin.elapsed()));
    }
    late
}

/// Counts the beats that were due by now and had not come.
fn count(late: &mut Vec<u32>, now: Duration) {
    while let Some(by) = now.checked_sub(BEAT * u32::try_from(late.len()).unwrap_or(u32::MAX)) {
        late.push(u32::try_from(by.as_micros()).unwrap_or(u32::MAX));
    }
}

impl Beats {
    /// How late those were that were due in this part, counted from the origin; `None` without any.
    #[must_use]
    pub fn between(&self, part: &Range<Duration>) -> Option<Percentiles> {
        let place = |time: Duration| (time.as_nanos() / BEAT.as_nanos()) as usize;
        let (from, to) = (place(part.start), place(part.end));
        let of_each = self.late_us.iter().map(|late| &late[from.min(late.len())..to.min(late.len())]);
        let mut all: Vec<u32> = of_each.flatten().copied().collect();
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        let at = |share: f64| u64::from(all[((share * all.len() as f64) as usize).min(last)]);
        Some(Percentiles {
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: u64::from(all[last]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beat_that_was_missed_was_late() {
        let mut late = Vec::new();
        count(&mut late, Duration::from_micros(100));
        assert_eq!(late, [100]);
        count(&mut late, Duration::from_micros(1_900));
        assert_eq!(late.len(), 1, "the next is not due");
        count(&mut late, Duration::from_micros(6_400));
        assert_eq!(late, [100, 4_400, 2_400, 400]);
    }

    #[test]
    fn a_part_has_its_own_beats_and_of_all_processors() {
        let beats = Beats { late_us: vec![vec![1; 1_000], [vec![1; 500], vec![50; 450]].concat()] };
        let part = |from, to| beats.between(&(Duration::from_millis(from)..Duration::from_millis(to)));
        let calm = part(0, 1_000).expect("there are beats");
        assert_eq!((calm.p999_us, calm.max_us), (1, 1));
        let during = part(1_000, 2_000).expect("there are beats");
        assert_eq!((during.p50_us, during.p99_us, during.max_us), (1, 50, 50));
        assert_eq!(part(2_000, 3_000), None);
    }

    #[test]
    fn it_beats_until_it_is_finished() {
        let metronome = Metronome::start(Instant::now()).expect("threads");
        thread::sleep(Duration::from_millis(20));
        let beats = metronome.finish();
        assert!(!beats.late_us.is_empty() && beats.late_us.iter().all(|late| late.len() >= 10));
    }
}
