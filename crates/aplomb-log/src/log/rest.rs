//! A log at rest: all of it is on the disk, and its files are what a start after a clean stop would
//! find. What such a start would find in them can be noted.

use std::collections::BTreeSet;

use aplomb_model::Offset;

use super::Log;
use crate::closed::{ClosedActive, ClosedLog};

impl Log {
    /// What a start would find in the log's files, for [`crate::recovery::load_closed`]. `None` if
    /// the disk lacks something: these files have to be looked into.
    #[must_use]
    pub fn at_rest(&self) -> Option<ClosedLog> {
        let (end, active) = (self.end(), self.segments.active());
        let indexes = active.indexes.at_rest()?;
        let latest_at_end = self.epochs.latest().is_some_and(|latest| latest.start == end);
        let is_at_rest = self.owed.is_settled_at(end)
            // That their file has one more is known again by the one that is noted.
            && (latest_at_end || !self.owed.epochs_differ_at_end())
            && self.owed.has_made(active.base)
            && self.durable_end() == end
            && self.producers.end() == end
            && (self.owed.loose_snapshots().is_some() || self.producers.is_empty())
            && active.aborted.is_written()
            && self.segments.closed().iter().all(|segment| !segment.in_swap);
        is_at_rest.then(|| ClosedLog {
            topic: self.tail.topic(),
            end,
            epochs: self.epochs.clone(),
            closed: self.segments.closed().clone(),
            active: ClosedActive {
                base: active.base,
                size: active.size,
                first_timestamp: active.first_timestamp,
                indexes,
                aborted: active.aborted.entries().to_vec(),
            },
            loose_snapshots: self.owed.loose_snapshots().map(|loose| {
                // Behind some a segment has begun since.
                let bases: BTreeSet<Offset> =
                    self.segments.closed().iter().map(|segment| segment.base).chain([active.base]).collect();
                loose.iter().copied().filter(|at| !bases.contains(at)).collect()
            }),
            producers: self.producers.producers().map(|(id, entry)| (id, entry.clone())).collect(),
        })
    }

    /// In a build with assertions, that a log which was not looked for in its files is the one that
    /// they have. What only says when something was looked at may differ.
    #[cfg(debug_assertions)]
    pub(crate) fn assert_is(&self, found: &Self) {
        use aplomb_model::Timestamp;

        use crate::producers::ProducerEntry;
        use crate::segments::{ActiveSegment, Segment};

        assert_eq!((self.start, self.end()), (found.start, found.end()), "{self:?}\nand not\n{found:?}");
        let closed = |log: &Self| -> Vec<Segment> {
            let bare = |segment: &Segment| Segment {
                greatest: None,
                first_timestamp: None,
                modified: Timestamp::NONE,
                ..segment.clone()
            };
            log.segments.closed().iter().map(bare).collect()
        };
        assert_eq!(closed(self), closed(found));
        let active = |log: &Self| {
            let ActiveSegment { base, size, indexes, first_timestamp, created, aborted } =
                log.segments.active();
            let greatest = indexes.greatest_timestamp();
            format!("{base} {size} {greatest:?} {first_timestamp:?} {created:?} {aborted:?}")
        };
        assert_eq!(active(self), active(found));
        // Where there is news, they are to be written as the topic's settings are now.
        if let Some(indexes) = found.segments.active().indexes.at_rest() {
            assert_eq!(self.segments.active().indexes.at_rest(), Some(indexes));
            self.owed.assert_is(&found.owed);
        }
        assert_eq!(self.epochs, found.epochs);
        let mut others = found.producers.producers();
        let is_known = |(id, entry): (_, &ProducerEntry)| {
            others.next().is_some_and(|(other, found)| other == id && entry.has_all_of(found))
        };
        let are_same = self.producers.producers().all(is_known) && others.next().is_none();
        assert!(are_same, "{:?}\nand not\n{:?}", self.producers, found.producers);
        assert_eq!(self.last_stable_offset(), found.last_stable_offset());
    }
}
