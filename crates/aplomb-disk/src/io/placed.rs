//! A write for tests of this folder.

use bytes::Bytes;

use super::Write;

/// The place of its first byte, and its bytes.
pub(super) struct Placed(pub(super) u64, pub(super) Vec<Bytes>);

impl Write for Placed {
    fn at(&self) -> u64 {
        self.0
    }

    fn data(&self) -> &[Bytes] {
        &self.1
    }
}
