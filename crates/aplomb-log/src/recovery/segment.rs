//! One segment on its way into a log: taken as it is, or read again from a point on, checked, cut
//! and indexed anew.

use std::collections::VecDeque;

use aplomb_model::Offset;
use aplomb_model::batch::{BatchHeader, HEADER_SIZE};
use bytes::Bytes;

use super::found::FoundSegment;
use super::loader::{LoadError, Loader};
use super::producers::feed;
use super::scan::{ScannedBatch, scan_segment};
use crate::index::{
    AbortedIndexBuilder, AbortedTransaction, BatchPosition, IndexTail, ResumeFrom, SegmentIndexes, TimeIndex,
    TimestampOffset, aborted_len_below, parse_aborted, sound_aborted,
};
use crate::layout::SegmentFile;
use crate::producers::ProducerState;
use crate::segments::{ActiveSegment, Segment};

/// Entries of a time index that are compared with what is read. More of them are made anew.
const MOST_CLOSES: usize = 64;

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
        let mut closes = self.closes(base, found, from.time_len)?;
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
            if closes.front().is_some_and(|close| indexes.adopt_close(*close)) {
                closes.pop_front();
            }
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
        self.trim(base, SegmentFile::TimeIndex, found.time_index, indexes.times.written_len())?;
        if !clean && indexes.times.written_len() > from.time_len {
            // Perhaps it was never synced.
            self.touched_indexes.push((base, SegmentFile::TimeIndex));
        }
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

    /// The entries of a time index behind those that are believed, if they are few: each clean
    /// close adds one. A segment that is shorter than what lies between two offset entries has no
    /// others: were they made anew, the start of a broker with many such partitions would write a
    /// file of each.
    fn closes(
        &self,
        base: Offset,
        found: &FoundSegment,
        believed: u64,
    ) -> Result<VecDeque<TimestampOffset>, LoadError> {
        let len = found.time_index.unwrap_or(0).saturating_sub(believed);
        let few =
            usize::try_from(len).ok().filter(|len| (1..=MOST_CLOSES * TimeIndex::ENTRY_LEN).contains(len));
        let Some(len) = few else { return Ok(VecDeque::new()) };
        let bytes = self.disk.read(&self.file(SegmentFile::TimeIndex, base), believed, len)?;
        let whole = bytes.len() - bytes.len() % TimeIndex::ENTRY_LEN;
        let entries = TimeIndex::new(&bytes[..whole], base, IndexTail::Trimmed);
        let entries = entries.and_then(|index| index.iter().collect());
        Ok(entries.unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_disk_api::{DiskIndex, FileName, PatientDisk, SmallFile};
    use aplomb_model::batch::BatchBuilder;
    use aplomb_model::{PartitionIndex, Timestamp, Uuid};

    use super::*;
    use crate::LogConfig;
    use crate::index::TimeIndexBuilder;
    use crate::recovery::{LoadRequest, load};
    use crate::tail::{ArenaMemory, open_shares};

    /// A log of three records, a batch each, and a time index of these entries.
    fn stopped(entries: &[(i64, u64)]) -> SimDisk {
        let log: Vec<u8> = (0..3)
            .flat_map(|at| {
                let mut builder = BatchBuilder::new(Offset::new(at));
                builder.append(Timestamp(100 + at as i64), None, Some(b"a record"), &[]);
                builder.build().to_vec()
            })
            .collect();
        let mut times = TimeIndexBuilder::new(Offset::ZERO, 1 << 20);
        for (timestamp, offset) in entries {
            times.push(TimestampOffset { timestamp: Timestamp(*timestamp), offset: Offset::new(*offset) });
        }
        let times = times.take_unwritten().map(|(_, bytes)| bytes).unwrap_or_default();
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        for (name, content) in [("log", Bytes::from(log)), ("index", Bytes::new()), ("timeindex", times)] {
            let name = FileName::new(format!("orders-0/{:020}.{name}", 0));
            disk.publish(&[SmallFile { name, content }]).expect("the disk is well");
        }
        disk
    }

    /// How many entries of the time index are left after a start.
    fn left(disk: &SimDisk, clean: bool) -> usize {
        let shares = open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None);
        let request = LoadRequest {
            directory: "orders-0".to_owned(),
            topic: Uuid::TWO,
            partition: PartitionIndex(0),
            config: LogConfig::kafka_defaults().into(),
            clean,
            recovery_point: Offset::ZERO,
            log_start: Offset::ZERO,
            cleaned: None,
            high_watermark: None,
            share: shares.expect("it fits").remove(0),
            now: Timestamp(1_000),
        };
        let loaded = load(disk, &request).expect("the log loads");
        assert_eq!(loaded.log.end(), Offset::new(3));
        let file = disk.file("orders-0/00000000000000000000.timeindex").expect("it is there");
        file.len() / TimeIndex::ENTRY_LEN
    }

    #[test]
    fn what_clean_stops_noted_of_a_short_segment_stays_if_it_is_true() {
        for clean in [true, false] {
            assert_eq!(left(&stopped(&[(102, 2)]), clean), 1);
            assert_eq!(left(&stopped(&[(100, 0), (102, 2)]), clean), 2, "one of each stop");
            assert_eq!(left(&stopped(&[(100, 0)]), clean), 1, "a record came after the stop");
            assert_eq!(left(&stopped(&[(100, 0), (101, 2)]), clean), 1, "there was no such batch");
            assert_eq!(left(&stopped(&[(99, 0), (102, 2)]), clean), 0, "nor the one before it");
        }
    }
}
