//! What an API is given when it takes a request apart, and what it makes of it.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_model::{ErrorCode, Instant};
use aplomb_protocol::request::decode_request;
use aplomb_protocol::{ApiKey, DecodeError, Message, Reader, Request as Body, VersionRange};
use rustc_hash::FxHashMap;

use super::{Calls, DecisionOp, Operation, Replied};
use crate::calls::{Asker, OpId};
use crate::controller::Planned;
use crate::fetch_sessions::FetchSessions;
use crate::figures::Clients;
use crate::head::{Head, HeadMessage};
use crate::metadata::Entry;
use crate::ports::{CloseReason, ConnectionId, Now, Reply, Request};
use crate::quotas::{Bill, Permits, Quotas};
use crate::reply::ReplyTo;
use crate::security::Audit;
use crate::storage::Storage;
use crate::view::View;
use crate::volumes::Volumes;

/// How long a request may take that does not say (`request.timeout.ms` of clients).
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A timeout as the wire has it: negative ones are over at once.
pub(crate) fn patience(timeout_ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0))
}

/// An API that is served: one line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Api {
    key: ApiKey,
    versions: VersionRange,
    home: Home,
    begin: Handler,
}

/// Whether a request can name so many things that others would wait for it.
pub(crate) fn is_long(request: &Request) -> bool {
    request.frame.len() > LONG
}

/// Where requests of an API are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// On the shard of their connection.
    Connection,
    /// There too, unless they are long.
    UnlessLong,
    /// On the shard with the controller.
    Controller,
}

/// A request of more bytes is long: one that lists partitions has room for a thousand, which take
/// about a millisecond.
const LONG: usize = 16 << 10;

/// Takes a request apart.
type Handler = fn(&mut Asked<'_>) -> Result<Begun, DecodeError>;

impl Api {
    pub(crate) const fn new(key: ApiKey, begin: Handler) -> Self {
        Self { key, versions: key.stable_versions(), home: Home::UnlessLong, begin }
    }

    /// Which.
    #[must_use]
    pub const fn key(&self) -> ApiKey {
        self.key
    }

    /// In which versions.
    #[must_use]
    pub const fn versions(&self) -> VersionRange {
        self.versions
    }

    /// Whether a request is for the shard with the controller.
    pub(crate) fn is_for_head(&self, request: &Request) -> bool {
        match self.home {
            Home::Connection => false,
            Home::UnlessLong => is_long(request),
            Home::Controller => true,
        }
    }

    /// Takes a request apart.
    pub(crate) fn begin(&self, asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
        (self.begin)(asked)
    }

    pub(crate) const fn of_controller(key: ApiKey, begin: Handler) -> Self {
        Self { home: Home::Controller, ..Self::new(key, begin) }
    }

    pub(crate) const fn of_connection(key: ApiKey, begin: Handler) -> Self {
        Self { home: Home::Connection, ..Self::new(key, begin) }
    }
}

/// What a handler makes of a request.
pub(crate) enum Begun {
    /// It is answered.
    Reply(Replied),
    /// It is under way; not for longer than this.
    Wait(Box<dyn Operation>, Instant),
    /// It takes long, or needs what the shard with the controller has: it is to be begun there.
    ForHead,
    /// Another thread finds out what it needs: it is to be begun anew then, with nothing done.
    Again(Instant),
}

/// What came before a request on its connection: looked up by those who have to keep an order.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'a> {
    pub(crate) parked: &'a BTreeSet<(ConnectionId, u64)>,
    pub(crate) forwarded: &'a FxHashMap<ConnectionId, BTreeSet<ApiKey>>,
    pub(crate) connection: ConnectionId,
}

impl Ahead<'_> {
    /// Whether no other request of the connection is under way here.
    pub(crate) fn is_nothing(&self) -> bool {
        let of_connection = (self.connection, 0)..=(self.connection, u64::MAX);
        self.parked.range(of_connection).next().is_none()
    }

    /// Whether one of this API was passed on before.
    pub(crate) fn has_forwarded(&self, api: ApiKey) -> bool {
        self.forwarded.get(&self.connection).is_some_and(|apis| apis.contains(&api))
    }
}

