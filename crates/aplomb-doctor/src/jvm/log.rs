//! A JVM's logs as a whole: whichever lines of pauses and safepoints they have, on one clock.
//!
//! What always holds: what is given lies in the recording's time, in order; no more than
//! [`MAX_ROWS`] of a kind are kept, and the rest is counted.

use super::collections::CollectionReader;
use super::safepoints::{SafepointReader, in_order};
use super::stamps::LogClock;
use super::unified_log::DecoratedLine;
use crate::recording::{Collection, Safepoint};

/// The most rows of a kind: of an hour with a pause every 4 ms.
pub const MAX_ROWS: usize = 1_000_000;

/// What a JVM's logs say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JvmLog {
    /// Times at which it stopped its threads, in order.
    pub safepoints: Vec<Safepoint>,
    /// Its collector's pauses, in order.
    pub collections: Vec<Collection>,
    /// Safepoints and pauses that could not be placed: their lines have no time, or one that the
    /// clock has no beginning for.
    pub unplaced: u64,
    /// Rows that were too many.
    pub left_out: u64,
    /// Times may be later by so much, in milliseconds: as the worst of them were printed.
    pub precision_ms: f64,
}

/// Reads logs of one JVM, line by line. Each file, with those it was rotated into, has its own
/// reader.
#[derive(Debug)]
pub struct JvmLogReader {
    clock: LogClock,
    safepoints: SafepointReader,
    collections: CollectionReader,
    log: JvmLog,
    /// Of what `take` gave before.
    unplaced_before: u64,
}

impl JvmLogReader {
    /// For a log beside a recording with this clock.
    #[must_use]
    pub fn new(clock: LogClock) -> Self {
        Self {
            clock,
            safepoints: SafepointReader::default(),
            collections: CollectionReader::default(),
            log: JvmLog::default(),
            unplaced_before: 0,
        }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &str) {
        let line = DecoratedLine::parse(line);
        let safepoint = self.safepoints.line(&line, &self.clock);
        let collection = self.collections.line(&line, &self.clock);
        if safepoint.is_some() || collection.is_some() {
            let precision_ms = self.clock.place(&line.stamp).map_or(0.0, |at| at.precision_ms);
            self.log.precision_ms = self.log.precision_ms.max(precision_ms);
        }
        self.keep(safepoint, collection);
    }

    /// Gives what was read since the last time. A pause of which the end may still come is kept.
    pub fn take(&mut self) -> JvmLog {
        let unplaced = self.safepoints.unplaced() + self.collections.unplaced();
        let mut log = std::mem::take(&mut self.log);
        log.unplaced = unplaced - self.unplaced_before;
        self.unplaced_before = unplaced;
        log.safepoints = in_order(log.safepoints);
        log.collections.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        log
    }

    /// The same at the end of the log.
    #[must_use]
    pub fn finish(mut self) -> JvmLog {
        let safepoint = self.safepoints.finish();
        let collection = self.collections.finish(&self.clock);
        self.keep(safepoint, collection);
        self.take()
    }

    fn keep(&mut self, safepoint: Option<Safepoint>, collection: Option<Collection>) {
        if let Some(one) = safepoint
            && self.clock.covers(one.at_ms, one.at_ms + one.total_ms)
        {
            self.log.left_out += push(&mut self.log.safepoints, one);
        }
        if let Some(one) = collection
            && self.clock.covers(one.at_ms, one.at_ms + one.pause_ms)
        {
            self.log.left_out += push(&mut self.log.collections, one);
        }
    }
}

/// Keeps a row, if there is room; gives how many were left out.
fn push<T>(rows: &mut Vec<T>, row: T) -> u64 {
    if rows.len() == MAX_ROWS {
        return 1;
    }
    rows.push(row);
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Clock;

    fn reader(length_ms: f64) -> JvmLogReader {
        let clock = Clock { began_monotonic_ms: Some(1000.0), length_ms, ..Clock::default() };
        JvmLogReader::new(LogClock::of(&clock))
    }

    #[test]
    fn a_log_has_both_and_only_the_recordings_time_counts() {
        let mut reader = reader(1000.0);
        for line in "\
[0900000000ns] Safepoint \"Before\", Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 3 ns
[1500000000ns] GC(0) Pause Young (Normal) (G1 Evacuation Pause)
[1502000000ns] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 20M->5M(96M) 2.000ms
[1502000000ns] Safepoint \"G1CollectForAllocation\", Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 2500000 ns
Safepoint \"Unplaced\", Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 3 ns
[9000000000ns] Safepoint \"After\", Reaching safepoint: 1 ns, At safepoint: 2 ns, Total: 3 ns"
            .lines()
        {
            reader.line(line);
        }
        let log = reader.take();
        assert_eq!((log.safepoints.len(), log.collections.len()), (1, 0));
        assert_eq!((log.safepoints[0].at_ms, log.unplaced, log.left_out), (499.5, 1, 0));
        assert_eq!(log.precision_ms, 1e-6);
        let log = reader.finish();
        assert_eq!((log.safepoints.len(), log.collections.len(), log.unplaced), (0, 1, 0));
        assert_eq!(log.collections[0].at_ms, 500.0);
    }

    #[test]
    fn rows_have_an_end() {
        let mut rows = vec![(); MAX_ROWS - 1];
        assert_eq!((push(&mut rows, ()), push(&mut rows, ()), rows.len()), (0, 1, MAX_ROWS));
    }
}
