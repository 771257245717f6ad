//! EndTxn: a transaction is committed or aborted. The answer is given when the decision is kept;
//! the partitions get their markers behind that.

use aplomb_coordinator::txn::{ClientVersion, End, TxnAsk, TxnReply};
use aplomb_model::{ErrorCode, ProducerId};
use aplomb_protocol::messages::end_txn_request::EndTxnRequest;
use aplomb_protocol::messages::end_txn_response::EndTxnResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::coordinators::ask_one;
use super::transactions::{coordinator_of, incarnation, known_since};
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::EndTxn, begin);

/// The first version of clients that know `PRODUCER_FENCED`.
const KNOWS_FENCED: i16 = 2;
/// The first version whose transactions have an epoch each.
const EPOCH_EACH: i16 = 5;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: EndTxnRequest = asked.decode()?;
    let of = On::TransactionalId(&request.transactional_id);
    if let Err(error) = asked.access().check(AclOperation::Write, of) {
        return asked.answer(&refused(error));
    }
    if request.transactional_id.is_empty() {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    let id = &request.transactional_id;
    let version = if asked.to.version >= EPOCH_EACH { ClientVersion::EPOCH_EACH } else { ClientVersion(0) };
    let end = End {
        of: incarnation(id, request.producer_id, request.producer_epoch),
        is_commit: request.committed,
        version,
    };
    let coordinator = coordinator_of(id, asked.view.image());
    let late = refused(ErrorCode::CoordinatorNotAvailable);
    ask_one(asked, coordinator, TxnAsk::End(end), late, fill, PATIENCE)
}

fn refused(error: ErrorCode) -> EndTxnResponse {
    EndTxnResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut EndTxnResponse, _: Cell, reply: Result<TxnReply, ErrorCode>, version: i16) {
    let ended: Result<(ProducerId, i16), ErrorCode> = match reply {
        Ok(TxnReply::Producer(ended)) => ended,
        Ok(other) => unreachable!("an end is answered {other:?}"),
        Err(error) => Err(error),
    };
    *response = match ended {
        Ok((producer, producer_epoch)) => {
            EndTxnResponse { producer_id: producer.to_wire(), producer_epoch, ..Default::default() }
        }
        Err(error) => refused(known_since(KNOWS_FENCED, version, error)),
    };
}
