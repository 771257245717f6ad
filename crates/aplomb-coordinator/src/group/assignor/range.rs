//! `range` (`RangeAssignor`): of each topic a member gets partitions that lie together, in the
//! order of members; topics with as many partitions and the same subscribers are cut alike.

use std::cmp::Ordering;
use std::sync::Arc;

use super::layout::Layout;
use super::{Assignments, Subscriber, Subscribers};

/// Static members first, by their instance, so that they have the same after a restart; then the
/// others by their id.
pub(super) fn in_order(members: &Subscribers) -> Vec<(&Arc<str>, &Subscriber)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by(|(id, member), (other_id, other)| match (&member.instance, &other.instance) {
        (Some(instance), Some(other)) => as_java(instance, other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => as_java(id, other_id),
    });
    members
}

/// Java compares UTF-16 units: a character beyond U+FFFF comes before U+E000.
fn as_java(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

pub(super) fn assign(layout: &Layout<'_>) -> Assignments {
    let mut owners = Vec::with_capacity(layout.topics().len());
    for topic in layout.topics() {
        let subscribers = layout.audience(topic);
        let partitions = topic.partitions as usize;
        let (share, extras) = (partitions / subscribers.len(), partitions % subscribers.len());
        let shares =
            subscribers.iter().enumerate().map(|(n, &member)| (member, share + usize::from(n < extras)));
        let cut = shares.take(partitions); // behind them the shares are empty
        owners.push(cut.flat_map(|(member, share)| std::iter::repeat_n(member, share)).collect());
    }
    layout.assignments(&owners)
}
