//! What a thread that carries requests may call.
//!
//! What always holds: an allow-list, so that a call which was forgotten is not allowed. Memory yes,
//! files no: `mmap` only without a file and without execution, `write` only to the bells. No
//! descriptor but a socket is read.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that are allowed whatever their arguments.
const ALWAYS: &[i64] = &[
    // Sockets.
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_close,
    // Memory; see also `mmap` and `mprotect` below.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // Other threads.
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    // Clocks, where the kernel's shared page does not answer.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    // Chance.
    libc::SYS_getrandom,
    // Signals, and the end.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Calls of x86-64 that newer processors have no more.
#[cfg(target_arch = "x86_64")]
const ALWAYS_HERE: &[i64] = &[libc::SYS_epoll_wait, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALWAYS_HERE: &[i64] = &[];

/// `prctl` to name a mapping, as allocators do.
const PR_SET_VMA: u64 = 0x5356_4d41;

/// The filter, for a thread that may write to `writable`. A call that it does not allow is
/// notified.
pub(super) fn program(writable: &[RawFd]) -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALWAYS.iter().chain(ALWAYS_HERE).map(|&call| (call, Vec::new())).collect();
    let anonymous = u64::try_from(libc::MAP_ANONYMOUS).expect("a flag is positive");
    let executable = u64::try_from(libc::PROT_EXEC).expect("a flag is positive");
    let only = |index, length, operator, value| {
        SeccompRule::new(vec![SeccompCondition::new(index, length, operator, value)?])
    };
    rules.insert(
        libc::SYS_mmap,
        vec![SeccompRule::new(vec![
            SeccompCondition::new(2, Dword, MaskedEq(executable), 0)?,
            SeccompCondition::new(3, Dword, MaskedEq(anonymous), anonymous)?,
        ])?],
    );
    rules.insert(libc::SYS_mprotect, vec![only(2, Dword, MaskedEq(executable), 0)?]);
    rules.insert(libc::SYS_prctl, vec![only(0, Qword, Eq, PR_SET_VMA)?]);
    // Debug builds look whether a descriptor is open before they close it.
    let get_flags = u64::try_from(libc::F_GETFD).expect("a command is positive");
    rules.insert(libc::SYS_fcntl, vec![only(1, Dword, Eq, get_flags)?]);
    let bells = writable
        .iter()
        .map(|&fd| only(0, Dword, Eq, u64::try_from(fd).expect("an open descriptor is not negative")))
        .collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_write, bells);

    let here = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Trap, SeccompAction::Allow, here)?;
    let mut program = BpfProgram::try_from(filter)?;
    // seccompiler has no name for notification: it is put where it wrote the trap.
    let return_constant = u16::try_from(libc::BPF_RET | libc::BPF_K).expect("an operation has 16 bits");
    for instruction in &mut program {
        if instruction.code == return_constant && instruction.k == libc::SECCOMP_RET_TRAP {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_that_names_or_opens_a_file_is_on_the_list() {
        let forbidden = [
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_newfstatat,
            libc::SYS_statx,
            libc::SYS_fsync,
            libc::SYS_fdatasync,
            libc::SYS_sync,
            libc::SYS_syncfs,
            libc::SYS_renameat2,
            libc::SYS_unlinkat,
            libc::SYS_pread64,
            libc::SYS_pwrite64,
            libc::SYS_preadv,
            libc::SYS_pwritev,
            libc::SYS_read,
            libc::SYS_readv,
            libc::SYS_writev,
            libc::SYS_sendfile,
            libc::SYS_splice,
            libc::SYS_ftruncate,
            libc::SYS_fallocate,
            libc::SYS_msync,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_submit,
            libc::SYS_clock_nanosleep,
            libc::SYS_nanosleep,
        ];
        for call in forbidden {
            assert!(!ALWAYS.contains(&call) && !ALWAYS_HERE.contains(&call), "{call}");
        }
    }

    #[test]
    fn what_is_not_allowed_is_notified_and_never_trapped() {
        let program = program(&[7, 9]).expect("this processor is known");
        let returns: Vec<u32> = program
            .iter()
            .filter(|instruction| instruction.code == 0x06)
            .map(|instruction| instruction.k)
            .collect();
        assert!(returns.contains(&libc::SECCOMP_RET_USER_NOTIF));
        assert!(!returns.contains(&libc::SECCOMP_RET_TRAP));
    }
}
