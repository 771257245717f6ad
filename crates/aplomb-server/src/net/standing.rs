//! Where a connection stands: on which lists of its loop, and how it takes its replies.

use aplomb_model::Instant;

/// How its client takes its replies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking {
    /// Since when there have been some that it has not taken.
    pub(super) owed_since: Option<Instant>,
    /// What it had taken when that was looked at last, and the time before.
    pub(super) marks: [u64; 2],
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

/// Which of its loop's lists a connection is on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    /// In one of the lines of those that may be read from.
    pub(crate) ready: bool,
    pub(crate) touched: bool,
    pub(crate) hungry: bool,
    pub(crate) crowded: bool,
}
