//! Offsets of records in a partition. Never negative: the wire's "no offset" is `None`.

use std::fmt;

/// The position of a record in its partition, counted from 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(u64);

impl Offset {
    /// The first offset of every log.
    pub const ZERO: Self = Self(0);

    /// Wraps a number.
    ///
    /// # Panics
    /// If `raw` is over `i64::MAX`, which no Kafka offset can be.
    #[must_use]
    pub const fn new(raw: u64) -> Self {
        assert!(raw <= i64::MAX as u64, "an offset fits a signed 64-bit integer");
        Self(raw)
    }

    /// Kafka writes "no offset" as a negative number; here it is `None`.
    #[must_use]
    pub fn from_wire(raw: i64) -> Option<Self> {
        u64::try_from(raw).ok().map(Self)
    }

    /// The number as the wire and the files have it.
    #[must_use]
    pub const fn to_wire(self) -> i64 {
        self.0 as i64
    }

    /// The offset as a plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The offset `n` records on.
    ///
    /// # Panics
    /// If the sum is no offset.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self::new(self.0 + n)
    }

    /// The offset after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// How many offsets lie in `earlier..self`; 0 if `earlier` is not before `self`.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_wire_offset_is_no_offset() {
        assert_eq!(Offset::from_wire(-1), None);
        assert_eq!(Offset::from_wire(7), Some(Offset::new(7)));
        assert_eq!(Offset::new(7).to_wire(), 7);
    }
}
