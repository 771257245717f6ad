//! An index file as a row of fixed-size entries that rise: what the kinds of indexes share.
//!
//! A search checks every entry that it visits against its neighbours in the search, so a damaged
//! index is noticed for free where it matters. Next: `offset.rs`, `time.rs` and `aborted.rs`, which
//! say what an entry is; `search.rs` for files that are not in memory.

use std::fmt::Debug;
use std::marker::PhantomData;

use aplomb_model::Offset;
use bytes::Bytes;

use super::{IndexDamaged, IndexTail};

/// What one kind of index keeps.
pub trait IndexEntry: Copy + Debug + PartialEq {
    /// Bytes of an entry.
    const LEN: usize;

    /// Reads the entry in `slot` of the index of the segment that begins at `base`.
    ///
    /// # Errors
    /// [`IndexDamaged`] if it is none that this segment can have.
    fn parse(base: Offset, slot: usize, raw: &[u8]) -> Result<Self, IndexDamaged>;

    /// Whether two entries may stand in that order.
    fn rises(lower: Self, higher: Self) -> bool;
}

/// What an index keeps for lookups: an entry for some batches, not for all.
pub trait LookupEntry: IndexEntry {
    /// Places that stay free until the segment is closed, which may add so many entries.
    const PLACES_TO_CLOSE: u64;

    /// The entry's bytes.
    ///
    /// # Panics
    /// If it is none that this segment can have.
    fn encode(&self, base: Offset) -> impl AsRef<[u8]>;

    /// What lookups go by: an offset, or a time.
    fn key(&self) -> i64;

    /// What truncations go by.
    fn offset(&self) -> Offset;

    /// Whether the entry says more than the last one does.
    fn is_news(&self, last: Option<Self>) -> bool;
}

/// The bytes of an index file, as a reader sees them.
#[derive(Clone, Copy, Debug)]
pub struct IndexFile<'a, E> {
    base: Offset,
    /// Whole entries.
    bytes: &'a [u8],
    kind: PhantomData<E>,
}

impl<'a, E: IndexEntry> IndexFile<'a, E> {
    /// The length of an entry in bytes.
    pub const ENTRY_LEN: usize = E::LEN;

    /// Looks at the bytes of the index of the segment that begins at `base`. A cut last entry is
    /// damage, except where the file may be preallocated: Apache Kafka rounds the preallocated size
    /// down, a crash may have cut it anywhere.
    ///
    /// # Errors
    /// [`IndexDamaged::CutEntry`] if a trimmed file is no whole number of entries.
    pub fn new(bytes: &'a [u8], base: Offset, tail: IndexTail) -> Result<Self, IndexDamaged> {
        let whole = &bytes[..bytes.len() - bytes.len() % E::LEN];
        let used = match tail {
            IndexTail::Trimmed if whole.len() < bytes.len() => {
                return Err(IndexDamaged::CutEntry { len: bytes.len(), entry: E::LEN });
            }
            IndexTail::Trimmed => whole.len(),
            IndexTail::MaybePreallocated => {
                let last = whole.iter().rposition(|byte| *byte != 0);
                last.map_or(0, |last| (last / E::LEN + 1) * E::LEN)
            }
        };
        Ok(Self { base, bytes: &whole[..used], kind: PhantomData })
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / E::LEN
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// An entry by its place; `None` behind the last.
    ///
    /// # Errors
    /// [`IndexDamaged`] if it is none that this segment can have.
    pub fn get(&self, slot: usize) -> Result<Option<E>, IndexDamaged> {
        if slot >= self.len() {
            return Ok(None);
        }
        E::parse(self.base, slot, &self.bytes[slot * E::LEN..][..E::LEN]).map(Some)
    }

    /// The last entry, if there is one.
    ///
    /// # Errors
    /// [`IndexDamaged`] if it is none that this segment can have.
    pub fn last(&self) -> Result<Option<E>, IndexDamaged> {
        self.get(self.len().wrapping_sub(1))
    }

    /// All entries, first to last; an error in the place of one that this segment cannot have.
    pub fn iter(&self) -> impl Iterator<Item = Result<E, IndexDamaged>> + use<'a, E> {
        let Self { base, bytes, .. } = *self;
        bytes.chunks_exact(E::LEN).enumerate().map(move |(slot, raw)| E::parse(base, slot, raw))
    }

    /// Reads all entries.
    ///
    /// # Errors
    /// [`IndexDamaged`] at the first entry that contradicts the format.
    pub fn check(&self) -> Result<(), IndexDamaged> {
        let mut before: Option<E> = None;
        for (slot, entry) in self.iter().enumerate() {
            let entry = entry?;
            if before.is_some_and(|lower| !E::rises(lower, entry)) {
                return Err(IndexDamaged::NotRising { slot });
            }
            before = Some(entry);
        }
        Ok(())
    }

    /// The base of the segment.
    pub(super) fn base(&self) -> Offset {
        self.base
    }

