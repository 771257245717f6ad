//! Names and prefixes of names: one pass over a name finds what is said of it and of everything
//! that it begins with. Clones share what they do not change.
//!
//! A hash of each beginning of the name is known when its end is reached. Lengths that no prefix
//! has are passed over; of the others a filter of bits, which fits into a processor's cache, says
//! for nearly all that there is none. So the time grows with the name, and hardly with what is in
//! here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Into so many parts the map is cut, of which a change copies one.
const PARTS: usize = 256;
/// Bits of the filter for each pattern, at least.
const BITS: usize = 16;

/// What is said of names, and of all that begin so.
#[derive(Clone, Debug)]
pub(super) struct Patterns<V> {
    parts: Vec<Arc<PatternPart<V>>>,
    len: usize,
    /// The lengths of prefixes, in order, and how many have them.
    lengths: Arc<Vec<(usize, usize)>>,
    filter: Arc<Vec<u64>>,
    /// Patterns that are gone and have left their bits.
    stale: usize,
}

type PatternPart<V> = HashMap<u64, Bucket<V>, BuildHasherDefault<AsItIs>>;

/// A pattern, and those that have the same hash: as good as never any.
#[derive(Clone, Debug)]
struct Bucket<V> {
    pattern: Pattern,
    value: V,
    more: Vec<(Pattern, V)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: Box<str>,
    is_prefix: bool,
}

/// Keys are hashes already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A hash that grows with a name.
#[derive(Clone, Copy)]
struct Rolling(u64);

impl Rolling {
    const START: Self = Self(0x9E37_79B9_7F4A_7C15);
    const STEP: u64 = 0xF135_7AEA_2E62_A9C5;

    #[inline]
    fn push(&mut self, byte: u8) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(Self::STEP);
    }

    /// Of what was pushed, as a name or as a prefix.
    #[inline]
    fn key(self, is_prefix: bool) -> u64 {
        let salted = self.0 ^ u64::from(is_prefix);
        let mixed = (salted ^ (salted >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 32)
    }

    fn of(pattern: &Pattern) -> u64 {
        let mut hash = Self::START;
        pattern.text.bytes().for_each(|byte| hash.push(byte));
        hash.key(pattern.is_prefix)
    }
}

impl<V> Default for Patterns<V> {
    fn default() -> Self {
        let (lengths, filter) = Default::default();
        Self { parts: Vec::new(), len: 0, lengths, filter, stale: 0 }
    }
}

impl<V: Clone> Patterns<V> {
    /// Visits what is said of a name: by its prefixes, the shortest first, then by the name itself.
    /// Ends when `visit` says so.
    #[inline]
    pub(super) fn walk<'a>(&'a self, name: &str, mut visit: impl FnMut(&'a V) -> bool) {
        if self.len == 0 {
            return;
        }
        let (bytes, mut hash, mut at) = (name.as_bytes(), Rolling::START, 0);
        for (length, _) in self.lengths.iter().take_while(|(length, _)| *length <= bytes.len()) {
            bytes[at..*length].iter().for_each(|byte| hash.push(*byte));
            at = *length;
            if let Some(value) = self.find(hash.key(true), &bytes[..at], true)
                && visit(value)
            {
                return;
            }
        }
        bytes[at..].iter().for_each(|byte| hash.push(*byte));
        if let Some(value) = self.find(hash.key(false), bytes, false) {
            visit(value);
        }
    }

    #[inline]
    fn find(&self, key: u64, text: &[u8], is_prefix: bool) -> Option<&V> {
        if !self.may_have(key) {
            return None;
        }
        let is_it = |pattern: &Pattern| pattern.is_prefix == is_prefix && pattern.text.as_bytes() == text;
        let bucket = self.parts[part_of(key)].get(&key)?;
        if is_it(&bucket.pattern) {
            return Some(&bucket.value);
        }
        bucket.more.iter().find(|(pattern, _)| is_it(pattern)).map(|(_, value)| value)
    }

