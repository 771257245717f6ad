//! The metadata log: snapshots, and what a start makes of a log that is not whole.

use aplomb_model::ErrorCode;

use crate::support::{Alter, Broker, CreateTopic, Describe, MS, Produce, SECOND, Setup};

const DIRECTORY: &str = "__cluster_metadata-0/";
const LOG: &str = "__cluster_metadata-0/00000000000000000000.log";

fn of_many_snapshots() -> Broker {
    let settings = vec![("metadata.log.max.record.bytes.between.snapshots", "500")];
    Broker::of(Setup { shards: 2, settings, ..Setup::default() })
}

fn snapshots(broker: &Broker) -> Vec<String> {
    let files = broker.disk(0).image().into_keys();
    files.filter(|file| file.starts_with(DIRECTORY) && file.ends_with(".checkpoint")).collect()
}

#[test]
fn a_snapshot_takes_the_place_of_the_one_before() {
    let broker = of_many_snapshots();
    let mut seen = Vec::new();
    for n in 0..30 {
        broker.has(CreateTopic::named(&format!("topic-{n}")));
        broker.advance(SECOND);
        seen.extend(snapshots(&broker));
    }
    seen.sort();
    seen.dedup();
    assert!(seen.len() > 3, "only {seen:?}");
    assert_eq!(snapshots(&broker).len(), 1);
}

#[test]
fn a_start_goes_on_from_a_snapshot() {
    let broker = of_many_snapshots();
    for n in 0..30 {
        broker.has(CreateTopic::named(&format!("topic-{n}")).with("max.message.bytes", "1000"));
    }
    broker.client().ask(Alter::topic("topic-7", "max.message.bytes", "50"));
    assert_ne!(snapshots(&broker), [""; 0]);
    for _ in 0..3 {
        broker.kill();
        broker.restart();
        let client = broker.client();
        for topic in ["topic-0", "topic-7", "topic-29"] {
            assert_eq!(client.ask(Describe(topic)).partitions[0].leader, 1);
        }
        let refused = client.ask(Produce::to("topic-7", "a value that would fit another topic by far"));
        assert_eq!(refused.error, ErrorCode::MessageTooLarge);
        broker.advance(SECOND);
    }
}

#[test]
fn a_metadata_log_that_was_closed_cleanly_and_is_damaged_is_not_started_from() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.stop();
    broker.overwrite(0, LOG, broker.len(0, LOG) / 2, &[0xff; 20]);
    let reason = broker.refuses_to_start();
    assert!(reason.contains("damaged"), "{reason}");
    assert!(reason.contains("/disk0/__cluster_metadata-0"), "{reason}");
}

#[test]
fn a_decision_that_no_disk_had_is_made_by_the_next_process_if_only_the_process_dies() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let _created = broker.client().send(CreateTopic::named("orders"));
    broker.advance(MS);
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
fn a_decision_that_no_disk_had_never_was_if_the_power_goes() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let _created = broker.client().send(CreateTopic::named("orders"));
    broker.advance(MS);
    broker.cut_power();
    broker.restart();
    let unknown = broker.client().ask(Describe("orders"));
    assert_eq!(unknown.error, ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_metadata_log_whose_end_is_torn_goes_on_where_it_is_whole() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.has_topic("payments");
    broker.cut_power();
    broker.cut_off(0, LOG, 3);
    broker.restart();
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
    let torn = broker.client().ask(Describe("payments"));
    assert_eq!(torn.error, ErrorCode::UnknownTopicOrPartition);
    broker.has_topic("payments");
}

#[test]
fn a_metadata_log_that_is_damaged_before_a_later_leaders_records_is_not_started_from() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let len = broker.len(0, LOG);
    broker.kill();
    broker.restart();
    broker.advance(SECOND);
    broker.cut_power();
    broker.overwrite(0, LOG, len - 40, &[0xff; 20]);
    let reason = broker.refuses_to_start();
    assert!(reason.contains("a later leader wrote behind it"), "{reason}");
}
