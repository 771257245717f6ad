//! InitProducerId: an identity for an idempotent producer. Transactional producers need a coordinator, which this broker is not.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use aplomb_protocol::messages::init_producer_id_response::InitProducerIdResponse;

use super::context::Context;
use crate::controller::ProducerIdBlock;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The response.
    Ready(InitProducerIdResponse),
    /// There are no ids left: the request waits for a new block, and is put again.
    NeedsBlock,
}

/// Answers. `ids` are this broker's, and durable.
#[must_use]
pub fn handle(request: &InitProducerIdRequest, ctx: &Context<'_>, ids: &mut ProducerIdBlock) -> Answer {
    // A producer that has an id has its epoch, too.
    if (request.producer_id == -1) != (request.producer_epoch == -1) {
        return failure(ErrorCode::InvalidRequest);
    }
    if let Some(transactional_id) = &request.transactional_id {
        return failure(transactional(transactional_id, request, ctx));
    }
    // Whoever asks without a transactional id gets a new one, whatever it had.
    match ids.take() {
        None => Answer::NeedsBlock,
        Some(id) => Answer::Ready(InitProducerIdResponse {
            producer_id: id.to_wire(),
            producer_epoch: 0,
            ..Default::default()
        }),
    }
}

/// What is wrong with the request, or, if nothing is, that it came to the wrong broker: the client looks for the coordinator again.
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

fn failure(error: ErrorCode) -> Answer {
    Answer::Ready(InitProducerIdResponse {
        error_code: error.to_wire(),
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    })
}
