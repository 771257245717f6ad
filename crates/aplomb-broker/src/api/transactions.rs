//! What the APIs of transactions have in common: which coordinator is asked, and about whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_coordinator::txn::{Incarnation, TxnPartitions};
use aplomb_model::ErrorCode;

use super::coordinators;
use crate::calls::PartitionKey;
use crate::metadata::{MetadataImage, TRANSACTIONS_TOPIC};

/// The partition whose leader coordinates a transactional id.
pub(super) fn coordinator_of(id: &str, image: &MetadataImage) -> Option<PartitionKey> {
    coordinators::partition_for(TRANSACTIONS_TOPIC, id, image)
}

/// A producer as a request names it.
pub(super) fn incarnation(id: &str, producer_id: i64, epoch: i16) -> Incarnation {
    Incarnation { id: id.into(), producer_id, epoch }
}

/// Partitions by topic.
pub(super) fn partitions<'n>(named: impl IntoIterator<Item = (&'n str, i32)>) -> TxnPartitions {
    let mut partitions = TxnPartitions::new();
    let mut names: BTreeMap<&str, Arc<str>> = BTreeMap::new();
    for (topic, partition) in named {
        let name = names.entry(topic).or_insert_with(|| topic.into()).clone();
        partitions.entry(name).or_default().insert(partition);
    }
    partitions
}

/// A code for clients that do not know `PRODUCER_FENCED` before this version of their request.
pub(super) fn known_since(version: i16, asked: i16, error: ErrorCode) -> ErrorCode {
    match error {
        ErrorCode::ProducerFenced if asked < version => ErrorCode::InvalidProducerEpoch,
        other => other,
    }
}
