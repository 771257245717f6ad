//! A limit to the memory of a broker, its page cache included: a memory control group, of version 2 or 1 as the machine has it.
//!
//! What always holds: the group goes when it is dropped or the lab has ended; a process in it goes back to the group that it came from.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ConditionError, Undo};

/// A group with a limit.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    version: Version,
    _undo: Undo,
}

/// Which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The file with the limit.
    fn limit(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }
}

impl MemoryGroup {
    /// Puts a process, and whatever it starts from now on, into a group of its own. Pages that it has already are counted where they were.
    ///
    /// # Errors
    /// When the machine has no memory control groups, or without root.
    pub fn around(pid: u32, limit: u64) -> Result<Self, ConditionError> {
        let (root, version) = find(Path::new("/sys/fs/cgroup"))?;
        let folder = root.join(format!("aplomb-lab-{pid}"));
        let what = format!("a memory control group at {}", folder.display());
        fs::create_dir_all(&folder).map_err(ConditionError::new(what.clone()))?;
        let (ours, whose) = (folder.display().to_string(), root.display().to_string());
        let script = r#"for p in $(cat "$1/cgroup.procs"); do echo $p > "$2/cgroup.procs"; done; rmdir "$1""#;
        let undo = Undo::by(script, &[&ours, &whose])?;
        let write = |name: &str, value: String| fs::write(folder.join(name), value);
        write(version.limit(), limit.to_string())
            .and_then(|()| write("cgroup.procs", pid.to_string()))
            .map_err(ConditionError::new(what))?;
        Ok(Self { folder, version, _undo: undo })
    }

    /// Sets another limit. What is over it is reclaimed before this returns, as far as it can be.
    ///
    /// # Errors
    /// When the kernel refuses, for want of something to reclaim.
    pub fn limit(&self, bytes: u64) -> Result<(), ConditionError> {
        let path = self.folder.join(self.version.limit());
        fs::write(&path, bytes.to_string())
            .map_err(ConditionError::new(format!("{} to {bytes}", path.display())))
    }

    /// What is counted in it now, in bytes.
    ///
    /// # Errors
    /// When the group has gone.
    pub fn usage(&self) -> Result<u64, ConditionError> {
        let name = match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        };
        let what = || format!("reading {name}");
        let text = fs::read_to_string(self.folder.join(name)).map_err(ConditionError::new(what()))?;
        let number = text.trim().parse();
        number.map_err(|error| ConditionError::new(what())(std::io::Error::other(error)))
    }
}

/// Where groups with memory are made.
fn find(mounts: &Path) -> Result<(PathBuf, Version), ConditionError> {
    let controllers = fs::read_to_string(mounts.join("cgroup.controllers")).unwrap_or_default();
    if controllers.split_ascii_whitespace().any(|name| name == "memory") {
        return Ok((mounts.to_owned(), Version::Two));
    }
    let one = mounts.join("memory");
    if one.join(Version::One.limit()).exists() || one.join("cgroup.procs").exists() {
        return Ok((one, Version::One));
    }
    let error = std::io::Error::new(std::io::ErrorKind::NotFound, "this machine has none");
    Err(ConditionError::new("looking for memory control groups")(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_kind_of_group_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(find(folder.path()).is_err());
        fs::create_dir(folder.path().join("memory")).expect("a folder");
        fs::write(folder.path().join("memory/cgroup.procs"), "").expect("a file");
        assert_eq!(find(folder.path()).expect("one").1, Version::One);
        fs::write(folder.path().join("cgroup.controllers"), "cpu io memory\n").expect("a file");
        assert_eq!(find(folder.path()).expect("two").1, Version::Two);
    }
}
