//! Replacing files as a whole: temporary files, one round of syncs, renames, one round of directory
//! syncs.
//!
//! Used by both lanes and at start-up. The temporary name is Apache Kafka's (`<name>.tmp`), so that
//! it knows our leftovers and we know its own. One file is to be published through one lane only:
//! two publications of it at once would share that name.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{DiskError, FileName, SmallFile};
use rustix::fs::{Mode, OFlags};

use crate::errors::{disk_error, uninterrupted};
use crate::files::{Files, OpenFile};
use crate::io::Syncs;

/// Descriptors that a publication holds at once.
const AT_ONCE: usize = 256;

/// How a publication syncs.
pub(crate) struct Publisher<'a> {
    pub(crate) files: &'a Files,
    /// Syncs the temporary files of a round together.
    pub(crate) syncs: &'a mut dyn Syncs,
    /// With more files, or more directories, than this the whole file system is synced once.
    pub(crate) syncfs_above: usize,
    /// Counts the syncs.
    pub(crate) stats: &'a DiskStats,
}

impl Publisher<'_> {
    /// Publishes files. A name that comes twice begins a new round, so that the order of the files
    /// is also the order in which they appear.
    pub(crate) fn publish(&mut self, wanted: &[&SmallFile]) -> Result<(), DiskError> {
        let mut rest = wanted;
        while !rest.is_empty() {
            let mut names = BTreeSet::new();
            let round = rest.iter().take(AT_ONCE).take_while(|file| names.insert(&file.name)).count();
            self.publish_round(&rest[..round])?;
            rest = &rest[round..];
        }
        Ok(())
    }

    fn publish_round(&mut self, wanted: &[&SmallFile]) -> Result<(), DiskError> {
        let files = self.files;
        let mut written = Vec::with_capacity(wanted.len());
        for file in wanted {
            let descriptor =
                write_temporary(files, file).map_err(|error| failed("write", &file.name, &error))?;
            written.push(Arc::new(OpenFile::new(descriptor, file.name.clone())));
        }
        if written.len() > self.syncfs_above {
            self.stats.on_sync();
            files.sync_file_system().map_err(|error| sync_failed(files, &error))?;
        } else {
            written.iter().for_each(|_| self.stats.on_sync());
            self.syncs.sync(&written).map_err(|sync| failed("sync", sync.file.name(), &sync.error))?;
        }
        for file in wanted {
            uninterrupted(|| {
                rustix::fs::renameat(files.root(), temporary(&file.name), files.root(), file.name.as_str())
            })
            .map_err(|error| failed("rename", &file.name, &error))?;
            files.forget(file.name.as_str());
            files.unsettle(file.name.parent());
        }
        sync_names(files, wanted.iter().map(|file| &file.name), self.syncfs_above, self.stats)
    }
}

/// Makes the names of these files durable, and those of the directories above them.
pub(crate) fn sync_names<'a>(
    files: &Files,
    names: impl Iterator<Item = &'a FileName>,
    syncfs_above: usize,
    stats: &DiskStats,
) -> Result<(), DiskError> {
    let directories = files.unsettled(names);
    if directories.len() > syncfs_above {
        stats.on_sync();
        files.sync_file_system().map_err(|error| sync_failed(files, &error))?;
        directories.iter().for_each(|(directory, mark)| files.settle(directory, *mark));
        return Ok(());
    }
    directories.iter().try_for_each(|(directory, mark)| {
        stats.on_sync();
        let shown = if directory.is_empty() { "." } else { directory };
        files.sync_directory(directory).map_err(|error| disk_error("sync", shown, &error))?;
        files.settle(directory, *mark);
        Ok(())
    })
}

/// The error of a sync of everything.
pub(crate) fn sync_failed(files: &Files, error: &io::Error) -> DiskError {
    disk_error("sync", &files.path().display().to_string(), error)
}

fn write_temporary(files: &Files, file: &SmallFile) -> io::Result<OwnedFd> {
    let name = temporary(&file.name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let open =
        || uninterrupted(|| rustix::fs::openat(files.root(), &name, flags, Mode::from_raw_mode(0o644)));
    let descriptor = match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(files, &file.name)?;
            open()?
        }
        opened => opened?,
    };
    write_whole(&descriptor, &file.content)?;
    Ok(descriptor)
}

/// Writes all bytes from the start of a file on.
pub(crate) fn write_whole(descriptor: impl AsFd, content: &[u8]) -> io::Result<()> {
    write_at(descriptor, content, 0)
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
                files.forget(directory);
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

fn failed(what: &str, name: &FileName, error: &io::Error) -> DiskError {
    disk_error(what, name.as_str(), error)
}
