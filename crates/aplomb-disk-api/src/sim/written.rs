//! Which files hold bytes that no sync has covered, and as which file they were written.
//!
//! The simulated disk keeps what the real one has in descriptors and in its own books: a file that
//! vanishes takes further writes, and the sync misses it.

use std::collections::BTreeMap;

use super::tree::{Inode, Tree};

/// What a file owes.
#[derive(Clone, Copy, Debug)]
struct Debt {
    /// The file that was written; `None` if no write was carried out.
    file: Option<Inode>,
    /// A write found no file, or no directory to make it in.
    refused: bool,
}

/// The files of one process on one disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(BTreeMap<String, Debt>);

impl Written {
    /// A file was written, or cut.
    pub(super) fn on_change(&mut self, name: &str, tree: &Tree) {
        let debt = self.0.entry(name.to_owned()).or_insert(Debt { file: None, refused: false });
        debt.file = debt.file.or_else(|| tree.file(name));
    }

    /// A write of a command was not carried out.
    pub(super) fn on_refusal(&mut self, name: &str) {
        self.0.entry(name.to_owned()).or_insert(Debt { file: None, refused: true }).refused = true;
    }

    /// A sync covers all that the file owes.
    pub(super) fn on_synced(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// A command takes the name, and everything below it, away.
    pub(super) fn on_left(&mut self, name: &str) {
        let is_below = |other: &str| {
            other.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.retain(|other, _| !is_below(other));
    }

    /// Whether a write of this file was refused.
    pub(super) fn was_refused(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|debt| debt.refused)
    }

    /// Whether the file that was written is not there any more. Its descriptor is still open.
    pub(super) fn has_vanished(&self, name: &str, tree: &Tree) -> bool {
        let written = self.0.get(name).and_then(|debt| debt.file);
        written.is_some() && written != tree.file(name)
    }
}
