//! A map whose clones share what they do not change: cloning copies pointers, a change copies one
//! part of many.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Into so many parts a map is cut.
pub(super) const PARTS: usize = 256;

/// A map. An empty one is nothing.
#[derive(Clone, Debug)]
pub(super) struct SharedMap<K, V> {
    parts: Vec<Arc<BTreeMap<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { parts: Vec::new(), len: 0 }
    }
}

impl<K: Ord + Hash + Clone, V: Clone> SharedMap<K, V> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + Hash + ?Sized,
    {
        self.parts.get(part_of(key))?.get(key)
    }

    /// Puts a value in. Gives the one that was there.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.parts.resize_with(PARTS, Arc::default);
        let old = Arc::make_mut(&mut self.parts[part_of(&key)]).insert(key, value);
        self.len += usize::from(old.is_none());
        old
    }

    pub(super) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Ord + Hash + ?Sized,
    {
        let part = self.parts.get_mut(part_of(key))?;
        if !part.contains_key(key) {
            return None;
        }
        self.len -= 1;
        Arc::make_mut(part).remove(key)
    }

    /// The values of one part of [`PARTS`], in no order.
    pub(super) fn values_of(&self, part: usize) -> impl Iterator<Item = &V> {
        self.parts.get(part).into_iter().flat_map(|part| part.values())
    }

    /// All values, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.parts.iter().flat_map(|part| part.values())
    }
}

/// The same in every process, so that a simulation can be repeated.
fn part_of<Q: Hash + ?Sized>(key: &Q) -> usize {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() as usize % PARTS
}
