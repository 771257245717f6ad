//! What a stack says of why a thread waits.
//!
//! What always holds: frames are the program's, the innermost first; a stack that no rule knows is
//! no wait. The kernel's part of a wait is not in them, so a write is a write, whatever it is that
//! holds it up.

use std::sync::Arc;

use crate::recording::WaitClass;

/// What a thread was doing when it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// Writing records, under the lock of their log.
    Append,
    /// Writing a line of the broker's own log.
    LogLine,
    /// Writing a line of the JVM's log, while all threads stand.
    JvmLog,
    /// Writing any other file.
    Write,
    /// Sending a file to a socket.
    Send,
    /// Reading a file, without sending it.
    Read,
    /// Waiting until a file is on its disk.
    Force,
    /// The same for a mapped file.
    ForceMapped,
    /// Touching a mapped page.
    Fault,
    /// The system call of that name, on a filesystem's names and extents.
    Metadata(&'static str),
    /// Waiting for the JVM's threads to stop.
    ReachSafepoint,
    /// Waiting for a lock or a monitor.
    Lock,
    SocketRead,
    SocketWrite,
}

impl WaitReason {
    /// The system call; `None` outside of any.
    pub(super) fn call(self) -> Option<&'static str> {
        Some(match self {
            Self::Append | Self::LogLine | Self::JvmLog | Self::Write | Self::SocketWrite => "write",
            Self::Send => "sendfile",
            Self::Read | Self::SocketRead => "read",
            Self::Force => "fsync",
            Self::ForceMapped => "msync",
            Self::Fault => "fault",
            Self::Metadata(name) => name,
            Self::ReachSafepoint | Self::Lock => return None,
        })
    }

    /// Whether it works on a file whose lock an append may wait for.
    pub(super) fn holds_files(self) -> bool {
        matches!(self, Self::Append | Self::Send | Self::Read | Self::Force)
    }
}

impl From<WaitReason> for WaitClass {
    fn from(doing: WaitReason) -> Self {
        match doing {
            // An inode, a journal, a limit of dirty pages: only the kernel's stack would tell.
            WaitReason::Append | WaitReason::LogLine | WaitReason::JvmLog | WaitReason::Write => Self::Other,
            WaitReason::Send | WaitReason::Read => Self::Page,
            WaitReason::Force | WaitReason::ForceMapped => Self::Sync,
            WaitReason::Fault => Self::Fault,
            WaitReason::Metadata(_) => Self::Metadata,
            WaitReason::ReachSafepoint => Self::Safepoint,
            WaitReason::Lock => Self::Lock,
            WaitReason::SocketRead | WaitReason::SocketWrite => Self::Socket,
        }
    }
}

/// A system call, or the fault, is at most so many frames away from where a thread is.
const NEAR: usize = 14;
/// A page is touched in the innermost frames: `Unsafe`, `ScopedMemoryAccess`, the buffer.
const TOUCHES: usize = 4;

/// The native methods of the JDK that may wait in the kernel.
const CALLS: &[(&[&str], WaitReason)] = &[
    (&["write0", "pwrite0", "writev0", "writeBytes", "writeBytes0"], WaitReason::Write),
    (&["transferTo0", "transferFrom0"], WaitReason::Send),
    (&["read0", "pread0", "readv0", "readBytes", "readBytes0"], WaitReason::Read),
    (&["force0"], WaitReason::Force),
    (&["unmap0"], WaitReason::Metadata("munmap")),
    (&["rename0", "renameat0"], WaitReason::Metadata("rename")),
    (&["unlink0", "unlinkat0", "delete0"], WaitReason::Metadata("unlink")),
    (&["truncate0", "setLength0", "setLength"], WaitReason::Metadata("ftruncate")),
    (&["open0", "openat0"], WaitReason::Metadata("openat")),
    (&["mkdir0", "createDirectory0"], WaitReason::Metadata("mkdir")),
];

/// What a thread with this stack does in the kernel, if it is one of the calls that wait for disks.
pub(super) fn in_the_kernel(frames: &[Arc<str>]) -> Option<WaitReason> {
    let near = &frames[..frames.len().min(NEAR)];
    let any = |names: &[&str]| has(near, names);
    if any(&["LogFileOutput::write", "LogFileStreamOutput::"]) {
        return Some(WaitReason::JvmLog);
    }
    if any(&["SafepointSynchronize::synchronize_threads", "SafepointSynchronize::begin"]) {
        return Some(WaitReason::ReachSafepoint);
    }
    if near.iter().take(TOUCHES).any(|frame| touches_a_page(frame)) {
        return Some(WaitReason::Fault);
    }
    let call = |frame: &Arc<str>| {
        let method = method_of(frame);
        CALLS.iter().find(|(names, _)| names.contains(&method)).map(|(_, doing)| *doing)
    };
    let doing = near.iter().find_map(call)?;
    let is_socket = any(&["SocketDispatcher", "SocketChannelImpl", "NioSocketImpl", ".Net."]);
    match doing {
        WaitReason::Write | WaitReason::Read if is_socket => None,
        WaitReason::Write => Some(what_is_written(frames)),
        WaitReason::Force if any(&["MappedMemoryUtils", "MappedByteBuffer"]) => Some(WaitReason::ForceMapped),
        other => Some(other),
    }
}

