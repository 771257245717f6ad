//! `uniform` for members that all have the same subscription
//! (`UniformHomogeneousAssignmentBuilder`): loads differ by one partition at most, and what a
//! member had it keeps, up to its share.

use super::Assignments;
use super::layout::{Layout, MemberNumber, NO_ONE};

pub(super) fn assign(layout: &Layout<'_>) -> Assignments {
    let total: usize = layout.topics().iter().map(|topic| topic.partitions as usize).sum();
    let members = layout.size();
    if members == 0 {
        return Assignments::new();
    }
    let mut shares = Shares { share: total / members, extras: total % members, members };
    let had = layout.kept();
    let mut owners: Vec<Vec<MemberNumber>> =
        layout.topics().iter().map(|topic| vec![NO_ONE; topic.partitions as usize]).collect();
    for &(member, place, partition) in &had {
        owners[place][partition as usize] = member;
    }
    // First what had no owner, topic by topic, then what members give up.
    let mut free: Vec<(usize, usize)> = Vec::new();
    for (place, owners) in owners.iter().enumerate() {
        free.extend((0..owners.len()).filter(|&at| owners[at] == NO_ONE).map(|at| (place, at)));
    }
    let mut unfilled = Vec::new();
    let mut had = &had[..];
    for member in 0..members {
        let (its, rest) = had.split_at(had.partition_point(|had| had.0 as usize <= member));
        had = rest;
        let (kept, room) = shares.of(member, its.len());
        free.extend(its[kept..].iter().map(|&(_, place, partition)| (place, partition as usize)));
        if room > 0 {
            unfilled.push((member as MemberNumber, room));
        }
    }
    let mut free = free.into_iter();
    for (member, room) in unfilled {
        for (place, at) in free.by_ref().take(room) {
            owners[place][at] = member;
        }
    }
    assert!(free.next().is_none(), "the shares add up to all partitions");
    layout.assignments(&owners)
}

/// How many partitions each member is due: a share, and one more for so many of them.
struct Shares {
    share: usize,
    extras: usize,
    members: usize,
}

impl Shares {
    /// How many of `had` a member keeps, and how many it is due beside them. Asked in the order of
    /// members.
    fn of(&mut self, member: usize, had: usize) -> (usize, usize) {
        let may_have_extra = self.extras > 0;
        let due = self.share + usize::from(may_have_extra);
        let kept = had.min(due);
        let mut room = due - kept;
        // It leaves the extra one to a member that may already have it, as long as there are such.
        let leaves_extra = room > 0 && may_have_extra && self.members - member > self.extras;
        if leaves_extra {
            room -= 1;
        }
        if may_have_extra && !leaves_extra {
            self.extras -= 1;
        }
        (kept, room)
    }
}
