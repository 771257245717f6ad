//! Coordinators of groups: what they have committed is there when they are loaded again.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};

use crate::support::{Alter, AsIs, Broker, CreateTopic, DeleteRecords, MS, SECOND, Setup};

const OFFSETS: &str = "__consumer_offsets";
/// Bytes of a committed text, so that few commits make a long log.
const TEXT: usize = 3000;

fn of(settings: Vec<(&'static str, &'static str)>) -> Broker {
    let mut all = vec![("offsets.topic.num.partitions", "1")];
    all.extend(settings);
    let broker = Broker::of(Setup { settings: all, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(4));
    find(&broker);
    broker.advance(SECOND);
    broker
}

fn find(broker: &Broker) {
    let find = m::FindCoordinatorRequest { coordinator_keys: vec!["g".to_owned()], ..Default::default() };
    broker.client().ask(AsIs::<_, 4>(find));
}

/// Commits an offset of a partition of "orders" for a group.
fn commit(broker: &Broker, group: &str, partition: i32, offset: i64) -> ErrorCode {
    let part = OffsetCommitRequestPartition {
        partition_index: partition,
        committed_offset: offset,
        committed_metadata: Some("x".repeat(TEXT)),
        ..Default::default()
    };
    let topic =
        OffsetCommitRequestTopic { name: "orders".to_owned(), partitions: vec![part], ..Default::default() };
    let body =
        m::OffsetCommitRequest { group_id: group.to_owned(), topics: vec![topic], ..Default::default() };
    let response = broker.client().ask(AsIs::<_, 8>(body));
    ErrorCode::from_wire(response.topics[0].partitions[0].error_code).expect("a code")
}

/// What is committed for a partition of "orders".
fn committed(broker: &Broker, group: &str, partition: i32) -> Result<i64, ErrorCode> {
    let topic = OffsetFetchRequestTopics {
        name: "orders".to_owned(),
        partition_indexes: vec![partition],
        ..Default::default()
    };
    let group = OffsetFetchRequestGroup {
        group_id: group.to_owned(),
        topics: Some(vec![topic]),
        ..Default::default()
    };
    let body = m::OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let response = broker.client().ask(AsIs::<_, 8>(body));
    match ErrorCode::from_wire(response.groups[0].error_code).expect("a code") {
        ErrorCode::None => Ok(response.groups[0].topics[0].partitions[0].committed_offset),
        error => Err(error),
    }
}

#[test]
fn all_that_was_committed_is_loaded_in_pieces_whatever_memory_readers_have() {
    for memory in ["0", "100", "67108864"] {
        let broker = of(vec![("aplomb.fetch.memory.bytes", memory), ("log.roll.ms", "1000")]);
        // Several pieces, several segments.
        for n in 0..120 {
            assert_eq!(commit(&broker, &format!("g{}", n % 40), n % 4, n.into()), ErrorCode::None);
            broker.advance(SECOND / 10);
        }
        for kill in [true, false] {
            if kill {
                broker.kill()
            } else {
                broker.stop()
            }
            broker.restart_at_once();
            broker.advance(5 * SECOND);
            for n in 80..120 {
                assert_eq!(committed(&broker, &format!("g{}", n % 40), n % 4), Ok(n.into()), "of {memory}");
            }
        }
    }
}

#[test]
fn a_coordinator_whose_partition_has_no_directory_yet_begins_with_the_next_process() {
    for power in [false, true] {
        let broker = Broker::of(Setup {
            disks: 2,
            settings: vec![("offsets.topic.num.partitions", "8")],
            ..Setup::default()
        });
        broker.has(CreateTopic::named("orders").partitions(4));
        broker.disk(1).freeze();
        // The topic has eight partitions, some of them on a disk that makes no directory.
        find(&broker);
        broker.advance(SECOND / 5);
        if power {
            broker.cut_power()
        } else {
            broker.kill()
        }
        broker.disk(1).thaw();
        broker.restart_at_once();
        find(&broker);
        broker.advance(SECOND);
        for group in 0..20 {
            assert_eq!(commit(&broker, &format!("g{group}"), 0, 7), ErrorCode::None, "g{group}");
        }
    }
}

/// What an operator can do to the topic of offsets: old records go.
fn let_records_go(broker: &Broker) {
    let altered = broker.client().ask(Alter::topic(OFFSETS, "cleanup.policy", "delete"));
    assert_eq!(altered.error, ErrorCode::None);
    broker.advance(SECOND);
}

#[test]
fn a_coordinator_whose_log_begins_later_while_it_is_loaded_goes_on_from_there() {
    let broker = of(Vec::new());
    let_records_go(&broker);
    for n in 0..120 {
        assert_eq!(commit(&broker, "g", n % 4, n.into()), ErrorCode::None);
    }
    broker.stop();
    broker.restart_at_once();
    let is_loading = || committed(&broker, "g", 0) == Err(ErrorCode::CoordinatorLoadInProgress);
    let mut steps = 0;
    while broker.client().ask(DeleteRecords::before(OFFSETS, 110)).error != ErrorCode::None {
        broker.advance(MS / 50);
        steps += 1;
        assert!(steps < 10_000, "the partition is never loaded");
    }
    assert!(is_loading(), "its coordinator was loaded as fast as the partition");
    broker.advance(SECOND);
    assert_eq!(committed(&broker, "g", 0), Ok(116));
    assert_eq!(commit(&broker, "g", 0, 5), ErrorCode::None);
}
