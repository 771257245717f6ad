//! What a group coordinator remembers. Who asks for what, and what becomes of it, the rooms beside
//! this one decide.
//!
//! - [`table`]: groups by id, of all types; [`replay`] has records change them;
//! - [`classic`], [`consumer`]: a group of either protocol;
//! - [`offsets`]: what was committed, by group, topic and partition;
//! - [`long`]: questions that are answered in pieces.
//!
//! What always holds: a record that is replayed gives the one that takes it back.

pub(super) mod classic;
pub(super) mod consumer;
mod long;
pub(super) mod offsets;
mod replay;
pub(super) mod table;

use std::fmt::Debug;
use std::sync::Arc;

use aplomb_model::ProducerId;

use self::classic::{ClassicAfter, ClassicGroup};
use self::long::LongQuestions;
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

    /// How many offsets are committed.
    #[must_use]
    pub fn offsets(&self) -> usize {
        self.offsets.count()
    }

    /// What groups and offsets take in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.offsets.bytes() + self.table.bytes()
    }

    /// Applies a record and writes it.
    pub(super) fn apply(&mut self, record: GroupRecord, turn: &mut GroupTurn<'_>) {
        let undo = self.change(record.clone(), None);
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
            of_a_group => self.table.replay(of_a_group),
        }
    }

    /// A classic group without members, of which only offsets speak.
    pub(super) fn add_simple(&mut self, id: &str) {
        let id: Arc<str> = id.into();
        let before = self.table.insert(id.clone(), Group::Classic(Box::new(ClassicGroup::simple(id))));
        assert!(before.is_none(), "no other group has the id");
    }
}
