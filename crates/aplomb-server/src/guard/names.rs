//! Names of system calls, for people.

macro_rules! names {
    ($($(#[$only:meta])? $name:ident)*) => {
        /// A system call's name, or its number if it is not among those that one expects here.
        pub(super) fn name(call: i64) -> String {
            $($(#[$only])? if call == libc::$name { return stringify!($name)["SYS_".len()..].to_owned(); })*
            format!("system call {call}")
        }
    };
}

names! {
    SYS_openat SYS_openat2 SYS_newfstatat SYS_fstat SYS_statx SYS_statfs SYS_fstatfs SYS_faccessat SYS_faccessat2
    SYS_read SYS_readv SYS_pread64 SYS_preadv SYS_preadv2 SYS_write SYS_writev SYS_pwrite64 SYS_pwritev SYS_pwritev2
    SYS_sendfile SYS_splice SYS_copy_file_range SYS_lseek SYS_ioctl SYS_fcntl SYS_flock SYS_dup SYS_dup3 SYS_pipe2
    SYS_fsync SYS_fdatasync SYS_sync SYS_syncfs SYS_sync_file_range SYS_msync SYS_ftruncate SYS_truncate SYS_fallocate
    SYS_fadvise64 SYS_renameat SYS_renameat2 SYS_unlinkat SYS_mkdirat SYS_linkat SYS_symlinkat SYS_readlinkat
    SYS_getdents64 SYS_chdir SYS_getcwd SYS_mmap SYS_mprotect SYS_mlock SYS_io_uring_setup SYS_io_uring_enter
    SYS_io_uring_register SYS_io_submit SYS_io_getevents SYS_nanosleep SYS_clock_nanosleep SYS_ppoll SYS_pselect6
    SYS_socket SYS_connect SYS_bind SYS_listen SYS_accept SYS_recvmmsg SYS_sendmmsg SYS_clone SYS_clone3 SYS_execve
    SYS_wait4 SYS_kill SYS_prctl SYS_getrusage SYS_sysinfo SYS_uname SYS_prlimit64 SYS_timerfd_settime SYS_eventfd2
    SYS_sched_setaffinity SYS_process_vm_readv
    #[cfg(target_arch = "x86_64")] SYS_open
    #[cfg(target_arch = "x86_64")] SYS_stat
    #[cfg(target_arch = "x86_64")] SYS_lstat
    #[cfg(target_arch = "x86_64")] SYS_access
    #[cfg(target_arch = "x86_64")] SYS_rename
    #[cfg(target_arch = "x86_64")] SYS_unlink
    #[cfg(target_arch = "x86_64")] SYS_mkdir
    #[cfg(target_arch = "x86_64")] SYS_rmdir
    #[cfg(target_arch = "x86_64")] SYS_readlink
    #[cfg(target_arch = "x86_64")] SYS_poll
    #[cfg(target_arch = "x86_64")] SYS_select
    #[cfg(target_arch = "x86_64")] SYS_fork
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_and_an_unknown_one_is_numbered() {
        assert_eq!(name(libc::SYS_openat), "openat");
        assert_eq!(name(9999), "system call 9999");
    }
}
