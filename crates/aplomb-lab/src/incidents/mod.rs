//! The incidents, one file each: what disk, what is there before, what is done to it, what it is
//! known by, what is to come of it.
//!
//! What always holds: an incident is a value. It does nothing by itself; the
//! [runner](crate::runner) carries its actions out, and says when. One that is added to [`all`] is
//! in `aplomb lab list` and in `aplomb lab run all`. [`look_alikes`] are in the list, too, and in
//! no run of all: what is done there is done to no disk. What the doctor is to say of either is
//! [`Truth`].

mod action;
mod calm;
mod cgroup_reclaim;
mod client_quota;
mod cold_metadata;
mod compaction;
mod cpu_quota;
mod cpu_starvation;
mod dirty_limit;
mod disk_full;
mod eio;
mod freeze;
mod gc_log;
mod inode_lock;
mod journal;
mod kill_9_recovery;
mod listing;
mod long_gc;
mod munmap;
mod network_thread;
mod one_of_two;
mod own_log;
mod page_fault;
mod roll;
mod slow_consumer;
mod truth;

use std::time::Duration;

use crate::brokers::Kind;
use crate::conditions::{MemoryGroup, ProcessorQuota};
use crate::evidence::signatures::Signature;
use crate::record::Story;
use crate::slow_disk::Filesystem;
use crate::workload::history::History;

pub use action::Action;
pub use listing::{Listed, Truths};
pub use truth::Truth;

/// Everything about an incident.
#[derive(Clone, Debug)]
pub struct Incident {
    /// The name on the command line.
    pub name: &'static str,
    /// What the doctor may call it, where it is to be named; the name that is usual comes first.
    pub causes: &'static [&'static str],
    /// For people.
    pub title: &'static str,
    /// What is disturbed, who would wait for it, who wrote about it first.
    pub explanation: &'static str,
    /// Whether nothing is to be seen.
    pub control: bool,
    /// Whether it only looks like an incident of a disk, which is left alone.
    pub look_alike: bool,
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
    /// A control, or a disturbance that requests do not meet: no latency may suffer.
    Nobody,
    /// Every broker: nothing that one does helps.
    Everybody,
    /// Apache Kafka, of any version so far.
    Kafka,
    /// Apache Kafka of versions before this one, which has mended it.
    KafkaBefore(u32, u32),
    /// Apache Kafka, in some runs and not in others: it takes a coincidence.
    KafkaAtTimes,
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

impl Whom {
    /// Whether it hurts this broker in every run.
    #[must_use]
    pub fn includes(self, kind: Kind, version: &str) -> bool {
        match self {
            Self::Nobody | Self::KafkaAtTimes => false,
            Self::Everybody => true,
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
            look_alike: self.look_alike,
        }
    }

    /// Why it cannot be run on this machine; `None` where it can.
    #[must_use]
    pub fn impossible(&self) -> Option<String> {
        self.actions().find_map(|action| match action {
            Action::RoomForPages(_) => MemoryGroup::missing(),
            Action::ProcessorQuota(_) => ProcessorQuota::missing(),
            _ => None,
        })
    }

    /// Why it is not for brokers of this kind; `None` where it is.
    #[must_use]
    pub fn not_for(&self, kind: Kind) -> Option<&'static str> {
        let fills_a_heap = self.actions().any(|action| *action == Action::LiveSet);
        (fills_a_heap && kind == Kind::Aplomb).then_some("it runs in no JVM, so no collector stops it")
    }

    /// All that is done, before the load begins and during the disturbance.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &Action> {
        self.before.iter().chain(self.during.iter().map(|step| &step.action))
    }
}

/// The topic that the load goes to.
pub const LOAD: &str = "orders";
/// A topic with old records.
const OLD: &str = "history";
/// What a second topic needs to have many segments.
const SMALL_SEGMENTS: &str = "1048576";

/// All incidents of disks, and their controls, in the order in which they are best read.
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

/// What is taken for an incident of a disk and is none.
#[must_use]
pub fn look_alikes() -> Vec<Incident> {
    vec![
        cpu_starvation::incident(),
        cpu_quota::incident(),
        long_gc::incident(),
        client_quota::incident(),
        slow_consumer::incident(),
    ]
}

/// The incident, or the look-alike, of this name.
#[must_use]
pub fn named(name: &str) -> Option<Incident> {
    all().into_iter().chain(look_alikes()).find(|incident| incident.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::slow_disk::Change;

    #[test]
    fn names_are_different_and_found() {
        let every: Vec<Incident> = all().into_iter().chain(look_alikes()).collect();
        let names: BTreeSet<&str> = every.iter().map(|incident| incident.name).collect();
        assert_eq!(names.len(), every.len());
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
    fn a_look_alike_leaves_the_disk_alone_and_tells_so() {
        assert!(all().iter().all(|incident| !incident.look_alike));
        for incident in look_alikes() {
            assert!(incident.look_alike && !incident.control && incident.signatures.is_empty());
            assert!(!incident.actions().any(|action| matches!(action, Action::Disk(_))), "{}", incident.name);
            assert!(incident.explanation.contains("disk"), "{}", incident.name);
        }
    }

    #[test]
    fn a_heap_is_filled_where_there_is_one() {
        let not_for = |name, kind| named(name).expect("it is there").not_for(kind).is_some();
        assert!(not_for("long-gc", Kind::Aplomb));
        assert!(!not_for("long-gc", Kind::Kafka) && !not_for("long-gc", Kind::External));
        assert!(!not_for("cpu-quota", Kind::Aplomb));
    }

    #[test]
    fn steps_come_in_order_and_within_the_disturbance_also_when_it_is_short() {
        for incident in all().into_iter().chain(look_alikes()) {
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
    fn an_old_version_is_hurt_by_what_a_newer_one_has_mended() {
        let roll = Whom::KafkaBefore(3, 7);
        assert!(roll.includes(Kind::Kafka, "3.6.2"));
        assert!(!roll.includes(Kind::Kafka, "3.7.0") && !roll.includes(Kind::Kafka, "4.4.0"));
        assert!(!roll.includes(Kind::Aplomb, "0.1.0"));
    }
}
