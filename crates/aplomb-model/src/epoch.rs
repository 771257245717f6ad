//! Leader epochs: which leader wrote what.

use std::fmt;

/// Counts the leaders that a partition has had. Never negative: the wire's -1 is `None`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaderEpoch(u32);

impl LeaderEpoch {
    /// The epoch of a partition's first leader.
    pub const ZERO: Self = Self(0);

    /// Wraps a number.
    ///
    /// # Panics
    /// If `raw` is over `i32::MAX`, which no Kafka epoch can be.
    #[must_use]
    pub const fn new(raw: u32) -> Self {
        assert!(raw <= i32::MAX as u32, "an epoch fits a signed 32-bit integer");
        Self(raw)
    }

    /// Kafka writes "no epoch" as a negative number; here it is `None`.
    #[must_use]
    pub fn from_wire(raw: i32) -> Option<Self> {
        u32::try_from(raw).ok().map(Self)
    }

    /// The number as the wire and the files have it.
    #[must_use]
    pub const fn to_wire(self) -> i32 {
        self.0 as i32
    }

    /// The epoch of the next leader.
    #[must_use]
    pub const fn next(self) -> Self {
        Self::new(self.0 + 1)
    }
}

impl fmt::Debug for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
