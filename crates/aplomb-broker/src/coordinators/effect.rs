//! What coordinators want done.

use crate::calls::{Answer, Asker, MarkerCall, OwnBatch, PartitionKey, ReadCall};
use crate::ports::Event;

/// What a coordinator wants done.
#[derive(Debug)]
pub(crate) enum CoordinatorEffect {
    /// Append a batch to its partition.
    Append(Asker, PartitionKey, OwnBatch),
    /// Wait for a batch no longer.
    Cancel(Asker, PartitionKey),
    /// Read a piece of its partition.
    Read(Asker, PartitionKey, ReadCall),
    /// Have a partition, on whatever shard it is, write the end of a transaction.
    Mark(Asker, PartitionKey, MarkerCall),
    /// Wait for that no longer.
    Unmark(Asker, PartitionKey),
    /// Have the controller give a producer id.
    ProducerId(Asker),
    /// Answer the one that asked.
    Answer(Asker, Answer),
    /// A line for the log.
    Event(Event),
}
