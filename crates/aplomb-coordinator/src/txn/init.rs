//! InitProducerId: a producer begins under a transactional id. The one before it is fenced by the
//! epoch, and what it had begun is aborted.

use std::sync::Arc;

use aplomb_model::{ErrorCode, ProducerId};

use super::ask::{Init, TxnReply};
use super::state::{NO_PRODUCER, NOT_BEGUN, Remembered, Txn, TxnPartitions, TxnState, is_last};
use super::table::{Transactions, TxnTurn};
use super::waiting::Needy;
use crate::runtime::Ticket;

/// What an answer says.
fn told(txn: &Txn) -> TxnReply {
    let producer = ProducerId::from_wire(txn.producer_id).expect("a producer of ours has an id");
    TxnReply::Producer(Ok((producer, txn.epoch)))
}

impl Transactions {
    /// `fresh`: a producer id that was never given, should one be needed.
    pub(super) fn init(
        &mut self,
        ticket: Ticket,
        init: &Init,
        fresh: Option<ProducerId>,
        turn: &mut TxnTurn<'_>,
    ) {
        match self.plan_init(init, fresh, turn) {
            Ok(InitPlan::Begin(next, last_epoch)) => {
                turn.answer(ticket, told(&next));
                self.write(&init.id, Some(next), last_epoch, turn);
            }
            Ok(InitPlan::Abort) => {
                turn.answer(ticket, TxnReply::Producer(Err(ErrorCode::ConcurrentTransactions)));
                self.abort_for_another(&init.id, turn);
            }
            Ok(InitPlan::NeedsProducerId) => self.fresh.push(ticket, Needy::Init(init.clone())),
            Err(error) => turn.answer(ticket, TxnReply::Producer(Err(error))),
        }
    }

    fn plan_init(
        &self,
        init: &Init,
        fresh: Option<ProducerId>,
        turn: &TxnTurn<'_>,
    ) -> Result<InitPlan, ErrorCode> {
        let most = turn.world.settings().max_timeout.as_millis();
        if init.timeout <= 0 || init.timeout.unsigned_abs() as u128 > most {
            return Err(ErrorCode::InvalidTransactionTimeout);
        }
        let now = turn.now.wall;
        let fresh = fresh.map(ProducerId::to_wire);
        if self.table.get(&init.id).is_some_and(|entry| entry.remembered.is_pending) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        let Some((txn, remembered)) = self.get(&init.id) else {
            if !turn.world.has_room() {
                return Err(ErrorCode::CoordinatorNotAvailable);
            }
            let Some(fresh) = fresh else { return Ok(InitPlan::NeedsProducerId) };
            return Ok(InitPlan::Begin(Txn::new(fresh, init.timeout, now), None));
        };
        if init.expected.is_some_and(|expected| !is_of(expected, txn)) {
            return Err(ErrorCode::ProducerFenced);
        }
        match txn.state {
            TxnState::PrepareCommit | TxnState::PrepareAbort => {
                return Err(ErrorCode::ConcurrentTransactions);
            }
            TxnState::Ongoing => return Ok(InitPlan::Abort),
            TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort => {}
        }
        let begun = Txn {
            timeout: init.timeout,
            state: TxnState::Empty,
            partitions: TxnPartitions::new(),
            began: NOT_BEGUN,
            updated: now.0,
            next_id: NO_PRODUCER,
            ..txn.clone()
        };
        let expected = init.expected.map(|(_, epoch)| epoch);
        if txn.is_exhausted() && expected.is_none_or(|expected| expected == txn.epoch) {
            let Some(fresh) = fresh else { return Ok(InitPlan::NeedsProducerId) };
            let next = Txn { producer_id: fresh, epoch: 0, ..begun };
            return Ok(InitPlan::Begin(next, expected));
        }
        let (epoch, last_epoch) = next_epoch(txn, remembered, expected)?;
        Ok(InitPlan::Begin(Txn { epoch, ..begun }, last_epoch))
    }

    /// Another producer begins: what this one has begun is aborted, and it is fenced.
    fn abort_for_another(&mut self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        turn.say(format!(
            "transactional id {id}: its transaction is aborted, because another producer begins"
        ));
        self.abort(id, turn);
    }
}

/// What becomes of a producer that begins.
enum InitPlan {
    /// It goes on so. Beside it, the epoch to be remembered.
    Begin(Txn, Option<i16>),
    /// The transaction under way is aborted first; the producer asks again.
    Abort,
    /// It gets a producer id that was never given.
    NeedsProducerId,
}

/// Whether a producer that goes on is the one that the id has, or had until its id was another
/// (`TransactionCoordinator#prepareInitProducerIdTransit`).
fn is_of((producer_id, epoch): (i64, i16), txn: &Txn) -> bool {
    producer_id == txn.producer_id || producer_id == txn.previous_id && is_last(epoch)
}

/// The producer's next epoch, and the one to be remembered
/// (`TransactionMetadata#prepareIncrementProducerEpoch`).
fn next_epoch(
    txn: &Txn,
    remembered: &Remembered,
    expected: Option<i16>,
) -> Result<(i16, Option<i16>), ErrorCode> {
    match expected {
        None => Ok((txn.epoch + 1, None)),
        Some(expected) if expected == txn.epoch => Ok((txn.epoch + 1, Some(txn.epoch))),
        // The answer was lost: it is given again.
        Some(expected) if remembered.last_epoch == Some(expected) => Ok((txn.epoch, remembered.last_epoch)),
        Some(_) => Err(ErrorCode::ProducerFenced),
    }
}
