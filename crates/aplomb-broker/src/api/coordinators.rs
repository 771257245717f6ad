//! Which coordinator is asked about what, and how.

use std::time::Duration;

use aplomb_model::{ErrorCode, PartitionIndex};
use aplomb_protocol::{DecodeError, Message};

use crate::calls::PartitionKey;
use crate::metadata::MetadataImage;
use crate::operation::{Ask, Asked, Begun, Fill, Scatter};

/// The partition of a coordinator's topic whose leader answers for a group or a transactional id
/// (`GroupCoordinatorService#partitionFor`, `TransactionStateManager#partitionFor`). `None`: there
/// is no such topic yet.
pub(super) fn partition_for(topic: &str, name: &str, image: &MetadataImage) -> Option<PartitionKey> {
    let topic = image.topics.by_name(topic)?;
    let partitions = i32::try_from(topic.partitions.len()).expect("partitions are numbered by 32 bits");
    Some(PartitionKey { topic: topic.id, partition: PartitionIndex(index_of(name, partitions)) })
}

/// `Math.abs(name.hashCode()) % partitions` in Java, where the one number without a positive twin
/// is 0.
fn index_of(name: &str, partitions: i32) -> i32 {
    let hash = name.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    hash.checked_abs().unwrap_or(0) % partitions
}

/// Asks one coordinator, if there is one. `response` is what is replied when it does not answer in
/// time.
pub(super) fn ask_one<R: Message + Send + 'static, Q: Ask + 'static>(
    asked: &mut Asked<'_>,
    coordinator: Option<PartitionKey>,
    ask: Q,
    response: R,
    fill: Fill<R, Q>,
    patience: Duration,
) -> Result<Begun, DecodeError> {
    let mut scatter = Scatter::new(asked.to, response, fill);
    match coordinator {
        Some(key) => scatter.ask((0, 0), key, ask, asked.calls),
        None => scatter.fill((0, 0), ErrorCode::NotCoordinator),
    }
    asked.wait(scatter, patience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partition_is_apache_kafkas() {
        // `Math.abs("…".hashCode()) % 50` in Java.
        for (name, partition) in [("", 0), ("a", 47), ("console-consumer-12345", 6), ("große Gruppe", 9)] {
            assert_eq!(index_of(name, 50), partition, "{name}");
        }
        assert_eq!(index_of("polygenelubricants", 50), 0, "its hash is the least number");
    }
}
