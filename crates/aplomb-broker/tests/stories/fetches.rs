//! Fetches: waiting for more, and sessions.

use aplomb_broker::figures::{Count, ShardFigures};
use aplomb_disk_api::Lane;
use aplomb_disk_api::sim::{Fault, SimOperation};
use aplomb_model::ErrorCode;

use crate::support::{
    Asked, Batch, Broker, Client, CreateTopic, DeleteRecords, DeleteTopic, Fetch, MS, Produce, SECOND, Setup,
};

/// A broker with a topic "orders" on its second disk, and a fetch that waits there for more.
fn a_waiting_fetch() -> (Broker, Asked<Fetch>) {
    let broker = Broker::on_two_disks();
    broker.has_on_disk(1, CreateTopic::named("orders"));
    broker.client().ask(Produce::to("orders", "one"));
    let fetch = broker.client().send(Fetch::from("orders", 0).waiting_for(200, 30 * SECOND));
    broker.advance(SECOND);
    assert!(fetch.is_waiting());
    (broker, fetch)
}

#[test]
fn a_fetch_that_waits_is_woken_when_there_is_enough() {
    let (broker, fetch) = a_waiting_fetch();
    broker.client().ask(Produce::to("orders", "two"));
    assert!(fetch.is_waiting(), "not enough yet");
    broker.client().ask(Produce::to("orders", "three"));
    assert_eq!(fetch.answer().values(), ["one", "two", "three"]);
}

#[test]
fn a_fetch_that_waits_for_much_is_not_woken_by_each_append() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let figures = broker.figures_of_new("orders");
    let waiting = broker.client().send(Fetch::from("orders", 0).waiting_for(57_000, 30 * SECOND));
    let producer = broker.client();
    for _ in 0..100 {
        assert!(waiting.is_waiting());
        producer.ask(Produce::to("orders", Batch::of_size(500)));
    }
    assert_eq!(waiting.answer().values().len(), 100);
    assert_eq!(figures.counts().of(Count::FetchRequests), 2, "at its begin and at its end");
}

#[test]
fn a_fetch_that_waits_for_much_is_answered_with_the_little_that_came() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(3));
    let one = broker.client().send(Fetch::from(("orders", 0), 0).waiting_for(50_000, 30 * SECOND));
    let all = Fetch::from(("orders", 0), 0).and(("orders", 1), 0).and(("orders", 2), 0);
    let three = broker.client().send(all.waiting_for(50_000, 30 * SECOND));
    broker.advance(SECOND);
    broker.client().ask(Produce::to(("orders", 0), "little"));
    broker.advance(29 * SECOND - MS);
    assert!(one.is_waiting() && three.is_waiting());
    broker.advance(2 * MS);
    let one = one.answer();
    assert_eq!((one.values(), one.partitions[0].high_watermark), (vec!["little"], 1));
    assert_eq!(three.answer().values(), ["little"]);
}

#[test]
fn a_fetch_of_many_partitions_is_woken_when_there_is_enough_in_all_of_them() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(3));
    let all = Fetch::from(("orders", 0), 0).and(("orders", 1), 0).and(("orders", 2), 0);
    let waiting = broker.client().send(all.waiting_for(57_000, 30 * SECOND));
    let producer = broker.client();
    for n in 0..100 {
        broker.advance(MS);
        assert!(waiting.is_waiting(), "there are {n} of 100");
        let index = if n % 10 == 0 { 1 } else { n % 2 };
        producer.ask(Produce::to(("orders", index), Batch::of_size(500)));
    }
    broker.advance(MS);
    assert_eq!(waiting.answer().values().len(), 100);
}

