//! Regular expressions that members are subscribed to: which topics they stand for is found out a
//! few names at a time, and written when all have been looked at.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Timestamp;
use aplomb_protocol::messages as m;

use super::change::Change;
use crate::group::state::consumer::{ConsumerGroup, Resolving, records};
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupEvent, GroupTimer, Sight};

type Value = m::ConsumerGroupRegularExpressionValue;

/// So old is what was found before it is looked for again.
const MIN_AGE: Duration = Duration::from_secs(10);
/// At this age it is looked for again in any case (`group.consumer.regex.refresh.interval.ms`).
const MAX_AGE: Duration = Duration::from_secs(600);
/// Between two turns others have theirs.
const PAUSE: Duration = Duration::from_millis(1);

/// What a member's expression is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expressed {
    AsBefore,
    /// Another, of which it is not known yet for which topics it stands.
    Other,
    /// Another, which stands for known topics, or none at all.
    OtherTopics,
}

/// Sees to what a member's change of expression (from the one to the other) brings with it, and to
/// it that topics are looked for when it is time. They are those of all the group's expressions
/// that this member is shown, as in Apache Kafka.
pub(super) fn update(
    change: &mut Change<'_, '_>,
    news: Option<&(String, String)>,
    sight: &Sight,
) -> Expressed {
    let mut expressed = Expressed::AsBefore;
    let mut has_new = false;
    if let Some((old, new)) = news {
        expressed = Expressed::Other;
        if !old.is_empty() && change.group().subscriptions().count(old) == 0 {
            let record = records::expression(change.id(), old, None);
            change.apply(record);
        }
        let group = change.group();
        has_new = !new.is_empty() && group.subscriptions().count(new) == 1;
        let is_known = !new.is_empty() && !has_new && group.resolved(new).is_some();
        if is_known || new.is_empty() && !old.is_empty() {
            expressed = Expressed::OtherTopics;
        }
    }
    if is_due(change.group(), has_new, change.turn) {
        begin(change, sight);
    }
    expressed
}

/// Whether it is time to look for topics. `has_new`: one of the group's expressions is new.
pub(super) fn is_due(group: &ConsumerGroup, has_new: bool, turn: &GroupTurn<'_>) -> bool {
    let expressions = group.subscriptions().expressions().len();
    if expressions == 0 || group.is_resolving() {
        return false;
    }
    let last = group.expressions().map(|(_, value)| (value.timestamp, value.version)).max();
    let Some((time, version)) = last else { return true };
    let age = turn.now.wall.millis_since(Timestamp(time));
    let millis = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    age > millis(MIN_AGE)
        && (has_new
            || expressions != group.expressions().len()
            || version < turn.world.version()
            || age > millis(MAX_AGE))
}

fn begin(change: &mut Change<'_, '_>, sight: &Sight) {
    let (world, now) = (change.turn.world, change.turn.now.wall);
    let resolving = Resolving::new(change.group().subscriptions().expressions(), sight.clone(), world, now);
    change.remember(|group| group.set_resolving(Some(resolving)));
    change.turn.set_timer(GroupTimer::Expressions(change.id().clone()), PAUSE);
}

/// Looks at some more names.
pub(crate) fn resolve(groups: &mut Groups, id: &Arc<str>, turn: &mut GroupTurn<'_>) {
    let resolving = groups.table.change_consumer(id, |group| group.set_resolving(None)).flatten();
    let Some(mut resolving) = resolving else { return };
    let mut change = Change::new(groups, turn, id);
    if resolving.look(change.turn.world) {
        change.remember(|group| group.set_resolving(Some(resolving)));
        return change.turn.set_timer(GroupTimer::Expressions(id.clone()), PAUSE);
    }
    write(&mut change, resolving);
}

fn write(change: &mut Change<'_, '_>, resolving: Resolving) {
    let id = change.id().clone();
    let mut is_other = false;
    let (version, timestamp) = (resolving.version(), resolving.since().0);
    for found in resolving.into_matches() {
        let group = change.group();
        if group.subscriptions().count(&found.text) == 0 {
            continue;
        }
        is_other |= group.resolved(&found.text).unwrap_or(&[]) != found.topics;
        let value = Value { topics: found.topics, version, timestamp };
        change.apply(records::expression(&id, &found.text, Some(value)));
    }
    let hash = change.hash();
    if is_other || hash != change.group().hash() {
        let epoch = change.group().epoch().saturating_add(1);
        change.apply(records::epoch(&id, Some((epoch, hash))));
        change.groups.count(GroupEvent::ConsumerRebalance, 1);
        let world = change.turn.world;
        change.remember(|group| group.on_compared(world));
    }
}
