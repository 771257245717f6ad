//! A batch on the client's side: its bytes, and when each of its records was due.

use std::time::Duration;

use aplomb_model::batch::{BatchBuilder, Codec, ProducerStamp, stamp_producer};
use aplomb_model::{Instant, Offset, Timestamp};
use bytes::{Bytes, BytesMut};

/// A batch that takes records.
#[derive(Debug)]
pub(crate) struct OpenBatch {
    builder: BatchBuilder,
    due: Vec<Instant>,
}

impl OpenBatch {
    pub(crate) fn new(compression: Codec) -> Self {
        Self { builder: BatchBuilder::new(Offset::ZERO).compression(compression), due: Vec::new() }
    }

    pub(crate) fn append(&mut self, due: Instant, time: Timestamp, key: Option<&[u8]>, value: &[u8]) {
        self.builder.append(time, key, Some(value), &[]);
        self.due.push(due);
    }

    /// Its bytes before compression.
    pub(crate) fn size(&self) -> usize {
        self.builder.uncompressed_size()
    }

    /// When its first record was due.
    pub(crate) fn first_due(&self) -> Option<Instant> {
        self.due.first().copied()
    }

    /// No more records.
    pub(crate) fn seal(self) -> Batch {
        let held = self.size();
        Batch { bytes: self.builder.build(), due: self.due, held, stamp: None }
    }
}

/// A batch that is to be sent, or was sent and has no answer yet.
#[derive(Debug)]
pub(crate) struct Batch {
    /// As they go over the wire.
    pub(crate) bytes: Bytes,
    /// When each record was due, in their order.
    pub(crate) due: Vec<Instant>,
    /// What it counts for in the buffer: its bytes before compression.
    pub(crate) held: usize,
    /// The producer and sequence that it was first sent with; it keeps them when it is sent again.
    pub(crate) stamp: Option<ProducerStamp>,
}

impl Batch {
    /// Gives it the producer's mark.
    pub(crate) fn stamp(&mut self, stamp: ProducerStamp) {
        let mut bytes = BytesMut::from(std::mem::take(&mut self.bytes));
        stamp_producer(&mut bytes, stamp).expect("a batch that was built here has a header");
        self.bytes = bytes.freeze();
        self.stamp = Some(stamp);
    }

    /// How many records.
    pub(crate) fn count(&self) -> usize {
        self.due.len()
    }

    /// Whether its first record has waited longer than `limit`.
    pub(crate) fn is_older_than(&self, limit: Duration, now: Instant) -> bool {
        self.due.first().is_some_and(|due| now.since(*due) > limit)
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::batch::Batches;
    use aplomb_model::{ProducerEpoch, ProducerId};

    use super::*;

    #[test]
    fn a_stamped_batch_is_what_it_was_with_a_producer_and_a_checksum_that_fits() {
        let mut open = OpenBatch::new(Codec::Lz4);
        for n in 0..10 {
            open.append(Instant::from_nanos(n), Timestamp(100), None, b"a value that is repeated");
        }
        let mut batch = open.seal();
        for base_sequence in [0, 77] {
            let id = ProducerId::from_wire(5).unwrap();
            let stamp = ProducerStamp { id, epoch: ProducerEpoch(2), base_sequence };
            batch.stamp(stamp);
            let mut walk = Batches::new(&batch.bytes).checked();
            let view = walk.next().expect("the checksum fits");
            assert_eq!((view.header.producer(), view.header.count()), (Some(stamp), 10));
        }
        assert_eq!(batch.count(), 10);
    }
}
