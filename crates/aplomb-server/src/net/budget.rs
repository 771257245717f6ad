//! The memory bound on frames in flight, over all shards (`aplomb.frames.max.bytes`,
//! `queued.max.request.bytes`).
//!
//! A frame's buffer is charged while it lives: from its first byte until the last slice of it is
//! dropped, wherever that happens. While the charges reach the limit, connections are not read
//! from.
//!
//! What always holds:
//! - an eighth of the limit is for small frames alone, so that they pass whatever large ones do;
//! - an eighth of it is for frames that have come whole: those that are begun and not finished,
//!   small ones too, take no more than the rest. While they take that (it is **crowded**), a
//!   connection is read from only as far as its frames are whole;
//! - a connection that holds an eighth of the limit begins no further frame;
//! - one frame at a time may exceed the limit (the **overdraft**), and keeps that right until it
//!   is dropped; what it takes from then on is beyond what others share. So a frame of any legal
//!   size gets through, frames that are half received cannot block each other for good, and the
//!   memory in use never exceeds the limit by more than one frame and one read a shard (of frames
//!   of a few bytes, with what they cost besides, eleven times as much as they were sent as).
//!
//! Frames that stay unfinished while others wait for memory are the loop's to end
//! (`loops/clients.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aplomb_broker::ports::ShardId;

use crate::mail::Waker;

/// A frame of up to so many bytes is small.
const SMALL: usize = 64 * 1024;

/// This part of the limit is for small frames.
const SMALL_PART: usize = 8;

/// This part of the limit one connection may hold before it has to wait for its own frames.
const CONNECTION_PART: usize = 8;

/// The bound, and how much of it is in use.
#[derive(Debug)]
pub(crate) struct FrameBudget {
    limit: usize,
    used: AtomicUsize,
    /// What was charged beyond the limit by the frame that may.
    beyond: AtomicUsize,
    overdrawn: AtomicBool,
    /// What frames take that have not come in full.
    unfinished: AtomicUsize,
    /// By shard: whether connections of it wait for memory, and its bell.
    waiting: Vec<(AtomicBool, Arc<Waker>)>,
    refusals: AtomicUsize,
    closed: AtomicUsize,
}

/// What memory is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The next frame of a connection, as much of it as one read brings.
    Beginning,
    /// So many bytes more of a frame that has `frame` bytes in all.
    More { bytes: usize, frame: usize },
}

/// What one connection's frames take, those included that are being answered.
#[derive(Debug, Default)]
pub(crate) struct Account(AtomicUsize);

/// The right to exceed the limit. There is one.
#[derive(Debug)]
pub(crate) struct Overdraft(Arc<FrameBudget>);

/// Memory that a frame's buffer takes. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<FrameBudget>,
    account: Arc<Account>,
    bytes: usize,
    /// How many of them are beyond the limit.
    beyond: usize,
    overdraft: Option<Overdraft>,
    /// They are of a frame that has not come in full.
    is_unfinished: bool,
}

impl FrameBudget {
    /// A budget of `limit` bytes for shards with these bells.
    pub(crate) fn new(limit: usize, shards: impl IntoIterator<Item = Arc<Waker>>) -> Arc<Self> {
        let waiting = shards.into_iter().map(|waker| (AtomicBool::new(false), waker)).collect();
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            beyond: AtomicUsize::new(0),
            overdrawn: AtomicBool::new(false),
            unfinished: AtomicUsize::new(0),
            waiting,
            refusals: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
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
        !self.has_room(0, self.limit_of_large()) || self.overdrawn.load(Ordering::Relaxed)
    }

