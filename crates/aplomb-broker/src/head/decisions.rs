//! Decisions on their way through a log of this broker's own: decide, append, wait for the promise,
//! apply, answer.
//!
//! Who decides is ahead of the log by the decisions here. They are applied in the order in which
//! they were decided, each when the log has kept its promise. When one is refused it and all that
//! were decided on its ground never were: the log refuses them too, since each names the offset
//! that it was decided for.

use std::collections::VecDeque;

use aplomb_model::Offset;

/// A decision under way.
#[derive(Debug)]
pub(super) struct Pending<D> {
    number: u64,
    /// The offset of its first record.
    base: Offset,
    /// The offset after its last.
    pub(super) end: Offset,
    pub(super) decision: D,
}

/// Decisions under way, oldest first.
///
/// What always holds: each begins where the one before ends; `end` is where the last ends.
#[derive(Debug)]
pub(super) struct Decisions<D> {
    pending: VecDeque<Pending<D>>,
    end: Offset,
    next: u64,
}

impl<D> Decisions<D> {
    /// None are under way, and the log ends at `end`.
    pub(super) fn new(end: Offset) -> Self {
        Self { pending: VecDeque::new(), end, next: 0 }
    }

    /// Where the log will end when all of them are in it.
    pub(super) fn end(&self) -> Offset {
        self.end
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pending<D>> {
        self.pending.iter()
    }

    /// Takes a decision of so many records. Gives the number by which the log answers.
    pub(super) fn push(&mut self, records: u64, decision: D) -> u64 {
        assert!(records > 0, "a decision without records is none");
        let (number, base) = (self.next, self.end);
        self.next += 1;
        self.end = Offset::new(base.get() + records);
        self.pending.push_back(Pending { number, base, end: self.end, decision });
        number
    }

    /// The log has kept its promise for a decision: it is to be applied. `None`: it had been given
    /// up.
    pub(super) fn on_kept(&mut self, number: u64, base: Offset) -> Option<Pending<D>> {
        let kept = self.pending.pop_front_if(|first| first.number == number)?;
        assert_eq!(kept.base, base, "a decision is in the log where it was decided for");
        Some(kept)
    }

    /// The log has refused a decision: gives it and all behind it, which never were. Empty: it had
    /// been given up.
    pub(super) fn on_refused(&mut self, number: u64) -> Vec<D> {
        let Some(place) = self.pending.iter().position(|pending| pending.number == number) else {
            return Vec::new();
        };
        self.end = self.pending[place].base;
        self.pending.drain(place..).map(|pending| pending.decision).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_applied_in_their_order_and_where_they_were_decided_for() {
        let mut decisions = Decisions::new(Offset::new(10));
        let (a, b) = (decisions.push(3, 'a'), decisions.push(1, 'b'));
        assert_eq!(decisions.end(), Offset::new(14));
        assert!(decisions.on_kept(b, Offset::new(13)).is_none(), "not before the one before it");
        let kept = decisions.on_kept(a, Offset::new(10)).expect("under way");
        assert_eq!((kept.decision, kept.end), ('a', Offset::new(13)));
        assert_eq!(decisions.on_kept(b, Offset::new(13)).map(|kept| kept.decision), Some('b'));
        assert!(decisions.is_empty());
    }

    #[test]
    fn what_was_decided_on_the_ground_of_a_refused_one_never_was() {
        let mut decisions = Decisions::new(Offset::ZERO);
        let (a, b, c) = (decisions.push(1, 'a'), decisions.push(2, 'b'), decisions.push(4, 'c'));
        assert_eq!(decisions.on_refused(b), ['b', 'c']);
        assert_eq!(decisions.end(), Offset::new(1));
        assert!(decisions.on_refused(c).is_empty());
        assert!(decisions.on_kept(c, Offset::new(3)).is_none());
        let d = decisions.push(1, 'd');
        assert_eq!(decisions.on_kept(a, Offset::ZERO).map(|kept| kept.decision), Some('a'));
        assert_eq!(decisions.on_kept(d, Offset::new(1)).map(|kept| kept.decision), Some('d'));
    }

    #[test]
    #[should_panic(expected = "where it was decided for")]
    fn a_decision_that_is_elsewhere_in_the_log_is_a_fault() {
        let mut decisions = Decisions::new(Offset::new(10));
        let number = decisions.push(1, ());
        decisions.on_kept(number, Offset::new(11));
    }
}
