//! Coordinators of groups: what they have committed is there when they are loaded again.

use aplomb_model::batch::BatchBuilder;
use aplomb_model::{ErrorCode, Offset, Timestamp};
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use aplomb_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};

use crate::support::{
    Alter, AsIs, Batch, Broker, CreateTopic, DeleteRecords, Fetch, MS, Produce, SECOND, Setup,
};

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
fn what_is_committed_has_to_fit_into_a_batch_as_the_settings_say_now() {
    let broker = of(Vec::new());
    let set = |alter: Alter| {
        assert_eq!(broker.client().ask(alter).error, ErrorCode::None);
        broker.advance(SECOND);
    };
    assert_eq!(commit(&broker, "g", 0, 1), ErrorCode::None);
    set(Alter::brokers("message.max.bytes", "2000"));
    assert_eq!(commit(&broker, "g", 0, 2), ErrorCode::InvalidCommitOffsetSize);
    set(Alter::topic(OFFSETS, "max.message.bytes", "5000"));
    assert_eq!(commit(&broker, "g", 0, 3), ErrorCode::None);
    set(Alter::topic(OFFSETS, "max.message.bytes", "1000"));
    assert_eq!(commit(&broker, "g", 0, 4), ErrorCode::InvalidCommitOffsetSize);
    broker.stop();
    broker.restart();
    find(&broker);
    broker.advance(SECOND);
    assert_eq!(commit(&broker, "g", 0, 5), ErrorCode::InvalidCommitOffsetSize);
    assert_eq!(committed(&broker, "g", 0), Ok(3));
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

/// Commits offset 7 of "orders"-0 for a group, as one who writes to the coordinator's log itself.
fn write_behind_its_back(broker: &Broker, groups: &[&str]) {
    let text = |text: &str| [&(text.len() as u16).to_be_bytes(), text.as_bytes()].concat();
    let mut batch = BatchBuilder::new(Offset::ZERO);
    for group in groups {
        // Version 1: group, topic, partition. Version 3: offset, epoch, text, time.
        let key = [&[0, 1], &text(group)[..], &text("orders"), &[0; 4]].concat();
        let value = [&[0, 3, 0, 0, 0, 0, 0, 0, 0, 7], &[0xff; 4][..], &text("by hand"), &[0; 8]].concat();
        batch.append(Timestamp(1), Some(&key), Some(&value), &[]);
    }
    let produced = broker
        .client()
        .named("__admin_client")
        .ask(Produce::to((OFFSETS, 0), Batch::as_it_is(batch.build())));
    assert_eq!(produced.error, ErrorCode::None);
}

#[test]
fn a_coordinator_whose_log_a_client_writes_to_reads_it_again_and_goes_on() {
    let broker = of(Vec::new());
    assert_eq!(commit(&broker, "g", 0, 1), ErrorCode::None);
    for (n, foreign) in [&["h"][..], &["i", "j"]].into_iter().enumerate() {
        write_behind_its_back(&broker, foreign);
        let n = n as i64 + 2;
        assert_eq!(
            commit(&broker, "g", 0, n),
            ErrorCode::NotCoordinator,
            "it is found out, and nothing is kept"
        );
        broker.advance(SECOND);
        assert_eq!(committed(&broker, "g", 0), Ok(n - 1));
        assert_eq!(commit(&broker, "g", 0, n), ErrorCode::None);
        for group in foreign {
            assert_eq!(committed(&broker, group, 0), Ok(7));
        }
    }
    broker.stop();
    broker.restart_at_once();
    broker.advance(SECOND);
    assert_eq!((committed(&broker, "g", 0), committed(&broker, "j", 0)), (Ok(3), Ok(7)));
}

#[test]
fn nothing_that_comes_behind_a_write_that_was_overtaken_is_kept() {
    let broker = of(Vec::new());
    let asked: Vec<_> = {
        write_behind_its_back(&broker, &["h"]);
        let part = |offset| OffsetCommitRequestPartition { committed_offset: offset, ..Default::default() };
        let topic = |offset| OffsetCommitRequestTopic {
            name: "orders".to_owned(),
            partitions: vec![part(offset)],
            ..Default::default()
        };
        let body = |offset| m::OffsetCommitRequest {
            group_id: format!("g{offset}"),
            topics: vec![topic(offset)],
            ..Default::default()
        };
        (0..3).map(|offset| broker.client().send_along(AsIs::<_, 8>(body(offset)))).collect()
    };
    broker.advance(SECOND);
    for asked in asked {
        let code = asked.answer().topics[0].partitions[0].error_code;
        let told = ErrorCode::from_wire(code).expect("a code");
        assert!(matches!(told, ErrorCode::NotCoordinator | ErrorCode::CoordinatorLoadInProgress), "{told:?}");
    }
    for offset in 0..3 {
        assert_eq!(committed(&broker, &format!("g{offset}"), 0), Ok(-1));
    }
}

#[test]
fn a_coordinator_is_loaded_while_clients_that_take_nothing_have_all_memory_for_readers() {
    let broker = of(vec![("aplomb.fetch.memory.bytes", "100"), ("log.roll.ms", "1000")]);
    for n in 0..120 {
        assert_eq!(commit(&broker, &format!("g{n}"), 0, n), ErrorCode::None);
        broker.advance(SECOND / 10);
    }
    assert_eq!(broker.client().ask(Produce::to("orders", "old")).error, ErrorCode::None);
    broker.stop();
    broker.restart_at_once();
    broker.advance(5 * SECOND);
    // What it had was of the disk, and is on its way to a client that does not read.
    let unread = broker.client().send(Fetch::from("orders", 0));
    broker.advance(SECOND);
    assert!(!unread.is_waiting());
    write_behind_its_back(&broker, &["h"]);
    assert_eq!(commit(&broker, "g0", 0, 1), ErrorCode::NotCoordinator);
    broker.advance(5 * SECOND);
    assert_eq!((committed(&broker, "g0", 0), committed(&broker, "g119", 0)), (Ok(0), Ok(119)));
    assert_eq!(unread.answer().values(), ["old"]);
}
