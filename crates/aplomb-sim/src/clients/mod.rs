//! Clients, as scripts: they speak the real protocol and tell the oracle what they sent and saw.
//!
//! The network connects a client whenever the broker is up, tells it of answers, of the end of its
//! connection, and of the time that it asked for; a client answers with [`Action`]s.

mod accountant;
mod admin;
mod auditor;
mod consumer;
mod fetching;
mod group;
mod hostile;
mod lookup;
mod mover;
mod producer;
mod teller;

use std::time::Duration;

use aplomb_model::{Instant, Timestamp, Uuid};
use aplomb_protocol::messages::{RequestHeader, ResponseHeader};
use aplomb_protocol::{ApiKey, Message as _, Reader, Request, Writer};
use bytes::Bytes;

use super::check::promptness::Expect;
use super::check::{Oracle, PartitionId};
use super::random::Dice;
use super::scenario::{Plan, Role, TopicPlan};

pub(crate) use auditor::Auditor;

/// What a client wants done.
#[derive(Debug)]
pub(crate) enum Action {
    /// A frame goes to the broker.
    Send { frame: Bytes, expect: Expect },
    /// The connection is given up.
    Disconnect,
}

/// What a client sees of the world in its turn.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) wall: Timestamp,
    pub(crate) dice: &'a mut Dice,
    pub(crate) oracle: &'a mut Oracle,
    pub(crate) plan: &'a Plan,
    pub(crate) actions: Vec<Action>,
    /// For the trace, if there is one.
    pub(crate) notes: Option<Vec<String>>,
    next_correlation: &'a mut i32,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        (now, wall): (Instant, Timestamp),
        dice: &'a mut Dice,
        oracle: &'a mut Oracle,
        plan: &'a Plan,
        next_correlation: &'a mut i32,
        noting: bool,
    ) -> Self {
        let notes = noting.then(Vec::new);
        Self { now, wall, dice, oracle, plan, actions: Vec::new(), notes, next_correlation }
    }

    /// Adds a line to the trace.
    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(notes) = &mut self.notes {
            notes.push(text());
        }
    }

    /// Sends a request and gives the number by which its answer is known.
    pub(crate) fn send<Q: Request>(&mut self, version: i16, body: &Q, expect: Expect) -> i32 {
        *self.next_correlation += 1;
        let frame = request(Q::KEY, version, *self.next_correlation, body);
        self.actions.push(Action::Send { frame, expect });
        *self.next_correlation
    }

    pub(crate) fn disconnect(&mut self) {
        self.actions.push(Action::Disconnect);
    }

    /// A version of an API that this broker serves, `least` or later.
    pub(crate) fn version(&mut self, api: ApiKey, least: i16) -> i16 {
        let versions = api.stable_versions();
        let least = versions.min.max(least);
        least + self.dice.within(0..(versions.max - least + 1) as u64) as i16
    }
}

/// A script.
pub(crate) trait Client {
    /// The connection is open.
    fn on_connected(&mut self, ctx: &mut Context<'_>);
    /// The connection is gone; nothing that was not answered will be.
    fn on_disconnected(&mut self, ctx: &mut Context<'_>);
    /// An answer: its header and body.
    fn on_answer(&mut self, correlation: i32, frame: Bytes, ctx: &mut Context<'_>);
    /// The time has come that [`Self::wake_at`] named. The connection is open.
    fn on_wake(&mut self, ctx: &mut Context<'_>);
    /// When it wants its turn, while it is connected.
    fn wake_at(&self) -> Option<Instant>;
}

/// The client of a role.
pub(crate) fn of_role(role: Role, dice: &mut Dice) -> Box<dyn Client> {
    match role {
        Role::IdempotentProducer => Box::new(producer::Producer::new(true, dice)),
        Role::PlainProducer => Box::new(producer::Producer::new(false, dice)),
        Role::Follower => Box::new(consumer::Consumer::new(consumer::From::End, dice)),
        Role::Backlog => Box::new(consumer::Consumer::new(consumer::From::Beginning, dice)),
        Role::Lookup => Box::new(lookup::Lookup::default()),
        Role::Mover => Box::new(mover::Mover::default()),
        Role::Hostile => Box::new(hostile::Hostile::default()),
        Role::Admin => Box::new(admin::Admin::default()),
        Role::Member(plan) => group::member(plan, dice),
        Role::Teller(plan) => Box::new(teller::Teller::new(plan, dice)),
        Role::Accountant => Box::<accountant::Accountant>::default(),
        Role::GroupsAdmin => Box::new(group::GroupsAdmin::default()),
    }
}

fn request<Q: Request>(api: ApiKey, version: i16, correlation_id: i32, body: &Q) -> Bytes {
    let mut writer = Writer::new();
    let header = RequestHeader {
        request_api_key: api.key(),
        request_api_version: version,
        correlation_id,
        client_id: Some("simulated".to_owned()),
    };
    header.encode(&mut writer, api.request_header_version(version)).expect("a header of ours can be written");
    body.encode(&mut writer, version)
        .unwrap_or_else(|error| panic!("{} in version {version}: {error}: {body:?}", Q::NAME));
    writer.freeze()
}

/// Reads an answer.
fn answer<Q: Request>(version: i16, frame: Bytes) -> Result<Q::Response, String> {
    let mut reader = Reader::new(frame);
    let unreadable = |error| format!("the answer to {} in version {version}: {error}", Q::NAME);
    ResponseHeader::decode(&mut reader, Q::KEY.response_header_version(version)).map_err(unreadable)?;
    let body = Q::Response::decode(&mut reader, version).map_err(unreadable)?;
    reader.finish().map_err(unreadable)?;
    Ok(body)
}

/// A partition of a topic, as clients name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) topic: String,
    pub(crate) id: PartitionId,
}

impl Place {
    /// Whether the topic is never deleted.
    pub(crate) fn stays(&self) -> bool {
        !TopicPlan::is_passing(&self.topic)
    }
}

/// All partitions of topics that exist.
fn all_places(oracle: &Oracle) -> Vec<Place> {
    let places = oracle.cluster.living().flat_map(|(name, facts)| {
        let id = facts.id;
        (0..facts.partitions).map(move |index| Place { topic: name.to_owned(), id: of(id, index) })
    });
    places.collect()
}

fn of(topic: Uuid, index: i32) -> PartitionId {
    PartitionId { topic, index }
}

/// A setting of a topic that exists.
fn setting<'a>(oracle: &'a Oracle, topic: &str, key: &str) -> Option<&'a str> {
    oracle.cluster.facts(topic)?.configs.get(key).map(String::as_str)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
