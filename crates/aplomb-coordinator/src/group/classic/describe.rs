//! DescribeGroups, of one group.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};

use crate::group::sentence;
use crate::group::state::classic::{ClassicGroup, State};
use crate::group::state::table::GroupTable;

/// From this version on a group that is not there is called so.
const KNOWS_GROUP_ID_NOT_FOUND: i16 = 6;

pub(crate) fn describe(table: &GroupTable, version: i16, group: String) -> DescribedGroup {
    if let Some(classic) = table.classic(&group) {
        return classic.describe(group);
    }
    let dead = DescribedGroup { group_state: "Dead".to_owned(), ..Default::default() };
    if version < KNOWS_GROUP_ID_NOT_FOUND {
        return DescribedGroup { group_id: group, ..dead };
    }
    let what = if table.get(&group).is_some() { "is not a classic group" } else { "not found" };
    DescribedGroup {
        error_code: ErrorCode::GroupIdNotFound.to_wire(),
        error_message: Some(sentence(format!("Group {group} {what}."))),
        group_id: group,
        ..dead
    }
}

impl ClassicGroup {
    fn describe(&self, group_id: String) -> DescribedGroup {
        // Before it is stable its members may have a protocol that it does not have yet.
        let protocol = self.protocol().filter(|_| self.state() == State::Stable);
        let members = self.members().map(|(id, member)| DescribedGroupMember {
            member_id: id.to_string(),
            group_instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
            client_id: member.client_id.to_string(),
            client_host: member.client_host.to_string(),
            member_metadata: protocol
                .and_then(|protocol| member.protocols.metadata(protocol))
                .cloned()
                .unwrap_or_default(),
            member_assignment: member.assignment.clone(),
        });
        DescribedGroup {
            group_id,
            group_state: self.state().name().to_owned(),
            protocol_type: self.protocol_type().unwrap_or_default().to_owned(),
            protocol_data: protocol.unwrap_or_default().to_owned(),
            members: members.collect(),
            ..Default::default()
        }
    }

    /// As `ListGroups` shows it: protocol type and state.
    pub(crate) fn listed(&self) -> (&str, &'static str) {
        (self.protocol_type().unwrap_or_default(), self.state().name())
    }
}
