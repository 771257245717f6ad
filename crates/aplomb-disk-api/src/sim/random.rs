//! The simulated disk's own dice: SplitMix64, so that one seed means one history on every machine.

use std::ops::Range;

/// A seeded generator. Not for secrets.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Sixty-four even bits (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `range`; its start if the range is empty.
    pub(super) fn within(&mut self, range: Range<u64>) -> u64 {
        match range.end.saturating_sub(range.start) {
            0 => range.start,
            width => range.start + self.bits() % width,
        }
    }

    /// Heads or tails.
    pub(super) fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        // First outputs for seed 1234567, from the reference implementation (prng.di.unimi.it/splitmix64.c).
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_number_stays_within_its_range() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| (5..9).contains(&random.within(5..9))));
        assert_eq!(random.within(5..5), 5);
    }
}
