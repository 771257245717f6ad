//! Readers that want to know when a partition has more to say than they have seen.

use std::collections::{BTreeSet, HashMap};

use crate::calls::Asker;

/// The watches of a partition. Each comes true once, when as many bytes have been seen as it is
/// for, and is found in time that does not grow with the others.
///
/// What always holds: an asker has one watch; both tables have the same ones.
#[derive(Debug, Default)]
pub(super) struct Readers {
    visible: u64,
    by_need: BTreeSet<(u64, Asker)>,
    by_asker: HashMap<Asker, u64>,
}

impl Readers {
    /// How many bytes became visible since the partition was loaded.
    pub(super) fn visible(&self) -> u64 {
        self.visible
    }

    /// Watches for `need` bytes in all, in place of an earlier watch.
    pub(super) fn watch(&mut self, asker: Asker, need: u64) {
        assert!(need > self.visible, "what is there already is not waited for");
        self.cancel(asker);
        self.by_asker.insert(asker, need);
        self.by_need.insert((need, asker));
    }

    /// Forgets a watch, if there is one.
    pub(super) fn cancel(&mut self, asker: Asker) {
        if let Some(need) = self.by_asker.remove(&asker) {
            assert!(self.by_need.remove(&(need, asker)), "both tables have the same watches");
        }
    }

    /// The high watermark has passed so many bytes.
    pub(super) fn on_visible(&mut self, bytes: u64) {
        self.visible += bytes;
    }

    /// Takes out one whose watch has come true.
    pub(super) fn pop_due(&mut self) -> Option<Asker> {
        let (need, asker) = *self.by_need.first()?;
        if need > self.visible {
            return None;
        }
        self.cancel(asker);
        Some(asker)
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Asker> + use<> {
        self.by_asker.clear();
        std::mem::take(&mut self.by_need).into_iter().map(|(_, asker)| asker)
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
    fn a_watch_comes_true_once_when_there_is_as_much_as_it_is_for() {
        let mut readers = Readers::default();
        readers.on_visible(1000);
        readers.watch(asker(1), 1001);
        readers.watch(asker(2), 1100);
        readers.watch(asker(3), 1001);
        readers.watch(asker(3), 1050);
        assert_eq!(readers.pop_due(), None, "nothing has come");
        readers.on_visible(49);
        assert_eq!(readers.pop_due(), Some(asker(1)));
        assert_eq!(readers.pop_due(), None);
        readers.on_visible(1);
        assert_eq!(readers.pop_due(), Some(asker(3)));
        assert_eq!(readers.pop_due(), None);
        readers.watch(asker(3), u64::MAX);
        readers.cancel(asker(3));
        readers.cancel(asker(3));
        assert_eq!(readers.drain().collect::<Vec<_>>(), [asker(2)]);
        readers.on_visible(1000);
        assert_eq!(readers.pop_due(), None);
    }
}
