//! The machine that brokers run on: its memory, with the tails' files in it, and what its file
//! systems know of log directories.
//!
//! What always holds: a file has at most one holder; what a holder leaves is found by the file's
//! name, unless that is another file's by then; nothing here outlives the power.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use aplomb_broker::startup::{DirectoryHome, TailFiles};
use aplomb_log::tail::ArenaMemory;

/// Where tails are (`aplomb.tail.dir`).
pub(crate) const TAIL_DIR: &str = "/memory";

/// A machine, however often it is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    boots: u64,
    inodes: u64,
    files: BTreeMap<PathBuf, File>,
    /// Log directories that were looked at, with their inodes.
    directories: BTreeMap<PathBuf, u64>,
}

#[derive(Debug)]
struct File {
    inode: u64,
    /// As the last holder left it.
    content: ArenaMemory,
    is_held: bool,
}

/// A file that a process has open. Let go of when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    machine: Machine,
    path: PathBuf,
    inode: u64,
}

/// A file that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    #[error("there is no {}", .0.display())]
    Missing(PathBuf),
}

impl Machine {
    /// The power went and came back.
    pub(crate) fn reboot(&self) {
        let mut state = self.0.borrow_mut();
        state.boots += 1;
        state.files.clear();
    }

    /// Makes a file of so many bytes, and holds it. If there is one of that name, that loses it.
    pub(crate) fn make(&self, path: &Path, size: usize) -> Held {
        let mut state = self.0.borrow_mut();
        state.inodes += 1;
        let inode = state.inodes;
        let file = File { inode, content: ArenaMemory::heap(size), is_held: true };
        state.files.insert(path.to_owned(), file);
        Held { machine: self.clone(), path: path.to_owned(), inode }
    }

    /// The files as their last holders left them: their inodes, what is in them, and whether they
    /// are held.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, (u64, Vec<u8>, bool)> {
        let state = self.0.borrow();
        let image = |file: &File| (file.inode, file.content.as_slice().to_vec(), file.is_held);
        state.files.iter().map(|(path, file)| (path.clone(), image(file))).collect()
    }

    /// An operator deletes a file. A process that holds it goes on with it.
    pub(crate) fn delete(&self, path: &Path) {
        self.0.borrow_mut().files.remove(path);
    }

    fn with_file<T>(&self, held: &Held, then: impl FnOnce(Option<&mut File>) -> T) -> T {
        let mut state = self.0.borrow_mut();
        then(state.files.get_mut(&held.path).filter(|file| file.inode == held.inode))
    }
}

impl Held {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has its name.
    pub(crate) fn is_named(&self) -> bool {
        self.machine.with_file(self, |file| file.is_some())
    }

    /// Takes the name away, if it has it.
    pub(crate) fn unname(&self) {
        if self.is_named() {
            self.machine.0.borrow_mut().files.remove(&self.path);
        }
    }

    /// Its content is this from now on.
    pub(crate) fn leave(&self, content: ArenaMemory) {
        self.machine.with_file(self, |file| {
            if let Some(file) = file {
                file.content = content;
            }
        });
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.machine.with_file(self, |file| {
            if let Some(file) = file {
                file.is_held = false;
            }
        });
    }
}

impl TailFiles for Machine {
    type File = Held;
    type Failure = Unavailable;

    fn exists(&self, path: &Path) -> bool {
        self.0.borrow().files.contains_key(path)
    }

    fn open(&self, path: &Path) -> Result<(Held, ArenaMemory), Unavailable> {
        let mut state = self.0.borrow_mut();
        let Some(file) = state.files.get_mut(path) else { return Err(Unavailable::Missing(path.into())) };
        if std::mem::replace(&mut file.is_held, true) {
            return Err(Unavailable::InUse(path.into()));
        }
        // The file stays as it is until its holder leaves something else there.
        let memory = ArenaMemory::copy_of(file.content.as_slice());
        Ok((Held { machine: self.clone(), path: path.to_owned(), inode: file.inode }, memory))
    }

    fn is_in_use(failure: &Unavailable) -> bool {
        matches!(failure, Unavailable::InUse(_))
    }

    fn remove(&self, file: &Held) -> Result<(), Unavailable> {
        file.unname();
        Ok(())
    }

    fn boot(&self) -> Option<String> {
        Some(self.0.borrow().boots.to_string())
    }

    fn home(&self, directory: &Path) -> io::Result<DirectoryHome> {
        let (_, inode) = self.place(directory)?;
        Ok(DirectoryHome { path: directory.to_owned(), inode, born: inode })
    }

    fn place(&self, directory: &Path) -> io::Result<(u64, u64)> {
        let mut state = self.0.borrow_mut();
        let next = state.directories.len() as u64 + 1;
        Ok((1, *state.directories.entry(directory.to_owned()).or_insert(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_holder_leaves_is_found_by_its_name_alone() {
        let machine = Machine::default();
        let path = Path::new("/memory/a");
        let held = machine.make(path, 4096);
        assert!(matches!(machine.open(path), Err(Unavailable::InUse(_))));
        held.leave(ArenaMemory::copy_of(&[7; 4096]));
        drop(held);
        let (held, memory) = machine.open(path).expect("nobody has it");
        assert_eq!(memory.as_slice(), [7; 4096]);

        let other = machine.make(path, 4096);
        assert!(!held.is_named() && other.is_named());
        held.leave(ArenaMemory::copy_of(&[8; 4096]));
        drop((held, other));
        let (_, memory) = machine.open(path).expect("nobody has it");
        assert_eq!(memory.as_slice(), [0; 4096], "it is the other's");
        machine.reboot();
        assert!(matches!(machine.open(path), Err(Unavailable::Missing(_))));
        assert_eq!(machine.boot().as_deref(), Some("1"));
    }
}
