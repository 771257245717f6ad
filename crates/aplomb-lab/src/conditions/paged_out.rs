//! Takes the pages of a process's mapped files away from it, so that the next touch of one waits
//! for the disk.
//!
//! `process_madvise(MADV_PAGEOUT)` from outside (Linux 5.10): no other way drops the page cache of
//! a file while somebody has it mapped.
#![expect(
    unsafe_code,
    reason = "the system call has no safe wrapper; it is given addresses of another process and touches none of ours"
)]

use std::fs;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::ConditionError;

/// Ranges a call takes (`IOV_MAX`).
const AT_ONCE: usize = 1024;

/// A mapped range of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: usize,
    to: usize,
}

/// Pages out all mappings of files whose path `chosen` takes. Dirty pages go when they are written:
/// sync before. Returns how many bytes there were.
///
/// # Errors
/// When the process has gone, or without root.
pub(crate) fn page_out(pid: u32, chosen: &dyn Fn(&Path) -> bool) -> Result<u64, ConditionError> {
    let what = || format!("paging out files of process {pid}");
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(ConditionError::new(what()))?;
    let ranges: Vec<Range> = maps.lines().filter_map(|line| mapping(line, chosen)).collect();
    let give_up = |ranges: &[Range]| -> io::Result<()> {
        let process = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        for some in ranges.chunks(AT_ONCE) {
            let vectors: Vec<libc::iovec> = some
                .iter()
                .map(|range| libc::iovec {
                    iov_base: std::ptr::without_provenance_mut(range.from),
                    iov_len: range.to - range.from,
                })
                .collect();
            // SAFETY: the vectors live until it returns; the addresses in them are the other
            // process's, in which nothing but residency changes.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_process_madvise,
                    process.as_raw_fd(),
                    vectors.as_ptr(),
                    vectors.len(),
                    libc::MADV_PAGEOUT,
                    0,
                )
            };
            if done < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    give_up(&ranges).map_err(ConditionError::new(what()))?;
    Ok(ranges.iter().map(|range| (range.to - range.from) as u64).sum())
}

/// A line of `/proc/PID/maps`: `from-to rwxp offset device inode path`.
fn mapping(line: &str, chosen: &dyn Fn(&Path) -> bool) -> Option<Range> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let path = line.find('/').map(|at| Path::new(&line[at..]))?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let range = Range { from: address(from)?, to: address(to)? };
    chosen(path).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_chosen_by_their_files() {
        let index = |path: &Path| path.extension().is_some_and(|end| end == "index");
        let line = "7f10a000-7f10c000 rw-s 00000000 07:00 131 /mnt/d/t-0/00000000000000000000.index";
        assert_eq!(mapping(line, &index), Some(Range { from: 0x7f10_a000, to: 0x7f10_c000 }));
        assert_eq!(mapping("7f10a000-7f10c000 rw-s 00000000 07:00 131 /mnt/d/t-0/0.log", &index), None);
        assert_eq!(mapping("7f10a000-7f10c000 rw-p 00000000 00:00 0", &index), None);
        assert_eq!(mapping("ffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]", &index), None);
    }
}
