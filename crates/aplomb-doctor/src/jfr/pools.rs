//! Constants of a chunk: threads, stacks, names, texts that events refer to by number.
//!
//! They lie in lists (checkpoints), and each list says how far before it the one before is. What
//! always holds: a constant is kept as its place, not its value, and of two with one number the
//! later one counts, as a JVM writes a constant again when it has learnt more of it.

use std::collections::HashMap;

use super::bytes::ChunkBytes;
use super::fault::{JfrFault, JfrFlaw};
use super::header::HEADER_BYTES;
use super::types::{TypeIndex, TypeTable};

/// Constants that are kept of a chunk; they take some 150 MB. Real chunks have thousands.
const MOST_CONSTANTS: u64 = 4 << 20;

/// Where each constant is, by type and number.
#[derive(Debug, Default)]
pub(super) struct ConstantPools {
    places: HashMap<TypeIndex, HashMap<i64, u32>>,
    count: u64,
}

/// An event's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventFrame {
    /// Its first byte, from the chunk's beginning.
    pub(super) at: usize,
    /// Where its fields begin.
    pub(super) body: usize,
    /// Where the next one begins.
    pub(super) end: usize,
    pub(super) type_id: i64,
}

/// The type of the event that holds the metadata.
pub(super) const METADATA: i64 = 0;
/// The type of events that hold constants.
pub(super) const CHECKPOINT: i64 = 1;

impl EventFrame {
    /// The event at `at`, which ends before `end`.
    pub(super) fn read(bytes: &ChunkBytes<'_>, at: usize, end: usize) -> Result<Self, JfrFault> {
        let mut cursor = bytes.cursor(at, end);
        let size = cursor.long()?;
        let type_id = cursor.long()?;
        let body = cursor.at();
        let event_end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
        match event_end {
            Some(event_end) if event_end >= body && event_end <= end => {
                Ok(Self { at, body, end: event_end, type_id })
            }
            _ => Err(bytes.fault(at, JfrFlaw::EventSize(size))),
        }
    }
}

impl ConstantPools {
    /// Follows the chain of lists from the last one, at `last`, to the first.
    ///
    /// # Errors
    /// When the chain breaks; what was read until then is kept.
    pub(super) fn follow(
        &mut self,
        bytes: &ChunkBytes<'_>,
        types: &TypeTable,
        last: usize,
    ) -> Result<(), JfrFault> {
        let mut at = last;
        loop {
            let frame = EventFrame::read(bytes, at, bytes.len())?;
            if frame.type_id != CHECKPOINT {
                return Err(bytes.fault(at, JfrFlaw::Chain));
            }
            let back = self.add(bytes, types, frame, Keep::Known)?;
            if back == 0 {
                return Ok(());
            }
            // Only ever backwards: a chain that leads forwards may be a ring.
            let before = i64::try_from(at).ok().and_then(|at| at.checked_add(back));
            at = match before.and_then(|before| usize::try_from(before).ok()) {
                Some(before) if before < at && before >= HEADER_BYTES => before,
                _ => return Err(bytes.fault(at, JfrFlaw::Chain)),
            };
        }
    }

    /// Adds a list that lies behind all others that were added.
    pub(super) fn add_later(
        &mut self,
        bytes: &ChunkBytes<'_>,
        types: &TypeTable,
        frame: EventFrame,
    ) -> Result<(), JfrFault> {
        self.add(bytes, types, frame, Keep::New).map(drop)
    }

    pub(super) fn place(&self, of: TypeIndex, number: i64) -> Option<usize> {
        self.places.get(&of)?.get(&number).map(|place| *place as usize)
    }

    /// Numbers of all constants of a type, in order.
    pub(super) fn numbers(&self, of: TypeIndex) -> Vec<i64> {
        let mut numbers: Vec<i64> =
            self.places.get(&of).map(|places| places.keys().copied().collect()).unwrap_or_default();
        numbers.sort_unstable();
        numbers
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a list; what it says of the one before it: 0 if there is none.
    fn add(
        &mut self,
        bytes: &ChunkBytes<'_>,
        types: &TypeTable,
        frame: EventFrame,
        keep: Keep,
    ) -> Result<i64, JfrFault> {
        let mut cursor = bytes.cursor(frame.body, frame.end);
        let (_start, _duration, back) = (cursor.long()?, cursor.long()?, cursor.long()?);
        let _flags = cursor.byte()?;
        let pools = cursor.length()?;
        for _ in 0..pools {
            let type_id = cursor.long()?;
            let of = types.find(type_id).ok_or_else(|| cursor.fault(JfrFlaw::UnknownType(type_id)))?;
            let count = cursor.length()?;
            let places = self.places.entry(of).or_default();
            for _ in 0..count {
                let number = cursor.long()?;
                let place = u32::try_from(cursor.at()).map_err(|_| cursor.fault(JfrFlaw::Truncated))?;
                types.skip(of, &mut cursor)?;
                if self.count == MOST_CONSTANTS {
                    return Err(cursor.fault(JfrFlaw::TooManyConstants(MOST_CONSTANTS)));
                }
                self.count += 1;
                match keep {
                    Keep::Known => {
                        places.entry(number).or_insert(place);
                    }
                    Keep::New => {
                        places.insert(number, place);
                    }
                }
            }
        }
        Ok(back)
    }
}

/// Which of two constants with one number stays.
#[derive(Clone, Copy)]
enum Keep {
    /// The one that was added first: lists are read from the last to the first.
    Known,
    /// The one that is added now.
    New,
}
