//! InitProducerId: an identity for an idempotent producer. Transactional producers need a
//! coordinator, which this broker is not.

use std::time::Duration;

use aplomb_model::{ErrorCode, Instant, ProducerId};
use aplomb_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use aplomb_protocol::messages::init_producer_id_response::InitProducerIdResponse;
use aplomb_protocol::{ApiKey, DecodeError};

use super::context::Context;
use crate::calls::{Answer, Asker, Slot};
use crate::operation::{Api, Asked, Begun, Calls, Operation, Progress, Replied, ReplyContext, WaitsAt};
use crate::reply::ReplyTo;

pub(super) const API: Api = Api::of_controller(ApiKey::InitProducerId, begin);

/// How long a producer waits for the next block of ids. Then it is told to ask again: Apache Kafka
/// says so at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// A producer that waits for an id.
#[derive(Debug)]
struct InitProducerIdOp {
    to: ReplyTo,
    ended: Option<Result<ProducerId, ErrorCode>>,
}

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: InitProducerIdRequest = asked.decode()?;
    if let Err(error) = check(&request, &Context::of(asked)) {
        return asked.answer(&response(Err(error)));
    }
    let (asker, view, now) = (Asker::Client(asked.op, 0), asked.view, asked.now);
    match asked.head().producer_id(asker, view, now) {
        // Whoever asks without a transactional id gets a new one, whatever it had.
        Some(id) => asked.answer(&response(Ok(id))),
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

    fn reply(self: Box<Self>, _: &mut ReplyContext<'_>) -> Replied {
        let ended = self.ended.expect("it is replied to when it has ended");
        self.to.with(&response(ended))
    }
}

/// Whether a request may be given an id.
///
/// # Errors
/// The code that says why not.
pub(super) fn check(request: &InitProducerIdRequest, ctx: &Context<'_>) -> Result<(), ErrorCode> {
    // A producer that has an id has its epoch, too.
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return Err(ErrorCode::InvalidRequest);
    }
    match &request.transactional_id {
        Some(transactional_id) => Err(transactional(transactional_id, request, ctx)),
        None => Ok(()),
    }
}

/// What is wrong with the request, or, if nothing is, that it came to the wrong broker: the client
/// looks for the coordinator again.
fn transactional(id: &str, request: &InitProducerIdRequest, ctx: &Context<'_>) -> ErrorCode {
    let timeout = u128::try_from(request.transaction_timeout_ms).unwrap_or(0);
    if id.is_empty() {
        ErrorCode::InvalidRequest
    } else if timeout == 0 || timeout > ctx.config.max_transaction_timeout.as_millis() {
        ErrorCode::InvalidTransactionTimeout
    } else {
        ErrorCode::NotCoordinator
    }
}

pub(super) fn response(ended: Result<ProducerId, ErrorCode>) -> InitProducerIdResponse {
    match ended {
        Ok(id) => {
            InitProducerIdResponse { producer_id: id.to_wire(), producer_epoch: 0, ..Default::default() }
        }
        Err(error) => InitProducerIdResponse {
            error_code: error.to_wire(),
            producer_id: -1,
            producer_epoch: -1,
            ..Default::default()
        },
    }
}