#[test]
fn a_fetch_that_waits_is_answered_with_what_there_is_when_its_time_is_up() {
    let (broker, fetch) = a_waiting_fetch();
    broker.advance(29 * SECOND - MS);
    assert!(fetch.is_waiting());
    broker.advance(MS);
    assert_eq!(fetch.answer().values(), ["one"]);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_topic_is_deleted() {
    let (broker, fetch) = a_waiting_fetch();
    broker.client().ask(DeleteTopic::named("orders"));
    assert_eq!(fetch.answer().refusal(), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_records_were_deleted() {
    let (broker, fetch) = a_waiting_fetch();
    let deleted = broker.client().ask(DeleteRecords::before("orders", 1));
    assert_eq!((deleted.error, deleted.log_start), (ErrorCode::None, 1));
    assert_eq!(fetch.answer().refusal(), ErrorCode::OffsetOutOfRange);
}

#[test]
fn a_deletion_at_the_moment_at_which_a_fetch_begins_to_wait_is_not_missed() {
    let broker = Broker::of(Setup { shards: 3, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(27));
    // Whatever comes in between the messages of another shard to the partition's.
    for partition in 0..27 {
        let (fetches, deletes) = (partition / 3 % 3, partition / 9);
        let place = ("orders", i32::from(partition));
        broker.client().ask(Produce::to(place, "one"));
        let fetch = Fetch::from(place, 0).waiting_for(1000, 100 * SECOND);
        let fetch = broker.client_of_shard(fetches).send_along(fetch);
        let deleted = broker.client_of_shard(deletes).send(DeleteRecords::before(place, 1));
        broker.advance(SECOND);
        assert_eq!(deleted.answer().error, ErrorCode::None);
        assert!(!fetch.is_waiting(), "by shard {fetches}, deleted by shard {deletes}");
    }
}

#[test]
fn records_that_were_deleted_before_are_deleted_at_no_cost() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let client = broker.client();
    client.ask(Produce::to("orders", "one"));
    client.ask(Produce::to("orders", "two"));
    let delete = |before| {
        let deleted = client.ask(DeleteRecords::before("orders", before));
        assert_eq!((deleted.error, deleted.log_start), (ErrorCode::None, 1));
    };
    let commands = || {
        let count = || Lane::ALL.map(|lane| broker.disk(0).stats().lane(lane).completed());
        let before = count();
        broker.advance(100 * SECOND);
        std::array::from_fn::<u64, { Lane::COUNT }, _>(|lane| count()[lane] - before[lane])
    };
    delete(1);
    commands();
    let idle = commands();
    delete(1);
    assert_eq!(commands(), idle);
    delete(0);
    assert_eq!(commands(), idle);
}

#[test]
fn a_fetch_that_waits_is_told_at_once_that_its_disk_is_lost() {
    let (broker, fetch) = a_waiting_fetch();
    broker.disk(1).fail(Fault { operation: Some(SimOperation::Write), ..Fault::default() });
    broker.client().ask(Produce::to("orders", "2"));
    assert!(fetch.is_waiting(), "nothing has gone wrong yet");
    broker.advance(2 * SECOND);
    assert_eq!(fetch.answer().refusal(), ErrorCode::KafkaStorageError);
}

#[test]
fn a_fetch_whose_connection_is_gone_is_not_answered() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let consumer = broker.client();
    let fetch = consumer.send(Fetch::from("orders", 0).waiting_for(1, 30 * SECOND));
    consumer.close();
    broker.client().ask(Produce::to("orders", "one"));
    broker.advance(40 * SECOND);
    assert!(fetch.is_waiting());
}

#[test]
fn an_incremental_fetch_has_only_the_partitions_with_news() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    let consumer = broker.client();
    let first = consumer.ask(Fetch::of_session(0, 0).and(("orders", 0), 0).and(("orders", 1), 0));
    assert_ne!(first.session, 0);
    assert_eq!(first.partitions.len(), 2);

    broker.client().ask(Produce::to(("orders", 1), "news"));
    let second = consumer.ask(Fetch::of_session(first.session, 1));
    assert_eq!((second.values(), second.partitions.len()), (vec!["news"], 1));
    let third = consumer.ask(Fetch::of_session(first.session, 2).and(("orders", 1), 1));
    assert_eq!(third.partitions, []);
}

#[test]
fn a_session_forgets_a_partition_and_refuses_a_wrong_epoch() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").partitions(2));
    let consumer = broker.client();
    let session = consumer.ask(Fetch::of_session(0, 0).and(("orders", 0), 0).and(("orders", 1), 0)).session;
    consumer.ask(Fetch::of_session(session, 1).without(("orders", 1)));
    broker.client().ask(Produce::to(("orders", 1), "news"));
    assert_eq!(consumer.ask(Fetch::of_session(session, 2)).partitions, []);

    assert_eq!(consumer.ask(Fetch::of_session(session, 7)).error, ErrorCode::InvalidFetchSessionEpoch);
    assert_eq!(consumer.ask(Fetch::of_session(session + 1, 1)).error, ErrorCode::FetchSessionIdNotFound);
}

