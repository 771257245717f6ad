//! Finds a process: by the port that it listens on, by its unit or its container.

use std::collections::HashMap;

use crate::kernel::listening;

/// Why no process was found.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// None listens there, or it is another user's.
    #[error("no process listens on port {0}, as far as this user can see")]
    NoListener(u16),
    /// None is in such a group.
    #[error("no process is in a control group of {0}")]
    NoGroup(String),
}

/// The process that listens on a port.
///
/// # Errors
/// When there is none, or it belongs to another user.
pub fn by_port(port: u16) -> Result<u32, FindError> {
    listening(port).ok_or(FindError::NoListener(port))
}

/// The largest process, by threads, in a control group whose path has `name` as a part: a unit of
/// systemd (`kafka.service`), or the id of a container, of which the first digits will do.
///
/// # Errors
/// When there is none.
pub fn by_cgroup(name: &str) -> Result<u32, FindError> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Err(FindError::NoGroup(name.to_owned())) };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut sizes = HashMap::new();
    for pid in pids {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        if groups.lines().any(|line| is_in(line, name)) {
            let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
            sizes.insert(pid, threads);
        }
    }
    let largest = sizes.into_iter().max_by_key(|&(pid, threads)| (threads, std::cmp::Reverse(pid)));
    largest.map(|(pid, _)| pid).ok_or_else(|| FindError::NoGroup(name.to_owned()))
}

/// Whether a line of `/proc/PID/cgroup` has a group of this name: whole, with the ending that
/// systemd gives it, or as the id of a container.
fn is_in(line: &str, name: &str) -> bool {
    let path = line.splitn(3, ':').nth(2).unwrap_or_default();
    let is_id = name.len() >= 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.split('/').any(|part| {
        let bare = part.strip_suffix(".scope").or_else(|| part.strip_suffix(".service")).unwrap_or(part);
        let id = bare.rsplit_once('-').map_or(bare, |(_, id)| id);
        !part.is_empty() && (part == name || bare == name || (is_id && id.starts_with(name)))
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_process_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        assert_eq!(by_port(port), Ok(std::process::id()));
        drop(listener);
        assert_eq!(by_port(port), Err(FindError::NoListener(port)));
    }

    #[test]
    fn a_unit_and_a_container_are_parts_of_a_path() {
        assert!(is_in("0::/system.slice/kafka.service", "kafka.service"));
        assert!(is_in("0::/system.slice/kafka.service", "kafka"));
        let id = "0123456789abcdef0123456789abcdef";
        assert!(is_in(&format!("0::/system.slice/docker-{id}.scope"), "0123456789ab"));
        assert!(is_in(&format!("4:memory:/docker/{id}"), id));
        assert!(!is_in("0::/system.slice/kafka.service", "kaf"));
        assert!(!is_in("0::/", ""));
        assert!(by_cgroup("no-such-unit").is_err());
    }
}
