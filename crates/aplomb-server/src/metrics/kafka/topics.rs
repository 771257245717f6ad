//! What partitions count, by topic and in all (`BrokerTopicMetrics`); how their logs look (`Log`,
//! `Partition`); how many there are (`ReplicaManager`, `KafkaController`, `LogManager`).
//!
//! What always holds: totals do not fall when a topic is deleted.

use std::sync::Arc;

use aplomb_broker::figures::{Count, Counts, PartitionFigures};

use super::super::page::{Kind, Labels, Page};
use super::{BrokerFigures, per_sec};

/// A log, but no topic of a client.
const METADATA_LOG: &str = "__cluster_metadata";

/// What is counted by topic.
const BY_TOPIC: [([&str; 2], Count, &str); 8] = [
    (per_sec!("kafka_server_brokertopicmetrics_messagesin"), Count::MessagesIn, "Records appended."),
    (per_sec!("kafka_server_brokertopicmetrics_bytesin"), Count::BytesIn, "Bytes of batches appended."),
    (
        per_sec!("kafka_server_brokertopicmetrics_bytesout"),
        Count::BytesOut,
        "Bytes of batches sent to consumers.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_bytesrejected"),
        Count::BytesRejected,
        "Bytes of batches that were too large.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_totalproducerequests"),
        Count::ProduceRequests,
        "Batches that came, one for each partition of a produce request.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_failedproducerequests"),
        Count::FailedProduceRequests,
        "Batches refused, other than for size, checksum or a lost log directory.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_totalfetchrequests"),
        Count::FetchRequests,
        "Reads, one for each partition that a fetch request looks at.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_failedfetchrequests"),
        Count::FailedFetchRequests,
        "Reads that found a damaged segment.",
    ),
];

/// What is counted over all topics only.
const IN_ALL: [([&str; 2], Count, &str); 2] = [
    (
        per_sec!("kafka_server_brokertopicmetrics_invalidmessagecrcrecords"),
        Count::InvalidChecksums,
        "Batches with a wrong checksum.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_invalidoffsetorsequencerecords"),
        Count::InvalidSequences,
        "Batches of producers that were out of sequence.",
    ),
];

/// What a broker without replicas, message format conversions and elections by others does not do.
const NEVER: [([&str; 2], &str); 9] = [
    (
        per_sec!("kafka_server_brokertopicmetrics_producemessageconversions"),
        "Batches converted for an old message format: there is none any more.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_fetchmessageconversions"),
        "Batches converted for an old message format: there is none any more.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_replicationbytesin"),
        "Bytes from other brokers: there are none.",
    ),
    (
        per_sec!("kafka_server_brokertopicmetrics_replicationbytesout"),
        "Bytes to other brokers: there are none.",
    ),
    (
        per_sec!("kafka_server_replicamanager_isrexpands"),
        "In-sync replica sets that grew: each has one member.",
    ),
    (
        per_sec!("kafka_server_replicamanager_isrshrinks"),
        "In-sync replica sets that shrank: each has one member.",
    ),
    (
        per_sec!("kafka_server_replicamanager_failedisrupdates"),
        "In-sync replica sets that could not be changed.",
    ),
    (
        per_sec!("kafka_controller_controllerstats_uncleanleaderelections"),
        "Leaders elected that were not in sync: a partition's only replica leads it.",
    ),
    (
        per_sec!("kafka_controller_controllerstats_electionfromeligibleleaderreplicas"),
        "Leaders elected among eligible replicas: a partition's only replica leads it.",
    ),
];

/// The partitions that are here, as far as the page knows.
#[derive(Debug, Default)]
pub(super) struct Topics {
    partitions: Vec<Arc<PartitionFigures>>,
    /// What was counted for partitions that are gone.
    gone: Counts,
}

impl Topics {
    pub(super) fn put_on(&mut self, page: &mut Page, broker: &BrokerFigures) {
        self.refresh(broker);
        self.put_counts(page);
        self.put_logs(page);
        self.put_sums(page, broker);
    }

