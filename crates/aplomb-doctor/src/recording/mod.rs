//! What was seen of a broker, on one clock: the contract between what watches or reads files, what
//! diagnoses, and what draws.
//!
//! What always holds: a [`Recording`] that was written reads back as the same value; every number
//! has its unit in its name; nothing in here is computed from the present. Times in `_ms` count
//! from the recording's beginning, [`Clock::began_unix_ms`]. Texts (names, stacks, paths, log
//! lines) are foreign: what shows them escapes them.

mod host;
mod pauses;
mod stages;
mod threads;
mod trace;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Serialize};

pub use host::{Device, DeviceSample, HostSample, LogLine, Place, PlaceOf, Traffic};
pub use pauses::{Collection, Safepoint};
pub use stages::StageSample;
pub use threads::{Call, FileId, Role, Sighting, Thread, Usage, Wait, WaitClass};
pub use trace::{Latency, Operation, SlowRequest, Trace, Waker};

/// The number that [`Recording::format`] holds. It changes when a recording of before can no longer
/// be read; a field that is added is read as nothing where there is none.
pub const FORMAT: u32 = 1;

/// Everything that was seen of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recording {
    /// [`FORMAT`].
    pub format: u32,
    /// Where the recording lies in time.
    pub clock: Clock,
    /// The process that was watched.
    pub process: Process,
    /// What this recording could show, and what it could not.
    pub sight: Sight,
    /// Threads of the process, and kernel threads that were seen waiting.
    pub threads: Vec<Thread>,
    /// Waits, in the order of their beginning.
    pub waits: Vec<Wait>,
    /// Times at which a JVM stopped its threads, in order.
    pub safepoints: Vec<Safepoint>,
    /// Collections of garbage, in order.
    pub collections: Vec<Collection>,
    /// Files and directories that matter, and the devices they are on.
    pub places: Vec<Place>,
    /// Devices that were looked at.
    pub devices: Vec<Device>,
    /// The machine and the process's control group, a row every [`Sight::host_interval_ms`].
    pub host: Vec<HostSample>,
    /// Lines of the broker's own log that say something about disks.
    pub log: Vec<LogLine>,
    /// How long requests spent in their stages, by the broker's own count, in order; empty where
    /// that was not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSample>,
}

/// Where a recording lies in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The beginning, in milliseconds since 1970.
    pub began_unix_ms: f64,
    /// The same moment on the kernel's monotonic clock; `None` where no such clock was read.
    pub began_monotonic_ms: Option<f64>,
    /// How long it went on.
    pub length_ms: f64,
    /// Times of different sources may differ by so much from one another.
    pub uncertainty_ms: f64,
    /// Steps of the wall clock against the monotonic one: when, and by how much.
    pub steps: Vec<(f64, f64)>,
}

/// The process that was watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its number; `None` if only files are known.
    pub pid: Option<u32>,
    /// What kind of broker.
    pub kind: Kind,
    /// For people: `Apache Kafka 4.4.0`.
    pub name: String,
    /// The JVM, for people; `None` without one.
    pub java: Option<String>,
    /// The JVM's flags that a cause or a remedy may turn on.
    pub jvm_flags: Vec<String>,
}

/// What kind of broker it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Apache Kafka, or another broker in a JVM with its threads.
    Kafka,
    /// Aplomb itself.
    Aplomb,
    /// Any other process.
    #[default]
    Other,
}

/// How far a recording could see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sight {
    /// Where the evidence comes from: `/proc`, `safepoint log`, `JFR`, ...
    pub sources: Vec<String>,
    /// What could not be seen, one sentence each, with what it would take.
    pub missing: Vec<String>,
    /// Time between two looks at threads; `None` without looks.
    pub look_interval_ms: Option<f64>,
    /// How many looks there were.
    pub looks: u64,
    /// Time between two rows of [`Recording::host`] and of the devices.
    pub host_interval_ms: f64,
    /// Processor time that watching has taken, in milliseconds; what tracing has cost beside it is
    /// in there.
    pub cost_cpu_ms: f64,
    /// Tracing; `None` without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is not JSON, or JSON of something else.
    #[error("this is not a recording of aplomb doctor: {0}")]
    NotARecording(#[from] serde_json::Error),
    /// It was written by another version.
    #[error("the recording has format {found}; this version reads {FORMAT}")]
    OtherFormat {
        /// What it says.
        found: u32,
    },
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// When `json` is not a recording, or one of another format.
    pub fn from_json(json: &[u8]) -> Result<Self, RecordingError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
            clock: Option<IgnoredAny>,
        }
        let Format { format: found, clock } = serde_json::from_slice(json)?;
        if found != FORMAT {
            return Err(RecordingError::OtherFormat { found });
        }
        // Others have a format, too: without a clock it is no recording, whatever else is missing.
        if clock.is_none() {
            return Err(serde_json::Error::missing_field("clock").into());
        }
        Ok(serde_json::from_slice(json)?)
    }

    /// Writes it, with a line feed at its end.
    ///
    /// # Errors
    /// When a number is not finite: JSON has no word for it.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// The thread of this number, if it was seen.
    #[must_use]
    pub fn thread(&self, tid: u32) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.tid == tid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_something_else_is_no_recording() {
        let lab = br#"{"format":1,"incident":{"name":"munmap"},"brokers":[]}"#;
        assert!(matches!(Recording::from_json(lab), Err(RecordingError::NotARecording(_))));
        assert!(matches!(
            Recording::from_json(br#"{"format":9}"#),
            Err(RecordingError::OtherFormat { found: 9 })
        ));
        let ours = Recording { format: FORMAT, ..Recording::default() };
        let json = ours.to_json().expect("finite");
        assert_eq!(Recording::from_json(json.as_bytes()).expect("it is one"), ours);
    }
}
