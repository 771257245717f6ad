//! What a group coordinator remembers. Who asks for what, and what becomes of it, the rooms beside
//! this one decide.
//!
//! - [`table`]: groups by id, of all types; [`replay`] has records change them;
//! - [`classic`], [`consumer`]: a group of either protocol;
//! - [`offsets`]: what was committed, by group, topic and partition;
//! - [`long`]: questions that are answered in pieces;
//! - [`counts`], [`news`]: what others are to know of it: how many there are of what, and what has
//!   changed.
//!
//! What always holds: a record that is replayed gives the one that takes it back.

pub(super) mod classic;
pub(super) mod consumer;
pub(super) mod counts;
#[cfg(test)]
pub(crate) mod follower;
mod long;
pub(super) mod news;
pub(super) mod offsets;
mod replay;
pub(super) mod table;

use std::fmt::Debug;
use std::sync::Arc;

use aplomb_model::ProducerId;

use self::classic::{ClassicAfter, ClassicGroup};
use self::counts::{GroupCounts, GroupEvent, GroupEvents};
use self::long::LongQuestions;
use self::news::GroupNews;
use self::offsets::Offsets;
use self::table::{Group, GroupTable};
use super::hash::TopicHashes;
use super::{GroupRecord, GroupReply};
use crate::runtime::Turn;

/// A turn of the group coordinator.
pub(super) type GroupTurn<'a> = Turn<'a, Groups>;

/// What is left of a question that is answered in pieces.
pub(super) trait Long: Debug + Send {
    /// One piece of it. Gives the answer, if that was the last.
    fn go_on(&mut self, groups: &mut Groups, turn: &mut GroupTurn<'_>) -> Option<GroupReply>;
}

/// The groups and offsets of a partition of `__consumer_offsets`.
#[derive(Debug, Default)]
pub struct Groups {
    pub(super) table: GroupTable,
    pub(super) offsets: Offsets,
    pub(super) long: LongQuestions<Box<dyn Long>>,
    /// Up to this group deadlines are set, after the log was loaded.
    pub(super) started: Option<Arc<str>>,
    /// Follow from the metadata.
    pub(super) hashes: TopicHashes,
    events: GroupEvents,
    /// Whether the host asks for news.
    is_observed: bool,
}

/// What is remembered about a write until it is kept or refused. Only those of classic groups bring
/// something that records do not.
#[derive(Debug)]
pub struct GroupAfter(pub(super) ClassicAfter);

impl From<ClassicAfter> for GroupAfter {
    fn from(after: ClassicAfter) -> Self {
        Self(after)
    }
}

impl Groups {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// None yet, of which the host is to hear what changes once its log is loaded.
    #[must_use]
    pub fn observed() -> Self {
        Self { is_observed: true, ..Self::default() }
    }

    /// How many offsets are committed.
    #[must_use]
    pub fn offsets(&self) -> usize {
        self.offsets.count()
    }

    /// How many groups are in each state. Share and streams groups are not among them.
    #[must_use]
    pub fn counts(&self) -> GroupCounts {
        self.table.counts()
    }

    /// What has happened to them.
    #[must_use]
    pub fn events(&self) -> GroupEvents {
        self.events
    }

    /// How many members a group has. `None`: there is none, or of a type that is not spoken.
    #[must_use]
    pub fn members(&self, group: &str) -> Option<usize> {
        self.table.get(group).and_then(members_of)
    }

    /// The groups after this id, or all of them, with their members, in the order of their ids.
    pub fn after(&self, id: Option<&str>) -> impl Iterator<Item = (&Arc<str>, Option<usize>)> {
        self.table.after(id).map(|(id, group)| (id, members_of(group)))
    }

    /// How far a group has come.
    #[must_use]
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<i64> {
        self.offsets.get(group, topic, partition).map(|committed| committed.offset)
    }

    /// What a group has committed after this topic and partition, or all of it, in that order.
    pub fn committed_after(
        &self,
        group: &str,
        place: Option<(&str, i32)>,
    ) -> impl Iterator<Item = (&Arc<str>, i32, i64)> {
        self.offsets.after(group, place).map(|(topic, index, committed)| (topic, index, committed.offset))
    }

    /// Something happens so often.
    pub(super) fn count(&mut self, event: GroupEvent, times: usize) {
        self.events.count(event, times as u64);
    }

    /// From here on the host hears what changes, if it wants to. What was replayed before it looks
    /// at by itself.
    pub fn begin_news(&mut self) {
        if self.is_observed {
            self.table.changed.begin();
            self.offsets.begin_news();
        }
    }

    /// What has changed since this was asked last.
    pub(super) fn news(&mut self) -> GroupNews {
        GroupNews { groups: self.table.changed.take(), offsets: self.offsets.take_changed() }
    }

    /// What groups and offsets take in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.offsets.bytes() + self.table.bytes()
    }

    /// Applies a record and writes it.
    pub(super) fn apply(&mut self, record: GroupRecord, turn: &mut GroupTurn<'_>) {
        self.apply_in(record, None, turn);
    }

    /// The same in a producer's transaction, if one is named.
    pub(super) fn apply_in(
        &mut self,
        record: GroupRecord,
        producer: Option<ProducerId>,
        turn: &mut GroupTurn<'_>,
    ) {
        let undo = self.change(record.clone(), producer);
        turn.write(record, undo);
    }

    /// Applies a record, and gives the one that takes it back. `producer`: whose transaction it is
    /// in.
    pub(super) fn change(&mut self, record: GroupRecord, producer: Option<ProducerId>) -> GroupRecord {
        match record {
            GroupRecord::Offset(key, value) => {
                // Of a client that commits and is no member, or compaction has taken the group.
                if value.is_some() && self.table.get(&key.group).is_none() {
                    self.add_simple(&key.group);
                }
                self.offsets.replay(key, value, producer)
            }
            GroupRecord::TakesBack(before) => {
                self.offsets.take_back((*before).clone());
                GroupRecord::TakesBack(before) // it is not taken back in turn
            }
            of_a_group => self.table.replay(of_a_group),
        }
    }

    #[cfg(test)]
    pub(crate) fn check_counts(&self) {
        self.table.check();
    }

    /// A classic group without members, of which only offsets speak.
    pub(super) fn add_simple(&mut self, id: &str) {
        let id: Arc<str> = id.into();
        let before = self.table.insert(id.clone(), Group::Classic(Box::new(ClassicGroup::simple(id))));
        assert!(before.is_none(), "no other group has the id");
    }
}

/// `None`: of a type that is not spoken.
fn members_of(group: &Group) -> Option<usize> {
    match group {
        Group::Classic(group) => Some(group.size()),
        Group::Consumer(group) => Some(group.members().len()),
        Group::Foreign(_) => None,
    }
}
