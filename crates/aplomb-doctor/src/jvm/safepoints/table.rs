//! The table of safepoints: `-XX:+PrintSafepointStatistics` of JDK 8, `safepoint+stats` later.
//!
//! ```text
//! vmop [threads: total initially_running wait_to_block] [time: spin block sync cleanup vmop] …
//! 0.234: RevokeBias [ 12 0 1 ] [ 0 0 0 0 5 ] 0
//! ```
//!
//! JDK 8 to 12 count milliseconds, and stamp a row with the time at which its safepoint began; from
//! JDK 13 on it is nanoseconds, and a line's own stamp, when threads run again. Columns are found
//! by the names in the header; before the first header, by their number.

use super::super::stamps::LogStamp;
use super::super::unified_log::{DecoratedLine, jdk8_stamp};
use super::safepoint;
use crate::recording::Safepoint;

/// More columns than any JDK has.
const MAX_COLUMNS: usize = 16;

/// What the table's columns are, as far as a header has told.
#[derive(Debug, Default)]
pub(super) struct StatisticsTable {
    times: Vec<String>,
}

/// A row of the table.
pub(super) struct StatisticsRow {
    pub(super) safepoint: Safepoint,
    /// The row's own stamp, else the line's.
    pub(super) stamp: LogStamp,
    /// Whether that is when threads ran again, or else when they were asked to stop.
    pub(super) ended: bool,
}

impl StatisticsTable {
    /// The row that a line is.
    pub(super) fn line(&mut self, line: &DecoratedLine<'_>) -> Option<StatisticsRow> {
        let (before, rest) = line.text.split_once('[')?;
        let (threads, rest) = rest.split_once(']')?;
        let (between, rest) = rest.split_once('[')?;
        let (times, _) = rest.split_once(']')?;
        if !between.trim().is_empty() {
            return None;
        }
        if threads.trim_start().starts_with("threads:") {
            let names = times.trim_start().strip_prefix("time:")?;
            self.times = names.split_whitespace().take(MAX_COLUMNS).map(str::to_owned).collect();
            return None;
        }
        threads.split_whitespace().all(|count| count.parse::<u64>().is_ok()).then_some(())?;
        let (inner, reason) = jdk8_stamp(before.trim_start());
        let (figures, is_nanos) = self.figures(times)?;
        let ms = |value: u64| value as f64 / if is_nanos { 1e6 } else { 1.0 };
        let sum = figures.sync + figures.cleanup + figures.vmop;
        let total = ms(figures.total.unwrap_or(sum));
        let one = safepoint(reason.trim().to_owned(), Some(ms(figures.sync)), total);
        let stamp = if inner.is_empty() { line.stamp } else { inner };
        Some(StatisticsRow { safepoint: one, stamp, ended: is_nanos })
    }

    /// What the columns say, and whether in nanoseconds: in JDK 13 the total came, and with it the
    /// unit changed.
    fn figures(&self, times: &str) -> Option<(StatisticsTimes, bool)> {
        let values: Vec<u64> = times
            .split_whitespace()
            .take(MAX_COLUMNS)
            .map(|value| value.parse().ok())
            .collect::<Option<_>>()?;
        let names: Vec<&str> = match values.len() {
            count if count == self.times.len() => self.times.iter().map(String::as_str).collect(),
            5 => vec!["spin", "block", "sync", "cleanup", "vmop"],
            4 => vec!["sync", "cleanup", "vmop", "total"],
            3 => vec!["sync", "vmop", "total"],
            _ => return None,
        };
        let mut figures = StatisticsTimes::default();
        for (name, value) in names.iter().zip(values) {
            match *name {
                "sync" => figures.sync = value,
                "cleanup" => figures.cleanup = value,
                "vmop" => figures.vmop = value,
                "total" => figures.total = Some(value),
                // `spin` and `block` are parts of `sync`.
                _ => {}
            }
        }
        let sum = figures.sync.checked_add(figures.cleanup)?.checked_add(figures.vmop);
        sum.map(|_| (figures, names.contains(&"total")))
    }
}

#[derive(Default)]
struct StatisticsTimes {
    sync: u64,
    cleanup: u64,
    vmop: u64,
    total: Option<u64>,
}
