//! Offsets that are committed in transactions which are still open.

use std::collections::{BTreeMap, HashMap};

use aplomb_model::ProducerId;
use aplomb_protocol::messages as m;

use crate::group::record::Written;

type Key = (String, String, i32);

/// What an offset takes beside its names and metadata, in bytes.
const OFFSET_BYTES: usize = 256;

/// Offsets of open transactions.
///
/// What always holds: `by_group` has exactly the producers of `by_producer` that have written for
/// the group; no producer is there without an offset; `bytes` is what they take.
#[derive(Debug, Default)]
pub(super) struct Open {
    by_producer: BTreeMap<ProducerId, HashMap<Key, Written>>,
    by_group: HashMap<String, HashMap<ProducerId, usize>>,
    bytes: usize,
}

impl Open {
    /// What they take in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A producer has written an offset in its transaction. Gives what it had written before.
    pub(super) fn set(
        &mut self,
        producer: ProducerId,
        key: &m::OffsetCommitKey,
        value: m::OffsetCommitValue,
    ) -> Option<Written> {
        self.put(producer, key, Some(Some(value)))
    }

    /// Has an offset be as it is said to be; `None`: not written. Gives how it was.
    pub(super) fn put(
        &mut self,
        producer: ProducerId,
        key: &m::OffsetCommitKey,
        written: Option<Written>,
    ) -> Option<Written> {
        let place = (key.group.clone(), key.topic.clone(), key.partition);
        let offsets = self.by_producer.entry(producer).or_default();
        let after = written.as_ref().map(|written| size(&place, written));
        let before = match written {
            Some(written) => offsets.insert(place.clone(), written),
            None => offsets.remove(&place),
        };
        if offsets.is_empty() {
            self.by_producer.remove(&producer);
        }
        self.bytes += after.unwrap_or(0);
        self.bytes -= before.as_ref().map_or(0, |before| size(&place, before));
        match (before.is_some(), after.is_some()) {
            (false, true) => {
                *self.by_group.entry(place.0).or_default().entry(producer).or_default() += 1;
            }
            (true, false) => self.forget(&place.0, producer),
            (true, true) | (false, false) => {}
        }
        before
    }

    /// An offset that a producer has written for a group is gone.
    fn forget(&mut self, group: &str, producer: ProducerId) {
        let producers = self.by_group.get_mut(group).expect("both tables agree");
        let count = producers.get_mut(&producer).expect("both tables agree");
        *count -= 1;
        if *count == 0 {
            producers.remove(&producer);
        }
        if producers.is_empty() {
            self.by_group.remove(group);
        }
    }

    /// The offset was written outside of any transaction, or is gone. Gives what was open of it.
    pub(super) fn supersede(
        &mut self,
        key: &m::OffsetCommitKey,
        is_gone: bool,
    ) -> Vec<(ProducerId, Option<Written>)> {
        let Some(producers) = self.by_group.get(&key.group) else { return Vec::new() }; // none
        let place = (key.group.clone(), key.topic.clone(), key.partition);
        let has_it = |producer: &&ProducerId| self.by_producer[producer].contains_key(&place);
        let mut producers: Vec<ProducerId> = producers.keys().filter(has_it).copied().collect();
        producers.sort_unstable();
        let written = if is_gone { None } else { Some(None) };
        producers.into_iter().map(|producer| (producer, self.put(producer, key, written.clone()))).collect()
    }

    /// The producer's transaction has ended: gives what it had written, in the order of names.
    pub(super) fn take(
        &mut self,
        producer: ProducerId,
    ) -> impl Iterator<Item = (m::OffsetCommitKey, m::OffsetCommitValue)> + use<> {
        let mut offsets: Vec<_> =
            self.by_producer.remove(&producer).unwrap_or_default().into_iter().collect();
        offsets.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for (place, written) in &offsets {
            self.bytes -= size(place, written);
            self.forget(&place.0, producer);
        }
        offsets.into_iter().filter_map(|((group, topic, partition), value)| {
            Some((m::OffsetCommitKey { group, topic, partition }, value?))
        })
    }

    /// Whether an open transaction has written this offset.
    pub(super) fn has(&self, group: &str, topic: &str, partition: i32) -> bool {
        let Some(producers) = self.by_group.get(group) else { return false };
        let place = (group.to_owned(), topic.to_owned(), partition);
        producers.keys().any(|producer| self.by_producer[producer].contains_key(&place))
    }

    /// Whether an open transaction has written for the group.
    pub(super) fn has_group(&self, group: &str) -> bool {
        self.by_group.contains_key(group)
    }
}

fn size((group, topic, _): &Key, written: &Written) -> usize {
    let metadata = written.as_ref().map_or(0, |value| value.metadata.len());
    OFFSET_BYTES + group.len() + topic.len() + metadata
}
