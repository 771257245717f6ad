//! Names to descriptors: a bounded cache of open files, shared by the lanes of one disk.
//!
//! Always holds: a name that was renamed or deleted is not answered from the cache any more once
//! [`Files::forget`] has returned, not even by an open that was under way meanwhile. A thread that
//! still holds the [`OpenFile`] works on the file it was.
//!
//! It also remembers in which directories all names are known to be durable, so that a sync pays
//! for a new name once.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aplomb_disk_api::FileName;
use rustix::fs::{Advice, CWD, Mode, OFlags};

use crate::errors::{is_absent, is_shortage, uninterrupted};

/// How often, and how long, a thread waits for a descriptor when the process has none left.
const SHORTAGE_ATTEMPTS: u32 = 200;
const SHORTAGE_PAUSE: Duration = Duration::from_millis(50);

/// An open file. The descriptor is closed by its last user.
#[derive(Debug)]
pub(crate) struct OpenFile {
    descriptor: OwnedFd,
    name: FileName,
}

impl OpenFile {
    /// A file that is not kept: it was opened for one purpose.
    pub(crate) fn new(descriptor: OwnedFd, name: FileName) -> Self {
        Self { descriptor, name }
    }

    pub(crate) fn name(&self) -> &FileName {
        &self.name
    }

    /// The length in bytes. The inode is in memory while the file is open, so this reads nothing.
    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(uninterrupted(|| rustix::fs::fstat(&self.descriptor))?.st_size.unsigned_abs())
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The files of one log directory.
#[derive(Debug)]
pub(crate) struct Files {
    root: OwnedFd,
    path: PathBuf,
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: BTreeMap<String, Slot>,
    tick: u64,
    /// Counts calls of `forget`: what was opened across one is not kept.
    forgotten: u64,
    /// What is known of each directory's names. The log directory itself is the empty name.
    names: BTreeMap<String, Names>,
}

/// How many changes of a directory's names were made, and how many of them are durable.
#[derive(Clone, Copy, Debug)]
struct Names {
    changes: u64,
    durable: u64,
}

#[derive(Debug)]
struct Slot {
    file: Arc<OpenFile>,
    used: u64,
}

impl Files {
    /// Opens a log directory; keeps at most `limit` descriptors.
    pub(crate) fn open(path: &Path, limit: usize) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = uninterrupted(|| rustix::fs::openat(CWD, path, flags, Mode::empty()))?;
        Ok(Self { root, path: path.to_owned(), limit: limit.max(1), table: Mutex::default() })
    }

    /// The log directory, for calls that take a name relative to it.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// The log directory's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that exists.
    pub(crate) fn existing(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        self.lookup(name, OFlags::empty())
    }

