//! DescribeTransactions: how far transactional ids have come.

use aplomb_coordinator::txn::{TxnAsk, TxnReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::describe_transactions_request::DescribeTransactionsRequest;
use aplomb_protocol::messages::describe_transactions_response::{
    DescribeTransactionsResponse, TopicData, TransactionState,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::{MOST_NAMED, once};
use super::transactions::coordinator_of;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::new(ApiKey::DescribeTransactions, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: DescribeTransactionsRequest = asked.decode()?;
    let ids = once(request.transactional_ids);
    let is_too_much = ids.len() > MOST_NAMED;
    let states = ids.iter().map(|id| TransactionState {
        transactional_id: id.clone(),
        error_code: ErrorCode::CoordinatorNotAvailable.to_wire(),
        ..Default::default()
    });
    let response =
        DescribeTransactionsResponse { transaction_states: states.collect(), ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (n, id) in ids.into_iter().enumerate() {
        if is_too_much {
            scatter.fill((n, 0), ErrorCode::InvalidRequest);
            continue;
        }
        if let Err(error) = asked.access().check(AclOperation::Describe, On::TransactionalId(&id)) {
            scatter.fill((n, 0), error);
            continue;
        }
        if id.is_empty() {
            scatter.fill((n, 0), ErrorCode::InvalidRequest);
            continue;
        }
        match coordinator_of(&id, asked.view.image()) {
            Some(key) => scatter.ask((n, 0), key, TxnAsk::Describe(id), asked.calls),
            None => scatter.fill((n, 0), ErrorCode::NotCoordinator),
        }
    }
    if let Some(later) = asked.access_later() {
        scatter.shape(move |response, audit| {
            let access = later.with(audit);
            let is_seen = |topic: &str| access.may_quietly(AclOperation::Describe, On::Topic(topic));
            for state in &mut response.transaction_states {
                state.topics.retain(|topic| is_seen(&topic.topic));
            }
        });
    }
    asked.wait(scatter, PATIENCE)
}

fn fill(
    response: &mut DescribeTransactionsResponse,
    (n, _): Cell,
    reply: Result<TxnReply, ErrorCode>,
    _: i16,
) {
    let state = &mut response.transaction_states[n];
    let found = match reply {
        Ok(TxnReply::Described(Some(found))) => found,
        Ok(TxnReply::Described(None)) => {
            state.error_code = ErrorCode::TransactionalIdNotFound.to_wire();
            return;
        }
        Ok(other) => unreachable!("a description is answered {other:?}"),
        Err(error) => {
            state.error_code = error.to_wire();
            return;
        }
    };
    let topic = |(topic, ids): (std::sync::Arc<str>, std::collections::BTreeSet<i32>)| TopicData {
        topic: topic.to_string(),
        partitions: ids.into_iter().collect(),
    };
    *state = TransactionState {
        error_code: ErrorCode::None.to_wire(),
        transactional_id: std::mem::take(&mut state.transactional_id),
        transaction_state: found.state.name().to_owned(),
        transaction_timeout_ms: found.timeout,
        transaction_start_time_ms: found.began,
        producer_id: found.producer_id,
        producer_epoch: found.epoch,
        topics: found.partitions.into_iter().map(topic).collect(),
    };
}
