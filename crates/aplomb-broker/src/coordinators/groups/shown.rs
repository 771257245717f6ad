//! What of a coordinator's groups others see one by one: their members, and how far they have come.
//!
//! News say which groups and offsets may be others than they were; what they are is looked up
//! then. What is there when a log has been loaded, and what found no room before there was some,
//! is looked for a piece a turn.
//!
//! What always holds: what is shown is what the coordinator has, as of its last news; what is shown
//! has taken its part of the bound, and what is not has none; offsets of a group that may not all
//! be shown are looked at again when there is room.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aplomb_coordinator::group::{GroupNews, Groups};

use super::bound::ShownBound;
use crate::figures::{GroupFigures, GroupNotes, OffsetFigures};

/// So many groups or offsets are looked at in a piece.
const PIECE: usize = 500;

/// A topic and a partition.
type PartitionPlace = (Arc<str>, i32);

/// A group that is shown.
#[derive(Debug)]
struct ShownGroup {
    figures: Arc<GroupFigures>,
    offsets: HashMap<PartitionPlace, Arc<OffsetFigures>>,
}

/// What is shown of one coordinator's groups.
#[derive(Debug)]
pub(super) struct ShownGroups {
    bound: Arc<ShownBound>,
    groups: HashMap<Arc<str>, ShownGroup>,
    /// How many offsets are shown.
    offsets: usize,
    /// Groups that are shown, but maybe not all of their offsets: those up to this place have been
    /// looked at.
    partial: BTreeMap<Arc<str>, Option<PartitionPlace>>,
    /// Of all groups those up to this one have been looked at.
    looked: Option<Arc<str>>,
}

impl ShownGroups {
    pub(super) fn new(bound: Arc<ShownBound>) -> Self {
        let groups = HashMap::new();
        Self { bound, groups, offsets: 0, partial: BTreeMap::new(), looked: None }
    }

    /// How many groups, and offsets, of this coordinator are not shown.
    pub(super) fn left_out(&self, groups: &Groups) -> (usize, usize) {
        let all = groups.counts().all();
        (all.saturating_sub(self.groups.len()), groups.offsets().saturating_sub(self.offsets))
    }

    /// Takes up what has changed.
    pub(super) fn on_news(&mut self, news: GroupNews, groups: &Groups, notes: &mut GroupNotes) {
        for id in news.groups {
            match (groups.members(&id), self.groups.get(&id)) {
                (Some(members), Some(shown)) => shown.figures.set_members(members),
                (Some(members), None) => self.show(id, members, notes),
                (None, Some(_)) => self.hide(&id),
                (None, None) => {} // there was no room for it
            }
        }
        for (group, topic, partition) in news.offsets {
            let committed = groups.committed(&group, &topic, partition);
            self.on_offset(group, (topic, partition), committed, notes);
        }
    }

    fn on_offset(
        &mut self,
        id: Arc<str>,
        place: PartitionPlace,
        committed: Option<i64>,
        notes: &mut GroupNotes,
    ) {
        let Some(group) = self.groups.get_mut(&id) else { return }; // there was no room for it
        match (committed, group.offsets.get(&place)) {
            (Some(committed), Some(shown)) => shown.set_committed(committed),
            (Some(committed), None) => {
                if self.bound.take_offset(&id, &place.0) {
                    self.offsets += 1;
                    group.show(place, committed, notes);
                } else {
                    self.partial.insert(id, None);
                }
            }
            (None, Some(shown)) => {
                shown.set_gone();
                group.offsets.remove(&place);
                self.offsets -= 1;
                self.bound.give_offset(&id, &place.0);
            }
            (None, None) => {}
        }
    }

    /// Shows a group, if there is room. Its offsets follow in pieces.
    fn show(&mut self, id: Arc<str>, members: usize, notes: &mut GroupNotes) {
        if !self.bound.take_group(&id) {
            return;
        }
        let figures = Arc::new(GroupFigures::new(id.clone(), members));
        notes.welcome(&figures);
        self.partial.insert(id.clone(), None);
        let before = self.groups.insert(id, ShownGroup { figures, offsets: HashMap::new() });
        assert!(before.is_none(), "a group is shown once");
    }

