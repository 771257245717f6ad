//! A consumer group of which only classic members are left becomes a classic group.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::change::Change;
use super::super::deadlines;
use super::embedded;
use crate::group::classic;
use crate::group::state::GroupTurn;
use crate::group::state::classic::{CONSUMER, ClassicGroup, ClassicMember, Parts, Protocols};
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember};
use crate::group::world::World;

/// Whether the group becomes a classic one when these go: all others are classic members.
pub(crate) fn may_go_without(group: &ConsumerGroup, leaving: &[Arc<str>], world: &dyn World) -> bool {
    let is_classic = |id: &&Arc<str>| group.member(id).is_some_and(ConsumerMember::is_classic);
    let stay = group.members().len() - leaving.len();
    let classic = group.classic_members() - leaving.iter().filter(is_classic).count();
    stay > 0 && classic == stay && may_be_classic(stay, world)
}

/// Whether the group becomes a classic one when this member, which is static, is a classic one from
/// here on.
pub(crate) fn may_change(group: &ConsumerGroup, member: &ConsumerMember, world: &dyn World) -> bool {
    let members = group.members().len();
    !member.is_classic() && group.classic_members() == members - 1 && may_be_classic(members, world)
}

fn may_be_classic(members: usize, world: &dyn World) -> bool {
    let settings = world.settings();
    let is_allowed = settings.consumer.as_ref().is_some_and(|settings| settings.migration.downgrade);
    is_allowed && members <= settings.classic.max_size
}

/// Makes a classic group of it, without these members, and has it rebalance if there is a reason.
pub(crate) fn downgrade(change: &mut Change<'_, '_>, leaving: &[Arc<str>], reason: Option<&str>) {
    let id = change.id().clone();
    let leaving: HashSet<&Arc<str>> = leaving.iter().collect();
    let group = change.group();
    let ids: Vec<Arc<str>> = group.members().map(|(member, _)| member.clone()).collect();
    let classic = convert(group, &id, &leaving, change.turn);
    for record in group.tombstones(&id) {
        change.apply(record);
    }
    for member in &ids {
        deadlines::cancel(change.turn, &id, member);
    }
    change.turn.say(format!("group {id}: is a classic group from here on"));
    classic::take_over(change.groups, classic, reason, change.turn);
}

fn convert(
    group: &ConsumerGroup,
    id: &Arc<str>,
    leaving: &HashSet<&Arc<str>>,
    turn: &GroupTurn<'_>,
) -> ClassicGroup {
    let members = || group.members().filter(|(member, _)| !leaving.contains(member));
    let parts = |members| Parts {
        generation: group.epoch(),
        since: Some(turn.now.wall),
        protocol_type: Some(CONSUMER.into()),
        protocol: None,
        leader: None,
        members,
    };
    let elected = members().map(|(member_id, member)| (member_id.clone(), classic_member(member)));
    let elected = ClassicGroup::of_parts(id.clone(), parts(elected.collect()));
    let protocol = elected.protocol().unwrap_or_default();
    // What each has, which may not be its target yet (Apache Kafka writes that). Were the group
    // upgraded again before its members have joined, one would be given what another has.
    let assigned = members().map(|(member_id, member)| {
        let has = member.current().all();
        let member = classic_member(member);
        let metadata = member.protocols.metadata(protocol);
        let assignment = embedded::write_assignment(embedded::of_assigned(&has), metadata, turn.world);
        (member_id.clone(), member.with_assignment(&assignment))
    });
    ClassicGroup::of_parts(id.clone(), parts(assigned.collect()))
}

fn classic_member(member: &ConsumerMember) -> ClassicMember {
    let about = member.about().expect("a classic member has said what it is");
    let classic = about.classic_member_metadata.as_ref().expect("it is a classic member");
    let offered = classic.supported_protocols.iter();
    ClassicMember::new(
        about.instance_id.as_deref().map(Arc::from),
        about.client_id.as_str().into(),
        about.client_host.as_str().into(),
        about.rebalance_timeout_ms,
        classic.session_timeout_ms,
        Protocols::new(offered.map(|protocol| (protocol.name.clone(), protocol.metadata.clone()))),
    )
}
