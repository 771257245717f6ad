//! What one run of an incident has shown, as it is kept in JSON: the contract between what measures and what tells.
//!
//! What always holds: a [`Run`] that was written reads back as the same value; every number has its unit in its name; nothing in here is
//! computed from the present, so that a page can be made anew from an old record. Times in `_ms` without another word count from the beginning
//! of the load's measuring, which is the beginning of the calm phase; they are fractions where a run needs finer than milliseconds. Latencies
//! in `_us` count from the moment at which a record was due (open loop), to its acknowledgement or, for `end_to_end`, to its arrival.
//!
//! Texts (thread names, stacks, log lines, commands) are foreign: whoever shows them escapes them. Pages are made in `report`.

mod latency;

use serde::{Deserialize, Serialize};

pub use latency::{Amplification, Latencies, Latency, Lateness, MachineStandstill, Percentiles};

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
    /// Which incident.
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
    /// When a number is not finite: JSON has no word for it, and what was written could not be read.
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
    /// A paragraph or a few, separated by empty lines: what is disturbed, who would wait for it, and who wrote about it first.
    pub explanation: String,
    /// A negative control: nothing is to be seen.
    pub control: bool,
}

/// The machine under everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// Processors that could be used.
    pub cpus: u32,
    /// All memory.
    pub memory_bytes: u64,
    /// As the processor calls itself.
    pub cpu_model: String,
}

/// What one broker did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BrokerRun {
    /// Who.
    pub broker: Broker,
    /// On what.
    pub disk: Disk,
    /// The run's parts, in order and without gaps.
    pub phases: Vec<Phase>,
    /// Each second of the load, by the time at which records were due.
    pub seconds: Vec<Second>,
    /// Latencies of produce requests, by phase.
    pub latency: Latencies,
    /// `during` over `calm`; `null` if either has no record, and for a broker that was away in between.
    pub amplification: Option<Amplification>,
    /// Whose records all figures are about, where it is not everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// How it came back, for a broker that was killed in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// How late the generator itself was. A run whose sender was late measures the machine.
    pub sender_lateness_us: Lateness,
    /// How long the machine itself stood still: a thread on each processor wanted to run every other millisecond, before everybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_standstill: Option<MachineStandstill>,
    /// The time between two looks at the broker's threads.
    pub sampling_ms: u32,
    /// Threads that were seen in uninterruptible sleep.
    pub stalls: Vec<Stall>,
    /// What the incident is known by, and whether it was seen.
    pub signatures: Vec<Signature>,
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
    /// How it ended.
    pub ended: Ended,
}

/// A broker and how it was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// `kafka`, `aplomb` or `external`: what `--broker` was given.
    pub kind: String,
    /// A name for people, `Apache Kafka`. Two brokers of a run may share it, if their versions differ.
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

/// The disk that was disturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `xfs` or `ext4`.
    pub filesystem: String,
    /// The block device's name.
    pub device: String,
    /// What makes it slow: `device-mapper` or `fuse`.
    pub how: String,
}

/// The parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// Before the disturbance.
    Calm,
    /// The disturbance.
    During,
    /// After it.
    After,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Which.
    pub name: PhaseName,
    /// Its first moment.
    pub from_ms: f64,
    /// Its end.
    pub to_ms: f64,
    /// What is done to the disk or the machine, in a few words (`reads take 20 ms`); empty when nothing is.
    pub disturbance: String,
}

/// One second of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Which, counted from 0.
    pub second: u64,
    /// The phase that it began in.
    pub phase: PhaseName,
    /// Records due in it that were acknowledged, whenever that was.
    pub acknowledged: u64,
    /// Records due in it that were refused, given up, or never answered.
    pub failed: u64,
    /// From due to acknowledged; `null` without an acknowledgement.
    pub produce: Option<Percentiles>,
    /// From due to the tail consumer; `null` without an arrival, or without such a consumer.
    pub end_to_end: Option<Percentiles>,
    /// Bytes that the lagging consumer received in it, by the clock.
    pub lagging_bytes: u64,
}

/// Whose records the figures of a run are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// In a few words: `producers of the other log directory`.
    pub who: String,
    /// The partitions that they write to.
    pub partitions: Vec<i32>,
    /// What became of everybody else's records that were due during the disturbance.
    pub others: Others,
}

