//! A memory control group around a process: what the process takes from now on, its page cache
//! included, is counted there.
//!
//! What always holds: nobody is killed for want of memory: who needs some waits. Memory that the
//! process has had before is counted where it was. [`Squeeze`](super::Squeeze) sets the limit.

use super::ConditionError;
use super::control_group::{ControlGroup, Controller, Version};

/// Of version 2 the limit is the one at which the kernel reclaims and slows down, and never kills.
const MEMORY: Controller = Controller {
    name: "memory",
    limit_of_one: ("memory.limit_in_bytes", "-1"),
    limit_of_two: ("memory.high", "max"),
};

/// A group with a process in it.
#[derive(Debug)]
pub(crate) struct MemoryGroup(ControlGroup);

/// What is counted in a group, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupUsage {
    /// Altogether.
    pub all: u64,
    /// Pages of files, those in memory filesystems left out: nobody can write these back.
    pub pages: u64,
}

impl MemoryGroup {
    /// Why there can be no such group on this machine; `None` where there can.
    #[must_use]
    pub(crate) fn missing() -> Option<String> {
        MEMORY.missing()
    }

    /// Puts a process, and whatever it starts from now on, into a group of its own without a limit.
    ///
    /// # Errors
    /// When the machine has no memory control groups, without root, or when the process has gone.
    pub(crate) fn around(pid: u32) -> Result<Self, ConditionError> {
        let group = ControlGroup::make(pid, MEMORY)?;
        if let Some((file, value)) = mercy(group.version()) {
            group.write(file, value)?;
        }
        group.enter(pid)?;
        Ok(Self(group))
    }

    /// Sets the limit, in bytes. One below what is counted has the kernel reclaim, here and now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn set_limit(&self, bytes: u64) -> Result<(), ConditionError> {
        self.0.set_limit(&bytes.to_string())
    }

    /// What is counted in it now.
    ///
    /// # Errors
    /// When the group has gone.
    pub(crate) fn held(&self) -> Result<GroupUsage, ConditionError> {
        let (all, pages) = counted(self.0.version());
        let all = self.0.read(all)?.trim().parse().unwrap_or(0);
        let stat = self.0.read("memory.stat")?;
        Ok(GroupUsage { all, pages: figure(&stat, pages).saturating_sub(figure(&stat, "shmem")) })
    }
}

/// What else is written so that nobody is killed at the limit.
fn mercy(version: Version) -> Option<(&'static str, &'static str)> {
    match version {
        Version::One => Some(("memory.oom_control", "1")),
        Version::Two => None,
    }
}

/// The file with what is counted, and the name of file pages in `memory.stat`.
fn counted(version: Version) -> (&'static str, &'static str) {
    match version {
        Version::One => ("memory.usage_in_bytes", "cache"),
        Version::Two => ("memory.current", "file"),
    }
}

/// A line `name figure` of `memory.stat`.
fn figure(stat: &str, name: &str) -> u64 {
    let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == name).and_then(|(_, figure)| figure.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_names() {
        let stat = "cache 4096\nshmem 1024\ntotal_cache 9000\nfile_dirty 7\nfile 12\n";
        assert_eq!((figure(stat, "cache"), figure(stat, "file"), figure(stat, "anon")), (4096, 12, 0));
    }
}