    /// Takes in what has come, and lets go of what is gone.
    pub(super) fn refresh(&mut self, broker: &BrokerFigures) {
        let Self { partitions, gone } = self;
        let known = partitions.len();
        for shard in &broker.shards {
            let newcomers = shard.take_newcomers();
            gone.add(&newcomers.gone);
            partitions.extend(newcomers.partitions);
        }
        let grown = partitions.len() > known;
        partitions.retain(|partition| {
            let here = !partition.is_gone();
            if !here {
                gone.add(&partition.counts());
            }
            here
        });
        if grown {
            partitions.sort_by(|one, other| one.name().cmp(other.name()));
        }
    }

    /// Where the log of a partition that is here ends.
    pub(super) fn end_of(&self, topic: &str, partition: i32) -> Option<u64> {
        let place = |of: &Arc<PartitionFigures>| {
            let name = of.name();
            (&*name.topic, name.partition.0).cmp(&(topic, partition))
        };
        let found = &self.partitions[self.partitions.binary_search_by(place).ok()?];
        (!found.is_offline()).then(|| found.extent().end)
    }

    /// Partitions of topics; the metadata log is none.
    pub(super) fn of_topics(&self) -> impl Iterator<Item = &Arc<PartitionFigures>> {
        self.partitions.iter().filter(|partition| &*partition.name().topic != METADATA_LOG)
    }

    /// What was counted, those that are gone included.
    pub(super) fn total(&self) -> Counts {
        let mut total = self.gone;
        self.of_topics().for_each(|partition| total.add(&partition.counts()));
        total
    }

    fn put_counts(&self, page: &mut Page) {
        let mut total = self.gone;
        let mut topics: Vec<(Arc<str>, Counts, u64)> = Vec::new();
        for partition in self.of_topics() {
            let counts = partition.counts();
            total.add(&counts);
            match topics.last_mut() {
                Some((name, sum, partitions)) if *name == partition.name().topic => {
                    sum.add(&counts);
                    *partitions += 1;
                }
                _ => topics.push((Arc::clone(&partition.name().topic), counts, 1)),
            }
        }
        let topics: Vec<(Labels, Counts, u64)> = topics
            .into_iter()
            .map(|(name, counts, partitions)| (Labels::new(&[("topic", &name)]), counts, partitions))
            .collect();
        let mut samples = page.samples("kafka_topic_partitions", Kind::Gauge, "Partitions of a topic.");
        for (labels, _, partitions) in &topics {
            samples.put(labels, partitions);
        }
        for (names, count, help) in BY_TOPIC {
            for name in names {
                let mut samples = page.samples(name, Kind::Counter, help);
                samples.put(&Labels::NONE, total.of(count));
                for (labels, counts, _) in &topics {
                    samples.put(labels, counts.of(count));
                }
            }
        }
        for (names, count, help) in IN_ALL {
            for name in names {
                page.counter(name, help, &[], total.of(count));
            }
        }
        for (names, help) in NEVER {
            for name in names {
                page.counter(name, help, &[], 0);
            }
        }
    }

    fn put_logs(&self, page: &mut Page) {
        let online = || self.partitions.iter().filter(|partition| !partition.is_offline());
        let labelled: Vec<_> = online()
            .map(|partition| {
                let name = partition.name();
                let number = name.partition.0.to_string();
                (Labels::new(&[("topic", &name.topic), ("partition", &number)]), partition.extent())
            })
            .collect();
        let mut put = |name, help, value: fn(&aplomb_broker::figures::LogExtent) -> u64| {
            let mut samples = page.samples(name, Kind::Gauge, help);
            for (labels, extent) in &labelled {
                samples.put(labels, value(extent));
            }
        };
        put("kafka_log_log_size", "Bytes of the log, those that only memory has included.", |log| log.size);
        put("kafka_log_log_numlogsegments", "Segments of the log.", |log| log.segments);
        put("kafka_log_log_logstartoffset", "The log's first offset.", |log| log.start);
        put("kafka_log_log_logendoffset", "The offset after the log's last.", |log| log.end);

        let topics: Vec<_> = online()
            .zip(&labelled)
            .filter(|(of, _)| &*of.name().topic != METADATA_LOG)
            .map(|(_, l)| l)
            .collect();
        let mut put = |name, help, value: fn(&aplomb_broker::figures::LogExtent) -> u64| {
            let mut samples = page.samples(name, Kind::Gauge, help);
            for (labels, extent) in &topics {
                samples.put(labels, value(extent));
            }
        };
        put("kafka_cluster_partition_laststableoffsetlag", "Offsets of undecided transactions.", |log| {
            log.stable_lag
        });
        // By the names of what people run an exporter for.
        put("kafka_topic_partition_current_offset", "The offset after the log's last.", |log| log.end);
        put("kafka_topic_partition_oldest_offset", "The log's first offset.", |log| log.start);
        put("kafka_cluster_partition_replicascount", "Replicas.", |_| 1);
        put("kafka_cluster_partition_insyncreplicascount", "Replicas in sync.", |_| 1);
        put(
            "kafka_cluster_partition_underreplicated",
            "Whether replicas are out of sync: there is one.",
            |_| 0,
        );
        put("kafka_cluster_partition_underminisr", "Whether fewer are in sync than have to be.", |_| 0);
        // `min.insync.replicas` asks for no more replicas than there are (KIP-966), and Apache
        // Kafka says 1 here for one replica.
        put("kafka_cluster_partition_atminisr", "Whether no more are in sync than have to be.", |_| 1);
    }

