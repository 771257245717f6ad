//! Which log directory a tail belongs to: a copy of the directory says all that the original says,
//! and must not take what only the original's tail has.
//!
//! So a record of a tail says where its directory was, and what the file system knows of it: the
//! inode, and when that was made. Devices are not part of it: they are numbered anew when a file
//! system is mounted again.

use std::path::PathBuf;

/// A log directory as the file system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryHome {
    /// Without symbolic links.
    pub path: PathBuf,
    /// Its number in its file system.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not say.
    pub born: u64,
}

/// What a directory is to the one that a record was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinship {
    /// The same one, or in its place.
    Same,
    /// A copy, and the original is where it was.
    Copy,
    /// Elsewhere, and the original is not where it was: it was moved to another file system, or
    /// this is a copy and the original is out of sight.
    Elsewhere,
}

impl DirectoryHome {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.inode, self.born) == (other.inode, other.born)
    }
}
