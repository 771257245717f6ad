//! What is mounted where, as a process sees it: which filesystem and device a path is on.

use super::files::{nth, read};

/// The mounts of a process's namespace.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    all: Vec<Mount>,
}

/// A mount as `mountinfo` has it, as far as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    id: u64,
    /// The directory that it covers.
    point: String,
    /// `major:minor`.
    pub(super) device: String,
    /// `xfs`.
    pub(super) filesystem: String,
    /// The mount's and the filesystem's options.
    pub(super) options: String,
}

impl Mounts {
    pub(super) fn of(pid: u32) -> Self {
        let text = read(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        Self { all: text.lines().filter_map(mount).collect() }
    }

    /// The mount that a path is on: of those that it is below, the last of the longest.
    pub(super) fn at(&self, path: &str) -> Option<&Mount> {
        let below = |mount: &&Mount| {
            let rest = path.strip_prefix(mount.point.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.all.iter().filter(below).max_by_key(|mount| mount.point.len())
    }

    /// The number of the device of the mount of this id, for comparing.
    pub(super) fn device_of(&self, id: u64) -> Option<u64> {
        let mount = self.all.iter().find(|mount| mount.id == id)?;
        let (major, minor) = mount.device.split_once(':')?;
        Some(major.parse::<u64>().ok()? << 32 | minor.parse::<u64>().ok()?)
    }
}

/// `22 27 0:21 / /proc rw,relatime shared:7 - proc proc rw`.
fn mount(line: &str) -> Option<Mount> {
    let (place, source) = line.split_once(" - ")?;
    let word = |index: usize| place.split(' ').nth(index);
    let of_filesystem = source.split(' ').nth(2).unwrap_or_default();
    Some(Mount {
        id: nth(place, 0)?,
        point: unescaped(word(4)?),
        device: word(2)?.to_owned(),
        filesystem: source.split(' ').next()?.to_owned(),
        options: format!("{},{of_filesystem}", word(5)?),
    })
}

/// Blanks and the like are written in octal.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_on_the_longest_mount_above_it() {
        let text = "27 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
            40 27 7:1 / /mnt/slow\\040disk rw,noatime shared:7 - xfs /dev/loop1 rw,attr2\nbroken\n";
        let mounts = Mounts { all: text.lines().filter_map(mount).collect() };
        let at = |path| mounts.at(path).map(|mount| (mount.filesystem.as_str(), mount.device.as_str()));
        assert_eq!(at("/mnt/slow disk/logs/a-0"), Some(("xfs", "7:1")));
        assert_eq!(at("/mnt/slow disk"), Some(("xfs", "7:1")));
        assert_eq!(at("/mnt/slow disks"), Some(("ext4", "254:0")));
        assert_eq!(mounts.at("/x").expect("the root").options, "rw,relatime,rw");
        assert_eq!(mounts.device_of(40), Some(7 << 32 | 1));
        assert_eq!(mounts.device_of(41), None);
    }
}
