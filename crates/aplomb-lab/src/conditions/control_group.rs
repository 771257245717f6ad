//! A control group around a process, of version 1 or 2 as the machine has it.
//!
//! What always holds: the group goes when it is dropped or the lab has ended, wherever it ends,
//! since who removes it is there before it is; its limit goes first, and a process in it returns to
//! the group that it came from. What may be limited in it is a [`Controller`]'s: memory
//! ([`MemoryGroup`](super::MemoryGroup)) or processors ([`ProcessorQuota`](super::ProcessorQuota)).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{ConditionError, Undo};

/// Where the kernel's groups are.
const MOUNTS: &str = "/sys/fs/cgroup";
/// Lifts the limit, moves everybody out, and removes the group. A process that is about to end can
/// be neither moved nor left in it, so there are some tries. The group may never have been made.
const LEAVE: &str = r#"echo "$4" > "$1/$3"
for try in $(seq 100); do
    [ -d "$1" ] || break
    for process in $(cat "$1/cgroup.procs"); do echo "$process" > "$2/cgroup.procs"; done
    rmdir "$1" && break
    sleep 0.1
done"#;

/// Which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// What can be limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Controller {
    /// As the kernel calls it.
    pub(super) name: &'static str,
    /// The file with the limit, and what is written there for none, in version 1.
    pub(super) limit_of_one: (&'static str, &'static str),
    /// The same in version 2.
    pub(super) limit_of_two: (&'static str, &'static str),
}

impl Controller {
    fn limit(self, version: Version) -> (&'static str, &'static str) {
        match version {
            Version::One => self.limit_of_one,
            Version::Two => self.limit_of_two,
        }
    }

    /// Why there can be no such group on this machine; `None` where there can.
    pub(super) fn missing(self) -> Option<String> {
        find(Path::new(MOUNTS), self.name).err().map(|error| error.to_string())
    }
}

/// A group that is there until it is dropped.
#[derive(Debug)]
pub(super) struct ControlGroup {
    folder: PathBuf,
    version: Version,
    controller: Controller,
    _undo: Undo,
}

impl ControlGroup {
    /// Makes a group without a limit for process `pid`, which is not in it yet.
    ///
    /// # Errors
    /// When the machine has no such groups, without root, or when the process has gone.
    pub(super) fn make(pid: u32, controller: Controller) -> Result<Self, ConditionError> {
        let what = || format!("a control group for the {} of process {pid}", controller.name);
        let (root, version) =
            find(Path::new(MOUNTS), controller.name).map_err(ConditionError::new(what()))?;
        let membership =
            fs::read_to_string(format!("/proc/{pid}/cgroup")).map_err(ConditionError::new(what()))?;
        let origin = origin(&membership, version, controller.name);
        let origin = origin.map(|path| root.join(path.trim_start_matches('/')));
        // A container may show a process's group by a path that begins elsewhere.
        let origin = origin.filter(|path| path.is_dir()).unwrap_or_else(|| root.clone());
        let folder = root.join(format!("aplomb-lab-{}-{pid}", std::process::id()));
        let (limit, none) = controller.limit(version);
        let text = |path: &Path| path.display().to_string();
        let undo = Undo::by(LEAVE, &[&text(&folder), &text(&origin), limit, none])?;
        fs::create_dir(&folder).map_err(ConditionError::new(what()))?;
        Ok(Self { folder, version, controller, _undo: undo })
    }

    /// Puts a process, and whatever it starts from now on, into it.
    ///
    /// # Errors
    /// When the process has gone.
    pub(super) fn enter(&self, pid: u32) -> Result<(), ConditionError> {
        self.write("cgroup.procs", &pid.to_string())
    }

    /// Sets the limit.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn set_limit(&self, value: &str) -> Result<(), ConditionError> {
        self.write(self.controller.limit(self.version).0, value)
    }

    /// Which interface it has.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write(&self, file: &str, value: &str) -> Result<(), ConditionError> {
        let path = self.folder.join(file);
        fs::write(&path, value).map_err(ConditionError::new(format!("{value} to {}", path.display())))
    }

    /// Reads one of its files.
    ///
    /// # Errors
    /// When the group has gone.
    pub(super) fn read(&self, file: &str) -> Result<String, ConditionError> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).map_err(ConditionError::new(format!("reading {}", path.display())))
    }
}

/// The path in `/proc/PID/cgroup`: lines `number:controllers:path`, that of version 2 without
/// controllers.
fn origin<'a>(membership: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    let mut lines = membership.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let has_it = |controllers: &str| match version {
        Version::One => controllers.split(',').any(|name| name == controller),
        Version::Two => controllers.is_empty(),
    };
    lines.find(|(controllers, _)| has_it(controllers)).map(|(_, path)| path)
}

/// Where groups with this controller can be made.
fn find(mounts: &Path, controller: &str) -> io::Result<(PathBuf, Version)> {
    let handed_down = fs::read_to_string(mounts.join("cgroup.subtree_control")).unwrap_or_default();
    if handed_down.split_ascii_whitespace().any(|name| name == controller) {
        return Ok((mounts.to_owned(), Version::Two));
    }
    let one = mounts.join(controller);
    if one.join("cgroup.procs").exists() {
        return Ok((one, Version::One));
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "this machine lets nobody make a control group for it: there is neither {} nor {controller:?} in {}",
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
        let missing = find(folder.path(), "memory").expect_err("nothing is there").to_string();
        assert!(missing.contains("nobody") && missing.contains("cgroup.subtree_control"), "{missing}");
        fs::create_dir(folder.path().join("memory")).expect("a folder");
        fs::write(folder.path().join("memory/cgroup.procs"), "").expect("a file");
        assert_eq!(find(folder.path(), "memory").expect("one").1, Version::One);
        assert!(find(folder.path(), "cpu").is_err());
        fs::write(folder.path().join("cgroup.subtree_control"), "cpu io memory\n").expect("a file");
        for controller in ["memory", "cpu"] {
            assert_eq!(find(folder.path(), controller).expect("two").1, Version::Two);
        }
    }

    #[test]
    fn a_process_is_found_in_the_group_that_it_came_from() {
        let one = "5:devices:/\n4:cpu,memory:/somebody/1:2\n0::/\n";
        for controller in ["memory", "cpu"] {
            assert_eq!(origin(one, Version::One, controller), Some("/somebody/1:2"));
        }
        assert_eq!(origin("0::/user.slice/a\n", Version::Two, "cpu"), Some("/user.slice/a"));
        assert_eq!(origin("0::/user.slice/a\n", Version::One, "cpu"), None);
    }
}
