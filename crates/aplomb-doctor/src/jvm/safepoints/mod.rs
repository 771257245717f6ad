//! When a JVM stopped its threads, and how long it took to, by its log. Written when threads run
//! again, so that a safepoint began its whole length before.
//!
//! | JDK | line |
//! | --- | --- |
//! | 8 | `Total time for which application threads were stopped: 2.3 seconds, Stopping threads took: 2.2 seconds` |
//! | 8 to 12 | a table: see [`table`] |
//! | 9 to 12 | `Entering safepoint region: REASON`, then as 8 |
//! | 13, 17 | `Safepoint "REASON", Time since last: 1 ns, Reaching safepoint: 2 ns, Cleanup: 3 ns, At safepoint: 4 ns, Total: 9 ns` |
//! | 21 | has `Leaving safepoint` beside |
//! | 25 | without `Cleanup`, and `Threads: 0 runnable, 10 total` at the end |
//!
//! What always holds: figures are found by name, not by position; rows have finite times, and took
//! no less altogether than they took to be reached.

mod table;

use super::figures::{duration_ms, named_ms};
use super::stamps::LogClock;
use super::unified_log::DecoratedLine;
use crate::recording::Safepoint;
use table::StatisticsTable;

/// Reads a log of safepoints, line by line.
#[derive(Debug, Default)]
pub struct SafepointReader {
    /// Why the safepoint is wanted that the log is in.
    entered: String,
    table: StatisticsTable,
    /// A row of the table: from JDK 13 on, the line that tells of the same comes after it.
    held: Option<Safepoint>,
    unplaced: u64,
}

impl SafepointReader {
    /// Takes the next line; gives the safepoint that it tells of, if it does.
    pub fn line(&mut self, line: &DecoratedLine<'_>, clock: &LogClock) -> Option<Safepoint> {
        if let Some(told) = line.text.strip_prefix("Safepoint \"") {
            let (reason, figures) = told.split_once('"')?;
            let one = by_name(reason, figures)?;
            self.held.take_if(|held| is_same_figure(held, &one));
            return self.ended(line, clock, one);
        }
        if let Some(reason) = line.text.strip_prefix("Entering safepoint region: ") {
            reason.trim_end().clone_into(&mut self.entered);
            return None;
        }
        if let Some(figures) =
            line.text.strip_prefix("Total time for which application threads were stopped:")
        {
            let reason = std::mem::take(&mut self.entered);
            return self.ended(line, clock, in_prose(reason, figures)?);
        }
        let row = self.table.line(line)?;
        if row.ended {
            let held = self.ended(line, clock, row.safepoint)?;
            return self.held.replace(held);
        }
        let began = self.place(clock.place(&row.stamp).map(|at| at.ms))?;
        Some(Safepoint { at_ms: began, ..row.safepoint })
    }

    /// The row that the line after it would have told of again.
    pub fn finish(&mut self) -> Option<Safepoint> {
        self.held.take()
    }

    /// How many safepoints were told of at a time that is not known, or not on this clock.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    fn ended(&mut self, line: &DecoratedLine<'_>, clock: &LogClock, one: Safepoint) -> Option<Safepoint> {
        let ended = self.place(clock.place(&line.stamp).map(|at| at.ms))?;
        Some(Safepoint { at_ms: ended - one.total_ms, ..one })
    }

    fn place(&mut self, at_ms: Option<f64>) -> Option<f64> {
        self.unplaced += u64::from(at_ms.is_none());
        at_ms
    }
}

/// A row of the table and the line after it have the same reason, and the same nanoseconds.
fn is_same_figure(held: &Safepoint, one: &Safepoint) -> bool {
    let reaching = |one: &Safepoint| one.reaching_ms.unwrap_or(-1.0);
    held.reason == one.reason && (reaching(held) - reaching(one)).abs() < 5e-7
}

/// A safepoint of which the time is not yet known. Clocks of one line may differ in their last
/// digits: reaching is no longer than the whole.
fn safepoint(reason: String, reaching_ms: Option<f64>, total_ms: f64) -> Safepoint {
    let reaching_ms = reaching_ms.map(|reaching| reaching.min(total_ms));
    Safepoint { at_ms: 0.0, reaching_ms, total_ms, reason, count: 1 }
}

/// `, Time since last: 1 ns, Reaching safepoint: 2 ns, …`
fn by_name(reason: &str, figures: &str) -> Option<Safepoint> {
    let mut reaching = None;
    let mut total = None;
    let mut parts = 0.0;
    for figure in figures.split(", ") {
        let Some((name, value)) = figure.split_once(": ") else { continue };
        let Some((ms, _)) = duration_ms(value) else { continue };
        match name {
            "Reaching safepoint" => {
                reaching = Some(ms);
                parts += ms;
            }
            "Cleanup" | "At safepoint" | "Leaving safepoint" => parts += ms,
            "Total" => total = Some(ms),
            _ => {}
        }
    }
    // A line that is cut has neither.
    let total = total.or((parts > 0.0).then_some(parts))?;
    Some(safepoint(reason.to_owned(), reaching, total))
}

/// ` 2.3118335 seconds, Stopping threads took: 2.3054883 seconds`; JDK 7 has the first only.
fn in_prose(reason: String, figures: &str) -> Option<Safepoint> {
    let (total, _) = duration_ms(figures.trim_start())?;
    Some(safepoint(reason, named_ms(figures, "Stopping threads took:"), total))
}

/// Brings safepoints in order, and makes one of two that are the same: JDK 8 can tell of one in
/// prose, which has exact times, and in its table, which has the reason.
pub(super) fn in_order(mut all: Vec<Safepoint>) -> Vec<Safepoint> {
    all.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let mut merged: Vec<Safepoint> = Vec::with_capacity(all.len());
    for one in all {
        match merged.last_mut() {
            Some(before) if is_same(before, &one) => {
                let (named, timed) =
                    if one.reason.is_empty() { (&*before, one.clone()) } else { (&one, before.clone()) };
                *before = Safepoint { reason: named.reason.clone(), ..timed };
            }
            _ => merged.push(one),
        }
    }
    merged
}

/// One of them has a reason and the other has none, and most of the shorter is within the other:
/// a JVM has one safepoint at a time.
fn is_same(before: &Safepoint, one: &Safepoint) -> bool {
    let both = (before.at_ms + before.total_ms).min(one.at_ms + one.total_ms) - before.at_ms.max(one.at_ms);
    let is_told_twice = before.reason.is_empty() != one.reason.is_empty();
    is_told_twice && both > 0.0 && both >= before.total_ms.min(one.total_ms) / 2.0
}

#[cfg(test)]
mod tests;
