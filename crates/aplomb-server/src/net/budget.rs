//! The memory bound on frames in flight, over all shards (`aplomb.frames.max.bytes`,
//! `queued.max.request.bytes`).
//!
//! A frame's buffer is charged while it lives: from its first byte until the last slice of it is
//! dropped, wherever that happens. While the charges reach the limit, connections are not read
//! from.
//!
//! What always holds: one frame at a time may exceed the limit (the **overdraft**), and keeps that
//! right until it is dropped. So a frame of any legal size gets through, frames that are half
//! received cannot block each other for good, and the memory in use never exceeds the limit by more
//! than one frame and one read a shard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aplomb_broker::ports::ShardId;

use crate::mail::Waker;

/// The bound, and how much of it is in use.
#[derive(Debug)]
pub(crate) struct FrameBudget {
    limit: usize,
    used: AtomicUsize,
    overdrawn: AtomicBool,
    /// By shard: whether connections of it wait for memory, and its bell.
    waiting: Vec<(AtomicBool, Arc<Waker>)>,
    refusals: AtomicUsize,
}

/// The right to exceed the limit. There is one.
#[derive(Debug)]
pub(crate) struct Overdraft(Arc<FrameBudget>);

/// Memory that a frame's buffer takes. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<FrameBudget>,
    bytes: usize,
    overdraft: Option<Overdraft>,
}

impl FrameBudget {
    /// A budget of `limit` bytes for shards with these bells.
    pub(crate) fn new(limit: usize, shards: impl IntoIterator<Item = Arc<Waker>>) -> Arc<Self> {
        let waiting = shards.into_iter().map(|waker| (AtomicBool::new(false), waker)).collect();
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            overdrawn: AtomicBool::new(false),
            waiting,
            refusals: AtomicUsize::new(0),
        })
    }

    /// Bytes that frames in flight take.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// The bound, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Whether connections may be waiting for memory.
    pub(crate) fn is_short(&self) -> bool {
        !self.has_room(0) || self.overdrawn.load(Ordering::Relaxed)
    }

    /// A shard's part of the bound, in bytes.
    pub(crate) fn limit_of_shard(&self) -> usize {
        self.limit / self.waiting.len().max(1)
    }

    /// How often a connection was not read from because the memory was used up.
    pub(crate) fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Whether there is room for `more` bytes, or the overdraft is `charge`'s or can become it. If
    /// not, the shard is woken when memory has been given back.
    pub(crate) fn admits(self: &Arc<Self>, shard: ShardId, more: usize, charge: &mut Charge) -> bool {
        let admits = |charge: &mut Charge| {
            if charge.overdraft.is_some() || self.has_room(more) {
                return true;
            }
            charge.overdraft = self.try_overdraw();
            charge.overdraft.is_some()
        };
        if admits(charge) {
            return true;
        }
        self.waiting[usize::from(shard.0)].0.store(true, Ordering::SeqCst);
        // Memory may have been given back before the flag could be seen.
        if admits(charge) {
            return true;
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Whether asking for memory is worth a try.
    pub(crate) fn may_admit(&self) -> bool {
        self.has_room(0) || !self.overdrawn.load(Ordering::Relaxed)
    }

    /// An empty charge.
    pub(crate) fn charge(self: &Arc<Self>) -> Charge {
        Charge { budget: Arc::clone(self), bytes: 0, overdraft: None }
    }

    fn has_room(&self, more: usize) -> bool {
        let used = self.used.load(Ordering::SeqCst);
        used < self.limit && used.saturating_add(more) <= self.limit
    }

    fn try_overdraw(self: &Arc<Self>) -> Option<Overdraft> {
        (!self.overdrawn.swap(true, Ordering::SeqCst)).then(|| Overdraft(Arc::clone(self)))
    }

    fn wake_waiting(&self) {
        for (waiting, waker) in &self.waiting {
            if waiting.load(Ordering::SeqCst) && waiting.swap(false, Ordering::SeqCst) {
                waker.wake();
            }
        }
    }
}

impl Charge {
    /// Charges `bytes` more.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        self.budget.used.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Charges as much more as makes it `bytes`, unless it is that much already.
    pub(crate) fn grow_to(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.add(bytes - self.bytes);
        }
    }

    /// An empty charge that takes the overdraft along, if there is one: the frame that it is for is
    /// the one that exceeds the limit.
    pub(crate) fn split(&mut self) -> Self {
        Self { budget: Arc::clone(&self.budget), bytes: 0, overdraft: self.overdraft.take() }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.used.fetch_sub(self.bytes, Ordering::SeqCst);
            self.budget.wake_waiting();
        }
    }
}

impl Drop for Overdraft {
    fn drop(&mut self) {
        self.0.overdrawn.store(false, Ordering::SeqCst);
        self.0.wake_waiting();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ShardId = ShardId(0);

    fn budget(limit: usize) -> Arc<FrameBudget> {
        FrameBudget::new(limit, [Arc::new(Waker::new().expect("an eventfd"))])
    }

    #[test]
    fn one_frame_may_exceed_the_limit_and_the_next_waits_until_it_is_gone() {
        let budget = budget(100);
        let mut first = budget.charge();
        assert!(budget.admits(HERE, 60, &mut first));
        first.add(60);

        let mut large = budget.charge();
        assert!(budget.admits(HERE, 1000, &mut large), "the overdraft was free");
        large.add(1000);
        let mut third = budget.charge();
        assert!(!budget.admits(HERE, 1, &mut third));
        assert!(!budget.admits(HERE, 1, &mut first), "the overdraft is taken");
        assert!(budget.admits(HERE, 5000, &mut large), "who has it keeps it");
        assert_eq!(budget.used(), 1060);

        drop(large);
        assert_eq!(budget.used(), 60);
        assert!(budget.admits(HERE, 40, &mut third));
        assert!(third.overdraft.is_none());
    }

    #[test]
    fn who_waits_for_memory_is_woken_when_it_is_given_back() {
        let budget = budget(10);
        let mut first = budget.charge();
        first.add(10);
        let mut second = budget.charge();
        assert!(budget.admits(HERE, 1, &mut second));
        let mut third = budget.charge();
        assert!(!budget.admits(HERE, 1, &mut third));
        assert!(budget.waiting[0].0.load(Ordering::SeqCst));
        drop(first);
        assert!(!budget.waiting[0].0.load(Ordering::SeqCst), "the flag was taken down by the wake-up");
    }
}
