//! DeleteGroups, of one group, and groups that go by themselves.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::delete_groups_response::DeletableGroupResult;

use super::long::PIECE;
use super::state::classic::tombstones;
use super::state::offsets::tombstone;
use super::state::table::Group;
use super::state::{GroupTurn, Groups, Long};
use super::{GroupRecord, GroupReply};

/// A group that is being deleted: its offsets first, then itself. A member that comes meanwhile
/// keeps what is left.
#[derive(Debug)]
pub(super) struct DeleteQuestion {
    group: String,
}

impl DeleteQuestion {
    pub(super) fn new(group: String) -> Self {
        Self { group }
    }
}

impl Long for DeleteQuestion {
    fn go_on(&mut self, groups: &mut Groups, turn: &mut GroupTurn<'_>) -> Option<GroupReply> {
        let error = match groups.check_delete(&self.group) {
            Ok(()) => {
                // What was deleted is gone: the first ones are always the next.
                let offsets = groups.offsets.after(&self.group, None).take(PIECE);
                let gone = offsets.map(|(topic, index, _)| tombstone(&self.group, topic, index));
                let gone: Vec<GroupRecord> = gone.collect();
                let is_last = gone.len() < PIECE;
                for record in gone {
                    groups.apply(record, turn);
                    turn.end_unit();
                }
                if !is_last {
                    return None;
                }
                groups.remove(&self.group, turn);
                ErrorCode::None
            }
            Err(error) => error,
        };
        // No sentence, though newer versions have a field for one: as Apache Kafka.
        let (group_id, error_code) = (std::mem::take(&mut self.group), error.to_wire());
        Some(GroupReply::Delete(DeletableGroupResult { group_id, error_code, error_message: None }))
    }
}

impl Groups {
    fn check_delete(&self, id: &str) -> Result<(), ErrorCode> {
        match self.table.get(id) {
            None | Some(Group::Foreign(_)) => Err(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(group)) => group.check_delete(),
            Some(Group::Consumer(group)) if !group.is_empty() => Err(ErrorCode::NonEmptyGroup),
            Some(Group::Consumer(_)) => Ok(()),
        }
    }

    /// Takes a group out that has neither members nor offsets any more.
    pub(super) fn remove_if_empty(&mut self, id: &str, turn: &mut GroupTurn<'_>) {
        let is_empty = match self.table.get(id) {
            Some(Group::Classic(group)) => group.is_empty(),
            Some(Group::Consumer(group)) => group.is_empty(),
            Some(Group::Foreign(_)) | None => false,
        };
        if is_empty {
            self.remove(id, turn);
        }
    }

    fn remove(&mut self, id: &str, turn: &mut GroupTurn<'_>) {
        let records: Vec<GroupRecord> = match self.table.get(id) {
            Some(Group::Classic(_)) => tombstones(id),
            Some(Group::Consumer(group)) => group.tombstones(id),
            Some(Group::Foreign(_)) | None => Vec::new(),
        };
        for record in records {
            self.apply(record, turn);
        }
    }
}
