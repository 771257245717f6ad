//! How late the machine itself is: a thread on each processor that wants to run every two
//! milliseconds, before everybody else.
//!
//! What always holds: its moments are fixed beforehand, so a machine that stands still for 10 ms is
//! late five times, as it is for a load of open loop. What it is late by, no broker could have
//! avoided: a host that has taken the processor away, a kernel that lets nobody in. Latencies below
//! it are the machine's.
//!
//! A request needs several threads one after the other, and a host that gives each processor half
//! of the time for 60 ms makes each of them late, though no beat is late by more than 3 ms. So what
//! counts is the burst: successive beats that are late on whichever processor, and all that is lost
//! in them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::record::Percentiles;
use crate::standing::Standing;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(2);
/// A beat that is late by less is not late: timers are not exact.
const LATE_US: u32 = 500;

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
    Standing::BeforeAll.take();
    let mut late = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let now = origin.elapsed();
        count(&mut late, now);
        let next = BEAT * u32::try_from(late.len()).unwrap_or(u32::MAX);
        thread::sleep(next.saturating_sub(origin.elapsed()));
    }
    // Those that were due before the end.
    count(&mut late, origin.elapsed());
    late
}

/// Counts the beats that were due by now and had not come.
fn count(late: &mut Vec<u32>, now: Duration) {
    while let Some(by) = now.checked_sub(BEAT * u32::try_from(late.len()).unwrap_or(u32::MAX)) {
        late.push(u32::try_from(by.as_micros()).unwrap_or(u32::MAX));
    }
}

impl Beats {
    /// What the processors, added up, had still to lose in its burst at each beat that was due in
    /// this part, counted from the origin; `None` without any.
    #[must_use]
    pub fn between(&self, part: &Range<Duration>) -> Option<Percentiles> {
        let place = |time: Duration| (time.as_nanos() / BEAT.as_nanos()) as usize;
        let mut all = self.still_lost();
        all.truncate(place(part.end));
        let mut all = all.split_off(place(part.start).min(all.len()));
        all.sort_unstable();
        let last = all.len().checked_sub(1)?;
        let at = |share: f64| all[((share * all.len() as f64) as usize).min(last)];
        Some(Percentiles { p50_us: at(0.5), p99_us: at(0.99), p999_us: at(0.999), max_us: all[last] })
    }

    /// Microseconds by beat, from that beat to the end of its burst.
    fn still_lost(&self) -> Vec<u64> {
        let beats = self.late_us.iter().map(Vec::len).min().unwrap_or(0);
        // Until the next beat; what it is late by beyond that, the next is late by too.
        let most = BEAT.as_micros() as u32;
        let lost = |beat: usize| {
            let late = self.late_us.iter().map(|late| late[beat]).filter(|late| *late >= LATE_US);
            late.map(|late| u64::from(late.min(most))).sum::<u64>()
        };
        let mut still: Vec<u64> = (0..beats).map(lost).collect();
        for beat in (1..beats).rev() {
            if still[beat - 1] > 0 {
                still[beat - 1] += still[beat];
            }
        }
        still
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
    fn what_successive_beats_lose_is_added_up_over_all_processors() {
        let beats =
            Beats { late_us: vec![vec![0, 5_000, 3_000, 1_000, 0, 0], vec![100, 100, 100, 700, 0, 900]] };
        // 2 ms until the next beat, 2 ms, then 1 ms here and 0.7 ms there.
        assert_eq!(beats.still_lost(), [0, 5_700, 3_700, 1_700, 0, 900]);
    }

    #[test]
    fn a_part_has_its_own_beats() {
        let beats = Beats { late_us: vec![vec![100; 1_000], [vec![100; 500], vec![600; 450]].concat()] };
        let part = |from, to| beats.between(&(Duration::from_millis(from)..Duration::from_millis(to)));
        let calm = part(0, 1_000).expect("there are beats");
        assert_eq!((calm.p999_us, calm.max_us), (0, 0));
        let during = part(1_000, 2_000).expect("there are beats");
        assert_eq!((during.p50_us, during.max_us), (226 * 600, 450 * 600));
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
