//! Transactions, as a partition sees them: who may write in one, and its end.
//!
//! A batch of a transaction that has nothing here yet is not taken until its coordinator has said
//! that this partition is in it (KIP-890): otherwise a late one would open a transaction that has
//! no end. Until then it is its sender's: the partition keeps no more of it than where the log
//! ended then, and takes it if its transaction has not ended here since: none of its producer has,
//! or, where each has an epoch of its own, none of a later epoch. Batches that were sent behind it
//! are kept from passing it: as late ones are (`late`) where the log does not know its producer,
//! and by going the same way where they leave a gap.

use aplomb_model::batch::ProducerStamp;
use aplomb_model::{ErrorCode, Offset};

use super::{Effects, Partition};
use crate::calls::{Answer, AppendRefusal, Asker, InTransaction, MarkerCall, Produced};

impl Partition {
    /// What the log says of a producer that is in a transaction. `Ok(None)`: it is open here.
    /// `Ok(Some)`: not; with this it may come again when its coordinator knows of it.
    ///
    /// # Errors
    /// `INVALID_PRODUCER_EPOCH` if a later one has written here.
    pub(crate) fn standing(&self, producer: &InTransaction) -> Result<Option<Offset>, ErrorCode> {
        let (stamp, known) = (&producer.stamp, self.log.producers());
        if known.producer(stamp.id).is_some_and(|entry| entry.epoch() > stamp.epoch) {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        let is_open = known.has_open_transaction(stamp.id, stamp.epoch);
        Ok((!is_open).then(|| self.log.end()))
    }

    /// Whether a producer may write in its transaction.
    ///
    /// # Errors
    /// The code that says why not.
    pub(crate) fn check_in_transaction(&self, producer: &InTransaction) -> Result<(), ErrorCode> {
        self.check_epoch(None)?;
        if self.standing(producer)?.is_none() {
            return Ok(());
        }
        // Where each transaction has an epoch, that of one which has ended was refused above; what
        // has ended since is the one before, whose marker the coordinator has waited for.
        let known = self.log.producers();
        let is_over = |guard| !producer.has_epoch_each && known.has_ended_since(producer.stamp.id, guard);
        if producer.guard.is_none_or(is_over) { Err(ErrorCode::InvalidTxnState) } else { Ok(()) }
    }

    /// Answers a batch that comes before its coordinator was asked. Gives whether it was one.
    pub(super) fn send_to_coordinator(
        &mut self,
        asker: Asker,
        produced: &Produced,
        fx: &mut Effects,
    ) -> bool {
        let Some(producer) = produced.transaction.filter(|producer| producer.guard.is_none()) else {
            return false;
        };
        let guard = match self.standing(&producer) {
            // Of an epoch that is over it is refused where all are.
            Err(_) => return false,
            Ok(Some(guard)) => guard,
            // What is missing was sent before it, and may be on its way back from the coordinator.
            Ok(None) if self.leaves_gap(producer.stamp) => self.log.end(),
            Ok(None) => return false,
        };
        let is_unknown = self.log.producers().producer(producer.stamp.id).is_none();
        // If the first came before, and its coordinator is being asked, it is in the log when this
        // one's has answered. Refused now, this one would have its answer behind the first's, and
        // a client that is told so of the batch that is due gives up.
        let is_in_turn = producer.stamp.base_sequence == 0 || self.late.is_ahead(producer.stamp);
        let refusal = if producer.has_epoch_each && is_unknown && !is_in_turn {
            AppendRefusal {
                message: Some("the first batch of a transaction begins at sequence 0".to_owned()),
                ..AppendRefusal::new(ErrorCode::OutOfOrderSequenceNumber)
            }
        } else {
            AppendRefusal { unverified: Some(guard), ..AppendRefusal::new(ErrorCode::InvalidTxnState) }
        };
        if is_unknown {
            self.late.note(producer.stamp);
        }
        fx.answer(asker, Answer::Append(Err(refusal)));
        true
    }

    /// Whether a producer that is known in this epoch has made batches before this one that are not
    /// in the log.
    fn leaves_gap(&self, stamp: ProducerStamp) -> bool {
        let entry = self.log.producers().producer(stamp.id).filter(|entry| entry.epoch() == stamp.epoch);
        entry.is_some_and(|entry| entry.leaves_gap(stamp.base_sequence))
    }

    /// Whether the end of a transaction may be written here.
    ///
    /// # Errors
    /// The code that says why not.
    pub(crate) fn check_marker(&self, call: &MarkerCall) -> Result<(), ErrorCode> {
        self.check_epoch(None)?;
        let marker = call.marker;
        let checked = self.log.check_marker((marker.producer, marker.epoch), marker.end, call.rule);
        checked.map_err(|error| (&error).into())
    }
}
