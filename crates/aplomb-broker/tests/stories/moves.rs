//! Partitions that move from one log directory to another.

use aplomb_disk_api::sim::{Fault, ServiceTimes, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Batch, Broker, CreateTopic, DeleteRecords, DeleteTopic, DescribeLogDirs, DescribeProducers,
    InitProducerId, ListOffsets, MS, MoveReplica, NEW_YEAR, Produce, SECOND, Setup,
};

/// A broker with a topic "orders" on its first disk that begins to move to the second, which is
/// slow: the move is under way.
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
fn the_snapshot_of_its_producers_stays_where_a_log_has_moved_to() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(0, CreateTopic::named("orders"));
    let client = broker.client();
    let producer = client.ask(InitProducerId);
    let batch = |sequence| Produce::to("orders", Batch::from("once").by(producer, sequence));
    assert_eq!(client.ask(batch(0)).error, ErrorCode::None);
    broker.advance(200 * SECOND); // there are checkpoints on the one disk
    assert_eq!(client.ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
    broker.advance(200 * SECOND); // and on the other
    assert_eq!(broker.disks_with("orders-0/00000000000000000001.snapshot"), [1]);
    assert_eq!(client.ask(DeleteRecords::before("orders", 1)).error, ErrorCode::None);
    broker.kill();
    broker.restart();
    let client = broker.client();
    assert_eq!(client.ask(batch(0)).base, 0, "it is there already");
    assert_eq!(client.ask(batch(1)).base, 1);
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
fn a_partition_whose_copy_vanishes_in_mid_move_stays_where_it_is() {
    let mut vanished = 0;
    for half_seconds in 0..60 {
        let broker = a_move();
        broker.advance(500 * MS * half_seconds);
        let Some(file) = broker.file_with(1, "-future/") else { continue };
        let (directory, _) = file.split_once('/').expect("it is in a directory");
        broker.disk(1).vanish(Some(directory));
        vanished += 1;
        broker.advance(100 * SECOND);
        broker.cut_power();
        broker.restart();
        assert_eq!(broker.client().read("orders", 0), ["one", "two", "three"], "{half_seconds}");
    }
    assert!(vanished > 10, "the copy was there {vanished} times");
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
    (0..2).for_each(|disk| assert_eq!(broker.file_with(disk, "orders"), None));
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

/// A broker of two shards with a topic "orders" of eight partitions on its first disk. Each has
/// several segments, the state of a producer, and only its end in memory.
fn of_large_partitions(settings: Vec<(&'static str, &'static str)>) -> (Broker, Vec<String>) {
    let setup = Setup { shards: 2, disks: 2, chunks: 128, settings, ..Setup::default() };
    let broker = Broker::of(setup);
    let client = broker.client();
    (0..8).for_each(|partition| {
        client.ask(MoveReplica::of(("orders", partition), 0));
    });
    broker.has(CreateTopic::named("orders").partitions(8).with("segment.ms", "1000"));
    let producer = client.ask(InitProducerId);
    let values: Vec<String> = (0..20).map(|n| format!("{n}-{}", "x".repeat(5000))).collect();
    for (n, value) in (0..).zip(&values) {
        for partition in 0..8 {
            let batch = Batch::from(value.as_str()).at(NEW_YEAR + i64::from(n) * 500).by(producer, n);
            assert_eq!(client.ask(Produce::to(("orders", partition), batch)).error, ErrorCode::None);
        }
        broker.advance(500 * MS);
    }
    (broker, values)
}

fn move_all(broker: &Broker, disk: usize) {
    for partition in 0..8 {
        let moved = broker.client().ask(MoveReplica::of(("orders", partition), disk));
        assert_eq!(moved.error, ErrorCode::None);
    }
}

/// The disks on which the directories of all partitions are.
fn places(broker: &Broker) -> Vec<Vec<usize>> {
    (0..8).map(|partition| broker.disks_with(&format!("orders-{partition}"))).collect()
}

#[test]
fn partitions_that_are_larger_than_memory_move_with_all_their_state() {
    let (broker, values) = of_large_partitions(Vec::new());
    move_all(&broker, 1);
    broker.advance(30 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    let client = broker.client();
    (0..8).for_each(|partition| assert_eq!(client.read(("orders", partition), 0), values));
    let known = client.ask(DescribeProducers(("orders", 3).into())).expect("it is online");
    assert_eq!(known.len(), 1);

    broker.kill();
    broker.restart();
    let client = broker.client();
    (0..8).for_each(|partition| assert_eq!(client.read(("orders", partition), 0), values));
    assert_eq!(client.ask(DescribeProducers(("orders", 3).into())), Ok(known));
    broker.advance(100 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
}

#[test]
fn moves_are_no_faster_than_allowed() {
    let rate = ("replica.alter.log.dirs.io.max.bytes.per.second", "100000");
    let (broker, values) = of_large_partitions(vec![rate]);
    move_all(&broker, 1);
    broker.advance(5 * SECOND); // more than 800,000 bytes
    assert!(places(&broker).concat().contains(&0), "not all can be there yet");
    broker.advance(10 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    (0..8).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), values));
}

#[test]
fn moves_that_are_called_back_leave_no_copy() {
    let (broker, values) = of_large_partitions(Vec::new());
    move_all(&broker, 1);
    broker.advance(MS);
    move_all(&broker, 0);
    broker.advance(100 * SECOND);
    assert_eq!(places(&broker), vec![[0]; 8]);
    assert_eq!(broker.file_with(1, "orders"), None);
    (0..8).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), values));
}

