//! An index file as a row of fixed-size entries: counting them, and searching them by halves.
//!
//! The search checks every entry that it visits against its neighbours in the search, so a damaged index is
//! noticed for free where it matters. Next: `offset.rs` and `time.rs`, which say what an entry is.

use super::{IndexDamaged, IndexTail};

/// Bytes read as entries of `N` bytes each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries<'a, const N: usize> {
    entries: &'a [[u8; N]],
}

impl<'a, const N: usize> Entries<'a, N> {
    /// Divides a file's bytes. A cut last entry is damage, except where the file may be preallocated:
    /// Apache Kafka rounds the preallocated size down, a crash may have cut it anywhere.
    pub(super) fn of(bytes: &'a [u8], tail: IndexTail) -> Result<Self, IndexDamaged> {
        let (entries, cut) = bytes.as_chunks::<N>();
        match tail {
            IndexTail::Trimmed if !cut.is_empty() => {
                Err(IndexDamaged::CutEntry { len: bytes.len(), entry: N })
            }
            IndexTail::Trimmed => Ok(Self { entries }),
            IndexTail::MaybePreallocated => {
                let used = entries.iter().rposition(|entry| *entry != [0; N]).map_or(0, |last| last + 1);
                Ok(Self { entries: &entries[..used] })
            }
        }
    }

    pub(super) fn len(self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(self, slot: usize) -> Option<&'a [u8; N]> {
        self.entries.get(slot)
    }

    /// The last slot whose entry is not above what is looked for, by halving.
    ///
    /// `parse` reads a slot's entry; `rises(lower, higher)` says whether two entries may stand in that order;
    /// `above(entry)` says whether an entry lies above what is looked for.
    pub(super) fn search<T: Copy>(
        self,
        parse: impl Fn(usize, &[u8; N]) -> Result<T, IndexDamaged>,
        rises: impl Fn(T, T) -> bool,
        above: impl Fn(T) -> bool,
    ) -> Result<Option<(usize, T)>, IndexDamaged> {
        let mut found: Option<(usize, T)> = None;
        let mut beyond: Option<(usize, T)> = None;
        loop {
            let low = found.map_or(0, |(slot, _)| slot + 1);
            let high = beyond.map_or(self.len(), |(slot, _)| slot);
            if low >= high {
                return Ok(found);
            }
            let slot = low + (high - low) / 2;
            let entry = parse(slot, &self.entries[slot])?;
            let in_order = found.is_none_or(|(_, lower)| rises(lower, entry))
                && beyond.is_none_or(|(_, higher)| rises(entry, higher));
            if !in_order {
                return Err(IndexDamaged::NotRising { slot });
            }
            if above(entry) {
                beyond = Some((slot, entry));
            } else {
                found = Some((slot, entry));
            }
        }
    }

    /// Reads every entry, in order.
    pub(super) fn check<T: Copy>(
        self,
        parse: impl Fn(usize, &[u8; N]) -> Result<T, IndexDamaged>,
        rises: impl Fn(T, T) -> bool,
    ) -> Result<(), IndexDamaged> {
        let mut before: Option<T> = None;
        for (slot, raw) in self.entries.iter().enumerate() {
            let entry = parse(slot, raw)?;
            if before.is_some_and(|lower| !rises(lower, entry)) {
                return Err(IndexDamaged::NotRising { slot });
            }
            before = Some(entry);
        }
        Ok(())
    }
}
