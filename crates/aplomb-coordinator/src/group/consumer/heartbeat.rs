//! ConsumerGroupHeartbeat of members that join or stay: what they say of themselves is written, the
//! group's epoch and target follow, and they get one step nearer to their target.
//!
//! What a member is to give up or gets it learns from the answer to its next heartbeat. So while a
//! group changes its members are told to send them more often.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_model::{ErrorCode, TopicId};
use aplomb_protocol::messages as m;
use m::consumer_group_heartbeat_response::{Assignment, TopicPartitions};

use super::about::{self, News};
use super::change::Change;
use super::checks::{self, HeartbeatRequest, Sender};
use super::expressions::{self, Expressed};
use super::refusal::Refusal;
use super::steps::{self, replace, step};
use super::{convert, deadlines, leave, target};
use crate::group::hash::TopicHashes;
use crate::group::settings::{ConsumerSettings, Overrides};
use crate::group::state::classic::tombstones;
use crate::group::state::consumer::{ConsumerGroup, ConsumerMember, Holdings, records};
use crate::group::state::table::{Group, GroupTable};
use crate::group::state::{GroupTurn, Groups};
use crate::group::world::World;
use crate::group::{Caller, GroupRecord, GroupReply, classic};
use crate::runtime::Ticket;

type Response = m::ConsumerGroupHeartbeatResponse;

/// `ConsumerGroupHeartbeat`.
pub(crate) fn heartbeat(
    groups: &mut Groups,
    ticket: Ticket,
    caller: &Caller,
    request: HeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) {
    match take(groups, caller, &request, turn) {
        Ok(response) => turn.answer(ticket, GroupReply::ConsumerHeartbeat(response)),
        Err(refusal) => turn.answer_at_once(ticket, GroupReply::ConsumerHeartbeat(refusal.response())),
    }
}

fn take(
    groups: &mut Groups,
    caller: &Caller,
    request: &HeartbeatRequest,
    turn: &mut GroupTurn<'_>,
) -> Result<Response, Refusal> {
    let Some(settings) = &turn.world.settings().consumer else {
        return Err(Refusal { code: ErrorCode::UnsupportedVersion, message: None });
    };
    checks::check(request, caller.version, settings)?;
    if request.member_epoch < 0 {
        return leave::leave(groups, request, turn);
    }
    let id = &request.group_id;
    if let Some(Quiet { id, member, response }) = quiet(&groups.table, caller, request, settings, turn)? {
        deadlines::start_session(turn, &id, &member);
        if cfg!(debug_assertions) {
            let mut change = Change::new(groups, turn, &id);
            let long = beat(&mut change, Sender::Known(member), caller, request, settings);
            assert_eq!(long, response, "the long way comes to the same");
            assert!(!turn.has_written(), "what changes nothing writes nothing");
        }
        return Ok(response);
    }
    let has_room = turn.world.has_room();
    let Groups { table, hashes, .. } = groups;
    let makes_way = make_way(table, hashes, request, settings, turn.world)?;
    // The group as it will be when it is a consumer group.
    let mut converted = GroupTable::default();
    for record in makes_way.iter().filter(|record| !matches!(record, GroupRecord::Classic(..))) {
        converted.replay(record.clone());
    }
    let group = table.consumer(id).or_else(|| converted.consumer(id));
    let sender = checks::admit(id, group, request, settings)?;
    if !has_room && checks::grows(group, &sender, request) {
        return Err(checks::no_room());
    }
    let was_classic = !makes_way.is_empty();
    let mut change = Change::new(groups, turn, id);
    for record in makes_way {
        change.apply(record);
    }
    if was_classic {
        classic::give_way(change.groups, change.turn);
        convert::start_sessions(&mut change);
    }
    Ok(beat(&mut change, sender, caller, request, settings))
}

/// A heartbeat that changes nothing: its group, its sender and its answer.
struct Quiet {
    id: Arc<str>,
    member: Arc<str>,
    response: Response,
}

/// Whether a heartbeat changes nothing, as nearly all of them, by one look at its group and few at
/// its sender.
fn quiet(
    table: &GroupTable,
    caller: &Caller,
    request: &HeartbeatRequest,
    settings: &ConsumerSettings,
    turn: &GroupTurn<'_>,
) -> Result<Option<Quiet>, Refusal> {
    let Some((id, group)) = table.consumer_entry(&request.group_id) else { return Ok(None) };
    let Sender::Known(member_id) = checks::admit(id, Some(group), request, settings)? else {
        return Ok(None);
    };
    let member = group.member(&member_id).expect("who is known is a member");
    let is_quiet = steps::is_there(group, member)
        && group.target_epoch() >= group.epoch()
        && !group.has_news(turn.world)
        && !group.is_untold(&member_id)
        && !expressions::is_due(group, false, turn)
        && about::of_heartbeat(Some(member), caller, request).is_none();
    Ok(is_quiet.then(|| {
        let overrides = turn.world.overrides(id);
        let response = response(group, (&member_id, member), request, false, (settings, overrides), turn);
        Quiet { id: id.clone(), member: member_id, response }
    }))
}

