//! The target assignment: who is to have what, computed anew when the group has another epoch.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{Timestamp, TopicId};

use super::change::Change;
use crate::group::assignor::{self, Assignments, Assignor, Partitions, Subscriber, Subscribers};
use crate::group::settings::{ConsumerSettings, Overrides};
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember, records};
use crate::group::world::World;

/// Targets of so many bytes go to the log together, about. They may be in the log in part: the
/// epoch that they are of comes after the last.
const UNIT_BYTES: usize = 128 << 10;
/// What the record of a target takes beside ids and partitions, about.
const RECORD_BYTES: usize = 64;

/// Names, and an expression.
type Interest<'a> = (&'a [String], Option<&'a str>);

/// Computes the target when the group's epoch asks for it and the last one is old enough.
pub(super) fn update(change: &mut Change<'_, '_>, settings: &ConsumerSettings, overrides: Overrides) {
    let (group, now) = (change.group(), change.turn.now.wall);
    let interval = settings.assignment_interval.of(overrides.assignment_interval);
    if group.target_epoch() >= group.epoch() || !may_compute(group.target_time(), interval, now) {
        return;
    }
    let epoch = group.epoch();
    let targets = compute(group, change.assignor(settings), change.turn.world);
    assert_eq!(targets.len(), group.members().len(), "each member has a target");
    let targets: Vec<(Arc<str>, Partitions)> =
        targets.into_iter().filter(|(member, target)| group.target(member) != Some(target)).collect();
    let mut bytes = 0;
    for (member, target) in targets {
        if bytes > UNIT_BYTES {
            change.turn.end_unit();
            bytes = 0;
        }
        bytes += RECORD_BYTES + change.id().len() + member.len();
        bytes += target.values().map(|partitions| 16 + 4 * partitions.len()).sum::<usize>();
        let record = records::target(change.id(), &member, Some(&target));
        change.apply(record);
    }
    let record = records::target_epoch(change.id(), Some((epoch, now)));
    change.apply(record);
}

fn may_compute(last: Option<Timestamp>, interval: Duration, now: Timestamp) -> bool {
    let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
    last.is_none_or(|last| interval == 0 || now.0 >= last.0.saturating_add(interval))
}

fn compute(group: &ConsumerGroup, assignor: Assignor, world: &dyn World) -> Assignments {
    let by_expression = is_mixed(group);
    // Members with the same subscription share it.
    let mut shared: HashMap<Interest<'_>, Arc<BTreeSet<TopicId>>> = HashMap::new();
    let mut members = Subscribers::new();
    for (id, member) in group.members() {
        let subscription = (member.names(), member.expression());
        let topics = shared.entry(subscription).or_insert_with(|| Arc::new(topics(group, member, world)));
        let subscriber = Subscriber {
            instance: member.instance().map(Arc::from),
            topics: topics.clone(),
            by_expression,
            target: group.target(id).cloned().unwrap_or_default(),
        };
        members.insert(id.clone(), subscriber);
    }
    let partitions = |topic| world.topic_by_id(topic).map_or(0, |topic| topic.partitions);
    assignor::assign(assignor, &members, &partitions)
}

/// The topics that a member is subscribed to and that exist.
fn topics(group: &ConsumerGroup, member: &ConsumerMember, world: &dyn World) -> BTreeSet<TopicId> {
    let resolved = member.expression().and_then(|expression| group.resolved(expression)).unwrap_or(&[]);
    let names = member.names().iter().chain(resolved);
    names.filter_map(|name| world.topic(name)).map(|topic| topic.id).collect()
}

/// Whether members are subscribed by expressions, and not all of them by a single one and nothing
/// else: Apache Kafka takes their subscriptions for different ones
/// (`ConsumerGroup.subscriptionType`).
fn is_mixed(group: &ConsumerGroup) -> bool {
    let mut expressions = group.subscriptions().expressions();
    let Some(first) = expressions.next() else { return false };
    let is_by_one = group.subscriptions().count(first) == group.members().len();
    !is_by_one || group.members().any(|(_, member)| !member.names().is_empty())
}
