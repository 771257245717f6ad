//! The groups of a coordinator, by id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// Groups by id.
#[derive(Debug, Default)]
pub(crate) struct GroupTable {
    groups: HashMap<Arc<str>, Group>,
}

impl GroupTable {
    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.groups.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Group> {
        self.groups.get_mut(id)
    }

    pub(crate) fn classic(&self, id: &str) -> Option<&ClassicGroup> {
        match self.get(id) {
            Some(Group::Classic(group)) => Some(group),
            _ => None,
        }
    }

    pub(crate) fn classic_mut(&mut self, id: &str) -> Option<&mut ClassicGroup> {
        match self.get_mut(id) {
            Some(Group::Classic(group)) => Some(group),
            _ => None,
        }
    }

    pub(crate) fn consumer(&self, id: &str) -> Option<&ConsumerGroup> {
        match self.get(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    pub(crate) fn consumer_mut(&mut self, id: &str) -> Option<&mut ConsumerGroup> {
        match self.get_mut(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    /// Puts a group in, in place of the one of this id.
    pub(crate) fn insert(&mut self, id: Arc<str>, group: Group) {
        self.groups.insert(id, group);
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<Group> {
        self.groups.remove(id)
    }

    /// The id as it is kept, to be shared.
    pub(crate) fn id(&self, id: &str) -> Arc<str> {
        self.groups.get_key_value(id).map_or_else(|| id.into(), |(id, _)| id.clone())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group)> {
        self.groups.iter()
    }

    /// A record of a share or streams group has come or gone.
    pub(crate) fn count_foreign(&mut self, id: &str, is_there: bool) {
        match self.groups.entry(id.into()) {
            Entry::Occupied(mut entry) => {
                let Group::Foreign(records) = entry.get_mut() else { return }; // another type has the id now
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
