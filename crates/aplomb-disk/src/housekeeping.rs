//! The housekeeping lane's thread: renames, deletions, publications, and how much room there is.
//!
//! A deleted name is gone at once; the blocks of a large file follow in slices, so that the file
//! system's journal never has to free gigabytes in one transaction while appends wait for it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskError, Done, FileName, Lane};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::errors::{is_absent, uninterrupted};
use crate::files::Files;
use crate::io::Backend;
use crate::lane::{Accepted, Work};
use crate::lanes::Lanes;
use crate::publish::Publisher;
use crate::sync::sync_names;
use crate::writer::carry_out_publications;

/// How often a directory may be found with new files in it after it was emptied: a write to a
/// partition that is being deleted may still be on its way.
const EMPTYINGS: usize = 16;

/// The thread's belongings.
pub(crate) struct Housekeeper {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) files: Files,
    pub(crate) backend: Box<dyn Backend<Accepted>>,
    pub(crate) slices: Slices,
}

/// How large files are freed.
#[derive(Clone)]
pub(crate) struct Slices {
    /// Bytes freed at once.
    pub(crate) bytes: u64,
    /// What others get in between.
    pub(crate) pause: Duration,
    /// Set when the engine stops: then nothing pauses.
    pub(crate) hurry: Arc<AtomicBool>,
}

impl Housekeeper {
    /// Works until the lane is closed and empty.
    pub(crate) fn run(mut self) {
        while let Some(batch) = self.lanes.take_all(Lane::Housekeeping) {
            let mut publications = Vec::new();
            for job in batch {
                if matches!(job.work, Work::Command(DiskCommand::Publish { .. })) {
                    publications.push(job);
                } else {
                    self.publish(std::mem::take(&mut publications));
                    self.carry_out(job);
                }
            }
            self.publish(publications);
        }
    }

    fn publish(&mut self, jobs: Vec<Accepted>) {
        let publisher = Publisher { files: &self.files, syncs: &mut *self.backend, makes_directories: false };
        carry_out_publications(&self.lanes, publisher, jobs);
    }

    fn carry_out(&self, job: Accepted) {
        if self.lanes.lost().is_some() || self.files.gave_up() {
            return self.lanes.complete_offline(job);
        }
        let result = match &job.work {
            Work::Command(DiskCommand::Rename { from, to }) => {
                rename(&self.files, from, to).map(|()| Done::Nothing)
            }
            Work::Command(DiskCommand::DeleteFiles { files }) => {
                files.iter().try_for_each(|file| self.delete(file, delete_file)).map(|()| Done::Nothing)
            }
            Work::Command(DiskCommand::DeleteDirectory { directory }) => {
                self.delete(directory, delete_directory).map(|()| Done::Nothing)
            }
            Work::Command(DiskCommand::Space) => self.space(),
            other => panic!("{other:?} does not stand in the housekeeping lane"),
        };
        self.lanes.complete(job, result);
    }

    fn delete(
        &self,
        name: &FileName,
        delete: fn(&Files, &str, &Slices) -> io::Result<()>,
    ) -> Result<(), DiskError> {
        delete(&self.files, name.as_str(), &self.slices)
            .map_err(|error| self.files.error("delete", name.as_str(), &error))
    }

    fn space(&self) -> Result<Done, DiskError> {
        let found = self
            .files
            .call(|| rustix::fs::fstatvfs(self.files.root()))
            .map_err(|error| self.files.error("statvfs", &self.files.path().display().to_string(), &error))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Done::Space { total: bytes(found.f_blocks), usable: bytes(found.f_bavail) })
    }
}

/// Renames a file or a directory, and makes both names durable.
pub(crate) fn rename(files: &Files, from: &FileName, to: &FileName) -> Result<(), DiskError> {
    rename_all(files, &[(from.clone(), to.clone())])
}

