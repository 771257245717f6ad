//! The simulation's dice. Every part of a scenario has its own, made from the seed and a name, so
//! that leaving one part out does not change what the others do.

use std::ops::Range;
use std::time::Duration;

use aplomb_model::SplitMix64;

/// What one part of a scenario draws from.
#[derive(Clone, Debug)]
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// The dice of one part: `what` and `number` name it.
    pub(crate) fn of(seed: u64, what: &str, number: u64) -> Self {
        let mut mixed = SplitMix64::new(seed ^ number.rotate_left(40));
        what.bytes().for_each(|byte| mixed.fold(u64::from(byte)));
        Self::new(mixed.bits())
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number in `range`; its start if the range is empty.
    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        self.0.within(range)
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.bits() % 100 < percent
    }

    /// A time in `range`.
    pub(crate) fn time(&mut self, range: Range<Duration>) -> Duration {
        self.0.duration(range)
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
}
