//! Topics in pages, producers of partitions, the metadata quorum.

use aplomb_log::producers::{ProducerBatch, ProducerState};
use aplomb_model::{LeaderEpoch, ProducerEpoch, ProducerId, Timestamp};

use super::*;
use crate::api::describe_quorum::Quorum;

fn page(names: &[&str], limit: i32, cursor: Option<(&str, i32)>) -> m::DescribeTopicPartitionsRequest {
    let topic = |name: &&str| m::describe_topic_partitions_request::TopicRequest { name: (*name).to_owned() };
    m::DescribeTopicPartitionsRequest {
        topics: names.iter().map(topic).collect(),
        response_partition_limit: limit,
        cursor: cursor.map(|(topic, partition_index)| m::describe_topic_partitions_request::Cursor {
            topic_name: topic.to_owned(),
            partition_index,
        }),
    }
}

/// A partition, or where the next page begins.
type At = (String, i32);

/// Topics with the numbers of their partitions, and where the next page begins.
fn shown(response: m::DescribeTopicPartitionsResponse) -> (Vec<(String, Vec<i32>)>, Option<At>) {
    let topics = response.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| partition.partition_index).collect();
        (topic.name.unwrap_or_default(), partitions)
    });
    (topics.collect(), response.next_cursor.map(|cursor| (cursor.topic_name, cursor.partition_index)))
}

#[test]
fn a_page_ends_with_its_limit_and_says_where_the_next_begins() {
    let mut broker = Broker::new();
    broker.topic("b", 2);
    broker.topic("a", 3);
    let ctx = broker.ctx();
    let of = |request: m::DescribeTopicPartitionsRequest| {
        shown(describe_topic_partitions::handle(&request, 0, &ctx))
    };
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(
        of(page(&[], 4, None)),
        (vec![(a.clone(), vec![0, 1, 2]), (b.clone(), vec![0])], Some((b.clone(), 1)))
    );
    assert_eq!(of(page(&["b", "a"], 3, None)), (vec![(a.clone(), vec![0, 1, 2])], Some((b.clone(), 0))));
    assert_eq!(of(page(&[], 9, Some(("a", 2)))), (vec![(a.clone(), vec![2]), (b.clone(), vec![0, 1])], None));
    assert_eq!(of(page(&[], 9, Some(("a", i32::MAX)))), (vec![(a, vec![]), (b, vec![0, 1])], None));
}

#[test]
fn a_page_shows_topics_that_there_are_and_says_what_is_wrong_with_others() {
    let mut broker = Broker::new();
    let id = broker.topic("t", 1);
    let ctx = broker.ctx();
    let request = page(&["t", "none", "bad name"], 2000, None);
    encodes_in_all_versions::<m::DescribeTopicPartitionsRequest, _>(|version| {
        describe_topic_partitions::handle(&request, version, &ctx)
    });
    let topics = describe_topic_partitions::handle(&request, 0, &ctx).topics;
    let codes: Vec<_> = topics.iter().map(|topic| code(topic.error_code)).collect();
    assert_eq!(
        codes,
        [ErrorCode::InvalidTopicException, ErrorCode::UnknownTopicOrPartition, ErrorCode::None]
    );
    assert_eq!((topics[2].topic_id, topics[2].topic_authorized_operations), (id, 3576));
    let partition = &topics[2].partitions[0];
    assert_eq!((partition.leader_id, &partition.isr_nodes[..]), (1, &[1][..]));
    assert_eq!(
        (&partition.eligible_leader_replicas, &partition.last_known_elr),
        (&Some(vec![]), &Some(vec![]))
    );

    let elsewhere = Context { listener: "OTHER", ..ctx };
    let unreachable = describe_topic_partitions::handle(&request, 0, &elsewhere).topics.remove(2);
    assert_eq!(
        (unreachable.partitions[0].leader_id, &unreachable.partitions[0].offline_replicas[..]),
        (-1, &[1][..])
    );
}

#[test]
fn a_cursor_that_leads_nowhere_is_an_invalid_request() {
    let mut broker = Broker::new();
    broker.topic("t", 1);
    let ctx = broker.ctx();
    for request in [page(&["t"], 9, Some(("u", 0))), page(&["t"], 9, Some(("t", -1)))] {
        let topics = describe_topic_partitions::handle(&request, 0, &ctx).topics;
        assert_eq!(
            topics.iter().map(|t| code(t.error_code)).collect::<Vec<_>>(),
            [ErrorCode::InvalidRequest]
        );
    }
    assert_eq!(describe_topic_partitions::handle(&page(&[], 9, Some(("t", -1))), 0, &ctx).topics.len(), 0);
}

