//! What a run is to do. Checked once, by [`Spec::check`], before anything is opened.

use std::time::Duration;

use aplomb_model::batch::Codec;
use aplomb_security::client::{ClientSecurity, Credentials};
use serde_json::{Value, json};

use crate::BenchError;
use crate::entry::Entry;
use crate::payload::STAMP_SIZE;

/// A run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Brokers to begin with, as `host:port`.
    pub bootstrap: Vec<String>,
    /// The topic's name.
    pub topic: String,
    /// How to make the topic if it is not there; without this it has to be.
    pub create: Option<NewTopic>,
    /// Who does what.
    pub workload: Workload,
    /// How long is measured.
    pub duration: Duration,
    /// How long the load runs before that; its records count for nothing.
    pub warm_up: Duration,
    /// How long answers are waited for after the last record was due.
    pub drain: Duration,
    /// A request without an answer for this long costs its connection (`request.timeout.ms`).
    pub request_timeout: Duration,
    /// Threads, each with an event loop; the clients are dealt out to them.
    pub threads: usize,
    /// What clients call themselves.
    pub client_id: String,
    /// How they get in.
    pub security: ClientSecurity,
    /// How records are produced.
    pub producers: ProducerSpec,
    /// How records are read.
    pub consumers: ConsumerSpec,
    /// Partitions that are written to and read from; without it, all.
    pub only: Option<Vec<usize>>,
    /// Whether the report has a [`Ledger`](crate::Ledger): 16 bytes for each record that was
    /// acknowledged.
    pub ledger: bool,
}

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Producers only.
    Produce,
    /// Consumers only, of what is there.
    Consume,
    /// Producers, and consumers at the log's end.
    EndToEnd,
}

/// A topic to be made.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// How many partitions it gets.
    pub partitions: i32,
    /// Its replicas; -1 for the broker's default.
    pub replication_factor: i16,
    /// Topic settings, as name and value.
    pub configs: Vec<(String, String)>,
}

/// How records are produced. The defaults are those of Apache Kafka's producer.
#[derive(Clone, Debug)]
pub struct ProducerSpec {
    /// Producers, each with a connection to every broker that leads a partition.
    pub clients: usize,
    /// Records a second, all producers together.
    pub rate: u64,
    /// Bytes of a record's value.
    pub record_size: usize,
    /// Bytes of a record's key, where the distribution has keys.
    pub key_size: usize,
    /// Which key, and so which partition.
    pub keys: KeyDistribution,
    /// Acknowledgements: 0, 1, or -1 for all in-sync replicas.
    pub acks: i16,
    /// How batches are compressed.
    pub compression: Codec,
    /// A batch waits this long for more records, from the time at which its first one was due.
    pub linger: Duration,
    /// Bytes after which a batch is full, before compression.
    pub batch_size: usize,
    /// Bytes of records in a request (`max.request.size`); one batch may exceed it.
    pub max_request_size: usize,
    /// Requests without an answer, per connection.
    pub max_in_flight: usize,
    /// Whether batches carry a producer id and sequence numbers.
    pub idempotent: bool,
    /// Bytes of records that one producer holds; beyond it the schedule goes on and records are
    /// made later, from the times at which they were due.
    pub buffer_memory: usize,
    /// A record is given up after this (`delivery.timeout.ms`).
    pub delivery_timeout: Duration,
}

impl Default for ProducerSpec {
    fn default() -> Self {
        Self {
            clients: 1,
            rate: 10_000,
            record_size: 1024,
            key_size: 16,
            keys: KeyDistribution::Sticky,
            acks: -1,
            compression: Codec::None,
            linger: Duration::from_millis(5),
            batch_size: 16 * 1024,
            max_request_size: 1024 * 1024,
            max_in_flight: 5,
            idempotent: true,
            buffer_memory: 64 * 1024 * 1024,
            delivery_timeout: Duration::from_secs(120),
        }
    }
}

/// Which key a record has, and so which partition it goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDistribution {
    /// None; one partition until its batch goes, then the next, as Kafka's producer does.
    Sticky,
    /// None; the partitions in turn, record by record.
    RoundRobin,
    /// One of so many, each as likely as any other.
    Uniform(u64),
    /// One of so many, the k-th with a weight of `1 / k^exponent`.
    Zipf {
        /// How many.
        keys: u64,
        /// How uneven: 0 is uniform, 1 is the classical law.
        exponent: f64,
    },
}

