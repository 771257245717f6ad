//! What a start finds in log directories, and makes of it.

use aplomb_model::ErrorCode;

use crate::support::{Batch, Broker, CreateTopic, DeleteTopic, MS, MoveReplica, Produce, SECOND};

const METADATA_OF_ANOTHER: &str = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAKg";

#[test]
fn a_partition_without_a_directory_is_new() {
    let broker = Broker::on_two_disks();
    broker.disk(1).freeze();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.kill(); // before the directory was made
    assert_eq!(broker.disks_with("orders-0"), [0; 0]);
    broker.restart();
    assert_eq!(broker.client().ask(Produce::to("orders", "one")).base, 0);
    broker.advance(2 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [1]);
}

#[test]
fn a_directory_of_no_topic_is_put_aside_and_nothing_in_it_is_touched() {
    let broker = Broker::start();
    broker.stop();
    broker.put(0, "payments-0/partition.metadata", METADATA_OF_ANOTHER);
    broker.put(0, "payments-0/00000000000000000000.log", "records of another cluster");
    broker.restart();
    let files = broker.disk(0).image();
    let stray = files.iter().find(|(_, content)| &content[..] == b"records of another cluster");
    let (name, _) = stray.expect("the file is still there");
    assert!(name.starts_with("payments-0.") && name.contains("-stray/"), "{name}");
}

#[test]
fn a_directory_of_an_older_topic_of_the_name_is_put_aside() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.client().ask(Produce::to("orders", "one"));
    broker.stop();
    broker.put(0, "orders-0/partition.metadata", METADATA_OF_ANOTHER);
    broker.restart();
    let client = broker.client();
    assert_eq!(client.read("orders", 0), [""; 0]);
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
    broker.advance(2 * SECOND);
    assert_ne!(broker.file_with(0, "-stray/"), None);
}

#[test]
fn directories_that_were_to_be_deleted_are() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    broker.client().ask(DeleteTopic::named("orders"));
    broker.advance(SECOND);
    broker.kill(); // long before log.segment.delete.delay.ms
    assert_ne!(broker.file_with(0, "-delete/"), None);
    broker.restart();
    broker.advance(SECOND);
    assert_eq!(broker.file_with(0, "orders"), None);
}

#[test]
fn a_move_that_was_interrupted_begins_anew() {
    for delay in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
        let broker = Broker::on_two_disks();
        broker.has_on_disk(0, CreateTopic::named("orders"));
        let client = broker.client();
        let values: Vec<String> = (0..20).map(|n| format!("value {n}")).collect();
        for value in &values {
            client.ask(Produce::to("orders", value.as_str()));
        }
        broker.advance(2 * SECOND);
        assert_eq!(client.ask(MoveReplica::of("orders", 1)).error, ErrorCode::None);
        broker.advance(delay * MS);
        broker.kill();
        broker.restart();
        assert_eq!(broker.client().read("orders", 0), values, "killed after {delay} ms");
        broker.advance(10 * SECOND);
        assert_eq!(broker.client().read("orders", 0), values);
        assert_eq!(broker.disks_with("orders-0").len(), 1, "killed after {delay} ms");
    }
}

#[test]
fn of_two_copies_that_reach_as_far_the_one_without_a_gap_is_taken() {
    for fuller in [0, 1] {
        let broker = Broker::on_two_disks();
        broker.has_on_disk(0, CreateTopic::named("orders"));
        let values = ["the first", "is before", "the third"];
        for value in values {
            broker.client().ask(Produce::to("orders", value));
        }
        broker.stop(); // what was closed cleanly may have gaps
        let files = broker.disk(0).image();
        for (name, content) in files.iter().filter(|(name, _)| name.starts_with("orders-0/")) {
            broker.put(1, name, content.clone());
        }
        let log = &files["orders-0/00000000000000000000.log"];
        let third = log.len() / values.len() * 2;
        broker.put(1 - fuller, "orders-0/00000000000000000000.log", log.slice(..third / 2));
        broker.put(1 - fuller, "orders-0/00000000000000000002.log", log.slice(third..));
        broker.restart();
        assert_eq!(broker.client().read("orders", 0), values, "disk {fuller} has all");
        broker.advance(120 * SECOND);
        assert_eq!(broker.disks_with("orders-0"), [fuller]);
    }
}

#[test]
fn a_log_whose_end_is_torn_goes_on_where_it_is_whole() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    ["one", "two"].into_iter().for_each(|value| {
        client.ask(Produce::to("orders", value));
    });
    broker.advance(2 * SECOND);
    broker.cut_power();
    broker.cut_off(0, "orders-0/00000000000000000000.log", 3);
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one"]);
    assert_eq!(broker.client().ask(Produce::to("orders", "again")).base, 1);
}

/// Or consumers would wait for what is missing until there is something behind it.
#[test]
fn a_compacted_log_whose_last_segment_is_torn_has_no_gap_before_it() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("table").with("cleanup.policy", "compact"));
    broker.client().ask(Produce::to("table", Batch::from("one").under_key("a")));
    broker.advance(2 * SECOND);
    broker.cut_power();
    let log = broker.disk(0).file("table-0/00000000000000000000.log").expect("it is there");
    broker.put(0, "table-0/00000000000000000007.log", log.slice(..log.len() - 3));
    broker.restart();
    assert_eq!(broker.client().read("table", 0), ["one"]);
    let again = Batch::from("again").under_key("a");
    assert_eq!(broker.client().ask(Produce::to("table", again)).base, 1);
    assert_eq!(broker.client().read("table", 0), ["one", "again"]);
}
