//! What a clean stop notes of logs, and when a start goes by it. In a build with assertions each
//! log that is loaded so is compared with what its files hold.

use aplomb_disk_api::sim::ServiceTimes;
use aplomb_disk_api::{FileName, PatientDisk};
use aplomb_model::ErrorCode;

use crate::support::{Batch, Broker, CreateTopic, DeleteRecords, InitProducerId, MS, Produce, SECOND, Setup};

const NOTES: &str = ".aplomb-closed-logs";

/// Two shards, two disks, and a topic of eight partitions with a record each.
fn broker() -> Broker {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(8));
    let client = broker.client();
    (0..8).for_each(|partition| {
        assert_eq!(client.ask(Produce::to(("orders", partition), "kept")).error, ErrorCode::None);
    });
    broker
}

/// The disk that a partition is on, and its directory.
fn place(broker: &Broker, partition: i32) -> (usize, String) {
    let directory = format!("orders-{partition}");
    (broker.disks_with(&directory)[0], directory)
}

/// All of them have their record, and take others.
fn all_go_on(broker: &Broker) {
    let client = broker.client();
    for partition in 0..8 {
        assert_eq!(client.read(("orders", partition), 0)[0], "kept");
        assert_eq!(client.ask(Produce::to(("orders", partition), "more")).error, ErrorCode::None);
    }
}

#[test]
fn a_start_after_a_clean_stop_goes_by_what_it_noted() {
    let broker = broker();
    for _ in 0..3 {
        broker.stop();
        assert_eq!(broker.disks_with(NOTES), [0, 1]);
        broker.restart();
        assert_eq!(broker.noted(), 8);
        assert_eq!(broker.disks_with(NOTES), [0; 0], "it counts once");
        all_go_on(&broker);
    }
    broker.stop();
    broker.restart();
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 8, "nothing was written in between");
}

#[test]
fn what_all_shards_note_is_there_before_the_marker_is() {
    let broker = Broker::of(Setup { shards: 4, mail_takes: MS, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(40));
    (0..40).for_each(|partition| {
        assert_eq!(broker.client().ask(Produce::to(("orders", partition), "kept")).error, ErrorCode::None);
    });
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 40);
}

#[test]
fn after_a_kill_files_are_looked_into() {
    let broker = broker();
    broker.stop();
    broker.restart();
    all_go_on(&broker);
    broker.kill();
    broker.restart();
    assert_eq!(broker.noted(), 0);
    all_go_on(&broker);
}

#[test]
fn a_log_whose_directory_or_last_segment_was_changed_is_looked_into() {
    let broker = broker();
    broker.advance(10 * SECOND);
    broker.stop();
    let (disk, directory) = place(&broker, 2);
    let index = format!("{directory}/00000000000000000000.index");
    broker.disk(disk).remove(&FileName::new(index.as_str())).expect("it is there");
    let (disk, directory) = place(&broker, 5);
    let log = FileName::new(format!("{directory}/00000000000000000000.log"));
    let size = broker.len(disk, log.as_str());
    broker.disk(disk).write(&log, size, b"what is no batch").expect("the disk is well");
    broker.restart();
    assert_eq!(broker.noted(), 6);
    assert_eq!(broker.len(disk, log.as_str()), size, "it was cut");
    all_go_on(&broker);
    broker.advance(10 * SECOND);
    assert!(broker.disks_with(&index).len() == 1, "it was made again");
}

#[test]
fn a_copy_of_a_log_directory_is_looked_into() {
    let broker = broker();
    broker.stop();
    let (disk, directory) = place(&broker, 3);
    let log = format!("{directory}/00000000000000000000.log");
    let bytes = broker.disk(disk).file(&log).expect("it is there");
    broker.put(disk, &log, bytes);
    broker.restart();
    assert_eq!(broker.noted(), 7);
    all_go_on(&broker);
}

