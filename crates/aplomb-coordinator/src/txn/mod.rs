//! The transaction coordinator of one partition of `__transaction_state`: who produces under a
//! transactional id, in which epoch, and how far its transaction has come.
//!
//! - [`state`]: what is known of a transactional id, and which state may follow which;
//! - [`table`]: the ids, and how each changes;
//! - [`init`]: a producer begins, and fences the one before it;
//! - [`partitions`]: partitions are taken into a transaction, or looked for in it;
//! - [`end`]: a transaction is decided, by its client, by the next one, or because its time is up;
//! - [`fresh`]: producer ids that were never given;
//! - [`waiting`]: what waits for one of these, or for something of its id that is under way;
//! - [`complete`]: its partitions have the markers;
//! - [`expiry`]: ids that are used no more;
//! - [`list`]: what operators ask, in pieces ([`questions`]).
//!
//! The coordinator sends no markers: what is decided it tells its host ([`TxnNews`]), over and over
//! until it is told that all partitions have them ([`TxnAsk::Marked`]).
//!
//! What always holds: an id whose last change is not kept yet answers CONCURRENT_TRANSACTIONS, so
//! that nothing is decided on the ground of what may be taken back; only what is kept is told; a
//! producer's epoch never goes back.

mod ask;
mod complete;
mod end;
mod expiry;
mod fresh;
mod init;
mod list;
mod partitions;
mod questions;
mod record;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod waiting;
mod world;

use std::sync::Arc;

use aplomb_model::{ErrorCode, ProducerId};
use aplomb_protocol::{DecodeError, EncodeError};
use bytes::Bytes;

pub use self::ask::{Add, Decided, Described, End, Init, Listed, TxnAsk, TxnFilter, TxnNews, TxnReply};
pub use self::record::TxnRecord;
pub use self::state::{ClientVersion, Incarnation, TxnPartitions, TxnState};
use self::table::{RETRY, TxnTurn};
pub use self::table::{Transactions, TxnAfter, TxnCounts, TxnTimer};
pub use self::world::{TxnSettings, TxnWorld};
use crate::runtime::{Machine, Ticket};

impl Machine for Transactions {
    type Ask = TxnAsk;
    type Reply = TxnReply;
    type Record = TxnRecord;
    type Timer = TxnTimer;
    type After = TxnAfter;
    type World = dyn TxnWorld;
    type News = TxnNews;

    fn encode(record: &TxnRecord) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        record.encode()
    }

    fn decode(key: Bytes, value: Option<Bytes>) -> Result<Option<TxnRecord>, DecodeError> {
        TxnRecord::decode(key, value)
    }

    fn replay(&mut self, record: TxnRecord, _: Option<ProducerId>) -> TxnRecord {
        let id: Arc<str> = record.id().into();
        let undo = record.clone_with(self.table.get(&id).and_then(|entry| entry.txn.as_ref()));
        self.set(&id, record.into_txn());
        self.forget_if_gone(&id);
        undo
    }

    fn replay_marker(&mut self, _: ProducerId, _: bool) {
        // Nothing is written to this log in transactions.
    }

    fn on_loaded(&mut self, turn: &mut TxnTurn<'_>) -> bool {
        let ids = self.next_piece();
        for id in &ids {
            self.set_deadline(id, turn);
            self.go_on_with_decided(id, turn);
        }
        self.end_piece(&ids);
        if self.looked.is_none() {
            turn.set_timer(TxnTimer::Expiry, turn.world.settings().expiry_interval);
        }
        self.looked.is_none()
    }

    fn on_ask(&mut self, ticket: Ticket, ask: TxnAsk, turn: &mut TxnTurn<'_>) {
        match ask {
            TxnAsk::Init(init) => self.init(ticket, &init, None, turn),
            TxnAsk::Add(add) => self.add(ticket, add, turn),
            TxnAsk::Verify(of, partitions) => {
                let verified = self.verify(&of, &partitions);
                turn.answer(ticket, TxnReply::Verified(verified));
            }
            TxnAsk::End(end) => self.end(ticket, &end, None, turn),
            TxnAsk::Marked(of) => {
                self.complete(&of, turn);
                turn.answer(ticket, TxnReply::Done(ErrorCode::None));
            }
            TxnAsk::Describe(id) => {
                let described = self.describe(&id);
                turn.answer(ticket, TxnReply::Described(described));
            }
            TxnAsk::List(filter) => self.list(ticket, filter, turn),
            TxnAsk::FreshId(id) => {
                self.on_fresh_id(id, turn);
                turn.answer_at_once(ticket, TxnReply::Done(ErrorCode::None));
            }
        }
    }

    fn on_cancelled(&mut self, ticket: Ticket) {
        self.long.cancel(ticket);
        self.fresh.cancel(ticket);
        self.to_add.cancel(ticket);
    }

    fn on_timer(&mut self, timer: TxnTimer, turn: &mut TxnTurn<'_>) {
        match timer {
            TxnTimer::Timeout(id) => self.time_out(&id, turn),
            TxnTimer::Again(id) => self.go_on_with_decided(&id, turn),
            TxnTimer::Expiry => self.expire(turn),
            TxnTimer::Long => self.go_on_with_list(turn),
        }
    }

    fn on_written(&mut self, after: TxnAfter, written: Result<(), ErrorCode>, turn: &mut TxnTurn<'_>) {
        let TxnAfter { id, before } = after;
        let entry = self.table.get_mut(&id).expect("what is under way is remembered");
        match written {
            Ok(()) => entry.remembered.is_pending = false,
            Err(_) => entry.remembered = before,
        }
        self.forget_if_gone(&id);
        self.set_deadline(&id, turn);
        match written {
            Ok(()) => self.go_on_with_decided(&id, turn),
            Err(_) => turn.set_timer(TxnTimer::Again(id.clone()), RETRY),
        }
        self.go_on_adding(&id, turn);
    }

    fn on_taken_back(&mut self, _: &[TxnRecord], _: &mut TxnTurn<'_>) {
        // `on_written` sees to each of them.
    }

    fn take_news(&mut self) -> TxnNews {
        TxnNews { decided: std::mem::take(&mut self.decided), lacks_id: !self.fresh.is_empty() }
    }
}
