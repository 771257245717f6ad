//! The broker, as a transaction coordinator sees it.

use std::time::Duration;

/// What a transaction coordinator may look at beside its own state.
pub trait TxnWorld {
    /// As the broker's configuration has them now.
    fn settings(&self) -> &TxnSettings;

    /// Whether there is memory for more transactional ids and partitions.
    fn has_room(&self) -> bool;

    /// The level of the feature `transaction.version` that is in force: in which version records
    /// are written, and how the coordinator aborts by itself.
    fn version(&self) -> i16;
}

/// Settings of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnSettings {
    /// `transaction.max.timeout.ms`.
    pub max_timeout: Duration,
    /// `transactional.id.expiration.ms`.
    pub expiration: Duration,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiry_interval: Duration,
}
