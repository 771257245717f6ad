//! Members by load: the least loaded are given partitions, and the most loaded give some up.
//!
//! ```text
//!                        givers
//!            takers         [##]#
//!            [...>  ]   ####[##]#     # have none to give
//!  partitions[######]#######[##]#
//!            +--------------------
//!             members by load
//! ```
//!
//! The takers are filled level by level: when each has got one, the next level begins, at which
//! more members may join in. The givers are emptied the same way from above. What always holds: a
//! member beyond both ranges has the load with which it came.

use super::MemberNumber;

/// Members by load, and how far giving and taking have come.
#[derive(Debug, Default)]
pub(super) struct Ladder {
    /// By load, then by number; within the givers' range also by who was passed over.
    members: Vec<MemberNumber>,
    /// Behind the last taker.
    takers_end: usize,
    /// What takers had before this level.
    takers_level: i64,
    /// Who takes next.
    taker: usize,
    /// The first giver.
    givers_start: usize,
    /// Behind the last giver.
    givers_end: usize,
    /// What givers had before this level.
    givers_level: i64,
    /// Behind the one who gives next.
    giver: usize,
}

impl Ladder {
    /// Takes members, ascending, of whom so many at most will be asked to take. There must be one.
    pub(super) fn begin(&mut self, members: &[MemberNumber], loads: &[u32], takes: usize) {
        let key = |member: &MemberNumber| (loads[*member as usize], *member);
        self.members.clear();
        if takes == 1 {
            self.members.extend(members.iter().min_by_key(|member| key(member)));
        } else {
            self.members.extend(members);
            // Each taker is one further at most: those behind are never asked.
            if takes < members.len() / 4 {
                self.members.select_nth_unstable_by_key(takes, key);
                self.members.truncate(takes);
            }
            self.members.sort_unstable_by_key(key);
        }
        let load = |place: usize| i64::from(loads[self.members[place] as usize]);
        let end = self.members.len();
        (self.takers_end, self.takers_level, self.taker) = (0, load(0) - 1, 0);
        (self.givers_start, self.givers_end, self.giver) = (end, end, end);
        self.givers_level = load(end - 1) + 1;
    }

    /// Who takes the next partition.
    pub(super) fn next_least(&mut self, loads: &[u32]) -> MemberNumber {
        if self.taker >= self.takers_end {
            self.takers_level += 1;
            let more = self.members[self.takers_end..].iter();
            self.takers_end += more.take_while(|member| load_of(member, loads) == self.takers_level).count();
            self.taker = 0;
        }
        self.taker += 1;
        self.members[self.taker - 1]
    }

    /// Who gives up a partition next. `None`: none has one to give.
    pub(super) fn next_most(&mut self, loads: &[u32]) -> Option<MemberNumber> {
        if self.giver <= self.givers_start {
            self.givers_level = match self.givers_start.checked_sub(1) {
                // All were passed over: it goes on with those below, however far below.
                Some(below) if self.givers_end <= self.givers_start => load_of(&self.members[below], loads),
                _ => self.givers_level - 1,
            };
            let more = self.members[..self.givers_start].iter().rev();
            self.givers_start -=
                more.take_while(|member| load_of(member, loads) == self.givers_level).count();
            self.giver = self.givers_end;
        }
        self.giver = self.giver.checked_sub(1)?;
        Some(self.members[self.giver])
    }

    /// The one who was to give last has nothing, and is not asked again.
    pub(super) fn pass_over(&mut self) {
        self.givers_end -= 1;
        self.members.swap(self.giver, self.givers_end);
    }

    /// Whether another partition moved would make nothing more even.
    pub(super) fn is_even(&self) -> bool {
        self.givers_level - self.takers_level <= 1
    }
}

fn load_of(member: &MemberNumber, loads: &[u32]) -> i64 {
    i64::from(loads[*member as usize])
}
