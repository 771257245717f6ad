//! The real disk for threads that may wait: plain calls, from several threads at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aplomb_disk_api::{DiskError, Entry, EntryKind, FileName, FileStamp, PatientDisk, SmallFile};
use bytes::Bytes;
use rustix::fs::{AtFlags, FileType, Stat};

use crate::errors::{EngineError, is_absent, uninterrupted};
use crate::files::{self, Files, FilesOptions};
use crate::housekeeping::{Slices, delete_directory, delete_file, list, rename_all};
use crate::io::plain_syncs;
use crate::publish::{Publisher, write_at};
use crate::readers::read_once;
use crate::sync::sync_files;

/// With more files than this to sync at once, the whole file system is synced instead.
const SYNCFS_ABOVE: usize = 64;

/// A log directory before the first request and after the last; in between, the calls of jobs.
pub struct RealPatientDisk {
    files: Files,
    slices: Slices,
}

impl RealPatientDisk {
    /// Opens a log directory.
    ///
    /// # Errors
    /// [`EngineError::Directory`].
    pub fn open(directory: &Path) -> Result<Self, EngineError> {
        let stats = Arc::default();
        let options = FilesOptions { limit: files::default_limit(), syncfs_above: SYNCFS_ABOVE, stats };
        let files = Files::open(directory, options)
            .map_err(|source| EngineError::Directory { path: directory.to_owned(), source })?;
        // Nothing is being served, so nothing needs pauses.
        let slices = Slices { bytes: u64::MAX, pause: Duration::ZERO, hurry: Arc::default() };
        Ok(Self::on(files, slices))
    }

    /// The files of an engine.
    pub(crate) fn on(files: Files, slices: Slices) -> Self {
        Self { files, slices }
    }
}

