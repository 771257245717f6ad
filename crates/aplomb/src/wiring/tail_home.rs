//! Which log directory a tail belongs to: a copy of the directory says all that the original says,
//! and must not take what only the original's tail has.
//!
//! So a record of a tail says where its directory was, and what the file system knows of it: the
//! inode, and when that was made. Devices are not part of it: they are numbered anew when a file
//! system is mounted again.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A log directory as the file system knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    /// Without symbolic links.
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not say.
    pub(super) born: u64,
}

/// What a directory is to the one that a record was written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// The same one, or in its place.
    Same,
    /// A copy, and the original is where it was.
    Copy,
    /// Elsewhere, and the original is not where it was: it was moved to another file system, or
    /// this is a copy and the original is out of sight.
    Elsewhere,
}

impl Home {
    /// Looks at a directory.
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        let path = std::fs::canonicalize(directory)?;
        let found = std::fs::metadata(&path)?;
        let born = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let born = born.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(0));
        Ok(Self { path, inode: found.ino(), born })
    }

    /// What `directory` is to this one.
    pub(super) fn kinship(&self, directory: &Path) -> io::Result<Kinship> {
        let here = Self::of(directory)?;
        if here.path == self.path {
            return Ok(Kinship::Same);
        }
        if Self::of(&self.path).is_ok_and(|there| there.is_same(self)) && !same_place(&self.path, &here.path)?
        {
            return Ok(Kinship::Copy);
        }
        Ok(if here.is_same(self) { Kinship::Same } else { Kinship::Elsewhere })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.inode, self.born) == (other.inode, other.born)
    }
}

/// Whether two paths lead to one directory, for as long as nothing is mounted anew.
fn same_place(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(place(one)? == place(other)?)
}

/// A directory's device and inode.
pub(super) fn place(directory: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::metadata(directory)?;
    Ok((found.dev(), found.ino()))
}

/// Which start of the machine this is: memory does not outlive it.
pub(super) fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_told_from_the_original_and_a_directory_that_was_renamed_is_the_same() {
        let place = tempfile::tempdir().expect("a directory for the test");
        let at = |name: &str| place.path().join(name);
        let make = |name: &str| std::fs::create_dir(at(name)).expect("a directory");
        make("original");
        let home = Home::of(&at("original")).expect("it is there");
        let kinship = |name: &str| home.kinship(&at(name)).expect("it is there");
        assert_eq!(kinship("original"), Kinship::Same);
        make("copy");
        assert_eq!(kinship("copy"), Kinship::Copy);
        std::os::unix::fs::symlink(at("original"), at("link")).expect("a link");
        assert_eq!(kinship("link"), Kinship::Same);

        std::fs::rename(at("original"), at("renamed")).expect("it is there");
        assert_eq!(kinship("renamed"), Kinship::Same);
        assert_eq!(kinship("copy"), Kinship::Elsewhere, "the original is out of sight");
        std::fs::rename(at("copy"), at("original")).expect("it is there");
        assert_eq!(kinship("original"), Kinship::Same, "in its place");
    }
}