/// Renames files or directories, and then makes all names durable.
pub(crate) fn rename_all(files: &Files, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
    for (from, to) in renames {
        let leaving = [files.leave(from.as_str()), files.leave(to.as_str())];
        let renamed =
            files.call(|| rustix::fs::renameat(files.root(), from.as_str(), files.root(), to.as_str()));
        drop(leaving);
        renamed.map_err(|error| files.error("rename", from.as_str(), &error))?;
        files.unsettle(from.parent());
        files.unsettle(to.parent());
    }
    sync_names(files, renames.iter().flat_map(|(from, to)| [from, to]))
}

/// Deletes a file; one that does not exist is passed over.
pub(crate) fn delete_file(files: &Files, name: &str, slices: &Slices) -> io::Result<()> {
    let leaving = files.leave(name);
    let large = match large_file(files, name, slices.bytes) {
        Err(error) if is_absent(&error) => return Ok(()),
        large => large?,
    };
    let unlinked = files.call(|| rustix::fs::unlinkat(files.root(), name, AtFlags::empty()));
    drop(leaving); // and with it our cached descriptor
    match unlinked {
        Err(error) if is_absent(&error) => return Ok(()),
        unlinked => unlinked?,
    }
    let Some((file, mut len)) = large else { return Ok(()) };
    while len > slices.bytes {
        len -= slices.bytes;
        files.call(|| rustix::fs::ftruncate(&file, len))?;
        if !slices.hurry.load(Ordering::Relaxed) {
            std::thread::sleep(slices.pause);
        }
    }
    Ok(())
}

/// Deletes a directory and what is in it; one that does not exist is passed over.
pub(crate) fn delete_directory(files: &Files, name: &str, slices: &Slices) -> io::Result<()> {
    let _leaving = files.leave(name);
    for attempt in 1.. {
        let entries = match list(files, name, |_, name, kind| Ok((name, kind))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for (entry, kind) in entries {
            let entry = format!("{name}/{entry}");
            match kind {
                FileType::Directory => delete_directory(files, &entry, slices)?,
                _ => delete_file(files, &entry, slices)?,
            }
        }
        match files.call(|| rustix::fs::unlinkat(files.root(), name, AtFlags::REMOVEDIR)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && attempt < EMPTYINGS => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            removed => return removed,
        }
    }
    Ok(())
}

/// A file that is to be freed in slices, and its length; `None` if it is small.
fn large_file(files: &Files, name: &str, slice: u64) -> io::Result<Option<(OwnedFd, u64)>> {
    let found = files.call(|| rustix::fs::statat(files.root(), name, AtFlags::SYMLINK_NOFOLLOW))?;
    let len = found.st_size.unsigned_abs();
    if len <= slice || FileType::from_raw_mode(found.st_mode) != FileType::RegularFile || found.st_nlink > 1 {
        return Ok(None);
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let file = files.open_descriptor(name, flags, Mode::empty())?;
    Ok(Some((file, len)))
}

/// What `look` makes of each name in a directory: it is given the directory, the name, and of which
/// type it is.
pub(crate) fn list<T>(
    files: &Files,
    name: &str,
    look: impl Fn(BorrowedFd<'_>, String, FileType) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    files.outlast(|| list_once(files, name, &look))
}

fn list_once<T>(
    files: &Files,
    name: &str,
    look: impl Fn(BorrowedFd<'_>, String, FileType) -> io::Result<T>,
) -> io::Result<Vec<T>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut directory = Dir::new(files.open_descriptor_once(name, flags, Mode::empty())?)?;
    let mut looked = Vec::new();
    while let Some(entry) = directory.read() {
        let entry = entry?;
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            bytes => {
                let kind = match entry.file_type() {
                    // Some file systems do not say.
                    FileType::Unknown => {
                        let flags = AtFlags::SYMLINK_NOFOLLOW;
                        let found =
                            uninterrupted(|| rustix::fs::statat(directory.fd()?, entry.file_name(), flags))?;
                        FileType::from_raw_mode(found.st_mode)
                    }
                    kind => kind,
                };
                looked.push(look(directory.fd()?, String::from_utf8_lossy(bytes).into_owned(), kind)?);
            }
        }
    }
    Ok(looked)
}