/// What an entry of a directory is; `None` if it went away meanwhile, or leads nowhere.
fn entry(directory: BorrowedFd<'_>, name: String, kind: FileType) -> io::Result<Option<Entry>> {
    if kind == FileType::Directory {
        return Ok(Some(Entry { name, kind: EntryKind::Directory }));
    }
    match uninterrupted(|| rustix::fs::statat(directory, name.as_str(), AtFlags::empty())) {
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
            Ok(Some(Entry { name, kind: EntryKind::Directory }))
        }
        Ok(found) => {
            let FileStamp { len, modified_ms, .. } = stamp(&found);
            Ok(Some(Entry { name, kind: EntryKind::File { len, modified_ms } }))
        }
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn stamp(found: &Stat) -> FileStamp {
    let time = |seconds: i64, nanos: u64, per_second: i64| {
        let part = i64::try_from(nanos).unwrap_or(0) / (1_000_000_000 / per_second);
        seconds.saturating_mul(per_second).saturating_add(part)
    };
    FileStamp {
        inode: found.st_ino,
        len: found.st_size.unsigned_abs(),
        modified_ms: time(found.st_mtime, found.st_mtime_nsec, 1000),
        changed_ns: time(found.st_ctime, found.st_ctime_nsec, 1_000_000_000),
    }
}

impl PatientDisk for RealPatientDisk {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        let name = directory.map_or(".", FileName::as_str);
        let listed = list(&self.files, name, entry);
        let mut entries: Vec<Entry> =
            listed.map_err(|error| self.files.error("list", name, &error))?.into_iter().flatten().collect();
        entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        let root = self.files.root();
        let found = self.files.call(|| rustix::fs::statat(root, name.as_str(), AtFlags::empty()));
        found.map(|found| stamp(&found)).map_err(|error| self.files.error("stat", name.as_str(), &error))
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        read_once(&self.files, file, at, len as u64)
    }

    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError> {
        self.files
            .to_change_or_make(file)
            .and_then(|open| self.files.outlast(|| write_at(&*open, data, at)))
            .map_err(|error| self.files.error("write", file.as_str(), &error))
    }

    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError> {
        self.files
            .to_change(file)
            .and_then(|open| self.files.call(|| rustix::fs::ftruncate(&*open, len)))
            .map_err(|error| self.files.error("truncate", file.as_str(), &error))
    }

    fn remove(&self, name: &FileName) -> Result<(), DiskError> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let removed = match self.files.call(|| rustix::fs::statat(self.files.root(), name.as_str(), flags)) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                delete_directory(&self.files, name.as_str(), &self.slices)
            }
            Ok(_) => delete_file(&self.files, name.as_str(), &self.slices),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(error),
        };
        removed.map_err(|error| self.files.error("delete", name.as_str(), &error))
    }

    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
        rename_all(&self.files, renames)
    }

    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError> {
        let syncs = &mut *plain_syncs();
        let mut publisher = Publisher { files: &self.files, syncs, makes_directories: true };
        publisher.publish(&files.iter().collect::<Vec<_>>())
    }

    fn sync(&self, files: &[FileName]) -> Result<(), DiskError> {
        sync_files(&self.files, &mut *plain_syncs(), files.iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> FileName {
        FileName::new(name)
    }

    #[test]
    fn what_was_published_and_written_is_listed_read_renamed_and_removed() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let disk = RealPatientDisk::open(directory.path()).expect("it is there");
        let metadata = SmallFile {
            name: name("orders-3/partition.metadata"),
            content: Bytes::from_static(b"version: 0"),
        };
        disk.publish(&[metadata]).expect("the disk is well");
        disk.write(&name("orders-3/0.log"), 4, b"records").expect("the disk is well");
        disk.truncate(&name("orders-3/0.log"), 8).expect("the disk is well");
        disk.sync(&[name("orders-3/0.log"), name("orders-3/gone"), name("gone/too")])
            .expect("the disk is well");
        assert_eq!(disk.read(&name("orders-3/0.log"), 2, 100).expect("it is there").as_ref(), b"\0\0reco");

        disk.rename(&name("orders-3"), &name("orders-4")).expect("the disk is well");
        let entries = disk.list(Some(&name("orders-4"))).expect("it is there");
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["0.log", "partition.metadata"]);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        match entries[0].kind {
            EntryKind::File { len, modified_ms } => {
                assert_eq!(len, 8);
                let age = i64::try_from(now.as_millis()).expect("soon enough") - modified_ms;
                assert!((-1000..60_000).contains(&age), "modified {age} ms ago");
            }
            EntryKind::Directory => panic!("a file was listed as a directory"),
        }
        let top = disk.list(None).expect("it is there");
        assert_eq!(top, [Entry { name: "orders-4".into(), kind: EntryKind::Directory }]);

        assert!(matches!(disk.list(Some(&name("orders-3"))), Err(DiskError::NotFound { .. })));
        assert!(matches!(disk.read(&name("orders-3/0.log"), 0, 1), Err(DiskError::NotFound { .. })));
        disk.remove(&name("orders-4")).expect("the disk is well");
        disk.remove(&name("orders-4")).expect("nothing is no error");
        assert_eq!(disk.list(None), Ok(Vec::new()));
    }

    #[test]
    fn several_loaders_work_at_once_and_many_files_are_synced_together() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let disk = RealPatientDisk::open(directory.path()).expect("it is there");
        std::thread::scope(|threads| {
            for loader in 0..4 {
                let disk = &disk;
                threads.spawn(move || {
                    for n in 0..30 {
                        let file = name(&format!("file-{loader}-{n}"));
                        disk.write(&file, 0, file.as_str().as_bytes()).expect("the disk is well");
                        let read = disk.read(&file, 0, 100).expect("it is there");
                        assert_eq!(read, file.as_str().as_bytes());
                    }
                });
            }
        });
        let all: Vec<FileName> =
            disk.list(None).expect("it is there").iter().map(|entry| name(&entry.name)).collect();
        assert_eq!(all.len(), 120);
        disk.sync(&all).expect("the disk is well");
    }

    /// Can fail only where the file system notes the first reading after a change (`relatime`,
    /// which is Linux's default).
    #[test]
    fn reading_notes_nothing_in_the_file_system() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a directory for the test");
        let disk = RealPatientDisk::open(directory.path()).expect("it is there");
        let file = name("0.log");
        disk.write(&file, 0, b"records").expect("the disk is well");
        let path = directory.path().join("0.log");
        let read_at = || {
            let found = rustix::fs::stat(&path).expect("it is there");
            (found.st_atime, found.st_atime_nsec)
        };
        let before = read_at();
        // Its clock moves with the kernel's ticks.
        std::thread::sleep(Duration::from_millis(20));
        disk.write(&file, 0, b"R").expect("the disk is well");
        let again = RealPatientDisk::open(directory.path()).expect("it is there");
        assert_eq!(again.read(&file, 0, 7).expect("it is there").as_ref(), b"Records");
        assert_eq!(disk.read(&file, 0, 7).expect("it is there").as_ref(), b"Records");
        assert_eq!(read_at(), before);
    }
}
