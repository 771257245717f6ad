//! Leader epochs: clients that know too little or too much.

use aplomb_model::ErrorCode;

use crate::support::{Broker, CreateTopic, EndOfEpoch, Fetch, Produce, SECOND};

/// A broker with a topic "orders" of three records: two of epoch 0, and one of epoch 1, which began
/// with an unclean restart.
fn of_two_epochs() -> Broker {
    let broker = Broker::start();
    broker.has_topic("orders");
    broker.client().ask(Produce::to("orders", "one"));
    broker.client().ask(Produce::to("orders", "two"));
    broker.kill();
    broker.restart();
    broker.client().ask(Produce::to("orders", "three"));
    broker
}

#[test]
fn an_unclean_start_begins_an_epoch() {
    let broker = of_two_epochs();
    let first = broker.client().ask(EndOfEpoch::of("orders", 0));
    assert_eq!((first.error, first.epoch, first.end), (ErrorCode::None, 0, 2));
    let second = broker.client().ask(EndOfEpoch::of("orders", 1));
    assert_eq!((second.error, second.epoch, second.end), (ErrorCode::None, 1, 3));
}

/// Of a hundred thousand partitions that would be as many small files, at a stop if not before.
#[test]
fn the_file_of_an_epoch_waits_for_its_first_record() {
    let broker = Broker::start();
    broker.has(CreateTopic::named("orders").partitions(2));
    (0..2).for_each(|partition| {
        broker.client().ask(Produce::to(("orders", partition), "one"));
    });
    broker.advance(120 * SECOND);
    broker.kill();
    broker.restart();
    let file = |partition| {
        let bytes = broker.disk(0).file(&format!("orders-{partition}/leader-epoch-checkpoint"));
        String::from_utf8(bytes.expect("it is there").to_vec()).expect("a text")
    };
    let end = |partition| broker.client().ask(EndOfEpoch::of(("orders", partition), 1));
    assert_eq!((end(0).epoch, end(0).end), (1, 1), "led, and nothing is written");
    broker.client().ask(Produce::to(("orders", 1), "two"));
    broker.advance(120 * SECOND);
    let kept = "0\n1\n0 0\n";
    assert_eq!([file(0).as_str(), &file(1)], [kept, "0\n2\n0 0\n1 1\n"]);
    broker.stop();
    broker.restart();
    assert_eq!(broker.noted(), 2);
    assert_eq!(file(0), kept, "a stop writes none either");
    assert_eq!((end(0).epoch, end(0).end), (1, 1), "after a clean stop it is the same epoch");
    broker.client().ask(Produce::to(("orders", 0), "two"));
    broker.stop();
    assert_eq!(file(0), "0\n2\n0 0\n1 1\n");
}

#[test]
fn an_epoch_that_never_was_ends_nowhere() {
    let broker = of_two_epochs();
    let unknown = broker.client().ask(EndOfEpoch::of("orders", 9));
    assert_eq!((unknown.error, unknown.epoch, unknown.end), (ErrorCode::None, -1, -1));
}

#[test]
fn a_client_of_an_old_epoch_is_fenced_and_one_of_a_future_epoch_is_too_early() {
    let broker = of_two_epochs();
    let client = broker.client();
    let fetch = |epoch| client.ask(Fetch::from("orders", 0).in_epoch(epoch)).refusal();
    assert_eq!(fetch(0), ErrorCode::FencedLeaderEpoch);
    assert_eq!(fetch(1), ErrorCode::None);
    assert_eq!(fetch(2), ErrorCode::UnknownLeaderEpoch);
    let end = |epoch| client.ask(EndOfEpoch::of("orders", 0).in_epoch(epoch)).error;
    assert_eq!((end(0), end(2)), (ErrorCode::FencedLeaderEpoch, ErrorCode::UnknownLeaderEpoch));
}

#[test]
fn a_client_whose_records_are_not_ours_is_told_where_the_logs_part() {
    let broker = of_two_epochs();
    let diverging = broker.client().ask(Fetch::from("orders", 3).after_a_record_of_epoch(0));
    assert_eq!(diverging.refusal(), ErrorCode::None);
    assert_eq!((diverging.partitions[0].diverges_at, diverging.values().len()), (2, 0));
    let same = broker.client().ask(Fetch::from("orders", 2).after_a_record_of_epoch(0));
    assert_eq!((same.partitions[0].diverges_at, same.values()), (-1, vec!["three"]));
}
