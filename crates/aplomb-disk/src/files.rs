//! Names to descriptors: a bounded cache of open files, shared by the threads of one disk.
//!
//! Always holds: a name that was renamed or deleted is not answered from the cache any more once
//! its [`Leaving`] has ended, not even by an open that was under way meanwhile. A thread that still
//! holds the [`OpenFile`] works on the file it was.
//!
//! It also remembers in which directories all names are known to be durable, so that a sync pays
//! for a new name once, and which files owe a sync (`written`), so that a file that vanished is
//! missed.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{DiskError, FileName};
use rustix::fs::{Advice, AtFlags, CWD, Mode, OFlags, Stat};

use crate::errors::{is_absent, is_shortage, uninterrupted};
use crate::open_file::OpenFile;
use crate::shortage::Endurance;
use crate::written::{Owed, Written, remove_at_and_below};

/// How the files of a log directory are treated.
#[derive(Clone, Debug)]
pub(crate) struct FilesOptions {
    /// Descriptors kept open, at most.
    pub(crate) limit: usize,
    /// With more files, or more directories, than this to sync at once, the whole file system is
    /// synced instead.
    pub(crate) syncfs_above: usize,
    /// Where syncs and shortages are counted.
    pub(crate) stats: Arc<DiskStats>,
}

/// The files of one log directory, and what a thread does when it finds the process short of
/// descriptors. Clones are the same files.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    shared: Arc<Shared>,
    endurance: Endurance,
}

#[derive(Debug)]
struct Shared {
    root: OwnedFd,
    path: PathBuf,
    options: FilesOptions,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    open: BTreeMap<String, Slot>,
    tick: u64,
    /// Counts the ends of [`Leaving`]s: what was opened across one is not kept.
    forgotten: u64,
    /// What is known of each directory's names. The log directory itself is the empty name.
    names: BTreeMap<String, Names>,
    written: Written,
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

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Its bytes stay as they are.
    Look,
    /// Its bytes change: it owes a sync.
    Change,
}

