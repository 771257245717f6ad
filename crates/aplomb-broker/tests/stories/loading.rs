//! Partitions that are loaded while clients are served.

use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Alter, Batch, Broker, CreateTopic, DeleteTopic, Fetch, InitProducerId, MS, Produce, SECOND,
};

/// More than are loaded at a time.
const MANY: i32 = 200;

/// With a record in each partition.
fn with_many_partitions() -> Broker {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").partitions(MANY));
    let client = broker.client();
    for partition in 0..MANY {
        client.ask(Produce::to(("orders", partition), "kept"));
    }
    broker.advance(10 * SECOND);
    broker
}

#[test]
fn a_partition_that_is_not_loaded_yet_is_to_be_asked_again() {
    let broker = with_many_partitions();
    for kill in [false, true] {
        if kill {
            broker.kill()
        } else {
            broker.stop()
        }
        broker.disk(0).freeze();
        broker.restart_at_once();
        let client = broker.client();
        let refused = client.ask(Produce::to(("orders", 7), "new"));
        assert_eq!(refused.error, ErrorCode::NotLeaderOrFollower);
        assert_eq!(client.ask(Fetch::from(("orders", 7), 0)).refusal(), ErrorCode::NotLeaderOrFollower);
        broker.disk(0).thaw();
        broker.advance(SECOND);
        assert_eq!(client.read(("orders", 7), 0)[0], "kept");
    }
    assert_eq!(broker.client().ask(Produce::to(("orders", 7), "new")).error, ErrorCode::None);
}

#[test]
fn a_batch_that_was_refused_because_of_a_load_comes_before_those_that_were_sent_behind_it() {
    let broker = with_many_partitions();
    let (new, known) = (broker.client().ask(InitProducerId), broker.client().ask(InitProducerId));
    let batch = |producer, sequence| Produce::to(("orders", 7), Batch::from("x").by(producer, sequence));
    assert_eq!(broker.client().ask(batch(known, 0)).error, ErrorCode::None);
    broker.kill();
    broker.disk(0).freeze();
    broker.restart_at_once();
    let client = broker.client();
    for (producer, first) in [(new, 0), (known, 1)] {
        let refused = [first, first + 1].map(|sequence| client.ask(batch(producer, sequence)).error);
        assert_eq!(refused, [ErrorCode::NotLeaderOrFollower; 2]);
    }
    broker.disk(0).thaw();
    broker.advance(SECOND);
    for (producer, first) in [(new, 0), (known, 1)] {
        // A client tries again what is out of order while one before it is not acknowledged.
        let behind = client.ask(batch(producer, first + 2)).error;
        assert_eq!(behind, ErrorCode::OutOfOrderSequenceNumber);
        let retries = [0, 1, 2].map(|n| client.ask(batch(producer, first + n)).error);
        assert_eq!(retries, [ErrorCode::None; 3]);
    }
}

#[test]
fn a_partition_that_is_asked_for_is_loaded_before_those_that_are_not() {
    let broker = with_many_partitions();
    broker.stop();
    broker.restart_at_once();
    let client = broker.client();
    let (wanted, other) = (MANY - 1, MANY - 2);
    let is_loaded =
        |partition| client.ask(Fetch::from(("orders", partition), 0)).refusal() == ErrorCode::None;
    // A million questions are one place in the line.
    for _ in 0..1_000 {
        assert!(!is_loaded(wanted));
    }
    let mut steps = 0;
    while !is_loaded(wanted) {
        broker.advance(MS / 10);
        steps += 1;
        assert!(steps < 10_000, "it is never loaded");
    }
    assert!(!is_loaded(other), "all were loaded before it");
    broker.advance(10 * SECOND);
    assert!(is_loaded(other));
}

#[test]
fn a_frozen_disk_holds_up_the_logs_on_it_and_no_others() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(0, CreateTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("payments"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.client().ask(Produce::to("payments", "one"));
    broker.stop();
    broker.disk(1).freeze();
    broker.restart_at_once();
    broker.advance(SECOND);
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("orders", "two")).base, 1);
    assert_eq!(client.ask(Produce::to("payments", "two")).error, ErrorCode::NotLeaderOrFollower);
    broker.disk(1).thaw();
    broker.advance(SECOND);
    assert_eq!(client.ask(Produce::to("payments", "two")).base, 1);
    assert_eq!(client.read("payments", 0), ["one", "two"]);
}

