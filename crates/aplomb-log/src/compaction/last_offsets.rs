//! Where the last records of the keys lie, as bits: which stretches of the dirty part have none.
//!
//! A bit stands for one offset, or for some that follow each other where there are too many of
//! them, so the memory is bounded. A bit that is set for another offset costs a look at records
//! that go all the same; one that is not set is certain.

use std::ops::RangeInclusive;

use aplomb_model::Offset;

/// A mebibyte of them.
const MOST_BITS: u64 = 1 << 23;

/// The offsets of last records, from the first dirty one on.
#[derive(Debug)]
pub(super) struct LastOffsets {
    range: RangeInclusive<Offset>,
    /// A bit stands for two to the power of this.
    shift: u32,
    words: Vec<u64>,
}

impl LastOffsets {
    /// Those of `offsets` that are in `range`.
    pub(super) fn new(range: RangeInclusive<Offset>, offsets: impl Iterator<Item = Offset>) -> Self {
        Self::with_bits(MOST_BITS, range, offsets)
    }

    fn with_bits(most: u64, range: RangeInclusive<Offset>, offsets: impl Iterator<Item = Offset>) -> Self {
        let span = range.end().distance_from(*range.start());
        let mut shift = 0;
        while span >> shift >= most {
            shift += 1;
        }
        let words = (span >> shift) / 64 + 1;
        let mut found = Self { range, shift, words: vec![0; usize::try_from(words).expect("they are few")] };
        for offset in offsets.filter(|offset| found.range.contains(offset)) {
            let bit = found.bit(offset);
            found.words[bit / 64] |= 1 << (bit % 64);
        }
        found
    }

    /// Whether nothing from `first` to `last` is a key's last record, all of which was read.
    pub(super) fn has_none_in(&self, first: Offset, last: Offset) -> bool {
        if !self.range.contains(&first) || !self.range.contains(&last) {
            return false;
        }
        let (first, last) = (self.bit(first), self.bit(last));
        let (low, high) = (!0 << (first % 64), !0 >> (63 - last % 64));
        match (first / 64, last / 64) {
            (word, end) if word == end => self.words[word] & low & high == 0,
            (word, end) => {
                self.words[word] & low == 0
                    && self.words[end] & high == 0
                    && self.words[word + 1..end].iter().all(|word| *word == 0)
            }
        }
    }

    fn bit(&self, offset: Offset) -> usize {
        (offset.distance_from(*self.range.start()) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_says_of_no_stretch_with_a_last_record_that_it_has_none(
            base in 0_u64..1000,
            len in 1_u64..600,
            set in prop::collection::btree_set(0_u64..2000, 0..20),
            most in 1_u64..600,
        ) {
            let set: BTreeSet<Offset> = set.into_iter().map(Offset::new).collect();
            let range = Offset::new(base)..=Offset::new(base + len - 1);
            let found = LastOffsets::with_bits(most, range.clone(), set.iter().copied());
            prop_assert!(found.words.len() as u64 <= most / 64 + 1);
            for first in base..base + len {
                for last in (first..base + len).step_by(7) {
                    let (first, last) = (Offset::new(first), Offset::new(last));
                    let truth = set.range(first..=last).next().is_none();
                    let said = found.has_none_in(first, last);
                    prop_assert!(truth || !said, "{first} to {last}");
                    prop_assert!(len > most || truth == said, "{first} to {last}, a bit for each");
                }
            }
            prop_assert!(!found.has_none_in(Offset::new(base), Offset::new(base + len)));
            if base > 0 {
                prop_assert!(!found.has_none_in(Offset::new(base - 1), Offset::new(base)));
            }
        }
    }
}
