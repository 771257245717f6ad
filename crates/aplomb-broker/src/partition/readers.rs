//! Readers that want to know when a partition has more to say than they have seen.

use std::collections::{BTreeSet, HashMap};

use aplomb_model::Offset;

use crate::calls::Asker;

/// The watches of a partition. Each comes true once, and is found in time that does not grow with
/// the others.
///
/// What always holds: an asker has one watch; both tables have the same ones.
#[derive(Debug, Default)]
pub(super) struct Readers {
    by_seen: BTreeSet<(Offset, Asker)>,
    by_asker: HashMap<Asker, Offset>,
}

impl Readers {
    /// Watches for more than what ends at `seen`, in place of an earlier watch.
    pub(super) fn watch(&mut self, asker: Asker, seen: Offset) {
        self.cancel(asker);
        self.by_asker.insert(asker, seen);
        self.by_seen.insert((seen, asker));
    }

    /// Forgets a watch, if there is one.
    pub(super) fn cancel(&mut self, asker: Asker) {
        if let Some(seen) = self.by_asker.remove(&asker) {
            assert!(self.by_seen.remove(&(seen, asker)), "both tables have the same watches");
        }
    }

    /// Takes out one whose reader has not seen all below `end`.
    pub(super) fn pop_behind(&mut self, end: Offset) -> Option<Asker> {
        let (seen, asker) = *self.by_seen.first()?;
        if seen >= end {
            return None;
        }
        self.cancel(asker);
        Some(asker)
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Asker> + use<> {
        self.by_asker.clear();
        std::mem::take(&mut self.by_seen).into_iter().map(|(_, asker)| asker)
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
    fn a_watch_comes_true_once_and_only_for_those_who_have_not_seen_it() {
        let mut readers = Readers::default();
        readers.watch(asker(1), Offset::new(5));
        readers.watch(asker(2), Offset::new(9));
        readers.watch(asker(3), Offset::new(5));
        readers.watch(asker(3), Offset::new(8));
        assert_eq!(readers.pop_behind(Offset::new(5)), None);
        assert_eq!(readers.pop_behind(Offset::new(8)), Some(asker(1)));
        assert_eq!(readers.pop_behind(Offset::new(8)), None);
        readers.cancel(asker(3));
        readers.cancel(asker(3));
        assert_eq!(readers.drain().collect::<Vec<_>>(), [asker(2)]);
        assert_eq!(readers.pop_behind(Offset::new(100)), None);
    }
}
