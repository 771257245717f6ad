//! A classic group becomes a consumer group: its members stay what they are and keep what they
//! have.

use std::collections::HashSet;

use aplomb_model::{ErrorCode, Timestamp, TopicId};
use aplomb_protocol::messages as m;
use m::consumer_group_member_metadata_value::{ClassicMemberMetadata, ClassicProtocol};

use super::super::about::in_order;
use super::super::change::Change;
use super::super::refusal::Refusal;
use super::embedded;
use crate::group::assignor::Partitions;
use crate::group::hash::TopicHashes;
use crate::group::settings::ConsumerSettings;
use crate::group::state::classic::{ClassicGroup, ClassicMember, State, millis, tombstones};
use crate::group::state::consumer::{About, ConsumerMember, Current, Holdings, MemberState, records};
use crate::group::world::World;
use crate::group::{GroupRecord, GroupTimer};

/// A member in what it will be.
struct Upgraded<'a> {
    id: &'a str,
    about: About,
    assigned: Partitions,
}

/// The records that make a consumer group of a classic one that is not empty, if it may be one.
pub(crate) fn upgrade(
    id: &str,
    group: &ClassicGroup,
    settings: &ConsumerSettings,
    hashes: &mut TopicHashes,
    world: &dyn World,
) -> Result<Vec<GroupRecord>, Refusal> {
    let refused = |why: &str| {
        let message = format!("Cannot upgrade classic group {id} to consumer group because {why}.");
        Refusal::new(ErrorCode::GroupIdNotFound, message)
    };
    if !settings.migration.upgrade {
        return Err(refused("online upgrade is disabled"));
    }
    if !group.uses_consumer_protocol() {
        return Err(refused("the group does not use the consumer embedded protocol"));
    }
    if group.size() > settings.max_size {
        return Err(refused("the group size exceeds the consumer group maximum size"));
    }
    let mut members = Vec::new();
    for (member_id, member) in group.members() {
        members.push(read(member_id, member, group.protocol(), world).map_err(|why| match why {
            Unfit::Malformed => refused("the embedded consumer protocol is malformed"),
            Unfit::Custom => refused(
                "an unsupported custom assignor is in use. Please refer to the documentation or switch to \
                 a default assignor before re-attempting the upgrade",
            ),
        })?);
    }
    let mut owned = HashSet::new();
    for (topic, partitions) in members.iter().flat_map(|member| &member.assigned) {
        if partitions.iter().any(|partition| !owned.insert((*topic, *partition))) {
            let why = "The members of the group have assigned a partition twice.";
            return Err(Refusal::new(ErrorCode::UnknownServerError, why));
        }
    }
    let hash = hash_of(group, &members, hashes, world);
    Ok(write(id, group.generation(), hash, &members))
}

enum Unfit {
    /// What it says cannot be read.
    Malformed,
    /// An assignor of its own has given it more than partitions.
    Custom,
}

fn read<'a>(
    id: &'a str,
    member: &ClassicMember,
    protocol: Option<&str>,
    world: &dyn World,
) -> Result<Upgraded<'a>, Unfit> {
    let offered = || member.protocols.iter().next().map(|(_, metadata)| metadata);
    let metadata = protocol.and_then(|protocol| member.protocols.metadata(protocol)).or_else(offered);
    let subscription = metadata.and_then(embedded::subscription).ok_or(Unfit::Malformed)?;
    let mut assigned = Partitions::new();
    if !member.assignment.is_empty() {
        let assignment = embedded::assignment(&member.assignment).ok_or(Unfit::Malformed)?;
        if assignment.user_data.is_some_and(|data| !data.is_empty()) {
            return Err(Unfit::Custom);
        }
        for topic in assignment.assigned_partitions {
            let Some(known) = world.topic(&topic.topic) else { continue };
            assigned.entry(known.id).or_default().extend(topic.partitions);
        }
    }
    assigned.retain(|_, partitions| !partitions.is_empty());
    let about = About {
        instance_id: member.instance.as_ref().map(|instance| instance.to_string()),
        rack_id: subscription.rack_id.filter(|rack| !rack.is_empty()),
        client_id: member.client_id.to_string(),
        client_host: member.client_host.to_string(),
        subscribed_topic_names: in_order(&subscription.topics).into_iter().cloned().collect(),
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        server_assignor: None,
        classic_member_metadata: Some(ClassicMemberMetadata {
            session_timeout_ms: member.session_timeout_ms,
            supported_protocols: protocols(member.protocols.iter()),
        }),
    };
    Ok(Upgraded { id, about, assigned })
}

/// Protocols with what a member says in them, for its record.
pub(crate) fn protocols<'a>(
    offered: impl Iterator<Item = (&'a str, &'a bytes::Bytes)>,
) -> Vec<ClassicProtocol> {
    offered
        .map(|(name, metadata)| ClassicProtocol { name: name.to_owned(), metadata: metadata.clone() })
        .collect()
}

/// That of the topics which the members are subscribed to. In a rebalance members have what they
/// had before, which may be without what others had who have left: the hash of nothing gives the
/// group another epoch as soon as it is looked at.
fn hash_of(
    group: &ClassicGroup,
    members: &[Upgraded<'_>],
    hashes: &mut TopicHashes,
    world: &dyn World,
) -> i64 {
    if !matches!(group.state(), State::Stable) {
        return 0;
    }
    let names: HashSet<&str> = members
        .iter()
        .flat_map(|member| member.about.subscribed_topic_names.iter().map(String::as_str))
        .collect();
    hashes.of_group(names, world)
}

fn write(id: &str, generation: i32, hash: i64, members: &[Upgraded<'_>]) -> Vec<GroupRecord> {
    let current = |member: &Upgraded<'_>| Current {
        epoch: generation,
        previous: generation,
        state: MemberState::Stable,
        assigned: given(&member.assigned, generation),
        revoking: Holdings::new(),
    };
    let mut all = tombstones(id);
    all.extend(members.iter().map(|member| records::member(id, member.id, Some(member.about.clone()))));
    all.push(records::epoch(id, Some((generation, hash))));
    all.extend(members.iter().map(|member| records::target(id, member.id, Some(&member.assigned))));
    all.push(records::target_epoch(id, Some((generation, Timestamp(0)))));
    all.extend(members.iter().map(|member| records::current(id, member.id, Some(&current(member)))));
    all
}

fn given(partitions: &Partitions, epoch: i32) -> Holdings {
    let of_topic = |(topic, partitions): (&TopicId, &std::collections::BTreeSet<i32>)| {
        (*topic, partitions.iter().map(|partition| (*partition, epoch)).collect())
    };
    partitions.iter().map(of_topic).collect()
}

/// The classic members of a group that was classic until now have their sessions.
pub(crate) fn start_sessions(change: &mut Change<'_, '_>) {
    let Some(group) = change.found() else { return };
    let session_of = |member: &ConsumerMember| {
        let classic = member.about()?.classic_member_metadata.as_ref()?;
        Some(millis(classic.session_timeout_ms))
    };
    let sessions: Vec<_> =
        group.members().filter_map(|(id, member)| Some((id.clone(), session_of(member)?))).collect();
    for (member, session) in sessions {
        change.turn.set_timer(GroupTimer::Session(change.id().clone(), member), session);
    }
}
