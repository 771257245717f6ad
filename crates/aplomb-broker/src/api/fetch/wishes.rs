//! What a request asks of its session: which partitions it names, and what of each.
//!
//! What always holds: a partition is there once, however often the request names it, with what it
//! names last.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use aplomb_model::PartitionIndex;
use aplomb_protocol::hot::TopicKey;
use aplomb_protocol::hot::fetch_request::FetchBody;

use crate::fetch_sessions::{FetchKey, PartitionData, SessionRequest};

/// What `body` asks of its session.
pub(super) fn of(body: &FetchBody) -> SessionRequest {
    let key = |topic: &TopicKey, partition: i32| FetchKey {
        topic: topic.clone(),
        partition: PartitionIndex(partition),
    };
    let wishes = body.partitions.iter().map(|partition| {
        let wish = PartitionData {
            fetch_offset: partition.fetch_offset,
            current_leader_epoch: partition.current_leader_epoch,
            last_fetched_epoch: partition.last_fetched_epoch,
            max_bytes: partition.partition_max_bytes,
        };
        (key(body.topic_of(partition), partition.partition), wish)
    });
    let forgotten = body
        .forgotten
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|partition| key(&topic.topic, *partition)))
        .collect();
    SessionRequest {
        id: body.session_id,
        epoch: body.session_epoch,
        by_id: body.version >= 13,
        wishes: each_once(wishes),
        forgotten,
    }
}

/// Each partition once, where it is named first, with what is wished of it last
/// (`FetchRequest#fetchData` in Apache Kafka).
fn each_once(named: impl Iterator<Item = (FetchKey, PartitionData)>) -> Vec<(FetchKey, PartitionData)> {
    let mut places: HashMap<FetchKey, usize> = HashMap::new();
    let mut wishes: Vec<(FetchKey, PartitionData)> = Vec::with_capacity(named.size_hint().0);
    for (key, wish) in named {
        match places.entry(key) {
            Entry::Occupied(place) => wishes[*place.get()].1 = wish,
            Entry::Vacant(place) => {
                wishes.push((place.key().clone(), wish));
                place.insert(wishes.len() - 1);
            }
        }
    }
    wishes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(partition: i32, fetch_offset: i64) -> (FetchKey, PartitionData) {
        let topic = TopicKey::Name("orders".into());
        let wish = PartitionData {
            fetch_offset,
            current_leader_epoch: -1,
            last_fetched_epoch: -1,
            max_bytes: 1 << 20,
        };
        (FetchKey { topic, partition: PartitionIndex(partition) }, wish)
    }

    #[test]
    fn a_partition_that_is_named_many_times_is_there_once_with_what_is_wished_last() {
        let wishes = [named(1, 3), named(0, 4), named(1, 5), named(1, 6)];
        assert_eq!(each_once(wishes.into_iter()), [named(1, 6), named(0, 4)]);
    }
}
