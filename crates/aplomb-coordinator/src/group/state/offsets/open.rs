//! Offsets that are committed in transactions which are still open.

use std::collections::{HashMap, HashSet};

use aplomb_model::ProducerId;
use aplomb_protocol::messages as m;

type Key = (String, String, i32);

/// Offsets of open transactions.
///
/// What always holds: `by_group` has exactly the producers of `by_producer` that have written for
/// the group.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// `None`: written outside of a transaction since, which holds whatever becomes of this.
    by_producer: HashMap<ProducerId, HashMap<Key, Option<m::OffsetCommitValue>>>,
    by_group: HashMap<String, HashSet<ProducerId>>,
}

impl Open {
    /// A producer has written an offset in its transaction.
    pub(super) fn set(&mut self, producer: ProducerId, key: m::OffsetCommitKey, value: m::OffsetCommitValue) {
        self.by_group.entry(key.group.clone()).or_default().insert(producer);
        let key = (key.group, key.topic, key.partition);
        self.by_producer.entry(producer).or_default().insert(key, Some(value));
    }

    /// The offset was written outside of any transaction, or is gone.
    pub(super) fn supersede(&mut self, key: &m::OffsetCommitKey, is_gone: bool) {
        let Some(producers) = self.by_group.get(&key.group) else { return }; // none is open
        let place = (key.group.clone(), key.topic.clone(), key.partition);
        for producer in producers {
            let offsets = self.by_producer.get_mut(producer).expect("both tables agree");
            if is_gone {
                offsets.remove(&place);
            } else if let Some(value) = offsets.get_mut(&place) {
                *value = None;
            }
        }
    }

    /// The producer's transaction has ended: gives what it had written.
    pub(super) fn take(
        &mut self,
        producer: ProducerId,
    ) -> impl Iterator<Item = (m::OffsetCommitKey, m::OffsetCommitValue)> + use<> {
        let offsets = self.by_producer.remove(&producer).unwrap_or_default();
        self.by_group.retain(|_, producers| {
            producers.remove(&producer);
            !producers.is_empty()
        });
        offsets.into_iter().filter_map(|((group, topic, partition), value)| {
            Some((m::OffsetCommitKey { group, topic, partition }, value?))
        })
    }

    /// Whether an open transaction has written this offset.
    pub(super) fn has(&self, group: &str, topic: &str, partition: i32) -> bool {
        let Some(producers) = self.by_group.get(group) else { return false };
        let place = (group.to_owned(), topic.to_owned(), partition);
        producers.iter().any(|producer| self.by_producer[producer].contains_key(&place))
    }

    /// Whether an open transaction has written for the group.
    pub(super) fn has_group(&self, group: &str) -> bool {
        self.by_group.contains_key(group)
    }
}
