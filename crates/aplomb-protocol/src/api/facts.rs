//! What the table of APIs says of each.

use crate::VersionRange;

/// A row of the table of APIs.
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) versions: VersionRange,
    pub(crate) flexible_from: Option<i16>,
    pub(crate) unstable: bool,
    pub(crate) listeners: Listeners,
}

/// Which kinds of listeners serve an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listeners {
    /// Those that clients of a broker come in by.
    pub broker: bool,
    /// Those of a controller of the quorum.
    pub controller: bool,
}
