//! What a heartbeat must be like, and whether its sender may send it: all of it looked at before
//! anything is written.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use m::consumer_group_heartbeat_request::TopicPartitions;

use super::refusal::Refusal;
use crate::group::expression::Expression;
use crate::group::settings::ConsumerSettings;
use crate::group::state::consumer::{AWAY, ConsumerGroup, ConsumerMember, Holdings, LEAVES, MemberState};

pub(super) type HeartbeatRequest = m::ConsumerGroupHeartbeatRequest;

/// From this version on clients make up their member ids.
const CLIENT_MADE_IDS: i16 = 1;

/// Whether the request is one at all.
pub(super) fn check(
    request: &HeartbeatRequest,
    version: i16,
    settings: &ConsumerSettings,
) -> Result<(), Refusal> {
    let invalid = |message: &str| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let is_blank = |text: &str| text.trim_matches(|c: char| c <= ' ').is_empty(); // Java's trim
    let epoch = request.member_epoch;
    if (version >= CLIENT_MADE_IDS || epoch > 0 || epoch == LEAVES) && is_blank(&request.member_id) {
        return invalid("MemberId can't be empty.");
    }
    if is_blank(&request.group_id) {
        return invalid("GroupId can't be empty.");
    }
    if request.instance_id.as_deref().is_some_and(is_blank) {
        return invalid("InstanceId can't be empty.");
    }
    if request.rack_id.as_deref().is_some_and(is_blank) {
        return invalid("RackId can't be empty.");
    }
    if epoch == 0 {
        if request.rebalance_timeout_ms == -1 {
            return invalid("RebalanceTimeoutMs must be provided in first request.");
        }
        if request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty()) {
            return invalid("TopicPartitions must be empty when (re-)joining.");
        }
        if request.subscribed_topic_names.is_none() && request.subscribed_topic_regex.is_none() {
            return invalid(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
            );
        }
    } else if epoch == AWAY && request.instance_id.is_none() {
        return invalid("InstanceId can't be null.");
    } else if epoch < AWAY {
        return invalid("MemberEpoch is invalid.");
    }
    match &request.server_assignor {
        Some(assignor) if !settings.assignors.iter().any(|known| **known == **assignor) => {
            let known: Vec<&str> = settings.assignors.iter().map(|known| &**known).collect();
            let known = known.join(", ");
            Err(Refusal::new(
                ErrorCode::UnsupportedAssignor,
                format!("ServerAssignor {assignor} is not supported. Supported assignors: {known}."),
            ))
        }
        _ => Ok(()),
    }
}

/// Whose a heartbeat is.
#[derive(Debug)]
pub(super) enum Sender {
    /// A member that is known.
    Known(Arc<str>),
    /// One that joins.
    New,
    /// A static member that takes the place of this one.
    Heir(Arc<str>),
}

/// Whether a heartbeat that does not leave is taken, and whose it is.
pub(super) fn admit(
    id: &str,
    group: Option<&ConsumerGroup>,
    request: &HeartbeatRequest,
    settings: &ConsumerSettings,
) -> Result<Sender, Refusal> {
    check_room(group, &request.member_id, request.instance_id.as_deref(), settings)?;
    let sender = match &request.instance_id {
        None => dynamic(id, group, request)?,
        Some(instance) => of_instance(group, request, instance)?,
    };
    let member = match (&sender, group) {
        (Sender::Known(member) | Sender::Heir(member), Some(group)) => group.member(member),
        _ => None,
    };
    check_expression(group, member, request)?;
    let owns = request.topic_partitions.as_ref().is_none_or(|owned| !owned.is_empty());
    if owns && member.is_some_and(|member| matches!(member.state(), MemberState::Unknown(_))) {
        return Err(Refusal::new(
            ErrorCode::FencedMemberEpoch,
            "The consumer group member is in a unknown state. The member must abandon all its partitions \
             and rejoin.",
        ));
    }
    Ok(sender)
}

/// Whether a group has room for this member.
pub(super) fn check_room(
    group: Option<&ConsumerGroup>,
    member: &str,
    instance: Option<&str>,
    settings: &ConsumerSettings,
) -> Result<(), Refusal> {
    let is_known = |group: &ConsumerGroup| {
        let returns = instance.is_some_and(|instance| group.instance(instance).is_some());
        returns || !member.is_empty() && group.member(member).is_some()
    };
    let max = settings.max_size;
    if group.map_or(0, |group| group.members().len()) < max || group.is_some_and(is_known) {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::GroupMaxSizeReached,
        format!("The consumer group has reached its maximum capacity of {max} members."),
    ))
}

/// Whether the group takes more memory by this.
pub(super) fn grows(group: Option<&ConsumerGroup>, sender: &Sender, request: &HeartbeatRequest) -> bool {
    let member = match sender {
        Sender::New => return true,
        Sender::Known(member) | Sender::Heir(member) => group.and_then(|group| group.member(member)),
    };
    let names = request.subscribed_topic_names.iter().flatten().map(String::len).sum::<usize>();
    let regex = request.subscribed_topic_regex.as_ref().map_or(0, String::len);
    names + regex > member.map_or(0, ConsumerMember::bytes)
}

