//! One request on its way, and the stages of it.
//!
//! The stages are those of Apache Kafka's `RequestMetrics`. RequestQueue is the time from the turn
//! of the loop that found the frame to the moment the shard takes it up. Local lasts until that
//! turn is settled: the shard has done what it can do at once, for this request and for what else
//! the turn holds. Remote is all that the request then waits for: other shards, records to come,
//! disks. ResponseQueue lasts until the response is handed to the socket, behind those to earlier
//! requests of the connection; ResponseSend until the socket has taken it. Throttle is for how long
//! the client is muted for it, which no other stage has in it.

use std::time::Duration;

use aplomb_broker::ports::{Waited, peek};
use aplomb_model::Instant;

/// A part of a request's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    RequestQueue,
    Local,
    Remote,
    ResponseQueue,
    ResponseSend,
    Throttle,
    Total,
}

impl Stage {
    pub(crate) const ALL: [Self; 7] = [
        Self::RequestQueue,
        Self::Local,
        Self::Remote,
        Self::ResponseQueue,
        Self::ResponseSend,
        Self::Throttle,
        Self::Total,
    ];
}

/// The turn of the loop that took a request up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Requests that were taken up in it.
    pub(crate) requests: u32,
    /// From its beginning until all that it took up was settled.
    pub(crate) took: Duration,
}

/// What kept a frame that had arrived from being taken up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    /// The client is over its quota.
    Quota,
    /// Earlier requests of the connection, of which there were as many as may be.
    Order,
    /// Replies that the client has not taken.
    Peer,
}

/// One request on its way, by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// The API's key, as the frame has it.
    pub(crate) api_key: i16,
    /// Its version, as the frame has it.
    pub(crate) version: i16,
    /// The frame's size in bytes.
    pub(crate) bytes: usize,
    /// The frame was there.
    pub(crate) arrived: Instant,
    /// The shard took it up.
    pub(crate) begun: Instant,
    /// What kept it from being taken up before, beside the other work of the shard.
    pub(crate) held_by: Option<HeldBy>,
    /// The turn that took it up was settled.
    pub(crate) settled: Option<Instant>,
    /// How long that was, and how much it took up.
    pub(crate) turn: Turn,
    /// The response was made.
    pub(crate) answered: Option<Instant>,
    /// The responses to earlier requests of the connection were made as well.
    pub(crate) due: Option<Instant>,
    /// The first attempt to hand the response to the socket.
    pub(crate) sending: Option<Instant>,
    /// For how long the connection is muted after it.
    pub(crate) throttle: Duration,
    /// What it waited for, as far as the shards know.
    pub(crate) waited: Waited,
}

impl Exchange {
    /// Begins with a frame that arrived at `arrived` and is taken up at `begun`.
    pub(crate) fn new(frame: &[u8], arrived: Instant, begun: Instant) -> Self {
        let (api_key, version) = peek(frame);
        Self {
            api_key,
            version,
            bytes: frame.len(),
            arrived,
            begun,
            held_by: None,
            settled: None,
            turn: Turn::default(),
            answered: None,
            due: None,
            sending: None,
            throttle: Duration::ZERO,
            waited: Waited::default(),
        }
    }

    /// How long a stage took, if the response was sent at `sent`.
    pub(crate) fn took(&self, stage: Stage, sent: Instant) -> Duration {
        let answered = self.answered.unwrap_or(sent);
        let settled = self.settled.unwrap_or(answered);
        let sending = self.sending.unwrap_or(sent);
        match stage {
            Stage::RequestQueue => self.begun.since(self.arrived),
            Stage::Local => settled.since(self.begun),
            Stage::Remote => answered.since(settled),
            Stage::ResponseQueue => sending.since(answered),
            Stage::ResponseSend => sent.since(sending),
            Stage::Throttle => self.throttle,
            Stage::Total => sent.since(self.arrived),
        }
    }

    /// How long the broker has kept its client waiting: not while that asked to wait for records or
    /// for others, and as long as it is muted for it.
    pub(crate) fn own_time(&self, sent: Instant) -> Duration {
        self.took(Stage::Total, sent).saturating_sub(self.waited.idle) + self.throttle
    }
}
