//! What owners have said of names and of prefixes of names: one pass over a name finds what some
//! of them have said of it and of everything that it begins with. Clones share what they do not
//! change.
//!
//! A name is hashed once, eight letters at a time, and gives the hashes of its beginnings on the
//! way. Lengths that no prefix has are passed over; of the others a filter of bits, which fits into
//! a processor's cache, says for nearly all that no owner has said anything, and then that these
//! have not. For the rest there is one place of a table to look at and one text to compare. So the
//! time grows with the name, and hardly with the patterns that are in here.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Into so many parts the map is cut, of which a change copies one.
const PARTS: usize = 256;
/// Bits of the filter for each pattern, at least. Each sets four: two for its text, of all owners,
/// and two for its own.
const BITS: usize = 16;
/// Letters that are hashed at a time.
const WORD: usize = 8;
/// What is left of a word with so many letters of it.
const MASKS: [u64; WORD] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff];

/// Which names a pattern is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The one that is its text.
    Literal,
    /// Those that begin with its text.
    Prefixed,
    /// All. It has no text.
    All,
}

/// A pattern, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key<'k> {
    pub(super) owner: &'k str,
    pub(super) form: Form,
    pub(super) text: &'k str,
}

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

/// A key in one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    owner_and_text: Box<[u8]>,
    owner_len: usize,
    form: Form,
    /// The hash of the text and of its form, without the owner.
    text: u64,
}

impl Pattern {
    fn of(key: Key<'_>) -> Self {
        let owner_and_text = [key.owner.as_bytes(), key.text.as_bytes()].concat().into();
        let (_, text) = hashes_of(key);
        Self { owner_and_text, owner_len: key.owner.len(), form: key.form, text }
    }

    #[inline]
    fn is(&self, owner: &[u8], form: Form, text: &[u8]) -> bool {
        self.form == form
            && self.owner_len == owner.len()
            && self.owner_and_text.len() == owner.len() + text.len()
            && &self.owner_and_text[..owner.len()] == owner
            && &self.owner_and_text[owner.len()..] == text
    }
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

/// Both halves of a product: each bit of it comes from all of both factors.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// Hashes of the beginnings of a text, the shortest first.
struct Beginnings<'t> {
    text: &'t [u8],
    /// Of the words before `at`.
    hash: u64,
    at: usize,
    /// The word at `at`, with zeros behind the end of the text.
    word: u64,
}

impl<'t> Beginnings<'t> {
    fn of(text: &'t [u8]) -> Self {
        Self { text, hash: 0x9E37_79B9_7F4A_7C15, at: 0, word: word_at(text, 0) }
    }

    /// Of the first `length` letters: no less than were asked for before.
    #[inline]
    fn hash(&mut self, length: usize) -> u64 {
        while self.at + WORD <= length {
            self.hash = fold(self.hash ^ self.word, 0xF135_7AEA_2E62_A9C5);
            self.at += WORD;
            self.word = word_at(self.text, self.at);
        }
        let rest = self.word & MASKS[length % WORD];
        // With the length, since zeros behind the end are no letters.
        fold(self.hash ^ rest, 0xD6E8_FEB8_6659_FD93 ^ length as u64)
    }
}

#[inline]
fn word_at(text: &[u8], at: usize) -> u64 {
    if let Some(word) = text.get(at..at + WORD) {
        return u64::from_le_bytes(word.try_into().expect("eight of them"));
    }
    text[at..].iter().rev().fold(0, |word, letter| word << 8 | u64::from(*letter))
}

/// The hash of a pattern: of its text with what kind it is, and of its owner.
#[inline]
fn key_of(text: u64, owner: u64) -> u64 {
    fold(text ^ owner.rotate_left(32), 0xA076_1D64_78BD_642F)
}

/// The hash of a text that is a pattern of a kind.
#[inline]
const fn text_of(text: u64, form: Form) -> u64 {
    text ^ form as u64
}

fn hash_of(text: &str) -> u64 {
    Beginnings::of(text.as_bytes()).hash(text.len())
}

/// The hash of a pattern, and that of its text.
fn hashes_of(key: Key<'_>) -> (u64, u64) {
    let text = text_of(hash_of(key.text), key.form);
    (key_of(text, hash_of(key.owner)), text)
}

impl<V> Default for Patterns<V> {
    fn default() -> Self {
        let (lengths, filter) = Default::default();
        Self { parts: Vec::new(), len: 0, lengths, filter, stale: 0 }
    }
}

