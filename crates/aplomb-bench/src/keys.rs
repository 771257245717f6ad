//! Which key a record has, and which partition follows from it: Murmur2, as in Apache Kafka's
//! default partitioner (`org.apache.kafka.common.utils.Utils.murmur2`,
//! `BuiltInPartitioner.partitionForKey`), so that keys go where its producer would send them.

use aplomb_model::SplitMix64;

use crate::KeyDistribution;

/// Draws keys.
#[derive(Debug)]
pub(crate) struct Keys {
    dice: SplitMix64,
    kind: Drawing,
    key: Vec<u8>,
}

#[derive(Debug)]
enum Drawing {
    Sticky,
    RoundRobin {
        next: usize,
    },
    Uniform(u64),
    /// The sum of the weights up to each key.
    Zipf(Vec<f64>),
}

/// Where a record goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    /// Wherever the last one without a key went, until that batch goes.
    Sticky,
    /// To this partition, without a key.
    Partition(usize),
    /// To this partition, with this key.
    Keyed(usize, &'a [u8]),
}

impl Keys {
    /// Keys of `size` bytes. Those with another `seed` come in another order.
    pub(crate) fn new(distribution: KeyDistribution, size: usize, seed: u64) -> Self {
        let kind = match distribution {
            KeyDistribution::Sticky => Drawing::Sticky,
            KeyDistribution::RoundRobin => Drawing::RoundRobin { next: seed as usize },
            KeyDistribution::Uniform(keys) => Drawing::Uniform(keys),
            KeyDistribution::Zipf { keys, exponent } => {
                let mut sum = 0.0;
                let weights = (1..=keys).map(|k| {
                    sum += (k as f64).powf(-exponent);
                    sum
                });
                Drawing::Zipf(weights.collect())
            }
        };
        Self { dice: SplitMix64::new(seed), kind, key: vec![b'0'; size] }
    }

    /// Decides for the next record of a topic with `partitions` partitions.
    pub(crate) fn choose(&mut self, partitions: usize) -> Choice<'_> {
        let number = match &mut self.kind {
            Drawing::Sticky => return Choice::Sticky,
            Drawing::RoundRobin { next } => {
                *next = next.wrapping_add(1);
                return Choice::Partition(*next % partitions);
            }
            Drawing::Uniform(keys) => self.dice.bits() % *keys,
            Drawing::Zipf(sums) => {
                let all = sums.last().copied().unwrap_or_default();
                let at = (self.dice.bits() >> 11) as f64 / (1u64 << 53) as f64 * all;
                sums.partition_point(|sum| *sum <= at).min(sums.len() - 1) as u64
            }
        };
        write_number(&mut self.key, number);
        Choice::Keyed(partition_of(&self.key, partitions), &self.key)
    }
}

/// Writes a number in decimal, with leading zeros; its last digits if it does not fit.
fn write_number(into: &mut [u8], mut number: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn partition_of(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % partitions
}

/// Austin Appleby's MurmurHash2 with the seed that Kafka uses.
fn murmur2(data: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut h = 0x9747_b28c ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in words.by_ref() {
        let mut k = u32::from_le_bytes(word.try_into().expect("four bytes")).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        h = h.wrapping_mul(M) ^ k;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        for (place, byte) in rest.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * place);
        }
        h = h.wrapping_mul(M);
    }
    h = (h ^ (h >> 13)).wrapping_mul(M);
    h ^ (h >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hash_as_in_apache_kafka() {
        // Values from org.apache.kafka.common.utils.UtilsTest.testMurmur2, as signed 32-bit numbers
        // there.
        for (key, hash) in [
            ("21", -973_932_308),
            ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key.as_bytes()).cast_signed(), hash, "{key}");
        }
    }

    #[test]
    fn a_zipf_draw_prefers_the_first_keys_as_much_as_it_says() {
        let mut keys = Keys::new(KeyDistribution::Zipf { keys: 3, exponent: 1.0 }, 1, 7);
        let mut seen = [0; 3];
        for _ in 0..11_000 {
            let Choice::Keyed(_, key) = keys.choose(1) else { panic!("zipf has keys") };
            seen[usize::from(key[0] - b'0')] += 1;
        }
        // Weights 6 : 3 : 2 of 11.
        for (count, expected) in seen.iter().zip([6_000_i32, 3_000, 2_000]) {
            assert!((count - expected).abs() < 300, "{seen:?}");
        }
    }

    #[test]
    fn partitions_come_in_turn_and_a_key_always_in_the_same() {
        let mut keys = Keys::new(KeyDistribution::RoundRobin, 8, 0);
        for partition in [1, 2, 0, 1] {
            assert_eq!(keys.choose(3), Choice::Partition(partition));
        }
        let mut keys = Keys::new(KeyDistribution::Uniform(1), 8, 3);
        assert_eq!(keys.choose(5), Choice::Keyed(partition_of(b"00000000", 5), b"00000000"));
        let mut short = [0; 2];
        write_number(&mut short, 1_234);
        assert_eq!(short, *b"34");
    }
}
