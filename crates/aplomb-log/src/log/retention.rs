//! Which segments are deleted: the oldest ones, by log start offset, by size and by age
//! (`UnifiedLog.deleteOldSegments`).
//!
//! Deleting is a decision in memory; the disk renames and frees the files in its own time. Only
//! durable segments are deleted, so that no write is under way to a file that vanishes.

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
    /// Renames that take the files out of the log, each with the name to delete later
    /// (`file.delete.delay.ms`).
    pub deletions: Vec<(DiskCommand, FileName)>,
    /// How many segments were deleted.
    pub segments: usize,
    /// More are to be deleted than were allowed at once.
    pub goes_on: bool,
    /// A segment stays because it may be the only one whose file outlives a power cut: to be tried
    /// again after a round of syncs.
    pub waits_for_name: bool,
    /// A time index whose last entry has to be read before the next decision: the segment's base,
    /// and how.
    pub look_up: Option<(Offset, DiskCommand)>,
}

impl Log {
    /// Deletes the oldest of the segments that retention gives up at `now`, so many at most.
    pub fn apply_retention(&mut self, now: Timestamp, most: usize) -> Retention {
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
        // The name of its only file says where an empty log ends.
        let unnamed = !self.owed.has_files_of(self.segments.active().base);
        let count = durable.min(self.segments.closed().len() - usize::from(unnamed && durable > 0));
        retention.waits_for_name = count < durable;
        retention.goes_on = count > most;
        let count = count.min(most);
        if count == 0 {
            return retention;
        }
        let deleted = self.segments.remove_oldest(count);
        self.raise_start(self.segments.first_base());
        // The log start may have been here before, while the tail still held bytes of these
        // segments. After a crash they would be taken for the log's beginning.
        self.tail.release_below(self.start);
        retention.segments = deleted.len();
        for segment in &deleted {
            self.delete_files(segment, &mut retention.deletions);
        }
        retention
    }

    /// Raises the log start offset (DeleteRecords). The next [`Self::apply_retention`] deletes
    /// whole segments below it.
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
        if segment.greatest.is_some() {
            return; // compaction has made another one of it, and this is the old one's
        }
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

    /// How many closed segments lie below the high watermark and are covered by a checkpoint: they,
    /// their indexes and a snapshot of producers at their end are durable. Without that snapshot
    /// recovery could not find the producers of deleted records again.
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

    fn delete_files(&self, segment: &Segment, out: &mut Vec<(DiskCommand, FileName)>) {
        // Some of these names may be missing (a snapshot at the base), which is no fault of the
        // disk.
        let exists = |file: &SegmentFile| *file != SegmentFile::TxnIndex || !segment.aborted.is_empty();
        for file in SegmentFile::ALL.into_iter().filter(exists) {
            let from = self.segments.file(file, segment.base);
            let to = FileName::new(with_suffix(from.as_str(), FileSuffix::Deleted));
            out.push((DiskCommand::Rename { from, to: to.clone() }, to));
        }
    }
}

enum Age {
    /// So many segments, from the oldest on, are over `retention.ms`.
    Over(usize),
    /// The same, and the age of the next one has to be looked up.
    Unknown { place: usize, old: usize },
}
