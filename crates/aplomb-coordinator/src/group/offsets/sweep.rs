//! Offsets that go by themselves: expired ones, and those of topics that are gone.
//!
//! A sweep looks at every offset, some in a turn, so that a million of them make no client wait.

use std::sync::Arc;
use std::time::Duration;

use aplomb_model::TopicId;

use crate::group::state::classic::Expiry;
use crate::group::state::offsets::tombstone;
use crate::group::state::table::Group;
use crate::group::state::{GroupTurn, Groups};
use crate::group::{GroupEvent, GroupTimer};

/// So many offsets are looked at in a turn.
const OFFSETS_A_TURN: usize = 1_000;
/// A group counts as so many, beside its own.
const GROUP: usize = 10;

impl Groups {
    /// Topics are gone: so are the offsets that were committed for them.
    pub(in crate::group) fn forget_topics(
        &mut self,
        topics: &[(Arc<str>, TopicId)],
        turn: &mut GroupTurn<'_>,
    ) {
        for (name, id) in topics {
            self.offsets.sweep.add_gone(name.clone(), *id);
        }
        turn.set_timer(GroupTimer::Expiry, Duration::ZERO);
    }

    /// Time to look for what has expired, or to go on with that: looks at some more offsets.
    pub(in crate::group) fn expire(&mut self, turn: &mut GroupTurn<'_>) {
        let mut progress = self.offsets.sweep.begin_or_go_on();
        let mut left = OFFSETS_A_TURN;
        while left > 0 {
            let (id, place) = match progress.within.take() {
                Some((id, place)) => (id, Some(place)),
                None => match self.table.after(progress.done.as_deref()).next() {
                    Some((id, _)) => (id.clone(), None),
                    None => {
                        let interval = turn.world.settings().offsets.check_interval;
                        let begins_anew = self.offsets.sweep.end();
                        let after = if begins_anew { Duration::ZERO } else { interval };
                        return turn.set_timer(GroupTimer::Expiry, after);
                    }
                },
            };
            let (looked, last) = self.sweep_group(&id, place, left, turn);
            turn.end_unit();
            left = left.saturating_sub(looked + GROUP);
            match last {
                Some(last) => progress.within = Some((id, last)),
                None => progress.done = Some(id),
            }
        }
        self.offsets.sweep.pause(progress);
        turn.set_timer(GroupTimer::Expiry, Duration::ZERO);
    }

    /// Takes out what is over among so many offsets of a group after this place; of a group that
    /// then has neither members nor offsets, the group itself. Gives how many offsets were looked
    /// at, and the last one if there may be more.
    fn sweep_group(
        &mut self,
        id: &Arc<str>,
        place: Option<(Arc<str>, i32)>,
        most: usize,
        turn: &mut GroupTurn<'_>,
    ) -> (usize, Option<(Arc<str>, i32)>) {
        let group = self.table.get(id);
        let retention =
            i64::try_from(turn.world.settings().offsets.retention.as_millis()).unwrap_or(i64::MAX);
        let now = turn.now.wall.0;
        let is_over = |since: i64| since.saturating_add(retention) <= now;
        let mut over = Vec::new();
        let (mut expired, mut looked, mut last) = (0, 0, None);
        let place = place.as_ref().map(|(topic, index)| (&**topic, *index));
        for (topic, index, committed) in self.offsets.after(id, place).take(most) {
            looked += 1;
            last = Some((topic.clone(), index));
            let expiry = match group {
                Some(Group::Classic(group)) => group.expiry(topic),
                Some(Group::Consumer(group)) if group.is_subscribed_to(topic) => Expiry::Never,
                Some(Group::Consumer(_)) | None => Expiry::SinceCommit,
                Some(Group::Foreign(_)) => Expiry::Never,
            };
            let has_expired = match expiry {
                Expiry::Never => false,
                _ if committed.expires_at >= 0 => committed.expires_at <= now,
                Expiry::Since(since) => is_over(since.0),
                Expiry::SinceCommit => is_over(committed.committed_at),
            };
            let is_open = self.offsets.is_open(id, topic, index);
            let is_gone = self.offsets.sweep.is_gone(topic, committed);
            if is_gone || (has_expired && !is_open) {
                over.push(tombstone(id, topic, index));
                expired += usize::from(!is_gone);
            }
        }
        self.count(GroupEvent::OffsetExpired, expired);
        for record in over {
            self.apply(record, turn);
            turn.end_unit();
        }
        if looked == most {
            return (looked, last);
        }
        if !self.offsets.has(id) {
            self.remove_if_empty(id, turn);
        }
        (looked, None)
    }
}
