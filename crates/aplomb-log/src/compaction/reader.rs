//! A segment's batches, some at a time.

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::batch::{Batches, Stop};
use bytes::Bytes;

/// Why a pass did not come to its end. The log is as it was, but for the groups that it has given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassFailed {
    /// The disk has failed, or has no room.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A segment holds what cannot be compacted: it is left as it is.
    #[error("{file} at byte {at}: {why}")]
    Unreadable {
        /// The `.log`.
        file: FileName,
        /// Where the batch begins, in bytes.
        at: u64,
        /// What is wrong there.
        why: String,
    },
}

/// A walk through a `.log`.
#[derive(Debug)]
pub(super) struct SegmentReader {
    file: FileName,
    at: u64,
    end: u64,
    /// Bytes that are read at once, and what the next batch needs beyond.
    window: u64,
    needed: u64,
}

impl SegmentReader {
    pub(super) fn new(file: FileName, end: u64, window: usize) -> Self {
        Self { file, at: 0, end, window: window as u64, needed: 0 }
    }

    /// Where the next batch begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Passes over whole batches, so many bytes.
    pub(super) fn skip(&mut self, len: u64) {
        self.at += len;
    }

    /// The next whole batches, with their checksums verified; empty at the end of the segment.
    pub(super) fn next(&mut self, disk: &dyn PatientDisk) -> Result<Bytes, PassFailed> {
        while self.at < self.end {
            let wanted = self.window.max(self.needed).min(self.end - self.at);
            let bytes = disk.read(&self.file, self.at, usize::try_from(wanted).unwrap_or(usize::MAX))?;
            let stopped = Batches::new(&bytes).checked().scan_to_end();
            self.needed = match stopped.why {
                Stop::Complete => 0,
                Stop::Cut { needed, .. } if self.at + stopped.position + needed <= self.end => needed,
                stop => return Err(self.failed(stopped.position, &format!("{stop:?}"))),
            };
            if stopped.position > 0 {
                self.at += stopped.position;
                return Ok(bytes.slice(..stopped.position as usize));
            }
            if (bytes.len() as u64) < wanted {
                return Err(self.failed(0, "the file ends there"));
            }
        }
        Ok(Bytes::new())
    }

    /// The batch that was given last, at so many bytes of it, cannot be used.
    pub(super) fn failed_behind(&self, given: &Bytes, position: u64, why: &str) -> PassFailed {
        let at = self.at - given.len() as u64 + position;
        PassFailed::Unreadable { file: self.file.clone(), at, why: why.to_owned() }
    }

    fn failed(&self, position: u64, why: &str) -> PassFailed {
        PassFailed::Unreadable { file: self.file.clone(), at: self.at + position, why: why.to_owned() }
    }
}
