//! The broker, as a transaction coordinator sees it.

use aplomb_coordinator::txn::{TxnSettings, TxnWorld};

use crate::metadata::TRANSACTION_VERSION;
use crate::view::View;

/// What a coordinator may look at.
pub(in crate::coordinators) struct Seen {
    /// Two pointers, shared.
    pub(super) view: View,
    pub(super) has_room: bool,
}

impl TxnWorld for Seen {
    fn settings(&self) -> &TxnSettings {
        &self.view.config().transactions.settings
    }

    fn has_room(&self) -> bool {
        self.has_room
    }

    fn version(&self) -> i16 {
        self.view.image().features.level(TRANSACTION_VERSION)
    }
}
