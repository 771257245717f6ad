//! The groups of a coordinator, by id.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use super::classic::ClassicGroup;
use super::consumer::ConsumerGroup;
use super::counts::{GroupCounts, GroupState};
use super::news::Changed;

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
///
/// What always holds: `bytes` and `counts` are what is there, and who has come, gone or got another
/// number of members is noted.
#[derive(Debug, Default)]
pub(crate) struct GroupTable {
    groups: BTreeMap<Arc<str>, Group>,
    /// Classic groups that were taken out with their members: who took them out sees to these.
    removed: Vec<ClassicGroup>,
    /// What groups take in memory.
    bytes: usize,
    /// How many are in each state.
    counts: GroupCounts,
    pub(crate) changed: Changed<Arc<str>>,
}

/// What is counted of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    bytes: usize,
    /// `None`: of a type that is not spoken.
    state: Option<GroupState>,
    members: usize,
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
        let before = Counted::of_classic(group);
        let result = change(group);
        let (after, id) = (Counted::of_classic(group), group.id().clone());
        if before != after {
            self.count(&id, Some(before), Some(after));
        }
        Some(result)
    }

    pub(crate) fn consumer(&self, id: &str) -> Option<&ConsumerGroup> {
        match self.get(id) {
            Some(Group::Consumer(group)) => Some(group),
            _ => None,
        }
    }

    /// A consumer group with its id as it is kept.
    pub(crate) fn consumer_entry(&self, id: &str) -> Option<(&Arc<str>, &ConsumerGroup)> {
        match self.groups.get_key_value(id) {
            Some((id, Group::Consumer(group))) => Some((id, group)),
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
        let before = Counted::of_consumer(group);
        let result = change(group);
        let after = Counted::of_consumer(group);
        if before != after {
            self.count(&self.id(id), Some(before), Some(after));
        }
        Some(result)
    }

    /// Puts a group in. Gives the one whose place it takes.
    pub(crate) fn insert(&mut self, id: Arc<str>, group: Group) -> Option<Group> {
        let after = Counted::of(&group);
        let before = self.groups.insert(id.clone(), group);
        self.count(&id, before.as_ref().map(Counted::of), Some(after));
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
        let (id, removed) = self.groups.remove_entry(id)?;
        self.count(&id, Some(Counted::of(&removed)), None);
        Some(removed)
    }

    /// A group is another than it was before; `None`: it is not there.
    fn count(&mut self, id: &Arc<str>, before: Option<Counted>, after: Option<Counted>) {
        self.bytes += after.map_or(0, |after| after.bytes);
        self.bytes -= before.map_or(0, |before| before.bytes);
        if let Some(state) = after.and_then(|after| after.state) {
            self.counts.enter(state);
        }
        if let Some(state) = before.and_then(|before| before.state) {
            self.counts.leave(state);
        }
        if before.and_then(Counted::size) != after.and_then(Counted::size) {
            self.changed.note(|| id.clone());
        }
    }

    /// How many groups are in each state. Share and streams groups are not among them.
    pub(crate) fn counts(&self) -> GroupCounts {
        self.counts
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

impl Counted {
    fn of(group: &Group) -> Self {
        match group {
            Group::Classic(group) => Self::of_classic(group),
            Group::Consumer(group) => Self::of_consumer(group),
            Group::Foreign(_) => Self { bytes: 0, state: None, members: 0 },
        }
    }

    /// How many members it has, if that is known.
    fn size(self) -> Option<usize> {
        self.state.map(|_| self.members)
    }

    fn of_classic(group: &ClassicGroup) -> Self {
        Self { bytes: group.bytes(), state: Some(group.state().counted()), members: group.size() }
    }

    fn of_consumer(group: &ConsumerGroup) -> Self {
        Self { bytes: group.bytes(), state: Some(group.state()), members: group.members().len() }
    }
}

#[cfg(test)]
impl GroupTable {
    /// What is counted is what a look at every group says.
    pub(crate) fn check(&self) {
        let mut counts = GroupCounts::default();
        self.groups.values().filter_map(|group| Counted::of(group).state).for_each(|s| counts.enter(s));
        assert_eq!(counts, self.counts);
        assert_eq!(self.groups.values().map(|group| Counted::of(group).bytes).sum::<usize>(), self.bytes);
    }
}