/// The records by which a classic group gives way to a consumer group, or becomes one. None, if it
/// is one already or is to be made.
fn make_way(
    table: &GroupTable,
    hashes: &mut TopicHashes,
    request: &HeartbeatRequest,
    settings: &ConsumerSettings,
    world: &dyn World,
) -> Result<Vec<GroupRecord>, Refusal> {
    let joins = request.member_epoch == 0;
    let id = &request.group_id;
    let why = match table.get(id) {
        Some(Group::Consumer(_)) => return Ok(Vec::new()),
        None if joins => return Ok(Vec::new()),
        Some(Group::Classic(group)) if joins && group.is_empty() => return Ok(tombstones(id)),
        Some(Group::Classic(group)) if joins => {
            return convert::upgrade(id, group, settings, hashes, world);
        }
        None => format!("Consumer group {id} not found."),
        Some(Group::Classic(_) | Group::Foreign(_)) => format!("Group {id} is not a consumer group."),
    };
    Err(Refusal::new(ErrorCode::GroupIdNotFound, why))
}

fn beat(
    change: &mut Change<'_, '_>,
    sender: Sender,
    caller: &Caller,
    request: &HeartbeatRequest,
    settings: &ConsumerSettings,
) -> Response {
    let preferred = change.assignor(settings);
    let member = be_member(change, sender, request);
    let before = change.found().and_then(|group| group.member(&member));
    let said = about::of_heartbeat(before, caller, request);
    let news = said.as_ref().map(|said| News::of(before, said)).unwrap_or_default();
    if let Some(said) = said {
        let record = records::member(change.id(), &member, Some(said));
        change.apply(record);
    }
    let expression = expressions::update(change, news.expression.as_ref(), &caller.sight);
    let is_to_advance =
        news.names || expression == Expressed::OtherTopics || preferred != change.assignor(settings);
    change.advance(is_to_advance);
    let overrides = change.overrides();
    target::update(change, settings, overrides);
    let has_resubscribed = news.names || expression != Expressed::AsBefore;
    let is_reassigned = step(change, &member, has_resubscribed, request.topic_partitions.as_deref());
    let id = change.id().clone();
    deadlines::start_session(change.turn, &id, &member);

    let is_untold = change.remember(|group| group.tell(&member));
    let is_told = is_untold || is_reassigned;
    let group = change.group();
    let sender = group.entry(&member).expect("it is a member");
    response(group, sender, request, is_told, (settings, overrides), change.turn)
}

/// What a member is answered. `is_told`: what it has, too, whether or not it says what it has.
fn response(
    group: &ConsumerGroup,
    (id, member): (&Arc<str>, &ConsumerMember),
    request: &HeartbeatRequest,
    is_told: bool,
    (settings, overrides): (&ConsumerSettings, Overrides),
    turn: &GroupTurn<'_>,
) -> Response {
    let is_full = request.rebalance_timeout_ms != -1
        && (request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some())
        && request.topic_partitions.is_some();
    let interval = settings.heartbeat_interval.of(overrides.heartbeat_interval);
    let interval = match settings.hurried_interval {
        Some(hurried) if group.is_changing(turn.now.instant) => interval.min(hurried),
        _ => interval,
    };
    Response {
        member_id: Some(id.to_string()),
        member_epoch: member.epoch(),
        heartbeat_interval_ms: i32::try_from(interval.as_millis()).unwrap_or(i32::MAX),
        assignment: (is_told || is_full || request.member_epoch == 0)
            .then(|| assignment(&member.current().assigned)),
        ..Response::default()
    }
}

/// The id of the member that sends; one that joins may have none yet.
fn be_member(change: &mut Change<'_, '_>, sender: Sender, request: &HeartbeatRequest) -> Arc<str> {
    let id_of_new = |change: &mut Change<'_, '_>| -> Arc<str> {
        match request.member_id.as_str() {
            "" => change.turn.random_id().to_string().into(),
            id => id.into(),
        }
    };
    match sender {
        Sender::Known(member) => member,
        Sender::New => id_of_new(change),
        Sender::Heir(old) => {
            let heir = id_of_new(change);
            replace(change, &old, &heir);
            heir
        }
    }
}

fn assignment(assigned: &Holdings) -> Assignment {
    let topic = |(topic_id, partitions): (&TopicId, &BTreeMap<i32, i32>)| TopicPartitions {
        topic_id: *topic_id,
        partitions: partitions.keys().copied().collect(),
    };
    Assignment { topic_partitions: assigned.iter().map(topic).collect() }
}
