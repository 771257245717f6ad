//! Those who wait for one thing, in the order in which they came.

use std::collections::{BTreeMap, HashMap};

use crate::calls::Asker;

/// A line of askers, each with a `T`: first come, first served, and anyone may leave.
///
/// What always holds: an asker stands in it once; both tables have the same places.
#[derive(Debug)]
pub(crate) struct Line<T> {
    by_place: BTreeMap<i64, (Asker, T)>,
    by_asker: HashMap<Asker, i64>,
    next: i64,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { by_place: BTreeMap::new(), by_asker: HashMap::new(), next: 0 }
    }
}

impl<T> Line<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Joins at the end.
    pub(crate) fn push(&mut self, asker: Asker, what: T) {
        let place = self.next;
        self.next += 1;
        self.stand(asker, place, what);
    }

    /// Goes back to the front, from where it was taken.
    pub(crate) fn push_front(&mut self, asker: Asker, what: T) {
        let place = self.by_place.first_key_value().map_or(self.next, |(first, _)| *first) - 1;
        self.stand(asker, place, what);
    }

    fn stand(&mut self, asker: Asker, place: i64, what: T) {
        let before = self.by_asker.insert(asker, place);
        assert!(before.is_none(), "{asker:?} waits already");
        self.by_place.insert(place, (asker, what));
    }

    /// Takes the first in line out.
    pub(crate) fn pop(&mut self) -> Option<(Asker, T)> {
        let (_, (asker, what)) = self.by_place.pop_first()?;
        self.by_asker.remove(&asker);
        Some((asker, what))
    }

    /// Takes the first in line out, if it fits.
    pub(crate) fn pop_if(&mut self, fits: impl FnOnce(&T) -> bool) -> Option<(Asker, T)> {
        let (_, (_, first)) = self.by_place.first_key_value()?;
        if fits(first) { self.pop() } else { None }
    }

    /// What all of them wait with, in line.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.by_place.values_mut().map(|(_, what)| what)
    }

    /// Takes an asker out, wherever it stands.
    pub(crate) fn cancel(&mut self, asker: Asker) -> Option<T> {
        let place = self.by_asker.remove(&asker)?;
        let (_, what) = self.by_place.remove(&place).expect("both tables have the same places");
        Some(what)
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
        assert!(line.is_empty() && line.by_asker.is_empty());
    }
}