    fn hide(&mut self, id: &str) {
        self.partial.remove(id);
        let Some(group) = self.groups.remove(id) else { return }; // it is not shown
        group.figures.set_gone();
        self.offsets -= group.offsets.len();
        for (topic, _) in group.offsets.keys() {
            self.bound.give_offset(id, topic);
        }
        self.bound.give_group(id);
    }

    /// None is shown any more: the coordinator has resigned, or failed.
    pub(super) fn hide_all(&mut self) {
        let all: Vec<Arc<str>> = self.groups.keys().cloned().collect();
        all.iter().for_each(|id| self.hide(id));
        assert_eq!((self.offsets, self.partial.len()), (0, 0), "what was shown was a group's");
    }

    /// Whether there is something to look for, and room for it.
    pub(super) fn has_work(&self, groups: &Groups) -> bool {
        let (lacks_groups, lacks_offsets) = self.lacks(groups);
        lacks_offsets && self.bound.has_bytes() || lacks_groups && self.bound.has_group()
    }

    /// Whether there are groups, and offsets of groups that are shown, that are not shown.
    pub(super) fn lacks(&self, groups: &Groups) -> (bool, bool) {
        (self.left_out(groups).0 > 0, !self.partial.is_empty())
    }

    /// Looks for what is not shown, and shows it: one piece of that.
    pub(super) fn go_on(&mut self, groups: &Groups, notes: &mut GroupNotes) {
        let mut left = PIECE;
        while left > 0 && self.bound.has_bytes() {
            let Some((id, place)) = self.partial.pop_first() else { break };
            left -= self.look_at_offsets(id, place, left, groups, notes);
        }
        if left > 0 && self.has_work(groups) {
            self.look_at_groups(left, groups, notes);
        }
    }

    /// Looks at some offsets of a group after this place. Gives for how many that counts.
    fn look_at_offsets(
        &mut self,
        id: Arc<str>,
        place: Option<PartitionPlace>,
        most: usize,
        groups: &Groups,
        notes: &mut GroupNotes,
    ) -> usize {
        let group = self.groups.get_mut(&id).expect("it is shown");
        let after = place.as_ref().map(|(topic, partition)| (&**topic, *partition));
        let (mut looked, mut last, mut has_room) = (0, None, true);
        for (topic, partition, committed) in groups.committed_after(&id, after).take(most) {
            let place = (topic.clone(), partition);
            if !group.offsets.contains_key(&place) {
                has_room = self.bound.take_offset(&id, topic);
                if !has_room {
                    break;
                }
                self.offsets += 1;
                group.show(place.clone(), committed, notes);
            }
            looked += 1;
            last = Some(place);
        }
        if !has_room || looked == most {
            self.partial.insert(id, last.or(place));
        }
        looked.max(1)
    }

    /// Looks at some groups, beginning where it was left.
    fn look_at_groups(&mut self, most: usize, groups: &Groups, notes: &mut GroupNotes) {
        let from = self.looked.clone();
        let mut looked = 0;
        for (id, members) in groups.after(from.as_deref()).take(most) {
            if !self.bound.has_group() {
                return;
            }
            looked += 1;
            self.looked = Some(id.clone());
            if let Some(members) = members
                && !self.groups.contains_key(id)
            {
                self.show(id.clone(), members, notes);
            }
        }
        if looked < most {
            self.looked = None; // the next time begins anew
        }
    }
}

impl ShownGroup {
    fn show(&mut self, place: PartitionPlace, committed: i64, notes: &mut GroupNotes) {
        let (topic, partition) = place.clone();
        let shown = Arc::new(OffsetFigures::new(self.figures.clone(), topic, partition, committed));
        notes.welcome_offset(&shown);
        self.offsets.insert(place, shown);
    }
}

#[cfg(test)]
mod tests;