    /// A file that is made if need be; its directory must exist.
    pub(crate) fn existing_or_new(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        match self.existing(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = self.lookup(name, OFlags::CREATE)?;
                self.unsettle(name.parent());
                Ok(made)
            }
            other => other,
        }
    }

    /// Drops what is known about a name and everything below it. Descriptors in use are closed by
    /// their last user.
    pub(crate) fn forget(&self, name: &str) {
        let below = format!("{name}/")..format!("{name}0"); // '0' comes right after '/'
        let mut table = self.table();
        table.forgotten += 1;
        let mut closed: Vec<Slot> = table.open.remove(name).into_iter().collect();
        let names: Vec<String> = table.open.range(below.clone()).map(|(name, _)| name.clone()).collect();
        closed.extend(names.iter().filter_map(|name| table.open.remove(name)));
        table.names.remove(name);
        let directories: Vec<String> = table.names.range(below).map(|(name, _)| name.clone()).collect();
        for directory in directories {
            table.names.remove(&directory);
        }
        drop(table); // closing the last descriptor of a deleted file may take long
        drop(closed);
    }

    /// A directory has got, or lost, a name. To be called after the change, so that a sync under
    /// way does not count as covering it.
    pub(crate) fn unsettle(&self, directory: Option<&str>) {
        let mut table = self.table();
        match table.names.get_mut(directory.unwrap_or("")) {
            Some(names) => names.changes += 1,
            None => drop(table), // nothing is known, so nothing is taken for durable
        }
    }

    /// The directories on the way to these files whose names are not known to be durable, each with
    /// a mark for [`Files::settle`].
    pub(crate) fn unsettled<'a>(&self, files: impl Iterator<Item = &'a FileName>) -> BTreeMap<String, u64> {
        let mut table = self.table();
        let mut unsettled = BTreeMap::new();
        for file in files {
            let name = file.as_str();
            for directory in std::iter::once("").chain(name.match_indices('/').map(|(at, _)| &name[..at])) {
                let names =
                    table.names.entry(directory.to_owned()).or_insert(Names { changes: 1, durable: 0 });
                if names.durable < names.changes {
                    unsettled.insert(directory.to_owned(), names.changes);
                }
            }
        }
        unsettled
    }

    /// The names that a directory had when [`Files::unsettled`] gave this mark are durable.
    pub(crate) fn settle(&self, directory: &str, mark: u64) {
        if let Some(names) = self.table().names.get_mut(directory) {
            names.durable = names.durable.max(mark);
        }
    }

    /// Makes the names in a directory durable. A directory that is gone is passed over: its names
    /// went with it.
    pub(crate) fn sync_directory(&self, directory: &str) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = if directory.is_empty() { "." } else { directory };
        match self.open_descriptor(name, flags, Mode::empty()) {
            Ok(descriptor) => uninterrupted(|| rustix::fs::fsync(&descriptor)),
            Err(error) if is_absent(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes everything on the disk's file system durable.
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        uninterrupted(|| rustix::fs::syncfs(&self.root))
    }

    /// Opens a name. When the process has run out of descriptors or memory, which is not the disk's
    /// fault, our own descriptors are given up and the call waits for better times, for a while.
    pub(crate) fn open_descriptor(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let path = CString::new(name).map_err(io::Error::from)?;
        let mut patience = SHORTAGE_ATTEMPTS;
        loop {
            match uninterrupted(|| rustix::fs::openat(&self.root, &path, flags, mode)) {
                Err(error) if is_shortage(&error) && patience > 0 => {
                    patience -= 1;
                    let closed = std::mem::take(&mut self.table().open);
                    drop(closed);
                    std::thread::sleep(SHORTAGE_PAUSE);
                }
                opened => return opened,
            }
        }
    }

    fn lookup(&self, name: &FileName, create: OFlags) -> io::Result<Arc<OpenFile>> {
        let forgotten = {
            let mut table = self.table();
            table.tick += 1;
            let tick = table.tick;
            if let Some(slot) = table.open.get_mut(name.as_str()) {
                slot.used = tick;
                return Ok(Arc::clone(&slot.file));
            }
            table.forgotten
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC | create;
        let descriptor = self.open_descriptor(name.as_str(), flags, Mode::from_raw_mode(0o644))?;
        // We know better than the kernel what comes next; its guesses would fetch bytes around
        // every lookup. A hint: errors are nothing.
        let _ = rustix::fs::fadvise(&descriptor, 0, None, Advice::Random);
        let file = Arc::new(OpenFile::new(descriptor, name.clone()));
        Ok(self.keep(file, forgotten))
    }

    /// Puts a freshly opened file into the cache, unless names changed meanwhile. Gives back the
    /// one to use.
    fn keep(&self, file: Arc<OpenFile>, forgotten: u64) -> Arc<OpenFile> {
        let mut table = self.table();
        if table.forgotten != forgotten {
            return file;
        }
        let mut closed = Vec::new();
        if table.open.len() >= self.limit {
            // An eighth at once, so that a full table does not search for the oldest at every open.
            let mut ages: Vec<(u64, String)> =
                table.open.iter().map(|(name, slot)| (slot.used, name.clone())).collect();
            ages.sort_unstable();
            closed.extend(ages.iter().take(self.limit.div_ceil(8)).map(|(_, name)| table.open.remove(name)));
        }
        table.tick += 1;
        let used = table.tick;
        let slot = table.open.entry(file.name.as_str().to_owned()).or_insert(Slot { file, used });
        let kept = Arc::clone(&slot.file);
        drop(table);
        drop(closed);
        kept
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("nothing in the table's code panics")
    }
}

/// The descriptors that one disk may keep: an eighth of what the process may have, so that several
/// disks and all connections fit.
pub(crate) fn default_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    usize::try_from(limit.map_or(8192, |limit| limit / 8)).unwrap_or(8192).clamp(16, 8192)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(limit: usize) -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let files = Files::open(directory.path(), limit).expect("it was just made");
        (directory, files)
    }

    #[test]
    fn no_more_descriptors_are_kept_than_allowed_and_every_name_still_opens() {
        let (_directory, files) = files(10);
        for round in 0..3 {
            for n in 0..50 {
                let file = files.existing_or_new(&FileName::new(format!("{n}"))).expect("the disk is well");
                rustix::io::pwrite(&*file, &[n], 0).expect("the disk is well");
                assert!(files.table().open.len() <= 10, "round {round}");
            }
        }
        for n in 0..50_u8 {
            let file = files.existing(&FileName::new(format!("{n}"))).expect("it was made");
            let mut byte = [0];
            rustix::io::pread(&*file, &mut byte, 0).expect("the disk is well");
            assert_eq!(byte, [n]);
        }
    }

    #[test]
    fn a_file_that_was_opened_while_names_changed_is_not_kept() {
        let (_directory, files) = files(10);
        let name = FileName::new("0.log");
        let file = files.existing_or_new(&name).expect("the disk is well");
        let before = files.table().forgotten;
        files.forget("0.log");
        let used = files.keep(Arc::clone(&file), before);
        assert!(Arc::ptr_eq(&used, &file));
        assert!(files.table().open.is_empty());
    }

    #[test]
    fn forgetting_a_directory_forgets_what_is_below_it_and_not_its_neighbours() {
        let (directory, files) = files(10);
        let names = ["a", "a-b", "a0"].map(|name| FileName::new(format!("{name}/x")));
        for name in &names {
            std::fs::create_dir(directory.path().join(name.parent().expect("it has one"))).expect("well");
            files.existing_or_new(name).expect("the disk is well");
        }
        for (directory, mark) in files.unsettled(names.iter()) {
            files.settle(&directory, mark);
        }
        assert!(files.unsettled(names.iter()).is_empty());
        files.forget("a");
        let open: Vec<String> = files.table().open.keys().cloned().collect();
        assert_eq!(open, ["a-b/x", "a0/x"]);
        let unsettled = files.unsettled(names.iter());
        assert_eq!(unsettled.into_keys().collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_name_that_came_during_a_sync_is_not_taken_for_durable() {
        let (_directory, files) = files(10);
        let name = FileName::new("0.log");
        let marks = files.unsettled([&name].into_iter());
        files.existing_or_new(&name).expect("the disk is well");
        marks.iter().for_each(|(directory, mark)| files.settle(directory, *mark));
        assert_eq!(files.unsettled([&name].into_iter()).into_keys().collect::<Vec<_>>(), [""]);
    }
}
