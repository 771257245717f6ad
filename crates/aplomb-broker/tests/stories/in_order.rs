//! Batches of transactions that are sent without an answer in between.

use aplomb_model::ErrorCode;
use aplomb_protocol::messages as m;

use super::transactions::{begin, end, with};
use crate::support::{Alter, AsIs, Batch, ProduceAll, SECOND, Setup};

#[test]
fn what_is_sent_behind_the_first_batch_of_a_producer_is_taken_behind_it() {
    for shards in 1..=4 {
        let broker = with(Setup { shards, ..Setup::default() });
        for turns in 0..8 {
            let id = format!("t{turns}");
            let who = begin(&broker, &id);
            let send = |sequence| {
                let batch = Batch::of(&["a"]).by(who, sequence).in_transaction();
                broker.client().send_along(ProduceAll::to([(("orders", 0).into(), batch)]).under(&id))
            };
            let mut sent = vec![send(0)];
            for _ in 0..turns {
                broker.client().send_along(AsIs::<_, 4>(m::ApiVersionsRequest::default()));
            }
            // Their sender cannot tell from the answers whether the first was there before them.
            sent.extend([send(1), send(2)]);
            broker.advance(SECOND);
            for (sequence, sent) in sent.into_iter().enumerate() {
                let error = sent.answer()[0].error;
                assert_eq!(error, ErrorCode::None, "{shards} shards, {turns} turns, sequence {sequence}");
            }
            assert_eq!(end(&broker, &id, who, true).error, ErrorCode::None);
        }
    }
}

#[test]
fn what_would_pass_one_that_is_with_its_coordinator_goes_there_too() {
    let broker = with(Setup::default());
    let altered = broker.client().ask(Alter::topic("__transaction_state", "flush.messages", "1"));
    assert_eq!(altered.error, ErrorCode::None);
    let (who, client) = (begin(&broker, "t"), broker.client());
    let send = |parts: &[(i32, i32)]| {
        let batch = |sequence| Batch::of(&["a"]).by(who, sequence).in_transaction();
        let parts =
            parts.iter().map(|(partition, sequence)| (("orders", *partition).into(), batch(*sequence)));
        client.send_along(ProduceAll::to(parts.collect::<Vec<_>>()).under("t"))
    };
    // The second takes another partition into the transaction, which is another sync.
    let (first, second) = (send(&[(0, 0)]), send(&[(0, 1), (1, 0)]));
    assert_eq!(first.wait()[0].error, ErrorCode::None);
    let third = send(&[(0, 2)]);
    let answers = [second.wait(), third.wait()].concat();
    let errors: Vec<_> = answers.iter().map(|part| part.error).collect();
    assert_eq!(errors, [ErrorCode::None; 3]);
}

#[test]
fn what_is_sent_without_an_answer_in_between_is_taken_in_its_order_in_each_transaction() {
    // Some are also about partitions of which an answer comes later.
    const ABOUT: [&[i32]; 3] = [&[0, 1, 2], &[0], &[1, 0]];
    for shards in 1..=4 {
        let broker = with(Setup { shards, ..Setup::default() });
        for turns in 0..6 {
            let mut who = begin(&broker, "t");
            for transaction in 0..3 {
                let client = broker.client();
                let (mut due, mut sent) = ([0; 3], Vec::new());
                for partitions in ABOUT.into_iter().cycle().take(24) {
                    let parts = partitions.iter().map(|partition| {
                        let sequence = &mut due[*partition as usize];
                        let batch = Batch::of(&["a"]).by(who, *sequence).in_transaction();
                        *sequence += 1;
                        (("orders", *partition).into(), batch)
                    });
                    let ask = ProduceAll::to(parts.collect::<Vec<_>>()).under("t");
                    sent.push(client.send_along(ask));
                    for _ in 0..turns {
                        client.send_along(AsIs::<_, 4>(m::ApiVersionsRequest::default()));
                    }
                }
                broker.advance(SECOND);
                let answers = sent.into_iter().flat_map(|sent| sent.answer());
                let errors: Vec<_> = answers.map(|part| part.error).collect();
                let taken = vec![ErrorCode::None; errors.len()];
                assert_eq!(errors, taken, "{shards} shards, {turns} turns, transaction {transaction}");
                who = end(&broker, "t", who, transaction % 2 == 0);
                broker.advance(SECOND);
            }
        }
    }
}

#[test]
fn who_wants_no_answer_goes_on_when_the_one_before_it_went_with_their_connection() {
    let broker = with(Setup::default());
    let altered = broker.client().ask(Alter::topic("orders", "flush.messages", "1"));
    assert_eq!(altered.error, ErrorCode::None);
    let (who, client) = (begin(&broker, "t"), broker.client());
    let to = |parts: &[(i32, i32)]| {
        let batch = |sequence| Batch::of(&["a"]).by(who, sequence).in_transaction();
        let parts =
            parts.iter().map(|(partition, sequence)| (("orders", *partition).into(), batch(*sequence)));
        ProduceAll::to(parts.collect::<Vec<_>>()).under("t")
    };
    assert_eq!(client.send(to(&[(0, 0)])).wait()[0].error, ErrorCode::None);
    broker.disk(0).freeze();
    // It asks nothing before the disk has its first part, and the other stands behind it.
    client.send(to(&[(0, 1), (1, 0)]));
    client.send(to(&[(2, 0)]).without_answer());
    client.close();
    broker.disk(0).thaw();
    broker.advance(SECOND);
    assert_eq!(broker.client().read(("orders", 2), 0), ["a"]);
    assert_eq!(broker.client().read(("orders", 1), 0), [""; 0]);
}

#[test]
fn those_whose_time_is_up_together_are_answered_together() {
    let broker = with(Setup::default());
    let client = broker.client();
    let altered = client.ask(Alter::topic("orders", "flush.messages", "1"));
    assert_eq!(altered.error, ErrorCode::None);
    let who = begin(&broker, "t");
    let send = |sequence| {
        let batch = Batch::of(&["a"]).by(who, sequence).in_transaction();
        client.send_along(ProduceAll::to([(("orders", 0).into(), batch)]).under("t"))
    };
    assert_eq!(send(0).wait()[0].error, ErrorCode::None);
    broker.disk(0).freeze();
    let sent = [1, 2, 3].map(send);
    broker.advance(60 * SECOND);
    let errors = sent.map(|sent| sent.answer()[0].error);
    assert_eq!(errors, [ErrorCode::RequestTimedOut; 3]);
}
