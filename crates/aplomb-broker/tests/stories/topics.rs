//! Topics: how they go, come back under the same name, shrink, and change their settings.

use std::collections::BTreeSet;
use std::time::Duration;

use aplomb_disk_api::sim::ServiceTimes;
use aplomb_model::ErrorCode;

use crate::support::{
    Alter, Batch, Broker, CreateTopic, DeleteRecords, DeleteTopic, ListOffsets, MS, NEW_YEAR, Produce,
    SECOND, Setup,
};

/// Files whose name has this in it.
fn files_with(broker: &Broker, part: &str) -> Vec<String> {
    broker.disk(0).image().into_keys().filter(|file| file.contains(part)).collect()
}

#[test]
fn how_a_log_looks_is_shown_as_it_grows_rolls_and_is_cut() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("segment.bytes", "1048576"));
    let figures = broker.figures_of_new("orders");
    let empty = figures.extent();
    assert_eq!((empty.size, empty.segments, empty.start, empty.end, empty.stable_lag), (0, 1, 0, 0, 0));
    let client = broker.client();
    let large = "x".repeat(600_000);
    (0..3).for_each(|_| assert_eq!(client.ask(Produce::to("orders", large.as_str())).error, ErrorCode::None));
    let grown = figures.extent();
    assert_eq!((grown.segments, grown.start, grown.end), (3, 0, 3));
    assert!((1_800_000..1_810_000).contains(&grown.size), "{}", grown.size);
    client.ask(DeleteRecords::before("orders", 2));
    assert_eq!(figures.extent().start, 2);
}

#[test]
fn a_deleted_topics_files_are_renamed_at_once_and_go_after_file_delete_delay() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("file.delete.delay.ms", "5000"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [0]);

    broker.client().ask(DeleteTopic::named("orders"));
    broker.advance(SECOND);
    assert_eq!(broker.disks_with("orders-0"), [0; 0]);
    assert!(files_with(&broker, "orders-0.").iter().all(|file| file.contains("-delete/")));
    assert_ne!(files_with(&broker, "orders-0."), [""; 0]);
    broker.advance(5 * SECOND);
    assert_eq!(files_with(&broker, "orders"), [""; 0]);
}

#[test]
fn a_topic_that_is_made_again_at_once_has_nothing_of_the_old_one() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let client = broker.client();
    client.ask(Produce::to("orders", "old"));
    broker.advance(2 * SECOND);
    broker.disk(0).freeze();
    let deleted = client.send(DeleteTopic::named("orders"));
    let created = client.send(CreateTopic::named("orders"));
    broker.disk(0).thaw();
    assert_eq!((deleted.wait().error, created.wait().error), (ErrorCode::None, ErrorCode::None));
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
    assert_eq!(client.read("orders", 0), ["new"]);

    broker.advance(100 * SECOND); // log.segment.delete.delay.ms
    assert_eq!(client.read("orders", 0), ["new"]);
    broker.stop();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["new"]);
}

#[test]
fn a_topic_that_is_made_again_serves_while_the_old_ones_files_are_still_there() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    let client = broker.client();
    client.ask(Produce::to("orders", "old"));
    broker.advance(2 * SECOND);
    broker.disk(1).freeze();
    client.ask(DeleteTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("orders"));
    client.ask(Produce::to("orders", "new"));
    assert_eq!(client.read("orders", 0), ["new"]);

    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["new"]);
}

#[test]
fn a_topic_that_comes_and_goes_while_the_old_ones_directory_has_the_name_leaves_nothing() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    let client = broker.client();
    client.ask(Produce::to("orders", "first"));
    broker.advance(2 * SECOND);
    broker.disk(1).freeze();
    client.ask(DeleteTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("orders"));
    client.ask(Produce::to("orders", "second"));
    client.ask(DeleteTopic::named("orders"));
    broker.has_on_disk(1, CreateTopic::named("orders"));
    client.ask(Produce::to("orders", "third"));
    broker.disk(1).thaw();
    broker.advance(2 * SECOND);
    // The first was a directory; nothing of the second was ever written.
    let deleted = broker.disk(1).image().into_keys().filter(|file| file.contains("-delete/"));
    let directories: BTreeSet<String> =
        deleted.map(|file| file[..file.find('/').unwrap()].to_owned()).collect();
    assert_eq!(directories.len(), 1, "{directories:?}");
    assert_eq!(client.read("orders", 0), ["third"]);

    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["third"]);
}

