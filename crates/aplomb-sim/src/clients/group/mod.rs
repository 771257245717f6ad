//! Clients of groups: members of both protocols, and the administrator of groups.
//!
//! Each asks for one thing at a time, finds its coordinator anew with each connection, and tells
//! the oracle what it owns, commits and reads.

mod admin;
mod classic;
mod common;
mod consumer;
mod offsets;
mod subscription;

use std::collections::BTreeSet;

use aplomb_model::{ErrorCode, Instant};

use super::{Client, Context, Expect, answer, millis};
use crate::check::PartitionId;
use crate::check::groups::Joining;
use crate::groups::{MemberPlan, Protocol};
use crate::random::Dice;

pub(super) use self::admin::GroupsAdmin;

/// The client of a member.
pub(super) fn member(plan: MemberPlan, dice: &mut Dice) -> Box<dyn Client> {
    match plan.protocol {
        Protocol::Classic => Box::new(classic::ClassicScript::new(plan, dice)),
        Protocol::Consumer => Box::new(consumer::ConsumerScript::new(plan, dice)),
    }
}

/// How long a request may take that waits for other members.
const OTHERS: Expect = Expect::Within(millis(100_000));

/// A question that is not answered yet.
#[derive(Debug)]
struct Unanswered<W> {
    correlation: i32,
    version: i16,
    what: W,
    at: Instant,
}

/// A member's name in its group.
#[derive(Clone, Debug, Default)]
struct Name {
    group: String,
    id: String,
    instance: Option<String>,
    /// Its generation or epoch; -1 for none.
    epoch: i32,
}

/// The error of an answer, if it has one.
fn error(code: i16) -> Result<ErrorCode, String> {
    ErrorCode::from_wire(code).ok_or_else(|| format!("{code} is no error code"))
}

/// A coordinator says that it cannot answer now. That has to have a reason, and is told as whether
/// what was asked for may have been done all the same.
fn absent(code: i16, ctx: &Context<'_>) -> Result<bool, String> {
    let error = error(code)?;
    let (is_kind, may_be_done) = match error {
        ErrorCode::CoordinatorLoadInProgress => (true, false),
        ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable | ErrorCode::RequestTimedOut => {
            (true, true)
        }
        _ => (false, false),
    };
    if !is_kind {
        return Err(format!("the coordinator answers {error}"));
    }
    let oracle = &ctx.oracle;
    let is_troubled = oracle.calm.since().is_none_or(|since| ctx.now.since(since) < millis(3000));
    if is_troubled
        || oracle.disk_lost
        || oracle.may_be_loading(ctx.now)
        || oracle.groups.may_be_absent(ctx.now)
        || !may_be_done && oracle.groups.may_be_loading(ctx.now)
    {
        Ok(may_be_done)
    } else {
        Err(format!("the coordinator answers {error}, and nothing is wrong with the disks"))
    }
}

/// The topics that a member is subscribed to: some that stay, and at times one that comes and goes.
fn draw_topics(ctx: &mut Context<'_>) -> Vec<String> {
    let all: Vec<String> = ctx.plan.topics.iter().map(|topic| topic.name.clone()).collect();
    let mut topics = BTreeSet::from([ctx.dice.pick(&all).clone()]);
    for name in all {
        if ctx.dice.percent(60) {
            topics.insert(name);
        }
    }
    if ctx.dice.percent(25) {
        topics.insert(crate::scenario::TopicPlan::passing_name(0));
    }
    topics.into_iter().collect()
}

/// What the oracle is told of a client that wants to be a member.
fn joining(plan: &MemberPlan, topics: &[String]) -> Joining {
    Joining { group: plan.group_id(), protocol: plan.protocol, topics: topics.to_vec() }
}

/// The partitions of topics by their names, as they are known.
fn by_name(topic: &str, partitions: &[i32], ctx: &Context<'_>) -> Vec<PartitionId> {
    let facts = ctx.oracle.cluster.facts(topic);
    let id = facts.map(|facts| facts.id);
    id.into_iter().flat_map(|id| partitions.iter().map(move |index| super::of(id, *index))).collect()
}
