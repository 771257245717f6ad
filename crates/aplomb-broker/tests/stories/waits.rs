//! What requests have waited for, as the flight recorder is told.

use std::time::Duration;

use aplomb_broker::ports::{Waited, WaitedFor};
use aplomb_disk_api::DiskIndex;
use aplomb_protocol::messages as m;
use aplomb_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};

use crate::support::{
    AsIs, Batch, Broker, Client, CreateTopic, Fetch, ListOffsets, MS, Produce, SECOND, Setup,
};

/// What it was, and whether it took about so long.
fn longest(waited: Waited, about: Duration) -> WaitedFor {
    let (what, time) = waited.longest.expect("it has waited");
    assert!(about.abs_diff(time) <= 20 * MS, "{time:?}, and {about:?} were meant");
    what
}

/// Produces until a batch waits for memory, and leaves it there.
fn fill(broker: &Broker, producer: &Client, topic: &str) {
    for _ in 0..100 {
        let asked = producer.send(Produce::to(topic, Batch::of_size(2000)));
        broker.advance(MS);
        if asked.is_waiting() {
            return;
        }
    }
    panic!("the share takes more than it has");
}

#[test]
fn what_is_answered_at_once_has_waited_for_nothing() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let produced = broker.client().send(Produce::to("orders", "one")).wait_for_waited();
    assert_eq!(produced, Waited::default());
    let fetched = broker.client().send(Fetch::from("orders", 0)).wait_for_waited();
    assert_eq!(fetched, Waited::default());
}

#[test]
fn a_batch_without_room_waits_for_memory_of_its_disk_whether_it_finds_some_or_not() {
    let broker = Broker::of(Setup { disks: 2, chunks: 16, ..Setup::default() });
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.disk(1).freeze();
    let producer = broker.client();
    fill(&broker, &producer, "orders");
    let late = producer.send(Produce::to("orders", "late").within(2 * SECOND));
    let lucky = producer.send(Produce::to("orders", "lucky").within(30 * SECOND));
    broker.advance(5 * SECOND);
    broker.disk(1).thaw();
    let memory = WaitedFor::Memory(DiskIndex(1));
    assert_eq!(longest(late.wait_for_waited(), 2 * SECOND), memory);
    assert_eq!(longest(lucky.wait_for_waited(), 5 * SECOND), memory);
}

#[test]
fn an_acknowledgement_after_the_sync_waits_for_the_disk() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "1"));
    broker.disk(0).freeze();
    let asked = broker.client().send(Produce::to("orders", "durable"));
    broker.advance(3 * SECOND);
    broker.disk(0).thaw();
    assert_eq!(longest(asked.wait_for_waited(), 3 * SECOND), WaitedFor::Disk(DiskIndex(0)));
}

#[test]
fn of_so_many_records_between_syncs_the_last_waits_for_the_disk_and_those_before_it_do_not() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").with("flush.messages", "3"));
    broker.disk(0).freeze();
    let client = broker.client();
    for value in ["one", "two"] {
        assert_eq!(client.send(Produce::to("orders", value)).wait_for_waited(), Waited::default());
    }
    let third = client.send(Produce::to("orders", "three"));
    assert!(third.is_waiting());
    for value in ["four", "five"] {
        let answered = client.send(Produce::to("orders", value)).wait_for_waited();
        assert_eq!(answered, Waited::default(), "counted from the one that waits");
    }
    broker.advance(3 * SECOND);
    broker.disk(0).thaw();
    assert_eq!(longest(third.wait_for_waited(), 3 * SECOND), WaitedFor::Disk(DiskIndex(0)));
}

