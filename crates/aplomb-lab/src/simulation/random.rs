//! The simulation's dice: SplitMix64 (Steele, Lea, Flood 2014). Every part of a scenario has its own, made from the seed and a name, so that
//! leaving one part out does not change what the others do.

use std::ops::Range;
use std::time::Duration;

/// A seeded generator. Not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The dice of one part: `what` and `number` name it.
    pub(crate) fn of(seed: u64, what: &str, number: u64) -> Self {
        let mut mixed = Self(seed ^ number.rotate_left(40));
        for byte in what.bytes() {
            mixed.0 ^= u64::from(byte);
            mixed.bits();
        }
        Self(mixed.bits())
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `range`; its start if the range is empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        match range.end.saturating_sub(range.start) {
            0 => range.start,
            width => range.start + self.bits() % width,
        }
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }

    /// A time in `range`.
    pub(crate) fn time(&mut self, range: Range<Duration>) -> Duration {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.within(nanos(range.start)..nanos(range.end)))
    }

    /// A place in a list of `len` things; the list is not empty.
    pub(crate) fn place(&mut self, len: usize) -> usize {
        usize::try_from(self.within(0..len as u64)).expect("below a length")
    }

    /// One of a list that is not empty.
    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.place(list.len())]
    }

    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        (u128::from(self.bits()) << 64 | u128::from(self.bits())).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_dice_of_their_own() {
        let mut drawn: Vec<u64> = ["clients", "faults"]
            .into_iter()
            .flat_map(|what| (0..50).map(move |number| Dice::of(7, what, number).bits()))
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 100);
        assert_eq!(Dice::of(7, "clients", 3).bits(), Dice::of(7, "clients", 3).bits());
    }

    #[test]
    fn a_number_stays_within_its_range() {
        let mut dice = Dice::new(7);
        assert!((0..1000).all(|_| (5..9).contains(&dice.within(5..9))));
        assert_eq!(dice.within(5..5), 5);
    }
}