/// What became of records that the figures are not about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Others {
    /// Acknowledged, whenever that was.
    pub acknowledged: u64,
    /// Refused, given up, or never answered.
    pub failed: u64,
}

/// How a broker that was killed came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// When it was killed.
    pub killed_ms: f64,
    /// When it was started again.
    pub started_ms: f64,
    /// When it had named itself to clients again.
    pub answers_ms: f64,
    /// The first acknowledgement of a record after it was started again; `null` if there was none.
    pub acknowledged_ms: Option<f64>,
    /// Records that were acknowledged in the whole run, the warm-up included.
    pub acknowledged: u64,
    /// Of these, how many were not there when the topic was read back at the end.
    pub missing: u64,
    /// Of these, how many were there more than once.
    pub repeated: u64,
}

impl Recovery {
    /// From the kill to the first acknowledgement.
    #[must_use]
    pub fn away_ms(&self) -> Option<f64> {
        Some(self.acknowledged_ms? - self.killed_ms)
    }

    /// From the start to the first acknowledgement.
    #[must_use]
    pub fn starting_ms(&self) -> Option<f64> {
        Some(self.acknowledged_ms? - self.started_ms)
    }
}

impl BrokerRun {
    /// Whether the machine was steady, as far as is known.
    #[must_use]
    pub fn machine_was_steady(&self) -> bool {
        self.machine_standstill.as_ref().is_none_or(MachineStandstill::is_steady)
    }
}

/// What a thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It answers requests.
    Request,
    /// It reads and writes sockets, and answers nothing itself.
    Network,
    /// It is there to wait for disks.
    Disk,
    /// It belongs to a garbage collector or its safepoints.
    Collector,
    /// Anything else.
    Other,
}

/// A thread that was found in uninterruptible sleep, in one look or in several after one another with the same stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// The thread's name.
    pub thread: String,
    /// What it is there for.
    pub role: Role,
    /// The first look that found it so.
    pub from_ms: f64,
    /// The last look, and one more interval: it may have gone on as long as that.
    pub to_ms: f64,
    /// How many looks.
    pub samples: u64,
    /// The kernel's functions, the innermost first.
    pub stack: Vec<String>,
}

/// What an incident is known by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// A few words: who waits where.
    pub name: String,
    /// Whether this broker is expected to show it, or it is no surprise that it was seen.
    pub expected: bool,
    /// Whether it did.
    pub seen: bool,
    /// How often.
    pub count: u64,
    /// One stack, the innermost function first; empty if it is known by something else, or was not seen.
    pub example: Vec<String>,
}

/// A stage that requests go through, by the broker's own account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Which requests, `Produce`.
    pub request: String,
    /// Which stage, `RequestQueueTimeMs`.
    pub stage: String,
    /// The 99th percentile over the last minutes, as it stood at the end of the calm phase.
    pub before_p99_ms: f64,
    /// The same at the end of the run, with the disturbance among these minutes.
    #[serde(alias = "during_p99_ms")]
    pub after_p99_ms: f64,
    /// The mean over the calm phase; `None` without requests.
    #[serde(default)]
    pub before_mean_ms: Option<f64>,
    /// The mean from the disturbance to the end of the run; `None` without requests, and of a broker that was started again.
    #[serde(default)]
    pub after_mean_ms: Option<f64>,
}

/// A moment at which a JVM has stopped its threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Safepoint {
    /// When.
    pub at_ms: f64,
    /// How long it took until all threads stood.
    pub reaching_ms: f64,
    /// How long they were stopped altogether.
    pub total_ms: f64,
    /// What for.
    pub reason: String,
}

/// The device's service times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Of reads.
    pub read: ServiceTimes,
    /// Of writes.
    pub write: ServiceTimes,
    /// Of flushes.
    pub flush: ServiceTimes,
}

/// One operation's service times by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceTimes {
    /// Before the disturbance.
    pub calm: Vec<Bucket>,
    /// During it.
    pub during: Vec<Bucket>,
    /// After it.
    pub after: Vec<Bucket>,
}