/// A request, and what may be looked at to answer it.
pub(crate) struct Asked<'a> {
    pub(crate) request: &'a Request,
    pub(crate) to: ReplyTo,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) body: &'a mut Reader,
    pub(crate) now: Now,
    pub(crate) view: &'a View,
    pub(crate) storage: &'a Storage,
    pub(crate) sessions: &'a mut FetchSessions,
    pub(crate) clients: &'a mut Clients,
    pub(crate) quotas: &'a mut Quotas,
    /// What connections have produced of late.
    pub(crate) volumes: &'a mut Volumes,
    /// What came before it on its connection.
    pub(crate) ahead: Ahead<'a>,
    /// What it has to pay, if a quota counts for its client.
    pub(crate) bill: &'a mut Option<Bill>,
    /// Where decisions on what the client may do are noted.
    pub(crate) audit: &'a Audit,
    /// The controller, on its shard.
    pub(crate) head: Option<&'a mut Head>,
    /// What is to be said to the controller, wherever it is.
    pub(crate) to_head: &'a mut Vec<HeadMessage>,
    /// The operation that this becomes if it waits.
    pub(crate) op: OpId,
    /// What is served.
    pub(crate) apis: &'static [Api],
    /// What partitions are asked for it.
    pub(crate) calls: &'a mut Calls,
}

impl Asked<'_> {
    /// The body of a request with a generated codec.
    pub(crate) fn decode<B: Body + Message>(&mut self) -> Result<B, DecodeError> {
        decode_request(self.body, self.to.version)
    }

    /// An answer that is known at once.
    pub(crate) fn answer(&self, response: &impl Message) -> Result<Begun, DecodeError> {
        Ok(Begun::Reply(self.to.with(response)))
    }

    /// The connection is closed: a request that Apache Kafka cannot read.
    pub(crate) fn unreadable(why: &str) -> Result<Begun, DecodeError> {
        Ok(Begun::Reply(Ok(Reply::Close { reason: CloseReason::Malformed(why.to_owned()) })))
    }

    /// An answer that has to be waited for, for so long at most.
    pub(crate) fn wait(
        &self,
        op: impl Operation + 'static,
        patience: Duration,
    ) -> Result<Begun, DecodeError> {
        Ok(Begun::Wait(Box::new(op), self.now.instant + patience))
    }

    /// Makes a plan with what the client may create and delete of partitions. From `strict_from` on
    /// versions know that it can be refused.
    pub(crate) fn with_permits<T>(
        &mut self,
        strict_from: i16,
        plan: impl FnOnce(&mut Self, &mut Permits) -> T,
    ) -> T {
        let is_strict = self.to.version >= strict_from;
        let mut permits = self.quotas.permits(self.bill.as_ref(), is_strict, self.now.instant);
        let planned = plan(self, &mut permits);
        self.quotas.give_back(self.bill.as_mut(), &permits);
        planned
    }

    /// Whether this is the shard for what takes long.
    pub(crate) fn is_at_head(&self) -> bool {
        self.head.is_some()
    }

    /// The controller.
    pub(crate) fn head(&mut self) -> &mut Head {
        self.head.as_mut().expect("the controller's requests come to its shard")
    }

    /// An answer that holds when what was decided does, if anything was: for so long at most, then
    /// the request is refused as a whole. With no patience at all it is refused at once, and
    /// decided all the same, as in Apache Kafka.
    pub(crate) fn decide<R: Message>(
        &mut self,
        control: Vec<Entry>,
        planned: Planned<R>,
        patience: Duration,
        refuse: impl FnOnce(ErrorCode) -> R + Send + 'static,
    ) -> Result<Begun, DecodeError> {
        let (to, asker, now) = (self.to, Asker::Client(self.op, 0), self.now);
        let is_nothing = control.is_empty() && planned.records.is_empty();
        if patience.is_zero() {
            if !is_nothing {
                self.head().write(control, planned.records, None, now);
            }
            return Ok(Begun::Reply(to.with(&refuse(ErrorCode::RequestTimedOut))));
        }
        let reply = match to.with(&planned.response) {
            Ok(reply) if !is_nothing => reply,
            replied => return Ok(Begun::Reply(replied)),
        };
        self.head().write(control, planned.records, Some(asker), now);
        let op = DecisionOp::new(reply, move |error| to.with(&refuse(error)));
        self.wait(op, patience)
    }
}
