//! How a process ends, and what the next one finds.

use std::time::Duration;

use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Batch, Broker, CreateTopic, DeleteTopic, Describe, Fetch, ListOffsets, MS, Produce, SECOND, Setup,
};

const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";

/// A broker with two shards and a topic of two partitions, "orders", of which each shard has one.
fn of_two_shards() -> Broker {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    broker
}

#[test]
fn everything_acknowledged_is_there_after_kill_9() {
    let broker = of_two_shards();
    let client = broker.client();
    (0..2).for_each(|disk| broker.disk(disk).freeze()); // so that only memory has it
    for partition in 0..2 {
        for value in ["one", "two", "three"] {
            assert_eq!(client.ask(Produce::to(("orders", partition), value)).error, ErrorCode::None);
        }
    }
    broker.kill();
    broker.restart();
    for partition in 0..2 {
        assert_eq!(broker.client().read(("orders", partition), 0), ["one", "two", "three"]);
    }
}

#[test]
fn what_was_synced_is_there_after_a_power_cut() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.client().ask(Produce::to("orders", "old"));
    broker.advance(2 * SECOND); // aplomb.flush.interval.ms, and what the sync takes
    broker.cut_power();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["old"]);
}

#[test]
fn a_stop_closes_cleanly_and_the_next_start_continues() {
    let broker = of_two_shards();
    assert_eq!(broker.client().ask(Produce::to("orders", "before")).error, ErrorCode::None);
    broker.stop();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0, 1]);

    broker.restart();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0; 0], "a crash from here on is none");
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("orders", "after")).base, 1);
    assert_eq!(client.read("orders", 0), ["before", "after"]);
}

#[test]
fn a_stop_answers_the_fetches_that_wait() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let poll = broker.client().send(Fetch::from("orders", 0).waiting_for(1, 100 * SECOND));
    broker.advance(SECOND);
    assert!(poll.is_waiting());
    broker.begin_stop();
    assert_eq!(poll.answer().refusal(), ErrorCode::None);
}

#[test]
fn a_fetch_that_comes_while_a_disk_holds_a_stop_up_is_answered_at_once() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    let client = broker.client();
    broker.disk(1).freeze();
    client.ask(Produce::to("orders", "in memory"));
    broker.begin_stop();
    assert!(!broker.is_stopped());
    let poll = client.send(Fetch::from("orders", 1).waiting_for(1, 100 * SECOND));
    assert_eq!(poll.answer().refusal(), ErrorCode::None);
}

#[test]
fn a_stop_waits_for_a_frozen_disk_and_ends_when_it_thaws() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.disk(1).freeze();
    broker.client().ask(Produce::to("orders", "in memory"));
    broker.begin_stop();
    broker.advance(20 * SECOND);
    assert!(!broker.is_stopped());

    broker.disk(1).thaw();
    broker.advance(SECOND);
    assert!(broker.is_stopped());
    broker.end();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0, 1]);
}

#[test]
fn a_stop_that_a_frozen_disk_holds_up_loses_nothing_when_it_is_killed() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.disk(1).freeze();
    broker.client().ask(Produce::to("orders", "in memory"));
    broker.begin_stop();
    broker.advance(20 * SECOND);
    broker.kill();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0; 0]);

    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["in memory"]);
}

#[test]
fn a_stop_with_a_lost_disk_marks_the_others_clean_and_keeps_what_only_memory_has() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    let client = broker.client();
    client.ask(Produce::to("orders", "in memory"));
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.advance(2 * SECOND);
    assert_eq!(client.ask(ListOffsets::latest("orders")).error, ErrorCode::KafkaStorageError);
    broker.stop();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0]);

    broker.restart(); // the disk is well again
    assert_eq!(broker.client().read("orders", 0), ["in memory"]);
}

#[test]
fn a_marker_that_could_not_be_written_is_not_there_and_the_next_start_reads_the_log() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "kept"));
    broker.disk(1).fail(Fault { name: Some(CLEAN_SHUTDOWN.to_owned()), ..Fault::default() });
    broker.stop();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0]);

    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["kept"]);
}

#[test]
fn a_marker_that_could_not_be_written_is_in_the_log() {
    let broker = Broker::start();
    broker.disk(0).fail(Fault { name: Some(CLEAN_SHUTDOWN.to_owned()), ..Fault::default() });
    broker.begin_stop();
    broker.advance(10 * SECOND);
    assert!(broker.is_stopped());
    assert!(broker.logs(CLEAN_SHUTDOWN), "the operator is told that the next start will take longer");
}

