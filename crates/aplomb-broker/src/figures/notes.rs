//! What a shard notes for those who look, before it hands it over: lists, which cannot be atomics.
//!
//! Holds: the shard never waits. Lists change hands under a lock that it only tries: whoever makes
//! pages runs at a low priority, and may be put aside with the lock in its hand. What was not
//! handed over waits for the shard's next turn.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use super::clients::Clients;
use super::{Newcomers, PartitionFigures, ShardFigures};

/// What a shard has noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    newcomers: Vec<Arc<PartitionFigures>>,
}

impl Notes {
    /// A partition has come to the shard.
    pub(crate) fn welcome(&mut self, partition: &Arc<PartitionFigures>) {
        self.newcomers.push(Arc::clone(partition));
    }

    /// Hands over what nobody has seen yet, but for lists that somebody looks at just now.
    pub(crate) fn hand_over(&mut self, figures: &ShardFigures) {
        if !self.newcomers.is_empty()
            && let Some(mut newcomers) = try_lock(&figures.newcomers)
        {
            newcomers.extend(self.newcomers.drain(..));
        }
    }
}

impl Clients {
    /// Shows the kinds of clients if they have changed, unless somebody looks at them just now.
    pub(crate) fn hand_over(&mut self, figures: &ShardFigures) {
        if self.has_changed()
            && let Some(mut kinds) = try_lock(&figures.clients)
        {
            self.show(&mut kinds);
        }
    }
}

impl Newcomers {
    fn extend(&mut self, partitions: impl Iterator<Item = Arc<PartitionFigures>>) {
        let Self { partitions: seen, gone } = self;
        for partition in partitions {
            if seen.len() >= super::FEW && seen.len() == seen.capacity() {
                seen.retain(|partition| {
                    let here = !partition.is_gone();
                    if !here {
                        gone.add(&partition.counts());
                    }
                    here
                });
            }
            seen.push(partition);
        }
    }
}

pub(super) fn try_lock<T>(shared: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match shared.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::TopicPartition;

    use super::*;
    use crate::figures::{Count, FEW};

    fn partition(number: i32) -> Arc<PartitionFigures> {
        Arc::new(PartitionFigures::new(TopicPartition::new("orders", number)))
    }

    #[test]
    fn partitions_that_come_and_go_unseen_take_no_room_and_keep_what_they_counted() {
        let (figures, mut notes) = (ShardFigures::new(1, Arc::default()), Notes::default());
        for n in 0..10_000 {
            let partition = partition(n);
            notes.welcome(&partition);
            notes.hand_over(&figures);
            partition.add(Count::MessagesIn, 3);
            if n > 0 {
                partition.set_gone();
            }
        }
        let mut newcomers = figures.take_newcomers();
        assert!(newcomers.partitions.len() <= 2 * FEW, "{}", newcomers.partitions.len());
        assert_eq!(&*newcomers.partitions[0].name().topic, "orders");
        for partition in &newcomers.partitions {
            newcomers.gone.add(&partition.counts());
        }
        assert_eq!(newcomers.gone.of(Count::MessagesIn), 30_000);
        assert!(figures.take_newcomers().partitions.is_empty());
    }

    #[test]
    fn a_shard_does_not_wait_for_somebody_who_looks() {
        let (figures, mut notes) = (ShardFigures::new(1, Arc::default()), Notes::default());
        let mut clients = Clients::default();
        notes.welcome(&partition(0));
        clients.introduce(1, "java", "4.4.0", &Arc::from("PLAINTEXT"));
        {
            let _somebody = (figures.newcomers.lock(), figures.clients.lock());
            notes.hand_over(&figures);
            clients.hand_over(&figures);
        }
        assert!(figures.software().is_empty());
        notes.hand_over(&figures);
        clients.hand_over(&figures);
        assert_eq!((figures.software().len(), figures.take_newcomers().partitions.len()), (1, 1));
        clients.leave(1);
        assert!(figures.software().is_empty(), "counts are seen at once");
    }
}
