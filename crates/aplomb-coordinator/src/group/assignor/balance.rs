//! `uniform` for members whose subscriptions differ (`UniformHeterogeneousAssignmentBuilder`).
//!
//! Members keep what they had. The rest is dealt out to the least loaded, topics with the most
//! partitions for a subscriber first. Then partitions move from the most to the least loaded
//! subscribers of each topic, round by round, until no topic's subscribers differ by more than one
//! or there have been rounds enough.

mod ladder;

use std::cmp::Reverse;
use std::ops::Range;

use aplomb_model::TopicId;

use self::ladder::Ladder;
use super::Assignments;
use super::layout::{Layout, MemberNumber, NO_ONE, Subscribed};

/// How often all topics are balanced. Where subscriptions overlap, each round about halves what is
/// uneven.
const ROUNDS: usize = 16;

/// How many subscribers balancing looks at, in all: some tens of milliseconds. What is still uneven
/// then stays so, instead of holding up all that the same thread serves.
const LOOKS: usize = 16 << 20;

pub(super) fn assign(layout: &Layout<'_>) -> Assignments {
    let mut balance = Balance::new(layout);
    balance.deal_out();
    balance.even_out();
    layout.assignments(&balance.owners)
}

#[derive(Debug)]
struct Balance<'a> {
    layout: &'a Layout<'a>,
    /// Topics by place, in the order in which they have their turn.
    order: Vec<usize>,
    /// Who has which partition, topics by place.
    owners: Vec<Vec<MemberNumber>>,
    /// How many partitions each member has.
    loads: Vec<u32>,
    /// How many partitions have moved.
    moves: u64,
}

impl<'a> Balance<'a> {
    fn new(layout: &'a Layout<'a>) -> Self {
        let topics = layout.topics();
        let mut order: Vec<usize> = (0..topics.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&topics[a], &topics[b]);
            let (size, other_size) = (layout.audience(a).len() as u64, layout.audience(b).len() as u64);
            let (share, other_share) = (a.partitions as u64 * other_size, b.partitions as u64 * size);
            let by_id = || as_java(a.id).cmp(&as_java(b.id));
            Reverse(share).cmp(&Reverse(other_share)).then(size.cmp(&other_size)).then_with(by_id)
        });
        let mut owners: Vec<Vec<MemberNumber>> =
            topics.iter().map(|topic| vec![NO_ONE; topic.partitions as usize]).collect();
        let mut loads = vec![0; layout.size()];
        for (member, place, partition) in layout.kept() {
            owners[place][partition as usize] = member;
            loads[member as usize] += 1;
        }
        Self { layout, order, owners, loads, moves: 0 }
    }

    fn topic(&self, place: usize) -> &'a Subscribed {
        &self.layout.topics()[place]
    }

    /// Gives away what has no owner.
    fn deal_out(&mut self) {
        let mut ladder = Ladder::default();
        for place in self.order.clone() {
            let owners = &mut self.owners[place];
            let free: Vec<usize> = (0..owners.len()).filter(|&at| owners[at] == NO_ONE).collect();
            if free.is_empty() {
                continue;
            }
            ladder.begin(self.layout.audience(self.topic(place)), &self.loads, free.len());
            for at in free {
                let member = ladder.next_least(&self.loads);
                self.owners[place][at] = member;
                self.loads[member as usize] += 1;
            }
        }
    }

    /// Moves partitions until the subscribers of each topic have as many, or nearly so.
    fn even_out(&mut self) {
        let layout = self.layout;
        let mut looks = LOOKS;
        // When an audience was even, by the moves until then.
        let mut even_at: Vec<Option<u64>> = vec![None; layout.audiences()];
        // One subscriber has all there is.
        let shared = |place: &usize| layout.audience(&layout.topics()[*place]).len() > 1;
        let order: Vec<usize> = self.order.iter().copied().filter(shared).collect();
        let mut last_moved = None;
        for _ in 0..ROUNDS {
            for (turn, &place) in order.iter().enumerate() {
                if last_moved == Some(turn) {
                    return; // all others have had a turn since, and none moved
                }
                last_moved = last_moved.or(Some(turn));
                let topic = self.topic(place);
                if even_at[topic.audience] == Some(self.moves) {
                    continue;
                }
                let subscribers = layout.audience(topic);
                let cost = subscribers.len() + topic.partitions as usize;
                let Some(left) = looks.checked_sub(cost) else { return };
                looks = left;
                if is_even(subscribers, &self.loads) {
                    even_at[topic.audience] = Some(self.moves);
                    continue;
                }
                let before = self.moves;
                self.even_out_topic(place, subscribers);
                if self.moves > before {
                    last_moved = Some(turn);
                }
            }
        }
    }

    /// Moves a topic's partitions from its most to its least loaded subscribers.
    fn even_out_topic(&mut self, place: usize, subscribers: &[MemberNumber]) {
        let Self { owners, loads, moves, .. } = self;
        let owners = &mut owners[place];
        let mut stacks = Stacks::new(owners);
        let mut ladder = Ladder::default();
        ladder.begin(subscribers, loads, usize::MAX);
        while !ladder.is_even() {
            let at = loop {
                let Some(member) = ladder.next_most(loads) else { return };
                match stacks.pop(member) {
                    Some(at) => break at,
                    None => ladder.pass_over(),
                }
            };
            let to = ladder.next_least(loads);
            if ladder.is_even() {
                return;
            }
            loads[owners[at] as usize] -= 1;
            loads[to as usize] += 1;
            owners[at] = to;
            *moves += 1;
        }
    }
}

/// Whether their loads differ by one at most.
fn is_even(members: &[MemberNumber], loads: &[u32]) -> bool {
    let (mut least, mut most) = (u32::MAX, 0);
    for &member in members {
        let load = loads[member as usize];
        (least, most) = (least.min(load), most.max(load));
    }
    most.saturating_sub(least) <= 1
}

/// Java compares the halves of an id as signed numbers.
fn as_java(id: TopicId) -> (i64, i64) {
    let raw = u128::from_be_bytes(id.0);
    ((raw >> 64) as i64, raw as i64)
}

/// What each member has of a topic, to be taken from the end.
struct Stacks {
    /// With their owners: sorted, so what a member has lies together.
    partitions: Vec<(MemberNumber, usize)>,
    /// What is left of each member's, by member.
    left: Vec<(MemberNumber, Range<usize>)>,
}

impl Stacks {
    fn new(owners: &[MemberNumber]) -> Self {
        let mut partitions: Vec<(MemberNumber, usize)> =
            owners.iter().enumerate().map(|(at, &owner)| (owner, at)).collect();
        partitions.sort_unstable();
        let mut left = Vec::new();
        let mut from = 0;
        for its in partitions.chunk_by(|a, b| a.0 == b.0) {
            left.push((its[0].0, from..from + its.len()));
            from += its.len();
        }
        Self { partitions, left }
    }

    fn pop(&mut self, member: MemberNumber) -> Option<usize> {
        let at = self.left.binary_search_by_key(&member, |(owner, _)| *owner).ok()?;
        let place = self.left[at].1.next_back()?;
        Some(self.partitions[place].1)
    }
}