#[test]
fn old_records_and_offsets_are_waited_for_at_the_disk_and_new_ones_are_not_waited_for() {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.client().ask(Produce::to("orders", "one"));
    broker.stop();
    broker.restart();
    broker.advance(SECOND);
    broker.disk(0).freeze();
    let poll = broker.client().send(Fetch::from("orders", 0).waiting_for(1, 10 * SECOND));
    let lookup = broker.client().send(ListOffsets::at("orders", 1));
    broker.advance(2 * SECOND);
    broker.disk(0).thaw();
    let disk = WaitedFor::Disk(DiskIndex(0));
    let waited = poll.wait_for_waited();
    assert_eq!((longest(waited, 2 * SECOND), waited.idle), (disk, Duration::ZERO));
    assert_eq!(longest(lookup.wait_for_waited(), 2 * SECOND), disk);

    let poll = broker.client().send(Fetch::from("orders", 1).waiting_for(1, 10 * SECOND)).wait_for_waited();
    assert_eq!(poll, Waited { longest: None, idle: 10 * SECOND });
    let poll = broker.client().send(Fetch::from("orders", 1).waiting_for(1, 10 * SECOND));
    broker.advance(4 * SECOND);
    broker.client().ask(Produce::to("orders", "two"));
    assert_eq!(poll.wait_for_waited(), Waited { longest: None, idle: 4 * SECOND });
}

#[test]
fn a_fetch_that_is_tried_again_and_again_has_waited_for_memory_all_the_time() {
    let settings = vec![("aplomb.fetch.memory.bytes", "5000")];
    let broker = Broker::of(Setup { chunks: 32, settings, ..Setup::default() });
    broker.has_topic("orders");
    let mut unread = Vec::new();
    for offset in 0..40 {
        broker.client().ask(Produce::to("orders", Batch::of_size(2000)));
        unread.push(broker.client().send(Fetch::from("orders", offset)));
    }
    let poll = broker.client().send(Fetch::from("orders", 39).waiting_for(1, 20 * SECOND));
    broker.advance(10 * SECOND);
    assert!(poll.is_waiting());
    unread.into_iter().filter(|asked| !asked.is_waiting()).for_each(|asked| drop(asked.answer()));
    assert_eq!(longest(poll.wait_for_waited(), 10 * SECOND), WaitedFor::Memory(DiskIndex(0)));
}

#[test]
fn a_decision_waits_for_the_controller() {
    let broker = Broker::start();
    broker.disk(0).freeze();
    let asked = broker.client().send(CreateTopic::named("orders"));
    broker.advance(2 * SECOND);
    broker.disk(0).thaw();
    assert_eq!(longest(asked.wait_for_waited(), 2 * SECOND), WaitedFor::Controller);
}

#[test]
fn a_commit_waits_for_its_coordinator_and_a_member_for_others() {
    let settings = vec![("offsets.topic.num.partitions", "1"), ("group.initial.rebalance.delay.ms", "3000")];
    let broker = Broker::of(Setup { chunks: 16, settings, ..Setup::default() });
    broker.has_topic("orders");
    let find = m::FindCoordinatorRequest { coordinator_keys: vec!["g".to_owned()], ..Default::default() };
    broker.client().ask(AsIs::<_, 4>(find));
    broker.advance(SECOND);

    let protocol =
        m::join_group_request::JoinGroupRequestProtocol { name: "any".to_owned(), ..Default::default() };
    let join = m::JoinGroupRequest {
        group_id: "g".to_owned(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 10_000,
        protocol_type: "consumer".to_owned(),
        protocols: vec![protocol],
        ..Default::default()
    };
    let joined = broker.client().send(AsIs::<_, 3>(join)).wait_for_waited();
    assert_eq!((joined.idle, joined.longest), (3 * SECOND, None));

    broker.disk(0).freeze();
    fill(&broker, &broker.client(), "orders");
    let part =
        OffsetCommitRequestPartition { committed_metadata: Some("x".repeat(4000)), ..Default::default() };
    let topic =
        OffsetCommitRequestTopic { name: "orders".to_owned(), partitions: vec![part], ..Default::default() };
    // What memory the log of the coordinator has of its own is used up by some of these.
    let commits: Vec<_> = (0..40)
        .map(|n| {
            let body = m::OffsetCommitRequest {
                group_id: format!("other-{n}"),
                topics: vec![topic.clone()],
                ..Default::default()
            };
            broker.client().send(AsIs::<_, 8>(body))
        })
        .collect();
    broker.advance(2 * SECOND);
    broker.disk(0).thaw();
    let waited: Vec<Waited> = commits.into_iter().map(|commit| commit.wait_for_waited()).collect();
    let (what, time) = waited.last().and_then(|last| last.longest).expect("the last one has waited");
    assert!((what, time >= 2 * SECOND) == (WaitedFor::Coordinator, true), "{what:?} for {time:?}");
}
