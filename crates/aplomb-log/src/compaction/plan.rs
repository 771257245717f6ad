//! What a pass is told before it begins.

use std::collections::{HashMap, HashSet};

use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};

use crate::index::{AbortedTransaction, IndexLimits};
use crate::producers::ProducerEntry;

/// A closed segment that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSegment {
    /// Its first possible offset, which names its files.
    pub base: Offset,
    /// Where the next segment begins.
    pub end: Offset,
    /// Bytes in the `.log`.
    pub size: u64,
    /// Bytes in the `.index`.
    pub index_len: u64,
    /// Bytes in the `.timeindex`.
    pub time_index_len: u64,
    /// When its `.log` was last written.
    pub modified: Timestamp,
}

/// The topic's and the broker's settings for a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionRules {
    /// `delete.retention.ms`: how long tombstones and markers stay once a pass has met them.
    pub delete_retention_ms: u64,
    /// `segment.bytes`: neighbours are joined up to this.
    pub segment_bytes: u32,
    /// `segment.index.bytes` and `index.interval.bytes`.
    pub indexes: IndexLimits,
    /// Bytes of the map from keys to offsets, at most.
    pub map_bytes: usize,
    /// How full the map may become, of 1.
    pub map_load: f64,
    /// Bytes that are read and written at once.
    pub window: usize,
    /// The most that a batch may become when it is decompressed, in bytes.
    pub decompressed: usize,
}

/// The producers whose last word in the log is not to be lost: the end of each one's last batch,
/// or, of those without, the epoch of their marker.
#[derive(Clone, Debug, Default)]
pub struct ActiveProducers {
    last_data: HashSet<Offset>,
    markers: HashMap<ProducerId, ProducerEpoch>,
}

impl ActiveProducers {
    /// Adds a producer of a log that is compacted below `end`.
    pub fn add(&mut self, id: ProducerId, entry: &ProducerEntry, end: Offset) {
        match entry.last_batch() {
            Some(last) if last.last_offset < end => {
                self.last_data.insert(last.last_offset);
            }
            Some(_) => {} // above what is compacted
            None => {
                self.markers.insert(id, entry.epoch());
            }
        }
    }

    /// Whether some producer's last batch of records ends there.
    pub(super) fn has_data_at(&self, last_offset: Offset) -> bool {
        self.last_data.contains(&last_offset)
    }

    /// The epoch of a producer that is known by a marker alone.
    pub(super) fn marker_of(&self, id: ProducerId) -> Option<ProducerEpoch> {
        self.markers.get(&id).copied()
    }
}

/// A log as a pass sees it.
#[derive(Clone, Debug)]
pub struct CompactionPlan {
    /// The name of the partition's directory in its log directory.
    pub directory: String,
    /// All closed segments below the first one that may not be compacted, oldest first.
    pub sources: Vec<SourceSegment>,
    /// The first offset that no pass has read yet.
    pub first_dirty: Offset,
    /// The aborted transactions of the whole log, in the order of their markers.
    pub aborted: Vec<AbortedTransaction>,
    /// Whose last batches are kept, empty as they may be.
    pub producers: ActiveProducers,
    /// All replicas have what lies below.
    pub high_watermark: Offset,
    /// What the topic and the broker ask for.
    pub rules: CompactionRules,
    /// When the pass begins, by the wall clock.
    pub now: Timestamp,
}

impl CompactionPlan {
    /// The first offset that is not compacted.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.sources.last().map_or(self.first_dirty, |last| last.end)
    }
}
