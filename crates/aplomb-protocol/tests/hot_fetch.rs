//! Fetch by hand against Fetch generated: every version, random requests and responses.

use aplomb_model::Uuid;
use aplomb_protocol::hot::TopicRef;
use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::fetch_response::{FetchResponseHead, FetchResponseWriter, FetchedPartition};
use aplomb_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic, ReplicaState};
use aplomb_protocol::messages::fetch_response::{
    AbortedTransaction, EpochEndOffset, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint,
    PartitionData, SnapshotId,
};
use aplomb_protocol::messages::{FetchRequest, FetchResponse};
use aplomb_protocol::{ApiKey, EncodeError, Message as _, Reader};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn in_every_version<S: Strategy>(strategy: impl Fn(i16) -> S, check: impl Fn(i16, S::Value)) {
    for version in FetchRequest::VERSIONS.iter() {
        let mut runner = TestRunner::new(Config { cases: 48, ..Config::default() });
        let result = runner.run(&strategy(version), |value| {
            check(version, value);
            Ok(())
        });
        assert!(result.is_ok(), "version {version}: {}", result.unwrap_err());
    }
}

fn request(version: i16) -> impl Strategy<Value = FetchRequest> {
    let since = move |from: i16| version >= from;
    let partition = (
        any::<(i32, i32, i64, i32, i64, i32)>(),
        any::<[u8; 16]>().prop_map(move |id| if since(17) { Uuid(id) } else { Uuid::ZERO }),
        of(any::<i64>()).prop_map(move |mark| mark.filter(|_| since(18)).unwrap_or(i64::MAX)),
    );
    let partition = partition.prop_map(move |(numbers, replica_directory_id, high_watermark)| {
        let (partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, max) =
            numbers;
        FetchPartition {
            partition,
            current_leader_epoch,
            fetch_offset,
            last_fetched_epoch: if since(12) { last_fetched_epoch } else { -1 },
            log_start_offset,
            partition_max_bytes: max,
            replica_directory_id,
            high_watermark,
        }
    });
    let name = (any::<[u8; 16]>(), "\\PC{0,12}");
    let topic = (name, vec(partition, 0..4)).prop_map(|((id, topic), partitions)| FetchTopic {
        topic,
        topic_id: Uuid(id),
        partitions,
    });
    let forgotten = (name, vec(any::<i32>(), 0..4)).prop_map(|((id, topic), partitions)| ForgottenTopic {
        topic,
        topic_id: Uuid(id),
        partitions,
    });
    let head = (of("\\PC{0,8}"), any::<(i32, i64)>(), any::<(i32, i32, i32, i8, i32, i32)>(), "\\PC{0,8}");
    (head, vec(topic, 0..4), vec(forgotten, 0..3)).prop_map(move |(head, topics, forgotten)| {
        let (cluster_id, (replica_id, replica_epoch), numbers, rack_id) = head;
        let (max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch) = numbers;
        FetchRequest {
            cluster_id: cluster_id.filter(|_| since(12)),
            replica_id: if since(15) { -1 } else { replica_id },
            replica_state: if since(15) {
                ReplicaState { replica_id, replica_epoch }
            } else {
                ReplicaState::default()
            },
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
            topics,
            forgotten_topics_data: if since(7) { forgotten } else { Vec::new() },
            rack_id,
        }
    })
}

fn topic_ref<'a>(version: i16, name: &'a str, id: &Uuid) -> TopicRef<'a> {
    if version <= 12 { TopicRef::Name(name) } else { TopicRef::Id(*id) }
}

