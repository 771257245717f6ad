//! Producer ids: none is ever given twice, so they are taken from the log in blocks before they are
//! given out.

use aplomb_model::{BrokerId, ProducerId};
use aplomb_protocol::messages as m;

use super::draft::Draft;

/// How many ids a block has (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
pub const PRODUCER_ID_BLOCK: u32 = 1000;

/// Ids for one broker to give out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducerIdBlock {
    next: i64,
    left: u32,
}

impl ProducerIdBlock {
    /// The next id; `None` when there are none left.
    pub fn take(&mut self) -> Option<ProducerId> {
        self.left = self.left.checked_sub(1)?;
        let id = ProducerId::from_wire(self.next);
        self.next += 1;
        id
    }

    /// How many are left.
    #[must_use]
    pub const fn left(&self) -> u32 {
        self.left
    }
}

impl Draft {
    /// Drafts a block for a registered broker. Its ids may be given out once the record is durable.
    pub fn allocate_producer_ids(&mut self, broker: BrokerId) -> ProducerIdBlock {
        let next = self.image().next_producer_id.map_or(0, ProducerId::to_wire);
        let broker_epoch = self.image().brokers.get(broker).map_or(-1, |broker| broker.epoch);
        let next_producer_id = next + i64::from(PRODUCER_ID_BLOCK);
        self.push(vec![m::ProducerIdsRecord { broker_id: broker.0, broker_epoch, next_producer_id }.into()]);
        ProducerIdBlock { next, left: PRODUCER_ID_BLOCK }
    }
}
