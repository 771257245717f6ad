//! Memory for records outside of the tail, lent from budgets of each disk, so that who waits for a
//! slow one takes nothing from the others: what a disk read, and copies of what readers would
//! otherwise pin in the tail; and batches that wait for room in it.
//!
//! What always holds: loans do not exceed the limit, with three exceptions: a loan is granted
//! whatever its size if it is the only one (a batch may be larger than the limit), a read that has
//! begun gets what it needs to end, and the broker's own reads do not wait ([`Reader`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// A read gets this part of the budget at most, so that no reader takes all of it at once.
const PART: usize = 8;

/// Whether a reader shares memory with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Consumers and followers, who share what memory there is for them, and wait for each other.
    Others,
    /// This broker itself, a piece at a time: it does not wait.
    Own,
}

/// One disk's memory for one purpose.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: AtomicUsize,
    used: AtomicUsize,
}

/// Bytes of a budget, until dropped.
#[derive(Debug)]
pub struct Loan {
    memory: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    /// A budget without a limit.
    pub(crate) fn unlimited() -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(usize::MAX), used: AtomicUsize::new(0) })
    }

    /// Sets the limit, in bytes.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// How many bytes are lent.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether so much is lent that further readers may soon have to wait.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.used() > self.limit.load(Ordering::Relaxed) / 2
    }

    /// What one read may ask for.
    #[must_use]
    pub fn portion(&self) -> u32 {
        u32::try_from(self.limit.load(Ordering::Relaxed) / PART).unwrap_or(u32::MAX)
    }

    /// Takes `bytes`, if the limit allows it or nothing else is lent.
    #[must_use]
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<Loan> {
        let limit = self.limit.load(Ordering::Relaxed);
        let fits = |used: usize| {
            let after = used.saturating_add(bytes);
            (used == 0 || after <= limit).then_some(after)
        };
        let granted = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        granted.then(|| Loan { memory: Arc::clone(self), bytes })
    }

    /// Takes `bytes`, whatever the limit says: for reads of the broker's own, which are few, and
    /// for what another budget has lent so far.
    #[must_use]
    pub fn take_anyway(self: &Arc<Self>, bytes: usize) -> Loan {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Loan { memory: Arc::clone(self), bytes }
    }
}

impl Loan {
    /// How many bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes it `bytes`, whatever the limit says.
    pub fn resize(&mut self, bytes: usize) {
        self.memory.used.fetch_add(bytes, Ordering::Relaxed);
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }

    /// Moves all of it into another loan.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self { memory: Arc::clone(&self.memory), bytes: std::mem::take(&mut self.bytes) }
    }

    /// The loan lasts as long as a slice of these bytes does.
    #[must_use]
    pub fn hold(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(LentBytes { bytes, _loan: self })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

struct LentBytes {
    bytes: Bytes,
    _loan: Loan,
}

impl AsRef<[u8]> for LentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_lasts_as_long_as_a_slice_of_its_bytes() {
        let memory = MemoryBudget::unlimited();
        memory.set_limit(100);
        let loan = memory.take(60).expect("there is room");
        assert!(memory.take(41).is_none());
        let held = loan.hold(Bytes::from(vec![7; 50]));
        let slice = held.slice(10..12);
        drop(held);
        assert_eq!(memory.used(), 60);
        assert_eq!(slice, [7, 7][..]);
        drop(slice);
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn one_loan_may_be_larger_than_all_there_is_and_one_that_has_begun_may_grow() {
        let memory = MemoryBudget::unlimited();
        memory.set_limit(100);
        let large = memory.take(1000).expect("nobody has any");
        assert!(memory.take(1).is_none());
        drop(large);
        let mut begun = memory.take(50).expect("there is room");
        begun.resize(300);
        assert_eq!(memory.used(), 300);
        assert!(memory.take(0).is_none());
        drop(begun);
        assert_eq!(memory.used(), 0);
    }
}
