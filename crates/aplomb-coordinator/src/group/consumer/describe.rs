//! ConsumerGroupDescribe, of one group.

use std::collections::BTreeMap;

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages as m;
use m::consumer_group_describe_response::{Assignment, DescribedGroup, Member as Described, TopicPartitions};

use super::about::of_nobody;
use super::leave;
use crate::group::assignor::{Assignor, Partitions};
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember};
use crate::group::state::table::GroupTable;
use crate::group::world::World;

/// Members that speak this protocol, and classic ones.
const CONSUMER: i8 = 1;
const CLASSIC: i8 = 0;

pub(crate) fn describe(table: &GroupTable, id: String, world: &dyn World) -> DescribedGroup {
    let refused = |code: ErrorCode, message: Option<String>, id: String| DescribedGroup {
        error_code: code.to_wire(),
        error_message: message,
        group_id: id,
        ..DescribedGroup::default()
    };
    if id.is_empty() {
        return refused(ErrorCode::InvalidGroupId, None, id);
    }
    let group = match leave::find(table, &id) {
        Ok(group) => group,
        Err(refusal) => return refused(refusal.code, refusal.message, id),
    };
    let preferred = group.assignor().map(Assignor::name);
    let default = || world.settings().consumer.as_ref().and_then(|settings| settings.assignors.first());
    DescribedGroup {
        group_state: group.state().name().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.target_epoch(),
        assignor_name: preferred
            .map_or_else(|| default().map(|name| name.to_string()).unwrap_or_default(), str::to_owned),
        members: group.members().map(|(id, member)| describe_member(group, id, member, world)).collect(),
        group_id: id,
        ..DescribedGroup::default()
    }
}

fn describe_member(group: &ConsumerGroup, id: &str, member: &ConsumerMember, world: &dyn World) -> Described {
    let about = member.about().cloned().unwrap_or_else(of_nobody);
    let mut has = Partitions::new();
    for (topic, partition) in member.current().partitions() {
        has.entry(topic).or_default().insert(partition);
    }
    Described {
        member_id: id.to_owned(),
        member_epoch: member.epoch(),
        member_type: if member.is_classic() { CLASSIC } else { CONSUMER },
        instance_id: about.instance_id,
        rack_id: about.rack_id,
        client_id: about.client_id,
        client_host: about.client_host,
        subscribed_topic_names: about.subscribed_topic_names,
        subscribed_topic_regex: about.subscribed_topic_regex,
        assignment: assignment(&has, world),
        target_assignment: assignment(group.target(id).unwrap_or(&BTreeMap::new()), world),
    }
}

/// Topics that are there no more are left out.
fn assignment(partitions: &Partitions, world: &dyn World) -> Assignment {
    let topic = |(topic_id, partitions): (&TopicId, &std::collections::BTreeSet<i32>)| {
        world.topic_by_id(*topic_id).map(|topic| TopicPartitions {
            topic_id: *topic_id,
            topic_name: topic.name.to_string(),
            partitions: partitions.iter().copied().collect(),
        })
    };
    Assignment { topic_partitions: partitions.iter().filter_map(topic).collect() }
}
