//! What a call of a transport comes to.

/// What one call moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) bytes: usize,
    /// Another call may move more at once.
    pub(crate) more: bool,
}
