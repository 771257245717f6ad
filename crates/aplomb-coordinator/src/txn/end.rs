//! A transaction is decided: by its client (EndTxn), because another producer begins under its id,
//! or because its time is up.
//!
//! From version 2 on (KIP-890) each transaction has an epoch of its own: the decision carries the
//! next one, so that nothing that was sent before it can come behind it.

use std::sync::Arc;

use aplomb_model::{ErrorCode, ProducerId};

use super::ask::{End, TxnReply};
use super::state::{ClientVersion, NO_PRODUCER, Txn, TxnState, is_last};
use super::table::{RETRY, Transactions, TxnTimer, TxnTurn};
use super::waiting::Needy;
use crate::runtime::Ticket;

/// What becomes of a decision.
enum EndPlan {
    /// It is written.
    Decide(Txn),
    /// It had been taken already.
    Known,
    /// The producer gets an id that was never given.
    NeedsProducerId,
}

impl Transactions {
    /// `fresh`: a producer id that was never given, should one be needed.
    pub(super) fn end(
        &mut self,
        ticket: Ticket,
        end: &End,
        fresh: Option<ProducerId>,
        turn: &mut TxnTurn<'_>,
    ) {
        let plan = self.settled(&end.of).and_then(|txn| {
            if end.version.has_epoch_each() {
                plan_with_epoch(end, fresh, txn, turn)
            } else {
                plan(end, txn, turn)
            }
        });
        match plan {
            Ok(EndPlan::Decide(next)) => {
                turn.answer(ticket, goes_on(&next));
                let last = next.version.has_epoch_each().then_some(end.of.epoch);
                self.write(&end.of.id, Some(next), last, turn);
            }
            Ok(EndPlan::Known) => {
                let (txn, _) = self.get(&end.of.id).expect("it was looked at");
                let reply = goes_on(txn);
                turn.answer(ticket, reply);
            }
            Ok(EndPlan::NeedsProducerId) => self.fresh.push(ticket, Needy::End(end.clone())),
            Err(error) => turn.answer(ticket, TxnReply::Producer(Err(error))),
        }
    }

    /// The time of a transaction is up.
    pub(super) fn time_out(&mut self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        match self.get(id) {
            Some((txn, remembered)) if txn.state == TxnState::Ongoing => {
                if remembered.is_pending || !txn.time_left(turn.now.wall).is_zero() {
                    // A partition is just being added, or the wall clock went back.
                    return turn.set_timer(TxnTimer::Timeout(id.clone()), RETRY);
                }
                let text =
                    format!("transactional id {id}: its transaction is aborted after {} ms", txn.timeout);
                turn.say(text);
                self.abort(id, turn);
            }
            _ => {} // it has ended
        }
    }

    /// Aborts the transaction of an id, whose producer is fenced: it goes on in no epoch.
    pub(super) fn abort(&mut self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        let (txn, _) = self.get(id).expect("it is to be aborted");
        assert_eq!(txn.state, TxnState::Ongoing, "what is under way is aborted");
        // No producer is given the last epoch: one that makes it up is not fenced by another.
        let epoch = txn.epoch.saturating_add(1);
        let version = ClientVersion(turn.world.version());
        let next =
            Txn { epoch, state: TxnState::PrepareAbort, updated: turn.now.wall.0, version, ..txn.clone() };
        self.write(id, Some(next), None, turn);
    }
}

/// How the client of a decision goes on: in version 2 by another epoch, or another producer id.
fn goes_on(txn: &Txn) -> TxnReply {
    let (raw, epoch) =
        if txn.next_id == NO_PRODUCER { (txn.producer_id, txn.epoch) } else { (txn.next_id, 0) };
    TxnReply::Producer(Ok((ProducerId::from_wire(raw).expect("a producer of ours has an id"), epoch)))
}

/// Clients before version 2: the epoch stays.
fn plan(end: &End, txn: &Txn, turn: &TxnTurn<'_>) -> Result<EndPlan, ErrorCode> {
    txn.check_producer(&end.of)?;
    match (txn.state, end.is_commit) {
        (TxnState::Ongoing, _) => Ok(EndPlan::Decide(Txn {
            state: TxnState::decided(end.is_commit),
            updated: turn.now.wall.0,
            version: end.version,
            ..txn.clone()
        })),
        (TxnState::CompleteCommit, true) | (TxnState::CompleteAbort, false) => Ok(EndPlan::Known),
        (TxnState::PrepareCommit, true) | (TxnState::PrepareAbort, false) => {
            Err(ErrorCode::ConcurrentTransactions)
        }
        _ => Err(ErrorCode::InvalidTxnState),
    }
}

/// Clients of version 2. One whose answer was lost asks again by the epoch that it had: the one
/// before the present one, or the last one of the producer id before this one.
fn plan_with_epoch(
    end: &End,
    fresh: Option<ProducerId>,
    txn: &Txn,
    turn: &TxnTurn<'_>,
) -> Result<EndPlan, ErrorCode> {
    let of = &end.of;
    let was_renamed = of.producer_id == txn.previous_id && is_last(of.epoch) && txn.epoch == 0;
    let was_before = of.producer_id == txn.producer_id && of.epoch.checked_add(1) == Some(txn.epoch);
    // What a client of an older version has decided has the epoch in which it began: the one
    // before was another's, who is fenced. (Apache Kafka takes that one for the author.)
    let is_by_epoch =
        matches!(txn.state, TxnState::Empty | TxnState::Ongoing) || txn.version.has_epoch_each();
    let is_again = (was_renamed || was_before) && is_by_epoch;
    if of.producer_id != txn.producer_id && !was_renamed {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if !is_again && of.epoch != txn.epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    match (txn.state, is_again, end.is_commit) {
        (TxnState::Ongoing, false, _) => {}
        // An abort of what has no partition: there may be some on their way to it.
        (TxnState::Empty | TxnState::CompleteCommit | TxnState::CompleteAbort, false, false) => {}
        (TxnState::Ongoing | TxnState::Empty, true, _) => return Err(ErrorCode::ProducerFenced),
        (TxnState::CompleteCommit, true, true) | (TxnState::CompleteAbort, true, false) => {
            return Ok(EndPlan::Known);
        }
        (TxnState::PrepareCommit, true, true) | (TxnState::PrepareAbort, true, false) => {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        (TxnState::PrepareCommit | TxnState::PrepareAbort, false, _) => {
            return Err(ErrorCode::ProducerFenced);
        }
        _ => return Err(ErrorCode::InvalidTxnState),
    }
    let next_id = match fresh {
        Some(fresh) if txn.is_exhausted() => fresh.to_wire(),
        None if txn.is_exhausted() => return Ok(EndPlan::NeedsProducerId),
        _ => NO_PRODUCER,
    };
    let now = turn.now.wall.0;
    let began = if txn.state == TxnState::Ongoing { txn.began } else { now };
    Ok(EndPlan::Decide(Txn {
        next_id,
        epoch: txn.epoch.checked_add(1).ok_or(ErrorCode::ProducerFenced)?,
        state: TxnState::decided(end.is_commit),
        partitions: if txn.state == TxnState::Ongoing { txn.partitions.clone() } else { Default::default() },
        began,
        updated: now,
        version: end.version,
        ..txn.clone()
    }))
}
