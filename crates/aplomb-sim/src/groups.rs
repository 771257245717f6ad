//! The groups of a scenario: their members, and settings that make minutes of a group's life fit
//! into seconds. They have dice of their own: what else a seed stands for is what it was before
//! there were groups.

use std::time::Duration;

use super::random::Dice;

/// Of every so many seeds one has groups: those that can be divided by it.
const EVERY: u64 = 4;
const MS: Duration = Duration::from_millis(1);

/// By which protocol a group lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// JoinGroup and SyncGroup: a leader assigns.
    Classic,
    /// ConsumerGroupHeartbeat: the coordinator assigns.
    Consumer,
}

/// A client that is a member of a group, on and off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemberPlan {
    /// Names it among all members.
    pub(crate) number: usize,
    /// The number of its group.
    pub(crate) group: usize,
    pub(crate) protocol: Protocol,
    /// It has an instance id, and keeps it.
    pub(crate) is_static: bool,
}

impl MemberPlan {
    /// The id of its group.
    pub(crate) fn group_id(&self) -> String {
        format!("g{}", self.group)
    }
}

/// The groups of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct GroupsPlan {
    /// How long a member of the consumer protocol may be silent.
    pub(crate) session: Duration,
    pub(crate) members: Vec<MemberPlan>,
    settings: Vec<(&'static str, String)>,
}

impl GroupsPlan {
    /// The groups that a seed has, if it has any.
    pub(crate) fn draw(seed: u64) -> Option<Self> {
        if !seed.is_multiple_of(EVERY) {
            return None;
        }
        let mut dice = Dice::of(seed, "groups", 0);
        let session = dice.time(MS * 400..MS * 2000);
        let beat = (session / 8).as_millis();
        let session_millis = session.as_millis();
        let settings = vec![
            ("offsets.topic.num.partitions", (1 + dice.place(4)).to_string()),
            ("group.initial.rebalance.delay.ms", dice.pick(&["0", "50", "400"]).to_string()),
            ("group.min.session.timeout.ms", "100".to_owned()),
            ("group.consumer.min.session.timeout.ms", "100".to_owned()),
            ("group.consumer.session.timeout.ms", session_millis.to_string()),
            ("group.consumer.min.heartbeat.interval.ms", "10".to_owned()),
            ("group.consumer.heartbeat.interval.ms", beat.to_string()),
            ("group.consumer.assignment.interval.ms", dice.pick(&["0", "50", "400"]).to_string()),
            ("group.coordinator.append.linger.ms", dice.pick(&["-1", "0", "5"]).to_string()),
            ("offsets.commit.timeout.ms", dice.pick(&["500", "5000"]).to_string()),
            ("log.roll.ms", dice.pick(&["300", "2000", "604800000"]).to_string()),
        ];
        let mut members = Vec::new();
        for group in 0..1 + dice.place(3) {
            let protocol = *dice.pick(&[Protocol::Classic, Protocol::Consumer]);
            for _ in 0..1 + dice.place(4) {
                let number = members.len();
                members.push(MemberPlan { number, group, protocol, is_static: dice.percent(30) });
            }
        }
        Some(Self { session, members, settings })
    }

    /// What the broker is told of groups.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.settings.iter().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_seeds_have_groups_of_each_protocol_and_most_have_none() {
        let plans: Vec<GroupsPlan> = (0..400).filter_map(GroupsPlan::draw).collect();
        assert_eq!(plans.len(), 100);
        for protocol in [Protocol::Classic, Protocol::Consumer] {
            let has_static = |member: &MemberPlan| member.protocol == protocol && member.is_static;
            assert!(plans.iter().any(|plan| plan.members.iter().any(has_static)), "{protocol:?}");
        }
    }
}
