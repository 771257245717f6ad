//! Memory that the machine really has.
//!
//! A virtual machine's host gives a page when it is first written to, and may take back what is
//! free, in large blocks. Who writes there pays for that, in time in which the whole processor
//! stands still: late in a run more often than at its beginning, whatever is disturbed then. So
//! all that is free is used once before a run, and one page in so many is kept meanwhile, which
//! leaves no block large enough to be taken.
#![expect(unsafe_code, reason = "anonymous memory is mapped, advised on and unmapped by address")]

use std::ffi::c_void;
use std::fs;
use std::path::Path;
use std::ptr::null_mut;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

const PAGE: usize = 4096;
/// One page in so many is kept, in bytes: a host's blocks are of 2 MiB.
const STEP: usize = 64 * PAGE;
/// Mapped at once, in bytes: what is free may change meanwhile.
const PIECE: usize = 1 << 30;
/// What is not touched, in bytes: less, and the kernel would take page cache away to have some.
const LEFT: usize = 300 << 20;

/// Until it is dropped, what is free is there.
#[derive(Debug)]
pub(crate) struct WarmMemory {
    /// The address and the length of each piece: mapped by this process alone.
    pieces: Vec<(*mut c_void, usize)>,
}

impl WarmMemory {
    /// Of a virtual machine. Nothing is done on another, or where the processes of a control group
    /// may have less than all. Memory that cannot be had is left alone.
    pub(crate) fn take() -> Self {
        let mut warm = Self { pieces: Vec::new() };
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if is_virtual(&processors)
            && !groups.lines().any(|line| is_limited(line, Path::new("/sys/fs/cgroup")))
        {
            while let Some(free) = free().and_then(|free| free.checked_sub(LEFT)).filter(|free| *free > LEFT)
            {
                if !warm.add(free.min(PIECE) / STEP * STEP) {
                    break;
                }
            }
        }
        warm.thin_out();
        warm
    }

    /// Gives all but one page in so many back.
    fn thin_out(&self) {
        for (start, len) in &self.pieces {
            for at in (0..*len).step_by(STEP) {
                // SAFETY: the range lies in a piece, to which there is no reference.
                let _ = unsafe { madvise(start.byte_add(at + PAGE), STEP - PAGE, Advice::LinuxDontNeed) };
            }
        }
    }

    /// Maps a piece of so many bytes and has every page of it written to. Whether it was to be had.
    fn add(&mut self, len: usize) -> bool {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address.
        let mapped = unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) };
        let Ok(start) = mapped else { return false };
        self.pieces.push((start, len));
        // A child is to have nothing of it: copying a hundred thousand entries of page tables takes
        // a processor for tens of milliseconds, in which the lab's clients stand still.
        // SAFETY: the range was mapped just now, and no child needs it.
        let alone = unsafe { madvise(start, len, Advice::LinuxDontFork) };
        // SAFETY: the range was mapped just now, and only gets pages by it.
        alone.is_ok() && unsafe { madvise(start, len, Advice::LinuxPopulateWrite) }.is_ok()
    }
}

impl Drop for WarmMemory {
    fn drop(&mut self) {
        for (start, len) in self.pieces.drain(..) {
            // SAFETY: it was mapped here, and there is no reference to it.
            let _ = unsafe { munmap(start, len) };
        }
    }
}

/// Bytes in no use, not even as page cache (proc_meminfo(5)).
fn free() -> Option<usize> {
    let all = fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemFree:"))?;
    line.split_ascii_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1024)
}

/// Whether these processors are a hypervisor's.
fn is_virtual(processors: &str) -> bool {
    let mut flags = processors.lines().filter_map(|line| line.strip_prefix("flags"));
    flags.any(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

/// Whether the group that a line of `/proc/self/cgroup` names, or one that it lies in, may have no
/// more than so much memory (version 2 of control groups; in version 1 a machine's own are seen).
fn is_limited(line: &str, mount: &Path) -> bool {
    let Some(path) = line.strip_prefix("0::/") else { return false };
    let group = mount.join(path);
    let up = group.ancestors().take_while(|group| group.starts_with(mount));
    up.filter_map(|group| fs::read_to_string(group.join("memory.max")).ok())
        .any(|limit| limit.trim() != "max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_piece_but_some_pages_is_given_back() {
        let resident = || {
            let status = fs::read_to_string("/proc/self/statm").expect("it is there");
            let pages: usize =
                status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
            pages * PAGE
        };
        // Large beside what other tests use meanwhile.
        let (len, before) = (1024 * STEP, resident());
        let mut warm = WarmMemory { pieces: Vec::new() };
        assert!(warm.add(len));
        assert!(resident() > before + len / 2);
        warm.thin_out();
        assert!(resident() < before + len / 2);
    }

    #[test]
    fn a_child_has_nothing_of_it() {
        let mut warm = WarmMemory { pieces: Vec::new() };
        assert!(warm.add(16 * STEP));
        let at = warm.pieces[0].0.addr();
        // Mapped beside another piece, it is one with that: its start is in a range of both.
        let has_it = |line: &str| {
            let (from, to) = line.split_once(' ').and_then(|(range, _)| range.split_once('-'))?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(from)?..number(to)?).contains(&at))
        };
        let maps = fs::read_to_string("/proc/self/smaps").expect("it is there");
        let mut lines = maps.lines().skip_while(|line| has_it(line) != Some(true));
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).expect("it is mapped");
        // "Do not copy area on fork" (proc_pid_smaps(5)).
        assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
    }

    #[test]
    fn a_hypervisor_is_seen_by_its_flag() {
        assert!(is_virtual("processor : 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"));
        assert!(is_virtual("flags\t\t: fpu hypervisor\n"));
        assert!(!is_virtual("flags\t\t: fpu vme lahf_lm\nmodel name : hypervisor of all\n"));
    }

    #[test]
    fn a_limit_of_any_group_above_counts() {
        let mount = tempfile::tempdir().expect("a directory for the test");
        let group = mount.path().join("a/b");
        fs::create_dir_all(&group).expect("it can be made");
        fs::write(group.join("memory.max"), "max\n").expect("it can be written");
        assert!(!is_limited("0::/a/b", mount.path()));
        assert!(!is_limited("4:memory:/a/b", mount.path()));
        fs::write(mount.path().join("a/memory.max"), "1073741824\n").expect("it can be written");
        assert!(is_limited("0::/a/b", mount.path()));
        assert!(!is_limited("0::/", mount.path()));
    }
}
