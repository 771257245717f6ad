//! Where a disk's traces are: names, files of the runtime directory, and the lock that says whether
//! its daemon lives.
//!
//! What always holds: whoever has the lock of a name is the only one to make or remove anything of
//! that name. A daemon has it on its standard input from before its first instruction until the
//! kernel has ended it; so a lock that can be had is proof that there is no daemon.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

/// The runtime directory. Only root makes disks, so there is one.
const RUNTIME: &str = "/run/aplomb-lab";

/// The longest name; the socket's path has to stay below 108 bytes.
const LONGEST_NAME: usize = 40;

/// Where a disk of some name is, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    name: String,
}

impl Place {
    /// Nothing if a disk cannot have this name: a name is made of letters, digits, `-` and `_`.
    pub(super) fn of(name: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let valid = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(fits);
        valid.then(|| Self { name: name.to_owned() })
    }

    /// All of which there are traces.
    pub(super) fn all() -> io::Result<Vec<Self>> {
        let entries = match fs::read_dir(RUNTIME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut places = Vec::new();
        for entry in entries {
            let file = entry?.file_name();
            let name = file.to_str().unwrap_or_default();
            places.extend(Self::of(name.strip_suffix(".lock").unwrap_or(name)));
        }
        places.sort_by(|a, b| a.name.cmp(&b.name));
        places.dedup();
        Ok(places)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn directory(&self) -> PathBuf {
        Path::new(RUNTIME).join(&self.name)
    }

    /// The file that is the device: the root of the FUSE filesystem.
    pub(super) fn device(&self) -> PathBuf {
        self.directory().join("device")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory().join("control")
    }

    /// What the daemon was started for, see [`super::settings`].
    pub(super) fn settings(&self) -> PathBuf {
        self.directory().join("settings.json")
    }

    /// What the daemon says on its standard error.
    pub(super) fn log(&self) -> PathBuf {
        self.directory().join("log")
    }

    /// Where the filesystem is mounted if nobody says otherwise.
    pub(super) fn mount(&self) -> PathBuf {
        self.directory().join("mnt")
    }

    fn lock(&self) -> PathBuf {
        Path::new(RUNTIME).join(format!("{}.lock", self.name))
    }

    /// The lock, if nobody has it.
    pub(super) fn claim(&self) -> io::Result<Option<File>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(RUNTIME)?;
        loop {
            let file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.lock())?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                locked => locked?,
            }
            // The one who had it may have removed the file between our opening and our locking it.
            if fs::metadata(self.lock())
                .is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there.ino()))
            {
                return Ok(Some(file));
            }
        }
    }

    /// Makes the directory with the file for the device. Only for the holder of the lock.
    pub(super) fn make(&self) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(self.directory())?;
        File::create_new(self.device()).map(drop)
    }

    /// Removes the directory and, last, the lock's file. Only for the holder of the lock, when
    /// nothing is mounted here any more.
    pub(super) fn remove(&self) -> io::Result<()> {
        for file in [self.device(), self.socket(), self.settings(), self.log()] {
            unless_missing(fs::remove_file(file))?;
        }
        // Not with all that is in it: if something is still mounted, that is not ours to delete.
        unless_missing(fs::remove_dir(self.mount()))?;
        unless_missing(fs::remove_dir(self.directory()))?;
        unless_missing(fs::remove_file(self.lock()))
    }
}

/// Whatever was to be removed is not there: as good as removed.
pub(super) fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_not_a_path() {
        for name in ["", ".", "..", "a/b", "a b", "a.lock", "ä", &"a".repeat(41)] {
            assert_eq!(Place::of(name), None, "{name}");
        }
        for name in ["a", "slow-1", "lab_7", &"a".repeat(40)] {
            assert_eq!(Place::of(name).expect("a name").name(), name);
        }
    }

    #[test]
    fn the_longest_name_still_has_a_socket() {
        let place = Place::of(&"a".repeat(LONGEST_NAME)).expect("a name");
        assert!(place.socket().as_os_str().len() < 108);
    }
}
