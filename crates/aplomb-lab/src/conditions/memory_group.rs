//! A memory control group around a process, of version 1 or 2 as the machine has it: what the
//! process takes from now on, its page cache included, is counted there.
//!
//! What always holds: the group goes when it is dropped or the lab has ended; its limit goes first,
//! and a process in it returns to the group that it came from. Nobody is killed for want of memory:
//! who needs some waits. Memory that the process has had before is counted where it was.
//! [`Squeeze`](super::Squeeze) sets the limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConditionError, Undo};

/// Where the kernel's groups are.
const MOUNTS: &str = "/sys/fs/cgroup";
/// Lifts the limit, moves everybody out, and removes the group. A process that is about to end can
/// be neither moved nor left in it, so there are some tries.
const LEAVE: &str = r#"echo "$4" > "$1/$3"
for try in $(seq 100); do
    for process in $(cat "$1/cgroup.procs"); do echo "$process" > "$2/cgroup.procs"; done
    rmdir "$1" && break
    sleep 0.1
done"#;

/// A group with a process in it.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    folder: PathBuf,
    version: Version,
    _undo: Undo,
}

/// What is counted in a group, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    /// Altogether.
    pub all: u64,
    /// Pages of files, those in memory filesystems left out: nobody can write these back.
    pub pages: u64,
}

/// Which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The file with the limit, and what is written there for none. Of version 2 it is the limit at
    /// which the kernel reclaims and slows down, and never kills.
    fn limit(self) -> (&'static str, &'static str) {
        match self {
            Self::One => ("memory.limit_in_bytes", "-1"),
            Self::Two => ("memory.high", "max"),
        }
    }

    /// What else is written so that nobody is killed at the limit.
    fn mercy(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::One => Some(("memory.oom_control", "1")),
            Self::Two => None,
        }
    }

    /// The file with what is counted, and the name of file pages in `memory.stat`.
    fn counted(self) -> (&'static str, &'static str) {
        match self {
            Self::One => ("memory.usage_in_bytes", "cache"),
            Self::Two => ("memory.current", "file"),
        }
    }
}

impl MemoryGroup {
    /// Why there can be no such group on this machine; `None` where there can.
    #[must_use]
    pub(crate) fn missing() -> Option<String> {
        find(Path::new(MOUNTS)).err().map(|error| error.to_string())
    }

    /// Puts a process, and whatever it starts from now on, into a group of its own without a limit.
    ///
    /// # Errors
    /// When the machine has no memory control groups, without root, or when the process has gone.
    pub(crate) fn around(pid: u32) -> Result<Self, ConditionError> {
        let what = || format!("a memory control group around process {pid}");
        let (root, version) = find(Path::new(MOUNTS)).map_err(ConditionError::new(what()))?;
        let membership =
            fs::read_to_string(format!("/proc/{pid}/cgroup")).map_err(ConditionError::new(what()))?;
        let origin = origin(&membership, version).map(|path| root.join(path.trim_start_matches('/')));
        // A container may show a process's group by a path that begins elsewhere.
        let origin = origin.filter(|path| path.is_dir()).unwrap_or_else(|| root.clone());
        let folder = root.join(format!("aplomb-lab-{}-{pid}", std::process::id()));
        let (limit, none) = version.limit();
        let text = |path: &Path| path.display().to_string();
        fs::create_dir(&folder).map_err(ConditionError::new(what()))?;
        let undo = Undo::by(LEAVE, &[&text(&folder), &text(&origin), limit, none])?;
        if let Some((file, value)) = version.mercy() {
            fs::write(folder.join(file), value).map_err(ConditionError::new(what()))?;
        }
        fs::write(folder.join("cgroup.procs"), pid.to_string()).map_err(ConditionError::new(what()))?;
        Ok(Self { folder, version, _undo: undo })
    }

    /// Sets the limit, in bytes. One below what is counted has the kernel reclaim, here and now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn set_limit(&self, bytes: u64) -> Result<(), ConditionError> {
        let path = self.folder.join(self.version.limit().0);
        fs::write(&path, bytes.to_string())
            .map_err(ConditionError::new(format!("{} to {bytes}", path.display())))
    }

    /// What is counted in it now.
    ///
    /// # Errors
    /// When the group has gone.
    pub(crate) fn held(&self) -> Result<GroupUsage, ConditionError> {
        let (all, pages) = self.version.counted();
        let read = |name: &str| {
            let path = self.folder.join(name);
            fs::read_to_string(&path).map_err(ConditionError::new(format!("reading {}", path.display())))
        };
        let all = read(all)?.trim().parse().unwrap_or(0);
        let stat = read("memory.stat")?;
        Ok(GroupUsage { all, pages: figure(&stat, pages).saturating_sub(figure(&stat, "shmem")) })
    }
}

/// A line `name figure` of `memory.stat`.
fn figure(stat: &str, name: &str) -> u64 {
    let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == name).and_then(|(_, figure)| figure.trim().parse().ok()).unwrap_or(0)
}

/// The path in `/proc/PID/cgroup`: lines `number:controllers:path`, that of version 2 without
/// controllers.
fn origin(membership: &str, version: Version) -> Option<&str> {
    let mut lines = membership.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let has_memory = |controllers: &str| match version {
        Version::One => controllers.split(',').any(|name| name == "memory"),
        Version::Two => controllers.is_empty(),
    };
    lines.find(|(controllers, _)| has_memory(controllers)).map(|(_, path)| path)
}

/// Where groups with memory can be made.
fn find(mounts: &Path) -> io::Result<(PathBuf, Version)> {
    let handed_down = fs::read_to_string(mounts.join("cgroup.subtree_control")).unwrap_or_default();
    if handed_down.split_ascii_whitespace().any(|name| name == "memory") {
        return Ok((mounts.to_owned(), Version::Two));
    }
    let one = mounts.join("memory");
    if one.join("cgroup.procs").exists() {
        return Ok((one, Version::One));
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "this machine lets nobody make a memory control group: there is neither {} nor \"memory\" in {}",
            one.display(),
            mounts.join("cgroup.subtree_control").display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_kind_of_group_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = find(folder.path()).expect_err("nothing is there").to_string();
        assert!(missing.contains("nobody") && missing.contains("cgroup.subtree_control"), "{missing}");
        fs::create_dir(folder.path().join("memory")).expect("a folder");
        fs::write(folder.path().join("memory/cgroup.procs"), "").expect("a file");
        assert_eq!(find(folder.path()).expect("one").1, Version::One);
        fs::write(folder.path().join("cgroup.subtree_control"), "cpu io memory\n").expect("a file");
        assert_eq!(find(folder.path()).expect("two").1, Version::Two);
    }

    #[test]
    fn a_process_is_found_in_the_group_that_it_came_from() {
        let one = "5:devices:/\n4:cpu,memory:/somebody/1:2\n0::/\n";
        assert_eq!(origin(one, Version::One), Some("/somebody/1:2"));
        assert_eq!(origin("0::/user.slice/a\n", Version::Two), Some("/user.slice/a"));
        assert_eq!(origin("0::/user.slice/a\n", Version::One), None);
    }

    #[test]
    fn figures_are_found_by_their_whole_names() {
        let stat = "cache 4096\nshmem 1024\ntotal_cache 9000\nfile_dirty 7\nfile 12\n";
        assert_eq!((figure(stat, "cache"), figure(stat, "file"), figure(stat, "anon")), (4096, 12, 0));
    }
}
