//! Producer ids: given out from a block that is in the log, so that a producer can begin while the
//! disk does not answer. The next block is asked for before the present one is used up.

use aplomb_model::{ErrorCode, ProducerId};

use crate::calls::Asker;
use crate::controller::ProducerIdBlock;
use crate::line::Line;

/// So many ids are left when the next block is asked for.
const AHEAD: u32 = 500;

/// The ids of this broker.
///
/// What always holds: while somebody waits there is no id, and a block is asked for.
#[derive(Debug)]
pub(super) struct ProducerIds {
    block: ProducerIdBlock,
    /// The block after that, once it is in the log.
    next: Option<ProducerIdBlock>,
    is_asked: bool,
    waiting: Line<()>,
}

impl ProducerIds {
    pub(super) fn new(block: ProducerIdBlock) -> Self {
        Self { block, next: None, is_asked: false, waiting: Line::default() }
    }

    /// The next id; `None` when there are none left.
    pub(super) fn take(&mut self) -> Option<ProducerId> {
        if self.block.left() == 0
            && let Some(next) = self.next.take()
        {
            self.block = next;
        }
        self.block.take()
    }

    /// Whether a block has to be asked for. If so, that is taken for done.
    pub(super) fn ask(&mut self) -> bool {
        let needed = self.block.left() < AHEAD && self.next.is_none();
        needed && !std::mem::replace(&mut self.is_asked, true)
    }

    /// Waits for an id.
    pub(super) fn wait(&mut self, asker: Asker) {
        self.waiting.push(asker, ());
    }

    pub(super) fn cancel(&mut self, asker: Asker) {
        self.waiting.cancel(asker);
    }

    /// A block is in the log. Gives ids to those who wait, as far as they reach.
    pub(super) fn on_block(&mut self, block: ProducerIdBlock) -> Vec<(Asker, ProducerId)> {
        assert!(self.is_asked && self.next.is_none(), "one block at a time is asked for");
        self.next = Some(block);
        self.is_asked = false;
        let mut given = Vec::new();
        while !self.waiting.is_empty()
            && let Some(id) = self.take()
        {
            given.extend(self.waiting.pop().map(|(asker, ())| (asker, id)));
        }
        given
    }

    /// The block that was asked for will not come: who waits has to ask again.
    pub(super) fn on_refused(&mut self) -> Vec<(Asker, ErrorCode)> {
        self.is_asked = false;
        let waiting = std::iter::from_fn(|| self.waiting.pop());
        waiting.map(|(asker, ())| (asker, ErrorCode::CoordinatorLoadInProgress)).collect()
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::BrokerId;

    use super::*;
    use crate::calls::OpId;
    use crate::controller::{Controller, PRODUCER_ID_BLOCK};
    use crate::metadata::MetadataImage;
    use crate::ports::ShardId;

    fn asker(number: u64) -> Asker {
        Asker::Client(OpId { shard: ShardId(0), number }, 0)
    }

    fn block(controller: &mut Controller) -> ProducerIdBlock {
        let mut draft = controller.draft();
        let block = draft.allocate_producer_ids(BrokerId(1));
        drop(controller.take(draft));
        block
    }

    #[test]
    fn no_id_is_given_twice_and_who_waits_gets_one_of_the_next_block() {
        let mut controller = Controller::new(MetadataImage::empty("cluster"));
        let mut ids = ProducerIds::new(block(&mut controller));
        assert!(!ids.ask(), "there are enough");
        let mut given: Vec<i64> = Vec::new();
        while let Some(id) = ids.take() {
            given.push(id.to_wire());
        }
        assert_eq!(given.len(), PRODUCER_ID_BLOCK as usize);
        assert!(ids.ask());
        assert!(!ids.ask(), "it is asked for once");
        for n in 0..3 {
            ids.wait(asker(n));
        }
        ids.cancel(asker(1));
        let served = ids.on_block(block(&mut controller));
        assert_eq!(served.iter().map(|(asker, _)| *asker).collect::<Vec<_>>(), [asker(0), asker(2)]);
        given.extend(served.iter().map(|(_, id)| id.to_wire()));
        given.extend(ids.take().map(ProducerId::to_wire));
        let expected: Vec<i64> = (0..i64::from(PRODUCER_ID_BLOCK) + 3).collect();
        assert_eq!(given, expected);
    }

    #[test]
    fn a_block_that_does_not_come_is_asked_for_again_and_nobody_waits_for_ever() {
        let mut controller = Controller::new(MetadataImage::empty("cluster"));
        let mut ids = ProducerIds::new(block(&mut controller));
        while ids.take().is_some() {}
        assert!(ids.ask());
        ids.wait(asker(0));
        assert_eq!(ids.on_refused(), [(asker(0), ErrorCode::CoordinatorLoadInProgress)]);
        assert!(ids.ask());
    }
}
