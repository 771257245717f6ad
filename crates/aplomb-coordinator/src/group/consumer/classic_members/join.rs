//! JoinGroup of a consumer group that has members: the client is a classic member of it.

use std::sync::Arc;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use m::consumer_group_heartbeat_request::TopicPartitions;
use m::consumer_group_member_metadata_value::ClassicMemberMetadata;

use super::super::about::{News, in_order, of_nobody};
use super::super::change::Change;
use super::super::checks;
use super::super::convert::{downgrade, embedded, may_change, protocols};
use super::super::expressions::{self, Expressed};
use super::super::steps::{replace, step};
use super::super::target;
use crate::group::settings::ConsumerSettings;
use crate::group::state::classic::{CONSUMER, millis};
use crate::group::state::consumer::{About, ConsumerGroup, ConsumerMember, records};
use crate::group::state::{GroupTurn, Groups};
use crate::group::world::World;
use crate::group::{Caller, GroupReply, GroupTimer};
use crate::runtime::Ticket;

type JoinRequest = m::JoinGroupRequest;

/// From this version on a client is given its id before it joins.
const ID_FIRST: i16 = 4;
/// From this version on requests have a rebalance timeout; before, it is the session's.
const REBALANCE_TIMEOUT: i16 = 1;

/// `JoinGroup` of a consumer group that is not empty.
pub(crate) fn join(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    mut request: JoinRequest,
    turn: &mut GroupTurn<'_>,
) {
    let refuse = |member: &str, error: ErrorCode, turn: &mut GroupTurn<'_>| {
        let response = m::JoinGroupResponse {
            error_code: error.to_wire(),
            member_id: member.to_owned(),
            ..Default::default()
        };
        turn.answer_at_once(ticket, GroupReply::Join(response));
    };
    let settings = turn.world.settings().consumer.as_ref();
    let Some(settings) =
        settings.filter(|settings| settings.migration.upgrade || settings.migration.downgrade)
    else {
        return refuse("", ErrorCode::InconsistentGroupProtocol, turn);
    };
    if caller.version < REBALANCE_TIMEOUT {
        request.rebalance_timeout_ms = request.session_timeout_ms;
    }
    let is_unknown = request.member_id.is_empty();
    let id: Arc<str> =
        if is_unknown { turn.random_id().to_string().into() } else { request.member_id.as_str().into() };
    let group = groups.table.consumer(&request.group_id).expect("it is a consumer group");
    let subscription = match admit(group, &id, is_unknown, caller.version, &request, settings) {
        Ok(subscription) => subscription,
        Err(ErrorCode::MemberIdRequired) => return refuse(&id, ErrorCode::MemberIdRequired, turn),
        Err(error) => return refuse("", error, turn),
    };
    if group.member(&id).is_none() && !turn.world.has_room() {
        return refuse("", ErrorCode::CoordinatorNotAvailable, turn);
    }
    let mut change = Change::new(groups, turn, &request.group_id);
    let response = be_member(&mut change, &id, caller, &request, &subscription, settings);
    turn.answer(ticket, GroupReply::Join(response));
}