    #[inline]
    fn may_have(&self, key: u64) -> bool {
        let bit = key as usize & (self.filter.len() * 64 - 1);
        self.filter[bit / 64] & (1 << (bit % 64)) != 0
    }

    /// What is said of a name, or of all that begin so; `new` if that is nothing yet.
    pub(super) fn entry(&mut self, text: &str, is_prefix: bool, new: impl FnOnce() -> V) -> &mut V {
        let pattern = Pattern { text: text.into(), is_prefix };
        let key = Rolling::of(&pattern);
        self.parts.resize_with(PARTS, Arc::default);
        if !self.has(key, &pattern) {
            self.len += 1;
            if is_prefix {
                self.count_length(text.len(), 1);
            }
            self.put(key, pattern.clone(), new());
        }
        let bucket = Arc::make_mut(&mut self.parts[part_of(key)]).get_mut(&key).expect("it is there");
        if bucket.pattern == pattern {
            return &mut bucket.value;
        }
        let more = bucket.more.iter_mut().find(|(other, _)| *other == pattern);
        &mut more.expect("it is there").1
    }

    fn has(&self, key: u64, pattern: &Pattern) -> bool {
        !self.filter.is_empty() && self.find(key, pattern.text.as_bytes(), pattern.is_prefix).is_some()
    }

    fn put(&mut self, key: u64, pattern: Pattern, value: V) {
        let part = Arc::make_mut(&mut self.parts[part_of(key)]);
        match part.get_mut(&key) {
            Some(bucket) => bucket.more.push((pattern, value)),
            None => drop(part.insert(key, Bucket { pattern, value, more: Vec::new() })),
        }
        if (self.len + self.stale) * BITS > self.filter.len() * 64 {
            self.filter_anew();
        } else {
            let filter: &mut Vec<u64> = Arc::make_mut(&mut self.filter);
            set(filter, key);
        }
    }

    /// With room to grow, and without the bits of what is gone.
    fn filter_anew(&mut self) {
        let words = (2 * self.len * BITS).next_power_of_two().div_ceil(64).next_power_of_two();
        let mut filter = vec![0; words];
        self.parts.iter().flat_map(|part| part.keys()).for_each(|key| set(&mut filter, *key));
        self.filter = Arc::new(filter);
        self.stale = 0;
    }

    /// Changes what is said of a name, or of all that begin so, if anything is; `true` from
    /// `change` forgets it.
    pub(super) fn change(&mut self, text: &str, is_prefix: bool, change: impl FnOnce(&mut V) -> bool) {
        let pattern = Pattern { text: text.into(), is_prefix };
        let key = Rolling::of(&pattern);
        if !self.has(key, &pattern) || !change(self.entry(text, is_prefix, || unreachable!("it is there"))) {
            return;
        }
        let part = Arc::make_mut(&mut self.parts[part_of(key)]);
        let bucket = part.get_mut(&key).expect("it is there");
        if let Some(at) = bucket.more.iter().position(|(other, _)| *other == pattern) {
            bucket.more.swap_remove(at);
        } else if let Some((other, value)) = bucket.more.pop() {
            (bucket.pattern, bucket.value) = (other, value);
        } else {
            part.remove(&key);
        }
        self.len -= 1;
        self.stale += 1;
        if is_prefix {
            self.count_length(text.len(), -1);
        }
    }

    fn count_length(&mut self, length: usize, by: isize) {
        let lengths = Arc::make_mut(&mut self.lengths);
        match lengths.binary_search_by_key(&length, |(length, _)| *length) {
            Ok(at) => {
                lengths[at].1 = lengths[at].1.strict_add_signed(by);
                if lengths[at].1 == 0 {
                    lengths.remove(at);
                }
            }
            Err(at) => lengths.insert(at, (length, by.unsigned_abs())),
        }
    }

    /// How many patterns there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.len
    }
}

#[inline]
fn part_of(key: u64) -> usize {
    (key >> 48) as usize % PARTS
}

fn set(filter: &mut [u64], key: u64) {
    let bit = key as usize & (filter.len() * 64 - 1);
    filter[bit / 64] |= 1 << (bit % 64);
}
