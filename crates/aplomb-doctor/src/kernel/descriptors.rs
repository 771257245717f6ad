//! What a process's descriptors are, by number.
//!
//! What always holds: no file is touched. `fdinfo` has the inode's number and the mount's, and the
//! link has the name; a `stat` of the file itself could wait for a disk, or for a server that is
//! gone.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::files::{named, read};
use super::mounts::Mounts;
use crate::recording::FileId;

/// A descriptor's file is asked for again after this long: numbers are given anew.
const FRESH: Duration = Duration::from_millis(500);
/// A segment's base offset has so many digits.
const DIGITS: usize = 20;

/// A file behind a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) path: String,
    pub(super) file: Option<FileId>,
    /// Of a segment's file: whether it is the one that is appended to.
    pub(super) active_segment: Option<bool>,
}

/// The descriptors of a process.
#[derive(Debug)]
pub(super) struct Descriptors {
    pid: u32,
    mounts: Mounts,
    known: HashMap<u32, (Instant, Known)>,
    /// The last segment of each partition, by directory: the base offset.
    last_segments: HashMap<String, u64>,
}

impl Descriptors {
    pub(super) fn of(pid: u32) -> Self {
        Self { pid, mounts: Mounts::of(pid), known: HashMap::new(), last_segments: HashMap::new() }
    }

    /// The file behind a number; `None` for a socket, or when it is closed already.
    pub(super) fn file(&mut self, number: u32) -> Option<Known> {
        if let Some((asked, known)) = self.known.get(&number)
            && asked.elapsed() < FRESH
        {
            return Some(known.clone());
        }
        let path = self.path(number)?;
        let known = Known {
            file: self.id(number),
            active_segment: segment(&path)
                .map(|(folder, base)| self.last_segments.get(folder).is_none_or(|last| base >= *last)),
            path,
        };
        self.known.insert(number, (Instant::now(), known.clone()));
        Some(known)
    }

    /// The names of all open files, and with them which segments are the last of their partitions.
    pub(super) fn all(&mut self) -> HashSet<String> {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{}/fd", self.pid)) else { return HashSet::new() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let paths: HashSet<String> = numbers.filter_map(|number| self.path(number)).collect();
        self.last_segments.clear();
        for (folder, base) in paths.iter().filter_map(|path| segment(path)) {
            let last = self.last_segments.entry(folder.to_owned()).or_default();
            *last = base.max(*last);
        }
        paths
    }

    /// The mounts that the process sees.
    pub(super) fn mounts(&self) -> &Mounts {
        &self.mounts
    }

    fn path(&self, number: u32) -> Option<String> {
        let link = std::fs::read_link(format!("/proc/{}/fd/{number}", self.pid)).ok()?;
        let path = link.to_str()?;
        path.starts_with('/').then(|| path.to_owned())
    }

    fn id(&self, number: u32) -> Option<FileId> {
        let info = read(format!("/proc/{}/fdinfo/{number}", self.pid))?;
        let inode = named(&info, "ino")?;
        let device = self.mounts.device_of(named(&info, "mnt_id")?)?;
        Some(FileId { device, inode })
    }
}

/// The directory and the base offset of a segment's log file.
pub(super) fn segment(path: &str) -> Option<(&str, u64)> {
    let (folder, name) = path.rsplit_once('/')?;
    let base = name.strip_suffix(".log")?;
    (base.len() == DIGITS).then(|| base.parse().ok()).flatten().map(|base| (folder, base))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn the_last_segment_of_a_partition_is_the_active_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let partition = folder.path().join("orders-0");
        std::fs::create_dir(&partition).expect("a folder");
        let open =
            |base: u64| std::fs::File::create(partition.join(format!("{base:020}.log"))).expect("a file");
        let (first, last) = (open(0), open(368_769));
        let mut descriptors = Descriptors::of(std::process::id());
        let all = descriptors.all();
        assert!(all.iter().any(|path| path.ends_with("orders-0/00000000000000368769.log")));
        let mut active = |file: &std::fs::File| {
            let known = descriptors.file(file.as_raw_fd() as u32).expect("it is open");
            assert!(known.file.is_some_and(|id| id.inode > 0));
            known.active_segment
        };
        assert_eq!((active(&first), active(&last)), (Some(false), Some(true)));
        assert!(descriptors.file(u32::MAX).is_none());
    }

    #[test]
    fn a_segment_is_known_by_its_name() {
        assert_eq!(segment("/d/t-0/00000000000000000012.log"), Some(("/d/t-0", 12)));
        assert_eq!(segment("/d/t-0/00000000000000000012.index"), None);
        assert_eq!(segment("/d/server.log"), None);
    }
}