/// What a thread that writes a file writes.
pub(super) fn what_is_written(frames: &[Arc<str>]) -> WaitReason {
    if has(frames, &["OutputStreamManager", "RollingFileManager", "OutputStreamAppender"]) {
        // A log line may be written below an append, and is what waits then.
        WaitReason::LogLine
    } else if has(frames, &["FileRecords.append", "UnifiedLog.append"]) {
        WaitReason::Append
    } else {
        WaitReason::Write
    }
}

/// Whether a thread that sleeps with this stack waits for a lock. A condition is where threads wait
/// for work: a thread in one is idle.
pub(super) fn waits_for_a_lock(frames: &[Arc<str>]) -> bool {
    let near = &frames[..frames.len().min(NEAR)];
    let monitors = [
        "ObjectMonitor::enter",
        "ObjectMonitor::EnterI",
        "ObjectSynchronizer::enter",
        "LightweightSynchronizer::enter",
        "SharedRuntime::complete_monitor_locking",
        "InterpreterRuntime::monitorenter",
    ];
    if has(near, &monitors) {
        return !has(near, &["ObjectMonitor::wait"]);
    }
    if has(near, &["Parker::park", "Unsafe.park", "LockSupport.park"]) {
        return locks(near);
    }
    sleeps_in_java_code(near)
}

/// Whether a thread sleeps below a method that does not sleep by itself, with nothing of the JVM
/// between: async-profiler before 4.5 leaves that out, and then this is how a monitor looks.
fn sleeps_in_java_code(near: &[Arc<str>]) -> bool {
    let libraries = near.iter().take_while(|frame| frame.contains(".so")).count();
    let (below, above) = near.split_at(libraries);
    let sleep = ["wait", "wait0", "sleep", "sleep0", "sleepNanos0", "waitForReferencePendingList"];
    let by_itself = |frame: &Arc<str>| sleep.contains(&method_of(frame));
    has(below, &["futex", "pthread_cond"])
        && !has(below, &["libjvm"])
        && above.first().is_some_and(|method| !by_itself(method))
}

/// Whether a thread that is parked on an object of `class` waits for a lock.
pub(super) fn parks_for_a_lock(class: Option<&str>, frames: &[Arc<str>]) -> bool {
    let near = &frames[..frames.len().min(NEAR)];
    let is_lock = |class: &str| {
        ["ReentrantLock", "ReadWriteLock", "StampedLock"].iter().any(|name| class.contains(name))
    };
    !is_idle(near) && (class.is_some_and(is_lock) || locks(near))
}

fn locks(near: &[Arc<str>]) -> bool {
    let locks = ["Lock.lock", "Lock.tryLock", "Lock$", "AbstractQueuedSynchronizer.acquire", "StampedLock."];
    has(near, &locks) && !is_idle(near)
}

/// Pools, queues, timers and selectors without work: they wait for a condition, so a thread that
/// waits for the lock of a queue is none of them.
fn is_idle(near: &[Arc<str>]) -> bool {
    let idle = [
        "ConditionObject.await",
        "ConditionNode.block",
        "ThreadPoolExecutor.getTask",
        "ForkJoinPool.awaitWork",
        "CountDownLatch.",
        "Semaphore.",
        "SelectorImpl.",
    ];
    has(near, &idle)
}

fn touches_a_page(frame: &str) -> bool {
    let method = method_of(frame);
    let is_access = (method.starts_with("get") || method.starts_with("put")) && !method.starts_with("getAnd");
    let of = |class: &str| class_of(frame).ends_with(class);
    method == "SR_handler"
        || is_access && (of("DirectByteBuffer") || of("Unsafe") || of("ScopedMemoryAccess"))
}

/// `write0` of `sun.nio.ch.FileDispatcherImpl.write0`, and of `write0(int, void*)`.
fn method_of(frame: &str) -> &str {
    let name = frame.split('(').next().unwrap_or(frame);
    name.rsplit('.').next().unwrap_or(name)
}

fn class_of(frame: &str) -> &str {
    frame.strip_suffix(method_of(frame)).map_or("", |class| class.trim_end_matches('.'))
}

