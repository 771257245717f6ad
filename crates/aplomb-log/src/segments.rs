//! The segments of a log as memory knows them: where each begins and how long its files are. Their
//! bytes are the tail's and the disk's.

use std::collections::VecDeque;

use aplomb_disk_api::FileName;
use aplomb_model::{Offset, Timestamp};
use bytes::Bytes;

use crate::index::{AbortedIndexBuilder, AbortedTransaction, SegmentIndexes};
use crate::layout::{FileSuffix, SegmentFile, with_suffix};

/// A segment that is not written to any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first possible offset, which names its files.
    pub base: Offset,
    /// Bytes in the `.log`.
    pub size: u64,
    /// Bytes in the `.index`.
    pub index_len: u64,
    /// Bytes in the `.timeindex`.
    pub time_index_len: u64,
    /// The greatest timestamp in it; `None` until its time index was looked at.
    pub greatest: Option<Timestamp>,
    /// The timestamp of its first batch; `None` until that was looked at.
    pub first_timestamp: Option<Timestamp>,
    /// When its `.log` was last written, for segments without timestamps.
    pub modified: Timestamp,
    /// The aborted transactions whose markers are in it.
    pub aborted: Vec<AbortedTransaction>,
    /// Compaction has made it, and its files have `.swap` names still.
    pub in_swap: bool,
}

/// The segment that is written to.
#[derive(Debug)]
pub struct ActiveSegment {
    /// Its first possible offset, which names its files.
    pub base: Offset,
    /// Bytes in the `.log`, those included that only the tail has.
    pub size: u64,
    /// Its offset and time index.
    pub indexes: SegmentIndexes,
    /// The timestamp of its first batch, once it has one. Found again after a restart from its
    /// first batch.
    pub first_timestamp: Option<Timestamp>,
    /// When it was created, or last written before a restart.
    pub created: Timestamp,
    /// The aborted transactions whose markers are in it.
    pub aborted: AbortedIndexBuilder,
}

/// All segments of a log, oldest first; the last one is active.
#[derive(Debug)]
pub struct Segments {
    directory: Box<str>,
    closed: VecDeque<Segment>,
    active: ActiveSegment,
}

impl Segments {
    /// The segments that recovery found, or a new partition's one.
    ///
    /// # Panics
    /// If the bases do not rise.
    #[must_use]
    pub fn new(directory: &str, closed: VecDeque<Segment>, active: ActiveSegment) -> Self {
        let bases = closed.iter().map(|segment| segment.base).chain([active.base]);
        assert!(bases.is_sorted_by(|a, b| a < b), "segments of {directory} are in order");
        Self { directory: directory.into(), closed, active }
    }

    /// A file of the segment that begins at `base`.
    #[must_use]
    pub fn file(&self, file: SegmentFile, base: Offset) -> FileName {
        let name = file.within(&self.directory, base);
        if file != SegmentFile::Snapshot && self.closed_at(base).is_some_and(|segment| segment.in_swap) {
            return FileName::new(with_suffix(name.as_str(), FileSuffix::Swap));
        }
        name
    }

    /// The closed segment that begins at `base`.
    fn closed_at(&self, base: Offset) -> Option<&Segment> {
        let place = self.closed.binary_search_by_key(&base, |segment| segment.base).ok()?;
        self.closed.get(place)
    }

    /// The name of the partition's directory in its log directory.
    #[must_use]
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The segments that are not written to any more.
    #[must_use]
    pub fn closed(&self) -> &VecDeque<Segment> {
        &self.closed
    }

    /// The same, to note what their indexes say.
    pub fn closed_mut(&mut self) -> &mut VecDeque<Segment> {
        &mut self.closed
    }

    /// The segment that is written to.
    #[must_use]
    pub fn active(&self) -> &ActiveSegment {
        &self.active
    }

    /// The same, to append to.
    pub fn active_mut(&mut self) -> &mut ActiveSegment {
        &mut self.active
    }

