//! One segment on its way into a log: taken as it is, or read again from a point on, checked, cut
//! and indexed anew.

use aplomb_model::Offset;
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use bytes::Bytes;

use super::found::FoundSegment;
use super::loader::{LoadError, Loader};
use super::producers::feed;
use super::scan::{ScannedBatch, scan_segment};
use crate::index::{
    AbortedIndexBuilder, AbortedTransaction, BatchPosition, ResumeFrom, SegmentIndexes, aborted_len_below,
    parse_aborted, sound_aborted,
};
use crate::layout::SegmentFile;
use crate::producers::ProducerState;
use crate::segments::{ActiveSegment, Segment};

pub(super) struct ReadSegment {
    pub(super) segment: ActiveSegment,
    pub(super) cut: bool,
    /// The offset behind its last batch.
    pub(super) end: Offset,
}

impl Loader<'_> {
    pub(super) fn take_closed(&mut self, base: Offset, next: Offset) -> Result<(), LoadError> {
        let mut found = self.found.segments[&base].clone();
        if found.log > 0 && (found.index.is_none() || found.time_index.is_none()) {
            self.report.remarks.push(format!("{}/{base} lacks an index: rebuilt", self.request.directory));
            self.rebuild_indexes(base, next, &mut found)?;
        }
        let aborted = self.aborted(base, &found)?;
        self.closed.push_back(Segment {
            base,
            size: found.log,
            index_len: found.index.unwrap_or(0),
            time_index_len: found.time_index.unwrap_or(0),
            greatest: None,
            first_timestamp: None,
            modified: found.modified,
            aborted,
            in_swap: false,
        });
        Ok(())
    }

    pub(super) fn rebuild_indexes(
        &mut self,
        base: Offset,
        next: Offset,
        found: &mut FoundSegment,
    ) -> Result<(), LoadError> {
        let mut indexes = SegmentIndexes::new(base, self.request.config.indexes);
        let scanned =
            scan_segment(self.disk, &self.file(SegmentFile::Log, base), 0..found.log, false, |batch| {
                let header = &batch.view.header;
                let fits = header.last_offset() < next && indexes.offsets.fits(header.last_offset());
                if fits {
                    indexes.on_append(place(batch));
                }
                fits
            })?;
        self.report.bytes_read += scanned.bytes_read;
        indexes.on_close();
        for (kind, len, unwritten) in [
            (SegmentFile::OffsetIndex, &mut found.index, indexes.offsets.take_unwritten()),
            (SegmentFile::TimeIndex, &mut found.time_index, indexes.times.take_unwritten()),
        ] {
            *len = Some(self.write_index(base, kind, *len, unwritten)?);
        }
        Ok(())
    }

    /// Reads a segment from the resume point on and cuts it at the first batch that is not whole.
    pub(super) fn read_segment(
        &mut self,
        base: Offset,
        next: Option<Offset>,
        found: &FoundSegment,
        from: ResumeFrom,
        producers: &mut ProducerState,
    ) -> Result<ReadSegment, LoadError> {
        let position = from.last_offset.map_or(0, |entry| u64::from(entry.position));
        let mut indexes = SegmentIndexes::resume(base, self.request.config.indexes, from);
        let resume_offset = from.last_offset.map_or(base, |entry| entry.offset);
        let mut aborted = if self.request.clean {
            self.aborted(base, found)?
        } else {
            // Behind what was synced there may be anything; that is made anew.
            sound_aborted(&self.aborted_bytes(base, found)?, base)
        };
        if !self.request.clean {
            // Markers below the producers' snapshot end no transaction again: their entries are as
            // durable as that.
            let known = aborted_len_below(&aborted, resume_offset.max(producers.end()));
            aborted.truncate((known / AbortedTransaction::ENTRY_LEN as u64) as usize);
        }
        let aborted_len = (aborted.len() * AbortedTransaction::ENTRY_LEN) as u64;
        let mut aborted = AbortedIndexBuilder::resume(aborted);
        let mut expected = if position == 0 { base } else { Offset::ZERO };
        let (mut first_timestamp, mut epochs_changed) = (None, false);
        let log = self.file(SegmentFile::Log, base);
        let (epochs, clean) = (&mut self.epochs, self.request.clean);
        let scanned = scan_segment(self.disk, &log, position..found.log, !clean, |batch| {
            let header = &batch.view.header;
            let in_order = header.base_offset() >= expected
                && next.is_none_or(|next| header.last_offset() < next)
                && indexes.offsets.fits(header.last_offset());
            if !in_order {
                return false;
            }
            expected = header.last_offset().next();
            if batch.position == 0 {
                first_timestamp = Some(header.max_timestamp());
            }
            indexes.on_append(place(batch));
            if let Some(epoch) = header.leader_epoch()
                && epochs.latest().is_none_or(|latest| latest.epoch < epoch)
            {
                epochs_changed |= epochs.assign(epoch, header.base_offset());
            }
            if let Some(completed) = feed(producers, batch)
                && aborted.entries().last().is_none_or(|last| last.last_offset < header.base_offset())
            {
                completed.aborted().into_iter().for_each(|entry| aborted.push(entry));
            }
            true
        })?;
        self.report.bytes_read += scanned.bytes_read;
        self.epochs_changed |= epochs_changed;
        let cut = scanned.end < found.log;
        if scanned.end == position && position > 0 {
            // No whole batch where the index points: the index is wrong. Read all of the segment.
            return self.read_segment(base, next, found, ResumeFrom::default(), producers);
        }
        if cut {
            let why = scanned.stopped.map_or("offsets out of order".to_owned(), |stop| format!("{stop:?}"));
            let bytes = found.log - scanned.end;
            self.report
                .remarks
                .push(format!("{log} is cut at {}, {bytes} bytes earlier: {why}", scanned.end));
            self.disk.truncate(&log, scanned.end)?;
        }
        if !clean || cut {
            self.touched_logs.push(base);
        }
        self.trim(base, SegmentFile::OffsetIndex, found.index, from.offset_len)?;
        self.trim(base, SegmentFile::TimeIndex, found.time_index, from.time_len)?;
        self.trim(base, SegmentFile::TxnIndex, found.txn_index, aborted_len)?;
        if first_timestamp.is_none() && scanned.end > 0 {
            let head = self.disk.read(&log, 0, HEADER_SIZE)?;
            first_timestamp = BatchHeader::parse(&head).ok().map(|header| header.max_timestamp());
        }
        let segment = ActiveSegment {
            base,
            size: scanned.end,
            indexes,
            first_timestamp,
            created: found.modified,
            aborted,
        };
        Ok(ReadSegment { segment, cut, end: expected.max(base) })
    }

    /// Turns a segment that was read again into a closed one, and writes what its indexes gained.
    pub(super) fn close(
        &mut self,
        mut segment: ActiveSegment,
        found: &FoundSegment,
    ) -> Result<Segment, LoadError> {
        let base = segment.base;
        segment.indexes.on_close();
        let writes = segment.take_index_writes();
        for (kind, found) in
            [(SegmentFile::OffsetIndex, found.index), (SegmentFile::TimeIndex, found.time_index)]
        {
            // Of a segment that was closed before its files were made, Kafka's tools expect those
            // that stay empty, too.
            if found.is_none() && writes.iter().all(|(of, ..)| *of != kind) {
                self.write_index(base, kind, None, None)?;
            }
        }
        for (kind, at, bytes) in writes {
            self.write_index(base, kind, None, Some((at, bytes)))?;
        }
        Ok(segment.close(found.modified))
    }

    /// The transaction index of a segment of which no more is read.
    fn aborted(&mut self, base: Offset, found: &FoundSegment) -> Result<Vec<AbortedTransaction>, LoadError> {
        let bytes = self.aborted_bytes(base, found)?;
        let whole = bytes.len() - bytes.len() % AbortedTransaction::ENTRY_LEN;
        parse_aborted(&bytes[..whole], base).map_err(|error| {
            let file = self.file(SegmentFile::TxnIndex, base);
            LoadError::Unreadable { file, reason: error.to_string() }
        })
    }

    fn aborted_bytes(&mut self, base: Offset, found: &FoundSegment) -> Result<Bytes, LoadError> {
        let Some(len) = found.txn_index.filter(|len| *len > 0) else { return Ok(Bytes::new()) };
        let file = self.file(SegmentFile::TxnIndex, base);
        Ok(self.disk.read(&file, 0, usize::try_from(len).unwrap_or(usize::MAX))?)
    }

    /// Cuts an index file to the entries that are kept.
    pub(super) fn trim(
        &mut self,
        base: Offset,
        kind: SegmentFile,
        found: Option<u64>,
        keep: u64,
    ) -> Result<(), LoadError> {
        if found.is_some_and(|len| len > keep) {
            self.disk.truncate(&self.file(kind, base), keep)?;
            self.touched_indexes.push((base, kind));
        }
        Ok(())
    }

    pub(super) fn write_index(
        &mut self,
        base: Offset,
        kind: SegmentFile,
        found: Option<u64>,
        unwritten: Option<(u64, Bytes)>,
    ) -> Result<u64, LoadError> {
        let (at, bytes) = unwritten.unwrap_or_default();
        let file = self.file(kind, base);
        self.disk.write(&file, at, &bytes)?;
        let len = at + bytes.len() as u64;
        if found.is_some_and(|found| found > len) {
            self.disk.truncate(&file, len)?;
        }
        self.touched_indexes.push((base, kind));
        Ok(len)
    }

    pub(super) fn drop_segment(&mut self, base: Offset) -> Result<(), LoadError> {
        for kind in SegmentFile::OF_SEGMENT {
            self.disk.remove(&self.file(kind, base))?;
        }
        Ok(())
    }
}

fn place(batch: &ScannedBatch<'_>) -> BatchPosition {
    let header = &batch.view.header;
    BatchPosition {
        last_offset: header.last_offset(),
        max_timestamp: header.max_timestamp(),
        position: u32::try_from(batch.position).unwrap_or(u32::MAX),
        size: u32::try_from(header.size()).unwrap_or(u32::MAX),
    }
}