#[test]
fn old_segments_are_deleted_when_their_time_has_come() {
    let settings = vec![("log.retention.check.interval.ms", "1000")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    let topic = CreateTopic::named("orders")
        .with("retention.ms", "60000")
        .with("segment.ms", "1000")
        .with("file.delete.delay.ms", "5000");
    broker.has(topic);
    let client = broker.client();
    client.ask(Produce::to("orders", Batch::from("old").at(NEW_YEAR)));
    broker.advance(2 * SECOND);
    let of_another_segment = Batch::from("new").at(NEW_YEAR + 100_000);
    client.ask(Produce::to("orders", of_another_segment));
    broker.advance(50 * SECOND);
    assert_eq!(client.ask(ListOffsets::at("orders", -2)).offset, 0);

    broker.advance(10 * SECOND);
    assert_eq!(client.ask(ListOffsets::at("orders", -2)).offset, 1);
    assert_eq!(client.read("orders", 1), ["new"]);
    assert_ne!(files_with(&broker, ".deleted"), [""; 0]);
    broker.advance(6 * SECOND);
    assert_eq!(files_with(&broker, ".deleted"), [""; 0]);
}

#[test]
fn the_oldest_segments_are_deleted_when_there_is_too_much() {
    let settings = vec![("log.retention.check.interval.ms", "1000")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    let topic = CreateTopic::named("orders").with("retention.bytes", "5000").with("segment.ms", "1000");
    broker.has(topic);
    let client = broker.client();
    for n in 0..5 {
        client.ask(Produce::to("orders", Batch::of_size(2000).at(NEW_YEAR + n * 2000)));
        broker.advance(2 * SECOND);
    }
    broker.advance(5 * SECOND);
    // Without the third, less than 5,000 bytes would be left.
    assert_eq!(client.ask(ListOffsets::at("orders", -2)).offset, 2);
}

#[test]
fn records_that_were_deleted_stay_deleted_after_kill_9() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    for value in ["one", "two", "three"] {
        client.ask(Produce::to("orders", value));
    }
    assert_eq!(client.ask(DeleteRecords::before("orders", 7)).error, ErrorCode::OffsetOutOfRange);
    assert_eq!(client.ask(DeleteRecords::before("orders", 2)).error, ErrorCode::None);
    broker.advance(10 * SECOND); // aplomb.recovery.point.interval.ms, twice
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().ask(ListOffsets::at("orders", -2)).offset, 2);
    assert_eq!(broker.client().read("orders", 2), ["three"]);
}

#[test]
fn records_are_not_deleted_from_a_topic_that_only_compacts() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("cleanup.policy", "compact"));
    let refused = broker.client().ask(DeleteRecords::before("orders", 0));
    assert_eq!(refused.error, ErrorCode::PolicyViolation);
}

#[test]
fn a_setting_of_a_topic_counts_from_the_next_batch_on() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    let client = broker.client();
    for partition in 0..2 {
        assert_eq!(
            client.ask(Produce::to(("orders", partition), Batch::of_size(500))).error,
            ErrorCode::None
        );
    }
    assert_eq!(client.ask(Alter::topic("orders", "max.message.bytes", "300")).error, ErrorCode::None);
    for partition in 0..2 {
        let refused = client.ask(Produce::to(("orders", partition), Batch::of_size(500)));
        assert_eq!(refused.error, ErrorCode::MessageTooLarge);
    }
}

#[test]
fn flush_messages_1_at_run_time_makes_the_next_batch_wait_for_its_sync() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    assert_eq!(client.ask(Alter::topic("orders", "flush.messages", "1")).error, ErrorCode::None);
    broker.disk(0).freeze();
    let asked = client.send(Produce::to("orders", "durable"));
    broker.advance(SECOND);
    assert!(asked.is_waiting());
    broker.disk(0).thaw();
    assert_eq!(asked.wait().error, ErrorCode::None);
}

#[test]
fn a_setting_of_all_brokers_counts_for_topics_without_their_own() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.has(CreateTopic::named("payments").with("max.message.bytes", "100000"));
    let client = broker.client();
    assert_eq!(client.ask(Alter::brokers("message.max.bytes", "300")).error, ErrorCode::None);
    let batch = || Batch::of_size(500);
    assert_eq!(client.ask(Produce::to("orders", batch())).error, ErrorCode::MessageTooLarge);
    assert_eq!(client.ask(Produce::to("payments", batch())).error, ErrorCode::None);

    broker.stop();
    broker.restart();
    let refused = broker.client().ask(Produce::to("orders", batch()));
    assert_eq!(refused.error, ErrorCode::MessageTooLarge);
}

