//! When a JVM stopped its threads, and how long it took to, by its log of safepoints.

use aplomb_doctor::jvm::{JvmLogReader, LogClock};
use aplomb_doctor::recording::Clock;

use crate::record::Safepoint;

/// Reads the log. `zero_ns` is when the load's measuring began, on the clock of the log: it is the
/// kernel's monotonic clock, in nanoseconds (`System.nanoTime`). Lines that are something else are
/// left out, and so are safepoints before that and those that took less than `shortest_ms` in all.
#[must_use]
pub(crate) fn read(log: &str, zero_ns: i128, shortest_ms: f64) -> Vec<Safepoint> {
    let clock = Clock {
        began_monotonic_ms: Some(zero_ns as f64 / 1e6),
        length_ms: f64::INFINITY,
        ..Clock::default()
    };
    let mut reader = JvmLogReader::new(LogClock::of(&clock));
    log.lines().for_each(|line| reader.line(line));
    let long = reader.finish().safepoints.into_iter().filter(|one| one.total_ms >= shortest_ms);
    let to_the_microsecond = |ms: f64| (ms * 1e3).round() / 1e3;
    long.map(|one| Safepoint {
        at_ms: to_the_microsecond(one.at_ms),
        reaching_ms: to_the_microsecond(one.reaching_ms.unwrap_or(0.0)),
        total_ms: to_the_microsecond(one.total_ms),
        reason: one.reason,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[1500000000ns] Safepoint \"ICBufferFull\", Time since last: 900 ns, Reaching safepoint: 100 ns, Cleanup: 20 ns, At safepoint: 30 ns, Total: 150 ns
[3000000000ns] Safepoint \"G1CollectForAllocation\", Time since last: 900000000 ns, Reaching safepoint: 425000000 ns, Cleanup: 1 ns, At safepoint: 20000000 ns, Leaving safepoint: 5 ns, Total: 445000000 ns
[3.1s] something else
[x] Safepoint \"broken
";

    #[test]
    fn a_safepoint_begins_where_threads_were_asked_to_stop() {
        let found = read(LOG, 2_000_000_000, 1.0);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].reason, "G1CollectForAllocation");
        assert_eq!((found[0].at_ms, found[0].reaching_ms, found[0].total_ms), (555.0, 425.0, 445.0));
        assert_eq!(read(LOG, 1_000_000_000, 0.0).len(), 2);
    }
}
