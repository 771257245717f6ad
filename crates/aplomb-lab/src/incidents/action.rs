//! What incidents do, and the words for it: where there is a command for it, the words are that.

use std::fmt;

use crate::conditions::Caches;
use crate::slow_disk::{Change, Delay, Operation};
use crate::workload::load::CLIENT;
use crate::workload::neighbour::Habit;

/// Something that is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The disk behaves otherwise.
    Disk(Change),
    /// All that is dirty on the slow disk is written.
    Sync,
    /// The records' files of a topic (of all topics: `None`) are written and leave the page cache.
    Evict(Option<&'static str>),
    /// The broker's mapped index files are written and leave memory.
    PageOutIndexes,
    /// The machine forgets.
    DropCaches(Caches),
    /// The machine takes fewer dirty pages until writers have to wait.
    DirtyLimit {
        /// Writers wait, bytes.
        limit: u64,
        /// Writing begins, bytes.
        background: u64,
    },
    /// The broker's page cache has room for so many bytes of what it reads and writes from now on.
    RoomForPages(u64),
    /// A consumer reads this topic from the beginning, cold, for the rest of the disturbance.
    Lag(&'static str),
    /// Clients ask for offsets by time, in this topic, for the rest of the disturbance.
    AskForTimes {
        /// The topic that is asked about.
        topic: &'static str,
        /// How many clients.
        clients: u64,
    },
    /// So many bytes a second have to be read and refused, until the run ends.
    Allocate(u64),
    /// Somebody else on the same filesystem syncs every 100 ms, for the rest of the disturbance.
    Neighbour(Habit),
    /// A topic keeps so many bytes of each partition and no more.
    Retain {
        /// The topic that is cut.
        topic: &'static str,
        /// `retention.bytes`.
        bytes: u64,
    },
    /// Somebody else takes the slow disk's room but for so many bytes, for the rest of the
    /// disturbance.
    Fill {
        /// What is left.
        leave: u64,
    },
    /// So many programs for each processor are busy, for the rest of the disturbance.
    Busy(usize),
    /// The broker may run for so many hundredths of one processor's time, for the rest of the
    /// disturbance.
    ProcessorQuota(u64),
    /// A program is compiled that fills a JVM's heap.
    CompileLiveSet,
    /// Half of the JVM's heap fills with objects that live for some seconds, for the rest of the
    /// disturbance.
    LiveSet,
    /// The load's producers may send so many bytes a second, for the rest of the disturbance.
    ProduceQuota(u64),
    /// A consumer asks for all that a topic has and takes nothing of it, for the rest of the
    /// disturbance.
    Pause {
        /// The topic that is asked for.
        topic: &'static str,
        /// How many partitions it has.
        partitions: i32,
    },
    /// The broker is killed with kill -9.
    Kill,
    /// It is started again, as it was.
    StartAgain,
}

impl Action {
    /// The disk takes so many milliseconds longer for each operation of one kind.
    #[must_use]
    pub fn slow(operation: Operation, milliseconds: u64) -> Self {
        Self::Disk(Change::Delay { operation, delay: Delay::of(milliseconds) })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(change) => match change {
                Change::Delay { operation, delay } => {
                    write!(f, "aplomb lab disk delay slow --{operation} {}ms", delay.milliseconds)?;
                    if delay.jitter_milliseconds > 0 {
                        write!(f, "~{}ms", delay.jitter_milliseconds)?;
                    }
                    if delay.every_nth > 1 { write!(f, "/{}", delay.every_nth) } else { Ok(()) }
                }
                Change::Freeze => f.write_str("aplomb lab disk freeze slow"),
                Change::Thaw => f.write_str("aplomb lab disk thaw slow"),
                Change::Fail { operations } => {
                    f.write_str("aplomb lab disk fail slow")?;
                    operations.iter().try_for_each(|operation| write!(f, " --{operation}"))
                }
                Change::Heal => f.write_str("aplomb lab disk heal slow"),
            },
            Self::Sync => f.write_str("sync -f on the slow disk"),
            Self::Evict(None) => f.write_str("fdatasync and fadvise(DONTNEED) on all .log files"),
            Self::Evict(Some(topic)) => {
                write!(f, "fdatasync and fadvise(DONTNEED) on the .log files of {topic}")
            }
            Self::PageOutIndexes => {
                f.write_str("process_madvise(MADV_PAGEOUT) on the broker's mapped index files")
            }
            Self::DropCaches(which) => write!(f, "echo {} > /proc/sys/vm/drop_caches", *which as i32),
            Self::DirtyLimit { limit, background } => {
                write!(f, "sysctl vm.dirty_background_bytes={background} vm.dirty_bytes={limit}")
            }
            Self::RoomForPages(bytes) => write!(
                f,
                "echo PID > /sys/fs/cgroup/memory/aplomb-lab/cgroup.procs; its limit is what the broker itself takes, and {} KiB for its page cache",
                bytes >> 10
            ),
            Self::Lag(topic) => {
                write!(f, "again and again: evict {topic}, aplomb bench consume -t {topic}")
            }
            Self::AskForTimes { topic, clients } => {
                write!(f, "{clients} clients ask for offsets of {topic} by time")
            }
            Self::Allocate(bytes) => {
                write!(f, "producers of records that are too large, {} MB a second", bytes / 1_000_000)
            }
            Self::Neighbour(Habit::Appends) => {
                f.write_str("another process appends 4 KiB and syncs, every 100 ms")
            }
            Self::Neighbour(Habit::Marks) => {
                f.write_str("another process makes an empty file, syncs and removes it, every 100 ms")
            }
            Self::Retain { topic, bytes } => {
                write!(f, "kafka-configs.sh --alter --topic {topic} --add-config retention.bytes={bytes}")
            }
            Self::Fill { leave } => write!(f, "aplomb lab disk fill slow --leave {leave}"),
            Self::Busy(count) => {
                write!(f, "for each processor {count} times: sh -c 'while :; do :; done' &")
            }
            Self::ProcessorQuota(percent) => write!(
                f,
                "echo PID > /sys/fs/cgroup/cpu/aplomb-lab/cgroup.procs; its quota is {percent} % of one processor"
            ),
            Self::CompileLiveSet => {
                f.write_str("javac LiveSet.java; jar --create --file live-set.jar, with its Agent-Class")
            }
            Self::LiveSet => f.write_str("jcmd PID JVMTI.agent_load live-set.jar FILE; later rm FILE"),
            Self::ProduceQuota(bytes) => write!(
                f,
                "kafka-configs.sh --alter --entity-type clients --entity-name {CLIENT} --add-config producer_byte_rate={bytes}"
            ),
            Self::Pause { topic, partitions } => write!(
                f,
                "a consumer asks for 50 MB of {partitions} partitions of {topic}, and does not read its socket"
            ),
            Self::Kill => f.write_str("kill -9 the broker"),
            Self::StartAgain => f.write_str("start the broker again, with the same command"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_to_a_disk_is_written_as_the_command_that_does_it() {
        let change = |change| Action::Disk(change).to_string();
        let slow = |delay| change(Change::Delay { operation: Operation::Read, delay });
        assert_eq!(slow(Delay::of(20)), "aplomb lab disk delay slow --read 20ms");
        let all = Delay { milliseconds: 300, jitter_milliseconds: 50, every_nth: 10 };
        assert_eq!(slow(all), "aplomb lab disk delay slow --read 300ms~50ms/10");
        let operations = vec![Operation::Read, Operation::Flush];
        assert_eq!(change(Change::Fail { operations }), "aplomb lab disk fail slow --read --flush");
    }
}
