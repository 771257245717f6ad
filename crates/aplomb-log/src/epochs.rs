//! Which leader wrote what: where each leader epoch begins in a log
//! (`org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache`), and its text file.
//!
//! Holds: epochs and start offsets both strictly rise. The file must never lack an entry whose
//! batches lie below the recovery point, so it is written with the checkpoint that covers them. An
//! entry that begins where the log ends is of no batch: it may be missing, and loading leaves it
//! out, as it does any that begin later.
//! Next: [`crate::checkpoint`] for the form of the text.

use aplomb_model::{LeaderEpoch, Offset};

use crate::checkpoint::{CheckpointError, encode_lines, parse_lines};

/// Where a leader's records begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch in which the leader was elected.
    pub epoch: LeaderEpoch,
    /// The first offset it wrote, or would write next.
    pub start: Offset,
}

/// Where an epoch ends: the first offset the next leader may have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch; the greatest known one not above the one that was asked for.
    pub epoch: LeaderEpoch,
    /// The offset behind its last record.
    pub end: Offset,
}

/// The leader epochs of one log, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderEpochs {
    entries: Vec<EpochStart>,
}

impl LeaderEpochs {
    /// An epoch begins at `start`: a batch carries it for the first time, or this broker became its
    /// leader. Entries that contradict it were a former leader's, and are removed. Returns whether
    /// anything changed: the file then has to be written.
    pub fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        let known = self.latest().is_some_and(|latest| latest.epoch == epoch && latest.start <= start);
        if known {
            return false;
        }
        while self.latest().is_some_and(|latest| latest.epoch >= epoch || latest.start >= start) {
            self.entries.pop();
        }
        self.entries.push(EpochStart { epoch, start });
        true
    }

    /// The epoch with the greatest number, which is the last one to have begun.
    #[must_use]
    pub fn latest(&self) -> Option<EpochStart> {
        self.entries.last().copied()
    }

    /// All of them, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    /// The greatest known epoch below `epoch`.
    #[must_use]
    pub fn before(&self, epoch: LeaderEpoch) -> Option<EpochStart> {
        self.entries.partition_point(|entry| entry.epoch < epoch).checked_sub(1).map(|at| self.entries[at])
    }

    /// The epoch in which an offset was or will be written; `None` if it lies before all that are
    /// known.
    #[must_use]
    pub fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        after.checked_sub(1).map(|at| self.entries[at].epoch)
    }

    /// Where `epoch` ends in a log that ends at `log_end`: the answer to OffsetForLeaderEpoch, and
    /// what a follower compares its log with. `None` if `epoch` is above all that are known.
    ///
    /// An epoch whose records are all deleted ends where the first known one begins.
    #[must_use]
    pub fn end_offset_for(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<EpochEnd> {
        if self.latest()?.epoch == epoch {
            return Some(EpochEnd { epoch, end: log_end });
        }
        let higher = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let end = self.entries.get(higher)?.start;
        let floor = higher.checked_sub(1).map_or(epoch, |at| self.entries[at].epoch);
        Some(EpochEnd { epoch: floor, end })
    }

    /// The log now ends at `end`: epochs that begin there or later are gone. Returns whether any
    /// was.
    pub fn truncate_from_end(&mut self, end: Offset) -> bool {
        let keep = self.entries.partition_point(|entry| entry.start < end);
        let changed = keep < self.entries.len();
        self.entries.truncate(keep);
        changed
    }

    /// The log now begins at `start`: epochs that ended before it are gone, and the one that
    /// reaches over it begins there. Returns whether anything changed.
    pub fn truncate_from_start(&mut self, start: Offset) -> bool {
        let begun = self.entries.partition_point(|entry| entry.start <= start);
        let Some(last) = begun.checked_sub(1) else { return false };
        let changed = last > 0 || self.entries[last].start != start;
        self.entries[last].start = start;
        self.entries.drain(..last);
        changed
    }

    /// Forgets all epochs. Returns whether any was known.
    pub fn clear(&mut self) -> bool {
        let changed = !self.entries.is_empty();
        self.entries.clear();
        changed
    }

    /// The text of [`crate::layout::LEADER_EPOCH_CHECKPOINT`].
    #[must_use]
    pub fn encode(&self) -> String {
        encode_lines(self.entries.iter().map(|entry| format!("{} {}", entry.epoch, entry.start)))
    }

    /// Reads that text. Entries that do not rise are resolved as [`Self::assign`] does, like in
    /// Apache Kafka.
    ///
    /// # Errors
    /// [`CheckpointError`] says which line is not as it should be.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let mut epochs = Self::default();
        parse_lines(bytes, |[epoch, start]: [&str; 2]| {
            let epoch = LeaderEpoch::from_wire(epoch.parse().ok()?)?;
            let start = Offset::from_wire(start.parse().ok()?)?;
            epochs.assign(epoch, start);
            Some(())
        })?;
        Ok(epochs)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn epochs(entries: &[(u32, u64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::default();
        for (epoch, start) in entries {
            assert!(epochs.assign(LeaderEpoch::new(*epoch), Offset::new(*start)));
        }
        epochs
    }

    fn listed(epochs: &LeaderEpochs) -> Vec<(i32, u64)> {
        epochs.entries().iter().map(|entry| (entry.epoch.to_wire(), entry.start.get())).collect()
    }

    #[test]
    fn an_epoch_that_goes_on_is_no_news() {
        let mut epochs = epochs(&[(1, 0), (3, 50)]);
        assert!(!epochs.assign(LeaderEpoch::new(3), Offset::new(60)));
        assert!(!epochs.assign(LeaderEpoch::new(3), Offset::new(50)));
        assert_eq!(listed(&epochs), [(1, 0), (3, 50)]);
    }

    #[test]
    fn a_new_entry_removes_those_it_contradicts() {
        assert_eq!(listed(&epochs(&[(1, 0), (3, 50), (4, 80), (5, 50)])), [(1, 0), (5, 50)]);
        assert_eq!(listed(&epochs(&[(1, 0), (3, 50), (4, 80), (2, 90)])), [(1, 0), (2, 90)]);
        assert_eq!(listed(&epochs(&[(1, 10), (3, 50), (3, 40)])), [(1, 10), (3, 40)]);
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let epochs = epochs(&[(2, 10), (4, 50), (7, 80)]);
        let end = |epoch| {
            let end = epochs.end_offset_for(LeaderEpoch::new(epoch), Offset::new(99))?;
            Some((end.epoch.to_wire(), end.end.get()))
        };
        assert_eq!(end(7), Some((7, 99)));
        assert_eq!(end(4), Some((4, 80)));
        assert_eq!(end(6), Some((4, 80)));
        assert_eq!(end(3), Some((2, 50)));
        assert_eq!(end(1), Some((1, 10)), "gone already");
        assert_eq!(end(8), None);
        assert_eq!(LeaderEpochs::default().end_offset_for(LeaderEpoch::ZERO, Offset::ZERO), None);
    }

    #[test]
    fn offsets_have_epochs() {
        let epochs = epochs(&[(2, 10), (4, 50)]);
        let of = |offset| epochs.epoch_of(Offset::new(offset)).map(LeaderEpoch::to_wire);
        assert_eq!([of(9), of(10), of(49), of(50), of(999)], [None, Some(2), Some(2), Some(4), Some(4)]);
        assert_eq!(epochs.before(LeaderEpoch::new(4)).map(|entry| entry.start), Some(Offset::new(10)));
        assert_eq!(epochs.before(LeaderEpoch::new(2)), None);
    }

    #[test]
    fn truncation_cuts_both_ends() {
        let mut epochs = epochs(&[(2, 10), (4, 50), (7, 80)]);
        assert!(!epochs.truncate_from_end(Offset::new(81)));
        assert!(epochs.truncate_from_end(Offset::new(80)));
        assert_eq!(listed(&epochs), [(2, 10), (4, 50)]);
        assert!(!epochs.truncate_from_start(Offset::new(9)));
        assert!(!epochs.truncate_from_start(Offset::new(10)));
        assert!(epochs.truncate_from_start(Offset::new(20)));
        assert_eq!(listed(&epochs), [(2, 20), (4, 50)]);
        assert!(epochs.truncate_from_start(Offset::new(60)));
        assert_eq!(listed(&epochs), [(4, 60)]);
        assert!(epochs.clear() && !epochs.clear());
    }

    #[test]
    fn the_text_is_apache_kafkas() {
        assert_eq!(epochs(&[(2, 10), (4, 50)]).encode(), "0\n2\n2 10\n4 50\n");
        assert_eq!(LeaderEpochs::parse(b""), Ok(LeaderEpochs::default()));
        let line = CheckpointError::MalformedLine { number: 3, line: "-1 10".to_owned() };
        assert_eq!(LeaderEpochs::parse(b"0\n1\n-1 10\n"), Err(line));
    }

    proptest! {
        #[test]
        fn entries_always_rise_and_read_back(
            changes in prop::collection::vec((0u8..4, 0u32..9, 0u64..90), 0..40)
        ) {
            let mut epochs = LeaderEpochs::default();
            for (what, epoch, offset) in changes {
                let (before, offset) = (epochs.clone(), Offset::new(offset));
                let changed = match what {
                    0 => epochs.truncate_from_end(offset),
                    1 => epochs.truncate_from_start(offset),
                    _ => epochs.assign(LeaderEpoch::new(epoch), offset),
                };
                prop_assert_eq!(changed, before != epochs);
                let rise = |pair: &[EpochStart]| pair[0].epoch < pair[1].epoch && pair[0].start < pair[1].start;
                prop_assert!(epochs.entries().windows(2).all(rise));
                prop_assert_eq!(LeaderEpochs::parse(epochs.encode().as_bytes()), Ok(epochs.clone()));
            }
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>, text in "0\n[0-9]\n(-?[0-9]{1,20} -?[0-9]{1,20}\n)*") {
            let _ = (LeaderEpochs::parse(&bytes), LeaderEpochs::parse(text.as_bytes()));
        }
    }
}
