//! Truncating a log (`UnifiedLog.truncateTo`): a replica whose log is not its leader's gives up
//! what lies from an offset on.
//!
//! The files are cut on a thread that may wait for the disk, and the log is then found again as
//! after an unclean stop: what its indexes, producers and leader epochs were at that offset is in
//! files, not in memory. What always holds: whatever interrupts it, the files hold a beginning of
//! the log that reaches up to the offset.
//!
//! For the caller, in this order:
//! 1. take no more appends, and go on with checkpoints until [`Log::is_settled`];
//! 2. [`Log::truncate_to`]; from here on, a process that is killed finds the log truncated at its
//!    next start, as far as the log's tail reached down;
//! 3. put [`Truncation::recovery_point`] and [`Truncation::log_start`] into the checkpoint files;
//! 4. [`Truncation::run`] on a thread of the disk's, and go on with the log that it gives.

use aplomb_disk_api::{DiskError, FileName, PatientDisk, SmallFile};
use aplomb_model::{Offset, Timestamp};

use super::found::{FoundFiles, FoundSegment};
use super::load::{LoadedLog, load};
use super::loader::{LoadError, LoadRequest};
use super::scan::scan_segment;
use crate::index::{IndexTail, OffsetIndex};
use crate::layout::{LEADER_EPOCH_CHECKPOINT, SegmentFile};
use crate::log::Log;
use crate::tail::{LogEnd, LogTail};

/// A log on its way to an earlier end.
#[derive(Debug)]
pub struct Truncation {
    to: Offset,
    /// How the log is found again once its files are cut.
    request: LoadRequest,
    /// What memory still has of the log.
    tail: LogTail,
}

impl Log {
    /// Begins to truncate the log: batches that reach `to` go, and all above.
    ///
    /// # Panics
    /// If `to` is not below the log end offset, or the log is not settled.
    #[must_use]
    pub fn truncate_to(self, to: Offset, now: Timestamp) -> Truncation {
        let end = self.end();
        assert!(to < end, "a log is truncated below its end: {to} < {end}");
        assert!(self.is_settled(), "the disk has all of a log that is truncated");
        let (start, recovery_point, cleaned) = (self.start(), self.recovery_point(), self.cleaned());
        let (directory, high_watermark) = (self.segments().directory().to_owned(), self.high_watermark());
        let base = self.segments().base_holding(to);
        let (config, mut tail) = self.into_tail();
        if tail.truncate_to(to).is_none() {
            tail.clear(LogEnd { segment_base: to, at: 0, offset: to });
        }
        // A batch that reaches over the offset goes wholly, and only the tail knows where it
        // begins.
        let last = tail.last_batch().map(|last| last.batch.last_offset.next());
        let surely_stays = if to <= start { to } else { last.or(base).unwrap_or(to) };
        let request = LoadRequest {
            directory,
            topic: tail.topic(),
            partition: tail.partition(),
            config,
            clean: false,
            recovery_point: recovery_point.min(surely_stays),
            log_start: start.min(to),
            cleaned,
            high_watermark: Some(high_watermark),
            share: tail.share().clone(),
            now,
        };
        Truncation { to, request, tail }
    }
}

impl Truncation {
    /// What the checkpoint file has to say before [`Self::run`]: a recovery that believed in more
    /// would believe in indexes of what was cut.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        self.request.recovery_point
    }

    /// What the checkpoint file has to say before [`Self::run`].
    #[must_use]
    pub fn log_start(&self) -> Offset {
        self.request.log_start
    }

    /// Cuts the files and finds the log again. It ends at the offset or, where a batch reached over
    /// that, with the batch before; its high watermark is what it was, or its end. If all that was
    /// below the offset is deleted already, the log begins anew at the offset.
    ///
    /// # Errors
    /// [`LoadError`]: the log directory is not usable.
    pub fn run(mut self, disk: &dyn PatientDisk) -> Result<LoadedLog, LoadError> {
        self.cut_files(disk)?;
        let loaded = load(disk, &self.request)?;
        let (end, recovery_point) = (loaded.log.end(), self.request.recovery_point);
        assert!(recovery_point <= end, "what stays was known: {recovery_point} <= {end}");
        // An epoch of what was cut must not be taken for that of a batch that comes in its place.
        // This also makes the names durable that are left.
        let name = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", self.request.directory));
        disk.publish(&[SmallFile { name, content: loaded.log.epochs().encode().into() }])?;
        self.tail.clear(self.tail.end());
        Ok(loaded)
    }

    /// Removes the segments above the offset, the newest first, then shortens the one that is left:
    /// the log has no hole at any moment.
    fn cut_files(&self, disk: &dyn PatientDisk) -> Result<(), DiskError> {
        let found = FoundFiles::look(disk, &self.request.directory)?;
        let begins_anew = self.to <= self.request.log_start;
        let stays = |base: Offset| base <= self.to && !begins_anew;
        for (base, _) in found.segments.iter().rev().filter(|(base, _)| !stays(**base)) {
            for kind in SegmentFile::OF_SEGMENT {
                disk.remove(&self.file(kind, *base))?;
            }
        }
        let Some((base, segment)) = found.segments.iter().rev().find(|(base, _)| stays(**base)) else {
            return Ok(());
        };
        let log = self.file(SegmentFile::Log, *base);
        disk.sync(std::slice::from_ref(&log))?;
        let at = self.place_of_cut(disk, *base, segment)?;
        if at < segment.log {
            disk.truncate(&log, at)?;
            disk.sync(&[log])?;
        }
        Ok(())
    }

    /// Where in a segment the first batch begins that reaches the offset.
    fn place_of_cut(
        &self,
        disk: &dyn PatientDisk,
        base: Offset,
        segment: &FoundSegment,
    ) -> Result<u64, DiskError> {
        let log = self.file(SegmentFile::Log, base);
        let indexed = self.indexed_position(disk, base, segment)?;
        for from in [indexed, 0] {
            let mut believed = false;
            let scanned = scan_segment(disk, &log, from..segment.log, false, |batch| {
                believed |= batch.view.header.base_offset() <= self.to;
                believed && batch.view.header.last_offset() < self.to
            })?;
            if believed {
                return Ok(scanned.end);
            }
        }
        Ok(0)
    }

    /// From where on to look for that batch. Only a hint: an index may be damaged.
    fn indexed_position(
        &self,
        disk: &dyn PatientDisk,
        base: Offset,
        segment: &FoundSegment,
    ) -> Result<u64, DiskError> {
        let Some(len) = segment.index else { return Ok(0) };
        let file = self.file(SegmentFile::OffsetIndex, base);
        let bytes = disk.read(&file, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
        let entry = OffsetIndex::new(&bytes, base, IndexTail::MaybePreallocated)
            .and_then(|index| index.lookup(self.to));
        Ok(entry.map_or(0, |entry| u64::from(entry.position).min(segment.log)))
    }

    fn file(&self, kind: SegmentFile, base: Offset) -> FileName {
        kind.within(&self.request.directory, base)
    }
}
