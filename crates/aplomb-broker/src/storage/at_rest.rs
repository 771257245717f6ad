//! A log that is closed: what the next start is to know of it.

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_log::Log;
use aplomb_log::layout::SegmentFile;
use aplomb_log::state_files::ClosedLogNote;
use bytes::Bytes;

/// A log that is closed, as the next start would find it.
#[derive(Debug)]
pub struct LogAtRest {
    pub(super) directory: String,
    /// Its last segment's `.log`.
    active: FileName,
    said: Bytes,
}

impl LogAtRest {
    pub(super) fn of(log: &Log) -> Option<Self> {
        let said = log.at_rest()?.encode().into();
        let segments = log.segments();
        let active = segments.file(SegmentFile::Log, segments.active().base);
        Some(Self { directory: segments.directory().to_owned(), active, said })
    }

    /// Bytes that its note takes, about.
    pub(super) fn bytes(&self) -> u64 {
        (self.said.len() + self.directory.len()) as u64 + 100
    }

    /// With the state that its files are in; `None` if one is not there, so that nothing is known.
    pub(super) fn note(&self, disk: &dyn PatientDisk) -> Result<Option<ClosedLogNote>, DiskError> {
        let stamps = disk
            .stamp(&FileName::new(self.directory.as_str()))
            .and_then(|directory| Ok((directory, disk.stamp(&self.active)?)));
        match stamps {
            Ok((directory, active)) => Ok(Some(ClosedLogNote { directory, active, said: self.said.clone() })),
            Err(DiskError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