#[test]
fn what_was_noted_counts_only_with_its_own_marker() {
    let broker = broker();
    broker.stop();
    // As if another broker had run since.
    broker.put(0, ".kafka_cleanshutdown", r#"{"version":0,"brokerEpoch":999}"#);
    broker.put(1, ".kafka_cleanshutdown", "");
    broker.restart();
    assert_eq!(broker.noted(), 0);
    assert_eq!(broker.disks_with(NOTES), [0; 0]);
    all_go_on(&broker);
}

#[test]
fn notes_that_are_damaged_are_told_and_not_believed() {
    let broker = broker();
    broker.stop();
    let mut bytes = broker.disk(0).file(NOTES).expect("it is there").to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    broker.put(0, NOTES, bytes);
    broker.restart();
    let of_other = (0..8).filter(|partition| place(&broker, *partition).0 == 1).count();
    assert!((1..8).contains(&of_other), "both disks have some");
    assert_eq!(broker.noted(), of_other);
    all_go_on(&broker);
}

#[test]
fn a_log_with_files_that_wait_to_be_deleted_is_looked_into() {
    let settings = vec![("log.retention.check.interval.ms", "1000")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2).with("internal.segment.bytes", "2000"));
    let client = broker.client();
    let large = "x".repeat(1200);
    for partition in 0..2 {
        for _ in 0..4 {
            client.ask(Produce::to(("orders", partition), large.as_str()));
        }
    }
    assert_eq!(client.ask(DeleteRecords::before(("orders", 0), 3)).error, ErrorCode::None);
    broker.advance(20 * SECOND); // not as long as log.segment.delete.delay.ms
    assert_ne!(broker.file_with(0, ".deleted"), None);
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 1);
    assert_eq!(broker.file_with(0, ".deleted"), None, "the start has deleted them");
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 2);
}

#[test]
fn producers_are_known_after_it() {
    let broker = broker();
    let client = broker.client();
    let producer = client.ask(InitProducerId);
    let batch = |sequence| Produce::to(("orders", 1), Batch::from("once").by(producer, sequence));
    assert_eq!(client.ask(batch(0)).error, ErrorCode::None);
    let second = client.ask(batch(1));
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 8);
    let client = broker.client();
    let again = client.ask(batch(1));
    assert_eq!((again.error, again.base), (ErrorCode::None, second.base), "it is there already");
    assert_eq!(client.ask(batch(3)).error, ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(client.ask(batch(2)).base, second.base + 1);
}

#[test]
fn a_stop_in_the_middle_of_a_checkpoint_makes_another() {
    for tenths in 45..75 {
        let settings = vec![("aplomb.recovery.point.interval.ms", "5000")];
        let broker = Broker::of(Setup { disks: 2, settings, ..Setup::default() });
        broker.has_on_disk(1, CreateTopic::named("orders"));
        let client = broker.client();
        let producer = client.ask(InitProducerId);
        let batch = |sequence| Produce::to("orders", Batch::from("once").by(producer, sequence));
        assert_eq!(client.ask(batch(0)).error, ErrorCode::None);
        broker.disk(1).set_service(ServiceTimes::default().slower_by(SECOND / 2));
        broker.advance(SECOND * tenths / 10);
        assert_eq!(client.ask(batch(1)).error, ErrorCode::None);
        broker.stop();
        broker.restart();
        assert_eq!(broker.noted(), 1, "stopped after {tenths} tenths");
        assert_eq!(broker.disks_with("orders-0/00000000000000000002.snapshot"), [1]);
    }
}

#[test]
fn where_there_is_little_room_a_stop_notes_nothing_and_is_clean() {
    let broker = Broker::start();
    broker.has_topic("orders");
    assert_eq!(broker.client().ask(Produce::to("orders", "kept")).error, ErrorCode::None);
    let used: usize = broker.disk(0).image().values().map(|content| content.len()).sum();
    broker.disk(0).set_capacity(used as u64 + 100_000);
    broker.advance(20 * SECOND); // the disk is asked how much room it has
    broker.stop();
    assert_eq!(broker.disks_with(".kafka_cleanshutdown"), [0]);
    broker.restart();
    assert_eq!(broker.noted(), 0);
    assert_eq!(broker.client().read("orders", 0), ["kept"]);
}
