//! Records of groups, applied. A consumer group is in the table as long as a record of it is there.

use aplomb_protocol::messages as m;

use super::classic::ClassicGroup;
use super::table::{Group, GroupTable};
use crate::group::GroupRecord;

impl GroupTable {
    /// Applies a record of a group, and gives the one that takes it back.
    pub(crate) fn replay(&mut self, record: GroupRecord) -> GroupRecord {
        match record {
            GroupRecord::Classic(key, value) => self.replay_classic(key, value),
            GroupRecord::Foreign { kind, key, group, is_there } => {
                self.count_foreign(&group, is_there);
                GroupRecord::Foreign { kind, key, group, is_there: !is_there }
            }
            of_consumers => self.replay_consumer(of_consumers),
        }
    }

    fn replay_classic(
        &mut self,
        key: m::GroupMetadataKey,
        value: Option<m::GroupMetadataValue>,
    ) -> GroupRecord {
        let before = self.classic(&key.group).map(ClassicGroup::value);
        let id = self.id(&key.group);
        match value {
            Some(value) => {
                let group = Box::new(ClassicGroup::of_value(id.clone(), value));
                self.insert(id, Group::Classic(group));
            }
            // Of another type by now: the tombstone is older than that, and is not about it.
            None if before.is_none() => {}
            None => {
                if let Some(Group::Classic(removed)) = self.remove(&key.group) {
                    self.keep_removed(*removed);
                }
            }
        }
        GroupRecord::Classic(key, before)
    }

    fn replay_consumer(&mut self, record: GroupRecord) -> GroupRecord {
        let id = record.group().to_owned();
        if !matches!(self.get(&id), Some(Group::Consumer(_))) {
            // A group of another type is one that was before: compaction has taken its tombstone,
            // or it is a simple one, which no record speaks of.
            if record.is_tombstone() {
                return record;
            }
            self.insert(self.id(&id), Group::Consumer(Box::default()));
        }
        let changed = self.change_consumer(&id, |group| (group.replay(record), group.is_gone()));
        let (undo, is_gone) = changed.expect("the group is there");
        if is_gone {
            self.remove(&id);
        }
        undo
    }
}
