//! What members get and give up: the next step of one, and what one has that takes another's place.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::TopicId;
use aplomb_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;

use super::change::Change;
use super::deadlines;
use super::reconcile::Step;
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember, Current, MemberState, records};

/// A static member gets another id, and is new; all else stays as it was.
pub(super) fn replace(change: &mut Change<'_, '_>, old: &str, heir: &str) {
    let group = change.group();
    let member = group.member(old).expect("the member is there");
    let about = member.about().cloned();
    let target = group.target(old).cloned().unwrap_or_default();
    let current = Current { epoch: 0, previous: 0, ..member.current() };
    let id = change.id().clone();
    change.remove_member(old);
    change.apply(records::member(&id, heir, about));
    change.apply(records::target(&id, heir, Some(&target)));
    change.apply(records::current(&id, heir, Some(&current)));
}

/// Whether a member has what it is to have, and nothing else.
pub(super) fn is_there(group: &ConsumerGroup, member: &ConsumerMember) -> bool {
    member.state() == MemberState::Stable && member.epoch() == group.target_epoch()
}

/// Brings a member one step nearer to its target. Gives whether that changes what it is assigned.
pub(super) fn step(
    change: &mut Change<'_, '_>,
    id: &Arc<str>,
    has_resubscribed: bool,
    owned: Option<&[TopicPartitions]>,
) -> bool {
    let (group, world) = (change.group(), change.turn.world);
    let member = group.member(id).expect("it is a member");
    if is_there(group, member) && !has_resubscribed {
        return false;
    }
    let resolved = member.expression().and_then(|expression| group.resolved(expression)).unwrap_or(&[]);
    let holds = |names: &[String], name: &str| names.binary_search_by(|known| (**known).cmp(name)).is_ok();
    let subscribes = |topic: TopicId| {
        world
            .topic_by_id(topic)
            .is_some_and(|topic| holds(member.names(), &topic.name) || holds(resolved, &topic.name))
    };
    let step = Step {
        current: member.current(),
        target_epoch: group.target_epoch(),
        target: group.target(id),
        owned,
        subscribes: &subscribes,
        has_resubscribed,
        owners: group.owners(),
    };
    let Some(next) = step.take() else { return false };
    let before = member.current();
    let record = records::current(change.id(), id, Some(&next));
    change.apply(record);
    let group = change.groups.table.consumer(change.id()).expect("the group is there");
    for (topic, partition) in next.partitions().filter(|(topic, p)| before.assigned_in(*topic, *p).is_none())
    {
        assert_eq!(group.owners().of(topic, partition), 1, "what is given to a member has one owner");
    }
    let member = group.member(id).expect("it is a member");
    assert!(member.epoch() <= group.epoch().max(before.epoch), "no member is ahead of its group");
    let group_id = change.id().clone();
    deadlines::watch_revocation(change.turn, &group_id, id, member, Duration::ZERO);
    next.assigned != before.assigned
}
