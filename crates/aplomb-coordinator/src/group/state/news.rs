//! What has changed since the host asked last: which groups and offsets, not what they are now.
//! The host looks at those, so that what was taken back in between is right without a word.

use std::sync::Arc;

/// A group, a topic and a partition for which the group has committed.
pub type OffsetPlace = (Arc<str>, Arc<str>, i32);

/// Groups and offsets that may be others than they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNews {
    /// Groups that have come or gone, or whose number of members is another.
    pub groups: Vec<Arc<str>>,
    /// Offsets that were set, or taken out.
    pub offsets: Vec<OffsetPlace>,
}

/// What has changed, for a host that asks for it.
#[derive(Debug)]
pub(crate) struct Changed<T>(Option<Vec<T>>);

impl<T> Default for Changed<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Changed<T> {
    /// From here on it is noted.
    pub(crate) fn begin(&mut self) {
        self.0.get_or_insert_default();
    }

    pub(crate) fn note(&mut self, what: impl FnOnce() -> T) {
        if let Some(changed) = &mut self.0 {
            changed.push(what());
        }
    }

    pub(crate) fn take(&mut self) -> Vec<T> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