impl Files {
    /// Opens a log directory.
    pub(crate) fn open(path: &Path, options: FilesOptions) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = uninterrupted(|| rustix::fs::openat(CWD, path, flags, Mode::empty()))?;
        let shared = Shared { root, path: path.to_owned(), options, table: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), endurance: Endurance::Briefly })
    }

    /// The same files for a thread that waits longer, or less long.
    pub(crate) fn with(&self, endurance: Endurance) -> Self {
        Self { shared: Arc::clone(&self.shared), endurance }
    }

    /// The log directory, for calls that take a name relative to it.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.shared.root.as_fd()
    }

    /// The log directory's path, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Where syncs are counted.
    pub(crate) fn stats(&self) -> &DiskStats {
        &self.shared.options.stats
    }

    /// Whether so many syncs at once are better done by one of the whole file system.
    pub(crate) fn are_many(&self, syncs: usize) -> bool {
        syncs > self.shared.options.syncfs_above
    }

    /// A file that exists.
    pub(crate) fn existing(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        self.lookup(name, OFlags::empty(), Purpose::Look)
    }

    /// A file that exists and is read once: one that is not open already is not kept, so that a
    /// start with very many partitions takes no other's place.
    pub(crate) fn existing_once(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        if let Some(slot) = self.table().open.get(name.as_str()) {
            return Ok(Arc::clone(&slot.file));
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let descriptor = self.open_descriptor(name.as_str(), flags, Mode::empty())?;
        Ok(Arc::new(OpenFile::new(descriptor, name.clone())))
    }

    /// A file that exists and is about to be changed.
    pub(crate) fn to_change(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        self.lookup(name, OFlags::empty(), Purpose::Change)
    }

    /// A file that is about to be changed, and made if need be; its directory must exist.
    pub(crate) fn to_change_or_make(&self, name: &FileName) -> io::Result<Arc<OpenFile>> {
        match self.to_change(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = self.lookup(name, OFlags::CREATE, Purpose::Change)?;
                self.unsettle(name.parent());
                Ok(made)
            }
            other => other,
        }
    }

    /// A command of ours is about to take this name, and everything below it, away.
    pub(crate) fn leave<'a>(&'a self, name: &'a str) -> Leaving<'a> {
        self.table().written.on_leave(name);
        Leaving { files: self, name }
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
    pub(crate) fn sync_directory(&self, directory: &str) -> Result<(), DiskError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = if directory.is_empty() { "." } else { directory };
        match self.open_descriptor(name, flags, Mode::empty()) {
            Ok(descriptor) => {
                self.stats().on_sync();
                uninterrupted(|| rustix::fs::fsync(&descriptor))
                    .map_err(|error| self.sync_error(directory, &error))
            }
            Err(error) if is_absent(&error) => Ok(()),
            // Nothing was synced, nothing failed to be: a shortage of descriptors is only that.
            Err(error) => Err(self.error("open", name, &error)),
        }
    }

    /// Makes everything on the disk's file system durable.
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        self.stats().on_sync();
        uninterrupted(|| rustix::fs::syncfs(&self.shared.root))
    }

    /// A change of this file was not carried out: no sync of it may end well.
    pub(crate) fn refuse(&self, name: &FileName) {
        self.table().written.on_refusal(name.as_str());
    }

    /// The file was replaced as a whole: that is a change like any other.
    pub(crate) fn on_published(&self, name: &FileName) {
        self.table().written.on_change(name.as_str());
    }

    /// What a sync of this file has to cover. `None` if nothing was written to it since the last.
    pub(crate) fn owed(&self, name: &FileName) -> Option<Owed> {
        self.table().written.owed(name.as_str())
    }

    /// A sync has covered what the file owed then.
    pub(crate) fn on_synced(&self, name: &FileName, then: Owed) {
        self.table().written.on_synced(name.as_str(), then);
    }

    /// Whether a file that owes something is not where it was written, though no command of ours
    /// took it away.
    pub(crate) fn has_vanished(&self, name: &FileName) -> io::Result<bool> {
        loop {
            let (forgotten, open) = {
                let table = self.table();
                if table.written.owed(name.as_str()).is_none() {
                    return Ok(false);
                }
                (table.forgotten, table.open.get(name.as_str()).map(|slot| Arc::clone(&slot.file)))
            };
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let there = match self.call(|| rustix::fs::statat(self.root(), name.as_str(), flags)) {
                Ok(found) => match &open {
                    Some(open) => is_same(&found, &self.call(|| rustix::fs::fstat(open))?),
                    None => true,
                },
                Err(error) if is_absent(&error) => false,
                Err(error) => return Err(error),
            };
            if there {
                return Ok(false);
            }
            let table = self.table();
            if table.forgotten == forgotten && table.written.owed(name.as_str()).is_some() {
                return Ok(true);
            }
            // Commands of ours changed names meanwhile: look again.
        }
    }

    /// Whether the log directory is not where it was opened: deleted, moved, unmounted.
    pub(crate) fn is_root_gone(&self) -> bool {
        let there = uninterrupted(|| rustix::fs::stat(self.path()));
        let ours = uninterrupted(|| rustix::fs::fstat(self.root()));
        match (there, ours) {
            (Ok(there), Ok(ours)) => !is_same(&there, &ours),
            (Err(error), _) => is_absent(&error),
            (_, Err(_)) => false,
        }
    }

    /// The error of an operation on a name.
    pub(crate) fn error(&self, what: &str, name: &str, error: &io::Error) -> DiskError {
        if is_shortage(error) {
            return self.endurance.error(what, name, error);
        }
        if error.kind() == io::ErrorKind::NotFound {
            return if self.is_root_gone() { self.root_error() } else { not_found(name) };
        }
        failed(what, name, &error.to_string())
    }

    /// The error of a system call that made, or did not make, something durable. What it failed
    /// with does not matter: afterwards what is on the disk is unknown.
    pub(crate) fn sync_error(&self, name: &str, error: &io::Error) -> DiskError {
        let whole = self.path().display().to_string();
        failed("sync", if name.is_empty() { &whole } else { name }, &error.to_string())
    }

    /// The error of everything once the log directory is not there any more.
    pub(crate) fn root_error(&self) -> DiskError {
        failed("looking at", &self.path().display().to_string(), "the log directory is not there any more")
    }

    /// Whether this thread gave a command up, so that none after it may be carried out.
    pub(crate) fn gave_up(&self) -> bool {
        self.endurance.gave_up()
    }

    /// Waits for another attempt in a shortage; `false` if there is to be none.
    pub(crate) fn waits(&self, attempt: u32) -> bool {
        let closed = std::mem::take(&mut self.table().open);
        drop(closed); // not under the lock: it may take long
        self.endurance.waits(attempt)
    }

    /// Opens what is below the log directory, with patience in a shortage.
    pub(crate) fn open_descriptor(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        self.outlast(|| self.open_descriptor_once(name, flags, mode))
    }

    /// The same without patience.
    ///
    /// Reading writes nothing down: of a file that was changed since it was last read, the file
    /// system would note when it is read next, and that waits for its journal. Only a file's owner
    /// may ask for this (open(2), `O_NOATIME`); another user's is opened as any.
    pub(crate) fn open_descriptor_once(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let path = CString::new(name).map_err(io::Error::from)?;
        let open = |flags| uninterrupted(|| rustix::fs::openat(self.root(), &path, flags, mode));
        match open(flags | OFlags::NOATIME) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => open(flags),
            opened => opened,
        }
    }

    /// Makes a system call that is no sync: again if a signal interrupted it, and with patience if
    /// the process or the machine is short of something.
    pub(crate) fn call<T>(&self, mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
        self.outlast(|| uninterrupted(&mut call))
    }

    /// Does something that can be done again, with patience in a shortage: our own descriptors are
    /// given up, and others may give up theirs.
    pub(crate) fn outlast<T>(&self, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        let mut attempt = 0;
        loop {
            match call() {
                Err(error) if is_shortage(&error) && !matches!(self.endurance, Endurance::None) => {
                    if attempt == 0 {
                        self.stats().on_shortage();
                    }
                    if !self.waits(attempt) {
                        return Err(error);
                    }
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    fn lookup(&self, name: &FileName, create: OFlags, purpose: Purpose) -> io::Result<Arc<OpenFile>> {
        loop {
            let forgotten = {
                let mut table = self.table();
                table.tick += 1;
                let tick = table.tick;
                if let Some(slot) = table.open.get_mut(name.as_str()) {
                    slot.used = tick;
                    let file = Arc::clone(&slot.file);
                    table.note(name, purpose);
                    return Ok(file);
                }
                table.forgotten
            };
            let flags = OFlags::RDWR | OFlags::CLOEXEC | create;
            let descriptor = self.open_descriptor(name.as_str(), flags, Mode::from_raw_mode(0o644))?;
            // We know better than the kernel what comes next; its guesses would fetch bytes around
            // every lookup. A hint: errors are nothing.
            let _ = rustix::fs::fadvise(&descriptor, 0, None, Advice::Random);
            let file = Arc::new(OpenFile::new(descriptor, name.clone()));
            match self.keep(file, forgotten, purpose) {
                Kept::Here(file) => return Ok(file),
                // A command of ours may have taken the name away after it was opened. A reader
                // reads what it opened; a change goes to what has the name now.
                Kept::NamesChanged(file) if purpose == Purpose::Look => return Ok(file),
                Kept::NamesChanged(_) => {}
            }
        }
    }

    /// Puts a freshly opened file into the cache, unless names changed meanwhile. Gives back the
    /// one to use.
    fn keep(&self, file: Arc<OpenFile>, forgotten: u64, purpose: Purpose) -> Kept {
        let mut table = self.table();
        if table.forgotten != forgotten {
            return Kept::NamesChanged(file);
        }
        table.note(file.name(), purpose);
        let mut closed = Vec::new();
        let limit = self.shared.options.limit.max(1);
        if table.open.len() >= limit {
            // An eighth at once, so that a full table does not search for the oldest at every open.
            let mut ages: Vec<(u64, String)> =
                table.open.iter().map(|(name, slot)| (slot.used, name.clone())).collect();
            ages.sort_unstable();
            closed.extend(ages.iter().take(limit.div_ceil(8)).map(|(_, name)| table.open.remove(name)));
        }
        table.tick += 1;
        let used = table.tick;
        let slot = table.open.entry(file.name().as_str().to_owned()).or_insert(Slot { file, used });
        let kept = Arc::clone(&slot.file);
        drop(table);
        drop(closed);
        Kept::Here(kept)
    }

    /// Drops what is known about a name and everything below it. Descriptors in use are closed by
    /// their last user.
    fn forget(&self, name: &str) {
        let mut table = self.table();
        table.forgotten += 1;
        let closed = remove_at_and_below(&mut table.open, name);
        remove_at_and_below(&mut table.names, name);
        table.written.on_left(name);
        drop(table); // closing the last descriptor of a deleted file may take long
        drop(closed);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().expect("nothing in the table's code panics")
    }
}

impl Table {
    fn note(&mut self, name: &FileName, purpose: Purpose) {
        if purpose == Purpose::Change {
            self.written.on_change(name.as_str());
        }
    }
}

/// What became of a freshly opened file.
enum Kept {
    Here(Arc<OpenFile>),
    NamesChanged(Arc<OpenFile>),
}

/// A name that a command of ours is taking away: by a deletion, a rename, a replacement. When this
/// is dropped, nothing is known about the name, and about those below it, any more.
#[must_use]
pub(crate) struct Leaving<'a> {
    files: &'a Files,
    name: &'a str,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.files.forget(self.name);
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn not_found(name: &str) -> DiskError {
    DiskError::NotFound { name: name.into() }
}

fn failed(what: &str, name: &str, reason: &str) -> DiskError {
    DiskError::Failed { what: format!("{what} {name}").into(), reason: reason.into() }
}

/// The descriptors that one disk may keep: an eighth of what the process may have, so that several
/// disks and all connections fit.
pub(crate) fn default_limit() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    usize::try_from(limit.map_or(8192, |limit| limit / 8)).unwrap_or(8192).clamp(16, 8192)
}

#[cfg(test)]
mod tests;
