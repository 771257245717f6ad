//! How a client takes its replies: since when it owes us a read, and how much it took of late.

use aplomb_model::Instant;

/// How its client takes its replies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taking {
    /// Since when there have been some that it has not taken.
    owed_since: Option<Instant>,
    /// What it had taken when that was looked at last, and the time before.
    marks: [u64; 2],
}

/// Who is to go when replies take too much memory: the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slowness {
    /// What it has taken in the last second or two.
    pub(crate) taken: u64,
    /// What it would give back; more first.
    pub(crate) owed: std::cmp::Reverse<usize>,
    pub(crate) number: u64,
}

impl Taking {
    /// There are replies that it has not taken.
    pub(super) fn owes(&mut self, at: Instant) {
        self.owed_since.get_or_insert(at);
    }

    /// It has taken all.
    pub(super) fn took_all(&mut self) {
        self.owed_since = None;
    }

    /// Whether there have been replies all the time since `before`.
    pub(super) fn owes_since(&self, before: Instant) -> bool {
        self.owed_since.is_some_and(|since| since <= before)
    }

    /// What it has taken in the last second or two, of `written` bytes that it took in all.
    pub(super) fn of_late(&self, written: u64) -> u64 {
        written - self.marks[1]
    }

    /// What it takes from now on, after `written` bytes, is taken in another second.
    pub(super) fn mark(&mut self, written: u64) {
        self.marks = [written, self.marks[0]];
    }
}
