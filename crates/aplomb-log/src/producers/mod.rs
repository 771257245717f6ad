//! What a partition remembers of its idempotent and transactional producers.
//!
//! It answers two questions: may this batch be appended, or was it already (`check.rs`); and up to
//! where is the log decided, for READ_COMMITTED readers (`state.rs`). It is rebuilt from a snapshot
//! file (`snapshot.rs`) and the batches after it, and then fed every batch that is appended. A
//! partition without such producers holds no memory beyond [`ProducerState`] itself. Next:
//! `state.rs`.

mod at_rest;
mod check;
mod entry;
mod snapshot;
mod state;
mod transaction;

pub(crate) use at_rest::{encode_producers, parse_producers};
pub use check::{Admission, AppendOrigin, MarkerEpochRule, MarkerError, SequenceError};
pub use entry::{ProducerBatch, ProducerEntry, RetainedBatch};
pub use snapshot::{SnapshotError, encode_snapshot, parse_snapshot, snapshot_to_load};
pub use state::ProducerState;
pub use transaction::{CompletedTransaction, OpenTransaction, TransactionMarker, marker_of};
