//! Produce by hand against Produce generated: every version, random requests and responses.

use aplomb_model::Uuid;
use aplomb_protocol::hot::TopicRef;
use aplomb_protocol::hot::produce_request::ProduceBody;
use aplomb_protocol::hot::produce_response::{ProduceResponseWriter, ProducedPartition};
use aplomb_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use aplomb_protocol::messages::produce_response::{
    BatchIndexAndErrorMessage, LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse,
};
use aplomb_protocol::messages::{ProduceRequest, ProduceResponse};
use aplomb_protocol::{ApiKey, DecodeError, EncodeError, Message as _, Reader, VersionRange};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const VERSIONS: VersionRange = ProduceRequest::VERSIONS;

fn in_every_version<S: Strategy>(strategy: impl Fn(i16) -> S, check: impl Fn(i16, S::Value)) {
    for version in VERSIONS.iter() {
        let mut runner = TestRunner::new(Config { cases: 64, ..Config::default() });
        let result = runner.run(&strategy(version), |value| {
            check(version, value);
            Ok(())
        });
        assert!(result.is_ok(), "version {version}: {}", result.unwrap_err());
    }
}

fn request(version: i16) -> impl Strategy<Value = ProduceRequest> {
    let records = of(vec(any::<u8>(), 0..200)).prop_map(|records| records.map(Bytes::from));
    let partition =
        (any::<i32>(), records).prop_map(|(index, records)| PartitionProduceData { index, records });
    let topic = ("\\PC{0,12}", any::<[u8; 16]>(), vec(partition, 0..4));
    let topic = topic.prop_map(move |(name, id, partition_data)| TopicProduceData {
        name: if version <= 12 { name } else { String::new() },
        topic_id: if version >= 13 { Uuid(id) } else { Uuid::ZERO },
        partition_data,
    });
    (of("\\PC{0,12}"), any::<i16>(), any::<i32>(), vec(topic, 0..4)).prop_map(
        |(transactional_id, acks, timeout_ms, topic_data)| ProduceRequest {
            transactional_id,
            acks,
            timeout_ms,
            topic_data,
        },
    )
}

fn topic_ref<'a>(version: i16, name: &'a str, id: &Uuid) -> TopicRef<'a> {
    if version <= 12 { TopicRef::Name(name) } else { TopicRef::Id(*id) }
}

#[test]
fn a_request_read_by_hand_is_the_one_that_was_generated() {
    in_every_version(request, |version, request| {
        let frame = request.to_bytes(version).unwrap();
        let body = ProduceBody::decode(&mut Reader::new(frame.clone()), version).unwrap();
        assert_eq!(body.transactional_id, request.transactional_id);
        assert_eq!((body.acks, body.timeout_ms), (request.acks, request.timeout_ms));

        let mut expected = Vec::new();
        for topic in &request.topic_data {
            for partition in &topic.partition_data {
                let topic = topic_ref(version, &topic.name, &topic.topic_id);
                expected.push((topic, partition.index, partition.records.clone()));
            }
        }
        let found: Vec<_> = body.partitions().map(|one| (one.topic, one.index, one.records)).collect();
        assert_eq!(found, expected);
        for (_, _, records) in found {
            let inside = |records: &Bytes| frame.as_ptr_range().contains(&records.as_ptr());
            assert!(
                records.is_none_or(|records| records.is_empty() || inside(&records)),
                "records were copied"
            );
        }
    });
}

#[test]
fn a_request_cut_short_is_refused_as_the_generated_code_refuses_it_and_what_is_behind_is_ignored() {
    in_every_version(request, |version, request| {
        let frame = request.to_bytes(version).unwrap();
        for end in 0..frame.len() {
            let cut = frame.slice(..end);
            let by_hand = ProduceBody::decode(&mut Reader::new(cut.clone()), version).map(|_| ());
            assert_eq!(by_hand, ProduceRequest::from_bytes(cut, version).map(|_| ()));
        }
        let longer = Bytes::from([&frame[..], &[0]].concat());
        let read = ProduceBody::decode(&mut Reader::new(longer), version).unwrap();
        let partitions: usize = request.topic_data.iter().map(|topic| topic.partition_data.len()).sum();
        assert_eq!(read.partitions().count(), partitions);
    });
}

#[test]
fn a_request_with_bits_flipped_is_read_as_the_generated_code_reads_it() {
    let strategy = |version| (request(version), any::<prop::sample::Index>(), any::<u8>());
    in_every_version(strategy, |version, (request, at, value)| {
        let mut frame = request.to_bytes(version).unwrap().to_vec();
        let at = at.index(frame.len());
        frame[at] = value;
        let frame = Bytes::from(frame);
        let by_hand = ProduceBody::decode(&mut Reader::new(frame.clone()), version);
        if by_hand.as_ref().is_err_and(|error| *error == DecodeError::NotUtf8) {
            return; // a name that is read in place; the generated code reads another in its stead
        }
        match ProduceRequest::decode(&mut Reader::new(frame), version) {
            Err(error) => assert_eq!(by_hand.map(|_| ()), Err(error)),
            Ok(request) => {
                let expected: usize = request.topic_data.iter().map(|topic| topic.partition_data.len()).sum();
                assert_eq!(by_hand.unwrap().partitions().count(), expected);
            }
        }
    });
}