#[test]
fn a_request_read_by_hand_is_the_one_that_was_generated() {
    in_every_version(request, |version, request| {
        let frame = request.to_bytes(version).unwrap();
        // What a version lacks was dropped on the way; the generated decoder says what is left.
        let expected = FetchRequest::from_bytes(frame.clone(), version).unwrap();
        let body = FetchBody::decode(&mut Reader::new(frame), version).unwrap();

        let replica = match version {
            15.. => (expected.replica_state.replica_id, expected.replica_state.replica_epoch),
            _ => (expected.replica_id, -1),
        };
        assert_eq!((body.replica_id, body.replica_epoch), replica);
        assert_eq!(body.cluster_id, expected.cluster_id);
        assert_eq!(body.rack_id, expected.rack_id);
        assert_eq!(
            (body.max_wait_ms, body.min_bytes, body.max_bytes, body.isolation_level),
            (expected.max_wait_ms, expected.min_bytes, expected.max_bytes, expected.isolation_level)
        );
        assert_eq!((body.session_id, body.session_epoch), (expected.session_id, expected.session_epoch));

        let mut left = body.partitions.iter();
        for topic in &expected.topics {
            for partition in &topic.partitions {
                let found = left.next().unwrap();
                assert_eq!(body.topic_of(found).as_ref(), topic_ref(version, &topic.topic, &topic.topic_id));
                assert_eq!(
                    (
                        found.partition,
                        found.current_leader_epoch,
                        found.fetch_offset,
                        found.last_fetched_epoch
                    ),
                    (
                        partition.partition,
                        partition.current_leader_epoch,
                        partition.fetch_offset,
                        partition.last_fetched_epoch
                    )
                );
                assert_eq!(
                    (found.log_start_offset, found.partition_max_bytes),
                    (partition.log_start_offset, partition.partition_max_bytes)
                );
            }
        }
        assert_eq!(left.next(), None);
        assert_eq!(body.topics.len(), expected.topics.len());
        let forgotten: Vec<_> =
            body.forgotten.iter().map(|one| (one.topic.as_ref(), &one.partitions)).collect();
        let expected: Vec<_> = expected
            .forgotten_topics_data
            .iter()
            .map(|one| (topic_ref(version, &one.topic, &one.topic_id), &one.partitions))
            .collect();
        assert_eq!(forgotten, expected);
    });
}

#[test]
fn a_request_cut_short_is_refused_and_what_is_behind_is_ignored() {
    in_every_version(request, |version, request| {
        let frame = request.to_bytes(version).unwrap();
        for end in 0..frame.len() {
            assert!(FetchBody::decode(&mut Reader::new(frame.slice(..end)), version).is_err());
        }
        let longer = Bytes::from([&frame[..], &[0]].concat());
        let whole = FetchBody::decode(&mut Reader::new(frame), version).unwrap();
        assert_eq!(FetchBody::decode(&mut Reader::new(longer), version), Ok(whole));
    });
}

fn response(version: i16) -> impl Strategy<Value = FetchResponse> {
    let since = move |from: i16| version >= from;
    let numbers = any::<(i32, i16, i64, i64, i64, i32)>();
    let tagged = (of(any::<(i32, i64)>()), of(any::<(i32, i32)>()), of(any::<(i64, i32)>()));
    let transactions = of(vec(any::<(i64, i64)>(), 0..3)).prop_map(|list| {
        let one = |(producer_id, first_offset)| AbortedTransaction { producer_id, first_offset };
        list.map(|list| list.into_iter().map(one).collect())
    });
    let records = of(vec(any::<u8>(), 0..200)).prop_map(|records| records.map(Bytes::from));
    let partition = (numbers, tagged, transactions, records).prop_map(
        move |(numbers, (diverging, leader, snapshot), aborted_transactions, records)| {
            let (partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, replica) =
                numbers;
            let (diverging, leader, snapshot) =
                if since(12) { (diverging, leader, snapshot) } else { (None, None, None) };
            PartitionData {
                partition_index,
                error_code,
                high_watermark,
                last_stable_offset,
                log_start_offset,
                diverging_epoch: diverging
                    .map(|(epoch, end_offset)| EpochEndOffset { epoch, end_offset })
                    .unwrap_or_default(),
                current_leader: leader
                    .map(|(leader_id, leader_epoch)| LeaderIdAndEpoch { leader_id, leader_epoch })
                    .unwrap_or_default(),
                snapshot_id: snapshot
                    .map(|(end_offset, epoch)| SnapshotId { end_offset, epoch })
                    .unwrap_or_default(),
                aborted_transactions,
                preferred_read_replica: if since(11) { replica } else { -1 },
                records,
            }
        },
    );
    let partitions = prop_oneof![3 => vec(partition.clone(), 0..4), 1 => vec(partition, 126..129)];
    let topic = ("\\PC{0,12}", any::<[u8; 16]>(), partitions)
        .prop_map(|(topic, id, partitions)| FetchableTopicResponse { topic, topic_id: Uuid(id), partitions });
    let endpoint = (any::<i32>(), "\\PC{0,12}", any::<i32>(), of("\\PC{0,4}"))
        .prop_map(|(node_id, host, port, rack)| NodeEndpoint { node_id, host, port, rack });
    (any::<(i32, i16, i32)>(), vec(topic, 0..3), vec(endpoint, 0..3)).prop_map(
        move |((throttle_time_ms, error_code, session_id), responses, node_endpoints)| FetchResponse {
            throttle_time_ms,
            error_code,
            session_id: if since(7) { session_id } else { 0 },
            responses,
            node_endpoints: if since(16) { node_endpoints } else { Vec::new() },
        },
    )
}