    fn put_sums(&self, page: &mut Page, broker: &BrokerFigures) {
        let all = self.of_topics().count() as u64;
        let offline = self.of_topics().filter(|partition| partition.is_offline()).count() as u64;
        let (topics, partitions) =
            broker.shards.iter().map(|shard| shard.cluster()).max().unwrap_or_default();
        let lost = (0..broker.directories.len()).map(|n| broker.shards.iter().any(|shard| shard.is_lost(n)));
        let lost: Vec<bool> = lost.collect();
        for (name, help, value) in [
            ("kafka_server_replicamanager_partitioncount", "Partitions here.", all),
            ("kafka_server_replicamanager_leadercount", "Partitions that this broker leads.", all - offline),
            (
                "kafka_server_replicamanager_offlinereplicacount",
                "Partitions on lost log directories.",
                offline,
            ),
            (
                "kafka_server_replicamanager_underreplicatedpartitions",
                "Partitions with replicas out of sync.",
                0,
            ),
            ("kafka_server_replicamanager_underminisrpartitioncount", "Partitions with too few in sync.", 0),
            (
                "kafka_server_replicamanager_atminisrpartitioncount",
                "Partitions with just enough in sync.",
                all - offline,
            ),
            ("kafka_server_replicamanager_reassigningpartitions", "Partitions on their way elsewhere.", 0),
            ("kafka_controller_kafkacontroller_activecontrollercount", "Whether the controller is here.", 1),
            ("kafka_controller_kafkacontroller_activebrokercount", "Brokers of the cluster.", 1),
            ("kafka_controller_kafkacontroller_fencedbrokercount", "Brokers that are shut out.", 0),
            ("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster.", topics),
            (
                "kafka_controller_kafkacontroller_globalpartitioncount",
                "Partitions of the cluster.",
                partitions,
            ),
            (
                "kafka_controller_kafkacontroller_offlinepartitionscount",
                "Partitions without a leader.",
                partitions.saturating_sub(all - offline),
            ),
            (
                "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
                "Partitions that another than the preferred replica leads.",
                0,
            ),
            (
                "kafka_log_logmanager_offlinelogdirectorycount",
                "Lost log directories.",
                (lost.iter().filter(|lost| **lost).count() + broker.lost.len()) as u64,
            ),
        ] {
            page.gauge(name, help, &[], value as f64);
        }
        let from_the_start = broker.lost.iter().map(|directory| (directory, true));
        for (directory, lost) in broker.directories.iter().zip(lost).chain(from_the_start) {
            let name = "kafka_log_logmanager_logdirectoryoffline";
            let help = "Whether the log directory is lost.";
            page.gauge(name, help, &[("logDirectory", directory)], f64::from(lost));
        }
        for (n, directory) in broker.directories.iter().enumerate() {
            let Some((total, usable)) = broker.shards.iter().find_map(|shard| shard.space(n)) else {
                continue;
            };
            let labels = [("directory", directory.as_str())];
            page.gauge("aplomb_disk_size_bytes", "Size of the file system.", &labels, total as f64);
            page.gauge("aplomb_disk_usable_bytes", "Room on the file system.", &labels, usable as f64);
        }
    }
}
