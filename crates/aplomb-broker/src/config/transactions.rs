//! Settings of the transaction coordinator (Apache Kafka 4.4.0: `TransactionLogConfig`,
//! `TransactionStateManagerConfig`).

use std::time::Duration;

use aplomb_coordinator::txn::TxnSettings;
use aplomb_model::ByteCount;

use super::reading::Reading;

/// Settings of the transaction coordinator, and of partitions that are written to in transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionsConfig {
    /// Of transactional ids.
    pub settings: TxnSettings,
    /// `aplomb.transactions.memory.bytes`
    pub memory: ByteCount,
    /// `transaction.partition.verification.enable`
    pub verifies: bool,
    /// How long a batch waits until its partition is in the transaction, where something else of
    /// that is under way (`add.partitions.to.txn.retry.backoff.max.ms`).
    pub longest_wait: Duration,
    /// `transaction.state.log.num.partitions`
    pub topic_partitions: i32,
    /// `transaction.state.log.replication.factor`
    pub topic_replication_factor: i16,
    /// `transaction.state.log.min.isr`
    pub topic_min_in_sync: i32,
    /// `transaction.state.log.segment.bytes`
    pub topic_segment: i32,
}

impl TransactionsConfig {
    pub(super) fn read(reading: &Reading) -> Self {
        Self {
            settings: TxnSettings {
                max_timeout: reading.millis("transaction.max.timeout.ms"),
                expiration: reading.millis("transactional.id.expiration.ms"),
                expiry_interval: reading.millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
            },
            memory: reading.bytes("aplomb.transactions.memory.bytes"),
            verifies: reading.flag("transaction.partition.verification.enable"),
            longest_wait: reading.millis("add.partitions.to.txn.retry.backoff.max.ms"),
            topic_partitions: reading.number("transaction.state.log.num.partitions"),
            topic_replication_factor: i16::try_from(
                reading.number("transaction.state.log.replication.factor"),
            )
            .expect("the key is a 16-bit number"),
            topic_min_in_sync: reading.number("transaction.state.log.min.isr"),
            topic_segment: reading.number("transaction.state.log.segment.bytes"),
        }
    }
}