#[test]
fn moves_that_are_called_back_and_ordered_again_end_there() {
    let (broker, values) = of_large_partitions(Vec::new());
    for disk in [1, 0, 1, 1] {
        move_all(&broker, disk);
        broker.advance(2 * MS);
    }
    broker.advance(100 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    (0..8).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), values));
}

#[test]
fn a_frozen_target_holds_up_its_moves_and_nothing_else() {
    let (broker, values) = of_large_partitions(Vec::new());
    broker.disk(1).freeze();
    move_all(&broker, 1);
    broker.advance(10 * SECOND);
    let client = broker.client();
    assert_eq!(client.ask(Produce::to(("orders", 2), "now")).error, ErrorCode::None);
    assert_eq!(client.read(("orders", 3), 0), values);
    broker.disk(1).thaw();
    broker.advance(30 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    assert_eq!(client.read(("orders", 2), 20), ["now"]);
}

#[test]
fn a_stop_leaves_moves_as_they_are_and_the_next_process_goes_on_with_them() {
    let (broker, values) = of_large_partitions(Vec::new());
    move_all(&broker, 1);
    broker.advance(2 * MS);
    broker.stop();
    broker.restart();
    (0..8).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), values));
    broker.advance(30 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    (0..8).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), values));
}

#[test]
fn topics_deleted_and_made_again_in_mid_move_have_nothing_of_the_old_ones() {
    for delay in [0, 1, 2, 4, 8, 16, 32] {
        let (broker, _) = of_large_partitions(Vec::new());
        move_all(&broker, 1);
        broker.advance(delay * MS);
        assert_eq!(broker.client().ask(DeleteTopic::named("orders")).error, ErrorCode::None);
        broker.has(CreateTopic::named("orders").partitions(8));
        for partition in 0..8 {
            assert_eq!(broker.client().ask(Produce::to(("orders", partition), "new")).base, 0);
        }
        broker.advance(100 * SECOND);
        broker.kill();
        broker.restart();
        for partition in 0..8 {
            assert_eq!(broker.client().read(("orders", partition), 0), ["new"], "after {delay} ms");
        }
    }
}

#[test]
fn records_deleted_in_mid_move_are_gone_on_the_new_disk() {
    for delay in [0, 1, 2, 4, 8, 16, 32] {
        let (broker, values) = of_large_partitions(Vec::new());
        move_all(&broker, 1);
        broker.advance(delay * MS);
        let deleted = broker.client().ask(DeleteRecords::before(("orders", 5), 11));
        assert_eq!((deleted.error, deleted.log_start), (ErrorCode::None, 11));
        broker.advance(30 * SECOND);
        broker.kill();
        broker.restart();
        let client = broker.client();
        assert_eq!(client.ask(ListOffsets::at(("orders", 5), -2)).offset, 11, "after {delay} ms");
        assert_eq!(client.read(("orders", 5), 11), values[11..]);
    }
}