/// A bar of a histogram; bars come in rising order, and those without an operation may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Operations counted here took at most this long.
    pub up_to_us: u64,
    /// How many.
    pub count: u64,
}

/// Whether a broker that promises to keep its request threads off disks has done so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// No request thread was found waiting, and the guard has seen nothing.
    pub silent: bool,
    /// The request threads that were.
    pub stalls: Vec<Stall>,
    /// System calls on request threads that their guard has refused.
    pub guard_violations: u64,
}

/// What was expected, and whether it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// A sentence.
    pub text: String,
    /// Whether it was met.
    pub met: bool,
    /// A part of the incident that the broker has not got, so that its run says nothing of that; empty where there is none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(p999_us: u64) -> Latency {
        Latency {
            count: 80_000,
            p50_us: 1_300,
            p90_us: 1_700,
            p99_us: 2_200,
            p999_us,
            p9999_us: p999_us + 100,
            max_us: p999_us + 2_000,
            curve: vec![(0.0, 900), (50.0, 1_300), (99.9, p999_us), (100.0, p999_us + 2_000)],
        }
    }

    fn stall() -> Stall {
        Stall {
            thread: "data-plane-kafka-request-handler-0".to_owned(),
            role: Role::Request,
            from_ms: 21_000.5,
            to_ms: 21_150.25,
            samples: 3,
            stack: vec!["xfs_ilock".to_owned(), "xfs_file_buffered_write".to_owned()],
        }
    }

    fn run() -> Run {
        let latency = Latencies { calm: Some(latency(5_700)), during: Some(latency(848_000)), after: None };
        Run {
            format: FORMAT,
            incident: Story {
                name: "inode-lock".to_owned(),
                title: "A lagging reader holds the inode".to_owned(),
                explanation: "Reads take 20 ms.".to_owned(),
                control: false,
            },
            began: "2026-11-22T02:00:00Z".to_owned(),
            seed: u64::MAX,
            machine: Machine {
                kernel: "6.18.0".to_owned(),
                cpus: 2,
                memory_bytes: 24 << 30,
                cpu_model: "A \"quick\" one".to_owned(),
            },
            command: vec!["aplomb".to_owned(), "lab".to_owned(), "run".to_owned(), "inode-lock".to_owned()],
            brokers: vec![BrokerRun {
                broker: Broker {
                    kind: "kafka".to_owned(),
                    name: "Apache Kafka".to_owned(),
                    version: "4.4.0".to_owned(),
                    command: vec!["java".to_owned()],
                    jvm_flags: vec!["-Xmx1g".to_owned()],
                    java: Some("17.0.1".to_owned()),
                    overrides: vec!["num.io.threads=2".to_owned()],
                },
                disk: Disk {
                    filesystem: "xfs".to_owned(),
                    device: "loop7".to_owned(),
                    how: "fuse".to_owned(),
                },
                phases: vec![Phase {
                    name: PhaseName::During,
                    from_ms: 20_000.0,
                    to_ms: 50_000.125,
                    disturbance: "reads take 20 ms".to_owned(),
                }],
                seconds: vec![Second {
                    second: 21,
                    phase: PhaseName::During,
                    acknowledged: 4_000,
                    failed: 1,
                    produce: Some(Percentiles { p50_us: 1, p99_us: 2, p999_us: 3, max_us: 4 }),
                    end_to_end: None,
                    lagging_bytes: 50_000_000,
                }],
                amplification: latency.amplification(),
                latency,
                counted: Some(Counted {
                    who: "producers of the other log directory".to_owned(),
                    partitions: vec![1, 3],
                    others: Others { acknowledged: 1, failed: 2 },
                }),
                recovery: Some(Recovery {
                    killed_ms: 21_000.0,
                    started_ms: 21_400.5,
                    answers_ms: 22_000.25,
                    acknowledged_ms: Some(22_100.0),
                    acknowledged: 50_000,
                    missing: 0,
                    repeated: 1,
                }),
                sender_lateness_us: Lateness { p99: 80, max: 900 },
                machine_standstill: Some(MachineStandstill {
                    calm: Some(Percentiles { p50_us: 60, p99_us: 300, p999_us: 2_000, max_us: 9_000 }),
                    during: None,
                    after: None,
                }),
                sampling_ms: 50,
                stalls: vec![stall()],
                signatures: vec![Signature {
                    name: "a handler waits for the inode".to_owned(),
                    expected: true,
                    seen: true,
                    count: 17,
                    example: stall().stack,
                }],
                stages: vec![Stage {
                    request: "Produce".to_owned(),
                    stage: "LocalTimeMs".to_owned(),
                    before_p99_ms: 0.7,
                    after_p99_ms: 640.5,
                    before_mean_ms: Some(0.5),
                    after_mean_ms: None,
                }],
                safepoints: vec![Safepoint {
                    at_ms: 30_000.0,
                    reaching_ms: 425.3,
                    total_ms: 445.0,
                    reason: "G1CollectForAllocation".to_owned(),
                }],
                device: Device {
                    read: ServiceTimes {
                        calm: vec![],
                        during: vec![Bucket { up_to_us: 20_500, count: 900 }],
                        after: vec![],
                    },
                    ..Device::default()
                },
                witness: Some(Witness { silent: false, stalls: vec![stall()], guard_violations: 0 }),
                expectation: Expectation {
                    text: "p99.9 rises tenfold".to_owned(),
                    met: true,
                    lacks: "a cleaner".to_owned(),
                },
                log_excerpt: "[2026-11-22] <b>INFO</b>\n".to_owned(),
                commands: vec!["mkfs.xfs /dev/loop7".to_owned()],
                ended: Ended::Failed("the broker has died".to_owned()),
            }],
        }
    }

    #[test]
    fn a_record_reads_back_as_what_was_written() {
        let json = run().to_json().expect("finite numbers");
        assert_eq!(Run::from_json(json.as_bytes()).expect("our own"), run());
    }

    #[test]
    fn the_words_of_the_json_are_those_of_the_contract() {
        let json = serde_json::to_value(run()).expect("finite numbers");
        let broker = &json["brokers"][0];
        assert_eq!(json["incident"]["name"], "inode-lock");
        assert_eq!(broker["phases"][0]["name"], "during");
        assert_eq!(broker["stalls"][0]["role"], "request");
        assert_eq!(broker["latency"]["during"]["curve"][2], serde_json::json!([99.9, 848_000]));
        assert_eq!(broker["device"]["read"]["during"][0]["up_to_us"], 20_500);
        assert_eq!(broker["ended"]["failed"], "the broker has died");
        assert_eq!(serde_json::to_value(Ended::Completed).expect("a word"), "completed");
    }

    #[test]
    fn amplification_is_during_over_calm_and_absent_without_either() {
        let both = run().brokers.remove(0).latency;
        let amplification = both.amplification().expect("both phases have records");
        assert_eq!(amplification.p99, 1.0);
        assert!((amplification.p999 - 848_000.0 / 5_700.0).abs() < 1e-9);
        assert_eq!(Latencies { during: None, ..both }.amplification(), None);
    }

    #[test]
    fn a_record_from_before_there_were_kills_is_read() {
        let mut old = run();
        (old.brokers[0].counted, old.brokers[0].recovery) = (None, None);
        let json = old.to_json().expect("finite numbers");
        assert!(!json.contains("counted") && !json.contains("recovery"), "{json}");
        assert_eq!(Run::from_json(json.as_bytes()).expect("our own"), old);
    }

    #[test]
    fn a_broker_is_away_from_the_kill_to_the_first_acknowledgement() {
        let recovery = run().brokers.remove(0).recovery.expect("it was killed");
        assert_eq!((recovery.away_ms(), recovery.starting_ms()), (Some(1_100.0), Some(699.5)));
        assert_eq!(Recovery { acknowledged_ms: None, ..recovery }.away_ms(), None);
    }

    #[test]
    fn another_format_is_named_before_its_content_is_looked_at() {
        let other = Run::from_json(br#"{"format": 2, "incident": "another shape"}"#);
        assert!(matches!(other, Err(RecordError::OtherFormat { found: 2 })));
        for json in [&b"[]"[..], b"", b"{\"format\": 1}", b"\xff"] {
            assert!(matches!(Run::from_json(json), Err(RecordError::NotARecord(_))));
        }
    }
}