/// Writes the response by hand, each partition's records in slices of up to `step` bytes.
fn by_hand(response: &FetchResponse, version: i16, step: usize) -> Result<Vec<Bytes>, EncodeError> {
    let head = FetchResponseHead {
        throttle_time_ms: response.throttle_time_ms,
        error_code: response.error_code,
        session_id: response.session_id,
    };
    let mut writer = FetchResponseWriter::new(version, 9, head)?;
    for topic in &response.responses {
        writer.topic(topic_ref(version, &topic.topic, &topic.topic_id))?;
        for partition in &topic.partitions {
            let slices: Option<Vec<Bytes>> = partition.records.as_ref().map(|records| {
                let starts = (0..records.len()).step_by(step);
                starts.map(|at| records.slice(at..records.len().min(at + step))).collect()
            });
            writer.partition(&FetchedPartition {
                index: partition.partition_index,
                error_code: partition.error_code,
                high_watermark: partition.high_watermark,
                last_stable_offset: partition.last_stable_offset,
                log_start_offset: partition.log_start_offset,
                diverging_epoch: partition.diverging_epoch.clone(),
                current_leader: partition.current_leader.clone(),
                snapshot_id: partition.snapshot_id.clone(),
                aborted_transactions: partition.aborted_transactions.as_deref(),
                preferred_read_replica: partition.preferred_read_replica,
                records: slices.as_deref(),
            })?;
        }
    }
    writer.finish(&response.node_endpoints)
}

#[test]
fn a_response_written_by_hand_is_the_one_that_is_generated() {
    in_every_version(
        |version| (response(version), 1..300_usize),
        |version, (response, step)| {
            let frame =
                aplomb_protocol::frame::ResponseFrame::encode(ApiKey::Fetch, version, 9, &response).unwrap();
            assert_eq!(by_hand(&response, version, step).unwrap().concat(), frame);
        },
    );
}

#[test]
fn records_go_out_as_the_slices_they_came_in() {
    in_every_version(response, |version, response| {
        let segments = by_hand(&response, version, usize::MAX).unwrap();
        assert!(segments.iter().all(|segment| !segment.is_empty()));
        let mut found = segments.iter().map(|segment| segment.as_ptr());
        for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
            if let Some(records) = partition.records.as_ref().filter(|records| !records.is_empty()) {
                assert!(
                    found.any(|segment| segment == records.as_ptr()),
                    "records were copied, or are out of order"
                );
            }
        }
    });
}

#[test]
fn what_a_version_cannot_say_is_an_error() {
    let set = |change: fn(&mut PartitionData)| {
        let mut partition = PartitionData::default();
        change(&mut partition);
        let topic =
            FetchableTopicResponse { partitions: vec![partition], ..FetchableTopicResponse::default() };
        FetchResponse { responses: vec![topic], ..FetchResponse::default() }
    };
    let endpoint = NodeEndpoint { node_id: 1, ..NodeEndpoint::default() };
    let cases = [
        (6, FetchResponse { session_id: 1, ..FetchResponse::default() }),
        (10, set(|partition| partition.preferred_read_replica = 1)),
        (11, set(|partition| partition.diverging_epoch.epoch = 1)),
        (11, set(|partition| partition.current_leader.leader_id = 1)),
        (11, set(|partition| partition.snapshot_id.epoch = 1)),
        (15, FetchResponse { node_endpoints: vec![endpoint], ..FetchResponse::default() }),
    ];
    for (version, response) in cases {
        assert_eq!(by_hand(&response, version, 1).unwrap_err(), response.to_bytes(version).unwrap_err());
        assert!(by_hand(&response, version + 1, 1).is_ok());
    }
}
