//! Files that an operator deletes under a running broker: nothing that fell into them is called
//! durable, and their log directory goes out of service.

use aplomb_model::ErrorCode;

use crate::support::{Broker, CreateTopic, DeleteTopic, Produce, SECOND};

/// "orders" on the second disk, "payments" on the first, both with a record that is on the disk.
fn with_a_topic_on_each_disk(orders: CreateTopic) -> Broker {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, orders);
    broker.has_on_disk(0, CreateTopic::named("payments"));
    for topic in ["orders", "payments"] {
        assert_eq!(broker.client().ask(Produce::to(topic, "one")).error, ErrorCode::None);
    }
    broker.advance(2 * SECOND);
    broker
}

/// The second disk is out of service, the first one is well.
fn expect_loss_of_the_second(broker: &Broker) {
    assert!(broker.logs("log directory /disk1 is offline"));
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("orders", "late")).error, ErrorCode::KafkaStorageError);
    assert_eq!(client.ask(Produce::to("payments", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    assert_eq!(broker.disk(0).lost(), None);
}

#[test]
fn what_is_to_be_synced_is_not_acknowledged_when_its_directory_vanished() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders").with("flush.messages", "1"));
    broker.disk(1).vanish(Some("orders-0"));
    let produced = broker.client().send(Produce::to("orders", "two"));
    broker.advance(2 * SECOND);
    assert_eq!(produced.answer().error, ErrorCode::KafkaStorageError);
    expect_loss_of_the_second(&broker);
}

#[test]
fn a_partition_that_vanished_takes_its_disk_out_of_service_with_the_next_round() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    broker.disk(1).vanish(Some("orders-0"));
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    expect_loss_of_the_second(&broker);
}

#[test]
fn a_checkpoint_of_a_partition_that_vanished_takes_its_disk_out_of_service() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    broker.disk(1).vanish(Some("orders-0"));
    broker.advance(100 * SECOND);
    assert!(broker.logs("orders-0/leader-epoch-checkpoint.tmp does not exist"));
    expect_loss_of_the_second(&broker);
}

#[test]
fn a_segment_that_vanished_takes_its_disk_out_of_service_with_the_next_write() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    broker.disk(1).vanish(Some("orders-0/00000000000000000000.log"));
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    assert!(broker.logs("orders-0/00000000000000000000.log does not exist"));
    expect_loss_of_the_second(&broker);
}

#[test]
fn a_log_directory_that_vanished_is_out_of_service_with_the_next_round() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    broker.disk(1).vanish(None);
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    expect_loss_of_the_second(&broker);
}

#[test]
fn what_was_acknowledged_before_a_partition_vanished_is_not_forgotten_by_memory() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.disk(1).vanish(Some("orders-0"));
    broker.advance(2 * SECOND);
    assert!(broker.disk(1).lost().is_some(), "bytes were called durable that are nowhere");
}

#[test]
fn a_partition_that_vanished_can_be_deleted_and_made_again() {
    let broker = with_a_topic_on_each_disk(CreateTopic::named("orders"));
    broker.disk(1).vanish(Some("orders-0"));
    let client = broker.client();
    assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    broker.advance(100 * SECOND);
    broker.has_on_disk(1, CreateTopic::named("orders"));
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
    broker.advance(2 * SECOND);
    assert_eq!(client.read("orders", 0), ["new"]);
    assert_eq!(broker.disk(1).lost(), None);
}
