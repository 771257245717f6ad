//! `.aplomb-tail`: where the tail's memory is, said in each log directory.
//!
//! A start finds the tail of the run before by this file, so that a tail whose place or size was
//! changed in the configuration is still found and drained. A properties file: `version=1`, `path`.

use std::path::{Path, PathBuf};

use aplomb_disk_api::{DiskError, FileName, PatientDisk, SmallFile};
use aplomb_log::state_files::{MalformedEscape, PropertiesText};
use bytes::Bytes;

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

/// Where the tail of the run before is, if there was one with a file.
pub(super) fn read(disk: &dyn PatientDisk) -> Result<Option<PathBuf>, RecordError> {
    let bytes = match disk.read(&FileName::new(TAIL_RECORD), 0, 1 << 16) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let text = PropertiesText::parse(&bytes)?;
    match text.get("version") {
        Some("1") => text.get("path").map(|path| Some(PathBuf::from(path))).ok_or(RecordError::NoPath),
        other => Err(RecordError::Version(other.unwrap_or("none").to_owned())),
    }
}

/// Says where the tail is from now on; `None` if it has no file. Durable on return.
pub(super) fn write(disk: &dyn PatientDisk, path: Option<&Path>) -> Result<(), RecordError> {
    let name = FileName::new(TAIL_RECORD);
    let Some(path) = path else { return Ok(remove(disk)?) };
    let mut text = PropertiesText::default();
    text.set("version", "1");
    text.set("path", &path.display().to_string());
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
        let path = Path::new("/dev/shm/a b=c.tail");
        write(&disk, Some(path)).expect("it can be written");
        assert_eq!(read(&disk).expect("nothing is wrong").as_deref(), Some(path));
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
