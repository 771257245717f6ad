//! The broker's own settings, checked and understood: the result of reading `server.properties`
//! once, at start.
//!
//! [`BrokerConfig::properties`] keeps what was written, for DescribeConfigs and for the defaults
//! that topics inherit, which [`super::layers`] resolves together with what was changed at run
//! time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{BrokerId, ByteCount};

use super::access::AccessConfig;
use super::cleaner::CleanerConfig;
use super::error::{ConfigError, Warning};
use super::groups::GroupsConfig;
use super::key::{ConfigKey, Meaning, Update};
use super::keys::{broker_key, is_of_a_listeners_stores, is_of_listener_limits, is_of_the_file_alone};
use super::layers::{Layers, Properties};
use super::listener_limits::{self, ListenerLimits};
use super::listeners::Listener;
use super::metrics_access::MetricsAccess;
use super::quotas::QuotasConfig;
use super::reading::{Reading, accept_or_suggest};
use super::security::SecurityConfig;
use super::tokens::TokensConfig;
use super::transactions::TransactionsConfig;

/// What happens when a request thread makes a system call that could wait for a disk
/// (`aplomb.guard`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Nothing: no filter is installed.
    Off,
    /// A line in the log.
    Log,
    /// The call fails.
    Enforce,
}

/// How disks are spoken to (`aplomb.disk.engine`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskEngineChoice {
    /// io_uring where the kernel has it, for all that waits for the device; else threads.
    Auto,
    /// io_uring, or the start fails.
    IoUring,
    /// Threads with blocking calls.
    Threads,
}

/// Settings of sockets and connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkConfig {
    /// `listeners` of the broker.
    pub listeners: Vec<Listener>,
    /// `listeners` of the controller; part of the node's registration, and never
    /// opened: the quorum is this process.
    pub controller_listeners: Vec<Listener>,
    /// `advertised.listeners`: what clients are told.
    pub advertised: Vec<Listener>,
    /// `socket.send.buffer.bytes`; `None` leaves it to the system.
    pub send_buffer: Option<u32>,
    /// `socket.receive.buffer.bytes`; `None` leaves it to the system.
    pub receive_buffer: Option<u32>,
    /// `socket.listen.backlog.size`
    pub backlog: u32,
    /// `socket.request.max.bytes`
    pub max_request: ByteCount,
    /// The smaller of `aplomb.frames.max.bytes` and `queued.max.request.bytes`: requests in memory,
    /// all connections together.
    pub frames: ByteCount,
    /// `aplomb.frames.min.rate`, in a second.
    pub min_frame_rate: ByteCount,
    /// `aplomb.replies.max.bytes`: replies that clients have not taken, all connections together.
    pub replies: ByteCount,
    /// `aplomb.produce.decompressed.max.bytes`: what the batches of one request may stand for.
    pub decompressed: ByteCount,
    /// `max.connections`
    pub max_connections: u32,
    /// `max.connection.creation.rate`, in a second; `None` is as many as come.
    pub connection_rate: Option<u32>,
    /// What single listeners may have of both.
    pub of_listeners: BTreeMap<Arc<str>, ListenerLimits>,
    /// `max.connections.per.ip`
    pub max_connections_per_ip: u32,
    /// `max.connections.per.ip.overrides`: address and limit.
    pub per_ip_overrides: Vec<(String, u32)>,
    /// `connections.max.idle.ms`; `None` is never.
    pub max_idle: Option<Duration>,
    /// `aplomb.shards`: event loops; `None` is one for every two processors, and no more than
    /// `most_shards`.
    pub shards: Option<u16>,
    /// `num.network.threads`, where it is set.
    pub most_shards: Option<u16>,
    /// `fetch.max.bytes`
    pub max_fetch: ByteCount,
    /// `max.incremental.fetch.session.cache.slots`
    pub fetch_sessions: u32,
    /// `aplomb.fetch.partitions.max`: in all sessions, and in all requests that wait.
    pub fetch_partitions: u32,
    /// `max.request.partition.size.limit`: partitions in one DescribeTopicPartitions response.
    pub max_response_partitions: i32,
    /// `aplomb.metrics.listener`
    pub metrics_listener: Option<String>,
    /// `aplomb.metrics.ssl.*`, `aplomb.metrics.user`
    pub metrics_access: MetricsAccess,
    /// `aplomb.slow.request.ms`; `None`: by how long others take.
    pub slow_request: Option<Duration>,
    /// `aplomb.metrics.groups.max`, if there is a listener.
    pub shown_groups: u32,
}