#[test]
fn a_response_has_whole_batches_up_to_its_limit_and_at_least_one() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").partitions(2));
    let client = broker.client();
    for partition in 0..2 {
        (0..3).for_each(|_| {
            client.ask(Produce::to(("orders", partition), Batch::of_size(1000)));
        });
    }
    let fetch = |max| client.ask(Fetch::from(("orders", 0), 0).and(("orders", 1), 0).at_most(max));
    let counts = |max| fetch(max).partitions.iter().map(|part| part.records.len()).collect::<Vec<_>>();
    assert_eq!(counts(1), [1, 0], "one that is larger than the limit, or its client would never get on");
    assert_eq!(counts(2500), [2, 0]);
    assert_eq!(counts(5000), [3, 1]);
    assert_eq!(counts(100_000), [3, 3]);
}

#[test]
fn a_fetch_of_what_is_not_there_is_answered_at_once() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let refused = |fetch: Fetch| {
        let asked = broker.client().send(fetch.waiting_for(1, 30 * SECOND));
        asked.answer().refusal()
    };
    assert_eq!(refused(Fetch::from("payments", 0)), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(refused(Fetch::from(("orders", 7), 0)), ErrorCode::UnknownTopicOrPartition);
    assert_eq!(refused(Fetch::from("orders", 1)), ErrorCode::OffsetOutOfRange);
    assert_eq!(refused(Fetch::from("orders", -1)), ErrorCode::OffsetOutOfRange);
}

#[test]
fn an_append_between_a_read_and_its_watch_is_not_missed() {
    let broker = Broker::of(Setup { shards: 2, mail_takes: MS, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    broker.advance(SECOND);
    // Each partition is another shard's for one of the clients.
    for partition in 0..2 {
        for delay in 0..6 {
            let end = broker.client().read(("orders", partition), 0).len() as i64;
            let fetches: Vec<_> = (0..2)
                .map(|shard| {
                    let fetch = Fetch::from(("orders", partition), end).waiting_for(1, 30 * SECOND);
                    broker.client_of_shard(shard).send(fetch)
                })
                .collect();
            broker.advance(delay * MS / 2);
            let owner = broker.client_of_shard(partition as u16);
            let other = broker.client_of_shard(1 - partition as u16);
            owner.send(Produce::to(("orders", partition), "now"));
            other.send(Produce::to(("orders", partition), "now"));
            broker.advance(20 * MS);
            for fetch in fetches {
                assert_eq!(fetch.answer().values()[0], "now");
            }
        }
    }
}

#[test]
fn a_fetch_without_patience_waits_for_the_shard_of_its_partition() {
    let broker = Broker::of(Setup { shards: 2, mail_takes: 20 * MS, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    for partition in 0..2 {
        broker.client().ask(Produce::to(("orders", partition), "one"));
    }
    let fetched = broker.client().ask(Fetch::from(("orders", 0), 0).and(("orders", 1), 0));
    assert_eq!(fetched.values(), ["one", "one"]);
}

#[test]
fn a_session_is_of_its_shard() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let session = broker.client_of_shard(0).ask(Fetch::of_session(0, 0).and("orders", 0)).session;
    let elsewhere = broker.client_of_shard(1).ask(Fetch::of_session(session, 1));
    assert_eq!(elsewhere.error, ErrorCode::FetchSessionIdNotFound);
    assert_eq!(broker.client_of_shard(0).ask(Fetch::of_session(session, 1)).error, ErrorCode::None);
}

/// A fetch that is longer than what its connection's shard takes apart.
fn a_long_fetch(session: (i32, i32)) -> Fetch {
    let missing = "a-topic-that-there-is-not";
    (0..600).fold(Fetch::of_session(session.0, session.1), |fetch, n| fetch.and((missing, n), 0))
}

#[test]
fn a_long_fetch_is_answered_as_any_and_its_session_is_where_it_was_answered() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has_topic("orders");
    let (producer, consumer) = (broker.client_of_shard(0), broker.client_of_shard(1));
    producer.ask(Produce::to("orders", "one"));
    let first = consumer.ask(a_long_fetch((0, 0)).and("orders", 0));
    assert_eq!((first.values(), first.partitions.len()), (vec!["one"], 601));
    assert_eq!((first.session > 0, first.session % 3), (true, 0), "the first of three shards");

    let next = |epoch| Fetch::of_session(first.session, epoch).and("orders", 1);
    let waiting =
        consumer.send(next(1).without(("a-topic-that-there-is-not", 0)).waiting_for(1, 30 * SECOND));
    assert_eq!(waiting.answer().partitions.len(), 599, "errors are told again and again");
    producer.ask(Produce::to("orders", "two"));
    let news = producer.ask(next(2));
    assert_eq!(news.values(), ["two"], "whichever connection asks");
}

#[test]
fn a_long_fetch_that_waits_goes_with_its_connection() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(600));
    let consumer = broker.client();
    let all = (0..600).fold(Fetch::of_session(0, -1), |fetch, n| fetch.and(("orders", n), 0));
    let waiting = consumer.send(all.waiting_for(1, 30 * SECOND));
    broker.advance(SECOND);
    assert!(waiting.is_waiting());
    assert_eq!(broker.total(ShardFigures::parked_partitions), 600);
    consumer.close();
    broker.advance(MS);
    assert_eq!(broker.total(ShardFigures::parked_partitions), 0);
}

