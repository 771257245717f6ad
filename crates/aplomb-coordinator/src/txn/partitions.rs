//! AddPartitionsToTxn and AddOffsetsToTxn: partitions are taken into a transaction, which begins
//! with the first; and partitions ask whether they are in it (KIP-890).
//!
//! What the broker adds for a client of version 2 comes with the first batch of a transaction,
//! which may be just behind the decision about the one before, or beside another batch. It waits
//! until what is under way of the id is done; Apache Kafka's broker asks again after 20 ms.

use std::sync::Arc;

use aplomb_model::ErrorCode;

use super::ask::{Add, TxnReply};
use super::state::{Incarnation, Txn, TxnPartitions, TxnState};
use super::table::{Transactions, TxnTurn};
use crate::runtime::Ticket;

impl Transactions {
    pub(super) fn add(&mut self, ticket: Ticket, add: Add, turn: &mut TxnTurn<'_>) {
        match self.plan_add(&add, turn) {
            Ok(next) => {
                turn.answer(ticket, TxnReply::Done(ErrorCode::None));
                if let Some(next) = next {
                    self.write(&add.of.id, Some(next), None, turn);
                }
            }
            Err(ErrorCode::ConcurrentTransactions) if add.waits => self.to_add.push(ticket, add),
            Err(error) => turn.answer(ticket, TxnReply::Done(error)),
        }
    }

    /// Something of an id is done: goes on with what waits for that, as far as nothing else is
    /// under way.
    pub(super) fn go_on_adding(&mut self, id: &Arc<str>, turn: &mut TxnTurn<'_>) {
        while self.is_settled(id)
            && let Some((ticket, add)) = self.to_add.pop(id)
        {
            self.add(ticket, add, turn);
        }
    }

    /// What the transaction is from now on. `None`: what it is.
    fn plan_add(&self, add: &Add, turn: &TxnTurn<'_>) -> Result<Option<Txn>, ErrorCode> {
        let txn = self.settled(&add.of)?;
        txn.check_producer(&add.of)?;
        if txn.state.outcome().is_some() {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        let is_ongoing = txn.state == TxnState::Ongoing;
        if is_ongoing && missing(&txn.partitions, &add.partitions).is_empty() {
            return Ok(None);
        }
        if !turn.world.has_room() {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let now = turn.now.wall.0;
        let mut next = Txn {
            state: TxnState::Ongoing,
            began: if is_ongoing { txn.began } else { now },
            updated: now,
            version: add.version,
            ..txn.clone()
        };
        for (topic, ids) in &add.partitions {
            next.partitions.entry(topic.clone()).or_default().extend(ids);
        }
        Ok(Some(next))
    }

    /// Those of the partitions that are not in the producer's transaction. What is under way does
    /// not matter: what is being added is there.
    pub(super) fn verify(
        &self,
        of: &Incarnation,
        partitions: &TxnPartitions,
    ) -> Result<TxnPartitions, ErrorCode> {
        let (txn, _) = self.get(&of.id).ok_or(ErrorCode::InvalidProducerIdMapping)?;
        txn.check_producer(of)?;
        if txn.state.outcome().is_some() {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        Ok(missing(&txn.partitions, partitions))
    }
}

/// What is wanted and not there.
fn missing(there: &TxnPartitions, wanted: &TxnPartitions) -> TxnPartitions {
    let mut missing = TxnPartitions::new();
    for (topic, ids) in wanted {
        let of_topic = there.get(topic);
        let not_there = ids.iter().filter(|id| of_topic.is_none_or(|there| !there.contains(id)));
        for id in not_there {
            missing.entry(topic.clone()).or_default().insert(*id);
        }
    }
    missing
}
