//! The controller of a cluster of one: it decides what is written into the metadata log. It writes
//! nothing itself. Each decision is a response and the records that make it true; the shard appends
//! the records, and sends the response when they are durable and applied.
//!
//! The controller knows its own decisions before the log does, so that the next request is judged
//! by them: [`Controller::image`] is ahead of what shards see. A decision is drafted ([`Draft`])
//! and then either taken over ([`Controller::take`]) or dropped (validate only). The rules are
//! those of Apache Kafka 4.4's `ReplicationControlManager`, `ConfigurationControlManager` and
//! `ClusterControlManager`.

mod acls;
mod activation;
mod configs;
mod directories;
mod draft;
mod elections;
mod eligible;
mod error;
mod features;
mod partitions;
mod placement;
mod producer_ids;
mod quotas;
mod scram;
mod stores;
mod token_index;
mod tokens;
mod topics;

#[cfg(test)]
mod tests;

pub use activation::{Activation, Node, UnsupportedFeature, supported_features};
pub use configs::{ConfigChange, ConfigOperation, ConfigWish};
pub use draft::Draft;
pub use error::AdminError;
pub use features::{FeatureUpdate, UpgradeType};
pub use partitions::NewPartitions;
pub use producer_ids::{PRODUCER_ID_BLOCK, ProducerIdBlock};
pub use scram::ScramChange;
pub use tokens::{NewToken, TokenChange, TokenRules};
pub use topics::{
    CreatedTopic, METADATA_TOPIC, NewTopic, Placement, check_topic_name, create_with_defaults,
    is_internal_topic,
};

use aplomb_protocol::MetadataRecord;

use self::token_index::TokenIndex;
use crate::metadata::MetadataImage;

/// The most records that one request may cause, and the most in one batch
/// (`QuorumController.MAX_RECORDS_PER_USER_OP`).
pub const MAX_RECORDS: usize = 10_000;

/// The controller's answer to a request, and what has to be in the metadata log, durable and
/// applied, before it may be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned<R> {
    /// The response.
    pub response: R,
    /// The records. None: the response may be sent at once.
    pub records: Vec<MetadataRecord>,
}

/// A source of random bytes, for ids.
pub type Random<'a> = &'a mut dyn FnMut() -> [u8; 16];

/// All decisions so far, durable or not.
#[derive(Clone, Debug)]
pub struct Controller {
    image: MetadataImage,
    /// Made in turns when it is needed first.
    token_index: Option<TokenIndex>,
}

impl Controller {
    /// Goes on from what the log says.
    #[must_use]
    pub const fn new(image: MetadataImage) -> Self {
        Self { image, token_index: None }
    }

    /// The cluster with all that has been decided, durable or not.
    #[must_use]
    pub const fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// All that was decided is durable, and makes this image: it is kept once for both.
    pub(crate) fn share(&mut self, durable: &MetadataImage) {
        self.image.provenance = durable.provenance;
        debug_assert_eq!(&self.image, durable, "what was decided is what the log says");
        self.image = durable.clone();
    }

    /// Starts a decision.
    #[must_use]
    pub fn draft(&self) -> Draft {
        Draft::new(self.image.clone())
    }

    /// Takes a decision over. The records go into the log, in this order and, up to
    /// [`MAX_RECORDS`], in one batch.
    #[must_use = "records that are not written leave the controller ahead of the log for ever"]
    pub fn take(&mut self, draft: Draft) -> Vec<MetadataRecord> {
        let (image, records) = draft.into_parts();
        self.image = image;
        if let Some(index) = &mut self.token_index {
            records.iter().for_each(|record| index.follow(record));
        }
        records
    }
}
