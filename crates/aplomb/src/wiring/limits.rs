//! What the operating system allows the process.

use std::fs;
use std::path::{Path, PathBuf};

use aplomb_broker::config::{ListenerSecurity, SecurityConfig};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the number of descriptors that may be open to the hard limit: connections and files need
/// many, and the soft limit is for programs that use `select`. Gives the number; `None` is without
/// limit.
pub(super) fn raise_descriptors() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        // The soft limit stays, which is reported with its number.
        Err(_) => limit.current,
    }
}

/// Sees to it that no memory of a process whose listeners have secrets gets into a core dump. A
/// limit of one byte counts for a program that takes dumps, too (`kernel.core_pattern`), for which
/// the kernel does not look at a limit of nothing. Gives what is wrong if it cannot be set.
pub(super) fn end_core_dumps(security: &SecurityConfig) -> Option<&'static str> {
    let has_secrets = |one: &ListenerSecurity| one.tls.is_some() || one.sasl.is_some();
    if !security.listeners.values().any(has_secrets) {
        return None;
    }
    let maximum = getrlimit(Resource::Core).maximum;
    let current = Some(maximum.map_or(1, |most| most.min(1)));
    let set = setrlimit(Resource::Core, Rlimit { current, maximum });
    set.is_err().then_some("core dumps may have secrets in them: their limit cannot be set")
}

/// How many of so many descriptors connections may have: three of four, and all but 256 where that
/// is less, but half in any case. The others are there for files: without them nothing would be
/// written to a new one for as long as a client keeps idle connections open.
pub(super) fn most_connections(descriptors: Option<u64>) -> usize {
    let most = descriptors.map_or(u64::MAX, |all| all - (all / 4).max(256).min(all / 2));
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// What may be wrong with a tail of so many bytes, in a sentence: a process whose memory group is
/// smaller is killed when it has touched that much, and cannot say why any more.
pub(super) fn too_large_for_memory_group(tail_bytes: u64) -> Option<String> {
    let most = memory_group(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"))?;
    (tail_bytes >= most).then(|| {
        format!(
            "the process may take {most} bytes of memory (its control group), and aplomb.tail.bytes alone is {tail_bytes}: the system is going to kill it; make one of them smaller or the other larger"
        )
    })
}

/// How much memory the control groups of a process give it: the least of its own and of those
/// around it; `None` if none has a limit. `groups` says which it is in (cgroups(7): lines
/// `number:controllers:path`), `mount` is where they are.
fn memory_group(groups: &Path, mount: &Path) -> Option<u64> {
    let text = fs::read_to_string(groups).ok()?;
    let limits = text.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
        let (root, file) = match controllers {
            "" => (mount.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (mount.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let own = root.join(path.trim_start_matches('/'));
        let within = |group: &&Path| group.starts_with(&root);
        own.ancestors().take_while(within).map(|group| group.join(file)).collect::<Vec<PathBuf>>()
    });
    limits.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_files() {
        let most =
            [None, Some(1_000_000), Some(20_000), Some(1024), Some(400), Some(1)].map(most_connections);
        assert_eq!(most, [usize::MAX, 750_000, 15_000, 768, 200, 1]);
    }

    #[test]
    fn the_smallest_group_around_the_process_counts_in_both_versions() {
        let place = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
            fs::write(path, text).expect("a file");
        };
        let groups = place.path().join("cgroup");
        let of = |text: &str| {
            write("cgroup", text);
            memory_group(&groups, &place.path().join("mount"))
        };
        assert_eq!(of("0::/a/b\n"), None, "nothing is said");
        write("mount/a/b/memory.max", "max\n");
        assert_eq!(of("0::/a/b\n"), None);
        write("mount/a/memory.max", "5000\n");
        write("mount/memory.max", "9000\n");
        assert_eq!(of("0::/a/b\n"), Some(5000));
        assert_eq!(of("0::/\n"), Some(9000), "as in a container");
        write("mount/memory/c/memory.limit_in_bytes", "4000\n");
        assert_eq!(of("7:cpu,memory:/c\n1:name=systemd:/c\n"), Some(4000));
        assert_eq!(of("7:cpu:/c\n"), None);
        assert_eq!(memory_group(&place.path().join("missing"), place.path()), None);
    }
}
