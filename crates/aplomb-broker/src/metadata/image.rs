//! The image: everything that the metadata log says, at one point of it.

use std::sync::Arc;

use aplomb_model::{BrokerId, ByteCount, LeaderEpoch, Offset, ProducerId};

use super::brokers::Brokers;
use super::configs::{Configs, Resource};
use super::features::Features;
use super::security::Security;
use super::topics::Topics;
use crate::config::{BrokerConfig, Layers, Properties, TopicConfig};

/// How far into the metadata log an image reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The offset after the last record that the image reflects.
    pub end: Offset,
    /// The epoch of the leader that wrote that record.
    pub epoch: LeaderEpoch,
}

/// The cluster as of one offset of the metadata log. Cloning it copies pointers: the parts are
/// shared, and copied when one is changed.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataImage {
    /// The cluster's id. It is in `meta.properties`, not in the log.
    pub cluster_id: Arc<str>,
    /// How far it reaches.
    pub provenance: Provenance,
    /// Finalized features.
    pub features: Arc<Features>,
    /// Registered brokers and controllers.
    pub brokers: Arc<Brokers>,
    /// Topics and partitions.
    pub topics: Arc<Topics>,
    /// Settings changed at run time, those of topics included.
    pub configs: Arc<Configs>,
    /// The first producer id that is still free; `None` before any was given.
    pub next_producer_id: Option<ProducerId>,
    /// Who may do what and how much of it, and who is who.
    pub security: Arc<Security>,
}

impl MetadataImage {
    /// Before the first record.
    #[must_use]
    pub fn empty(cluster_id: impl Into<Arc<str>>) -> Self {
        Self {
            cluster_id: cluster_id.into(),
            provenance: Provenance::default(),
            features: Arc::default(),
            brokers: Arc::default(),
            topics: Arc::default(),
            configs: Arc::default(),
            next_producer_id: None,
            security: Arc::default(),
        }
    }

    /// The layers of a broker's settings: its file, and what was changed at run time.
    #[must_use]
    pub fn layers<'a>(&'a self, config: &'a BrokerConfig) -> Layers<'a> {
        Layers {
            file: &config.properties,
            for_all: self.configs.named(Resource::BROKER, ""),
            for_this: self.configs.of_broker(config.node_id),
        }
    }

    /// A topic's overrides; none for a topic that there is not.
    #[must_use]
    pub fn topic_overrides(&self, name: &str) -> &Properties {
        self.configs.named(Resource::TOPIC, name)
    }

    /// A topic's settings on a broker with this file.
    #[must_use]
    pub fn topic_config(&self, name: &str, config: &BrokerConfig) -> TopicConfig {
        TopicConfig::from_image(self.topic_overrides(name), &self.layers(config))
    }

    /// The largest batch of a topic on a broker with this file.
    #[must_use]
    pub fn max_message_bytes(&self, name: &str, config: &BrokerConfig) -> ByteCount {
        TopicConfig::max_message_bytes_from_image(self.topic_overrides(name), &self.layers(config))
    }

    /// Whether clients may be told of this broker.
    #[must_use]
    pub fn is_live(&self, broker: BrokerId) -> bool {
        self.brokers.get(broker).is_some_and(|broker| !broker.fenced)
    }
}
