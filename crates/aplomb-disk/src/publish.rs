//! Replacing files as a whole: temporary files, one round of syncs, renames, one round of directory
//! syncs.
//!
//! Used by both lanes, by jobs and at start-up. The temporary name is Apache Kafka's
//! (`<name>.tmp`), so that it knows our leftovers and we know its own. One file is to be published
//! through one lane only: two publications of it at once would share that name.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use aplomb_disk_api::{DiskError, FileName, SmallFile};
use rustix::fs::{Mode, OFlags};

use crate::errors::{is_shortage, uninterrupted};
use crate::files::Files;
use crate::io::Syncs;
use crate::open_file::OpenFile;
use crate::shortage::Endurance;
use crate::sync::{Debts, sync_names};

/// Descriptors that a publication holds at once.
const AT_ONCE: usize = 256;

/// How a publication goes about it.
pub(crate) struct Publisher<'a> {
    pub(crate) files: &'a Files,
    /// Syncs the temporary files of a round together.
    pub(crate) syncs: &'a mut dyn Syncs,
    /// Whether missing directories are made. A file of a partition that vanished must not bring an
    /// empty partition back.
    pub(crate) makes_directories: bool,
}

impl Publisher<'_> {
    /// Publishes files. A name that comes twice begins a new round, so that the order of the files
    /// is also the order in which they appear.
    pub(crate) fn publish(&mut self, wanted: &[&SmallFile]) -> Result<(), DiskError> {
        let mut rest = wanted;
        while !rest.is_empty() {
            let mut names = BTreeSet::new();
            let round = rest.iter().take(AT_ONCE).take_while(|file| names.insert(&file.name)).count();
            let published = self.publish_round(&rest[..round])?;
            rest = &rest[published..];
        }
        Ok(())
    }

    /// Publishes as many of these files as there are descriptors for, at least one, and says how
    /// many.
    fn publish_round(&mut self, wanted: &[&SmallFile]) -> Result<usize, DiskError> {
        let files = self.files;
        let written = self.write_temporaries(wanted)?;
        let wanted = &wanted[..written.len()];
        if files.are_many(written.len()) {
            files.sync_file_system().map_err(|error| files.sync_error("", &error))?;
        } else {
            written.iter().for_each(|_| files.stats().on_sync());
            let synced = self.syncs.sync(&written);
            synced.map_err(|failed| files.sync_error(failed.file.name().as_str(), &failed.error))?;
        }
        drop(written); // the directories need descriptors
        for file in wanted {
            let name = file.name.as_str();
            let replaced = files.leave(name);
            files
                .call(|| rustix::fs::renameat(files.root(), temporary(&file.name), files.root(), name))
                .map_err(|error| files.error("rename", name, &error))?;
            drop(replaced);
            files.on_published(&file.name);
            files.unsettle(file.name.parent());
        }
        let owed = Debts::of(files, wanted.iter().map(|file| &file.name));
        sync_names(files, wanted.iter().map(|file| &file.name))?;
        owed.settle()?;
        Ok(wanted.len())
    }

    /// It waits for the first descriptor only, so that no wait is for one that this thread holds.
    fn write_temporaries(&self, wanted: &[&SmallFile]) -> Result<Vec<Arc<OpenFile>>, DiskError> {
        let hasty = self.files.with(Endurance::None);
        let mut written = Vec::with_capacity(wanted.len());
        for file in wanted {
            let files = if written.is_empty() { self.files } else { &hasty };
            // Written anew from its beginning after a shortage.
            match files.outlast(|| self.write_temporary(file)) {
                Ok(descriptor) => written.push(Arc::new(OpenFile::new(descriptor, file.name.clone()))),
                Err(error) if is_shortage(&error) && !written.is_empty() => break,
                Err(error) => return Err(files.error("write", file.name.as_str(), &error)),
            }
        }
        Ok(written)
    }

    fn write_temporary(&self, file: &SmallFile) -> io::Result<OwnedFd> {
        let name = temporary(&file.name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let open = || uninterrupted(|| rustix::fs::openat(self.files.root(), &name, flags, mode));
        let descriptor = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.makes_directories => {
                make_directories(self.files, &file.name)?;
                open()?
            }
            opened => opened?,
        };
        write_at(&descriptor, &file.content, 0)?;
        Ok(descriptor)
    }
}

/// Writes all bytes, however many calls it takes.
pub(crate) fn write_at(descriptor: impl AsFd, mut data: &[u8], mut at: u64) -> io::Result<()> {
    while !data.is_empty() {
        match uninterrupted(|| rustix::io::pwrite(&descriptor, data, at))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                data = &data[count..];
                at += count as u64;
            }
        }
    }
    Ok(())
}

/// Makes the directories above a file.
fn make_directories(files: &Files, name: &FileName) -> io::Result<()> {
    let name = name.as_str();
    for (slash, _) in name.match_indices('/') {
        let directory = &name[..slash];
        let made = uninterrupted(|| rustix::fs::mkdirat(files.root(), directory, Mode::from_raw_mode(0o755)));
        match made {
            Ok(()) => {
                // What was known of an earlier directory of this name does not hold for this one.
                drop(files.leave(directory));
                files.unsettle(directory.rsplit_once('/').map(|(parent, _)| parent));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn temporary(name: &FileName) -> String {
    format!("{name}.tmp")
}
