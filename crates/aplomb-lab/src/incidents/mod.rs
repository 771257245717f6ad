//! The incidents, one file each: what disk, what is there before, what is done to it, what it is
//! known by, what is to come of it.
//!
//! What always holds: an incident is a value. It does nothing by itself; the
//! [runner](crate::runner) carries its actions out, and says when. One that is added here is in
//! `aplomb lab list` and in `aplomb lab run all`.

mod calm;
mod cgroup_reclaim;
mod cold_metadata;
mod compaction;
mod dirty_limit;
mod disk_full;
mod eio;
mod freeze;
mod gc_log;
mod inode_lock;
mod journal;
mod kill_9_recovery;
mod listing;
mod munmap;
mod network_thread;
mod one_of_two;
mod own_log;
mod page_fault;
mod roll;

use std::fmt;
use std::time::Duration;

use crate::brokers::Kind;
use crate::conditions::{Caches, MemoryGroup};
use crate::evidence::signatures::Signature;
use crate::record::Story;
use crate::slow_disk::{Change, Delay, Filesystem, Operation};
use crate::workload::history::History;
use crate::workload::neighbour::Habit;

pub use listing::Listed;

/// Everything about an incident.
#[derive(Clone, Debug)]
pub struct Incident {
    /// The name on the command line.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What is disturbed, who would wait for it, who wrote about it first.
    pub explanation: &'static str,
    /// Whether nothing is to be seen.
    pub control: bool,
    /// What is asked of a broker.
    pub aim: Aim,
    /// What is on the slow disk.
    pub filesystem: Filesystem,
    /// What of the broker is on it.
    pub on_disk: OnDisk,
    /// Settings of the broker.
    pub settings: &'static [(&'static str, &'static str)],
    /// Settings of the topic that the load goes to.
    pub configs: &'static [(&'static str, &'static str)],
    /// How many different keys the load's records have; `None` for records without keys.
    pub keys: Option<u64>,
    /// Topics with old records. One with the load's name is the load's.
    pub history: Vec<History>,
    /// What is done before the load begins.
    pub before: Vec<Action>,
    /// What is done during the disturbance, in order.
    pub during: Vec<Step>,
    /// What the disturbance is, in a few words.
    pub disturbance: &'static str,
    /// What it is known by.
    pub signatures: Vec<Signature>,
    /// Whose latency suffers.
    pub hurts: Whom,
}

/// What an incident asks of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// How p99.9 is during the disturbance, against the calm part.
    Latency,
    /// The same of producers that write to the log directory which is not on the slow disk; the
    /// other directory is lost.
    OneDirectory,
    /// How it is for producers that write to the log directory which is not on the slow disk, while
    /// many others send large batches to that one.
    Neighbours,
    /// How long it is until records are acknowledged again, and whether all that were are there.
    Recovery,
}

/// What of the broker lies on the slow disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// The directory that the log segments are in.
    Records,
    /// One of its two log directories; the other is elsewhere.
    OneOfTwo,
    /// What it and its JVM write about themselves; the records are elsewhere.
    Logs,
}

/// Whom an incident hurts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// A control: no latency may suffer.
    Nobody,
    /// Apache Kafka, of any version so far.
    Kafka,
    /// Apache Kafka of versions before this one, which has mended it.
    KafkaBefore(u32, u32),
    /// Apache Kafka, in some runs and not in others: it takes a coincidence.
    KafkaAtTimes,
}

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
    /// The broker is killed with kill -9.
    Kill,
    /// It is started again, as it was.
    StartAgain,
}

/// An action and its moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// From the beginning of the disturbance: a share of its length, so that a short run has all of
    /// it.
    pub share: f64,
    /// And so much more.
    pub plus: Duration,
    /// The step that is taken then.
    pub action: Action,
}

impl Step {
    /// At the beginning of the disturbance.
    #[must_use]
    pub fn first(action: Action) -> Self {
        Self { share: 0.0, plus: Duration::ZERO, action }
    }

    /// Later.
    #[must_use]
    pub fn at(share: f64, plus: Duration, action: Action) -> Self {
        Self { share, plus, action }
    }

    /// When, from the beginning of a disturbance of this length.
    #[must_use]
    pub fn moment(&self, length: Duration) -> Duration {
        length.mul_f64(self.share) + self.plus
    }
}

impl Action {
    /// The disk takes so many milliseconds longer for each operation of one kind.
    #[must_use]
    pub fn slow(operation: Operation, milliseconds: u64) -> Self {
        Self::Disk(Change::Delay { operation, delay: Delay::of(milliseconds) })
    }
}

impl Whom {
    /// Whether it hurts this broker in every run.
    #[must_use]
    pub fn includes(self, kind: Kind, version: &str) -> bool {
        match self {
            Self::Nobody | Self::KafkaAtTimes => false,
            Self::Kafka => kind == Kind::Kafka,
            Self::KafkaBefore(major, minor) => kind == Kind::Kafka && is_before(version, (major, minor)),
        }
    }
}