/// The client tries again, when others may have left.
pub(super) fn no_room() -> Refusal {
    Refusal::new(ErrorCode::CoordinatorNotAvailable, "The groups of the coordinator have no more memory.")
}

fn dynamic(id: &str, group: Option<&ConsumerGroup>, request: &HeartbeatRequest) -> Result<Sender, Refusal> {
    match group.and_then(|group| group.entry(&request.member_id)) {
        Some((known, member)) => {
            check_epoch(member, request)?;
            Ok(Sender::Known(known.clone()))
        }
        None if request.member_epoch == 0 => Ok(Sender::New),
        None => Err(unknown_member(id, &request.member_id)),
    }
}

fn of_instance(
    group: Option<&ConsumerGroup>,
    request: &HeartbeatRequest,
    instance: &str,
) -> Result<Sender, Refusal> {
    let known = group.and_then(|group| {
        let id = group.instance(instance)?;
        Some((id, group.member(id)?))
    });
    if request.member_epoch == 0 {
        let Some((known, member)) = known else {
            let known = group.and_then(|group| group.id_of(&request.member_id));
            return Ok(known.map_or(Sender::New, Sender::Known));
        };
        if !member.is_classic() && member.epoch() != AWAY {
            return Err(Refusal::new(
                ErrorCode::UnreleasedInstanceId,
                format!(
                    "Static member {} with instance id {instance} cannot join the group because the \
                     instance id is owned by {known} member.",
                    request.member_id
                ),
            ));
        }
        return Ok(Sender::Heir(known.clone()));
    }
    let known = known.map(|(id, _)| id);
    let id = check_instance(known, &request.member_id, instance)?.clone();
    let member = group.and_then(|group| group.member(&id)).expect("a static member is a member");
    check_epoch(member, request)?;
    Ok(Sender::Known(id))
}

/// Whether this member is the one that `known` has for the instance.
pub(super) fn check_instance<'a>(
    known: Option<&'a Arc<str>>,
    member: &str,
    instance: &str,
) -> Result<&'a Arc<str>, Refusal> {
    let Some(known) = known else {
        return Err(Refusal::new(ErrorCode::UnknownMemberId, format!("Instance id {instance} is unknown.")));
    };
    if **known == *member {
        return Ok(known);
    }
    Err(Refusal::new(
        ErrorCode::FencedInstanceId,
        format!("Static member {member} with instance id {instance} was fenced by member {known}."),
    ))
}

pub(super) fn unknown_member(group: &str, member: &str) -> Refusal {
    Refusal::new(ErrorCode::UnknownMemberId, format!("Member {member} is not a member of group {group}."))
}

fn check_epoch(member: &ConsumerMember, request: &HeartbeatRequest) -> Result<(), Refusal> {
    let (sent, known) = (request.member_epoch, member.epoch());
    let fenced = |which: &str| {
        Err(Refusal::new(
            ErrorCode::FencedMemberEpoch,
            format!(
                "The consumer group member has a {which} member epoch ({sent}) than the one known by the \
                 group coordinator ({known}). The member must abandon all its partitions and rejoin."
            ),
        ))
    };
    let was_lost = || {
        member.written().is_some_and(|current| {
            sent == current.previous && is_within(request.topic_partitions.as_deref(), &current.assigned)
        })
    };
    if sent == 0 || sent == known {
        Ok(())
    } else if sent > known {
        fenced("greater")
    } else if was_lost() {
        Ok(()) // it has not heard of the epoch that it is in
    } else {
        fenced("smaller")
    }
}

fn is_within(owned: Option<&[TopicPartitions]>, assigned: &Holdings) -> bool {
    owned.is_some_and(|owned| {
        owned.iter().all(|topic| {
            assigned
                .get(&topic.topic_id)
                .is_some_and(|partitions| topic.partitions.iter().all(|p| partitions.contains_key(p)))
        })
    })
}

/// An expression that no member is subscribed to yet has to be one.
fn check_expression(
    group: Option<&ConsumerGroup>,
    member: Option<&ConsumerMember>,
    request: &HeartbeatRequest,
) -> Result<(), Refusal> {
    let Some(new) = request.subscribed_topic_regex.as_deref().filter(|new| !new.is_empty()) else {
        return Ok(());
    };
    let is_old = member.is_some_and(|member| member.expression() == Some(new));
    if is_old || group.is_some_and(|group| group.subscriptions().count(new) > 0) {
        return Ok(());
    }
    let compiled = Expression::compile(new);
    compiled.map(|_| ()).map_err(|why| Refusal::new(ErrorCode::InvalidRegularExpression, why))
}
