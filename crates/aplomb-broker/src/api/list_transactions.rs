//! ListTransactions: the transactional ids that this broker coordinates.

use std::sync::Arc;

use aplomb_coordinator::group::expression::Expression;
use aplomb_coordinator::txn::{TxnAsk, TxnFilter, TxnReply, TxnState};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages::list_transactions_request::ListTransactionsRequest;
use aplomb_protocol::messages::list_transactions_response::{ListTransactionsResponse, TransactionState};
use aplomb_protocol::{ApiKey, DecodeError};

use super::On;
use super::groups::MOST_NAMED;
use crate::calls::PartitionKey;
use crate::metadata::TRANSACTIONS_TOPIC;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter};
use crate::security::AclOperation;

pub(super) const API: Api = Api::of_controller(ApiKey::ListTransactions, begin);

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: ListTransactionsRequest = asked.decode()?;
    if request.state_filters.len() + request.producer_id_filters.len() > MOST_NAMED {
        return asked.answer(&refused(ErrorCode::InvalidRequest));
    }
    let pattern = request.transactional_id_pattern.filter(|pattern| !pattern.is_empty());
    let Ok(pattern) = pattern.map(|pattern| Expression::compile(&pattern)).transpose() else {
        return asked.answer(&refused(ErrorCode::InvalidRegularExpression));
    };
    let states = request.state_filters;
    let is_unknown = |name: &&String| !TxnState::NAMES.contains(&name.as_str());
    let unknown_state_filters = states.iter().filter(is_unknown).cloned().collect();
    let filter = Arc::new(TxnFilter {
        producers: request.producer_id_filters.into_iter().collect(),
        states,
        duration: request.duration_filter,
        pattern,
    });
    let response = ListTransactionsResponse { unknown_state_filters, ..Default::default() };
    let mut scatter = Scatter::new(asked.to, response, fill);
    if let Some(topic) = asked.view.image().topics.by_name(TRANSACTIONS_TOPIC) {
        for (n, partition) in topic.partitions.keys().enumerate() {
            let key = PartitionKey { topic: topic.id, partition: *partition };
            scatter.ask((n, 0), key, TxnAsk::List(filter.clone()), asked.calls);
        }
    }
    if let Some(later) = asked.access_later() {
        scatter.shape(move |response, audit| {
            let access = later.with(audit);
            let is_seen = |id: &str| access.may_quietly(AclOperation::Describe, On::TransactionalId(id));
            response.transaction_states.retain(|state| is_seen(&state.transactional_id));
        });
    }
    asked.wait(scatter, PATIENCE)
}

fn refused(error: ErrorCode) -> ListTransactionsResponse {
    ListTransactionsResponse { error_code: error.to_wire(), ..Default::default() }
}

/// A coordinator that is still loading makes the list a partial one: it is refused as a whole.
fn fill(response: &mut ListTransactionsResponse, _: Cell, reply: Result<TxnReply, ErrorCode>, _: i16) {
    match reply {
        Ok(TxnReply::Listed(_)) if response.error_code != 0 => {}
        Ok(TxnReply::Listed(listed)) => {
            response.transaction_states.extend(listed.into_iter().map(|each| TransactionState {
                transactional_id: each.id.to_string(),
                producer_id: each.producer_id,
                transaction_state: each.state.name().to_owned(),
            }));
        }
        Ok(other) => unreachable!("a list is answered {other:?}"),
        Err(ErrorCode::NotCoordinator) => {} // another broker lists them
        Err(error) => {
            response.error_code = error.to_wire();
            response.transaction_states.clear();
        }
    }
}
