//! Transactions: what their readers see, who may write in them, and what is left of them after a
//! crash.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use aplomb_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};

use crate::support::{
    AsIs, Batch, Broker, CreateTopic, Fetch, Identity, Produce, ProduceAll, Produced, SECOND, Setup,
};

/// How long markers are on their way.
const SOON: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_secs(60);

fn of(settings: Vec<(&'static str, &'static str)>) -> Broker {
    with(Setup { settings, ..Setup::default() })
}

pub(super) fn with(setup: Setup) -> Broker {
    let mut all = vec![("offsets.topic.num.partitions", "2"), ("transaction.state.log.num.partitions", "2")];
    all.extend(setup.settings.iter().copied());
    let broker = Broker::of(Setup { settings: all, ..setup });
    broker.has(CreateTopic::named("orders").partitions(4));
    find(&broker, 0, "g");
    find(&broker, 1, "t");
    broker.advance(SECOND);
    broker
}

fn find(broker: &Broker, key_type: i8, name: &str) {
    let coordinator_keys = vec![name.to_owned()];
    let find = m::FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
    broker.client().ask(AsIs::<_, 4>(find));
}

fn code(raw: i16) -> ErrorCode {
    ErrorCode::from_wire(raw).expect("a code")
}

/// A producer begins under an id.
pub(super) fn begin(broker: &Broker, id: &str) -> Identity {
    begin_again(broker, id, None)
}

fn begin_again(broker: &Broker, id: &str, known: Option<Identity>) -> Identity {
    let request = m::InitProducerIdRequest {
        transactional_id: Some(id.to_owned()),
        transaction_timeout_ms: i32::try_from(TIMEOUT.as_millis()).expect("a minute"),
        producer_id: known.map_or(-1, |known| known.id),
        producer_epoch: known.map_or(-1, |known| known.epoch),
        ..Default::default()
    };
    let begun = broker.client().ask(AsIs::<_, 4>(request));
    Identity { error: code(begun.error_code), id: begun.producer_id, epoch: begun.producer_epoch }
}

/// Writes a record in a transaction of a client of version 2.
fn write(broker: &Broker, id: &str, who: Identity, partition: i32, sequence: i32, value: &str) -> Produced {
    let batch = Batch::of(&[value]).by(who, sequence).in_transaction();
    let mut produced = broker.client().ask(ProduceAll::to([(("orders", partition).into(), batch)]).under(id));
    produced.remove(0)
}

fn end_txn(id: &str, who: Identity, committed: bool) -> m::EndTxnRequest {
    m::EndTxnRequest {
        transactional_id: id.to_owned(),
        producer_id: who.id,
        producer_epoch: who.epoch,
        committed,
    }
}

/// Ends a transaction of a client of version 2.
pub(super) fn end(broker: &Broker, id: &str, who: Identity, committed: bool) -> Identity {
    let ended = broker.client().ask(AsIs::<_, 5>(end_txn(id, who, committed)));
    Identity { error: code(ended.error_code), id: ended.producer_id, epoch: ended.producer_epoch }
}

/// Whether the broker itself has written a value: the end of a transaction.
fn is_marker(value: &str) -> bool {
    value.starts_with('\0')
}

/// What readers of committed records get of a partition: the values, those of aborted transactions
/// among them, and where such begin.
fn committed(broker: &Broker, partition: i32) -> (Vec<String>, Vec<i64>) {
    let (mut from, mut values, mut aborted) = (0, Vec::new(), BTreeSet::new());
    loop {
        let fetched = broker.client().ask(Fetch::from(("orders", partition), from).committed());
        let part = &fetched.partitions[0];
        aborted.extend(part.aborted.iter().map(|(_, first)| *first));
        values.extend(part.records.iter().map(|record| record.value.clone()));
        from = part.records.last().map_or(part.last_stable, |last| last.offset + 1);
        if from >= part.last_stable {
            values.retain(|value| !is_marker(value));
            return (values, aborted.into_iter().collect());
        }
    }
}

fn last_stable(broker: &Broker, partition: i32) -> (i64, i64) {
    let fetched = broker.client().ask(Fetch::from(("orders", partition), 0).committed());
    (fetched.partitions[0].last_stable, fetched.partitions[0].high_watermark)
}

