//! A disk that is lost while the broker runs.

use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use crate::support::{
    AsIs, Broker, CreateTopic, DeleteRecords, DeleteTopic, Describe, DescribeLogDirs, DescribeProducers,
    EndOfEpoch, Fetch, InitProducerId, ListOffsets, MoveReplica, NEW_YEAR, Produce, ProduceAll, SECOND,
    Setup,
};

/// A broker of two shards that is about to lose its second disk, on which the two partitions of
/// "orders" are, of each shard one.
fn about_to_lose_a_disk() -> Broker {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    let client = broker.client();
    for partition in 0..2 {
        client.ask(MoveReplica::of(("orders", partition), 1));
    }
    broker.has(CreateTopic::named("orders").partitions(2));
    broker.has_on_disk(0, CreateTopic::named("payments"));
    broker.advance(2 * SECOND);
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker
}

/// The same broker when it has lost it.
fn with_a_lost_disk() -> Broker {
    let broker = about_to_lose_a_disk();
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    assert!(broker.disk(1).lost().is_some());
    broker
}

#[test]
fn what_a_lost_disk_said_it_had_synced_is_in_memory_for_the_next_process() {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.client().ask(Produce::to("orders", "two"));
    broker.advance(2 * SECOND);
    assert!(broker.disk(1).lost().is_some());
    broker.disk(1).vanish(Some("orders-0/00000000000000000000.log")); // the sync was a lie
    broker.kill();
    broker.restart();
    assert_eq!(broker.client().read("orders", 0), ["one", "two"]);
}

#[test]
fn a_request_over_partitions_of_both_shards_is_answered_with_both() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    for shard in 0..2 {
        let client = broker.client_of_shard(shard);
        let both = [(("orders", 0).into(), "even".into()), (("orders", 1).into(), "odd".into())];
        let produced = client.ask(ProduceAll::to(both));
        assert_eq!([produced[0].error, produced[1].error], [ErrorCode::None; 2]);
        let offset = produced[0].base;
        let fetched = client.ask(Fetch::from(("orders", 0), offset).and(("orders", 1), offset));
        assert_eq!(fetched.values(), ["even", "odd"]);
    }
}

#[test]
fn a_lost_disk_is_seen_by_both_shards() {
    let broker = about_to_lose_a_disk();
    let fetches: Vec<_> = (0..2)
        .map(|partition| {
            let fetch = Fetch::from(("orders", partition), 0).waiting_for(1000, 100 * SECOND);
            broker.client_of_shard(0).send(fetch)
        })
        .collect();
    broker.client().ask(Produce::to("orders", "one")); // only this partition's shard asks the disk
    broker.advance(2 * SECOND);
    for fetch in fetches {
        assert_eq!(fetch.answer().refusal(), ErrorCode::KafkaStorageError);
    }
    for partition in 0..2 {
        let refused = broker.client().ask(Produce::to(("orders", partition), "two"));
        assert_eq!(refused.error, ErrorCode::KafkaStorageError);
    }
    assert!(broker.logs("log directory /disk1 is offline"));
}

#[test]
fn partitions_of_other_disks_do_not_notice() {
    let broker = with_a_lost_disk();
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("payments", "one")).error, ErrorCode::None);
    assert_eq!(client.read("payments", 0), ["one"]);
}

#[test]
fn a_lost_disk_is_shown_as_offline() {
    let broker = with_a_lost_disk();
    let directories = broker.client().ask(DescribeLogDirs);
    let errors: Vec<_> =
        directories.iter().map(|directory| (directory.path.as_str(), directory.error)).collect();
    assert_eq!(errors, [("/disk0", ErrorCode::None), ("/disk1", ErrorCode::KafkaStorageError)]);
}

#[test]
fn nothing_moves_to_a_lost_disk() {
    let broker = with_a_lost_disk();
    let refused = broker.client().ask(MoveReplica::of("payments", 1));
    assert_eq!(refused.error, ErrorCode::KafkaStorageError);
}

#[test]
fn partitions_of_a_lost_disk_have_no_leader() {
    let broker = with_a_lost_disk();
    let orders = broker.client().ask(Describe("orders"));
    for partition in orders.partitions {
        assert_eq!((partition.error, partition.leader), (ErrorCode::LeaderNotAvailable, -1));
        assert_eq!(partition.offline, [1]);
    }
    let payments = broker.client().ask(Describe("payments"));
    assert_eq!((payments.partitions[0].error, payments.partitions[0].leader), (ErrorCode::None, 1));
}