/// Settings of data directories and of what is written into them.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// `log.dirs`, or `log.dir`.
    pub log_dirs: Vec<String>,
    /// `cordoned.log.dirs`: those of `log_dirs` that get no new partitions.
    pub cordoned_log_dirs: Vec<String>,
    /// `metadata.log.dir`, or the first of `log_dirs`.
    pub metadata_log_dir: String,
    /// `log.retention.check.interval.ms`
    pub retention_check: Duration,
    /// The shorter of `aplomb.recovery.point.interval.ms` and
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_checkpoint: Duration,
    /// `num.recovery.threads.per.data.dir`
    pub recovery_threads: u32,
    /// `producer.id.expiration.ms`
    pub producer_id_expiration: Duration,
    /// `aplomb.tail.dir`
    pub tail_dir: String,
    /// `aplomb.tail.bytes`
    pub tail_bytes: ByteCount,
    /// `aplomb.flush.interval.ms`
    pub flush_interval: Duration,
    /// How many partitions a round of syncs asks in a turn, or tells. No setting; simulations have
    /// fewer.
    pub partitions_a_turn: usize,
    /// `aplomb.stall.fence.ms`
    pub stall_fence: Duration,
    /// `aplomb.disk.engine`
    pub disk_engine: DiskEngineChoice,
    /// `aplomb.readahead.bytes`, for each disk.
    pub readahead: ByteCount,
    /// `aplomb.fetch.memory.bytes`, for each disk.
    pub fetch_memory: ByteCount,
    /// `aplomb.produce.waiting.max.bytes`, for each disk.
    pub waiting: ByteCount,
    /// `replica.alter.log.dirs.io.max.bytes.per.second`; `None` is as fast as can be.
    pub move_rate: Option<u64>,
    /// Compaction.
    pub cleaner: CleanerConfig,
}

/// Settings of the metadata log and of topics to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataConfig {
    /// `num.partitions`
    pub default_partitions: i32,
    /// `default.replication.factor`
    pub default_replication_factor: i16,
    /// `auto.create.topics.enable`
    pub auto_create_topics: bool,
    /// `delete.topic.enable`
    pub delete_topics: bool,
    /// Whether voters are in the log (`kraft.version` 1): with
    /// `controller.quorum.bootstrap.servers` and a listener for the controller, and without
    /// `controller.quorum.voters`.
    pub dynamic_voters: bool,
    /// `metadata.log.segment.bytes`
    pub segment_bytes: ByteCount,
    /// `metadata.log.segment.ms`
    pub segment_age: Duration,
    /// `metadata.log.max.record.bytes.between.snapshots`
    pub snapshot_bytes: ByteCount,
    /// `metadata.log.max.snapshot.interval.ms`; `None` is no limit.
    pub snapshot_interval: Option<Duration>,
}

/// All settings of this broker.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerConfig {
    /// `node.id`
    pub node_id: BrokerId,
    /// `broker.rack`
    pub rack: Option<String>,
    /// Sockets and connections.
    pub network: NetworkConfig,
    /// Data directories.
    pub storage: StorageConfig,
    /// The metadata log and topic creation.
    pub metadata: MetadataConfig,
    /// Groups of consumers, and their offsets.
    pub groups: GroupsConfig,
    /// `aplomb.guard`
    pub guard: Guard,
    /// Transactional ids, and partitions that are written to in transactions.
    pub transactions: TransactionsConfig,
    /// What clients may use.
    pub quotas: QuotasConfig,
    /// Who may do what.
    pub access: AccessConfig,
    /// How clients say who they are.
    pub security: SecurityConfig,
    /// Delegation tokens.
    pub tokens: TokensConfig,
    /// What was written, under the names of the tables.
    pub properties: Properties,
}

impl BrokerConfig {
    /// Reads the settings of a `server.properties`, already taken apart into names and values. An
    /// empty one makes a single broker on localhost:9092 with its data in `./aplomb-data`.
    ///
    /// # Errors
    /// When a name is unknown, a value is not one, or two settings contradict each other. One
    /// sentence names the key, the value and what would be accepted.
    pub fn from_properties(properties: &Properties) -> Result<(Self, Vec<Warning>), ConfigError> {
        let (reading, warnings) = Reading::checked(properties)?;
        let network = NetworkConfig::read(&reading)?;
        let config = Self {
            node_id: reading.node_id()?,
            rack: reading.optional_text("broker.rack"),
            security: SecurityConfig::read(&reading, &network.listeners)?,
            network,
            storage: StorageConfig::read(&reading)?,
            metadata: MetadataConfig::read(&reading)?,
            groups: GroupsConfig::read(&reading)?,
            guard: match reading.text("aplomb.guard").as_str() {
                "off" => Guard::Off,
                "enforce" => Guard::Enforce,
                _ => Guard::Log,
            },
            transactions: TransactionsConfig::read(&reading),
            quotas: QuotasConfig::read(&reading),
            access: AccessConfig::read(&reading)?,
            tokens: TokensConfig::read(&reading),
            properties: reading.into_properties(),
        };
        Ok((config, warnings))
    }
}

