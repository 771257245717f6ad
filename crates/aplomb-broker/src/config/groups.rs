//! Settings of the group coordinator (Apache Kafka 4.4.0: `GroupCoordinatorConfig`).

use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::group::{
    Bounded, ClassicSettings, ConsumerSettings, GroupSettings, MigrationPolicy, OffsetSettings,
};
use aplomb_model::ByteCount;
use aplomb_model::batch::Codec;

use super::error::ConfigError;
use super::reading::Reading;

/// Settings of the group coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupsConfig {
    /// Of groups and their offsets.
    pub settings: GroupSettings,
    /// `aplomb.groups.memory.bytes`
    pub memory: ByteCount,
    /// `group.coordinator.append.linger.ms`; `None`: until a turn of the event loop is over.
    pub linger: Option<Duration>,
    /// `offsets.commit.timeout.ms`
    pub commit_timeout: Duration,
    /// `offsets.load.buffer.size`
    pub load_buffer: ByteCount,
    /// `offsets.topic.num.partitions`
    pub topic_partitions: i32,
    /// `offsets.topic.replication.factor`
    pub topic_replication_factor: i16,
    /// `offsets.topic.segment.bytes`
    pub topic_segment: i32,
    /// `offsets.topic.compression.codec`
    pub compression: Codec,
}

impl GroupsConfig {
    pub(super) fn read(reading: &Reading) -> Result<Self, ConfigError> {
        Ok(Self {
            settings: GroupSettings {
                classic: ClassicSettings {
                    session_timeouts: reading.millis("group.min.session.timeout.ms")
                        ..=reading.millis("group.max.session.timeout.ms"),
                    initial_rebalance_delay: reading.millis("group.initial.rebalance.delay.ms"),
                    max_size: reading.count("group.max.size") as usize,
                },
                consumer: reading
                    .list("group.coordinator.rebalance.protocols")
                    .iter()
                    .any(|protocol| protocol == "consumer")
                    .then(|| consumer(reading))
                    .transpose()?,
                offsets: OffsetSettings {
                    retention: Duration::from_secs(
                        60 * u64::from(reading.count("offsets.retention.minutes")),
                    ),
                    check_interval: reading.millis("offsets.retention.check.interval.ms"),
                    metadata_max: reading.count("offset.metadata.max.bytes") as usize,
                },
            },
            memory: reading.bytes("aplomb.groups.memory.bytes"),
            linger: reading.limit("group.coordinator.append.linger.ms").map(Duration::from_millis),
            commit_timeout: reading.millis("offsets.commit.timeout.ms"),
            load_buffer: reading.bytes("offsets.load.buffer.size"),
            topic_partitions: reading.number("offsets.topic.num.partitions"),
            topic_replication_factor: i16::try_from(reading.number("offsets.topic.replication.factor"))
                .expect("the key is a 16-bit number"),
            topic_segment: reading.number("offsets.topic.segment.bytes"),
            compression: u8::try_from(reading.number("offsets.topic.compression.codec"))
                .ok()
                .and_then(Codec::from_id)
                .ok_or_else(|| {
                    reading
                        .conflict("offsets.topic.compression.codec", "0 to 4: none, gzip, snappy, lz4, zstd")
                })?,
        })
    }
}

fn consumer(reading: &Reading) -> Result<ConsumerSettings, ConfigError> {
    let assignors = reading.list("group.consumer.assignors");
    for assignor in &assignors {
        if !["uniform", "range"]
            .contains(&assignor.rsplit('.').next().map(str::to_lowercase).as_deref().unwrap_or_default())
        {
            return Err(reading
                .conflict("group.consumer.assignors", "uniform and range: Java classes cannot be loaded"));
        }
    }
    let policy = reading.text("group.consumer.migration.policy").to_lowercase();
    Ok(ConsumerSettings {
        session_timeout: bounded(reading, "session.timeout")?,
        heartbeat_interval: bounded(reading, "heartbeat.interval")?,
        hurried_interval: Some(reading.millis("aplomb.groups.rebalance.heartbeat.interval.ms"))
            .filter(|interval| !interval.is_zero()),
        assignment_interval: bounded(reading, "assignment.interval")?,
        max_size: reading.count("group.consumer.max.size") as usize,
        assignors: assignors.into_iter().map(Arc::from).collect(),
        migration: MigrationPolicy {
            upgrade: ["upgrade", "bidirectional"].contains(&policy.as_str()),
            downgrade: ["downgrade", "bidirectional"].contains(&policy.as_str()),
        },
    })
}

fn bounded(reading: &Reading, what: &str) -> Result<Bounded, ConfigError> {
    let name = format!("group.consumer.{what}.ms");
    let [min, max] = ["min", "max"].map(|bound| reading.millis(&format!("group.consumer.{bound}.{what}.ms")));
    let default = reading.millis(&name);
    if !(min <= default && default <= max) {
        let key = super::keys::broker_key(&name).expect("it is in the table").name;
        return Err(reading.conflict(key, format!("{} to {}", min.as_millis(), max.as_millis())));
    }
    Ok(Bounded { default, min, max })
}