#[test]
fn no_election_finds_a_leader_for_what_was_on_a_lost_disk() {
    let broker = with_a_lost_disk();
    let elected = |election_type, named: &[(&str, i32)]| {
        let topic = |(topic, partition): &(&str, i32)| m::elect_leaders_request::TopicPartitions {
            topic: (*topic).to_owned(),
            partitions: vec![*partition],
        };
        let all = named.is_empty();
        let topic_partitions = (!all).then(|| named.iter().map(topic).collect());
        let request = m::ElectLeadersRequest { election_type, topic_partitions, timeout_ms: 1 };
        let results = broker.client().ask(AsIs::<_, 2>(request)).replica_election_results;
        let of = |topic: m::elect_leaders_response::ReplicaElectionResult| {
            let name = topic.topic;
            topic
                .partition_result
                .into_iter()
                .map(move |found| (name.clone(), found.partition_id, found.error_code))
        };
        results.into_iter().flat_map(of).collect::<Vec<_>>()
    };
    for (election, unavailable) in
        [(0, ErrorCode::PreferredLeaderNotAvailable), (1, ErrorCode::EligibleLeadersNotAvailable)]
    {
        let of_orders = |partition| ("orders".to_owned(), partition, unavailable.to_wire());
        assert_eq!(elected(election, &[]), [of_orders(0), of_orders(1)]);
        let led = ("payments".to_owned(), 0, ErrorCode::ElectionNotNeeded.to_wire());
        assert_eq!(elected(election, &[("orders", 1), ("payments", 0)]), [of_orders(1), led]);
    }
}

#[test]
fn new_partitions_go_to_the_disks_that_are_left() {
    let broker = with_a_lost_disk();
    broker.has(CreateTopic::named("refunds").partitions(4));
    for partition in 0..4 {
        let produced = broker.client().ask(Produce::to(("refunds", partition), "one"));
        assert_eq!(produced.error, ErrorCode::None);
    }
}

#[test]
fn a_disk_that_is_well_again_serves_after_a_restart() {
    let broker = with_a_lost_disk();
    broker.kill();
    broker.restart();
    let client = broker.client();
    assert_eq!(client.read("orders", 0), ["one"], "acknowledged, and only in memory until now");
    assert_eq!(client.ask(Produce::to("orders", "two")).error, ErrorCode::None);
    assert_eq!(client.ask(Describe("orders")).partitions[0].leader, 1);
    assert_eq!(client.ask(ListOffsets::latest(("orders", 1))).offset, 0);
}

#[test]
fn a_topic_of_a_lost_disk_can_be_deleted_and_made_again() {
    let broker = with_a_lost_disk();
    let client = broker.client();
    assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
    broker.has_on_disk(0, CreateTopic::named("orders"));
    assert_eq!(client.ask(Produce::to("orders", "new")).base, 0);
    broker.advance(2 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [0, 1]);

    broker.kill();
    broker.restart(); // the disk is well again, and has the old topic's files
    assert_eq!(broker.client().read("orders", 0), ["new"]);
    broker.advance(100 * SECOND);
    assert_eq!(broker.disks_with("orders-0"), [0]);
}

#[test]
fn a_disk_that_is_lost_by_a_deletion_keeps_no_name_from_being_used_again() {
    for operation in [SimOperation::Sync, SimOperation::Rename] {
        let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
        broker.has_on_disk(1, CreateTopic::named("orders"));
        let client = broker.client();
        client.ask(Produce::to("orders", "old"));
        broker.advance(2 * SECOND);
        broker.disk(1).fail(Fault { operation: Some(operation), ..Fault::default() });
        assert_eq!(client.ask(DeleteTopic::named("orders")).error, ErrorCode::None);
        broker.advance(2 * SECOND);
        assert!(broker.disk(1).lost().is_some());
        broker.has_on_disk(0, CreateTopic::named("orders"));
        client.ask(Produce::to("orders", "new"));
        broker.advance(2 * SECOND);
        assert!(broker.disks_with("orders-0").contains(&0));
    }
}

