//! What the reading for the map has met, so that the second one passes over a stretch that the map
//! outdates as a whole: nothing of it is read again.
//!
//! By the map alone go batches of plain records only. A marker, a batch of a transaction, the last
//! one of a producer and the one that ends at the high watermark have rules of their own
//! (`filter`), so a stretch with one of these is read.

use aplomb_model::Offset;
use aplomb_model::batch::BatchHeader;

use super::filter::stays_empty;
use super::offset_map::OffsetMap;
use super::plan::CompactionPlan;

/// The most that are remembered: 3 MiB. What is dirty beyond them is read twice.
const MOST: usize = 1 << 16;

/// Whole batches of a source that were read at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirtyStretch {
    /// The place of the source, and where in its `.log` the stretch begins.
    start: (usize, u64),
    /// Bytes.
    pub(super) len: u64,
    pub(super) records: u64,
    /// Its first and last offset; none as long as it has no batch.
    offsets: Option<(Offset, Offset)>,
    /// Whether every batch goes with its last record.
    is_plain: bool,
}

impl DirtyStretch {
    /// The stretch of so many bytes at `at`, without its batches.
    pub(super) fn new(source: usize, at: u64, len: u64) -> Self {
        Self { start: (source, at), len, records: 0, offsets: None, is_plain: true }
    }

    /// Adds the next batch.
    pub(super) fn add(&mut self, header: &BatchHeader, plan: &CompactionPlan) {
        self.records += u64::from(header.count());
        let first = self.offsets.map_or(header.base_offset(), |(first, _)| first);
        self.offsets = Some((first, header.last_offset()));
        self.is_plain &= !header.is_control() && !header.is_transactional() && !stays_empty(header, plan);
    }
}

/// Those of a pass, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    known: Vec<DirtyStretch>,
    /// The first that the second reading has not come to.
    next: usize,
}

impl Stretches {
    /// All batches of a stretch are in the map.
    pub(super) fn push(&mut self, stretch: DirtyStretch) {
        if stretch.is_plain && self.known.len() < MOST {
            self.known.push(stretch);
        }
    }

    /// The stretch at this place of the second reading, if all of it goes.
    pub(super) fn outdated_at(&mut self, source: usize, at: u64, map: &OffsetMap) -> Option<DirtyStretch> {
        let place = (source, at);
        self.next += self.known[self.next..].iter().take_while(|stretch| stretch.start < place).count();
        let here = self.known.get(self.next).filter(|stretch| stretch.start == place)?;
        let (first, last) = here.offsets?;
        map.outdates_all(first, last).then_some(*here)
    }
}