impl BrokerConfig {
    /// These settings with what was changed at run time. [`Self::properties`] stays what was
    /// written.
    ///
    /// # Errors
    /// When the settings contradict each other.
    pub fn in_force(&self, layers: &Layers<'_>) -> Result<Self, ConfigError> {
        let can_change = |key: &ConfigKey| {
            key.update != Update::ReadOnly
                && matches!(key.meaning, Meaning::Used(path) if !path.starts_with("security."))
                && !is_of_the_file_alone(key)
        };
        let mut properties = self.properties.clone();
        for (name, value) in layers.for_all.iter().chain(layers.for_this) {
            if broker_key(name).is_some_and(can_change) {
                properties.insert(name.clone(), value.clone());
            }
        }
        let of_listeners = layers
            .for_this
            .iter()
            .filter(|(name, _)| is_of_a_listeners_stores(name) || is_of_listener_limits(name));
        properties.extend(of_listeners.map(|(name, value)| (name.clone(), value.clone())));
        let (changed, _) = Self::from_properties(&properties)?;
        Ok(Self { properties: self.properties.clone(), ..changed })
    }

    /// Whether a setting of this name is in a table, or belongs to a plug-in or a listener.
    ///
    /// # Errors
    /// [`ConfigError::UnknownKey`] with the nearest name, if it is neither.
    pub fn check_name(name: &str) -> Result<(), ConfigError> {
        if broker_key(name).is_some() { Ok(()) } else { accept_or_suggest(name).map(drop) }
    }
}

impl NetworkConfig {
    /// How many event loops there are on a machine with so many processors.
    ///
    /// One for every two, unless the settings say otherwise: the other half is for disks, the
    /// kernel's network and other processes. With one for each, requests hop between
    /// loops that are hardly busy, and waking a thread costs more than what it then does
    /// (docs/operating/benchmarks.md).
    #[must_use]
    pub fn shards_on(&self, processors: usize) -> u16 {
        let half = few(processors / 2).max(1);
        self.shards.unwrap_or_else(|| half.min(self.most_shards.unwrap_or(u16::MAX)))
    }

    /// How many connections single listeners may have at one time.
    #[must_use]
    pub fn connections_of_listeners(&self) -> BTreeMap<Arc<str>, u32> {
        let of = |(name, limits): (&Arc<str>, &ListenerLimits)| Some((Arc::clone(name), limits.connections?));
        self.of_listeners.iter().filter_map(of).collect()
    }