    /// A connection was closed for a frame that did not get on while others waited for memory.
    pub(crate) fn count_closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that was so.
    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::Relaxed)
    }

    /// How much is worth closing connections for, in bytes.
    pub(crate) fn worth_closing_for(&self) -> usize {
        self.limit / SMALL_PART
    }

    /// A shard's part of the bound, in bytes.
    pub(crate) fn limit_of_shard(&self) -> usize {
        self.limit / self.waiting.len().max(1)
    }

    /// How often a connection was not read from because the memory was used up.
    pub(crate) fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Whether there is room for what is wanted, or the overdraft is `charge`'s or can become it.
    /// If not, the shard is woken when memory has been given back.
    pub(crate) fn admits(self: &Arc<Self>, shard: ShardId, want: Want, charge: &mut Charge) -> bool {
        if self.try_admit(want, charge) {
            return true;
        }
        self.waiting[usize::from(shard.0)].0.store(true, Ordering::SeqCst);
        // Memory may have been given back before the flag could be seen.
        if self.try_admit(want, charge) {
            return true;
        }
        self.refusals.fetch_add(1, Ordering::Relaxed);
        false
    }

    fn try_admit(self: &Arc<Self>, want: Want, charge: &mut Charge) -> bool {
        if charge.others() >= self.limit / CONNECTION_PART {
            return false;
        }
        let (more, limit) = match want {
            Want::Beginning => (0, self.limit),
            Want::More { bytes, frame } if frame <= SMALL && self.has_room_for_unfinished(bytes) => {
                (bytes, self.limit)
            }
            Want::More { bytes, .. } => (bytes, self.limit_of_large()),
        };
        if charge.overdraft.is_some() || self.has_room(more, limit) {
            return true;
        }
        charge.overdraft = self.try_overdraw();
        charge.overdraft.is_some()
    }

    /// Whether unfinished frames take as much as they may. The shard is woken when memory has been
    /// given back.
    pub(crate) fn is_crowded_for(&self, shard: ShardId) -> bool {
        if !self.is_crowded() {
            return false;
        }
        self.waiting[usize::from(shard.0)].0.store(true, Ordering::SeqCst);
        self.is_crowded()
    }

    /// Whether unfinished frames take as much as they may.
    pub(crate) fn is_crowded(&self) -> bool {
        !self.has_room_for_unfinished(1)
    }

    fn has_room_for_unfinished(&self, more: usize) -> bool {
        self.unfinished.load(Ordering::SeqCst).saturating_add(more) <= self.limit_of_large()
    }

    /// Whether asking for memory is worth a try.
    pub(crate) fn may_admit(&self) -> bool {
        self.has_room(0, self.limit) || !self.overdrawn.load(Ordering::Relaxed)
    }

    /// An empty charge to a connection.
    pub(crate) fn charge(self: &Arc<Self>, account: &Arc<Account>) -> Charge {
        let (budget, account) = (Arc::clone(self), Arc::clone(account));
        Charge { budget, account, bytes: 0, beyond: 0, overdraft: None, is_unfinished: false }
    }

    /// What frames that are not small may take.
    fn limit_of_large(&self) -> usize {
        self.limit - self.limit / SMALL_PART
    }

    fn has_room(&self, more: usize, limit: usize) -> bool {
        // What is beyond is charged as used before, and given back after: too little is never seen.
        let beyond = self.beyond.load(Ordering::SeqCst);
        let used = self.used.load(Ordering::SeqCst).saturating_sub(beyond);
        used < limit && used.saturating_add(more) <= limit
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
        self.account.0.fetch_add(bytes, Ordering::Relaxed);
        self.budget.used.fetch_add(bytes, Ordering::SeqCst);
        if self.is_unfinished {
            self.budget.unfinished.fetch_add(bytes, Ordering::SeqCst);
        }
        if self.overdraft.is_some() {
            self.beyond += bytes;
            self.budget.beyond.fetch_add(bytes, Ordering::SeqCst);
        }
    }

    /// It is of a frame that has not come in full.
    pub(crate) fn begin(&mut self) {
        if !std::mem::replace(&mut self.is_unfinished, true) {
            self.budget.unfinished.fetch_add(self.bytes, Ordering::SeqCst);
        }
    }

    /// All of the frame has come, if it had not before.
    pub(crate) fn finish(&mut self) {
        if std::mem::take(&mut self.is_unfinished) {
            self.budget.unfinished.fetch_sub(self.bytes, Ordering::SeqCst);
            self.budget.wake_waiting();
        }
    }

    /// Whether it may exceed the limit.
    pub(crate) fn is_overdraft(&self) -> bool {
        self.overdraft.is_some()
    }

    /// What other frames of the connection take.
    fn others(&self) -> usize {
        self.account.0.load(Ordering::Relaxed).saturating_sub(self.bytes)
    }

    /// What was charged.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
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
        let mut next = self.budget.charge(&self.account);
        next.overdraft = self.overdraft.take();
        next
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.finish();
        if self.bytes > 0 {
            self.account.0.fetch_sub(self.bytes, Ordering::Relaxed);
            self.budget.beyond.fetch_sub(self.beyond, Ordering::SeqCst);
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

    /// So many bytes of a large frame.
    fn large(bytes: usize) -> Want {
        Want::More { bytes, frame: SMALL + 1 }
    }

    fn charge(budget: &Arc<FrameBudget>) -> Charge {
        budget.charge(&Arc::default())
    }

    #[test]
    fn one_frame_may_exceed_the_limit_and_the_next_waits_until_it_is_gone() {
        let budget = budget(100);
        let mut first = charge(&budget);
        assert!(budget.admits(HERE, large(60), &mut first));
        first.add(60);

        let mut second = charge(&budget);
        assert!(budget.admits(HERE, large(1000), &mut second), "the overdraft was free");
        second.add(1000);
        let mut third = charge(&budget);
        assert!(budget.admits(HERE, large(28), &mut third), "what is beyond the limit is beyond it");
        assert!(!budget.admits(HERE, large(29), &mut third));
        assert!(!budget.admits(HERE, large(29), &mut first), "the overdraft is taken");
        assert!(budget.admits(HERE, large(5000), &mut second), "who has it keeps it");
        assert_eq!(budget.used(), 1060);

        drop(second);
        assert_eq!((budget.used(), budget.beyond.load(Ordering::SeqCst)), (60, 0));
        assert!(budget.admits(HERE, large(29), &mut third), "the overdraft is free again");
    }

    #[test]
    fn who_waits_for_memory_is_woken_when_it_is_given_back() {
        let budget = budget(10);
        let mut first = charge(&budget);
        first.add(10);
        let mut second = charge(&budget);
        assert!(budget.admits(HERE, large(1), &mut second));
        let mut third = charge(&budget);
        assert!(!budget.admits(HERE, large(1), &mut third));
        assert!(budget.waiting[0].0.load(Ordering::SeqCst));
        drop(first);
        assert!(!budget.waiting[0].0.load(Ordering::SeqCst), "the flag was taken down by the wake-up");
    }

    #[test]
    fn large_frames_leave_room_for_small_ones() {
        let budget = budget(800);
        let (mut large_one, mut overdrawn) = (charge(&budget), charge(&budget));
        assert!(budget.admits(HERE, large(700), &mut large_one));
        large_one.add(700);
        assert!(budget.admits(HERE, large(1), &mut overdrawn), "by the overdraft");
        assert!(!budget.admits(HERE, large(1), &mut charge(&budget)));
        let mut small = charge(&budget);
        assert!(budget.admits(HERE, Want::Beginning, &mut small));
        assert!(budget.admits(HERE, Want::More { bytes: 100, frame: SMALL }, &mut small));
        assert!(small.overdraft.is_none());
        small.add(100);
        assert!(!budget.admits(HERE, Want::Beginning, &mut charge(&budget)), "small ones have an end, too");
    }

    #[test]
    fn unfinished_frames_leave_room_for_whole_ones() {
        let budget = budget(800);
        let mut begun = charge(&budget);
        begun.add(300);
        begun.begin();
        begun.add(300);
        assert!(!budget.is_crowded_for(HERE));
        let small = |bytes| Want::More { bytes, frame: SMALL };
        let mut other = charge(&budget);
        assert!(budget.admits(HERE, small(100), &mut other));
        let mut overdrawn = charge(&budget);
        assert!(budget.admits(HERE, small(101), &mut overdrawn), "by the overdraft");
        assert!(!budget.admits(HERE, small(101), &mut other), "for what is begun there is no more");
        other.add(100);
        other.begin();
        drop(overdrawn);
        assert!(budget.is_crowded_for(HERE));
        assert!(budget.is_short(), "so who does not get on is closed");
        assert!(budget.waiting[0].0.load(Ordering::SeqCst));
        assert!(budget.admits(HERE, Want::Beginning, &mut charge(&budget)), "what is whole passes");
        begun.finish();
        assert!(!budget.is_crowded() && !budget.waiting[0].0.load(Ordering::SeqCst), "and was told of");
        drop((begun, other));
        assert_eq!((budget.used(), budget.unfinished.load(Ordering::SeqCst)), (0, 0));
    }

    #[test]
    fn a_connection_with_its_share_begins_no_frame_until_it_has_given_some_back() {
        let budget = budget(800);
        let account = Arc::default();
        let mut first = budget.charge(&account);
        assert!(budget.admits(HERE, Want::Beginning, &mut first));
        first.add(100);
        let mut next = budget.charge(&account);
        assert!(!budget.admits(HERE, Want::Beginning, &mut next));
        assert!(!budget.admits(HERE, large(1), &mut next), "nor goes on with what came along");
        assert!(budget.admits(HERE, large(100), &mut first), "the one that holds it goes on");
        assert!(budget.admits(HERE, Want::Beginning, &mut charge(&budget)), "others have theirs");
        drop(first);
        assert!(budget.admits(HERE, Want::Beginning, &mut next));
    }
}