#[test]
fn a_broker_has_its_own_limit_for_a_page() {
    let mut broker = Broker::with(&[("max.request.partition.size.limit", "2")]);
    broker.topic("t", 5);
    let response = describe_topic_partitions::handle(&page(&["t"], 2000, None), 0, &broker.ctx());
    assert_eq!(shown(response), (vec![("t".to_owned(), vec![0, 1])], Some(("t".to_owned(), 2))));
}

#[test]
fn a_producer_is_shown_with_its_open_transaction() {
    let mut state = ProducerState::default();
    let batch = ProducerBatch {
        producer: ProducerId::from_wire(7).expect("an id"),
        epoch: ProducerEpoch(3),
        base_sequence: 10,
        last_offset_delta: 4,
        transactional: true,
    };
    state.apply(&batch, Offset::new(100), Timestamp(5000));
    let known = state.producers().map(|(id, entry)| (id, entry.clone())).collect();
    let topic = m::describe_producers_response::TopicResponse {
        name: "t".to_owned(),
        partitions: vec![m::describe_producers_response::PartitionResponse::default()],
    };
    let mut response = m::DescribeProducersResponse { throttle_time_ms: 0, topics: vec![topic] };
    describe_producers::fill(&mut response, (0, 0), Ok(known), 0);
    let producer = m::describe_producers_response::ProducerState {
        producer_id: 7,
        producer_epoch: 3,
        last_sequence: 14,
        last_timestamp: 5000,
        coordinator_epoch: -1,
        current_txn_start_offset: 100,
    };
    let partition = &response.topics[0].partitions[0];
    assert_eq!((partition.error_code, &partition.active_producers[..]), (0, &[producer][..]));
    describe_producers::fill(&mut response, (0, 0), Err(ErrorCode::KafkaStorageError), 0);
    assert_eq!(code(response.topics[0].partitions[0].error_code), ErrorCode::KafkaStorageError);
}

#[test]
fn the_quorum_is_this_node_and_its_directory_is_told_where_voters_are_dynamic() {
    let voters = m::VotersRecord {
        version: 0,
        voters: vec![m::voters_record::Voter {
            voter_id: 1,
            voter_directory_id: Uuid::from_u128(1000),
            ..Default::default()
        }],
    };
    let quorum = |dynamic_voters| Quorum {
        leader: NODE,
        epoch: LeaderEpoch::new(4),
        committed: Offset::new(90),
        end: Offset::new(95),
        voters: &voters,
        dynamic_voters,
    };
    let asked = |partition_index| m::DescribeQuorumRequest {
        topics: vec![m::describe_quorum_request::TopicData {
            topic_name: "__cluster_metadata".to_owned(),
            partitions: vec![m::describe_quorum_request::PartitionData { partition_index }],
        }],
    };
    let now = Timestamp(7);
    encodes_in_all_versions::<m::DescribeQuorumRequest, _>(|version| {
        describe_quorum::handle(&asked(0), version, Some(&quorum(true)), now)
    });
    let of = |request: &m::DescribeQuorumRequest, quorum: Option<&Quorum<'_>>| {
        describe_quorum::handle(request, 2, quorum, now).topics.remove(0).partitions.remove(0)
    };
    let shown = of(&asked(0), Some(&quorum(true)));
    assert_eq!((shown.leader_id, shown.leader_epoch, shown.high_watermark), (1, 4, 90));
    let voter = &shown.current_voters[0];
    assert_eq!((voter.log_end_offset, voter.last_caught_up_timestamp), (95, 7));
    assert_eq!(voter.replica_directory_id, Uuid::from_u128(1000));
    let of_static = of(&asked(0), Some(&quorum(false)));
    assert_eq!(of_static.current_voters[0].replica_directory_id, Uuid::ZERO);

    let unknown = of(&asked(1), Some(&quorum(true)));
    assert_eq!((code(unknown.error_code), unknown.leader_id), (ErrorCode::UnknownTopicOrPartition, 0));
    assert_eq!(code(of(&asked(0), None).error_code), ErrorCode::NotLeaderOrFollower);
}
