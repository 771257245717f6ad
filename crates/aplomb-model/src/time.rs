//! Time as a value. Nothing here reads a clock: the loop does, and passes the result on.

use std::ops::Add;
use std::time::Duration;

/// A moment on the machine's monotonic clock, in nanoseconds since an arbitrary start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// Where the clock starts.
    pub const START: Self = Self(0);

    /// A moment `nanos` nanoseconds after the clock's start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The first of several moments that may come; none, if none does.
    #[must_use]
    pub fn earliest(moments: &[Option<Self>]) -> Option<Self> {
        let mut earliest: Option<Self> = None;
        for moment in moments.iter().flatten() {
            earliest = Some(earliest.map_or(*moment, |earliest| earliest.min(*moment)));
        }
        earliest
    }

    /// How long ago `earlier` was; zero if it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: a deadline beyond the clock's range is never reached.
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Wall-clock time in milliseconds since 1970-01-01 UTC, as records carry it. Never negative in a
/// record that has one; the wire's -1 ("no timestamp") is kept as such, since records may carry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The wire's "no timestamp".
    pub const NONE: Self = Self(-1);

    /// Milliseconds from `earlier` to `self`; zero if it lies ahead.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_of_those_that_come() {
        let at = |nanos| Some(Instant::from_nanos(nanos));
        assert_eq!(Instant::earliest(&[None, at(7), at(3), None, at(5)]), at(3));
        assert_eq!(Instant::earliest(&[None, None]), None);
    }
}
