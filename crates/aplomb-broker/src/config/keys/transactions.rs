//! Keys of idempotence and transactions (Apache Kafka 4.4.0: `TransactionLogConfig`,
//! `TransactionStateManagerConfig`).

use super::super::key::{ConfigKey, config_keys};
use super::reasons::{IN_PIECES, NO_LOOKS, NO_POLLS, NO_TWO_PHASES};

config_keys! {
    "add.partitions.to.txn.retry.backoff.max.ms": Int = "100", AtLeast(0), High, ReadOnly, Used("transactions.longest_wait");
        "How long a batch waits until something else of its transaction is done, in milliseconds.";
    "add.partitions.to.txn.retry.backoff.ms": Int = "20", AtLeast(1), High, ReadOnly, Unused(NO_POLLS);
        "The first wait before a partition asks the transaction coordinator again, in milliseconds.";
    "producer.id.expiration.ms": Int = "86400000", AtLeast(1), Low, ClusterWide, Used("storage.producer_id_expiration");
        "How long a partition remembers an idle idempotent producer, in milliseconds.";
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Int = "10000", AtLeast(1), Low, ReadOnly, Unused(NO_LOOKS);
        "Milliseconds between two looks for transactions that have timed out.";
    "transaction.max.timeout.ms": Int = "900000", AtLeast(1), High, ReadOnly, Used("transactions.settings.max_timeout");
        "The longest timeout that a transactional producer may ask for, in milliseconds.";
    "transaction.partition.verification.enable": Boolean = "true", Any, Low, ClusterWide, Used("transactions.verifies");
        "Whether a partition asks the coordinator before it takes a transactional record.";
    "transaction.remove.expired.transaction.cleanup.interval.ms": Int = "3600000", AtLeast(1), Low, ReadOnly, Used("transactions.settings.expiry_interval");
        "Milliseconds between two looks for transactional ids that have expired.";
    "transaction.state.log.load.buffer.size": Int = "5242880", AtLeast(1), High, ReadOnly, Unused(IN_PIECES);
        "Bytes that are read at once when transactions are loaded.";
    "transaction.state.log.min.isr": Int = "2", AtLeast(1), High, ReadOnly, Used("transactions.topic_min_in_sync");
        "min.insync.replicas of the transaction state topic.";
    "transaction.state.log.num.partitions": Int = "50", AtLeast(1), High, ReadOnly, Used("transactions.topic_partitions");
        "Partitions of the transaction state topic.";
    "transaction.state.log.replication.factor": Short = "3", AtLeast(1), High, ReadOnly, Used("transactions.topic_replication_factor");
        "Replicas of the transaction state topic.";
    "transaction.state.log.segment.bytes": Int = "104857600", AtLeast(1), High, ReadOnly, Used("transactions.topic_segment");
        "segment.bytes of the transaction state topic.";
    "transaction.two.phase.commit.enable": Boolean = "false", Any, Low, ReadOnly, Unused(NO_TWO_PHASES);
        "Whether producers may take part in a commit that somebody else decides.";
    "transactional.id.expiration.ms": Int = "604800000", AtLeast(1), High, ReadOnly, Used("transactions.settings.expiration");
        "How long an idle transactional id is remembered, in milliseconds.";
}
