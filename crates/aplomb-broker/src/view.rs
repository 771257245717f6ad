//! What a shard knows of the world: which of the shards it is, the settings, the metadata image.

use std::sync::Arc;

use aplomb_model::{BrokerId, ByteCount};

use crate::calls::PartitionKey;
use crate::config::BrokerConfig;
use crate::metadata::{MetadataImage, OFFSETS_TOPIC};
use crate::ports::ShardId;

/// The shard with the controller. It has no connections, and no partitions but the metadata log's:
/// what takes long is done there, and makes no client wait that has asked for something short.
pub(crate) const HEAD: ShardId = ShardId(0);

/// The world as this shard sees it until the next image.
#[derive(Clone, Debug)]
pub(crate) struct View {
    me: ShardId,
    shards: u16,
    config: Arc<BrokerConfig>,
    image: Arc<MetadataImage>,
    largest_commit: ByteCount,
}

impl View {
    pub(crate) fn new(
        me: ShardId,
        shards: u16,
        config: Arc<BrokerConfig>,
        image: Arc<MetadataImage>,
    ) -> Self {
        assert!(me.0 < shards, "shards are numbered from 0");
        assert!(shards > 1, "a shard beside the controller's");
        let largest_commit = image.max_message_bytes(OFFSETS_TOPIC, &config);
        Self { me, shards, config, image, largest_commit }
    }

    pub(crate) fn me(&self) -> ShardId {
        self.me
    }

    pub(crate) fn shards(&self) -> u16 {
        self.shards
    }

    /// All shards but this one.
    pub(crate) fn others(&self) -> impl Iterator<Item = ShardId> + use<> {
        let me = self.me;
        (0..self.shards).map(ShardId).filter(move |other| *other != me)
    }

    pub(crate) fn node(&self) -> BrokerId {
        self.config.node_id
    }

    pub(crate) fn config(&self) -> &Arc<BrokerConfig> {
        &self.config
    }

    pub(crate) fn image(&self) -> &Arc<MetadataImage> {
        &self.image
    }

    /// The largest batch of the offsets topic: looked up once, and not for each commit.
    pub(crate) fn largest_commit(&self) -> ByteCount {
        self.largest_commit
    }

    /// Whether this shard owns the partition.
    pub(crate) fn owns(&self, key: PartitionKey) -> bool {
        key.owner(self.shards) == self.me
    }

    /// Requests see this image from here on.
    pub(crate) fn set_image(&mut self, image: Arc<MetadataImage>) {
        assert!(self.image.provenance.end <= image.provenance.end, "images come in order");
        self.image = image;
        self.look_up();
    }

    /// Settings that were changed at run time.
    pub(crate) fn set_config(&mut self, config: Arc<BrokerConfig>) {
        self.config = config;
        self.look_up();
    }

    fn look_up(&mut self) {
        self.largest_commit = self.image.max_message_bytes(OFFSETS_TOPIC, &self.config);
    }
}
