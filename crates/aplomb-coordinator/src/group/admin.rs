//! ListGroups and DeleteGroups.

use aplomb_protocol::messages as m;

use super::table::GroupTable;
use super::{GroupTurn, Groups};
use crate::runtime::Ticket;

pub(super) fn list(_: &GroupTable, _: &m::ListGroupsRequest) -> Vec<m::list_groups_response::ListedGroup> {
    todo!()
}

impl Groups {
    pub(super) fn delete(&mut self, _: Ticket, _: String, _: &mut GroupTurn<'_>) {
        todo!()
    }
}