#[test]
fn what_is_open_is_not_seen_and_what_is_aborted_is_said_to_be() {
    let broker = of(Vec::new());
    let who = begin(&broker, "t");
    assert_eq!(who.error, ErrorCode::None);
    for partition in 0..4 {
        let written = write(&broker, "t", who, partition, 0, "a");
        assert_eq!((written.error, written.base), (ErrorCode::None, 0));
        assert_eq!(committed(&broker, partition), (vec![], vec![]), "it is open");
        let all = broker.client().ask(Fetch::from(("orders", partition), 0));
        assert_eq!(all.values(), ["a"], "others see all");
    }
    let next = end(&broker, "t", who, true);
    assert_eq!((next.error, next.id, next.epoch), (ErrorCode::None, who.id, who.epoch + 1));
    broker.advance(SOON);
    for partition in 0..4 {
        assert_eq!(committed(&broker, partition), (vec!["a".to_owned()], vec![]));
        assert_eq!(last_stable(&broker, partition), (2, 2));
    }
    assert_eq!(write(&broker, "t", next, 1, 0, "b").error, ErrorCode::None);
    let last = end(&broker, "t", next, false);
    assert_eq!((last.error, last.epoch), (ErrorCode::None, next.epoch + 1));
    broker.advance(SOON);
    assert_eq!(committed(&broker, 1), (vec!["a".to_owned(), "b".to_owned()], vec![2]));
    assert_eq!(committed(&broker, 2), (vec!["a".to_owned()], vec![]));
}

#[test]
fn a_transaction_of_one_partition_is_complete_soon_wherever_that_is() {
    let broker = of(Vec::new());
    for id in ["t", "u", "v"] {
        let mut who = begin(&broker, id);
        for partition in 0..4 {
            assert_eq!(write(&broker, id, who, partition, 0, "a").error, ErrorCode::None);
            who = end(&broker, id, who, true);
            broker.advance(SOON);
            let request = m::DescribeTransactionsRequest { transactional_ids: vec![id.to_owned()] };
            let described = broker.client().ask(AsIs::<_, 0>(request));
            assert_eq!(described.transaction_states[0].transaction_state, "CompleteCommit");
        }
    }
}

#[test]
fn a_reader_that_waits_is_told_when_a_transaction_ends() {
    let broker = of(Vec::new());
    let who = begin(&broker, "t");
    write(&broker, "t", who, 0, 0, "a");
    let reader = broker.client();
    // More than a marker has.
    let waiting = reader.send(Fetch::from("orders", 0).committed().waiting_for(90, 100 * SECOND));
    broker.advance(SECOND);
    assert_eq!(end(&broker, "t", who, true).error, ErrorCode::None);
    broker.advance(SOON);
    assert!(!waiting.is_waiting(), "what it waits for is more than the marker alone");
    assert_eq!(waiting.answer().values()[0], "a");
}

#[test]
fn a_producer_that_begins_again_fences_the_one_before_and_aborts_its_transaction() {
    let broker = of(Vec::new());
    let zombie = begin(&broker, "t");
    write(&broker, "t", zombie, 0, 0, "a");
    assert_eq!(begin(&broker, "t").error, ErrorCode::ConcurrentTransactions);
    broker.advance(SOON);
    let who = begin(&broker, "t");
    assert_eq!((who.error, who.id), (ErrorCode::None, zombie.id));
    assert!(who.epoch > zombie.epoch);
    assert_eq!(write(&broker, "t", zombie, 0, 1, "late").error, ErrorCode::InvalidProducerEpoch);
    assert_eq!(write(&broker, "t", zombie, 1, 0, "late").error, ErrorCode::InvalidProducerEpoch);
    assert_eq!(end(&broker, "t", zombie, true).error, ErrorCode::ProducerFenced);
    assert_eq!(write(&broker, "t", who, 0, 0, "b").error, ErrorCode::None);
    end(&broker, "t", who, true);
    broker.advance(SOON);
    assert_eq!(committed(&broker, 0), (vec!["a".to_owned(), "b".to_owned()], vec![0]));
}