#[test]
fn a_setting_that_cannot_be_is_refused() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let refused = broker.client().ask(Alter::topic("orders", "retention.ms", "soon"));
    assert_eq!(refused.error, ErrorCode::InvalidConfig);
    broker.advance(MS);
    assert!(refused.message.is_some_and(|message| message.contains("retention.ms")));
}

#[test]
fn a_name_that_is_used_again_and_again_has_the_last_topics_records() {
    for shards in [1, 3] {
        let mail_takes = if shards == 1 { Duration::ZERO } else { MS };
        let broker = Broker::of(Setup { shards, disks: 2, mail_takes, ..Setup::default() });
        let client = broker.client();
        for round in 0..4 {
            (0..2).for_each(|disk| broker.disk(disk).thaw());
            broker.has(CreateTopic::named("orders").partitions(6));
            for partition in 0..6 {
                assert_eq!(client.ask(Produce::to(("orders", partition), &*format!("{round}"))).base, 0);
            }
            broker.advance(round * 10 * MS);
            broker.disk(1).freeze(); // so that names are not free for a while
            assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
        }
        broker.has(CreateTopic::named("orders").partitions(6));
        client.ask(Produce::to("orders", "last"));
        broker.disk(1).thaw();
        broker.advance(100 * SECOND);
        broker.kill();
        broker.restart();
        assert_eq!(broker.client().read("orders", 0), ["last"]);
        (1..6).for_each(|partition| assert_eq!(broker.client().read(("orders", partition), 0), [""; 0]));
        assert_eq!(files_with(&broker, "-delete"), [""; 0]);
    }
}

#[test]
fn a_segment_of_before_the_start_is_deleted_when_its_time_has_come() {
    let settings = vec![("log.retention.check.interval.ms", "1000")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").with("retention.ms", "60000").with("segment.ms", "1000"));
    let client = broker.client();
    client.ask(Produce::to("orders", Batch::from("old").at(NEW_YEAR)));
    let of_another_segment = Batch::from("new").at(NEW_YEAR + 100_000);
    client.ask(Produce::to("orders", of_another_segment));
    broker.stop();
    broker.restart();
    broker.advance(40 * SECOND);
    let client = broker.client();
    assert_eq!(client.ask(ListOffsets::at("orders", -2)).offset, 0);
    broker.advance(60 * SECOND);
    assert_eq!(client.ask(ListOffsets::at("orders", -2)).offset, 1);
}

#[test]
fn a_log_start_is_remembered_while_many_segments_are_on_their_way_out() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("segment.ms", "1000"));
    let client = broker.client();
    for n in 0..40 {
        client.ask(Produce::to("orders", Batch::from("one").at(NEW_YEAR + n * 2000)));
    }
    broker.advance(12 * SECOND);
    let housekeeping = 100 * MS..101 * MS;
    broker.disk(0).set_service(ServiceTimes { housekeeping, ..ServiceTimes::default() });
    assert_eq!(client.ask(DeleteRecords::before("orders", 39)).error, ErrorCode::None);
    broker.advance(10 * SECOND); // aplomb.recovery.point.interval.ms, twice
    assert_eq!(files_with(&broker, "0038.log"), ["orders-0/00000000000000000038.log"]);
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().ask(ListOffsets::at("orders", -2)).offset, 39);
}

#[test]
fn limits_of_connections_change_at_run_time() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    assert_eq!(broker.connection_limits(), None);
    let client = broker.client_of_shard(1);
    assert_eq!(client.ask(Alter::brokers("max.connections", "100")).error, ErrorCode::None);
    assert_eq!(client.ask(Alter::brokers("max.connections.per.ip", "7")).error, ErrorCode::None);
    assert_eq!(broker.connection_limits(), Some((100, 7)));
}

#[test]
fn a_topic_that_is_made_again_writes_nothing_into_the_old_ones_directory() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(4));
    let client = broker.client();
    for partition in 0..4 {
        client.ask(Produce::to(("orders", partition), "old"));
    }
    broker.advance(2 * SECOND);
    let housekeeping = 5 * SECOND..6 * SECOND; // what renames and deletions take
    broker.disk(0).set_service(ServiceTimes { housekeeping, ..ServiceTimes::default() });
    client.ask(DeleteTopic::named("orders"));
    broker.has(CreateTopic::named("orders").partitions(4));
    for partition in 0..4 {
        client.ask(Produce::to(("orders", partition), "new"));
    }
    broker.advance(100 * SECOND);
    broker.cut_power();
    broker.restart();
    for partition in 0..4 {
        assert_eq!(broker.client().read(("orders", partition), 0), ["new"]);
    }
}
