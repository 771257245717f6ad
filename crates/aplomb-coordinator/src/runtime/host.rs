//! What a coordinator's host gives it, and is to do for it.

use std::time::Duration;

use aplomb_model::batch::{Compression, EndTxnMarker};
use aplomb_model::{ErrorCode, ProducerEpoch, ProducerId};
use bytes::Bytes;

use super::machine::{Event, Ticket};

/// How a coordinator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteSettings {
    /// How long a batch waits for more; `None`: until the host's turn is over
    /// (`group.coordinator.append.linger.ms`, where -1 is that).
    pub linger: Option<Duration>,
    /// How long an answer waits for its write (`offsets.commit.timeout.ms`).
    pub patience: Duration,
    /// The largest batch, in bytes (`max.message.bytes` of its topic).
    pub batch_bytes: usize,
    /// Bytes that may be on their way to the log. Beyond them writes are refused at once.
    pub pending_bytes: usize,
    /// `offsets.topic.compression.codec`.
    pub compression: Compression,
}

/// What a coordinator wants done.
#[derive(Debug)]
pub enum Effect<R> {
    /// Append this batch to its log. The answer names the number.
    Append {
        /// By which its answer names it.
        number: u64,
        /// A whole batch.
        batch: Bytes,
    },
    /// Answer the one with this ticket: with a reply, or by a code alone.
    Answer(Ticket, Result<R, ErrorCode>),
    /// Tell the one with this ticket whether the log has its marker.
    Marked(Ticket, Result<(), ErrorCode>),
    /// Write a line to the broker's log.
    Event(Event),
}

/// The end of a transaction, to be written into a coordinator's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerWish {
    /// Whose transaction ends.
    pub producer: ProducerId,
    /// As the marker is to say it.
    pub epoch: ProducerEpoch,
    /// How it ends, and who decided.
    pub end: EndTxnMarker,
}

/// How far a coordinator's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its log is being read.
    Loading,
    /// It answers.
    Active,
    /// Its log cannot be read. It answers again in a later epoch, or after a restart.
    Failed,
    /// It has resigned.
    Over,
}