/// How records are read.
#[derive(Clone, Debug)]
pub struct ConsumerSpec {
    /// Consumers; the partitions are dealt out to them.
    pub clients: usize,
    /// Where [`Workload::Consume`] begins.
    pub from: From,
    /// Fetches a second, all consumers together, at times fixed beforehand; without it a fetch
    /// follows the answer to the last.
    pub fetch_rate: Option<u64>,
    /// How long a broker may wait for records (`fetch.max.wait.ms`).
    pub max_wait: Duration,
    /// Bytes that end that wait (`fetch.min.bytes`).
    pub min_bytes: i32,
    /// Bytes of a response (`fetch.max.bytes`).
    pub max_bytes: i32,
    /// Bytes of a partition in a response (`max.partition.fetch.bytes`).
    pub max_partition_bytes: i32,
}

/// Where consumers begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// At the first record; the run ends early when everything that was there at its start has been
    /// read.
    Beginning,
    /// Behind the last record.
    End,
}

impl Default for ConsumerSpec {
    fn default() -> Self {
        Self {
            clients: 1,
            from: From::Beginning,
            fetch_rate: None,
            max_wait: Duration::from_millis(500),
            min_bytes: 1,
            max_bytes: 50 * 1024 * 1024,
            max_partition_bytes: 1024 * 1024,
        }
    }
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            bootstrap: vec!["localhost:9092".to_owned()],
            topic: "aplomb-bench".to_owned(),
            create: None,
            workload: Workload::Produce,
            duration: Duration::from_secs(30),
            warm_up: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            request_timeout: Duration::from_secs(30),
            threads: 1,
            client_id: "aplomb-bench".to_owned(),
            security: ClientSecurity::default(),
            producers: ProducerSpec::default(),
            consumers: ConsumerSpec::default(),
            only: None,
            ledger: false,
        }
    }
}

/// The most keys of a Zipf distribution: each costs eight bytes.
const MOST_ZIPF_KEYS: u64 = 10_000_000;

impl Workload {
    /// Whether there are producers.
    #[must_use]
    pub fn produces(self) -> bool {
        matches!(self, Self::Produce | Self::EndToEnd)
    }

    /// Whether there are consumers.
    #[must_use]
    pub fn consumes(self) -> bool {
        matches!(self, Self::Consume | Self::EndToEnd)
    }

    /// As in commands and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Produce => "produce",
            Self::Consume => "consume",
            Self::EndToEnd => "end-to-end",
        }
    }
}

impl Spec {
    pub(crate) fn entry(&self) -> Entry {
        Entry::new(&self.client_id, &self.security)
    }

    /// Says what is wrong, if something is.
    ///
    /// # Errors
    /// [`BenchError::Spec`] with one sentence.
    pub fn check(&self) -> Result<(), BenchError> {
        let p = &self.producers;
        let wrong = |what: &str| Err(BenchError::Spec(what.to_owned()));
        if self.bootstrap.is_empty() {
            return wrong("there is no broker to begin with");
        }
        if self.only.as_ref().is_some_and(Vec::is_empty) {
            return wrong("there is no partition to write to or to read from");
        }
        if self.threads == 0 || self.duration.is_zero() {
            return wrong("a run has at least one thread and lasts longer than nothing");
        }
        if self.workload.produces() {
            if p.clients == 0 || p.rate == 0 || p.max_in_flight == 0 {
                return wrong("producers, their rate and their requests in flight are at least 1");
            }
            if p.record_size < STAMP_SIZE {
                return wrong("a record has at least 16 bytes: it carries the time at which it was due");
            }
            if !(-1..=1).contains(&p.acks) {
                return wrong("acks is 0, 1 or -1 (all)");
            }
            if p.idempotent && p.acks != -1 {
                return wrong("an idempotent producer needs acks=all");
            }
            if p.idempotent && p.max_in_flight > 5 {
                return wrong("an idempotent producer has at most 5 requests in flight");
            }
            if p.buffer_memory < p.batch_size.max(p.record_size + p.key_size) {
                return wrong("buffer memory is less than one batch");
            }
            match p.keys {
                KeyDistribution::Uniform(0) | KeyDistribution::Zipf { keys: 0, .. } => {
                    return wrong("a distribution has at least one key");
                }
                KeyDistribution::Zipf { keys, .. } if keys > MOST_ZIPF_KEYS => {
                    return wrong("a zipf distribution has at most 10000000 keys");
                }
                KeyDistribution::Zipf { exponent, .. } if !exponent.is_finite() || exponent < 0.0 => {
                    return wrong("a zipf distribution's exponent is a number from 0");
                }
                _ => {}
            }
        }
        if self.workload.consumes() && (self.consumers.clients == 0 || self.consumers.fetch_rate == Some(0)) {
            return wrong("consumers and their rate of fetches are at least 1");
        }
        Ok(())
    }

