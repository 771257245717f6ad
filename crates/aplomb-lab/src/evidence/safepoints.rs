//! When a JVM stopped its threads, and how long it took to: its log of safepoints
//! (`-Xlog:safepoint:…:timenanos`, JDK 13 and later).
//!
//! `[2000123456ns] Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 2
//! ns, Cleanup: 3 ns, At safepoint: 4 ns, Total: 9 ns` is written when the threads go on again. JDK
//! 21 has `Leaving safepoint` beside.

use crate::record::Safepoint;

/// Reads the log. `zero_ns` is when the load's measuring began, on the clock of the log: it is the
/// kernel's monotonic clock, in nanoseconds (`System.nanoTime`). Lines that are something else are
/// left out, and so are safepoints that took less than `shortest_ms` in all.
#[must_use]
pub(crate) fn read(log: &str, zero_ns: i128, shortest_ms: f64) -> Vec<Safepoint> {
    log.lines()
        .filter_map(|line| safepoint(line, zero_ns))
        .filter(|one| one.total_ms >= shortest_ms)
        .collect()
}

fn safepoint(line: &str, zero_ns: i128) -> Option<Safepoint> {
    let clock: i128 = line.strip_prefix('[')?.split_once("ns]")?.0.parse().ok()?;
    let reason = line.split_once("Safepoint \"")?.1.split_once('"')?.0.to_owned();
    let nanos = |name: &str| -> Option<f64> {
        line.split_once(name)?.1.trim_start().split_once(' ')?.0.trim().parse::<f64>().ok()
    };
    let (reaching, total) = (nanos("Reaching safepoint:")?, nanos("Total:")?);
    let ended = (clock - zero_ns) as f64;
    let ms = |nanos: f64| (nanos / 1e3).round() / 1e3;
    Some(Safepoint { at_ms: ms(ended - total), reaching_ms: ms(reaching), total_ms: ms(total), reason })
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
        assert_eq!(read(LOG, 2_000_000_000, 0.0)[0].at_ms, -500.0);
    }
}
