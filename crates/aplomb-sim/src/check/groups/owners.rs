//! Who owns which partitions, as members believe it.
//!
//! A member of the consumer protocol owns what it was assigned until it gives it up or its session
//! is over, and meanwhile no other member does. A member of the classic protocol owns what it was
//! assigned in its generation, and in that generation no other member does. A power cut may take
//! what the coordinator knew of it: what is believed from before is no contradiction to what is
//! said afterwards, until the coordinator says it again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aplomb_model::Instant;

use super::super::cluster::Cluster;
use super::super::{Checked, PartitionId};
use crate::groups::Protocol;

/// So long must nothing have changed for a group to be stable.
const STABLE: Duration = Duration::from_millis(500);

/// A client that wants to be a member.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    pub(crate) group: String,
    pub(crate) protocol: Protocol,
    /// The topics it is subscribed to.
    pub(crate) topics: Vec<String>,
}

/// What a member owns.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    /// Its generation, or its epoch.
    pub(crate) epoch: i32,
    pub(crate) partitions: BTreeSet<PartitionId>,
    /// When its session is over, unless it hears from the coordinator.
    pub(crate) until: Instant,
}

#[derive(Debug)]
struct Member {
    joining: Joining,
    hold: Option<Hold>,
    /// In which life of the coordinators' memory it was told.
    life: u64,
    /// What it was told in an earlier life, and holds until it has done what it was told since.
    of_before: BTreeSet<PartitionId>,
    changed: Instant,
}

impl Member {
    /// What it owns as the coordinators of its life have it, if it owns anything at all.
    fn owns(&self) -> Option<(&Hold, BTreeSet<PartitionId>)> {
        let hold = self.hold.as_ref()?;
        Some((hold, hold.partitions.difference(&self.of_before).copied().collect()))
    }
}

/// The members of all groups.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    members: BTreeMap<usize, Member>,
    life: u64,
    /// How often a member was told what it owns.
    pub(crate) told: u64,
}

impl Owners {
    /// A client wants to be a member of a group; it owns nothing.
    pub(crate) fn joins(&mut self, member: usize, joining: Joining, now: Instant) {
        let life = self.life;
        let of_before = BTreeSet::new();
        self.members.insert(member, Member { joining, hold: None, life, of_before, changed: now });
    }

    /// A member wants other topics than before.
    pub(crate) fn wants(&mut self, member: usize, joining: Joining, now: Instant) {
        if let Some(member) = self.members.get_mut(&member) {
            (member.joining, member.changed) = (joining, now);
        }
    }

    /// A member gives up all that it owns, and wants to go on.
    pub(crate) fn gives_up(&mut self, member: usize, now: Instant) {
        if let Some(member) = self.members.get_mut(&member) {
            (member.hold, member.changed) = (None, now);
            member.of_before.clear();
        }
    }

    /// A member is gone, and knows it.
    pub(crate) fn goes(&mut self, member: usize) {
        self.members.remove(&member);
    }

    /// A member owns this from now on. `assigned`: what it is told to own, if it is told anew; the
    /// rest it still has to give up.
    pub(crate) fn holds(
        &mut self,
        number: usize,
        hold: Hold,
        assigned: Option<&BTreeSet<PartitionId>>,
        now: Instant,
    ) -> Checked {
        self.told += 1;
        let life = self.life;
        let Some(member) = self.members.get_mut(&number) else {
            return Err(format!("member {number} is told what it owns, and does not want to be one"));
        };
        let is_other = member
            .hold
            .as_ref()
            .is_none_or(|known| (known.epoch, &known.partitions) != (hold.epoch, &hold.partitions));
        if is_other {
            member.changed = now;
        }
        match assigned {
            Some(assigned) if member.life != life => {
                member.of_before = hold.partitions.difference(assigned).copied().collect();
            }
            Some(assigned) => member.of_before.retain(|id| !assigned.contains(id)),
            None if member.life != life => member.of_before.clear(),
            None => {}
        }
        (member.hold, member.life) = (Some(hold), life);
        self.check_sole(number, now)
    }

    /// A member takes over what it was told before, and gives up the rest.
    pub(crate) fn takes(
        &mut self,
        number: usize,
        partitions: BTreeSet<PartitionId>,
        now: Instant,
    ) -> Checked {
        if let Some(member) = self.members.get_mut(&number)
            && let Some(hold) = member.hold.as_mut()
            && hold.partitions != partitions
        {
            (hold.partitions, member.changed) = (partitions, now);
            member.of_before.retain(|id| hold.partitions.contains(id));
        }
        self.check_sole(number, now)
    }

    /// No other member of its group owns what a member does.
    fn check_sole(&self, number: usize, now: Instant) -> Checked {
        let Some(sole) = self.members.get(&number) else { return Ok(()) };
        let (joining, Some((hold, owned))) = (&sole.joining, sole.owns()) else { return Ok(()) };
        for (other, member) in &self.members {
            let Some((held, theirs)) = member.owns().filter(|(held, _)| now < held.until) else { continue };
            if *other == number || member.life != sole.life || member.joining.group != joining.group {
                continue;
            }
            if joining.protocol == Protocol::Classic && held.epoch != hold.epoch {
                continue;
            }
            if let Some(both) = owned.intersection(&theirs).next() {
                let (ours, theirs) = (hold.epoch, held.epoch);
                return Err(format!(
                    "{}: {both:?} is owned by member {number} in {ours} and by member {other} in {theirs}",
                    joining.group
                ));
            }
        }
        Ok(())
    }

