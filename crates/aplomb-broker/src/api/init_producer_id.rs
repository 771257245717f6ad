//! InitProducerId: an identity for an idempotent producer, from the controller, or for a
//! transactional one, from its coordinator.

use std::time::Duration;

use aplomb_coordinator::txn::{Init, TxnAsk, TxnReply};
use aplomb_model::{ErrorCode, Instant, ProducerId};
use aplomb_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use aplomb_protocol::messages::init_producer_id_response::InitProducerIdResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::coordinators::ask_one;
use super::transactions::{coordinator_of, known_since};
use super::{Access, On};
use crate::calls::{Answer, Asker, Slot};
use crate::operation::{
    Api, Asked, Begun, Calls, Cell, Operation, PATIENCE as LONGEST, Progress, Replied, ReplyContext, WaitsAt,
};
use crate::ports::WaitedFor;
use crate::reply::ReplyTo;
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::InitProducerId, begin);

/// How long a producer waits for the next block of ids. Then it is told to ask again: Apache Kafka
/// says so at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first version of clients that know `PRODUCER_FENCED`.
const KNOWS_FENCED: i16 = 4;

/// A producer that waits for an id.
#[derive(Debug)]
struct InitProducerIdOp {
    to: ReplyTo,
    ended: Option<Result<ProducerId, ErrorCode>>,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: InitProducerIdRequest = asked.decode()?;
    if let Err(error) = authorize(&request, &asked.access()) {
        return asked.answer(&response(Err(error)));
    }
    if let Err(error) = check(&request) {
        return asked.answer(&response(Err(error)));
    }
    if let Some(id) = &request.transactional_id {
        let init = Init {
            id: id.as_str().into(),
            timeout: request.transaction_timeout_ms,
            expected: (request.producer_id != -1).then_some((request.producer_id, request.producer_epoch)),
        };
        let coordinator = coordinator_of(id, asked.view.image());
        let late = response(Err(ErrorCode::CoordinatorNotAvailable));
        return ask_one(asked, coordinator, TxnAsk::Init(init), late, fill, LONGEST);
    }
    let (asker, view, now) = (Asker::Client(asked.op, 0), asked.view, asked.now);
    match asked.head().producer_id(asker, view, now) {
        // Whoever asks without a transactional id gets a new one, whatever it had.
        Some(id) => asked.answer(&response(Ok((id, 0)))),
        None => asked.wait(InitProducerIdOp { to: asked.to, ended: None }, PATIENCE),
    }
}

impl Operation for InitProducerIdOp {
    fn on_answer(&mut self, _: Slot, answer: Answer) {
        let Answer::Ids(answer) = answer else { panic!("an id was asked for, not {answer:?}") };
        self.ended = Some(answer);
    }

    fn on_deadline(&mut self) {
        self.ended.get_or_insert(Err(ErrorCode::CoordinatorLoadInProgress));
    }

    fn progress(&mut self, _: Instant, _: &mut Calls) -> Progress {
        if self.ended.is_some() { Progress::Reply } else { Progress::Wait }
    }

    fn waits_at(&self, waits: &mut dyn FnMut(Slot, WaitsAt)) {
        waits(0, WaitsAt::Head);
    }

    fn waits_for(&self) -> WaitedFor {
        WaitedFor::Controller
    }

    fn reply(self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        let ended = self.ended.expect("it is replied to when it has ended");
        self.to.with(&response(ended.map(|id| (id, 0))))
    }
}

/// Whether the client may ask for one. A client that may write to any topic may do so idempotently.
fn authorize(request: &InitProducerIdRequest, access: &Access<'_>) -> Result<(), ErrorCode> {
    let Some(id) = &request.transactional_id else {
        let may = access.may_quietly(AclOperation::IdempotentWrite, On::Cluster)
            || access.may_to_any_topic(AclOperation::Write);
        return if may { Ok(()) } else { Err(On::Cluster.refusal()) };
    };
    access.check(AclOperation::Write, On::TransactionalId(id))
}

/// Whether a request may be given an id.
///
/// # Errors
/// The code that says why not.
pub(super) fn check(request: &InitProducerIdRequest) -> Result<(), ErrorCode> {
    // A producer that has an id has its epoch, too.
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return Err(ErrorCode::InvalidRequest);
    }
    if request.transactional_id.as_ref().is_some_and(String::is_empty) {
        return Err(ErrorCode::InvalidRequest);
    }
    Ok(())
}

fn fill(place: &mut InitProducerIdResponse, _: Cell, reply: Result<TxnReply, ErrorCode>, version: i16) {
    let begun = match reply {
        Ok(TxnReply::Producer(begun)) => begun,
        Ok(other) => unreachable!("a beginning is answered {other:?}"),
        Err(error) => Err(error),
    };
    *place = response(begun.map_err(|error| known_since(KNOWS_FENCED, version, error)));
}

pub(super) fn response(begun: Result<(ProducerId, i16), ErrorCode>) -> InitProducerIdResponse {
    match begun {
        Ok((id, producer_epoch)) => {
            InitProducerIdResponse { producer_id: id.to_wire(), producer_epoch, ..Default::default() }
        }
        Err(error) => InitProducerIdResponse {
            error_code: error.to_wire(),
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        },
    }
}
