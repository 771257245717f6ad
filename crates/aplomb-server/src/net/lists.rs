//! Which of its loop's lists a connection is on.

/// Which of its loop's lists a connection is on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    /// In one of the lines of those that may be read from.
    pub(crate) ready: bool,
    pub(crate) touched: bool,
    pub(crate) hungry: bool,
    pub(crate) crowded: bool,
}