impl<V: Clone> Patterns<V> {
    /// Visits what some owners have said of a name: of all names, of its prefixes, the shortest
    /// first, then of the name itself, each in their order. Ends when `visit` says so. Without
    /// `all`, what they have said of all names is passed over.
    #[inline]
    pub(super) fn walk<'a, const N: usize>(
        &'a self,
        owners: [&str; N],
        name: &str,
        all: bool,
        mut visit: impl FnMut(&'a V) -> bool,
    ) {
        if self.len == 0 {
            return;
        }
        let owners = owners.map(|owner| (owner.as_bytes(), hash_of(owner)));
        let filter = self.filter.as_slice();
        if all {
            let text = text_of(hash_of(""), Form::All);
            if may_have(filter, text) && self.look(text, owners, (Form::All, b""), &mut visit) {
                return;
            }
        }
        let name = name.as_bytes();
        let mut beginnings = Beginnings::of(name);
        for (length, _) in self.lengths.iter().take_while(|(length, _)| *length <= name.len()) {
            let text = text_of(beginnings.hash(*length), Form::Prefixed);
            if may_have(filter, text)
                && self.look(text, owners, (Form::Prefixed, &name[..*length]), &mut visit)
            {
                return;
            }
        }
        let text = text_of(beginnings.hash(name.len()), Form::Literal);
        if may_have(filter, text) {
            self.look(text, owners, (Form::Literal, name), &mut visit);
        }
    }

    /// Visits what some owners have said by one text; whether that is the end.
    fn look<'a, const N: usize>(
        &'a self,
        text: u64,
        owners: [(&[u8], u64); N],
        (form, said): (Form, &[u8]),
        visit: &mut impl FnMut(&'a V) -> bool,
    ) -> bool {
        owners.iter().any(|(owner, hash)| {
            let found = self.find(key_of(text, *hash), owner, form, said);
            found.is_some_and(&mut *visit)
        })
    }

    /// What is said by one pattern.
    pub(super) fn get(&self, key: Key<'_>) -> Option<&V> {
        if self.len == 0 {
            return None;
        }
        self.find(hashes_of(key).0, key.owner.as_bytes(), key.form, key.text.as_bytes())
    }

    #[inline]
    fn find(&self, key: u64, owner: &[u8], form: Form, text: &[u8]) -> Option<&V> {
        if !may_have(&self.filter, key) {
            return None;
        }
        let bucket = self.parts[part_of(key)].get(&key)?;
        if bucket.pattern.is(owner, form, text) {
            return Some(&bucket.value);
        }
        bucket.more.iter().find(|(pattern, _)| pattern.is(owner, form, text)).map(|(_, value)| value)
    }

    /// What is said by a pattern; `new` if that is nothing yet.
    pub(super) fn entry(&mut self, key: Key<'_>, new: impl FnOnce() -> V) -> &mut V {
        let ((hash, _), pattern) = (hashes_of(key), Pattern::of(key));
        if self.parts.is_empty() {
            self.parts = vec![Arc::default(); PARTS];
        }
        if self.get(key).is_none() {
            self.len += 1;
            if key.form == Form::Prefixed {
                self.count_length(key.text.len(), 1);
            }
            self.put(hash, pattern.clone(), new());
        }
        let bucket = Arc::make_mut(&mut self.parts[part_of(hash)]).get_mut(&hash).expect("it is there");
        if bucket.pattern == pattern {
            return &mut bucket.value;
        }
        let more = bucket.more.iter_mut().find(|(other, _)| *other == pattern);
        &mut more.expect("it is there").1
    }

    fn put(&mut self, key: u64, pattern: Pattern, value: V) {
        let text = pattern.text;
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
            set(filter, text);
        }
    }

    /// With room to grow, and without the bits of what is gone.
    fn filter_anew(&mut self) {
        let words = (2 * self.len * BITS).div_ceil(64).next_power_of_two();
        let mut filter = vec![0; words];
        for (key, bucket) in self.parts.iter().flat_map(|part| part.iter()) {
            set(&mut filter, *key);
            set(&mut filter, bucket.pattern.text);
            bucket.more.iter().for_each(|(pattern, _)| set(&mut filter, pattern.text));
        }
        self.filter = Arc::new(filter);
        self.stale = 0;
    }

    /// Changes what is said by a pattern, if anything is; `true` from `change` forgets it.
    pub(super) fn change(&mut self, key: Key<'_>, change: impl FnOnce(&mut V) -> bool) {
        if self.get(key).is_none() || !change(self.entry(key, || unreachable!("it is there"))) {
            return;
        }
        let ((hash, _), pattern) = (hashes_of(key), Pattern::of(key));
        let part = Arc::make_mut(&mut self.parts[part_of(hash)]);
        let bucket = part.get_mut(&hash).expect("it is there");
        if let Some(at) = bucket.more.iter().position(|(other, _)| *other == pattern) {
            bucket.more.swap_remove(at);
        } else if let Some((other, value)) = bucket.more.pop() {
            (bucket.pattern, bucket.value) = (other, value);
        } else {
            part.remove(&hash);
        }
        self.len -= 1;
        self.stale += 1;
        if key.form == Form::Prefixed {
            self.count_length(key.text.len(), -1);
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

/// The word of a filter that a hash has its bits in, and the bits.
#[inline]
fn bits_of(filter: &[u64], hash: u64) -> (usize, u64) {
    let word = (hash >> 12) as usize & (filter.len() - 1);
    (word, 1 << (hash % 64) | 1 << (hash / 64 % 64))
}

#[inline]
fn may_have(filter: &[u64], hash: u64) -> bool {
    let (word, bits) = bits_of(filter, hash);
    filter[word] & bits == bits
}

fn set(filter: &mut [u64], hash: u64) {
    let (word, bits) = bits_of(filter, hash);
    filter[word] |= bits;
}
