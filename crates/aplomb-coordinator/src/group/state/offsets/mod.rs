//! Committed offsets: what is kept ([`store`]), what open transactions have written ([`open`]), and
//! the look for those that are over ([`sweep`]).

mod open;
mod store;
mod sweep;

use std::sync::Arc;

use aplomb_model::ProducerId;
use aplomb_protocol::messages as m;

use self::open::Open;
pub(crate) use self::store::Committed;
use self::store::Store;
use self::sweep::Sweep;
use super::news::OffsetPlace;
use crate::group::record::{GroupRecord, OffsetBefore};

/// The offsets of a coordinator's groups.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    store: Store,
    open: Open,
    pub(crate) sweep: Sweep,
}

impl Offsets {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.store.count()
    }

    /// What they take in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.store.bytes() + self.open.bytes()
    }

    /// From here on it is noted which are set or taken out.
    pub(crate) fn begin_news(&mut self) {
        self.store.changed.begin();
    }

    /// Those that were set or taken out since this was asked last.
    pub(crate) fn take_changed(&mut self) -> Vec<OffsetPlace> {
        self.store.changed.take()
    }

    /// Whether the group has committed any, or is about to.
    pub(crate) fn has(&self, group: &str) -> bool {
        self.store.has(group) || self.open.has_group(group)
    }

    pub(crate) fn get(&self, group: &str, topic: &str, partition: i32) -> Option<&Committed> {
        self.store.get(group, topic, partition)
    }

    /// Offsets of a group after this topic and partition, or all of them, in that order.
    pub(crate) fn after(
        &self,
        group: &str,
        place: Option<(&str, i32)>,
    ) -> impl Iterator<Item = (&Arc<str>, i32, &Committed)> {
        self.store.after(group, place)
    }

    /// Whether an open transaction has written this offset.
    pub(crate) fn is_open(&self, group: &str, topic: &str, partition: i32) -> bool {
        self.open.has(group, topic, partition)
    }

    /// Applies a record, and gives the one that takes it back.
    pub(crate) fn replay(
        &mut self,
        key: m::OffsetCommitKey,
        value: Option<m::OffsetCommitValue>,
        producer: Option<ProducerId>,
    ) -> GroupRecord {
        if let (Some(producer), Some(value)) = (producer, &value) {
            let before = self.open.set(producer, &key, value.clone());
            let open = vec![(producer, before)];
            return GroupRecord::TakesBack(Box::new(OffsetBefore { key, stored: None, open }));
        }
        let open = self.open.supersede(&key, value.is_none());
        let before = match value {
            Some(value) => self.store.set(&key.group, &key.topic, key.partition, value.into()),
            None => self.store.remove(&key.group, &key.topic, key.partition),
        };
        let before = before.map(Into::into);
        if open.is_empty() {
            return GroupRecord::Offset(key, before);
        }
        GroupRecord::TakesBack(Box::new(OffsetBefore { key, stored: Some(before), open }))
    }

    /// An offset is as it was before a record that open transactions have to do with.
    pub(crate) fn take_back(&mut self, before: OffsetBefore) {
        let OffsetBefore { key, stored, open } = before;
        for (producer, written) in open {
            self.open.put(producer, &key, written);
        }
        match stored {
            Some(Some(value)) => {
                self.store.set(&key.group, &key.topic, key.partition, value.into());
            }
            Some(None) => {
                self.store.remove(&key.group, &key.topic, key.partition);
            }
            None => {}
        }
    }

    /// A producer's transaction has ended.
    pub(crate) fn replay_marker(&mut self, producer: ProducerId, is_committed: bool) {
        let written = self.open.take(producer);
        if is_committed {
            for (key, value) in written {
                self.store.set(&key.group, &key.topic, key.partition, value.into());
            }
        }
    }
}

/// The record after which an offset is gone.
pub(crate) fn tombstone(group: &str, topic: &str, partition: i32) -> GroupRecord {
    let key = m::OffsetCommitKey { group: group.to_owned(), topic: topic.to_owned(), partition };
    GroupRecord::Offset(key, None)
}
