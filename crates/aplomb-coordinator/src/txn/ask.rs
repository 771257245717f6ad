//! What is asked of a transaction coordinator, and what it answers and tells.

use std::collections::HashSet;
use std::sync::Arc;

use aplomb_model::{ErrorCode, ProducerId};

use super::state::{ClientVersion, Incarnation, TxnPartitions, TxnState};
use crate::group::expression::Expression;

/// A question to a transaction coordinator.
#[derive(Clone, Debug)]
pub enum TxnAsk {
    /// `InitProducerId` with a transactional id.
    Init(Init),
    /// `AddPartitionsToTxn`, `AddOffsetsToTxn`, and what the broker itself does for clients of
    /// version 2: partitions are taken in.
    Add(Add),
    /// `AddPartitionsToTxn` with `VerifyOnly`: which of these are in it.
    Verify(Incarnation, TxnPartitions),
    /// `EndTxn`.
    End(End),
    /// All partitions of what was decided have its marker. No client is answered.
    Marked(Incarnation),
    /// `DescribeTransactions`, of one id.
    Describe(String),
    /// `ListTransactions`.
    List(Arc<TxnFilter>),
    /// The producer id that [`TxnNews::lacks_id`] asked for, or why there is none. No client is
    /// answered.
    FreshId(Result<ProducerId, ErrorCode>),
}

/// Partitions that are taken into a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Add {
    /// Whose transaction it is, as the request says.
    pub of: Incarnation,
    /// By the names of their topics.
    pub partitions: TxnPartitions,
    /// By the version of the request.
    pub version: ClientVersion,
    /// While something else of the id is under way this waits, in place of being told to ask
    /// again.
    pub waits: bool,
}

/// A producer that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Init {
    /// The transactional id.
    pub id: Arc<str>,
    /// How long its transactions may last, in milliseconds.
    pub timeout: i32,
    /// The producer id and epoch that it has, where it goes on (KIP-360).
    pub expected: Option<(i64, i16)>,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whose transaction it is, as the request says.
    pub of: Incarnation,
    /// To commit, or to abort.
    pub is_commit: bool,
    /// By the version of the request.
    pub version: ClientVersion,
}

/// A transactional id, as it is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// How far its transaction has come.
    pub state: TxnState,
    /// How long it may last, in milliseconds.
    pub timeout: i32,
    /// When it began, in milliseconds since 1970, or -1.
    pub began: i64,
    /// Its producer id.
    pub producer_id: i64,
    /// Its producer's epoch.
    pub epoch: i16,
    /// What is in it.
    pub partitions: TxnPartitions,
}

/// A transactional id in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The id.
    pub id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// How far its transaction has come.
    pub state: TxnState,
}

/// Which ids are listed. An empty set lets all pass.
#[derive(Clone, Debug, Default)]
pub struct TxnFilter {
    /// Producer ids.
    pub producers: HashSet<i64>,
    /// Names of states ([`TxnState::name`]).
    pub states: Vec<String>,
    /// Only transactions that began longer ago than so many milliseconds; negative: all.
    pub duration: i64,
    /// The id matches this as a whole.
    pub pattern: Option<Expression>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum TxnReply {
    /// To [`TxnAsk::Init`] and [`TxnAsk::End`]: how the client goes on.
    Producer(Result<(ProducerId, i16), ErrorCode>),
    /// To [`TxnAsk::Add`], and to what no client asks.
    Done(ErrorCode),
    /// To [`TxnAsk::Verify`]: partitions that are not in the transaction, or why none is.
    Verified(Result<TxnPartitions, ErrorCode>),
    /// To [`TxnAsk::Describe`]. `None`: there is no such id.
    Described(Option<Described>),
    /// To [`TxnAsk::List`].
    Listed(Vec<Listed>),
}

/// What a coordinator wants its host to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnNews {
    /// Transactions that are decided, for good: their partitions are to get the markers.
    pub decided: Vec<Decided>,
    /// A client waits for a producer id that was never given.
    pub lacks_id: bool,
}

/// A transaction that is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Whose it is: markers carry its producer id and epoch.
    pub of: Incarnation,
    /// Committed, or aborted.
    pub is_committed: bool,
    /// To which the markers go.
    pub partitions: TxnPartitions,
    /// The version that the markers are written in.
    pub version: ClientVersion,
}