/// Whether the member may join, and what it is subscribed to.
fn admit(
    group: &ConsumerGroup,
    id: &str,
    is_unknown: bool,
    version: i16,
    request: &JoinRequest,
    settings: &ConsumerSettings,
) -> Result<m::ConsumerProtocolSubscription, ErrorCode> {
    let instance = request.group_instance_id.as_deref();
    checks::check_room(Some(group), id, instance, settings).map_err(|refusal| refusal.code)?;
    let is_offered = request.protocols.iter().any(|protocol| group.is_offered(&protocol.name));
    if request.protocol_type != CONSUMER || !is_offered {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    if instance.is_none() && is_unknown && version >= ID_FIRST {
        return Err(ErrorCode::MemberIdRequired);
    }
    if let Some(instance) = instance.filter(|_| !is_unknown) {
        checks::check_instance(group.instance(instance), id, instance).map_err(|refusal| refusal.code)?;
    }
    let first = request.protocols.first().ok_or(ErrorCode::InconsistentGroupProtocol)?;
    embedded::subscription(&first.metadata).ok_or(ErrorCode::InconsistentGroupProtocol)
}

fn be_member(
    change: &mut Change<'_, '_>,
    id: &Arc<str>,
    caller: &Caller,
    request: &JoinRequest,
    subscription: &m::ConsumerProtocolSubscription,
    settings: &ConsumerSettings,
) -> m::JoinGroupResponse {
    let group = change.group();
    let known = request.group_instance_id.as_deref().and_then(|instance| group.instance(instance)).cloned();
    let replaced = known.as_ref().and_then(|known| group.member(known));
    let is_last = replaced.is_some_and(|replaced| may_change(group, replaced, change.turn.world));
    if let Some(known) = known.filter(|known| known != id) {
        replace(change, &known, id);
    }
    let before = change.group().member(id);
    let said = said(before, caller, request, subscription);
    let is_new = before.and_then(ConsumerMember::about) != Some(&said);
    let news = News::of(before, &said);
    if is_new {
        let record = records::member(change.id(), id, Some(said));
        change.apply(record);
    }
    let expressed = expressions::update(change, news.expression.as_ref(), &caller.sight);
    let has_resubscribed = news.names || expressed != Expressed::AsBefore;
    change.advance(has_resubscribed);
    let owned = owned(subscription, change.turn.world);
    let is_stale = change.group().target_epoch() < change.group().epoch();
    if !is_last {
        let overrides = change.overrides();
        target::update(change, settings, overrides);
    }
    if !is_last || !is_stale {
        step(change, id, has_resubscribed, Some(&owned));
    }
    let response = m::JoinGroupResponse {
        member_id: id.to_string(),
        generation_id: change.group().member(id).expect("it is a member").epoch(),
        protocol_type: Some(CONSUMER.to_owned()),
        protocol_name: request.protocols.first().map(|protocol| protocol.name.clone()),
        ..Default::default()
    };
    if is_last {
        let reason = is_stale.then_some("it was a consumer group with a stale assignment");
        downgrade(change, &[], reason);
    } else {
        let of = |timer: fn(Arc<str>, Arc<str>) -> GroupTimer| timer(change.id().clone(), id.clone());
        let (session, rejoin) = (of(GroupTimer::Session), of(GroupTimer::Rejoin));
        change.turn.set_timer(session, millis(request.session_timeout_ms));
        change.turn.set_timer(rejoin, millis(request.rebalance_timeout_ms));
    }
    response
}

/// What the member says of itself. Classic members have no regular expression of which we know.
fn said(
    before: Option<&ConsumerMember>,
    caller: &Caller,
    request: &JoinRequest,
    subscription: &m::ConsumerProtocolSubscription,
) -> About {
    let mut about = before.and_then(ConsumerMember::about).cloned().unwrap_or_else(of_nobody);
    if request.group_instance_id.is_some() {
        about.instance_id.clone_from(&request.group_instance_id);
    }
    if let Some(rack) = subscription.rack_id.as_ref().filter(|rack| !rack.is_empty()) {
        about.rack_id = Some(rack.clone());
    }
    if request.rebalance_timeout_ms != -1 {
        about.rebalance_timeout_ms = request.rebalance_timeout_ms;
    }
    about.subscribed_topic_names = in_order(&subscription.topics).into_iter().cloned().collect();
    about.subscribed_topic_regex = Some(String::new());
    about.client_id = caller.client_id.to_string();
    about.client_host = caller.host.to_string();
    let offered = request.protocols.iter().map(|protocol| (protocol.name.as_str(), &protocol.metadata));
    about.classic_member_metadata = Some(ClassicMemberMetadata {
        session_timeout_ms: request.session_timeout_ms,
        supported_protocols: protocols(offered),
    });
    about
}

/// What the member says to have, of topics that are there.
fn owned(subscription: &m::ConsumerProtocolSubscription, world: &dyn World) -> Vec<TopicPartitions> {
    let of_topic = |owned: &m::consumer_protocol_subscription::TopicPartition| {
        let topic_id = world.topic(&owned.topic)?.id;
        Some(TopicPartitions { topic_id, partitions: owned.partitions.clone() })
    };
    subscription.owned_partitions.iter().filter_map(of_topic).collect()
}