#[test]
fn a_transaction_whose_time_is_up_is_aborted() {
    let broker = of(Vec::new());
    let who = begin(&broker, "t");
    write(&broker, "t", who, 0, 0, "a");
    broker.advance(TIMEOUT - SECOND);
    assert_eq!(last_stable(&broker, 0), (0, 1));
    broker.advance(2 * SECOND);
    assert_eq!(last_stable(&broker, 0), (2, 2));
    assert_eq!(committed(&broker, 0).1, [0]);
    // As in Apache Kafka 4.4.0, which does not tell that it was not the client who ended it.
    assert_eq!(end(&broker, "t", who, true).error, ErrorCode::InvalidTxnState);
}

#[test]
fn what_was_decided_gets_its_markers_and_what_was_open_stays_so_after_a_crash() {
    for kill in [true, false] {
        let broker = of(Vec::new());
        let (decided, open) = (begin(&broker, "t"), begin(&broker, "u"));
        for partition in 0..4 {
            assert_eq!(write(&broker, "t", decided, partition, 0, "a").error, ErrorCode::None);
            assert_eq!(write(&broker, "u", open, partition, 0, "b").error, ErrorCode::None);
        }
        let next = end(&broker, "t", decided, true);
        assert_eq!(next.error, ErrorCode::None);
        if kill {
            broker.kill();
        } else {
            broker.stop();
        }
        broker.restart();
        broker.advance(SECOND);
        for partition in 0..4 {
            assert_eq!(committed(&broker, partition), (vec!["a".to_owned()], vec![]), "kill: {kill}");
        }
        // Both go on.
        assert_eq!(write(&broker, "t", next, 0, 0, "c").error, ErrorCode::None);
        assert_eq!(end(&broker, "t", next, true).error, ErrorCode::None);
        assert_eq!(write(&broker, "u", open, 0, 1, "d").error, ErrorCode::None);
        assert_eq!(end(&broker, "u", open, false).error, ErrorCode::None);
        broker.advance(SOON);
        assert_eq!(committed(&broker, 0), (["a", "b", "c", "d"].map(str::to_owned).to_vec(), vec![1]));
    }
}

