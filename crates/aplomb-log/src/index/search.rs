//! A lookup in an index file that is not in memory, by a few small reads.
//!
//! A file of one or a few blocks is read whole. In a larger one a block is read where the entry
//! should be if keys rose evenly between those that are known, then a block between it and the
//! entry that it was too far from, and so on. What always holds: `low` is not above the target, and
//! everything from `high` on is; two reads at least halve what lies in between.

use aplomb_model::Offset;

use super::entries::{IndexFile, LookupEntry};
use super::{IndexDamaged, IndexTail};

/// Bytes that one read asks for.
const BLOCK: u64 = 4096;
/// What is left of the file is read at once if it is no more than this.
const WHOLE: u64 = 4 * BLOCK;

/// The search for the last entry that is not above a target.
#[derive(Debug)]
pub struct IndexSearch<E> {
    base: Offset,
    target: i64,
    /// The last entry known not to be above the target, and the slot behind it.
    low: Option<E>,
    first: u64,
    low_key: Option<i64>,
    /// Entries from this slot on are above the target, or not there.
    high: u64,
    high_key: Option<i64>,
    /// The slots of the next read.
    asked: std::ops::Range<u64>,
    /// The last guess was a bad one: halve.
    halve: bool,
}

/// How a search goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep<E> {
    /// Read [`IndexSearch::next_read`].
    Again,
    /// The entry; `None` if all are above the target.
    Found(Option<E>),
}

impl<E: LookupEntry> IndexSearch<E> {
    /// Begins a search in the index, of `len` bytes, of the segment that begins at `base`. The keys
    /// of its entries lie above `bounds.0` and not above `bounds.1`, as far as that is known.
    #[must_use]
    pub fn new(base: Offset, len: u64, target: i64, bounds: (Option<i64>, Option<i64>)) -> Self {
        let high = len / E::LEN as u64;
        let (low_key, high_key) = bounds;
        let (low, asked) = (None, 0..0);
        let mut search = Self { base, target, low, first: 0, low_key, high, high_key, asked, halve: false };
        search.choose();
        search
    }

    /// Where to read, and how many bytes.
    #[must_use]
    pub fn next_read(&self) -> (u64, u32) {
        let bytes = |slots: u64| slots * E::LEN as u64;
        let len = bytes(self.asked.end - self.asked.start);
        (bytes(self.asked.start), u32::try_from(len).expect("a read is small"))
    }

    /// Takes what was read; less than asked for where the file is shorter.
    ///
    /// # Errors
    /// [`IndexDamaged`] if the entries contradict each other.
    pub fn on_read(&mut self, bytes: &[u8]) -> Result<SearchStep<E>, IndexDamaged> {
        let whole = bytes.len() - bytes.len() % E::LEN;
        let block = IndexFile::<E>::new(&bytes[..whole], self.base, IndexTail::Trimmed)?;
        let before = self.high - self.first;
        let got = self.asked.start + block.len() as u64;
        if got < self.asked.end {
            (self.high, self.high_key) = (got, None);
        }
        let low = self.low;
        let in_order = |entry: E| low.is_none_or(|low| E::rises(low, entry));
        if let Some(first) = block.get(0)?
            && !in_order(first)
        {
            return Err(IndexDamaged::NotRising { slot: 0 });
        }
        match block.search(|entry| entry.key() > self.target)? {
            Some((slot, entry)) => {
                self.low = Some(entry);
                self.low_key = Some(entry.key());
                self.first = self.asked.start + slot as u64 + 1;
                if self.first < got {
                    return Ok(SearchStep::Found(self.low)); // the next one is here, and above
                }
            }
            None => {
                self.high = self.asked.start;
                self.high_key = block.get(0)?.map(|first| first.key());
            }
        }
        self.halve = (self.high - self.first) * 2 > before;
        if self.choose() { Ok(SearchStep::Again) } else { Ok(SearchStep::Found(self.low)) }
    }

    /// Decides what to read next; false when nothing is left to read.
    fn choose(&mut self) -> bool {
        let left = self.high - self.first;
        let block = BLOCK / E::LEN as u64;
        if left * E::LEN as u64 <= WHOLE {
            self.asked = self.first..self.high;
        } else {
            let guess = if self.halve { left / 2 } else { self.guess(left) };
            let start = self.first + guess.saturating_sub(block / 2).min(left - block);
            self.asked = start..start + block;
        }
        left > 0
    }