    /// The last slot whose entry does not lie `above` what is looked for, by halving.
    pub(super) fn search(&self, above: impl Fn(E) -> bool) -> Result<Option<(usize, E)>, IndexDamaged> {
        let mut found: Option<(usize, E)> = None;
        let mut beyond: Option<(usize, E)> = None;
        loop {
            let low = found.map_or(0, |(slot, _)| slot + 1);
            let high = beyond.map_or(self.len(), |(slot, _)| slot);
            if low >= high {
                return Ok(found);
            }
            let slot = low + (high - low) / 2;
            let entry = self.get(slot)?.expect("a slot below the number of entries");
            let in_order = found.is_none_or(|(_, lower)| E::rises(lower, entry))
                && beyond.is_none_or(|(_, higher)| E::rises(entry, higher));
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
}

impl<E: LookupEntry> IndexFile<'_, E> {
    /// How many bytes of the file remain when offsets from `end` on are cut off.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries that the search visits contradict each other.
    pub fn len_below(&self, end: Offset) -> Result<u64, IndexDamaged> {
        let stay = self.search(|entry| entry.offset() >= end)?.map_or(0, |(slot, _)| slot + 1);
        Ok((stay * E::LEN) as u64)
    }
}

/// Adds entries at the end of an index. Memory holds what the disk has not been given yet, the last
/// entry and a count.
#[derive(Debug)]
pub struct IndexBuilder<E> {
    base: Offset,
    max_entries: u64,
    last: Option<E>,
    /// Where in the file the pending bytes begin.
    at: u64,
    pending: Vec<u8>,
}

impl<E: LookupEntry> IndexBuilder<E> {
    /// The index of a new segment. `max_bytes` is `segment.index.bytes`; there is always room for
    /// one entry and those that closing may add.
    #[must_use]
    pub fn new(base: Offset, max_bytes: u32) -> Self {
        Self::resume(base, max_bytes, 0, None)
    }

    /// Continues an index file of `file_len` bytes that ends with the entry `last`.
    ///
    /// # Panics
    /// If the length is no whole number of entries, or there is a last entry of none or none of
    /// some.
    #[must_use]
    pub fn resume(base: Offset, max_bytes: u32, file_len: u64, last: Option<E>) -> Self {
        assert!(file_len.is_multiple_of(E::LEN as u64), "an index is continued after a whole entry");
        assert!((file_len == 0) == last.is_none(), "an index has a last entry unless it is empty");
        let max_entries = (u64::from(max_bytes) / E::LEN as u64).max(1 + E::PLACES_TO_CLOSE);
        Self { base, max_entries, last, at: file_len, pending: Vec::new() }
    }

    /// Whether the segment has to roll, as there is no room for a further entry.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.file_len() / E::LEN as u64 >= self.max_entries - E::PLACES_TO_CLOSE
    }

    /// Adds an entry, unless it says nothing that the last one does not say.
    ///
    /// # Panics
    /// If its offset does not fit, or it lies before the last entry.
    pub fn push(&mut self, entry: E) {
        if !entry.is_news(self.last) {
            return;
        }
        assert!(self.last.is_none_or(|last| E::rises(last, entry)), "entries come in the order of the log");
        self.pending.extend_from_slice(entry.encode(self.base).as_ref());
        self.last = Some(entry);
    }

    /// The file has this entry already, behind the others. `false`: it has not, since there are
    /// others that are to be written there.
    pub(super) fn adopt(&mut self, entry: E) -> bool {
        if !self.pending.is_empty() {
            return false;
        }
        assert!(self.last.is_none_or(|last| E::rises(last, entry)), "entries come in the order of the log");
        self.at += E::LEN as u64;
        self.last = Some(entry);
        true
    }

    /// Bytes that are in the file, or were given out to be written there.
    #[must_use]
    pub fn written_len(&self) -> u64 {
        self.at
    }

    /// The last entry, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<E> {
        self.last
    }

    /// The file's length in bytes once everything taken and pending is written.
    #[must_use]
    pub fn file_len(&self) -> u64 {
        self.at + self.pending.len() as u64
    }

    /// Gives out what is to be written, and at which position of the file; no memory is kept for
    /// it.
    pub fn take_unwritten(&mut self) -> Option<(u64, Bytes)> {
        if self.pending.is_empty() {
            return None;
        }
        let bytes = Bytes::from(std::mem::take(&mut self.pending));
        let at = self.at;
        self.at += bytes.len() as u64;
        Some((at, bytes))
    }

    /// The base of the segment.
    pub(super) fn base(&self) -> Offset {
        self.base
    }
}

/// An entry's relative offset as an offset of the log.
pub(super) fn absolute(base: Offset, relative: [u8; 4]) -> Option<Offset> {
    let relative = i32::from_be_bytes(relative);
    Offset::from_wire(base.to_wire().checked_add(i64::from(u32::try_from(relative).ok()?))?)
}

/// An offset as an entry holds it: relative to its segment's base. `None` if it does not fit.
pub(super) fn relative(base: Offset, offset: Offset) -> Option<[u8; 4]> {
    let relative = offset.get().checked_sub(base.get())?;
    i32::try_from(relative).ok().map(i32::to_be_bytes)
}
