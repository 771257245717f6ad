//! The files that tails are in: what start-up asks of the program or of the simulator.

use std::error::Error;
use std::io;
use std::path::Path;

use aplomb_log::tail::ArenaMemory;

use super::home::{DirectoryHome, Kinship};

/// The files that tails are in, and what the file system knows of log directories.
pub trait TailFiles {
    /// A file that is open, and locked until it is dropped.
    type File;
    /// Why a file cannot be had.
    type Failure: Error + 'static;

    /// Whether there is a file of this name.
    fn exists(&self, path: &Path) -> bool;

    /// Opens a file that is there.
    ///
    /// # Errors
    /// When that cannot be done; see [`Self::is_in_use`].
    fn open(&self, path: &Path) -> Result<(Self::File, ArenaMemory), Self::Failure>;

    /// Whether another process has the file.
    fn is_in_use(failure: &Self::Failure) -> bool;

    /// Takes the file's name away.
    ///
    /// # Errors
    /// When that cannot be done.
    fn remove(&self, file: &Self::File) -> Result<(), Self::Failure>;

    /// Which start of the machine this is: memory does not outlive it.
    fn boot(&self) -> Option<String>;

    /// A log directory as the file system knows it.
    ///
    /// # Errors
    /// When it cannot be looked at.
    fn home(&self, directory: &Path) -> io::Result<DirectoryHome>;

    /// A directory's device and inode.
    ///
    /// # Errors
    /// When it cannot be looked at.
    fn place(&self, directory: &Path) -> io::Result<(u64, u64)>;
}

impl DirectoryHome {
    /// What `directory` is to this one.
    ///
    /// # Errors
    /// When a directory cannot be looked at.
    pub fn kinship<F: TailFiles>(&self, directory: &Path, files: &F) -> io::Result<Kinship> {
        let here = files.home(directory)?;
        if here.path == self.path {
            return Ok(Kinship::Same);
        }
        let is_there = files.home(&self.path).is_ok_and(|there| there.is_same(self));
        // For as long as nothing is mounted anew.
        if is_there && files.place(&self.path)? != files.place(&here.path)? {
            return Ok(Kinship::Copy);
        }
        Ok(if here.is_same(self) { Kinship::Same } else { Kinship::Elsewhere })
    }
}
