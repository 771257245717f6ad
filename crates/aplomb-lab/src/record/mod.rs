//! What one run of an incident has shown, as it is kept in JSON: the contract between what measures
//! and what tells.
//!
//! What always holds: a [`Run`] that was written reads back as the same value; every number has its
//! unit in its name; nothing in here is computed from the present, so that a page can be made anew
//! from an old record. Times in `_ms` without another word count from the beginning of the load's
//! measuring, which is the beginning of the calm phase; they are fractions where a run needs finer
//! than milliseconds. Latencies in `_us` count from the moment at which a record was due (open
//! loop), to its acknowledgement or, for `end_to_end`, to its arrival.
//!
//! Texts (thread names, stacks, log lines, commands) are foreign: whoever shows them escapes them.
//! Pages are made in `report`.

mod device;
mod examine;
mod groups;
mod latency;
mod phases;
mod recovery;
#[cfg(test)]
mod tests;
mod waits;

use serde::{Deserialize, Serialize};

pub use device::{Bucket, Device, Disk, PhaseTimes};
pub use groups::{GroupFigures, GroupPhase, Groups, GroupsOf};
pub use latency::{Amplification, Latencies, Latency, Lateness, MachineStandstill, Percentiles};
pub use phases::{Counted, Others, Phase, PhaseName, Second};
pub use recovery::Recovery;
pub use waits::{Role, Safepoint, Sighting, Stage, Stall, Witness};

/// The number that [`Run::format`] holds. It changes when a record of before can no longer be read.
pub const FORMAT: u32 = 1;

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not JSON, or JSON of something else.
    #[error("this is not the record of a run: {0}")]
    NotARecord(#[from] serde_json::Error),
    /// It was written by another version of the lab.
    #[error("the record has format {found}; this version reads {FORMAT}")]
    OtherFormat {
        /// What it says.
        found: u32,
    },
}

/// One command's run of one incident, against one broker after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT`].
    pub format: u32,
    /// The incident that was run.
    pub incident: Story,
    /// When the run began, in RFC 3339.
    pub began: String,
    /// What all chance in the run follows from.
    pub seed: u64,
    /// Where it ran.
    pub machine: Machine,
    /// The command that was given, word by word.
    pub command: Vec<String>,
    /// What each broker did, in the order in which they ran.
    pub brokers: Vec<BrokerRun>,
}

impl Run {
    /// Reads a record.
    ///
    /// # Errors
    /// When `json` is not a record, or one of another format.
    pub fn from_json(json: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let Format { format: found } = serde_json::from_slice(json)?;
        if found != FORMAT {
            return Err(RecordError::OtherFormat { found });
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// Writes the record, indented, with a line feed at its end.
    ///
    /// # Errors
    /// When a number is not finite: JSON has no word for it, and what was written could not be
    /// read.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// What an incident is, for somebody who has never heard of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// The name on the command line, `inode-lock`.
    pub name: String,
    /// A title for people.
    pub title: String,
    /// A paragraph or a few, separated by empty lines: what is disturbed, who would wait for it,
    /// and who wrote about it first.
    pub explanation: String,
    /// A negative control: nothing is to be seen.
    pub control: bool,
    /// What only looks like an incident of a disk, which is left alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look_alike: bool,
}

/// The machine under everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// Processors that could be used.
    pub cpus: u32,
    /// Physical memory, in bytes.
    pub memory_bytes: u64,
    /// As the processor calls itself.
    pub cpu_model: String,
}

/// What one broker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerRun {
    /// The broker that ran.
    pub broker: Broker,
    /// The disk that its log directories were on.
    pub disk: Disk,
    /// The run's parts, in order and without gaps.
    pub phases: Vec<Phase>,
    /// Each second of the load, by the time at which records were due.
    pub seconds: Vec<Second>,
    /// Latencies of produce requests, by phase.
    pub latency: Latencies,
    /// `during` over `calm`; `null` if either has no record, and for a broker that was away in
    /// between.
    pub amplification: Option<Amplification>,
    /// Whose records all figures are about, where it is not everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// How it came back, for a broker that was killed in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What became of consumer groups; `null` for a run without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// How late the generator itself was. A run whose sender was late measures the machine.
    pub sender_lateness_us: Lateness,
    /// How long the machine itself stood still: a thread on each processor wanted to run every
    /// other millisecond, before everybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_standstill: Option<MachineStandstill>,
    /// The time between two looks at the broker's threads.
    pub sampling_ms: u32,
    /// Threads that were seen in uninterruptible sleep.
    pub stalls: Vec<Stall>,
    /// What the incident is known by, and whether it was seen.
    pub signatures: Vec<Sighting>,
    /// Where requests spent their time, by the broker's own account; empty if it gives none.
    pub stages: Vec<Stage>,
    /// Safepoints by the collector's log; empty for brokers without one.
    pub safepoints: Vec<Safepoint>,
    /// How long the device itself took.
    pub device: Device,
    /// For brokers that promise never to wait: whether they did. `null` for others.
    pub witness: Option<Witness>,
    /// What this broker was expected to do.
    pub expectation: Expectation,
    /// The broker's log about the time of the disturbance.
    pub log_excerpt: String,
    /// Every command that was run for this, to do it by hand.
    pub commands: Vec<String>,
    /// How the run ended.
    pub ended: Ended,
}

impl BrokerRun {
    /// Whether the machine was steady, as far as is known.
    #[must_use]
    pub fn machine_was_steady(&self) -> bool {
        self.machine_standstill.as_ref().is_none_or(MachineStandstill::is_steady)
    }
}

/// A broker and how it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// `kafka`, `aplomb` or `external`: what `--broker` was given.
    pub kind: String,
    /// A name for people, `Apache Kafka`. Two brokers of a run may share it, if their versions
    /// differ.
    pub name: String,
    /// Its version; empty if it is not known.
    pub version: String,
    /// The command that started it; empty for one that somebody else started.
    pub command: Vec<String>,
    /// The JVM's flags; empty without a JVM.
    pub jvm_flags: Vec<String>,
    /// The Java it ran on.
    pub java: Option<String>,
    /// Settings, as `key=value`, that it was given for this run and has not by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
}

/// What was expected, and whether it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// A sentence.
    pub text: String,
    /// Whether it was met.
    pub met: bool,
    /// A part of the incident that the broker has not got, so that its run says nothing of that;
    /// empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub lacks: String,
}

impl Expectation {
    /// What is to be said beside the figures of a broker that has not got a part of the incident.
    #[must_use]
    pub fn reservation(&self) -> Option<String> {
        (!self.lacks.is_empty()).then(|| format!("without {}, which it has not got yet", self.lacks))
    }
}

/// How a broker's run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// As planned.
    Completed,
    /// Before its time, and why.
    Failed(String),
}
