//! `.aplomb-tail`: where the tail's memory is, said in each log directory.
//!
//! A start finds the tail of the run before by this file, so that a tail whose place or size was
//! changed in the configuration is still found and drained. A properties file: `version=1`, `path`;
//! and since copies of directories have it too, and tails do not outlive the machine's memory,
//! `directory.path`, `directory.inode`, `directory.born` and `boot`, which may be missing.

use std::path::PathBuf;

use aplomb_disk_api::{DiskError, FileName, PatientDisk, SmallFile};
use aplomb_log::state_files::{MalformedEscape, PropertiesText};
use bytes::Bytes;

use super::tail_home::Home;

/// The file's name, at the top of a log directory.
pub(super) const TAIL_RECORD: &str = ".aplomb-tail";

/// A record that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{TAIL_RECORD}: {0}")]
    Malformed(#[from] MalformedEscape),
    #[error("{TAIL_RECORD} is of version {0}; this program knows version 1")]
    Version(String),
    #[error("{TAIL_RECORD} names no path")]
    NoPath,
}

/// What a log directory says of its tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TailRecord {
    /// The tail's file.
    pub(super) path: PathBuf,
    /// The directory that it was written into.
    pub(super) home: Option<Home>,
    /// The start of the machine that the tail was made in.
    pub(super) boot: Option<String>,
}

/// Where the tail of the run before is, if there was one with a file.
pub(super) fn read(disk: &dyn PatientDisk) -> Result<Option<TailRecord>, RecordError> {
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
        Some(Home { path, inode: number("directory.inode")?, born: number("directory.born")? })
    };
    Ok(Some(TailRecord { path, home: home(), boot: text.get("boot").map(str::to_owned) }))
}

/// Says where the tail is from now on; `None` if it has no file. Durable on return.
pub(super) fn write(disk: &dyn PatientDisk, record: Option<&TailRecord>) -> Result<(), RecordError> {
    let name = FileName::new(TAIL_RECORD);
    let Some(TailRecord { path, home, boot }) = record else { return Ok(remove(disk)?) };
    let mut text = PropertiesText::default();
    text.set("version", "1");
    text.set("path", &path.display().to_string());
    if let Some(Home { path, inode, born }) = home {
        text.set("directory.path", &path.display().to_string());
        text.set("directory.inode", &inode.to_string());
        text.set("directory.born", &born.to_string());
    }
    if let Some(boot) = boot {
        text.set("boot", boot);
    }
    Ok(disk.publish(&[SmallFile { name, content: Bytes::from(text.encode()) }])?)
}

/// Forgets that there ever was a tail. Durable on return.
pub(super) fn remove(disk: &dyn PatientDisk) -> Result<(), DiskError> {
    let name = FileName::new(TAIL_RECORD);
    disk.remove(&name)?;
    disk.sync(&[name])
}

#[cfg(test)]
mod tests {
    use aplomb_disk::patient::RealPatientDisk;

    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let disk = RealPatientDisk::open(directory.path()).expect("it is there");
        assert_eq!(read(&disk).expect("nothing is wrong"), None);
        let path = PathBuf::from("/dev/shm/a b=c.tail");
        let home = Home { path: "/a directory=1".into(), inode: u64::MAX, born: 7 };
        for (home, boot) in [(Some(home), Some("a boot".to_owned())), (None, None)] {
            let record = TailRecord { path: path.clone(), home, boot };
            write(&disk, Some(&record)).expect("it can be written");
            assert_eq!(read(&disk).expect("nothing is wrong"), Some(record));
        }
        write(&disk, None).expect("it can be removed");
        assert_eq!(read(&disk).expect("nothing is wrong"), None);
    }

    #[test]
    fn a_later_version_is_refused() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        std::fs::write(directory.path().join(TAIL_RECORD), "version=2\n").expect("it can be written");
        let disk = RealPatientDisk::open(directory.path()).expect("it is there");
        assert!(matches!(read(&disk), Err(RecordError::Version(version)) if version == "2"));
    }
}