    /// A member has heard from its coordinator, which has nothing new.
    pub(crate) fn hears(&mut self, member: usize, until: Instant) {
        let hold = self.members.get_mut(&member).and_then(|member| member.hold.as_mut());
        if let Some(hold) = hold {
            hold.until = until;
        }
    }

    /// What coordinators knew may be gone.
    pub(super) fn memory_lost(&mut self) {
        self.life += 1;
    }

    /// Whether every group with members is stable, and each partition has an owner. The error is
    /// what is not so.
    pub(crate) fn check_stable(&self, cluster: &Cluster, now: Instant) -> Checked {
        let groups: BTreeSet<&str> =
            self.members.values().map(|member| member.joining.group.as_str()).collect();
        groups.into_iter().try_for_each(|group| self.check_group(group, cluster, now))
    }

    fn check_group(&self, group: &str, cluster: &Cluster, now: Instant) -> Checked {
        let members = || self.members.iter().filter(|(_, member)| member.joining.group == group);
        let mut owned = BTreeSet::new();
        let mut wanted = BTreeSet::new();
        let mut epochs = BTreeSet::new();
        for (number, member) in members() {
            let Some(hold) = &member.hold else {
                return Err(format!("{group}: member {number} is not in"));
            };
            if now.since(member.changed) < STABLE || now >= hold.until {
                return Err(format!("{group}: member {number} does not come to rest: {hold:?}"));
            }
            epochs.insert(hold.epoch);
            owned.extend(&hold.partitions);
            for topic in &member.joining.topics {
                let Some(facts) = cluster.facts(topic) else { continue };
                let id = facts.id;
                wanted.extend((0..facts.partitions).map(|index| PartitionId { topic: id, index }));
            }
        }
        if epochs.len() > 1 {
            return Err(format!("{group}: its members are in {epochs:?}"));
        }
        if owned != wanted {
            return Err(format!("{group}: owned is {owned:?}, and it is subscribed to {wanted:?}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn hold(epoch: i32, partitions: &[i32], until: u64) -> Hold {
        let partition = |index: &i32| PartitionId { topic: aplomb_model::Uuid::ZERO, index: *index };
        Hold { epoch, partitions: partitions.iter().map(partition).collect(), until: at(until) }
    }

    fn of_two(protocol: Protocol) -> Owners {
        let mut owners = Owners::default();
        for member in 0..2 {
            let joining = Joining { group: "g".to_owned(), protocol, topics: Vec::new() };
            owners.joins(member, joining, at(0));
        }
        owners.holds(0, hold(5, &[0, 1], 100), None, at(1)).expect("the first owner");
        owners
    }

    #[test]
    fn a_member_of_the_consumer_protocol_owns_until_its_session_is_over() {
        let mut owners = of_two(Protocol::Consumer);
        assert!(owners.holds(1, hold(6, &[1], 200), None, at(99)).is_err());
        assert!(owners.holds(1, hold(6, &[1], 200), None, at(100)).is_ok());
        let mut owners = of_two(Protocol::Consumer);
        owners.holds(0, hold(6, &[0], 100), None, at(50)).expect("it gave 1 up");
        assert!(owners.holds(1, hold(6, &[1], 200), None, at(60)).is_ok());
        assert!(owners.holds(1, hold(6, &[0], 200), None, at(60)).is_err());
        owners.memory_lost();
        assert!(owners.holds(1, hold(6, &[0], 200), None, at(60)).is_ok());
    }

    #[test]
    fn what_a_member_has_to_give_up_after_a_power_cut_is_anothers_already() {
        let mut owners = of_two(Protocol::Consumer);
        owners.memory_lost();
        let assigned = hold(6, &[0], 0).partitions;
        owners.holds(0, hold(5, &[0, 1], 100), Some(&assigned), at(20)).expect("alone");
        owners.holds(1, hold(6, &[1], 200), None, at(21)).expect("the first has to give 1 up");
        assert!(owners.holds(1, hold(6, &[0, 1], 200), None, at(22)).is_err());
        owners.takes(1, hold(6, &[1], 0).partitions, at(23)).expect("it gave 0 up again");
        owners.takes(0, assigned, at(24)).expect("it gave 1 up");
        assert!(owners.holds(0, hold(6, &[0, 1], 100), None, at(25)).is_err());
    }

    #[test]
    fn a_member_of_the_classic_protocol_owns_in_its_generation() {
        let mut owners = of_two(Protocol::Classic);
        assert!(owners.holds(1, hold(5, &[1], 200), None, at(50)).is_err());
        assert!(owners.holds(1, hold(6, &[1], 200), None, at(50)).is_ok());
    }
}
