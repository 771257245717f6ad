//! The groups of a coordinator, by id.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use super::classic::ClassicGroup;
use super::consumer::ConsumerGroup;

/// A group of one type or another. All types share the ids.
#[derive(Debug)]
pub(crate) enum Group {
    Classic(Box<ClassicGroup>),
    Consumer(Box<ConsumerGroup>),
    /// A share or streams group, of which so many records are in the log.
    Foreign(usize),
}

/// Groups by id, in their order: who looks at all of them does so in parts, and remembers the id
/// up to which it has come.
#[derive(Debug, Default)]
pub(crate) struct GroupTable {
    groups: BTreeMap<Arc<str>, Group>,
    /// Classic groups that were taken out with their members: who took them out sees to these.
    removed: Vec<ClassicGroup>,
    /// What groups take in memory.
    bytes: usize,
}

impl GroupTable {
    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.groups.get(id)
    }

    pub(crate) fn classic(&self, id: &str) -> Option<&ClassicGroup> {
        match self.get(id) {
            Some(Group::Classic(group)) => Some(group),
            _ => None,
        }
    }

    /// Changes a classic group, if there is one of this id.
    pub(crate) fn change_classic<R>(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut ClassicGroup) -> R,
    ) -> Option<R> {
        let Some(Group::Classic(group)) = self.groups.get_mut(id) else { return None };
        let before = group.bytes();
        let result = change(group);
        self.bytes = self.bytes - before + group.bytes();
        Some(result)
    }

    pub(crate) fn consumer(&self, id: &str) -> Option<&ConsumerGroup> {
        match self.get(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    /// Changes a consumer group, if there is one of this id.
    pub(crate) fn change_consumer<R>(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut ConsumerGroup) -> R,
    ) -> Option<R> {
        let Some(Group::Consumer(group)) = self.groups.get_mut(id) else { return None };
        let before = group.bytes();
        let result = change(group);
        self.bytes = self.bytes - before + group.bytes();
        Some(result)
    }

    /// Puts a group in. Gives the one whose place it takes.
    pub(crate) fn insert(&mut self, id: Arc<str>, group: Group) -> Option<Group> {
        self.bytes += bytes_of(&group);
        let before = self.groups.insert(id, group);
        self.bytes -= before.as_ref().map_or(0, bytes_of);
        before
    }

    /// Keeps a classic group with members that is in the table no more: they may wait for answers.
    pub(crate) fn keep_removed(&mut self, group: ClassicGroup) {
        if group.size() > 0 {
            self.removed.push(group);
        }
    }

    /// Takes the classic groups that are in the table no more and have members.
    pub(crate) fn take_removed(&mut self) -> Vec<ClassicGroup> {
        std::mem::take(&mut self.removed)
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Group> {
        let removed = self.groups.remove(id);
        self.bytes -= removed.as_ref().map_or(0, bytes_of);
        removed
    }

    /// What groups take in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The id as it is kept, to be shared.
    pub(crate) fn id(&self, id: &str) -> Arc<str> {
        self.groups.get_key_value(id).map_or_else(|| id.into(), |(id, _)| id.clone())
    }

    /// The groups after this id, or all of them, in the order of their ids.
    pub(crate) fn after(&self, id: Option<&str>) -> impl Iterator<Item = (&Arc<str>, &Group)> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.groups.range::<str, _>((from, Bound::Unbounded))
    }

    /// A record of a share or streams group has come or gone.
    pub(crate) fn count_foreign(&mut self, id: &str, is_there: bool) {
        match self.groups.entry(id.into()) {
            Entry::Occupied(mut entry) => {
                let Group::Foreign(records) = entry.get_mut() else { return }; // it lost its id
                *records = if is_there { *records + 1 } else { records.saturating_sub(1) };
                if *records == 0 {
                    entry.remove();
                }
            }
            Entry::Vacant(entry) if is_there => {
                entry.insert(Group::Foreign(1));
            }
            Entry::Vacant(_) => {}
        }
    }
}

fn bytes_of(group: &Group) -> usize {
    match group {
        Group::Classic(group) => group.bytes(),
        Group::Consumer(group) => group.bytes(),
        Group::Foreign(_) => 0,
    }
}
