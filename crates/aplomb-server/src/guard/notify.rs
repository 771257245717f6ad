//! Seccomp's user notification: install a filter, hear of a call, let it pass.
//!
//! What always holds: every structure that the kernel reads or writes is a plain value of `libc`'s,
//! alive for the length of the call.
#![expect(unsafe_code, reason = "seccomp, its notifications and process_vm_readv have no safe face")]

use std::io::{Error, Result};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use seccompiler::BpfProgram;

/// A call that stands in the kernel until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Notification {
    id: u64,
    /// The thread.
    pub(super) tid: u32,
    /// The system call's number.
    pub(super) call: i32,
    arguments: [u64; 6],
}

/// Installs `program` over the calling thread and gives the descriptor that its notifications come
/// by.
pub(super) fn install(program: &BpfProgram) -> Result<OwnedFd> {
    rustix::thread::set_no_new_privs(true)?;
    let length = u16::try_from(program.len()).map_err(|_| Error::from_raw_os_error(libc::EINVAL))?;
    let head = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: `head` names `program`, whose instructions have the layout of the kernel's
    // `sock_filter`; the kernel copies both.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const head,
        )
    };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    let fd = i32::try_from(fd).expect("a descriptor is an int");
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Takes the next call that waits at `listener`. `None` if it has gone away meanwhile.
pub(super) fn receive(listener: BorrowedFd<'_>) -> Option<Notification> {
    // SAFETY: the structure is all integers; the kernel wants it zeroed.
    let mut notification: libc::seccomp_notif = unsafe { zeroed() };
    // SAFETY: the request takes a `seccomp_notif`, which `notification` is.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) };
    (result == 0).then_some(Notification {
        id: notification.id,
        tid: notification.pid,
        call: notification.data.nr,
        arguments: notification.data.args,
    })
}

/// Lets a call pass, as if there were no filter.
pub(super) fn let_pass(listener: BorrowedFd<'_>, notification: &Notification) {
    // SAFETY: the structure is all integers.
    let mut answer: libc::seccomp_notif_resp = unsafe { zeroed() };
    answer.id = notification.id;
    answer.flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).expect("a flag fits");
    // SAFETY: the request takes a `seccomp_notif_resp`, which `answer` is. It fails only if the
    // thread is gone.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

impl Notification {
    /// The path that the call names, if it is one that does.
    pub(super) fn path(&self) -> Option<String> {
        let index = match i64::from(self.call) {
            libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_unlinkat
            | libc::SYS_renameat2
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_readlinkat => 1,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open
            | libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_unlink
            | libc::SYS_rename
            | libc::SYS_readlink => 0,
            _ => return None,
        };
        let mut text = [0_u8; 256];
        let count = read_own_memory(self.arguments[index], &mut text)?;
        let end = text[..count].iter().position(|&byte| byte == 0).unwrap_or(count);
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }
}

/// Reads our own memory at `address`, which may be anything: the kernel checks it. Up to the end of
/// its page, since what lies beyond need not be mapped.
fn read_own_memory(address: u64, into: &mut [u8]) -> Option<usize> {
    let address = usize::try_from(address).ok()?;
    let in_page = 4096 - address % 4096;
    let length = into.len().min(in_page);
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: length };
    // SAFETY: the kernel writes at most `length` bytes into `into`, and reads from an address that
    // it validates itself.
    let count =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(count).ok()
}