    /// How far from `first` on the target should be, if keys rise evenly.
    fn guess(&self, left: u64) -> u64 {
        let (Some(low), Some(high)) = (self.low_key, self.high_key) else { return left / 2 };
        let (range, part) = (i128::from(high) - i128::from(low), i128::from(self.target) - i128::from(low));
        if range <= 0 {
            return left / 2;
        }
        u64::try_from(i128::from(left) * part / range).unwrap_or(0).min(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::{OffsetIndex, OffsetIndexBuilder, OffsetPosition};

    const BASE: Offset = Offset::new(1000);

    /// An index whose entries lie `steps` apart.
    fn index(steps: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut builder = OffsetIndexBuilder::new(BASE, u32::MAX);
        let (mut offset, mut position) = (BASE, 0);
        for step in steps {
            (offset, position) = (offset.plus(step), position + 700);
            builder.push(OffsetPosition { offset, position });
        }
        builder.take_unwritten().map(|(_, bytes)| bytes.to_vec()).unwrap_or_default()
    }

    /// Searches as the disk would be asked. Gives the entry, the reads, and the bytes that were
    /// read.
    fn search(index: &[u8], target: Offset, end: Option<Offset>) -> (Option<OffsetPosition>, usize, u64) {
        let bounds = (Some(BASE.to_wire() - 1), end.map(Offset::to_wire));
        let mut search = IndexSearch::new(BASE, index.len() as u64, target.to_wire(), bounds);
        let mut bytes = 0;
        for reads in 1.. {
            let (at, len) = search.next_read();
            bytes += u64::from(len);
            match search.on_read(&index[at as usize..][..len as usize]).expect("the index is sound") {
                SearchStep::Again => {}
                SearchStep::Found(entry) => return (entry, reads, bytes),
            }
        }
        unreachable!("it ends")
    }

    fn scan(index: &[u8], target: Offset) -> Option<OffsetPosition> {
        let index = OffsetIndex::new(index, BASE, IndexTail::Trimmed).expect("whole entries");
        let found = index.lookup(target).expect("sound");
        (found.offset > BASE).then_some(found)
    }

    #[test]
    fn a_large_index_takes_a_few_small_reads() {
        // 10 MiB, as large as an index becomes by default: batches of 40 records about.
        let index = index((0..10 << 17).map(|n| 30 + n * 7919 % 20));
        assert_eq!(index.len(), 10 << 20);
        let end = scan(&index, Offset::new(i64::MAX as u64)).expect("it has entries").offset;
        let span = end.distance_from(BASE);
        let (mut most, mut reads, mut bytes) = (0, 0, 0);
        for n in 0..500 {
            let target = BASE.plus(span / 500 * n + n % 7);
            let (found, its_reads, its_bytes) = search(&index, target, Some(end));
            assert_eq!(found, scan(&index, target));
            (most, reads, bytes) = (most.max(its_reads), reads + its_reads, bytes + its_bytes);
        }
        assert!(most <= 4, "{most} reads for one lookup");
        assert!(reads <= 1000, "{reads} reads for 500 lookups");
        assert!(bytes <= 500 * 20_000, "{bytes} bytes for 500 lookups");
    }

    #[test]
    fn an_index_that_deceives_every_guess_still_takes_few_reads() {
        // Nearly all entries lie at the lower end of the offsets.
        let index = index((0..10 << 17).map(|n| 1 + (u64::from(n > 1_310_000) << 21)));
        let end = scan(&index, Offset::new(i64::MAX as u64)).expect("it has entries").offset;
        for target in [BASE.plus(9), BASE.plus(700_000), BASE.plus(1_310_001), end] {
            let (found, reads, bytes) = search(&index, target, Some(end));
            assert_eq!(found, scan(&index, target));
            assert!(reads <= 26 && bytes <= 26 * WHOLE, "{reads} reads of {bytes} bytes for {target}");
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_thought_ends_where_it_ends() {
        let index = index((0..20_000).map(|_| 10));
        for there in [0, 8, 4099, 80_000] {
            let mut search =
                IndexSearch::<OffsetPosition>::new(BASE, index.len() as u64, i64::MAX, (None, None));
            let found = loop {
                let (at, len) = search.next_read();
                let from = (at as usize).min(there);
                let to = (at as usize + len as usize).min(there);
                match search.on_read(&index[from..to]).expect("the index is sound") {
                    SearchStep::Again => {}
                    SearchStep::Found(entry) => break entry,
                }
            };
            let whole = &index[..there - there % 8];
            assert_eq!(found, scan(whole, Offset::new(i64::MAX as u64)), "{there} bytes are there");
        }
    }

    #[test]
    fn entries_out_of_order_are_damage() {
        let mut index = index((0..20_000).map(|_| 10));
        index[80_000..].fill(0);
        let mut search = IndexSearch::<OffsetPosition>::new(BASE, index.len() as u64, i64::MAX, (None, None));
        let damaged = (0..30).find_map(|_| {
            let (at, len) = search.next_read();
            search.on_read(&index[at as usize..][..len as usize]).err()
        });
        assert!(matches!(damaged, Some(IndexDamaged::NotRising { .. })), "{damaged:?}");
    }

    proptest! {
        #[test]
        fn a_search_agrees_with_a_scan(
            steps in prop::collection::vec(1u64..100_000, 0..9000), part in 0u64..1000, known: bool
        ) {
            let index = index(steps.iter().copied());
            let end = BASE.plus(steps.iter().sum());
            let target = BASE.plus(end.distance_from(BASE) * part / 999);
            let (found, reads, _) = search(&index, target, known.then_some(end));
            prop_assert_eq!(found, scan(&index, target));
            prop_assert!(reads <= 12);
        }
    }
}
