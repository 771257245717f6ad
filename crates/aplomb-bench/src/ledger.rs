//! Which records of a run were acknowledged and when.
//!
//! What always holds: a record is known by the time at which it was due, which no other record of
//! its run has.

use aplomb_model::Instant;

/// An acknowledged record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) due: Instant,
    /// Microseconds since the measured part began; negative in the warm-up.
    pub(crate) at_us: i64,
}

/// What was acknowledged in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    run: u64,
    /// By the time of the acknowledgement.
    entries: Vec<Acknowledged>,
}

impl Ledger {
    pub(crate) fn new(run: u64, mut entries: Vec<Acknowledged>) -> Self {
        entries.sort_unstable_by_key(|entry| entry.at_us);
        Self { run, entries }
    }

    /// Records that were acknowledged, those of the warm-up too.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first acknowledgement behind a moment: both in microseconds since the measured part
    /// began.
    #[must_use]
    pub fn first_after(&self, moment_us: i64) -> Option<i64> {
        let place = self.entries.partition_point(|entry| entry.at_us <= moment_us);
        self.entries.get(place).map(|entry| entry.at_us)
    }

    /// The run that these are records of.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// When each record was due, in the order of the acknowledgements.
    pub(crate) fn dues(&self) -> impl Iterator<Item = Instant> {
        self.entries.iter().map(|entry| entry.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_stand_in_the_order_in_which_they_came() {
        let entry = |due, at_us| Acknowledged { due: Instant::from_nanos(due), at_us };
        let ledger = Ledger::new(7, vec![entry(3, 900), entry(1, -5), entry(2, 40)]);
        assert_eq!((ledger.len(), ledger.is_empty()), (3, false));
        assert_eq!(ledger.first_after(-6), Some(-5));
        assert_eq!(ledger.first_after(40), Some(900));
        assert_eq!(ledger.first_after(900), None);
    }
}
