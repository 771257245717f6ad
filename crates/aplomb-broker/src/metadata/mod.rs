//! What the cluster is: brokers, topics, settings. One image, changed in one way: by the records of
//! the metadata log.
//!
//! Start at [`MetadataImage`]; [`Replay`] makes it of a log or a snapshot, [`Delta`] says what a
//! piece of log changed. Facts about records and their order are Apache Kafka 4.4's
//! (`org.apache.kafka.image`, `org.apache.kafka.metadata`).

mod apply;
mod brokers;
mod configs;
mod delta;
mod features;
mod image;
mod log;
mod replay;
mod security;
mod topics;
mod write;

#[cfg(test)]
mod tests;

pub use apply::ApplyError;
pub use brokers::{Broker, Brokers, Endpoint, FeatureRange};
pub use configs::{Configs, Resource};
pub use delta::{Delta, PartitionDelta, TopicDelta};
pub use features::{
    ELIGIBLE_LEADERS, Features, KRAFT_VERSION, METADATA_VERSION, MetadataVersion, TRANSACTION_VERSION,
};
pub use image::{MetadataImage, Provenance};
pub use log::{
    Entry, MetadataLogError, decode_batch, encode_batch, encode_control_batch, parse_snapshot_name,
    snapshot_bytes, snapshot_name,
};
pub use replay::Replay;
pub use security::{QuotaEntity, Security};
pub use topics::{Partition, RecoveryState, Topic, Topics};

/// The topic whose partitions are coordinators of groups.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// The topic whose partitions are coordinators of transactions.
pub(crate) const TRANSACTIONS_TOPIC: &str = "__transaction_state";
