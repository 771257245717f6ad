//! Those who wait for one thing, in the order in which they came.

use std::collections::{BTreeMap, HashMap};

use crate::calls::Asker;
use crate::seldom::{Emptiable, Seldom};

/// A line of askers, each with a `T`: first come, first served, and anyone may leave.
///
/// What always holds: an asker stands in it once; both tables have the same places.
#[derive(Debug)]
pub(crate) struct Line<T> {
    standing: Seldom<InLine<T>>,
}

/// Those who stand in a line.
#[derive(Debug)]
struct InLine<T> {
    by_place: BTreeMap<i64, (Asker, T)>,
    by_asker: HashMap<Asker, i64>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { standing: Seldom::default() }
    }
}

impl<T> Default for InLine<T> {
    fn default() -> Self {
        Self { by_place: BTreeMap::new(), by_asker: HashMap::new() }
    }
}

impl<T> Emptiable for InLine<T> {
    fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }
}

impl<T> Line<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.standing.is_empty()
    }

    /// Joins at the end.
    pub(crate) fn push(&mut self, asker: Asker, what: T) {
        self.standing.put(|standing| {
            let place = standing.by_place.last_key_value().map_or(0, |(last, _)| last + 1);
            standing.add(asker, place, what);
        });
    }

    /// Goes back to the front, from where it was taken.
    pub(crate) fn push_front(&mut self, asker: Asker, what: T) {
        self.standing.put(|standing| {
            let place = standing.by_place.first_key_value().map_or(0, |(first, _)| first - 1);
            standing.add(asker, place, what);
        });
    }

    /// Takes the first in line out.
    pub(crate) fn pop(&mut self) -> Option<(Asker, T)> {
        self.pop_if(|_| true)
    }

    /// Takes the first in line out, if it fits.
    pub(crate) fn pop_if(&mut self, fits: impl FnOnce(&T) -> bool) -> Option<(Asker, T)> {
        self.standing.take(|standing| {
            let first = standing.by_place.first_entry().filter(|first| fits(&first.get().1))?;
            let (asker, what) = first.remove();
            standing.by_asker.remove(&asker);
            Some((asker, what))
        })
    }

    /// What all of them wait with, in line.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let standing = self.standing.get_mut().into_iter();
        standing.flat_map(|standing| standing.by_place.values_mut()).map(|(_, what)| what)
    }

    /// Takes an asker out, wherever it stands.
    pub(crate) fn cancel(&mut self, asker: Asker) -> Option<T> {
        self.standing.take(|standing| {
            let place = standing.by_asker.remove(&asker)?;
            let (_, what) = standing.by_place.remove(&place).expect("both tables have the same places");
            Some(what)
        })
    }
}

impl<T> InLine<T> {
    fn add(&mut self, asker: Asker, place: i64, what: T) {
        let before = self.by_asker.insert(asker, place);
        assert!(before.is_none(), "{asker:?} waits already");
        self.by_place.insert(place, (asker, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::OpId;
    use crate::ports::ShardId;

    fn asker(number: u64) -> Asker {
        Asker::Client(OpId { shard: ShardId(0), number }, 0)
    }

    #[test]
    fn first_come_first_served_and_anyone_may_leave() {
        let mut line = Line::default();
        for n in 0..4 {
            line.push(asker(n), n * 10);
        }
        assert_eq!(line.cancel(asker(1)), Some(10));
        assert_eq!(line.cancel(asker(1)), None);
        assert_eq!(line.pop_if(|first| *first > 0), None);
        assert_eq!(line.pop(), Some((asker(0), 0)));
        line.push(asker(0), 5);
        assert_eq!(line.pop_if(|first| *first == 20), Some((asker(2), 20)));
        line.push_front(asker(2), 21);
        assert_eq!(line.pop(), Some((asker(2), 21)));
        assert_eq!(line.pop(), Some((asker(3), 30)));
        assert_eq!(line.pop(), Some((asker(0), 5)));
        assert!(line.is_empty());
    }
}
