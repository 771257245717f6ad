//! A disk that the power leaves in the middle of what is done to it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use aplomb_disk_api::sim::SimDisk;
use aplomb_disk_api::{DiskError, Entry, FileName, FileStamp, PatientDisk, SmallFile};
use bytes::Bytes;

/// Carries out so many more changes, and no other.
pub(crate) struct DyingDisk {
    disk: SimDisk,
    left: AtomicU64,
}

impl DyingDisk {
    pub(crate) fn after(changes: u64, disk: &SimDisk) -> Self {
        Self { disk: disk.clone(), left: AtomicU64::new(changes) }
    }

    fn alive(&self) -> Result<&SimDisk, DiskError> {
        let alive = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        if alive { Ok(&self.disk) } else { Err(DiskError::Offline) }
    }
}

impl PatientDisk for DyingDisk {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        self.disk.list(directory)
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.disk.stamp(name)
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.disk.read(file, at, len)
    }

    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError> {
        self.alive()?.write(file, at, data)
    }

    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError> {
        PatientDisk::truncate(self.alive()?, file, len)
    }

    fn remove(&self, name: &FileName) -> Result<(), DiskError> {
        self.alive()?.remove(name)
    }

    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
        renames.iter().try_for_each(|(from, to)| self.alive()?.rename(from, to))
    }

    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError> {
        self.alive()?.publish(files)
    }

    fn sync(&self, files: &[FileName]) -> Result<(), DiskError> {
        self.alive()?.sync(files)
    }
}
