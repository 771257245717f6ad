//! Pauses of a collector, by its own log.
//!
//! What always holds: a row is a pause (concurrent phases are none); its figures are those of the
//! lines that belong to it, by the collection's number, or, in JDK 8, by order; times are finite.

mod jdk8;
mod unified;

use super::stamps::LogClock;
use super::unified_log::DecoratedLine;
use crate::recording::Collection;
use jdk8::Jdk8Collections;
use unified::UnifiedCollections;

/// Reads a collector's log, line by line.
#[derive(Debug, Default)]
pub struct CollectionReader {
    unified: UnifiedCollections,
    jdk8: Jdk8Collections,
    unplaced: u64,
}

impl CollectionReader {
    /// Takes the next line; gives the pause that is complete with it, if one is: its processor
    /// times come after it.
    pub fn line(&mut self, line: &DecoratedLine<'_>, clock: &LogClock) -> Option<Collection> {
        let done = match line.text.strip_prefix("GC(").and_then(|rest| rest.split_once(") ")) {
            Some((number, text)) => self.unified.line(number.parse().ok()?, text, line),
            None => self.jdk8.line(line),
        };
        self.place(done?, clock)
    }

    /// The pause that still waits for its processor times.
    pub fn finish(&mut self, clock: &LogClock) -> Option<Collection> {
        let done = self.unified.finish().or_else(|| self.jdk8.finish())?;
        self.place(done, clock)
    }

    /// How many pauses were told of at a time that is not known, or not on this clock.
    #[must_use]
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    fn place(&mut self, done: StampedPause, clock: &LogClock) -> Option<Collection> {
        let (stamp, offset_ms) = match done.when {
            PauseStamp::Began(stamp) => (stamp, 0.0),
            PauseStamp::Ended(stamp) => (stamp, done.pause.pause_ms),
        };
        let Some(at) = clock.place(&stamp) else {
            self.unplaced += 1;
            return None;
        };
        Some(Collection { at_ms: at.ms - offset_ms, ..done.pause })
    }
}

/// A pause of which the time is known by the log's own stamps.
#[derive(Debug)]
struct StampedPause {
    when: PauseStamp,
    pause: Collection,
}

/// What a pause's stamp means.
#[derive(Clone, Copy, Debug)]
enum PauseStamp {
    Began(super::stamps::LogStamp),
    Ended(super::stamps::LogStamp),
}

#[cfg(test)]
mod tests;
