//! AddOffsetsToTxn: the offsets of a group are to be committed in a transaction. Clients of version
//! 2 of transactions do not ask for that; their commit does it.

use aplomb_coordinator::txn::{Add, ClientVersion, TxnAsk, TxnReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::add_offsets_to_txn_request::AddOffsetsToTxnRequest;
use aplomb_protocol::messages::add_offsets_to_txn_response::AddOffsetsToTxnResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::coordinators::ask_one;
use super::groups;
use super::transactions::{coordinator_of, incarnation, known_since, partitions};
use crate::metadata::OFFSETS_TOPIC;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::AddOffsetsToTxn, begin);

/// The first version of clients that know `PRODUCER_FENCED`.
const KNOWS_FENCED: i16 = 2;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AddOffsetsToTxnRequest = asked.decode()?;
    let (access, of) = (asked.access(), On::TransactionalId(&request.transactional_id));
    let allowed = access
        .check(AclOperation::Write, of)
        .and_then(|()| access.check(AclOperation::Read, On::Group(&request.group_id)));
    if let Err(error) = allowed {
        return asked.answer(&answered(error));
    }
    if request.transactional_id.is_empty() {
        return asked.answer(&answered(ErrorCode::InvalidRequest));
    }
    let image = asked.view.image();
    let Some(offsets) = groups::coordinator_of(&request.group_id, image) else {
        return asked.answer(&answered(ErrorCode::CoordinatorNotAvailable));
    };
    let id = &request.transactional_id;
    let add = Add {
        of: incarnation(id, request.producer_id, request.producer_epoch),
        partitions: partitions([(OFFSETS_TOPIC, offsets.partition.0)]),
        version: ClientVersion(0),
        waits: false,
    };
    let coordinator = coordinator_of(id, image);
    let late = answered(ErrorCode::CoordinatorNotAvailable);
    ask_one(asked, coordinator, TxnAsk::Add(add), late, fill, PATIENCE)
}

fn answered(error: ErrorCode) -> AddOffsetsToTxnResponse {
    AddOffsetsToTxnResponse { error_code: error.to_wire(), ..Default::default() }
}

fn fill(response: &mut AddOffsetsToTxnResponse, _: Cell, reply: Result<TxnReply, ErrorCode>, version: i16) {
    let error = match reply {
        Ok(TxnReply::Done(code)) => code,
        Ok(other) => unreachable!("what is added is answered {other:?}"),
        Err(error) => error,
    };
    *response = answered(known_since(KNOWS_FENCED, version, error));
}
