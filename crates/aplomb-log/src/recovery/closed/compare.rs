//! In a build with assertions, a log that was put together from notes is looked for in its files as
//! well, without a change to them.

use std::sync::atomic::{AtomicBool, Ordering};

use aplomb_disk_api::{DiskError, Entry, FileName, FileStamp, PatientDisk, SmallFile};
use bytes::Bytes;

use crate::log::Log;
use crate::recovery::{LoadError, LoadRequest, load};

/// Asserts that the files hold what was noted.
pub(super) fn compare(disk: &dyn PatientDisk, request: &LoadRequest, log: &Log) -> Result<(), LoadError> {
    let untouched = Untouched { disk, is_asked: AtomicBool::new(false) };
    let found = load(&untouched, request)?;
    log.assert_is(&found.log);
    assert_eq!(found.report.remarks, [""; 0]);
    // `index.interval.bytes` may be less than when the last entries were written.
    let has_news = found.log.segments().active().indexes.at_rest().is_none();
    let is_asked = untouched.is_asked.load(Ordering::Relaxed);
    assert!(!is_asked || has_news, "nothing was left to be done in {}", request.directory);
    Ok(())
}

/// A disk that takes note of being asked for a change, and makes none.
struct Untouched<'a> {
    disk: &'a dyn PatientDisk,
    is_asked: AtomicBool,
}

impl Untouched<'_> {
    fn change(&self) -> Result<(), DiskError> {
        self.is_asked.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl PatientDisk for Untouched<'_> {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        self.disk.list(directory)
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.disk.stamp(name)
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.disk.read(file, at, len)
    }

    fn write(&self, _: &FileName, _: u64, _: &[u8]) -> Result<(), DiskError> {
        self.change()
    }

    fn truncate(&self, _: &FileName, _: u64) -> Result<(), DiskError> {
        self.change()
    }

    fn remove(&self, _: &FileName) -> Result<(), DiskError> {
        self.change()
    }

    fn rename_all(&self, _: &[(FileName, FileName)]) -> Result<(), DiskError> {
        self.change()
    }

    fn publish(&self, _: &[SmallFile]) -> Result<(), DiskError> {
        self.change()
    }

    fn sync(&self, _: &[FileName]) -> Result<(), DiskError> {
        self.change()
    }
}
