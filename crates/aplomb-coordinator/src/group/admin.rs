//! ListGroups and DeleteGroups.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::delete_groups_response::DeletableGroupResult;
use aplomb_protocol::messages::list_groups_response::ListedGroup;

use super::state::classic::tombstones;
use super::state::table::{Group, GroupTable};
use super::state::{GroupTurn, Groups};
use super::{GroupRecord, GroupReply};
use crate::runtime::Ticket;

/// So many tombstones of offsets go into a batch.
const TOMBSTONES: usize = 1_000;

/// The groups in one of these states and of one of these types; an empty filter lets all pass, and
/// a word that Apache Kafka does not know matches nothing.
pub(super) fn list(table: &GroupTable, request: &m::ListGroupsRequest) -> Vec<ListedGroup> {
    let passes = |filter: &[String], word: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(word))
    };
    let groups = table.iter().filter_map(|(id, group)| {
        let (protocol_type, state, group_type) = match group {
            Group::Classic(group) => {
                let (protocol_type, state) = group.listed();
                (protocol_type, state, "classic")
            }
            Group::Consumer(group) => ("consumer", group.state(), "consumer"),
            // Of a protocol that this broker does not speak.
            Group::Foreign(_) => return None,
        };
        (passes(&request.states_filter, state) && passes(&request.types_filter, group_type)).then(|| {
            ListedGroup {
                group_id: id.to_string(),
                protocol_type: protocol_type.to_owned(),
                group_state: state.to_owned(),
                group_type: group_type.to_owned(),
            }
        })
    });
    groups.collect()
}

impl Groups {
    /// DeleteGroups, of one group.
    pub(super) fn delete(&mut self, ticket: Ticket, id: String, turn: &mut GroupTurn<'_>) {
        let checked = match self.table.get(&id) {
            None | Some(Group::Foreign(_)) => Err(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(group)) => group.check_delete(),
            Some(Group::Consumer(group)) if !group.is_empty() => Err(ErrorCode::NonEmptyGroup),
            Some(Group::Consumer(_)) => Ok(()),
        };
        let error = match checked {
            Ok(()) => {
                for (n, record) in self.offsets.tombstones(&id).into_iter().enumerate() {
                    if n % TOMBSTONES == TOMBSTONES - 1 {
                        turn.end_unit();
                    }
                    self.apply(record, turn);
                }
                self.remove(&id, turn);
                ErrorCode::None
            }
            Err(error) => error,
        };
        // No sentence, though newer versions have a field for one: as Apache Kafka.
        let error_code = error.to_wire();
        let result = DeletableGroupResult { group_id: id, error_code, error_message: None };
        turn.answer(ticket, GroupReply::Delete(result));
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
