//! The segment that a group of segments becomes, while it is written.

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::batch::BatchHeader;
use aplomb_model::{Offset, Timestamp};
use bytes::BytesMut;

use super::swap::cleaned;
use crate::index::{AbortedIndexBuilder, AbortedTransaction, BatchPosition, IndexLimits, SegmentIndexes};
use crate::layout::SegmentFile;
use crate::segments::Segment;

/// A `.cleaned` segment.
#[derive(Debug)]
pub(super) struct Output {
    directory: String,
    base: Offset,
    /// Bytes of the `.log` that the disk was given, and those that follow them.
    written: u64,
    pending: BytesMut,
    window: usize,
    indexes: SegmentIndexes,
    aborted: AbortedIndexBuilder,
}

impl Output {
    /// A segment that begins at `base`. What an earlier pass left under its name is gone.
    pub(super) fn begin(
        disk: &dyn PatientDisk,
        directory: &str,
        base: Offset,
        limits: IndexLimits,
        window: usize,
    ) -> Result<Self, DiskError> {
        for kind in SegmentFile::OF_SEGMENT {
            disk.remove(&cleaned(directory, kind, base))?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            base,
            written: 0,
            pending: BytesMut::new(),
            window,
            indexes: SegmentIndexes::new(base, limits),
            aborted: AbortedIndexBuilder::default(),
        })
    }

    /// Bytes of the `.log` so far.
    pub(super) fn size(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    /// Adds a batch. False, and nothing is added, if no segment can be as long as that.
    pub(super) fn add(&mut self, header: &BatchHeader, batch: &[u8]) -> bool {
        let (Ok(position), true) =
            (u32::try_from(self.size()), self.indexes.offsets.fits(header.last_offset()))
        else {
            return false;
        };
        self.indexes.on_append(BatchPosition {
            last_offset: header.last_offset(),
            max_timestamp: header.max_timestamp(),
            position,
            size: u32::try_from(batch.len()).expect("a batch is less than 2 GiB"),
        });
        self.pending.extend_from_slice(batch);
        true
    }

    /// Adds an aborted transaction whose marker is in the segment.
    pub(super) fn add_aborted(&mut self, entry: AbortedTransaction) {
        self.aborted.push(entry);
    }

    /// Gives the disk what has gathered, if that is enough. How much it was.
    pub(super) fn write(&mut self, disk: &dyn PatientDisk) -> Result<u64, DiskError> {
        if self.pending.len() < self.window { Ok(0) } else { self.flush(disk) }
    }

    fn flush(&mut self, disk: &dyn PatientDisk) -> Result<u64, DiskError> {
        let bytes = self.pending.split();
        disk.write(&cleaned(&self.directory, SegmentFile::Log, self.base), self.written, &bytes)?;
        self.written += bytes.len() as u64;
        Ok(bytes.len() as u64)
    }

    /// The last batch was added: writes and syncs all files. Gives the segment that they are, and
    /// what was written now.
    pub(super) fn finish(
        mut self,
        disk: &dyn PatientDisk,
        modified: Timestamp,
    ) -> Result<(Segment, u64), DiskError> {
        let mut moved = self.flush(disk)?;
        self.indexes.on_close();
        let aborted = self.aborted.take_unwritten();
        let mut files = vec![cleaned(&self.directory, SegmentFile::Log, self.base)];
        let indexes = [
            (SegmentFile::OffsetIndex, Some(self.indexes.offsets.take_unwritten().unwrap_or_default())),
            (SegmentFile::TimeIndex, Some(self.indexes.times.take_unwritten().unwrap_or_default())),
            (SegmentFile::TxnIndex, aborted),
        ];
        for (kind, unwritten) in indexes {
            // An empty index is a file, too; one of aborted transactions is not.
            let Some((at, bytes)) = unwritten else { continue };
            let file: FileName = cleaned(&self.directory, kind, self.base);
            disk.write(&file, at, &bytes)?;
            moved += bytes.len() as u64;
            files.push(file);
        }
        disk.sync(&files)?;
        let segment = Segment {
            base: self.base,
            size: self.written,
            index_len: self.indexes.offsets.file_len(),
            time_index_len: self.indexes.times.file_len(),
            greatest: self.indexes.greatest_timestamp().map(|greatest| greatest.timestamp),
            first_timestamp: None,
            modified,
            aborted: self.aborted.into_entries(),
            in_swap: true,
        };
        Ok((segment, moved))
    }
}
