//! The clocks. Nothing else on the request path reads one: cores are told the time, and this file
//! is where it comes from.
//!
//! What always holds: [`Now::instant`] is the kernel's `CLOCK_MONOTONIC` in nanoseconds, the clock
//! that the disks' threads and their counters use too, so that the two can be compared.

use aplomb_broker::ports::Now;
use aplomb_model::{Instant, Timestamp};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Reads both clocks. A loop does it once a turn.
#[must_use]
pub fn now() -> Now {
    Now { instant: instant(), wall: wall() }
}

/// Reads the monotonic clock.
#[must_use]
pub fn instant() -> Instant {
    let at = read(ClockId::Monotonic);
    let nanos =
        u64::try_from(at.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(at.tv_nsec).unwrap_or(0);
    Instant::from_nanos(nanos)
}

/// Reads the wall clock.
#[must_use]
pub fn wall() -> Timestamp {
    let at = read(ClockId::Realtime);
    Timestamp(at.tv_sec * 1000 + at.tv_nsec / 1_000_000)
}

#[expect(clippy::disallowed_methods, reason = "the loop reads the clock")]
fn read(clock: ClockId) -> Timespec {
    clock_gettime(clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back_and_the_wall_clock_is_past_2020() {
        let before = instant();
        assert!(instant() >= before);
        assert!(wall() > Timestamp(1_577_836_800_000));
    }
}
