//! One who knows of groups and offsets what news say: that must be what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Groups;
use super::news::{GroupNews, OffsetPlace};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Follower {
    members: BTreeMap<Arc<str>, usize>,
    offsets: BTreeMap<OffsetPlace, i64>,
}

impl Follower {
    /// Who has looked at everything once.
    pub(crate) fn of(groups: &Groups) -> Self {
        let members = groups.after(None).filter_map(|(id, members)| Some((id.clone(), members?)));
        let members: BTreeMap<Arc<str>, usize> = members.collect();
        let mut offsets = BTreeMap::new();
        for (id, _) in groups.after(None) {
            let of_group = groups.committed_after(id, None);
            offsets.extend(of_group.map(|(topic, n, offset)| ((id.clone(), topic.clone(), n), offset)));
        }
        Self { members, offsets }
    }

    /// Looks at what is said to have changed.
    pub(crate) fn follow(&mut self, news: GroupNews, groups: &Groups) {
        for id in news.groups {
            match groups.members(&id) {
                Some(members) => self.members.insert(id, members),
                None => self.members.remove(&id),
            };
        }
        for place in news.offsets {
            match groups.committed(&place.0, &place.1, place.2) {
                Some(offset) => self.offsets.insert(place, offset),
                None => self.offsets.remove(&place),
            };
        }
    }

    /// What it knows is all that there is.
    pub(crate) fn check(&self, groups: &Groups) {
        assert_eq!(*self, Self::of(groups), "news say what has changed");
        assert_eq!(self.members.len(), groups.counts().all());
        groups.check_counts();
    }
}
