//! A group in the middle of a change: its records are written one after the other, and each is
//! decided by the group as those before have left it.

use std::sync::Arc;

use super::deadlines;
use crate::group::assignor::Assignor;
use crate::group::settings::{ConsumerSettings, Overrides};
use crate::group::state::consumer::{ConsumerGroup, records};
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupEvent, GroupRecord};

/// A change of one group.
pub(super) struct Change<'a, 't> {
    pub(super) groups: &'a mut Groups,
    pub(super) turn: &'a mut GroupTurn<'t>,
    id: Arc<str>,
}

impl<'a, 't> Change<'a, 't> {
    pub(super) fn new(groups: &'a mut Groups, turn: &'a mut GroupTurn<'t>, id: &str) -> Self {
        let id = groups.table.id(id);
        Self { groups, turn, id }
    }

    /// The group's id.
    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The group, of which a record is there.
    pub(super) fn group(&self) -> &ConsumerGroup {
        self.groups.table.consumer(&self.id).expect("a group that is changed is there")
    }

    /// The group, if a record of it is there already.
    pub(super) fn found(&self) -> Option<&ConsumerGroup> {
        self.groups.table.consumer(&self.id)
    }

    /// The assignor that most members prefer, or else the default.
    pub(super) fn assignor(&self, settings: &ConsumerSettings) -> Assignor {
        let default = settings.assignors.first().and_then(|name| Assignor::from_name(name));
        let preferred = self.found().and_then(ConsumerGroup::assignor);
        preferred.or(default).unwrap_or(Assignor::Uniform)
    }

    /// Changes what the group remembers beside its records.
    pub(super) fn remember<R>(&mut self, change: impl FnOnce(&mut ConsumerGroup) -> R) -> R {
        let changed = self.groups.table.change_consumer(&self.id, change);
        changed.expect("a group that is changed is there")
    }

    pub(super) fn overrides(&self) -> Overrides {
        self.turn.world.overrides(&self.id)
    }

    pub(super) fn apply(&mut self, record: GroupRecord) {
        self.groups.apply(record, self.turn);
    }

    /// Takes a member out.
    pub(super) fn remove_member(&mut self, member: &str) {
        let id = self.id.clone();
        self.apply(records::current(&id, member, None));
        self.apply(records::target(&id, member, None));
        self.apply(records::member(&id, member, None));
        deadlines::cancel(self.turn, &id, &member.into());
    }

    /// The hash of what the group is subscribed to; it may be gone.
    pub(super) fn hash(&mut self) -> i64 {
        let Groups { table, hashes, .. } = &mut *self.groups;
        let world = self.turn.world;
        table.change_consumer(&self.id, |group| group.hash_now(hashes, world)).unwrap_or(0)
    }

    /// The group gets another epoch if it is to, or if the topics that it is subscribed to are not
    /// what they were: that is looked at when metadata is another, and at the first look whether
    /// the log has lost a part of its target.
    pub(super) fn advance(&mut self, is_to: bool) {
        let world = self.turn.world;
        if !is_to && !self.group().has_news(world) {
            return;
        }
        let hash = self.hash();
        let id = self.id.clone();
        let is_torn = self.group().is_new_here() && self.group().has_torn_target(world);
        if is_to || is_torn || hash != self.group().hash() {
            let epoch = self.group().epoch().saturating_add(1);
            self.apply(records::epoch(&id, Some((epoch, hash))));
            self.groups.count(GroupEvent::ConsumerRebalance, 1);
            let now = self.turn.now.instant;
            self.remember(|group| group.begin_changing(now));
        }
        self.remember(|group| group.on_compared(world));
        if self.group().has_topics_record() {
            self.apply(records::topics(&id, None));
        }
    }
}
