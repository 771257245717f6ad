//! The machine's monotonic clock, as the model counts it. Disk threads may look at it; request
//! threads are told.

use aplomb_model::Instant;
use rustix::time::{ClockId, clock_gettime};

/// Now, on `CLOCK_MONOTONIC`.
#[must_use]
pub fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    // Both are never negative on this clock.
    Instant::from_nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}
