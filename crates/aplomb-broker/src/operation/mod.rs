//! A request under way: what it asks, what it waits for, what it is answered.
//!
//! An API is one file of [`crate::api`]: it takes a request apart ([`Asked`]) and either replies at
//! once or gives an [`Operation`], which lives on the shard of its connection until the reply. All
//! that waits is an operation: it has a deadline, an answer for when that comes, and the parts that
//! still wait for it elsewhere are cancelled when it ends.

mod asked;
mod call;
mod decision;
mod resolve;
mod scatter;

use std::fmt::Debug;

use aplomb_model::Instant;
use aplomb_protocol::EncodeError;

pub use self::asked::Api;
pub(crate) use self::asked::{Ahead, Asked, Begun, PATIENCE, is_long, patience};
pub use self::call::PartitionCall;
pub(crate) use self::call::{Ask, Calls, Place, Question};
pub(crate) use self::decision::DecisionOp;
pub(crate) use self::resolve::{UNKNOWN_PARTITION, current_epoch, named, resolve};
pub(crate) use self::scatter::{Cell, Fill, Scatter};
use crate::calls::{Answer, PartitionKey, Slot};
use crate::fetch_sessions::FetchSessions;
use crate::ports::{Reply, WaitedFor};
use crate::quotas::Till;
use crate::security::Audit;
use crate::storage::Storage;

/// A reply that cannot be written is a fault of ours; the connection is closed and the fault
/// logged.
pub(crate) type Replied = Result<Reply, EncodeError>;

/// What an operation wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Answers are to come, or the deadline.
    Wait,
    /// The same, with another deadline.
    WaitUntil(Instant),
    /// A turn, to do some of its own work in.
    Turn,
    /// To ask what those of its connection that came before it ask first
    /// ([`Operation::ask_in_order`]).
    InOrder,
    /// To be answered.
    Reply,
}

/// What an operation is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Produce,
    Fetch,
    Other,
}

/// Where a part of an operation waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsAt {
    Partition(PartitionKey),
    /// The controller.
    Head,
}

/// What there is to make a reply of, beside the answers.
pub(crate) struct ReplyContext<'a> {
    pub(crate) sessions: &'a mut FetchSessions,
    pub(crate) storage: &'a Storage,
    /// Where decisions on what the client may do are noted.
    pub(crate) audit: &'a Audit,
    /// Where the request is paid for.
    pub(crate) till: Till<'a>,
    pub(crate) now: Instant,
}

/// One request under way. Every API is one of these, or is answered at once; the desk knows no
/// other.
pub(crate) trait Operation: Debug + Send {
    /// Takes the answer of a part.
    fn on_answer(&mut self, slot: Slot, answer: Answer);

    /// A part that watches its partition has more to ask of it.
    fn on_woken(&mut self, slot: Slot, _: &mut Calls) {
        panic!("part {slot} of {self:?} is woken, and watches nothing");
    }

    /// Its turn: it does no more than others can wait for. [`Self::progress`] says whether it wants
    /// another.
    fn on_turn(&mut self, _: &Audit) {
        panic!("{self:?} has asked for no turn");
    }

    /// Whether it asks something in the order in which the requests of its connection came, or may
    /// have to. Of one that does it is so from its beginning on until it has asked.
    fn has_order(&self) -> bool {
        false
    }

    /// Those that came before it have asked: it asks now. What is to happen next.
    fn ask_in_order(&mut self, _: Instant, _: &mut Calls) -> Progress {
        panic!("{self:?} has nothing to ask in order");
    }

    /// The deadline has come. [`Self::progress`] says whether it is the end.
    fn on_deadline(&mut self);

    /// What is to happen next. Parts that are to be asked go to `calls`.
    fn progress(&mut self, now: Instant, calls: &mut Calls) -> Progress;

    /// The parts that wait elsewhere, to be cancelled there when the operation ends.
    fn waits_at(&self, _: &mut dyn FnMut(Slot, WaitsAt)) {}

    /// Not to wait for anything that may take long: the broker stops, or too much waits already.
    fn hurry(&mut self) {}

    /// Whether it goes on without its connection: its client waits for no answer, and leaves.
    fn outlives_connection(&self) -> bool {
        false
    }

    /// What it waits for where no part of it has said so.
    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Shard
    }

    /// Whether it waits, now that [`Self::progress`] has told it to, for what its client has asked
    /// it to wait for: records to come, or others of its group.
    fn is_idle(&self) -> bool {
        false
    }

    /// How many partitions it is about: what it takes in memory while it waits grows with them.
    fn partitions(&self) -> usize {
        1
    }

    fn kind(&self) -> Kind {
        Kind::Other
    }

    /// The reply, when [`Self::progress`] has said so.
    fn reply(self: Box<Self>, context: &mut ReplyContext<'_>) -> Replied;
}
