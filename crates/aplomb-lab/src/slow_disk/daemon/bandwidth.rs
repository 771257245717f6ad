//! How many bytes the device carries in a second.
//!
//! A disk that is a process carries as many as it gets processor time for, and takes that from
//! those whose bytes they are: after a long freeze, with its priority, for seconds. A real one
//! takes time and no processor; so here the threads that carry the bytes sleep in between.
//!
//! What always holds: a thread that has slept as it was told has carried no more than [`AHEAD`]
//! beyond what the bandwidth allows.

use std::time::{Duration, Instant};

/// So much may be carried ahead of time: shorter sleeps are not worth a timer.
const AHEAD: Duration = Duration::from_millis(1);

/// When the device is done with what it was given.
#[derive(Debug)]
pub(super) struct Bandwidth {
    bytes_per_second: u64,
    busy_until: Option<Instant>,
}

impl Bandwidth {
    /// # Panics
    ///
    /// If no bytes are carried at all.
    pub(super) fn new(bytes_per_second: u64) -> Self {
        assert!(bytes_per_second > 0, "a device carries something");
        Self { bytes_per_second, busy_until: None }
    }

    /// So many bytes are carried from now on: how long to sleep.
    pub(super) fn carry(&mut self, bytes: u64, now: Instant) -> Duration {
        let takes = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let begins = self.busy_until.map_or(now, |busy| busy.max(now));
        self.busy_until = Some(begins + takes);
        let left = (begins + takes).duration_since(now);
        if left <= AHEAD { Duration::ZERO } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_any_size_come_to_the_same_bytes_a_second() {
        for size in [512, 4 << 10, 128 << 10, 1 << 20] {
            let (mut device, start) = (Bandwidth::new(100_000_000), Instant::now());
            let (mut now, mut carried) = (start, 0);
            while carried < 50_000_000 {
                now += device.carry(size, now);
                carried += size;
            }
            let took = now - start;
            let exact = Duration::from_secs_f64(carried as f64 / 1e8);
            assert!(took <= exact && took + AHEAD + AHEAD >= exact, "{size}: {took:?} for {exact:?}");
        }
    }

    #[test]
    fn a_few_bytes_now_and_then_are_not_slept_for() {
        let (mut device, start) = (Bandwidth::new(100_000_000), Instant::now());
        for beat in 0..1000 {
            assert_eq!(device.carry(16 << 10, start + Duration::from_millis(beat)), Duration::ZERO);
        }
    }
}