fn response(version: i16) -> impl Strategy<Value = ProduceResponse> {
    let since = move |from: i16| version >= from;
    let leader = (any::<i32>(), any::<i32>())
        .prop_map(|(leader_id, leader_epoch)| LeaderIdAndEpoch { leader_id, leader_epoch });
    let leader = of(leader).prop_map(move |leader| leader.filter(|_| since(10)).unwrap_or_default());
    let error = (any::<i32>(), of("\\PC{0,8}")).prop_map(|(batch_index, batch_index_error_message)| {
        BatchIndexAndErrorMessage { batch_index, batch_index_error_message }
    });
    let numbers = (any::<i32>(), any::<i16>(), any::<i64>(), any::<i64>(), any::<i64>());
    let partition = (numbers, vec(error, 0..3), of("\\PC{0,20}"), leader).prop_map(
        |(
            (index, error_code, base_offset, log_append_time_ms, log_start_offset),
            record_errors,
            message,
            leader,
        )| {
            PartitionProduceResponse {
                index,
                error_code,
                base_offset,
                log_append_time_ms,
                log_start_offset,
                record_errors,
                error_message: message,
                current_leader: leader,
            }
        },
    );
    let topic = (
        "\\PC{0,12}",
        any::<[u8; 16]>(),
        prop_oneof![vec(partition.clone(), 0..4), vec(partition, 126..130)],
    )
        .prop_map(|(name, id, partition_responses)| TopicProduceResponse {
            name,
            topic_id: Uuid(id),
            partition_responses,
        });
    let endpoint = (any::<i32>(), "\\PC{0,12}", any::<i32>(), of("\\PC{0,4}"))
        .prop_map(|(node_id, host, port, rack)| NodeEndpoint { node_id, host, port, rack });
    (vec(topic, 0..4), any::<i32>(), vec(endpoint, 0..3)).prop_map(
        move |(responses, throttle_time_ms, endpoints)| ProduceResponse {
            responses,
            throttle_time_ms,
            node_endpoints: if since(10) { endpoints } else { Vec::new() },
        },
    )
}

fn by_hand(response: &ProduceResponse, version: i16) -> Result<Bytes, EncodeError> {
    let mut writer = ProduceResponseWriter::new(version, 0x0102_0304)?;
    for topic in &response.responses {
        writer.topic(topic_ref(version, &topic.name, &topic.topic_id))?;
        for partition in &topic.partition_responses {
            writer.partition(&ProducedPartition {
                index: partition.index,
                error_code: partition.error_code,
                base_offset: partition.base_offset,
                log_append_time_ms: partition.log_append_time_ms,
                log_start_offset: partition.log_start_offset,
                record_errors: &partition.record_errors,
                error_message: partition.error_message.as_deref(),
                current_leader: partition.current_leader.clone(),
            })?;
        }
    }
    writer.finish(response.throttle_time_ms, &response.node_endpoints)
}

#[test]
fn a_response_written_by_hand_is_the_one_that_is_generated() {
    in_every_version(response, |version, response| {
        let frame =
            aplomb_protocol::frame::ResponseFrame::encode(ApiKey::Produce, version, 0x0102_0304, &response);
        assert_eq!(by_hand(&response, version), frame);
    });
}

#[test]
fn a_leader_cannot_be_named_to_a_client_that_does_not_ask_for_it() {
    let leader = LeaderIdAndEpoch { leader_id: 2, leader_epoch: 7 };
    let partition =
        PartitionProduceResponse { current_leader: leader, ..PartitionProduceResponse::default() };
    let topic =
        TopicProduceResponse { partition_responses: vec![partition], ..TopicProduceResponse::default() };
    let response = ProduceResponse { responses: vec![topic], ..ProduceResponse::default() };
    assert_eq!(by_hand(&response, 9).unwrap_err(), response.to_bytes(9).unwrap_err());
    assert!(by_hand(&response, 10).is_ok());
}

#[test]
fn a_topic_named_otherwise_than_the_version_does_is_an_error() {
    let mut writer = ProduceResponseWriter::new(12, 0).unwrap();
    let message = "TopicProduceResponse";
    let error = EncodeError::UnexpectedNull { message, field: "Name", version: 12 };
    assert_eq!(writer.topic(TopicRef::Id(Uuid::ONE)), Err(error));
    let mut writer = ProduceResponseWriter::new(13, 0).unwrap();
    let error = EncodeError::UnexpectedNull { message, field: "TopicId", version: 13 };
    assert_eq!(writer.topic(TopicRef::Name("t")), Err(error));
}
