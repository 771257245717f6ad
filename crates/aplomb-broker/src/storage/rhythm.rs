//! Decides when to ask a disk to make what it was given durable. Knows no clock, no thread, no
//! file.
//!
//! Syncs go in rounds, one at a time: a round covers every partition of the disk that was written
//! to since the round before, so that ten thousand quiet partitions cost one group commit a second
//! and not ten thousand. Every few rounds one is a **checkpoint**: indexes, producer state and
//! epochs are made durable too, and the recovery points move up; that is what bounds the reading
//! after an unclean stop.

use std::time::Duration;

use aplomb_model::Instant;

/// What a round makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Records.
    Records,
    /// Records, and all that is needed to not read them again after a crash.
    Checkpoint,
}

/// When rounds are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlushIntervals {
    /// A record is durable at most this long after it was acknowledged
    /// (`aplomb.flush.interval.ms`).
    pub(crate) records: Duration,
    /// The recovery point is at most this old (`aplomb.recovery.point.interval.ms`).
    pub(crate) checkpoint: Duration,
}

/// The rhythm of one disk.
#[derive(Debug)]
pub(crate) struct Rhythm {
    intervals: FlushIntervals,
    records_due: Option<Instant>,
    checkpoint_due: Option<Instant>,
    in_flight: bool,
}

impl Rhythm {
    /// Nothing is due.
    pub(crate) fn new(intervals: FlushIntervals) -> Self {
        Self { intervals, records_due: None, checkpoint_due: None, in_flight: false }
    }

    /// Something was appended, to be durable `within` a time of its own if that is shorter than the
    /// broker's.
    pub(crate) fn on_append(&mut self, within: Option<Duration>, now: Instant) {
        let due = now + within.map_or(self.intervals.records, |within| within.min(self.intervals.records));
        self.records_due = Some(self.records_due.map_or(due, |earlier| earlier.min(due)));
        self.checkpoint_due.get_or_insert(now + self.intervals.checkpoint);
    }

    /// Somebody waits for the next round: it begins as soon as the present one is over.
    pub(crate) fn demand(&mut self, now: Instant) {
        self.records_due = Some(self.records_due.map_or(now, |due| due.min(now)));
    }

    /// As [`Self::demand`], with a checkpoint.
    pub(crate) fn demand_checkpoint(&mut self, now: Instant) {
        self.demand(now);
        self.checkpoint_due = self.records_due;
    }

    /// A recovery point lags: the next checkpoint moves it up.
    pub(crate) fn on_lag(&mut self, now: Instant) {
        self.checkpoint_due.get_or_insert(now + self.intervals.checkpoint);
    }

    /// When to call [`Self::poll`] next.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        if self.in_flight {
            return None;
        }
        [self.records_due, self.checkpoint_due].into_iter().flatten().min()
    }

    /// Whether a round begins now.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Round> {
        if self.wake_at()? > now {
            return None;
        }
        self.in_flight = true;
        self.records_due = None;
        match self.checkpoint_due.take_if(|due| *due <= now) {
            Some(_) => Some(Round::Checkpoint),
            None => Some(Round::Records),
        }
    }

    /// The round is over.
    pub(crate) fn on_round_over(&mut self) {
        assert!(self.in_flight, "a round that ends has begun");
        self.in_flight = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rhythm() -> Rhythm {
        Rhythm::new(FlushIntervals { records: SECOND, checkpoint: 5 * SECOND })
    }

    #[test]
    fn a_round_begins_an_interval_after_the_first_append() {
        let mut rhythm = rhythm();
        let start = Instant::START + SECOND;
        assert_eq!(rhythm.wake_at(), None);
        rhythm.on_append(None, start);
        rhythm.on_append(None, start + SECOND / 2);
        assert_eq!(rhythm.poll(start + SECOND / 2), None);
        assert_eq!(rhythm.poll(start + SECOND), Some(Round::Records));
    }

    #[test]
    fn a_topic_may_be_in_more_of_a_hurry_than_the_broker() {
        let mut rhythm = rhythm();
        rhythm.on_append(None, Instant::START);
        rhythm.on_append(Some(SECOND / 10), Instant::START);
        rhythm.on_append(Some(10 * SECOND), Instant::START);
        assert_eq!(rhythm.wake_at(), Some(Instant::START + SECOND / 10));
    }

    #[test]
    fn a_frozen_disk_is_asked_once() {
        let mut rhythm = rhythm();
        rhythm.on_append(None, Instant::START);
        assert_eq!(rhythm.poll(Instant::START + SECOND), Some(Round::Records));
        rhythm.on_append(None, Instant::START + SECOND);
        rhythm.demand(Instant::START + SECOND);
        assert_eq!(rhythm.poll(Instant::START + 20 * SECOND), None);
        rhythm.on_round_over();
        assert_eq!(rhythm.poll(Instant::START + 20 * SECOND), Some(Round::Checkpoint));
    }

    #[test]
    fn what_is_demanded_is_due_at_once() {
        let mut rhythm = rhythm();
        rhythm.on_append(None, Instant::START);
        rhythm.demand(Instant::START);
        assert_eq!(rhythm.poll(Instant::START), Some(Round::Records));
        rhythm.on_round_over();
        assert_eq!(rhythm.wake_at(), Some(Instant::START + 5 * SECOND));
    }
}
