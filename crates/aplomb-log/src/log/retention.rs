//! What can go: whole segments from the oldest on, by the log start, by size and by age (`UnifiedLog.deleteOldSegments`).
//!
//! Deleting is a decision in memory. The files are renamed and freed by the disk, in its own time; only what is durable can go, so that no write
//! is under way to a file that is about to vanish.

use aplomb_disk_api::{DiskCommand, FileName, ReadPattern};
use aplomb_model::{Offset, Timestamp};
use bytes::Bytes;

use super::Log;
use crate::index::{IndexTail, TimeIndex};
use crate::layout::{FileSuffix, SegmentFile, with_suffix};
use crate::segments::Segment;

/// What retention wants next.
#[derive(Debug, Default)]
pub struct Retention {
    /// Renames that take the files out of the log, each with the name to delete later (`file.delete.delay.ms`).
    pub doomed: Vec<(DiskCommand, FileName)>,
    /// How many segments went.
    pub segments: usize,
    /// A segment stays because it is the last of which the disk surely has a file: after a round of syncs it may go.
    pub waits_for_name: bool,
    /// A time index whose last entry has to be read before the next decision: the segment's base, and how.
    pub look_up: Option<(Offset, DiskCommand)>,
}

impl Log {
    /// Deletes what may go at `now`.
    pub fn apply_retention(&mut self, now: Timestamp) -> Retention {
        let mut retention = Retention::default();
        let mut count = self.below_start();
        if self.config.deletes {
            count = count.max(self.over_size());
            match self.over_age(now) {
                Age::Over(old) => count = count.max(old),
                Age::Unknown { place, old } => {
                    count = count.max(old);
                    retention.look_up = self.last_time_entry(place);
                }
            }
            if self.config.retention_ms.is_some()
                && count == self.segments.closed().len()
                && self.active_is_old(now)
            {
                self.roll(now);
                count += 1;
            }
        }
        let durable = count.min(self.deletable());
        // An empty log is known to end where it does by the name of its only file.
        let unnamed = !self.owed.has_files_of(self.segments.active().base);
        let count = durable.min(self.segments.closed().len() - usize::from(unnamed && durable > 0));
        retention.waits_for_name = count < durable;
        if count == 0 {
            return retention;
        }
        let gone = self.segments.remove_oldest(count);
        self.raise_start(self.segments.first_base());
        // The start may have been there before, when the disk did not have all of it yet. What the tail kept of a file that is gone would be
        // taken for the log's beginning after a crash.
        self.tail.release_below(self.start);
        retention.segments = gone.len();
        for segment in &gone {
            self.doom(segment, &mut retention.doomed);
        }
        retention
    }

    /// Moves the log start up (DeleteRecords). Whole segments below it go with the next [`Self::apply_retention`].
    ///
    /// # Panics
    /// If `start` lies above the high watermark.
    pub fn raise_start(&mut self, start: Offset) {
        let visible = self.high_watermark;
        assert!(start <= visible, "a log does not start above its high watermark: {start} <= {visible}");
        if start <= self.start {
            return;
        }
        self.start = start;
        self.producers.on_log_start(start);
        if self.epochs.truncate_from_start(start) {
            self.owed.on_epochs_changed();
        }
        self.tail.release_below(start);
    }

    /// Takes the answer to [`Retention::look_up`].
    pub fn on_time_entry(&mut self, base: Offset, bytes: &Bytes) {
        let Some(segment) = self.segments.closed_mut().iter_mut().find(|segment| segment.base == base) else {
            return; // it was deleted in the meantime
        };
        let last = TimeIndex::new(bytes, base, IndexTail::Trimmed).and_then(|index| index.last());
        // Without a readable entry the time of the last write stands for the records' own.
        segment.greatest = Some(last.ok().flatten().map_or(segment.modified, |entry| entry.timestamp));
    }

    fn below_start(&self) -> usize {
        (0..self.segments.closed().len())
            .take_while(|place| self.segments.end_of_closed(*place) <= self.start)
            .count()
    }

    fn over_size(&self) -> usize {
        let Some(limit) = self.config.retention_bytes else { return 0 };
        let Some(mut surplus) = self.segments.size().checked_sub(limit) else { return 0 };
        let goes = |segment: &&Segment| {
            let fits = surplus >= segment.size;
            surplus = surplus.saturating_sub(segment.size);
            fits
        };
        self.segments.closed().iter().take_while(goes).count()
    }

    fn over_age(&self, now: Timestamp) -> Age {
        for (place, segment) in self.segments.closed().iter().enumerate() {
            let newest = match segment.greatest {
                Some(greatest) if greatest.0 >= 0 => greatest,
                None if self.config.retention_ms.is_some() && segment.time_index_len > 0 => {
                    return Age::Unknown { place, old: place };
                }
                Some(_) | None => segment.modified,
            };
            if !self.config.is_expired(newest, now) {
                return Age::Over(place);
            }
        }
        Age::Over(self.segments.closed().len())
    }

    fn active_is_old(&self, now: Timestamp) -> bool {
        let active = self.segments.active();
        let newest = match active.indexes.greatest_timestamp() {
            Some(greatest) if greatest.timestamp.0 >= 0 => greatest.timestamp,
            _ => active.created,
        };
        active.size > 0 && self.config.is_expired(newest, now)
    }

    /// How many closed segments lie below the high watermark and are wholly covered by a checkpoint:
    /// durable, with all of their indexes, and with a snapshot of the producers at their end, since
    /// recovery can find producers again only in what is there.
    fn deletable(&self) -> usize {
        let below = self.tail.durable_end().min(self.owed.checkpointed()).min(self.high_watermark);
        (0..self.segments.closed().len())
            .take_while(|place| self.segments.end_of_closed(*place) <= below)
            .take_while(|place| !self.owed.is_closing(self.segments.closed()[*place].base))
            .count()
    }

    fn last_time_entry(&self, place: usize) -> Option<(Offset, DiskCommand)> {
        let segment = &self.segments.closed()[place];
        let entry = TimeIndex::ENTRY_LEN as u64;
        Some((
            segment.base,
            DiskCommand::Read {
                file: self.segments.file(SegmentFile::TimeIndex, segment.base),
                at: segment.time_index_len.checked_sub(entry)?,
                len: entry as u32,
                pattern: ReadPattern::Random,
            },
        ))
    }

    fn doom(&self, segment: &Segment, out: &mut Vec<(DiskCommand, FileName)>) {
        // A name that is missing (an index, a snapshot at the base) is no fault to the disk.
        let exists = |file: &SegmentFile| *file != SegmentFile::TxnIndex || !segment.aborted.is_empty();
        for file in SegmentFile::ALL.into_iter().filter(exists) {
            let from = self.segments.file(file, segment.base);
            let to = FileName::new(with_suffix(from.as_str(), FileSuffix::Deleted));
            out.push((DiskCommand::Rename { from, to: to.clone() }, to));
        }
    }
}

enum Age {
    /// So many of the oldest are too old.
    Over(usize),
    /// So many are, and the next one is not known.
    Unknown { place: usize, old: usize },
}