    fn read(reading: &Reading) -> Result<Self, ConfigError> {
        let listeners = reading.listeners()?;
        let max_request = reading.bytes("socket.request.max.bytes");
        let queued = reading.limit("queued.max.request.bytes").filter(|bytes| *bytes > 0).map(ByteCount);
        if let Some(queued) = queued.filter(|queued| *queued < max_request) {
            return Err(ConfigError::Conflict {
                name: "queued.max.request.bytes",
                value: queued.0.to_string(),
                accepted: format!("-1, or at least socket.request.max.bytes={}", max_request.0),
            });
        }
        let frames = reading.bytes("aplomb.frames.max.bytes");
        if frames < max_request {
            return Err(ConfigError::Conflict {
                name: "aplomb.frames.max.bytes",
                value: frames.0.to_string(),
                accepted: format!("at least socket.request.max.bytes={}", max_request.0),
            });
        }
        let per_ip_overrides = reading.per_ip_overrides()?;
        if reading.count("max.connections.per.ip") == 0 && per_ip_overrides.is_empty() {
            return Err(ConfigError::Conflict {
                name: "max.connections.per.ip",
                value: "0".to_owned(),
                accepted: "0 only together with max.connections.per.ip.overrides, else at least 1".to_owned(),
            });
        }
        let threads = reading.optional_number("num.network.threads").map(few);
        let of_listeners = listener_limits::read(reading, &listeners.broker);
        Ok(Self {
            listeners: listeners.broker,
            controller_listeners: listeners.controller,
            advertised: listeners.advertised,
            send_buffer: reading
                .limit("socket.send.buffer.bytes")
                .and_then(|bytes| u32::try_from(bytes).ok()),
            receive_buffer: reading
                .limit("socket.receive.buffer.bytes")
                .and_then(|bytes| u32::try_from(bytes).ok()),
            backlog: reading.count("socket.listen.backlog.size"),
            max_request,
            frames: queued.map_or(frames, |queued| queued.min(frames)),
            decompressed: reading.bytes("aplomb.produce.decompressed.max.bytes"),
            min_frame_rate: reading.bytes("aplomb.frames.min.rate"),
            replies: reading.bytes("aplomb.replies.max.bytes"),
            max_connections: reading.count("max.connections"),
            connection_rate: Some(reading.count("max.connection.creation.rate"))
                .filter(|rate| *rate < i32::MAX.unsigned_abs()),
            of_listeners,
            max_connections_per_ip: reading.count("max.connections.per.ip"),
            per_ip_overrides,
            max_idle: reading.limit("connections.max.idle.ms").map(Duration::from_millis),
            shards: reading.optional_number("aplomb.shards").map(few),
            most_shards: threads.filter(|_| reading.is_set("num.network.threads")),
            max_fetch: reading.bytes("fetch.max.bytes"),
            fetch_sessions: reading.count("max.incremental.fetch.session.cache.slots"),
            fetch_partitions: reading.count("aplomb.fetch.partitions.max"),
            max_response_partitions: reading.number("max.request.partition.size.limit"),
            shown_groups: reading.count("aplomb.metrics.groups.max"),
            slow_request: reading
                .optional_number("aplomb.slow.request.ms")
                .and_then(|millis| u64::try_from(millis).ok())
                .map(Duration::from_millis),
            metrics_listener: reading.optional_text("aplomb.metrics.listener"),
            metrics_access: MetricsAccess::read(reading)?,
        })
    }
}

impl StorageConfig {
    fn read(reading: &Reading) -> Result<Self, ConfigError> {
        let log_dirs = reading.log_dirs()?;
        let recovery_points = reading.millis("aplomb.recovery.point.interval.ms");
        let kafkas = reading.millis("log.flush.offset.checkpoint.interval.ms");
        Ok(Self {
            cordoned_log_dirs: reading.cordoned_log_dirs(&log_dirs)?,
            metadata_log_dir: reading
                .optional_text("metadata.log.dir")
                .unwrap_or_else(|| log_dirs[0].clone()),
            log_dirs,
            retention_check: reading.millis("log.retention.check.interval.ms"),
            recovery_point_checkpoint: recovery_points.min(kafkas),
            recovery_threads: reading.count("num.recovery.threads.per.data.dir"),
            producer_id_expiration: reading.millis("producer.id.expiration.ms"),
            tail_dir: reading.text("aplomb.tail.dir"),
            tail_bytes: reading.bytes("aplomb.tail.bytes"),
            flush_interval: reading.millis("aplomb.flush.interval.ms"),
            partitions_a_turn: 1024,
            stall_fence: reading.millis("aplomb.stall.fence.ms"),
            disk_engine: match reading.text("aplomb.disk.engine").as_str() {
                "io_uring" => DiskEngineChoice::IoUring,
                "threads" => DiskEngineChoice::Threads,
                _ => DiskEngineChoice::Auto,
            },
            readahead: reading.bytes("aplomb.readahead.bytes"),
            fetch_memory: reading.bytes("aplomb.fetch.memory.bytes"),
            waiting: reading.bytes("aplomb.produce.waiting.max.bytes"),
            move_rate: reading
                .limit("replica.alter.log.dirs.io.max.bytes.per.second")
                .filter(|rate| *rate < i64::MAX as u64),
            cleaner: CleanerConfig::read(reading),
        })
    }
}

impl MetadataConfig {
    fn read(reading: &Reading) -> Result<Self, ConfigError> {
        Ok(Self {
            default_partitions: reading.number("num.partitions"),
            default_replication_factor: reading.replication_factor(),
            auto_create_topics: reading.flag("auto.create.topics.enable"),
            delete_topics: reading.flag("delete.topic.enable"),
            dynamic_voters: reading.has_dynamic_voters()?,
            segment_bytes: reading.bytes("metadata.log.segment.bytes"),
            segment_age: reading.millis("metadata.log.segment.ms"),
            snapshot_bytes: reading.bytes("metadata.log.max.record.bytes.between.snapshots"),
            snapshot_interval: reading
                .limit("metadata.log.max.snapshot.interval.ms")
                .filter(|millis| *millis > 0)
                .map(Duration::from_millis),
        })
    }
}

/// Cut to 65,535, which stands for no limit: there are never as many threads or shards.
fn few(number: impl TryInto<u16>) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}