fn is_before(version: &str, mended: (u32, u32)) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < mended
}

impl Incident {
    /// For the record.
    #[must_use]
    pub fn story(&self) -> Story {
        Story {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            explanation: self.explanation.to_owned(),
            control: self.control,
        }
    }

    /// Why it cannot be run on this machine; `None` where it can.
    #[must_use]
    pub fn impossible(&self) -> Option<String> {
        let actions = || self.before.iter().chain(self.during.iter().map(|step| &step.action));
        let grouped = actions().any(|action| matches!(action, Action::RoomForPages(_)));
        if grouped { MemoryGroup::missing() } else { None }
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
            Self::Kill => f.write_str("kill -9 the broker"),
            Self::StartAgain => f.write_str("start the broker again, with the same command"),
        }
    }
}

/// The topic that the load goes to.
pub const LOAD: &str = "orders";
/// A topic with old records.
const OLD: &str = "history";
/// What a second topic needs to have many segments.
const SMALL_SEGMENTS: &str = "1048576";

/// All incidents, in the order in which they are best read.
#[must_use]
pub fn all() -> Vec<Incident> {
    vec![
        calm::incident(),
        inode_lock::incident(),
        inode_lock::on_ext4(),
        network_thread::incident(),
        page_fault::incident(),
        gc_log::incident(),
        munmap::incident(),
        roll::incident(),
        journal::incident(),
        freeze::incident(),
        freeze::far_from_the_limit(),
        dirty_limit::incident(),
        dirty_limit::long(),
        cgroup_reclaim::incident(),
        compaction::incident(),
        cold_metadata::incident(),
        own_log::incident(),
        one_of_two::incident(),
        one_of_two::crowded(),
        one_of_two::crowded_for_long(),
        disk_full::incident(),
        eio::incident(),
        kill_9_recovery::incident(),
    ]
}

/// The incident of this name.
#[must_use]
pub fn named(name: &str) -> Option<Incident> {
    all().into_iter().find(|incident| incident.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_different_and_found() {
        let names: BTreeSet<&str> = all().iter().map(|incident| incident.name).collect();
        assert_eq!(names.len(), all().len());
        assert!(named("inode-lock").is_some() && named("nothing").is_none());
    }

    #[test]
    fn an_incident_that_hurts_is_known_by_something_and_a_control_hurts_nobody() {
        for incident in all() {
            assert_eq!(incident.control, incident.hurts == Whom::Nobody, "{}", incident.name);
            assert_eq!(
                incident.control && incident.name == "calm",
                incident.signatures.is_empty(),
                "{}",
                incident.name
            );
        }
    }

    #[test]
    fn steps_come_in_order_and_within_the_disturbance_also_when_it_is_short() {
        for incident in all() {
            for length in [Duration::from_secs(8), Duration::from_secs(30)] {
                let moments: Vec<Duration> = incident.during.iter().map(|step| step.moment(length)).collect();
                assert!(moments.is_sorted(), "{}", incident.name);
                assert!(moments.iter().all(|moment| *moment <= length), "{}", incident.name);
            }
        }
    }

    #[test]
    fn a_long_freeze_is_twenty_seconds_of_thirty_and_ends_within_a_short_run() {
        let long = named("long-freeze").expect("it is there");
        let moments = |change: Change, seconds| {
            let step = long.during.iter().find(|step| step.action == Action::Disk(change.clone()));
            step.expect("it freezes and thaws").moment(Duration::from_secs(seconds))
        };
        assert_eq!(moments(Change::Thaw, 30) - moments(Change::Freeze, 30), Duration::from_secs(20));
        assert!(moments(Change::Thaw, 8) < Duration::from_secs(8));
    }

    #[test]
    fn who_is_killed_is_started_again_and_a_directory_is_lost_where_there_is_another() {
        for incident in all() {
            let count =
                |action: &Action| incident.during.iter().filter(|step| step.action == *action).count();
            let kills = usize::from(incident.aim == Aim::Recovery);
            assert_eq!(
                (count(&Action::Kill), count(&Action::StartAgain)),
                (kills, kills),
                "{}",
                incident.name
            );
            let one_side = matches!(incident.aim, Aim::OneDirectory | Aim::Neighbours);
            assert!(!one_side || incident.on_disk == OnDisk::OneOfTwo, "{}", incident.name);
        }
    }

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

    #[test]
    fn an_old_version_is_hurt_by_what_a_newer_one_has_mended() {
        let roll = Whom::KafkaBefore(3, 7);
        assert!(roll.includes(Kind::Kafka, "3.6.2"));
        assert!(!roll.includes(Kind::Kafka, "3.7.0") && !roll.includes(Kind::Kafka, "4.4.0"));
        assert!(!roll.includes(Kind::Aplomb, "0.1.0"));
    }
}