#[test]
fn a_damaged_partition_does_not_move() {
    let (broker, _) = of_large_partitions(Vec::new());
    broker.overwrite(0, "orders-0/00000000000000000000.log", 100, &[0xff; 6000]);
    assert_eq!(broker.client().ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
    broker.advance(30 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [0]);
    assert!(broker.logs("orders-0 cannot be moved"));
    assert_eq!(broker.client().ask(Produce::to("orders", "now")).error, ErrorCode::None);
}

#[test]
fn a_target_lost_after_the_change_loses_nothing() {
    for delay in (0..40).step_by(3) {
        let broker = Broker::on_two_disks();
        broker.has_on_disk(0, CreateTopic::named("orders"));
        let client = broker.client();
        ["one", "two"].into_iter().for_each(|value| {
            client.ask(Produce::to("orders", value));
        });
        broker.advance(2 * SECOND);
        assert_eq!(client.ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
        broker.advance(delay * MS);
        broker.disk(1).fail(Fault::default());
        broker.advance(10 * SECOND);
        broker.kill();
        broker.restart(); // the disk is well again
        broker.advance(10 * SECOND);
        assert_eq!(broker.client().read("orders", 0), ["one", "two"], "lost after {delay} ms");
    }
}

#[test]
fn what_cannot_move_is_refused() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.has_on_disk(0, CreateTopic::named("payments"));
    let client = broker.client();
    let error = |ask: MoveReplica| client.ask(ask).error;
    assert_eq!(error(MoveReplica::of("orders", 1)), ErrorCode::None, "it is there");
    assert_eq!(error(MoveReplica::of("orders", 2)), ErrorCode::LogDirNotFound);
    assert_eq!(error(MoveReplica::of(("orders", 4), 1)), ErrorCode::UnknownTopicOrPartition);

    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    client.ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    assert_eq!(error(MoveReplica::of("payments", 1)), ErrorCode::KafkaStorageError);
    assert_eq!(error(MoveReplica::of("orders", 0)), ErrorCode::KafkaStorageError);
}

/// A broker with the metadata log on its first disk, and a topic "orders" on its third, of which
/// the metadata says that it is on the second: the metadata disk froze in mid-move.
fn moved_without_metadata() -> Broker {
    let broker = Broker::of(Setup { disks: 3, shards: 2, ..Setup::default() });
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    broker.client().ask(MoveReplica::of("orders", 2));
    while !broker.disks_with("orders-0").contains(&2) {
        broker.advance(MS / 10);
    }
    broker.disk(0).freeze();
    broker.advance(2 * SECOND);
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [1, 2]);
    broker
}

#[test]
fn a_move_keeps_the_old_files_until_the_metadata_says_where_the_new_ones_are() {
    let broker = moved_without_metadata();
    broker.disk(0).thaw();
    broker.advance(20 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [2]);
    assert_eq!(broker.client().read("orders", 0), ["one", "two"]);
}

#[test]
fn of_two_directories_of_a_partition_the_one_that_reaches_further_is_the_log() {
    let broker = moved_without_metadata();
    broker.cut_power();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one", "two"]);
    broker.advance(100 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [2]);
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one", "two"]);
}

#[test]
fn what_a_move_has_left_behind_is_no_log_while_the_new_disk_is_away() {
    let broker = Broker::of(Setup { disks: 3, shards: 2, ..Setup::default() });
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    broker.client().ask(MoveReplica::of("orders", 2));
    while !broker.disks_with("orders-0").contains(&2) {
        broker.advance(MS / 10);
    }
    broker.disk(1).freeze();
    broker.advance(2 * SECOND);
    assert_eq!(broker.client().ask(Produce::to("orders", "two")).error, ErrorCode::None);
    broker.advance(2 * SECOND);
    broker.disk(1).fail(Fault::default());
    broker.disk(1).thaw();
    broker.advance(2 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [1, 2]);
    broker.stop();

    broker.restart_without_the_last_disk();
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("orders", "three")).error, ErrorCode::KafkaStorageError);
    broker.advance(20 * SECOND);
    broker.stop();

    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one", "two"]);
    broker.advance(20 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [2]);
}

#[test]
fn a_topic_deleted_while_it_has_two_directories_leaves_none() {
    let broker = moved_without_metadata();
    let deleted = broker.client().send(DeleteTopic::named("orders"));
    broker.disk(0).thaw();
    assert_eq!(deleted.wait().error, ErrorCode::None);
    broker.advance(100 * SECOND);
    for disk in 0..3 {
        assert_eq!(broker.file_with(disk, "orders"), None);
    }
}

#[test]
fn more_moves_than_copy_at_once_take_their_turns() {
    let broker = Broker::on_two_disks();
    let client = broker.client();
    (0..8).for_each(|partition| {
        client.ask(MoveReplica::of(("orders", partition), 0));
    });
    broker.has(CreateTopic::named("orders").partitions(8));
    for partition in 0..8 {
        client.ask(Produce::to(("orders", partition), "one"));
    }
    broker.advance(2 * SECOND);
    move_all(&broker, 1);
    broker.advance(10 * SECOND);
    assert_eq!(places(&broker), vec![[1]; 8]);
    (0..8).for_each(|partition| assert_eq!(client.read(("orders", partition), 0), ["one"]));
}