#[test]
fn a_stop_that_is_killed_at_any_moment_loses_nothing() {
    for micros in (0..20_000).step_by(500) {
        let broker = of_two_shards();
        for partition in 0..2 {
            broker.client().ask(Produce::to(("orders", partition), "one"));
        }
        broker.begin_stop();
        broker.advance(Duration::from_micros(micros));
        broker.kill();
        broker.restart();
        for partition in 0..2 {
            assert_eq!(broker.client().read(("orders", partition), 0), ["one"], "{micros} us");
            assert_eq!(broker.client().ask(Produce::to(("orders", partition), "two")).base, 1);
        }
    }
}

#[test]
fn a_disk_that_is_lost_at_any_moment_of_a_stop_holds_nothing_up() {
    for after in 0..40 {
        let broker = of_two_shards();
        for partition in 0..2 {
            broker.client().ask(Produce::to(("orders", partition), "one"));
        }
        broker.disk(1).fail(Fault { after, ..Fault::default() });
        broker.stop();
        if broker.disks_with(CLEAN_SHUTDOWN).contains(&1) {
            return; // there are no more operations to fail
        }
        broker.restart();
        for partition in 0..2 {
            assert_eq!(broker.client().read(("orders", partition), 0), ["one"], "after {after}");
        }
    }
    panic!("a stop has fewer operations than that");
}

#[test]
fn a_stop_waits_for_a_decision_and_for_a_batch() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    broker.disk(0).freeze();
    let created = broker.client().send(CreateTopic::named("payments"));
    let produced = broker.client().send(Produce::to("orders", "one"));
    broker.begin_stop();
    broker.advance(SECOND);
    assert!(!broker.is_stopped());
    broker.disk(0).thaw();
    assert_eq!((created.wait().error, produced.wait().error), (ErrorCode::None, ErrorCode::None));
    broker.advance(SECOND);
    broker.end();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one"]);
    assert_eq!(broker.client().ask(Describe("payments")).partitions[0].leader, 1);
}

#[test]
fn a_stop_ends_a_deletion_that_holds_a_name() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "old"));
    broker.advance(2 * SECOND);
    broker.disk(1).freeze();
    broker.client().ask(DeleteTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "new"));
    broker.begin_stop();
    broker.advance(SECOND);
    assert!(!broker.is_stopped());
    broker.disk(1).thaw();
    broker.advance(5 * SECOND);
    broker.end();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0, 1]);
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["new"]);
}

/// All memory is one partition's, batches for the other wait for it, and the broker stops.
fn stop_with_batches_that_wait_for_memory(shard: u16, fills: i32, waits: i32) {
    let settings = vec![("aplomb.flush.interval.ms", "60000")];
    let broker = Broker::of(Setup { shards: 2, chunks: 16, settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    broker.advance(2 * SECOND);
    broker.disk(0).freeze();
    let client = broker.client_of_shard(shard);
    let batch = |partition| Produce::to(("orders", partition), Batch::of_size(3000)).within(20 * SECOND);
    let filling: Vec<_> = (0..24).map(|_| client.send(batch(fills))).collect();
    broker.advance(10 * MS);
    let waiting: Vec<_> = (0..5).map(|_| client.send(batch(waits))).collect();
    broker.advance(10 * MS);
    assert!(waiting.iter().all(|asked| asked.is_waiting()), "memory is full");
    broker.begin_stop();
    broker.advance(SECOND);
    broker.disk(0).thaw();
    let is_over = |_: &u32| {
        broker.advance(Duration::from_micros(100));
        broker.is_stopped()
    };
    (0..100_000).find(is_over).expect("the stop comes to an end");
    filling.into_iter().chain(waiting).for_each(|asked| assert_eq!(asked.answer().error, ErrorCode::None));
    broker.end();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0]);

    broker.cut_power(); // what was closed cleanly needs no memory
    broker.restart();
    assert_eq!(broker.client().read(("orders", fills), 0).len(), 24);
    assert_eq!(broker.client().read(("orders", waits), 0).len(), 5);
}

#[test]
fn a_stop_waits_for_batches_that_wait_for_memory_on_another_shard() {
    for (fills, waits) in [(0, 1), (1, 0)] {
        stop_with_batches_that_wait_for_memory(0, fills, waits);
        stop_with_batches_that_wait_for_memory(1, fills, waits);
    }
}

#[test]
fn a_stop_answers_what_was_passed_on_to_the_controller_just_before() {
    let broker = Broker::of(Setup { shards: 2, mail_takes: MS, ..Setup::default() });
    let created = broker.client().send(CreateTopic::named("orders"));
    broker.begin_stop();
    broker.advance(10 * SECOND);
    assert_eq!(created.answer().error, ErrorCode::None);
    broker.end();
    assert_eq!(broker.disks_with(CLEAN_SHUTDOWN), [0]);
    broker.restart();
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}
