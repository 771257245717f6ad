//! How many groups and offsets are shown one by one, by all shards together.
//!
//! What always holds: what is taken is given back; no more is taken than there is.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What an offset takes beside its names: its figures, entries in tables, its lines on the page.
const OFFSET_BYTES: usize = 192;
/// What a group takes beside its name.
const GROUP_BYTES: usize = 256;
/// What an offset takes at most: the names of a group and a topic have 15 bits for their lengths.
const LONGEST: usize = OFFSET_BYTES + 2 * (1 << 15);
/// There is so much for each group that is shown, for itself and its offsets.
const BYTES_A_GROUP: usize = 8 << 10;

/// Room for what is shown. Shards take from it and give back, and never wait.
#[derive(Debug)]
pub(crate) struct ShownBound {
    most: usize,
    groups: AtomicUsize,
    bytes: AtomicUsize,
}

impl ShownBound {
    /// For so many groups (`aplomb.metrics.groups.max`).
    pub(crate) fn new(groups: usize) -> Self {
        let bytes = if groups == 0 { 0 } else { 2 * LONGEST + groups.saturating_mul(BYTES_A_GROUP) };
        Self { most: groups, groups: AtomicUsize::new(groups), bytes: AtomicUsize::new(bytes) }
    }

    /// Whether any is to be shown.
    pub(super) fn shows_any(&self) -> bool {
        self.most > 0
    }

    /// Whether any offset would find room.
    pub(super) fn has_bytes(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= LONGEST
    }

    /// Whether any group would.
    pub(super) fn has_group(&self) -> bool {
        self.groups.load(Ordering::Relaxed) > 0 && self.has_bytes()
    }

    /// Room for a group: `false` when there is none.
    pub(super) fn take_group(&self, id: &str) -> bool {
        if !self.has_bytes() || !take(&self.groups, 1) {
            return false;
        }
        let is_taken = take(&self.bytes, GROUP_BYTES + id.len());
        if !is_taken {
            self.groups.fetch_add(1, Ordering::Relaxed);
        }
        is_taken
    }

    /// Room for an offset of a group. What is left at the end is for the longest names, so that
    /// there is room for all when there is for any.
    pub(super) fn take_offset(&self, group: &str, topic: &str) -> bool {
        self.has_bytes() && take(&self.bytes, offset_bytes(group, topic))
    }

    /// A group is shown no more.
    pub(super) fn give_group(&self, id: &str) {
        self.bytes.fetch_add(GROUP_BYTES + id.len(), Ordering::Relaxed);
        self.groups.fetch_add(1, Ordering::Relaxed);
    }

    /// What is left: groups and bytes.
    #[cfg(test)]
    pub(super) fn left(&self) -> (usize, usize) {
        (self.groups.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    /// An offset is shown no more.
    pub(super) fn give_offset(&self, group: &str, topic: &str) {
        self.bytes.fetch_add(offset_bytes(group, topic), Ordering::Relaxed);
    }
}

fn offset_bytes(group: &str, topic: &str) -> usize {
    OFFSET_BYTES + group.len() + topic.len()
}

fn take(from: &AtomicUsize, what: usize) -> bool {
    let less = |there: usize| there.checked_sub(what);
    from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
}