#[test]
fn a_log_directory_that_cannot_be_had_from_the_start_is_offline() {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.has_on_disk(0, CreateTopic::named("payments"));
    broker.client().ask(Produce::to("orders", "one"));
    broker.stop();
    broker.restart_without_the_last_disk();
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("payments", "one")).error, ErrorCode::None);
    let refused = client.ask(Produce::to("orders", "two"));
    assert_eq!(refused.error, ErrorCode::KafkaStorageError);
    assert_eq!(client.ask(Fetch::from("orders", 0)).refusal(), ErrorCode::KafkaStorageError);
    assert_eq!(client.ask(ListOffsets::latest("orders")).error, ErrorCode::KafkaStorageError);
    let orders = client.ask(Describe("orders"));
    assert_eq!((orders.partitions[0].leader, &orders.partitions[0].offline[..]), (-1, &[1][..]));
    let directories = client.ask(DescribeLogDirs);
    assert_eq!(directories[1].error, ErrorCode::KafkaStorageError);
    assert_eq!(client.ask(MoveReplica::of("payments", 1)).error, ErrorCode::KafkaStorageError);

    broker.stop();
    broker.restart();
    let client = broker.client();
    assert_eq!(client.read("orders", 0), ["one"]);
    assert_eq!(client.ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
fn all_that_is_asked_of_an_offline_partition_is_refused_with_its_reason() {
    let broker = with_a_lost_disk();
    let client = broker.client();
    let storage_error = ErrorCode::KafkaStorageError;
    assert_eq!(client.ask(Fetch::from("orders", 0)).refusal(), storage_error);
    assert_eq!(client.ask(ListOffsets::latest("orders")).error, storage_error);
    assert_eq!(client.ask(ListOffsets::at("orders", NEW_YEAR)).error, storage_error);
    assert_eq!(client.ask(EndOfEpoch::of("orders", 0)).error, storage_error);
    assert_eq!(client.ask(DeleteRecords::before("orders", 0)).error, storage_error);
    assert_eq!(client.ask(DescribeProducers("orders".into())), Err(storage_error));
}

#[test]
fn a_session_says_of_an_offline_partition_each_time_that_it_is() {
    let broker = about_to_lose_a_disk();
    let consumer = broker.client();
    let both = Fetch::of_session(0, 0).and("orders", 0).and("payments", 0);
    let session = consumer.ask(both).session;
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(2 * SECOND);
    for epoch in 1..4 {
        let fetched = consumer.ask(Fetch::of_session(session, epoch));
        assert_eq!(fetched.refusal(), ErrorCode::KafkaStorageError);
        assert_eq!(fetched.partitions[0].topic, "orders");
    }
}

/// A broker of two disks that has lost the first one, which has the metadata log.
fn without_metadata_disk() -> Broker {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.advance(2 * SECOND);
    broker.disk(0).fail(Fault::default());
    broker.client().send(CreateTopic::named("payments"));
    broker.advance(SECOND);
    assert!(broker.disk(0).lost().is_some());
    broker
}

#[test]
fn partitions_of_other_disks_do_not_notice_the_loss_of_the_metadata_disk() {
    let broker = without_metadata_disk();
    let client = broker.client();
    assert_eq!(client.ask(Produce::to("orders", "one")).error, ErrorCode::None);
    assert_eq!(client.read("orders", 0), ["one"]);
    assert_eq!(client.ask(InitProducerId).error, ErrorCode::None);
}

#[test]
fn a_decision_is_refused_when_the_metadata_disk_is_lost() {
    let broker = without_metadata_disk();
    let created = broker.client().send(CreateTopic::named("refunds").within(5 * SECOND));
    broker.advance(6 * SECOND);
    let error = created.answer().error;
    assert!([ErrorCode::RequestTimedOut, ErrorCode::KafkaStorageError].contains(&error), "{error:?}");
}

#[test]
fn a_broker_that_has_lost_its_metadata_disk_can_be_stopped() {
    let broker = without_metadata_disk();
    broker.client().ask(Produce::to("orders", "one"));
    broker.stop();
    broker.restart(); // the disk is well again
    assert_eq!(broker.client().read("orders", 0), ["one"]);
    assert_eq!(broker.client().ask(Describe("orders")).partitions[0].leader, 1);
}

#[test]
fn what_memory_knows_is_answered_while_all_disks_are_frozen() {
    let broker = Broker::of(Setup { shards: 2, disks: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(4));
    broker.advance(2 * SECOND);
    (0..2).for_each(|disk| broker.disk(disk).freeze());
    let (client, before) = (broker.client(), broker.wall_ms());
    for partition in 0..4 {
        let place = || ("orders", partition);
        assert_eq!(client.ask(Produce::to(place(), "one")).error, ErrorCode::None);
        assert_eq!(client.read(place(), 0), ["one"]);
        assert_eq!(client.ask(ListOffsets::latest(place())).offset, 1);
        assert_eq!(client.ask(ListOffsets::at(place(), NEW_YEAR)).offset, 0);
        assert_eq!(client.ask(EndOfEpoch::of(place(), 0)).end, 1);
        assert_eq!(client.ask(DescribeProducers(place().into())), Ok(Vec::new()));
        assert_eq!(client.ask(DeleteRecords::before(place(), 1)).log_start, 1);
    }
    assert_eq!(client.ask(Describe("orders")).partitions.len(), 4);
    assert_eq!(client.ask(DescribeLogDirs).len(), 2);
    assert_eq!(broker.wall_ms(), before, "no time has passed");
}