#[test]
fn a_topic_that_is_deleted_while_it_is_loaded_goes_and_can_be_made_again() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "old"));
    broker.stop();
    broker.disk(1).freeze();
    broker.restart_at_once();
    let client = broker.client();
    assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    broker.has_on_disk(1, CreateTopic::named("orders"));
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
    broker.disk(1).thaw();
    broker.advance(100 * SECOND);
    assert_eq!(client.read("orders", 0), ["new"]);
    assert_eq!(broker.file_with(1, "-delete/"), None);
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["new"]);
}

#[test]
fn a_topic_that_is_deleted_while_its_disk_is_lost_is_gone() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "old"));
    broker.stop();
    broker.disk(1).freeze();
    broker.restart_at_once();
    let client = broker.client();
    assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    broker.disk(1).fail(Fault::default());
    broker.disk(1).thaw();
    broker.advance(SECOND);
    broker.has_on_disk(0, CreateTopic::named("orders"));
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
}

#[test]
fn settings_that_change_while_a_partition_is_loaded_hold_for_it() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.stop();
    broker.disk(0).freeze();
    broker.restart_at_once();
    let client = broker.client();
    let asked = client.send(Alter::topic("orders", "max.message.bytes", "100"));
    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(asked.answer().error, ErrorCode::None);
    let large = "x".repeat(1_000);
    assert_eq!(client.ask(Produce::to("orders", large.as_str())).error, ErrorCode::MessageTooLarge);
}

#[test]
fn a_log_whose_load_meets_a_shortage_is_loaded_all_the_same() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "kept"));
    for after in 0..6 {
        broker.kill();
        broker.disk(0).freeze();
        broker.restart_at_once();
        broker.disk(0).run_short(Fault { name: Some("orders-0/".into()), after, ..Fault::default() });
        broker.disk(0).thaw();
        broker.advance(SECOND);
        assert_eq!(broker.client().read("orders", 0), ["kept"], "after {after}");
    }
}

#[test]
fn a_directory_that_is_put_aside_in_shortages_is_put_aside_all_the_same() {
    for after in 0..6 {
        let broker = Broker::on_two_disks();
        broker.has_on_disk(1, CreateTopic::named("orders"));
        broker.stop();
        broker.put(1, "orders-0/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAKg");
        broker.disk(1).freeze();
        broker.restart_at_once();
        broker.disk(1).run_short(Fault { after, ..Fault::default() });
        // The second attempt looks whether the first got as far as the new name.
        let operation = Some(SimOperation::List);
        broker.disk(1).run_short(Fault { operation, name: Some("-stray".into()), after: 0 });
        broker.disk(1).thaw();
        broker.advance(2 * SECOND);
        assert_eq!(broker.client().ask(Produce::to("orders", "new")).error, ErrorCode::None, "after {after}");
        assert_ne!(broker.file_with(1, "-stray/"), None, "after {after}");
    }
}

#[test]
fn logs_that_share_a_job_with_a_shortage_and_with_another_topics_directory_are_loaded_all_the_same() {
    for after in [0, 3] {
        let broker = with_many_partitions();
        broker.stop();
        broker.put(0, "orders-150/partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAKg");
        broker.disk(0).freeze();
        broker.restart_at_once();
        broker.disk(0).run_short(Fault { name: Some("orders-160/".into()), after, ..Fault::default() });
        broker.disk(0).thaw();
        broker.advance(5 * SECOND);
        let client = broker.client();
        for partition in 0..MANY {
            let expected: &[&str] = if partition == 150 { &[] } else { &["kept"] };
            assert_eq!(client.read(("orders", partition), 0), expected, "partition {partition}");
        }
    }
}

#[test]
fn a_log_that_vanishes_before_it_is_loaded_takes_its_disk_out_of_service() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "kept"));
    broker.stop();
    broker.disk(1).freeze();
    broker.restart_at_once();
    broker.disk(1).vanish(Some("orders-0"));
    broker.disk(1).thaw();
    broker.advance(SECOND);
    assert!(broker.logs("log directory /disk1 is offline"));
    assert_eq!(broker.client().ask(Produce::to("orders", "new")).error, ErrorCode::KafkaStorageError);
}

#[test]
fn a_partition_that_a_stopping_broker_does_not_load_any_more_is_to_be_asked_again() {
    let broker = with_many_partitions();
    broker.stop();
    broker.disk(0).freeze();
    broker.restart_at_once();
    let client = broker.client();
    broker.begin_stop();
    let fetch = client.ask(Fetch::from(("orders", 7), 0));
    assert_eq!(fetch.refusal(), ErrorCode::NotLeaderOrFollower, "it exists");
}
