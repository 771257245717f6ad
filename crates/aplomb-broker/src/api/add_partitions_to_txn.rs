//! AddPartitionsToTxn: partitions are taken into a transaction. Up to version 3 clients ask for
//! that, of one transaction; from 4 on brokers do, of several, and ask what is in one.

use std::collections::BTreeSet;

use aplomb_coordinator::txn::{Add, ClientVersion, TxnAsk, TxnPartitions, TxnReply};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use aplomb_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnResponse, AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
};
use aplomb_protocol::{ApiKey, DecodeError};

use super::transactions::{coordinator_of, incarnation, known_since, partitions};
use super::{Access, On};
use crate::metadata::MetadataImage;
use crate::operation::{Api, Asked, Begun, Cell, PATIENCE, Scatter, named};
use crate::security::{AclOperation, Audit};

pub(super) const API: Api = Api::new(ApiKey::AddPartitionsToTxn, begin);

/// A request about more partitions is long: each is looked up, and has its name in several places.
const MANY: usize = 256;
/// The first version for brokers.
const OF_BROKERS: i16 = 4;
/// The first version of clients that know `PRODUCER_FENCED`.
const KNOWS_FENCED: i16 = 2;
/// The first version whose transactions have an epoch each.
const EPOCH_EACH: i16 = 5;

fn begin(asked: &mut Asked<'_>) -> Result<Begun, DecodeError> {
    let request: AddPartitionsToTxnRequest = asked.decode()?;
    if !asked.is_at_head() && names_many(&request) {
        return Ok(Begun::ForHead);
    }
    let (access, is_of_brokers) = (asked.access(), asked.to.version >= OF_BROKERS);
    if is_of_brokers && let Err(error) = access.check(AclOperation::ClusterAction, On::Cluster) {
        let error_code = error.to_wire();
        return asked.answer(&AddPartitionsToTxnResponse { error_code, ..Default::default() });
    }
    let transactions = if is_of_brokers { request.transactions } else { vec![only(request)] };
    let late = ErrorCode::CoordinatorNotAvailable;
    let unanswered = |transaction: &AddPartitionsToTxnTransaction| AddPartitionsToTxnResult {
        transactional_id: transaction.transactional_id.clone(),
        topic_results: results(&transaction.topics, |_, _| late),
    };
    let response = AddPartitionsToTxnResponse {
        results_by_transaction: transactions.iter().map(unanswered).collect(),
        ..Default::default()
    };
    let version = if asked.to.version >= EPOCH_EACH { ClientVersion::EPOCH_EACH } else { ClientVersion(0) };
    let mut scatter = Scatter::new(asked.to, response, fill);
    for (n, mut transaction) in transactions.into_iter().enumerate() {
        if transaction.verify_only {
            transaction.topics = each_once(transaction.topics);
            let results = results(&transaction.topics, |_, _| late);
            scatter.response().results_by_transaction[n].topic_results = results;
        }
        let image = asked.view.image();
        let client = (!is_of_brokers).then_some(&access);
        if let Some(refused) = refusal(&transaction, image, client) {
            let topics = &mut scatter.response().results_by_transaction[n].topic_results;
            *topics = results(&transaction.topics, refused);
            continue;
        }
        let id = &transaction.transactional_id;
        let Some(key) = coordinator_of(id, image) else {
            scatter.fill((n, 0), ErrorCode::NotCoordinator);
            continue;
        };
        let of = incarnation(id, transaction.producer_id, transaction.producer_epoch);
        let named = transaction.topics.iter();
        let named =
            named.flat_map(|topic| topic.partitions.iter().map(|index| (topic.name.as_str(), *index)));
        let partitions = partitions(named);
        let ask = if transaction.verify_only {
            TxnAsk::Verify(of, partitions)
        } else {
            TxnAsk::Add(Add { of, partitions, version, waits: false })
        };
        scatter.ask((n, 0), key, ask, asked.calls);
    }
    if !is_of_brokers {
        scatter.shape(to_client);
    }
    asked.wait(scatter, PATIENCE)
}

fn names_many(request: &AddPartitionsToTxnRequest) -> bool {
    let of_brokers = request.transactions.iter().flat_map(|transaction| &transaction.topics);
    let topics = of_brokers.chain(&request.v3_and_below_topics);
    topics.map(|topic| topic.partitions.len()).sum::<usize>() > MANY
}

