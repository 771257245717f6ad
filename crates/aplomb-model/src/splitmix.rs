//! SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014): one
//! seed means one sequence on every machine, now and later. Simulations, benchmarks and ids that
//! only have to differ are drawn from it; secrets never are.

use std::ops::Range;
use std::time::Duration;

/// A generator whose whole state is one number. Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Any seed will do, 0 too.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Makes everything drawn from here on depend on `value` as well.
    pub fn fold(&mut self, value: u64) {
        self.0 ^= value;
        self.bits();
    }

    /// A number in `range`; its start if the range is empty. Every call draws at most once. Small
    /// numbers come up a little more often in ranges close to 2^64.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        match range.end.saturating_sub(range.start) {
            0 => range.start,
            width => range.start + self.bits() % width,
        }
    }

    /// A time in `range`, to the nanosecond.
    pub fn duration(&mut self, range: Range<Duration>) -> Duration {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.within(nanos(range.start)..nanos(range.end)))
    }

    /// True in half of all calls.
    pub fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        // First outputs of the reference implementation (prng.di.unimi.it/splitmix64.c).
        let first = |seed| {
            let mut numbers = SplitMix64::new(seed);
            [numbers.bits(), numbers.bits(), numbers.bits()]
        };
        assert_eq!(
            first(1_234_567),
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(first(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn a_number_stays_within_its_range() {
        let mut numbers = SplitMix64::new(7);
        let mut seen: Vec<u64> = (0..1000).map(|_| numbers.within(5..9)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [5, 6, 7, 8]);
        assert_eq!(numbers.within(5..5), 5);
    }

    #[test]
    fn a_time_stays_within_its_range() {
        let mut numbers = SplitMix64::new(7);
        let range = Duration::from_micros(3)..Duration::from_micros(5);
        assert!((0..1000).all(|_| range.contains(&numbers.duration(range.clone()))));
    }

    #[test]
    fn what_is_folded_in_changes_what_is_drawn() {
        let after = |value| {
            let mut numbers = SplitMix64::new(7);
            numbers.fold(value);
            numbers.bits()
        };
        assert_ne!(after(1), after(2));
        assert_eq!(after(1), after(1));
    }

    #[test]
    fn a_coin_has_two_sides() {
        let mut numbers = SplitMix64::new(7);
        let heads = (0..1000).filter(|_| numbers.coin()).count();
        assert!((400..600).contains(&heads), "{heads}");
    }
}