#[test]
fn what_comes_behind_the_end_of_its_transaction_opens_none() {
    let broker = of(Vec::new());
    let client = broker.client();
    let who = begin(&broker, "t");
    let old = |partition: i32, sequence: i32| {
        // As clients of version 0 write: the partition has to be in the transaction already.
        let batch = Batch::of(&["x"]).by(who, sequence).in_transaction();
        let data =
            m::produce_request::PartitionProduceData { index: partition, records: Some(batch.bytes()) };
        let topic = m::produce_request::TopicProduceData {
            name: "orders".to_owned(),
            partition_data: vec![data],
            ..Default::default()
        };
        let request = m::ProduceRequest {
            transactional_id: Some("t".to_owned()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic],
        };
        let response = client.ask(AsIs::<_, 11>(request));
        code(response.responses[0].partition_responses[0].error_code)
    };
    let add = |partition: i32| {
        let topic = m::add_partitions_to_txn_request::AddPartitionsToTxnTopic {
            name: "orders".to_owned(),
            partitions: vec![partition],
        };
        let request = m::AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: "t".to_owned(),
            v3_and_below_producer_id: who.id,
            v3_and_below_producer_epoch: who.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        let response = client.ask(AsIs::<_, 3>(request));
        code(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)
    };
    let end = |committed: bool| code(client.ask(AsIs::<_, 4>(end_txn("t", who, committed))).error_code);
    assert_eq!(old(0, 0), ErrorCode::TransactionAbortable, "no transaction has begun");
    assert_eq!(add(0), ErrorCode::None);
    assert_eq!(old(0, 0), ErrorCode::None);
    assert_eq!(old(1, 0), ErrorCode::TransactionAbortable, "another partition is in it");
    assert_eq!(end(true), ErrorCode::None);
    broker.advance(SOON);
    assert_eq!(old(0, 1), ErrorCode::TransactionAbortable, "it is over");
    assert_eq!(last_stable(&broker, 0), (2, 2));
    assert_eq!(add(9), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_batch_of_a_transaction_needs_its_id() {
    let broker = of(Vec::new());
    let who = begin(&broker, "t");
    let batch = Batch::of(&["x"]).by(who, 0).in_transaction();
    let produced = broker.client().ask(Produce::to("orders", batch));
    assert_eq!(produced.error, ErrorCode::TransactionalIdAuthorizationFailed);
    assert_eq!(write(&broker, "other", who, 0, 0, "x").error, ErrorCode::InvalidProducerIdMapping);
}

fn txn_commit(id: &str, who: Identity, partition: i32, offset: i64) -> m::TxnOffsetCommitRequest {
    let part = TxnOffsetCommitRequestPartition {
        partition_index: partition,
        committed_offset: offset,
        ..Default::default()
    };
    let topic = TxnOffsetCommitRequestTopic {
        name: "orders".to_owned(),
        partitions: vec![part],
        ..Default::default()
    };
    m::TxnOffsetCommitRequest {
        transactional_id: id.to_owned(),
        group_id: "g".to_owned(),
        producer_id: who.id,
        producer_epoch: who.epoch,
        topics: vec![topic],
        ..Default::default()
    }
}

/// Commits an offset of a partition of "orders" in a transaction of a client of version 2.
fn commit(broker: &Broker, id: &str, who: Identity, partition: i32, offset: i64) -> ErrorCode {
    let request = txn_commit(id, who, partition, offset);
    code(broker.client().ask(AsIs::<_, 5>(request)).topics[0].partitions[0].error_code)
}

/// What the group has committed of a partition of "orders".
fn offset(broker: &Broker, partition: i32, require_stable: bool) -> Result<i64, ErrorCode> {
    let topic = OffsetFetchRequestTopics {
        name: "orders".to_owned(),
        partition_indexes: vec![partition],
        ..Default::default()
    };
    let group =
        OffsetFetchRequestGroup { group_id: "g".to_owned(), topics: Some(vec![topic]), ..Default::default() };
    let body = m::OffsetFetchRequest { groups: vec![group], require_stable, ..Default::default() };
    let response = broker.client().ask(AsIs::<_, 8>(body));
    let found = &response.groups[0].topics[0].partitions[0];
    match code(found.error_code) {
        ErrorCode::None => Ok(found.committed_offset),
        error => Err(error),
    }
}

#[test]
fn offsets_hold_when_their_transaction_is_committed() {
    let broker = of(Vec::new());
    let who = begin(&broker, "t");
    assert_eq!(commit(&broker, "t", who, 0, 10), ErrorCode::None);
    assert_eq!(offset(&broker, 0, false), Ok(-1));
    assert_eq!(offset(&broker, 0, true), Err(ErrorCode::UnstableOffsetCommit));
    let next = end(&broker, "t", who, true);
    broker.advance(SOON);
    assert_eq!(offset(&broker, 0, true), Ok(10));
    assert_eq!(commit(&broker, "t", next, 0, 20), ErrorCode::None);
    let last = end(&broker, "t", next, false);
    broker.advance(SOON);
    assert_eq!(offset(&broker, 0, true), Ok(10), "it was aborted");
    // What is open when the broker is killed is so when it has come back.
    assert_eq!(commit(&broker, "t", last, 0, 30), ErrorCode::None);
    broker.kill();
    broker.restart();
    broker.advance(SECOND);
    assert_eq!(offset(&broker, 0, true), Err(ErrorCode::UnstableOffsetCommit));
    assert_eq!(commit(&broker, "t", last, 1, 31), ErrorCode::None);
    assert_eq!(end(&broker, "t", last, true).error, ErrorCode::None);
    broker.advance(SOON);
    assert_eq!((offset(&broker, 0, true), offset(&broker, 1, true)), (Ok(30), Ok(31)));
    assert_eq!(commit(&broker, "t", who, 0, 99), ErrorCode::InvalidProducerEpoch);
}

/// What a client sends once it knows of an end may be here before the markers are.
#[test]
fn what_comes_before_the_marker_of_the_transaction_before_is_taken_behind_it() {
    for shards in 1..=4 {
        // So long the marker of a group's offsets takes.
        let settings = vec![("group.coordinator.append.linger.ms", "5")];
        let broker = with(Setup { shards, settings, ..Setup::default() });
        let mut who = begin(&broker, "t");
        let mut committed = -1;
        for turns in 0..12 {
            let next = Identity { epoch: who.epoch + 1, ..who };
            for partition in 0..4 {
                assert_eq!(write(&broker, "t", who, partition, 0, "a").error, ErrorCode::None);
            }
            assert_eq!(commit(&broker, "t", who, 0, turns), ErrorCode::None);
            let ended = broker.client().send_along(AsIs::<_, 5>(end_txn("t", who, turns % 2 == 0)));
            if turns % 2 == 0 {
                committed = turns;
            }
            // Others give the decision turns, which is all that it needs.
            for _ in 0..turns {
                broker.client().send_along(AsIs::<_, 4>(m::ApiVersionsRequest::default()));
            }
            let batch = || Batch::of(&["b"]).by(next, 0).in_transaction();
            let parts: Vec<_> = (0..4).map(|partition| (("orders", partition).into(), batch())).collect();
            let written = broker.client().send_along(ProduceAll::to(parts).under("t"));
            let offset_sent = broker.client().send_along(AsIs::<_, 5>(txn_commit("t", next, 0, 100)));
            broker.advance(SECOND);
            assert_eq!(code(ended.answer().error_code), ErrorCode::None);
            for part in written.answer() {
                assert_eq!(part.error, ErrorCode::None, "{shards} shards, {turns} turns: {part:?}");
            }
            let sent = code(offset_sent.answer().topics[0].partitions[0].error_code);
            assert_eq!(sent, ErrorCode::None, "{shards} shards, {turns} turns");
            assert_eq!(offset(&broker, 0, false), Ok(committed), "the next is open");
            who = end(&broker, "t", next, false);
            broker.advance(SOON);
            assert_eq!(offset(&broker, 0, true), Ok(committed));
        }
    }
}

#[test]
fn a_transaction_over_many_partitions_ends_in_pieces() {
    let broker = of(Vec::new());
    broker.has(CreateTopic::named("wide").partitions(300));
    let who = begin(&broker, "t");
    let parts: Vec<_> = (0..300)
        .map(|partition| (("wide", partition).into(), Batch::of(&["a"]).by(who, 0).in_transaction()))
        .collect();
    let produced = broker.client().ask(ProduceAll::to(parts).under("t"));
    assert!(produced.iter().all(|part| part.error == ErrorCode::None), "{:?}", produced[0]);
    assert_eq!(end(&broker, "t", who, true).error, ErrorCode::None);
    broker.advance(SECOND);
    for partition in [0, 150, 299] {
        let fetched = broker.client().ask(Fetch::from(("wide", partition), 0).committed());
        assert_eq!(fetched.partitions[0].last_stable, 2);
    }
    // The next one begins at once.
    let next = begin_again(&broker, "t", None);
    assert_eq!(next.error, ErrorCode::None);
}

#[test]
fn a_batch_that_finds_no_memory_when_its_coordinator_has_answered_is_answered_when_its_time_is_up() {
    let broker = with(Setup { chunks: 24, ..Setup::default() });
    let who = begin(&broker, "t");
    broker.disk(0).freeze();
    let fills_up = |_: &usize| {
        let asked = broker.client().send(Produce::to(("orders", 1), Batch::of_size(3000)));
        broker.advance(SOON);
        asked.is_waiting()
    };
    assert!((0..1000).find(fills_up).is_some(), "memory is used up");
    assert_eq!(write(&broker, "t", who, 0, 0, "late").error, ErrorCode::RequestTimedOut);
    broker.disk(0).thaw();
    broker.advance(60 * SECOND);
    let who = begin(&broker, "t");
    assert_eq!(write(&broker, "t", who, 0, 0, "in time").error, ErrorCode::None);
    assert_eq!(end(&broker, "t", who, true).error, ErrorCode::None);
}

#[test]
fn a_new_client_has_its_partitions_added_though_none_is_looked_for() {
    let broker = of(vec![("transaction.partition.verification.enable", "false")]);
    let who = begin(&broker, "t");
    let batch = Batch::of(&["one"]).by(who, 0).in_transaction();
    let asked = ProduceAll::to([(("orders", 0).into(), batch)]).under("t");
    assert_eq!(broker.client().ask(asked)[0].error, ErrorCode::None);
    assert_eq!(end(&broker, "t", who, true).error, ErrorCode::None);
    broker.advance(SOON);
    assert_eq!(committed(&broker, 0).0, ["one"]);
}