fn has(frames: &[Arc<str>], names: &[&str]) -> bool {
    frames.iter().any(|frame| names.iter().any(|name| frame.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<Arc<str>> {
        text.split(" < ").map(Arc::from).collect()
    }

    fn kernel(text: &str) -> Option<WaitReason> {
        in_the_kernel(&frames(text))
    }

    #[test]
    fn calls_are_told_by_the_native_method_above_them() {
        let append = "libc.so.6.__GI_write < sun.nio.ch.FileDispatcherImpl.write0 < sun.nio.ch.FileChannelImpl.write \
                      < org.apache.kafka.common.record.FileRecords.append";
        assert_eq!(kernel(append), Some(WaitReason::Append));
        let line = "java.io.FileOutputStream.writeBytes < java.io.FileOutputStream.write \
                    < org.apache.logging.log4j.core.appender.OutputStreamManager.writeToDestination \
                    < org.apache.kafka.storage.internals.log.UnifiedLog.append";
        assert_eq!(kernel(line), Some(WaitReason::LogLine));
        for (stack, doing) in [
            ("sendfile64 < sun.nio.ch.FileDispatcherImpl.transferTo0", WaitReason::Send),
            ("sun.nio.ch.UnixFileDispatcherImpl.pread0 < a.B.c", WaitReason::Read),
            ("fdatasync < sun.nio.ch.FileDispatcherImpl.force0", WaitReason::Force),
            ("msync < java.nio.MappedMemoryUtils.force0", WaitReason::ForceMapped),
            ("munmap < sun.nio.ch.FileChannelImpl.unmap0", WaitReason::Metadata("munmap")),
            ("rename < sun.nio.fs.UnixNativeDispatcher.rename0", WaitReason::Metadata("rename")),
            (
                "write < fflush < LogFileStreamOutput::flush < LogFileOutput::write(char const*)",
                WaitReason::JvmLog,
            ),
            ("futex < SafepointSynchronize::synchronize_threads < VMThread::run", WaitReason::ReachSafepoint),
        ] {
            assert_eq!(kernel(stack), Some(doing), "{stack}");
        }
        assert_eq!(
            kernel("write < sun.nio.ch.FileDispatcherImpl.write0 < sun.nio.ch.SocketDispatcher.write"),
            None
        );
        assert_eq!(kernel("epoll_wait < sun.nio.ch.EPoll.wait"), None);
        assert_eq!(kernel("a.B.compute < a.B.write"), None);
    }

    #[test]
    fn a_fault_is_told_by_what_touches_the_page() {
        let lookup = "jdk.internal.misc.Unsafe.getLongUnaligned < jdk.internal.misc.ScopedMemoryAccess.getLongUnaligned \
                      < java.nio.DirectByteBuffer.getLong < a.TimeIndex.lookup";
        assert_eq!(kernel(lookup), Some(WaitReason::Fault));
        assert_eq!(kernel("libjvm.so.SR_handler < libc.so.6.__restore_rt"), Some(WaitReason::Fault));
        assert_eq!(kernel("jdk.internal.misc.Unsafe.getAndAddInt < a.B.c"), None);
        assert_eq!(kernel("jdk.internal.misc.Unsafe.park < a.B.c"), None);
    }

    #[test]
    fn a_lock_is_told_from_a_queue_without_work() {
        let lock = |text: &str| waits_for_a_lock(&frames(text));
        let aqs = "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire";
        assert!(lock("libc.so.6.futex < libjvm.so.ObjectMonitor::enter_internal < a.B.c"));
        assert!(lock(&format!("Unsafe_Park < jdk.internal.misc.Unsafe.park < {aqs} < ReentrantLock.lock")));
        let queue = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await";
        assert!(!lock(&format!("jdk.internal.misc.Unsafe.park < {aqs} < {queue} < ArrayBlockingQueue.poll")));
        assert!(!lock("epoll_wait < sun.nio.ch.EPoll.wait"));
        assert!(!lock("ObjectMonitor::wait < java.lang.Object.wait0"));
        let futex = "libc.so.6.__futex_abstimed_wait_common";
        assert!(lock(&format!("{futex} < a.B.enter < java.lang.Thread.run")), "of async-profiler 3 and 4.0");
        for own in ["java.lang.Object.wait", "java.lang.Thread.sleep", "jdk.internal.misc.Unsafe.park"] {
            assert!(!lock(&format!("{futex} < {own} < a.B.c")), "{own}");
        }
        assert!(!lock(&format!("{futex} < libjvm.so.WatcherThread::run < libjvm.so.start")));
        assert!(!lock(futex), "a thread of the JVM's");

        let park = |class, text: &str| parks_for_a_lock(class, &frames(text));
        assert!(park(
            Some("java.util.concurrent.locks.ReentrantLock$NonfairSync"),
            "jdk.internal.misc.Unsafe.park"
        ));
        assert!(!park(Some("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"), queue));
        assert!(!park(None, "jdk.internal.misc.Unsafe.park < java.util.concurrent.FutureTask.awaitDone"));
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(method_of("a.b.C$D.e"), "e");
        assert_eq!((method_of("X::y(a.b, c)"), class_of("X::y(a.b, c)")), ("X::y", ""));
        assert_eq!(class_of("java.nio.DirectByteBuffer.getLong"), "java.nio.DirectByteBuffer");
        assert_eq!((method_of(""), class_of("")), ("", ""));
    }
}
