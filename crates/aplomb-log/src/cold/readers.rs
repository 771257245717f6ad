//! How far readers of old records got, so that each goes on without a lookup in the index.

use std::collections::VecDeque;

use aplomb_model::Offset;

/// How many readers are remembered: those that read last.
const READERS: usize = 16;

/// A reader that will ask for `offset` next, which begins at byte `position` of its segment.
#[derive(Clone, Copy, Debug)]
struct ReaderPosition {
    offset: Offset,
    segment: Offset,
    position: u64,
}

/// The readers of one log.
#[derive(Debug, Default)]
pub struct ReaderPositions(VecDeque<ReaderPosition>);

impl ReaderPositions {
    /// Where in the segment that begins at `segment` the batch of `offset` begins, if a reader got
    /// as far as that. It is then forgotten: that reader goes on.
    pub fn take(&mut self, offset: Offset, segment: Offset) -> Option<u64> {
        let place = self.0.iter().position(|r| r.offset == offset && r.segment == segment)?;
        self.0.remove(place).map(|reader| reader.position)
    }

    /// The segments between two offsets are other files now.
    pub fn forget(&mut self, from: Offset, to: Offset) {
        self.0.retain(|reader| reader.segment < from || reader.segment >= to);
    }

    /// A reader got as far as `offset`, which begins at `position`.
    pub fn remember(&mut self, offset: Offset, segment: Offset, position: u64) {
        if self.0.len() == READERS {
            self.0.pop_front();
        }
        self.0.push_back(ReaderPosition { offset, segment, position });
    }
}