    /// The configuration as it stands in a report.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (p, c) = (&self.producers, &self.consumers);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mut json = json!({
            "bootstrap": self.bootstrap, "topic": self.topic, "workload": self.workload.name(),
            "duration_ms": ms(self.duration), "warm_up_ms": ms(self.warm_up), "drain_ms": ms(self.drain),
            "request_timeout_ms": ms(self.request_timeout), "threads": self.threads, "client_id": self.client_id,
            "tls": self.security.tls.is_some(),
            "sasl_mechanism": self.security.login.as_ref().map(Credentials::mechanism),
        });
        if let Some(only) = &self.only {
            json["only_partitions"] = json!(only);
        }
        if self.workload.produces() {
            json["producers"] = json!({
                "clients": p.clients, "records_per_second": p.rate, "record_bytes": p.record_size,
                "key_bytes": p.key_size, "keys": keys_name(p.keys), "acks": p.acks, "compression": p.compression.name(),
                "linger_ms": ms(p.linger), "batch_bytes": p.batch_size, "max_request_bytes": p.max_request_size,
                "max_in_flight": p.max_in_flight, "idempotent": p.idempotent, "buffer_bytes": p.buffer_memory,
                "delivery_timeout_ms": ms(p.delivery_timeout),
            });
        }
        if self.workload.consumes() {
            json["consumers"] = json!({
                "clients": c.clients, "fetches_per_second": c.fetch_rate, "max_wait_ms": ms(c.max_wait),
                "from": if c.from == From::End || self.workload == Workload::EndToEnd { "end" } else { "beginning" },
                "min_bytes": c.min_bytes, "max_bytes": c.max_bytes, "max_partition_bytes": c.max_partition_bytes,
            });
        }
        json
    }
}

fn keys_name(keys: KeyDistribution) -> String {
    match keys {
        KeyDistribution::Sticky => "none".to_owned(),
        KeyDistribution::RoundRobin => "round-robin".to_owned(),
        KeyDistribution::Uniform(n) => format!("uniform:{n}"),
        KeyDistribution::Zipf { keys, exponent } => format!("zipf:{keys}:{exponent}"),
    }
}

impl std::str::FromStr for KeyDistribution {
    type Err = String;

    /// `none`, `round-robin`, `uniform:KEYS`, `zipf:KEYS` or `zipf:KEYS:EXPONENT`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "none, round-robin, uniform:KEYS or zipf:KEYS[:EXPONENT] is expected".to_owned();
        let parts: Vec<&str> = text.split(':').collect();
        let number = |text: &str| text.parse::<u64>().map_err(|_| expected());
        match parts[..] {
            ["none"] => Ok(Self::Sticky),
            ["round-robin"] => Ok(Self::RoundRobin),
            ["uniform", keys] => Ok(Self::Uniform(number(keys)?)),
            ["zipf", keys] => Ok(Self::Zipf { keys: number(keys)?, exponent: 1.0 }),
            ["zipf", keys, exponent] => {
                Ok(Self::Zipf { keys: number(keys)?, exponent: exponent.parse().map_err(|_| expected())? })
            }
            _ => Err(expected()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_reads_back_from_its_name() {
        for text in ["none", "round-robin", "uniform:10", "zipf:100:0.9"] {
            assert_eq!(keys_name(text.parse().unwrap()), text);
        }
        for text in ["", "uniform", "uniform:x", "zipf:1:2:3", "zipf:1:x"] {
            assert!(text.parse::<KeyDistribution>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert!(Spec::default().check().is_ok());
        let refused = |change: fn(&mut Spec)| {
            let mut spec = Spec::default();
            change(&mut spec);
            assert!(matches!(spec.check(), Err(BenchError::Spec(_))));
        };
        refused(|spec| spec.producers.acks = 1);
        refused(|spec| spec.producers.record_size = 15);
        refused(|spec| spec.producers.rate = 0);
        refused(|spec| spec.producers.keys = KeyDistribution::Uniform(0));
        refused(|spec| spec.producers.keys = KeyDistribution::Zipf { keys: 3, exponent: f64::NAN });
        refused(|spec| spec.bootstrap.clear());
        refused(|spec| spec.only = Some(Vec::new()));
    }
}
