//! The batch in the making: the records of several turns.

use aplomb_model::batch::{BatchBuilder, Compression, HEADER_SIZE, ProducerStamp};
use aplomb_model::{Instant, LeaderEpoch, Offset, ProducerEpoch, ProducerId, Timestamp};
use bytes::Bytes;

use super::machine::{Machine, Now};
use super::writes::Unit;

/// A record in bytes: key and value.
type Encoded = (Bytes, Option<Bytes>);

/// What a record takes beside its key and value, at most: lengths, deltas, attributes.
const RECORD_OVERHEAD: usize = 32;

/// What these records take in a batch at most, in bytes.
fn size_of(records: &[Encoded]) -> usize {
    let size = |(key, value): &Encoded| RECORD_OVERHEAD + key.len() + value.as_ref().map_or(0, Bytes::len);
    records.iter().map(size).sum()
}

/// Whether a batch of so many bytes can hold these records.
pub(super) fn can_hold(bytes: usize, records: &[Encoded]) -> bool {
    HEADER_SIZE + size_of(records) <= bytes
}

/// Records that wait to be appended together.
#[derive(Debug)]
pub(super) struct OpenBatch<M: Machine + ?Sized> {
    records: Vec<(Timestamp, Encoded)>,
    pub(super) units: Vec<Unit<M>>,
    size: usize,
    since: Option<Instant>,
    /// In whose transaction they are. Such a batch has one unit.
    producer: Option<(ProducerId, ProducerEpoch)>,
}

impl<M: Machine + ?Sized> OpenBatch<M> {
    pub(super) fn new() -> Self {
        Self { records: Vec::new(), units: Vec::new(), size: 0, since: None, producer: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// How many records it has.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.records.len()).expect("a batch has less than 2^31 records")
    }

    /// Whether it stays below so many bytes with these records too.
    pub(super) fn has_room(&self, bytes: usize, records: &[Encoded]) -> bool {
        HEADER_SIZE + self.size + size_of(records) <= bytes
    }

    /// When its first record came.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    pub(super) fn last(&mut self) -> Option<&mut Unit<M>> {
        self.units.last_mut()
    }

    pub(super) fn push(&mut self, records: &[Encoded], unit: Unit<M>, now: Now) {
        self.since.get_or_insert(now.instant);
        self.size += size_of(records);
        self.records.extend(records.iter().map(|record| (now.wall, record.clone())));
        self.units.push(unit);
    }

    /// The one unit that is in it is part of this producer's transaction.
    pub(super) fn assign(&mut self, producer: (ProducerId, ProducerEpoch)) {
        assert_eq!(self.units.len(), 1, "what is in a transaction is in a batch of its own");
        self.producer = Some(producer);
    }

    /// Takes all that is in it; an empty one stays.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new())
    }

    /// The batch in bytes, to be appended at `base` by the leader of `epoch`.
    pub(super) fn build(&self, base: Offset, epoch: LeaderEpoch, compression: Compression) -> Bytes {
        let mut builder = BatchBuilder::new(base).leader_epoch(epoch).compression(compression);
        builder = match self.producer {
            // Coordinators of Apache Kafka number none of theirs.
            Some((id, epoch)) => {
                builder.producer(ProducerStamp { id, epoch, base_sequence: 0 }).transactional()
            }
            None => builder.numbered(),
        };
        for (timestamp, (key, value)) in &self.records {
            builder.append(*timestamp, Some(key), value.as_deref(), &[]);
        }
        builder.build()
    }
}
