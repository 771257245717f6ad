//! Coordinators: state machines whose memory is a compacted log of records.
//!
//! Nothing here knows a log, a disk, a clock or a thread. The host (`aplomb-broker`) hands in what
//! the log holds, what clients ask and what time it is, and carries out what comes back: batches to
//! append, answers, lines for the log.
//!
//! - [`runtime`]: what all coordinators have in common: loading, writing, answering when what was
//!   written is kept, going back when it is not, timers.
//! - [`group`]: the group coordinator, of one partition of `__consumer_offsets`;
//! - [`txn`]: the transaction coordinator, of one partition of `__transaction_state`.

pub mod group;
pub mod runtime;
#[cfg(test)]
mod seeds;
pub mod txn;
