//! A broker's run as the doctor takes it: what the lab saw of threads, safepoints, the device and
//! the log, as one recording.
//!
//! What always holds: nothing is made up. The lab's looks do not say which file a call was about,
//! and its device has no time line: what turns on these is left open, and said to be missing.

use std::collections::BTreeMap;

use aplomb_doctor::kernel::{role_of, stacks};
use aplomb_doctor::recording::{
    self, Clock, Device, Kind, LogLine, Place, PlaceOf, Process, Recording, Sight, Sighting, Thread, Wait,
};

use super::{BrokerRun, Bucket, PhaseTimes, Role, Stall};

/// The number that stands for the slow disk, of which a record has no other.
const SLOW: &str = "slow";
/// How the JVM is told where its collector's log goes.
const GC_LOG: &str = "-Xlog:gc";
/// What the slow disk is mounted at ends so.
const MOUNT: &str = "/mnt/";

impl BrokerRun {
    /// The run for the doctor.
    #[must_use]
    pub fn recording(&self) -> Recording {
        let numbers = numbers(&self.stalls);
        let threads = numbers.iter().map(|(name, (tid, role))| Thread {
            tid: *tid,
            name: (*name).to_owned(),
            role: doctors(*role, name),
            usage: Vec::new(),
        });
        let wait = |stall: &Stall| Wait {
            tid: numbers.get(stall.thread.as_str()).map_or(0, |(tid, _)| *tid),
            from_ms: stall.from_ms,
            to_ms: stall.to_ms,
            sighting: Sighting::Several { looks: stall.samples },
            class: stacks::class_of(&stall.stack),
            call: None,
            kernel: stall.stack.clone(),
            frames: Vec::new(),
            holders: Vec::new(),
            holders_known: false,
            woken_by: None,
        };
        let safepoints = self.safepoints.iter().map(|one| recording::Safepoint {
            at_ms: one.at_ms,
            reaching_ms: Some(one.reaching_ms),
            total_ms: one.total_ms,
            reason: one.reason.clone(),
            count: 1,
        });
        let log = self.log_excerpt.lines().map(|line| LogLine { at_ms: None, text: line.to_owned() });
        Recording {
            format: recording::FORMAT,
            clock: Clock {
                length_ms: self.phases.last().map_or(0.0, |phase| phase.to_ms),
                uncertainty_ms: self.sampling_ms.into(),
                ..Clock::default()
            },
            process: Process {
                pid: None,
                kind: match self.broker.kind.as_str() {
                    "kafka" => Kind::Kafka,
                    "aplomb" => Kind::Aplomb,
                    _ => Kind::Other,
                },
                name: format!("{} {}", self.broker.name, self.broker.version).trim_end().to_owned(),
                java: self.broker.java.clone(),
                jvm_flags: self.broker.jvm_flags.clone(),
            },
            sight: Sight {
                sources: vec!["the record of a run in the lab".to_owned()],
                missing: vec![
                    "which file a call was about: the lab's looks do not say".to_owned(),
                    "when the device answered: the record has its service times and no time line".to_owned(),
                ],
                look_interval_ms: Some(self.sampling_ms.into()),
                looks: 0,
                host_interval_ms: 0.0,
                cost_cpu_ms: 0.0,
                trace: None,
            },
            threads: threads.collect(),
            waits: self.stalls.iter().map(wait).collect(),
            safepoints: safepoints.collect(),
            places: self.places(),
            devices: vec![
                Device {
                    number: SLOW.to_owned(),
                    name: self.disk.device.clone(),
                    samples: Vec::new(),
                    longest_ms: self.device.longest_ms(),
                    ..Device::default()
                },
                Device { number: "other".to_owned(), name: "another disk".to_owned(), ..Device::default() },
            ],
            log: log.collect(),
            ..Recording::default()
        }
    }

    /// What of the broker was on the slow disk: its logs, where its command says so, or else its
    /// records.
    fn places(&self) -> Vec<Place> {
        let place = |path: &str, of, device: &str| Place {
            path: path.to_owned(),
            of,
            filesystem: self.disk.filesystem.clone(),
            options: String::new(),
            device: device.to_owned(),
        };
        let words = || self.broker.command.iter().chain(&self.broker.jvm_flags);
        let logs_are_slow = words().any(|word| word.starts_with(GC_LOG) && word.contains(MOUNT));
        if logs_are_slow {
            return vec![
                place("logs", PlaceOf::OwnLog, SLOW),
                place("records", PlaceOf::LogDirectory, "other"),
            ];
        }
        let mut places = vec![place("records", PlaceOf::LogDirectory, SLOW)];
        if self.counted.is_some() {
            // Figures of one directory's producers alone: there is another.
            places.push(place("other records", PlaceOf::LogDirectory, "other"));
        }
        places
    }
}

impl super::Device {
    fn longest_ms(&self) -> Option<f64> {
        let all = [&self.read, &self.write, &self.flush];
        let buckets =
            |times: &PhaseTimes| times.during.iter().chain(&times.after).copied().collect::<Vec<Bucket>>();
        let slowest = all.into_iter().flat_map(buckets).filter(|bucket| bucket.count > 0);
        slowest.map(|bucket| bucket.up_to_us).max().map(|us| us as f64 / 1e3)
    }
}

/// A number for each thread: a record has names alone.
fn numbers(stalls: &[Stall]) -> BTreeMap<&str, (u32, Role)> {
    let names: BTreeMap<&str, Role> =
        stalls.iter().map(|stall| (stall.thread.as_str(), stall.role)).collect();
    names.into_iter().zip(1..).map(|((name, role), tid)| (name, (tid, role))).collect()
}

impl From<recording::Role> for Role {
    fn from(role: recording::Role) -> Self {
        match role {
            recording::Role::Request => Self::Request,
            recording::Role::Network => Self::Network,
            recording::Role::Disk => Self::Disk,
            recording::Role::Collector => Self::Collector,
            _ => Self::Other,
        }
    }
}

/// The doctor tells more roles apart; what the lab has told is not forgotten.
fn doctors(role: Role, name: &str) -> recording::Role {
    match role {
        Role::Request => recording::Role::Request,
        Role::Network => recording::Role::Network,
        Role::Disk => recording::Role::Disk,
        Role::Collector => recording::Role::Collector,
        Role::Other => role_of(name),
    }
}
