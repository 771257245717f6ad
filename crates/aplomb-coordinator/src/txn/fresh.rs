//! Producer ids that were never given: the host has them from the controller. Who needs one waits,
//! and is seen to as if it had just asked when there is one.

use aplomb_model::{ErrorCode, ProducerId};

use super::table::{Transactions, TxnTurn};
use super::waiting::Needy;

impl Transactions {
    /// There is a producer id, or there is none to be had: clients ask again.
    pub(super) fn on_fresh_id(&mut self, id: Result<ProducerId, ErrorCode>, turn: &mut TxnTurn<'_>) {
        match id {
            Ok(id) => {
                let Some((ticket, needy)) = self.fresh.pop() else { return }; // all have gone
                match needy {
                    Needy::Init(init) => self.init(ticket, &init, Some(id), turn),
                    Needy::End(end) => self.end(ticket, &end, Some(id), turn),
                }
            }
            Err(error) => {
                while let Some((ticket, _)) = self.fresh.pop() {
                    turn.refuse(ticket, error);
                }
            }
        }
    }
}