    /// The base of the oldest segment.
    #[must_use]
    pub fn first_base(&self) -> Offset {
        self.closed.front().map_or(self.active.base, |segment| segment.base)
    }

    /// Bytes in all `.log` files.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.closed.iter().map(|segment| segment.size).sum::<u64>() + self.active.size
    }

    /// The place of the closed segment whose range holds `offset`; `None` if that is the active
    /// one, or lies before the first.
    #[must_use]
    pub fn closed_holding(&self, offset: Offset) -> Option<usize> {
        if offset >= self.active.base {
            return None;
        }
        self.closed.partition_point(|segment| segment.base <= offset).checked_sub(1)
    }

    /// The base of the segment whose range holds `offset`; `None` if that lies before the first.
    #[must_use]
    pub fn base_holding(&self, offset: Offset) -> Option<Offset> {
        if offset >= self.active.base {
            return Some(self.active.base);
        }
        self.closed_holding(offset).map(|place| self.closed[place].base)
    }

    /// Where the segment after the closed one at `place` begins.
    #[must_use]
    pub fn end_of_closed(&self, place: usize) -> Offset {
        self.closed.get(place + 1).map_or(self.active.base, |next| next.base)
    }

    /// Ends the active segment and begins the next. Index entries that the disk was not given yet
    /// have to be taken before.
    ///
    /// # Panics
    /// If the new one does not begin behind the old one.
    pub fn roll(&mut self, next: ActiveSegment, now: Timestamp) {
        assert!(self.active.base < next.base, "segments of {} are in order", self.directory);
        let old = std::mem::replace(&mut self.active, next);
        self.closed.push_back(old.close(now));
    }

    /// One closed segment takes the place of those that begin at `sources`.
    ///
    /// # Panics
    /// If these are not closed segments in a row, the first of which has the new one's base.
    pub fn replace(&mut self, sources: &[Offset], by: Segment) {
        assert_eq!(sources.first(), Some(&by.base), "a segment keeps the name of the first that it replaces");
        let place = self.closed.binary_search_by_key(&by.base, |segment| segment.base);
        let place = place.expect("what is replaced is in the log");
        let replaced: Vec<Offset> =
            self.closed.drain(place..place + sources.len()).map(|segment| segment.base).collect();
        assert_eq!(replaced, sources, "what is replaced are neighbours");
        self.closed.insert(place, by);
    }

    /// Removes the oldest `count` closed segments.
    pub fn remove_oldest(&mut self, count: usize) -> Vec<Segment> {
        self.closed.drain(..count).collect()
    }
}

impl ActiveSegment {
    /// A segment without a batch yet.
    #[must_use]
    pub fn empty(base: Offset, indexes: SegmentIndexes, now: Timestamp) -> Self {
        Self {
            base,
            size: 0,
            indexes,
            first_timestamp: None,
            created: now,
            aborted: AbortedIndexBuilder::default(),
        }
    }

    /// Takes what the index files lack: which file, from which byte on, what.
    pub fn take_index_writes(&mut self) -> Vec<(SegmentFile, u64, Bytes)> {
        let files = [
            (SegmentFile::OffsetIndex, self.indexes.offsets.take_unwritten()),
            (SegmentFile::TimeIndex, self.indexes.times.take_unwritten()),
            (SegmentFile::TxnIndex, self.aborted.take_unwritten()),
        ];
        files.into_iter().filter_map(|(kind, write)| write.map(|(at, bytes)| (kind, at, bytes))).collect()
    }

    /// The segment once nothing is appended to it any more; it was last written at `modified`.
    #[must_use]
    pub fn close(self, modified: Timestamp) -> Segment {
        Segment {
            base: self.base,
            size: self.size,
            index_len: self.indexes.offsets.file_len(),
            time_index_len: self.indexes.times.file_len(),
            greatest: self.indexes.greatest_timestamp().map(|greatest| greatest.timestamp),
            first_timestamp: self.first_timestamp,
            modified,
            aborted: self.aborted.into_entries(),
            in_swap: false,
        }
    }
}
