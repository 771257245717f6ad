//! ListGroups, of one coordinator.

use std::sync::Arc;

use aplomb_protocol::messages::list_groups_response::ListedGroup;

use super::GroupReply;
use super::filter::GroupFilter;
use super::long::PIECE;
use super::state::table::Group;
use super::state::{GroupTurn, Groups, Long};

/// A list that is being made.
#[derive(Debug)]
pub(super) struct ListQuestion {
    filter: Arc<GroupFilter>,
    /// All groups up to this one have been looked at.
    done: Option<Arc<str>>,
    listed: Vec<ListedGroup>,
}

impl ListQuestion {
    pub(super) fn new(filter: Arc<GroupFilter>) -> Self {
        Self { filter, done: None, listed: Vec::new() }
    }
}

impl Long for ListQuestion {
    fn go_on(&mut self, groups: &mut Groups, _: &mut GroupTurn<'_>) -> Option<GroupReply> {
        let mut looked = 0;
        let done = self.done.take();
        for (id, group) in groups.table.after(done.as_deref()).take(PIECE) {
            looked += 1;
            self.done = Some(id.clone());
            self.listed.extend(listed(id, group, &self.filter));
        }
        (looked < PIECE).then(|| GroupReply::List(std::mem::take(&mut self.listed)))
    }
}

fn listed(id: &str, group: &Group, filter: &GroupFilter) -> Option<ListedGroup> {
    let (protocol_type, state, group_type) = match group {
        Group::Classic(group) => {
            let (protocol_type, state) = group.listed();
            (protocol_type, state, "classic")
        }
        Group::Consumer(group) => ("consumer", group.state().name(), "consumer"),
        // Of a protocol that this broker does not speak.
        Group::Foreign(_) => return None,
    };
    filter.passes(state, group_type).then(|| ListedGroup {
        group_id: id.to_owned(),
        protocol_type: protocol_type.to_owned(),
        group_state: state.to_owned(),
        group_type: group_type.to_owned(),
    })
}