/// Each partition once, and no topic without any: what is verified Apache Kafka puts into a map.
fn each_once(topics: Vec<AddPartitionsToTxnTopic>) -> Vec<AddPartitionsToTxnTopic> {
    let named =
        topics.iter().flat_map(|topic| topic.partitions.iter().map(|index| (topic.name.as_str(), *index)));
    let once = partitions(named).into_iter();
    once.map(|(name, ids)| AddPartitionsToTxnTopic {
        name: name.to_string(),
        partitions: ids.into_iter().collect(),
    })
    .collect()
}

/// The transaction of a client's request.
fn only(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction {
        transactional_id: request.v3_and_below_transactional_id,
        producer_id: request.v3_and_below_producer_id,
        producer_epoch: request.v3_and_below_producer_epoch,
        verify_only: false,
        topics: request.v3_and_below_topics,
    }
}

/// The response to a client has the results of its transaction alone.
fn to_client(response: &mut m::AddPartitionsToTxnResponse, _: &Audit) {
    let only = response.results_by_transaction.pop().expect("a client names one transaction");
    response.results_by_topic_v3_and_below = only.topic_results;
}

/// The code for a partition, by its topic's name and its number.
type ToldOfEach = Box<dyn Fn(&str, i32) -> ErrorCode>;

/// What is said of each partition if a transaction cannot be asked about: one that is not there
/// keeps the others from being added.
///
/// What a client asks for it has to be allowed; a broker's clients were asked before.
fn refusal(
    transaction: &AddPartitionsToTxnTransaction,
    image: &MetadataImage,
    client: Option<&Access<'_>>,
) -> Option<ToldOfEach> {
    let id = &transaction.transactional_id;
    if let Some(Err(error)) = client.map(|access| access.check(AclOperation::Write, On::TransactionalId(id)))
    {
        return Some(Box::new(move |_, _| error));
    }
    if id.is_empty() {
        return Some(Box::new(|_, _| ErrorCode::InvalidRequest));
    }
    let (mut denied, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for topic in &transaction.topics {
        if client.is_some_and(|access| !access.may(AclOperation::Write, On::Topic(&topic.name))) {
            denied.insert(topic.name.clone());
            continue;
        }
        let missing = topic.partitions.iter().filter(|index| named(image, &topic.name, **index).is_err());
        unknown.extend(missing.map(|index| (topic.name.clone(), *index)));
    }
    if unknown.is_empty() && denied.is_empty() {
        return None;
    }
    Some(Box::new(move |topic, index| {
        if denied.contains(topic) {
            ErrorCode::TopicAuthorizationFailed
        } else if unknown.contains(&(topic.to_owned(), index)) {
            ErrorCode::UnknownTopicOrPartition
        } else {
            ErrorCode::OperationNotAttempted
        }
    }))
}

fn results(
    topics: &[AddPartitionsToTxnTopic],
    error: impl Fn(&str, i32) -> ErrorCode,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let partition = |topic: &str, index: i32| AddPartitionsToTxnPartitionResult {
        partition_index: index,
        partition_error_code: error(topic, index).to_wire(),
    };
    let topic = |topic: &AddPartitionsToTxnTopic| AddPartitionsToTxnTopicResult {
        name: topic.name.clone(),
        results_by_partition: topic.partitions.iter().map(|index| partition(&topic.name, *index)).collect(),
    };
    topics.iter().map(topic).collect()
}

fn fill(
    response: &mut AddPartitionsToTxnResponse,
    (n, _): Cell,
    reply: Result<TxnReply, ErrorCode>,
    version: i16,
) {
    let (of_all, missing) = match reply {
        Ok(TxnReply::Done(code)) | Err(code) => (code, TxnPartitions::new()),
        Ok(TxnReply::Verified(Err(code))) => (code, TxnPartitions::new()),
        Ok(TxnReply::Verified(Ok(missing))) => (ErrorCode::None, missing),
        Ok(other) => unreachable!("what is added is answered {other:?}"),
    };
    let of_all = known_since(KNOWS_FENCED, version, of_all);
    for topic in &mut response.results_by_transaction[n].topic_results {
        let missing = missing.get(topic.name.as_str());
        for result in &mut topic.results_by_partition {
            let is_missing = missing.is_some_and(|missing| missing.contains(&result.partition_index));
            let error = if is_missing { ErrorCode::TransactionAbortable } else { of_all };
            result.partition_error_code = error.to_wire();
        }
    }
}
