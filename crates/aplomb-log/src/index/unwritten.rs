//! Index bytes on their way to the disk: appended in memory, taken with their position in the file.

use bytes::Bytes;

/// The end of an index file that no disk has been given yet.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    /// Where in the file the pending bytes begin.
    at: u64,
    pending: Vec<u8>,
}

impl Unwritten {
    /// A file of which `len` bytes exist.
    pub(super) fn after(len: u64) -> Self {
        Self { at: len, pending: Vec::new() }
    }

    pub(super) fn push(&mut self, entry: &[u8]) {
        self.pending.extend_from_slice(entry);
    }

    /// The file's length in bytes once everything pending is written.
    pub(super) fn file_len(&self) -> u64 {
        self.at + self.pending.len() as u64
    }

    /// Gives out the pending bytes and where in the file they belong; no memory is kept for them.
    pub(super) fn take(&mut self) -> Option<(u64, Bytes)> {
        if self.pending.is_empty() {
            return None;
        }
        let bytes = Bytes::from(std::mem::take(&mut self.pending));
        let at = self.at;
        self.at += bytes.len() as u64;
        Some((at, bytes))
    }
}
