//! Ranges of versions.

use std::fmt;

/// An inclusive range of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRange {
    /// The lowest.
    pub min: i16,
    /// The highest.
    pub max: i16,
}

impl VersionRange {
    /// From the lowest to the highest, both included.
    #[must_use]
    pub const fn new(min: i16, max: i16) -> Self {
        Self { min, max }
    }

    /// Whether the range has this version.
    #[must_use]
    pub const fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }

    /// Every version, from the lowest.
    pub fn iter(self) -> impl Iterator<Item = i16> {
        self.min..=self.max
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.min, self.max)
    }
}
