//! Partitions that move from one log directory to another.

use aplomb_disk_api::sim::{Fault, ServiceTimes, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{Broker, CreateTopic, DeleteTopic, DescribeLogDirs, MoveReplica, Produce, SECOND};

/// A broker with a topic "orders" on its first disk that begins to move to the second, which is slow: the move
/// is under way.
fn a_move() -> Broker {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(0, CreateTopic::named("orders"));
    let client = broker.client();
    for value in ["one", "two", "three"] {
        client.ask(Produce::to("orders", value));
    }
    broker.advance(2 * SECOND);
    broker.disk(1).set_service(ServiceTimes::default().slower_by(SECOND));
    assert_eq!(client.ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    assert!(is_moving(&broker));
    broker
}

/// Whether DescribeLogDirs shows a copy of "orders" on the second disk.
fn is_moving(broker: &Broker) -> bool {
    let directories = broker.client().ask(DescribeLogDirs);
    directories[1].replicas.iter().any(|replica| replica.topic == "orders" && replica.is_future)
}

fn directories_of_orders(broker: &Broker) -> Vec<usize> {
    let directories = broker.client().ask(DescribeLogDirs);
    let has = |n: &usize| directories[*n].replicas.iter().any(|replica| replica.topic == "orders");
    (0..directories.len()).filter(has).collect()
}

#[test]
fn a_partition_moves_while_it_is_produced_to() {
    let broker = a_move();
    assert_eq!(broker.client().ask(Produce::to("orders", "four")).error, ErrorCode::None);
    broker.advance(60 * SECOND);
    assert_eq!(directories_of_orders(&broker), [1]);
    assert_eq!(broker.disks_with("orders-0"), [1]);
    assert_eq!(broker.client().read("orders", 0), ["one", "two", "three", "four"]);

    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one", "two", "three", "four"]);
}

#[test]
fn a_partition_whose_target_is_lost_in_mid_move_stays_where_it_is() {
    let broker = a_move();
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.advance(60 * SECOND);
    assert!(broker.disk(1).lost().is_some());
    assert_eq!(directories_of_orders(&broker), [0]);
    assert_eq!(broker.client().ask(Produce::to("orders", "four")).error, ErrorCode::None);
    assert_eq!(broker.client().read("orders", 0), ["one", "two", "three", "four"]);
}

#[test]
fn a_partition_whose_source_is_lost_in_mid_move_is_offline() {
    let broker = a_move();
    broker.disk(0).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.client().ask(Produce::to("orders", "four"));
    broker.advance(60 * SECOND);
    let refused = broker.client().ask(Produce::to("orders", "five"));
    assert_eq!(refused.error, ErrorCode::KafkaStorageError);

    broker.kill();
    broker.restart(); // the disk is well again
    assert_eq!(broker.client().read("orders", 0), ["one", "two", "three", "four"]);
}

#[test]
fn a_topic_deleted_in_mid_move_leaves_nothing_on_either_disk() {
    let broker = a_move();
    assert_eq!(broker.client().ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    broker.advance(200 * SECOND); // file.delete.delay.ms, and what slow commands take
    let left: Vec<String> = (0..2).flat_map(|disk| broker.disk(disk).image().into_keys()).collect();
    assert_eq!(left.iter().find(|file| file.contains("orders")), None);
}

#[test]
fn a_partition_is_told_to_stay_in_mid_move() {
    let broker = a_move();
    assert_eq!(broker.client().ask(MoveReplica::of("orders", 0)).error, ErrorCode::None);
    broker.advance(60 * SECOND);
    assert_eq!(directories_of_orders(&broker), [0]);
    assert_eq!(broker.disks_with("orders-0"), [0]);
    assert_eq!(broker.client().ask(Produce::to("orders", "four")).base, 3);
}