#[test]
fn fetches_that_wait_for_too_many_partitions_together_are_answered_at_once() {
    let settings = vec![("aplomb.fetch.partitions.max", "1000")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(200));
    let consumers: Vec<_> = (0..7).map(|_| broker.client()).collect();
    let all = || (0..200).fold(Fetch::of_session(0, -1), |fetch, n| fetch.and(("orders", n), 0));
    let asked: Vec<_> = consumers.iter().map(|each| each.send(all().waiting_for(1, 30 * SECOND))).collect();
    broker.advance(SECOND);
    let waiting = asked.iter().filter(|fetch| fetch.is_waiting()).count();
    assert!((1..7).contains(&waiting), "{waiting} wait: some may, and not all seven");
    assert!(broker.total(ShardFigures::parked_partitions) <= 1000);
    // There is room again as soon as one of them has gone.
    consumers.into_iter().for_each(Client::close);
    broker.advance(MS);
    let next = broker.client().send(all().waiting_for(1, 30 * SECOND));
    broker.advance(SECOND);
    assert!(next.is_waiting());
}

#[test]
fn a_long_fetch_is_woken_by_the_one_partition_that_has_something() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(600));
    let all = (0..600).fold(Fetch::of_session(0, -1), |fetch, n| fetch.and(("orders", n), 0));
    let waiting = broker.client().send(all.waiting_for(1, 30 * SECOND));
    broker.advance(SECOND);
    broker.client().ask(Produce::to(("orders", 599), "news"));
    broker.advance(MS);
    assert_eq!(waiting.answer().values(), ["news"]);
}

#[test]
fn a_session_that_nobody_uses_makes_room_for_another_after_two_minutes() {
    let settings = vec![("max.incremental.fetch.session.cache.slots", "1")];
    let broker = Broker::of(Setup { settings, ..Setup::default() });
    broker.has_topic("orders");
    let open = || broker.client().ask(Fetch::of_session(0, 0).and("orders", 0)).session;
    let first = open();
    assert_ne!(first, 0);
    assert_eq!(open(), 0, "there is no room");
    broker.advance(119 * SECOND);
    assert_eq!(open(), 0);
    broker.advance(SECOND);
    assert_ne!(open(), 0);
    assert_eq!(broker.client().ask(Fetch::of_session(first, 1)).error, ErrorCode::FetchSessionIdNotFound);
}

#[test]
fn a_session_that_is_closed_is_gone() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let consumer = broker.client();
    let session = consumer.ask(Fetch::of_session(0, 0).and("orders", 0)).session;
    assert_eq!(consumer.ask(Fetch::of_session(session, -1).and("orders", 0)).session, 0);
    assert_eq!(consumer.ask(Fetch::of_session(session, 1)).error, ErrorCode::FetchSessionIdNotFound);
}

#[test]
fn a_session_that_has_gone_on_refuses_the_answer_to_its_earlier_request() {
    let broker = Broker::start();
    broker.has_topic("orders");
    let consumer = broker.client();
    let session = consumer.ask(Fetch::of_session(0, 0).and("orders", 0)).session;
    let earlier = consumer.send(Fetch::of_session(session, 1).waiting_for(1, 5 * SECOND));
    let later = consumer.send(Fetch::of_session(session, 2));
    assert_eq!(later.answer().error, ErrorCode::None);
    assert_eq!(earlier.wait().error, ErrorCode::InvalidFetchSessionEpoch);
}

#[test]
fn a_client_that_gives_up_keeps_no_other_waiting() {
    let broker = Broker::of(Setup { shards: 2, ..Setup::default() });
    broker.has(CreateTopic::named("orders").partitions(2));
    let fetch = || Fetch::from(("orders", 0), 0).and(("orders", 1), 0).waiting_for(1, 30 * SECOND);
    for _ in 0..3 {
        let gone = broker.client();
        let _never_answered = gone.send(fetch());
        gone.close();
    }
    let waits = broker.client().send(fetch());
    broker.client().ask(Produce::to(("orders", 1), "one"));
    assert_eq!(waits.answer().values(), ["one"]);
}
