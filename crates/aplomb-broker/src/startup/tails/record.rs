//! `.aplomb-tail`: where the tail's memory is, said in each log directory.
//!
//! A start finds the tail of the run before by this file, so that a tail whose place or size was
//! changed in the configuration is still found and drained. It is there from before the tail has
//! the first record of the directory, and goes when a process has stopped with all of the
//! directory's records in its files, whatever a tail that is kept for others has of them. A
//! properties file: `version=1`, `path`; and since copies of directories have it too, and tails do
//! not outlive the machine's memory, `directory.path`, `directory.inode`, `directory.born` and
//! `boot`, which may be missing.

use std::path::{Path, PathBuf};

use aplomb_disk_api::{DiskError, FileName, PatientDisk, SmallFile};
use aplomb_log::state_files::{MalformedEscape, PropertiesText};
use aplomb_log::tail::TailShare;
use bytes::Bytes;

use super::files::TailFiles;
use super::home::DirectoryHome;

/// The file's name, at the top of a log directory.
pub const TAIL_RECORD: &str = ".aplomb-tail";

/// A record that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The disk failed when it was read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It is no properties file.
    #[error("{TAIL_RECORD}: {0}")]
    Malformed(#[from] MalformedEscape),
    /// Another version of Aplomb wrote it.
    #[error("{TAIL_RECORD} is of version {0}; this program knows version 1")]
    Version(String),
    /// It says nothing.
    #[error("{TAIL_RECORD} names no path")]
    NoPath,
}

/// What a log directory says of its tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailRecord {
    /// The tail's file.
    pub path: PathBuf,
    /// The directory that it was written into.
    pub home: Option<DirectoryHome>,
    /// The start of the machine that the tail was made in.
    pub boot: Option<String>,
}

impl TailRecord {
    /// Where the tail of the run before is, if there was one with a file.
    ///
    /// # Errors
    /// When the disk fails, or the record cannot be understood.
    pub fn read(disk: &dyn PatientDisk) -> Result<Option<Self>, RecordError> {
        let bytes = match disk.read(&FileName::new(TAIL_RECORD), 0, 1 << 16) {
            Ok(bytes) => bytes,
            Err(DiskError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let text = PropertiesText::parse(&bytes)?;
        match text.get("version") {
            Some("1") => {}
            other => return Err(RecordError::Version(other.unwrap_or("none").to_owned())),
        }
        let path = text.get("path").ok_or(RecordError::NoPath)?.into();
        let number = |key| text.get(key).and_then(|number| number.parse().ok());
        let home = || {
            let path = text.get("directory.path")?.into();
            Some(DirectoryHome { path, inode: number("directory.inode")?, born: number("directory.born")? })
        };
        Ok(Some(Self { path, home: home(), boot: text.get("boot").map(str::to_owned) }))
    }

    /// Says in the log directory at `directory` that its tail is at `place` from now on. Durable on
    /// return.
    ///
    /// Not before its memory is formatted, which its share shows: that may be a tail which was kept
    /// for another directory, with records of this one from before it went on with the next tail. A
    /// start that ended in between would have them written over newer ones.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn name(
        share: &TailShare,
        directory: &Path,
        disk: &dyn PatientDisk,
        place: &Path,
        files: &impl TailFiles,
    ) -> Result<(), RecordError> {
        assert!(share.stats().waiting == 0, "a tail that begins has nothing yet");
        // Where the directory cannot be looked at, the record says less.
        let home = files.home(directory).ok();
        Self { path: place.to_owned(), home, boot: files.boot() }.write(disk)
    }

    fn write(&self, disk: &dyn PatientDisk) -> Result<(), RecordError> {
        let Self { path, home, boot } = self;
        let mut text = PropertiesText::default();
        text.set("version", "1");
        text.set("path", &path.display().to_string());
        if let Some(DirectoryHome { path, inode, born }) = home {
            text.set("directory.path", &path.display().to_string());
            text.set("directory.inode", &inode.to_string());
            text.set("directory.born", &born.to_string());
        }
        if let Some(boot) = boot {
            text.set("boot", boot);
        }
        let (name, content) = (FileName::new(TAIL_RECORD), Bytes::from(text.encode()));
        Ok(disk.publish(&[SmallFile { name, content }])?)
    }

    /// Forgets that there ever was a tail. Durable on return.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn remove(disk: &dyn PatientDisk) -> Result<(), DiskError> {
        let name = FileName::new(TAIL_RECORD);
        disk.remove(&name)?;
        disk.sync(&[name])
    }
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};

    use super::*;

    fn disk() -> SimDisk {
        SimDisk::new(DiskIndex(0), SimOptions::default())
    }

    #[test]
    fn what_was_written_is_read_back() {
        let disk = disk();
        assert_eq!(TailRecord::read(&disk).expect("nothing is wrong"), None);
        let path = PathBuf::from("/dev/shm/a b=c.tail");
        let home = DirectoryHome { path: "/a directory=1".into(), inode: u64::MAX, born: 7 };
        for (home, boot) in [(Some(home), Some("a boot".to_owned())), (None, None)] {
            let record = TailRecord { path: path.clone(), home, boot };
            record.write(&disk).expect("it can be written");
            assert_eq!(TailRecord::read(&disk).expect("nothing is wrong"), Some(record));
        }
        TailRecord::remove(&disk).expect("it can be removed");
        assert_eq!(TailRecord::read(&disk).expect("nothing is wrong"), None);
    }

    #[test]
    fn a_later_version_is_refused() {
        let disk = disk();
        let (name, content) = (FileName::new(TAIL_RECORD), Bytes::from_static(b"version=2\n"));
        disk.publish(&[SmallFile { name, content }]).expect("it can be written");
        let read = TailRecord::read(&disk);
        assert!(matches!(read, Err(RecordError::Version(version)) if version == "2"));
    }
}
