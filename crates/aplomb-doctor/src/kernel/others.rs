//! Threads that are not of the process and hold what it waits for: those of the kernel, which
//! write journals and dirty pages, and those of other processes that sync on the same filesystem.

use std::collections::HashMap;

use super::descriptors::Descriptors;
use super::files::{nth, read};
use super::threads::{Rights, Sleeper, Threads, state};
use crate::recording::{Role, Thread};

/// How names of kernel threads begin that have to do with files and devices.
const KERNEL: [&str; 7] = ["jbd2/", "kworker/", "xfsaild/", "loop", "kswapd", "kcompactd", "md"];
/// The flag of a thread of the kernel, in `stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// One look at other processes reads no more states than this.
const MOST_NEIGHBOURS: usize = 2_000;
/// Threads of other processes that have ended and are remembered.
const MOST_GONE: usize = 1_000;

/// Kernel threads and neighbours.
#[derive(Debug)]
pub(super) struct Others {
    /// The process that is watched.
    pid: u32,
    /// Ourselves.
    own: u32,
    kernel: Threads,
    /// Whether a process is the kernel's, by number.
    known: HashMap<u32, bool>,
    neighbours: HashMap<u32, Neighbour>,
    /// Threads of neighbours that have ended.
    gone: Vec<Thread>,
}

/// A thread of another process that was seen waiting.
#[derive(Debug)]
struct Neighbour {
    name: String,
    descriptors: Descriptors,
    threads: Threads,
}

impl Others {
    pub(super) fn of(pid: u32, rights: Rights) -> Self {
        Self {
            pid,
            own: std::process::id(),
            kernel: Threads::of(0, rights),
            known: HashMap::new(),
            neighbours: HashMap::new(),
            gone: Vec::new(),
        }
    }

    /// Finds kernel threads that have begun.
    pub(super) fn find(&mut self, rows: usize) {
        let all = processes();
        self.known.retain(|pid, _| all.contains(pid));
        let ended: Vec<u32> = self.neighbours.keys().copied().filter(|pid| !all.contains(pid)).collect();
        for pid in ended {
            // What it held is told also when it is gone.
            let threads = self.neighbours.remove(&pid).map(|neighbour| neighbour.told(pid));
            self.gone.extend(threads.into_iter().flatten());
        }
        let room = self.gone.len().saturating_sub(MOST_GONE);
        self.gone.drain(..room);
        for pid in all {
            let of_kernel = *self.known.entry(pid).or_insert_with(|| is_of_kernel(pid));
            if of_kernel {
                let name = read(format!("/proc/{pid}/comm")).unwrap_or_default();
                if KERNEL.iter().any(|beginning| name.starts_with(beginning)) {
                    self.kernel.add(pid, pid, rows);
                }
            }
        }
    }

    /// One look at the kernel's.
    pub(super) fn look(&mut self, descriptors: &mut Descriptors) -> Vec<Sleeper> {
        self.kernel.look(descriptors)
    }

    /// One look at other processes: those of their threads that wait in the kernel. It costs more
    /// than the others, and is for moments in which a request waits.
    pub(super) fn neighbours(&mut self, rights: Rights) -> Vec<Sleeper> {
        let mut left = MOST_NEIGHBOURS;
        let mut sleepers = Vec::new();
        let theirs = self.known.iter().filter(|(_, of_kernel)| !**of_kernel).map(|(pid, _)| *pid);
        let theirs: Vec<u32> = theirs.filter(|pid| *pid != self.pid && *pid != self.own).collect();
        for pid in theirs {
            let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            let tids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
            for tid in tids {
                if left == 0 {
                    return sleepers;
                }
                left -= 1;
                let stat = read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
                if state(&stat) == Some('D') {
                    let neighbour = self.neighbours.entry(pid).or_insert_with(|| Neighbour::of(pid, rights));
                    neighbour.threads.add(pid, tid, 0);
                }
            }
            if let Some(neighbour) = self.neighbours.get_mut(&pid) {
                sleepers.extend(neighbour.threads.look(&mut neighbour.descriptors));
            }
        }
        sleepers
    }

    /// Forgets the oldest rows.
    pub(super) fn forget(&mut self, rows: usize) {
        self.kernel.forget(rows);
    }

    /// A row of the host is over.
    pub(super) fn row(&mut self) {
        self.kernel.row();
    }

    /// All that there were.
    pub(super) fn finish(self) -> Vec<Thread> {
        let mut all = self.kernel.finish();
        all.extend(self.gone);
        for (pid, neighbour) in self.neighbours {
            all.extend(neighbour.told(pid));
        }
        all
    }
}

impl Neighbour {
    fn of(pid: u32, rights: Rights) -> Self {
        let name = read(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
        Self { name, descriptors: Descriptors::of(pid), threads: Threads::of(0, rights) }
    }

    /// Its threads, by the name of their process.
    fn told(self, pid: u32) -> Vec<Thread> {
        let name = format!("{} (process {pid})", self.name);
        let named =
            |thread| Thread { name: name.clone(), role: Role::Neighbour, usage: Vec::new(), ..thread };
        self.threads.finish().into_iter().map(named).collect()
    }
}

fn processes() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a process is the kernel's own.
pub(super) fn is_of_kernel(pid: u32) -> bool {
    let stat = read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let flags = stat.rsplit_once(") ").and_then(|(_, rest)| nth::<u64>(rest, 6));
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_threads_and_processes_are_told_apart() {
        assert!(!is_of_kernel(std::process::id()));
        let kernel = processes().into_iter().filter(|pid| is_of_kernel(*pid)).count();
        let mut others = Others::of(std::process::id(), Rights { stacks: false, calls: false });
        others.find(0);
        others.look(&mut Descriptors::of(std::process::id()));
        others.row();
        let found = others.finish();
        assert!(found.len() <= kernel);
        assert!(found.iter().all(|thread| thread.role == Role::Kernel));
    }
}
