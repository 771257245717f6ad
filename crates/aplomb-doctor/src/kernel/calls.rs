//! The system call that a thread is in, by `/proc/PID/task/TID/syscall`.
//!
//! The line is `NUMBER ARG0 … ARG5 SP PC`, `running`, or `-1 SP PC` for a thread that is blocked
//! outside of any call: in a fault. Numbers differ between architectures.

/// What a thread does in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It runs, or may.
    Running,
    /// It is blocked outside of any call.
    Fault,
    /// It is in a call.
    Call {
        /// The call's name.
        name: &'static str,
        /// The descriptor of a file that it is about; `None` for calls without one.
        descriptor: Option<u32>,
        /// Of a futex: whether it waits without a limit in time. A lock is waited for so, a queue
        /// that may stay empty is not.
        untimed_futex: bool,
    },
}

/// Which argument is the descriptor.
const NO_FILE: usize = usize::MAX;

/// Calls by number: the name, and which argument is the descriptor of a file.
#[cfg(target_arch = "x86_64")]
const CALLS: &[(u32, &str, usize)] = &[
    (0, "read", 0),
    (1, "write", 0),
    (2, "open", NO_FILE),
    (3, "close", 0),
    (5, "fstat", 0),
    (7, "poll", NO_FILE),
    (9, "mmap", 4),
    (11, "munmap", NO_FILE),
    (17, "pread64", 0),
    (18, "pwrite64", 0),
    (19, "readv", 0),
    (20, "writev", 0),
    (26, "msync", NO_FILE),
    (28, "madvise", NO_FILE),
    (40, "sendfile", 1),
    (74, "fsync", 0),
    (75, "fdatasync", 0),
    (76, "truncate", NO_FILE),
    (77, "ftruncate", 0),
    (82, "rename", NO_FILE),
    (83, "mkdir", NO_FILE),
    (87, "unlink", NO_FILE),
    (202, "futex", NO_FILE),
    (232, "epoll_wait", NO_FILE),
    (257, "openat", NO_FILE),
    (263, "unlinkat", NO_FILE),
    (264, "renameat", NO_FILE),
    (275, "splice", 0),
    (277, "sync_file_range", 0),
    (281, "epoll_pwait", NO_FILE),
    (285, "fallocate", 0),
    (295, "preadv", 0),
    (296, "pwritev", 0),
    (306, "syncfs", 0),
    (316, "renameat2", NO_FILE),
    (426, "io_uring_enter", NO_FILE),
];
/// The same for the generic table.
#[cfg(not(target_arch = "x86_64"))]
const CALLS: &[(u32, &str, usize)] = &[
    (22, "epoll_pwait", NO_FILE),
    (35, "unlinkat", NO_FILE),
    (38, "renameat", NO_FILE),
    (45, "truncate", NO_FILE),
    (46, "ftruncate", 0),
    (47, "fallocate", 0),
    (56, "openat", NO_FILE),
    (57, "close", 0),
    (63, "read", 0),
    (64, "write", 0),
    (65, "readv", 0),
    (66, "writev", 0),
    (67, "pread64", 0),
    (68, "pwrite64", 0),
    (69, "preadv", 0),
    (70, "pwritev", 0),
    (71, "sendfile", 1),
    (76, "splice", 0),
    (82, "fsync", 0),
    (83, "fdatasync", 0),
    (84, "sync_file_range", 0),
    (98, "futex", NO_FILE),
    (215, "munmap", NO_FILE),
    (222, "mmap", 4),
    (227, "msync", NO_FILE),
    (233, "madvise", NO_FILE),
    (267, "syncfs", 0),
    (276, "renameat2", NO_FILE),
    (426, "io_uring_enter", NO_FILE),
];

/// Which argument of a futex is the limit in time; 0 is none.
const FUTEX_TIMEOUT: usize = 3;

/// The number of no call: the thread is in a fault.
const NO_CALL: i64 = -1;

/// What the line says; `None` if it is not one.
pub(super) fn doing(line: &str) -> Option<Doing> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if first == "running" {
        return Some(Doing::Running);
    }
    let number: i64 = first.parse().ok()?;
    let argument = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let arguments: Vec<u64> = words.take(6).filter_map(argument).collect();
    Some(doing_by(number, &arguments))
}

/// What a thread does whose registers have a call of this number with these arguments.
pub(super) fn doing_by(number: i64, arguments: &[u64]) -> Doing {
    if number == NO_CALL {
        return Doing::Fault;
    }
    let found = CALLS.iter().find(|(known, ..)| i64::from(*known) == number);
    let (_, name, position) = *found.unwrap_or(&(0, "call", NO_FILE));
    let descriptor = arguments.get(position).and_then(|&value| u32::try_from(value).ok());
    let untimed_futex = name == "futex" && arguments.get(FUTEX_TIMEOUT) == Some(&0);
    Doing::Call { name, descriptor, untimed_futex }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_call_and_file() {
        let call = |name, descriptor| Some(Doing::Call { name, descriptor, untimed_futex: false });
        assert_eq!(doing("18 0x7c 0x7f 0x400 0x1000 0x0 0x0 0x7ffe 0x7fcf\n"), call("pwrite64", Some(124)));
        assert_eq!(doing("40 0x9 0x33 0x7f 0x400 0x0 0x0 0x7ffe 0x7fcf"), call("sendfile", Some(51)));
        assert_eq!(doing("999 0x9 0x33 0x7f 0x400 0x0 0x0 0x7ffe 0x7fcf"), call("call", None));
        assert_eq!(doing("-1 0x7ffe 0x7fcf"), Some(Doing::Fault));
        assert_eq!(doing("running\n"), Some(Doing::Running));
        assert_eq!((doing(""), doing("x")), (None, None));
    }

    #[test]
    fn a_lock_is_waited_for_without_a_limit_and_a_queue_with_one() {
        let untimed = |line| matches!(doing(line), Some(Doing::Call { untimed_futex: true, .. }));
        assert!(untimed("202 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f"));
        assert!(!untimed("202 0x7f 0x189 0x0 0x7fa0 0x0 0xffffffff 0x7f 0x7f"));
        assert!(!untimed("18 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f"));
    }
}
