//! What is answered in each state, as Apache Kafka 4.4.0 answers it.

use std::time::Duration;

use aplomb_model::ErrorCode as E;

use super::lab::{Lab, SECOND, TIMEOUT, of, produced, topic};
use crate::group::expression::Expression;
use crate::txn::{ClientVersion, Init, TxnAsk, TxnFilter, TxnPartitions, TxnRecord, TxnState as S};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// A lab in which "t" has a transaction of one partition under way.
fn ongoing(version: i16) -> (Lab, (i64, i16)) {
    let mut lab = Lab::new(2);
    let producer = lab.init("t").expect("a producer");
    assert_eq!(lab.add("t", producer, topic("orders", &[0]), version), E::None);
    assert_eq!(lab.state("t"), Some(S::Ongoing));
    (lab, producer)
}

/// A lab in which "t" is in this state, and its producer.
fn in_state(state: S, version: i16) -> (Lab, (i64, i16)) {
    if state == S::Empty {
        let mut lab = Lab::new(2);
        // Not its first epoch, so that there is one before it.
        lab.init("t").expect("a producer");
        let producer = lab.init("t").expect("a producer");
        return (lab, producer);
    }
    let (mut lab, producer) = ongoing(version);
    if state == S::Ongoing {
        return (lab, producer);
    }
    let is_commit = matches!(state, S::PrepareCommit | S::CompleteCommit);
    let next = lab.end("t", producer, is_commit, version).expect("it is decided");
    if matches!(state, S::CompleteCommit | S::CompleteAbort) {
        lab.mark();
    }
    assert_eq!(lab.state("t"), Some(state));
    (lab, next)
}

#[test]
fn each_producer_that_begins_has_the_next_epoch_and_fences_the_one_before_it() {
    let mut lab = Lab::new(2);
    let (id, epoch) = lab.init("t").expect("a producer");
    assert_eq!(epoch, 0);
    assert_eq!(lab.init("t"), Ok((id, 1)));
    assert_eq!(lab.init("t"), Ok((id, 2)));
    assert_ne!(lab.init("u").expect("a producer").0, id);
    assert_eq!(lab.add("t", (id, 1), topic("orders", &[0]), 0), E::ProducerFenced);
    assert_eq!(lab.add("t", (id + 5, 2), topic("orders", &[0]), 0), E::InvalidProducerIdMapping);
    assert_eq!(lab.add("unknown", (id, 2), topic("orders", &[0]), 0), E::InvalidProducerIdMapping);
}

#[test]
fn a_timeout_has_to_be_one_that_the_broker_allows() {
    let mut lab = Lab::new(2);
    for timeout in [0, -1, i32::MIN, 900_001, i32::MAX] {
        assert_eq!(lab.init_within("t", timeout), Err(E::InvalidTransactionTimeout), "{timeout}");
    }
    assert!(lab.init_within("t", 900_000).is_ok());
}

#[test]
fn a_producer_that_goes_on_is_told_its_epoch_again_when_the_answer_was_lost() {
    let mut lab = Lab::new(2);
    let (id, epoch) = lab.init("t").expect("a producer");
    assert_eq!(lab.init_as("t", Some((id, epoch))), Ok((id, 1)));
    assert_eq!(lab.init_as("t", Some((id, epoch))), Ok((id, 1)), "once more");
    assert_eq!(lab.init_as("t", Some((id, 1))), Ok((id, 2)));
    assert_eq!(lab.init_as("t", Some((id, 0))), Err(E::ProducerFenced), "too old");
    assert_eq!(lab.init_as("t", Some((id + 5, 2))), Err(E::ProducerFenced));
}

#[test]
fn a_producer_that_begins_in_a_transaction_of_another_aborts_it_first() {
    let (mut lab, (id, epoch)) = ongoing(2);
    assert_eq!(lab.init("t"), Err(E::ConcurrentTransactions));
    assert_eq!(lab.init("t"), Err(E::ConcurrentTransactions), "its partitions do not know yet");
    let decided = lab.mark();
    assert_eq!(decided.len(), 1);
    assert_eq!((decided[0].is_committed, decided[0].of.epoch), (false, epoch + 1));
    assert_eq!(lab.end("t", (id, epoch), true, 0), Err(E::ProducerFenced), "the one before");
    assert_eq!(lab.init("t"), Ok((id, epoch + 2)));
}

#[test]
fn a_transaction_begins_with_its_first_partition_and_ends_when_all_have_markers() {
    for (version, is_commit) in [(0, true), (0, false), (2, true), (2, false)] {
        let (mut lab, (id, epoch)) = ongoing(version);
        let producer = (id, epoch);
        assert_eq!(lab.add("t", producer, topic("orders", &[0]), version), E::None, "it is in it already");
        let written = lab.log_of();
        assert_eq!(lab.add("t", producer, topic("orders", &[0]), version), E::None);
        assert_eq!(lab.log_of(), written);
        assert_eq!(lab.add("t", producer, topic("payments", &[1, 2]), version), E::None);
        let next = lab.end("t", producer, is_commit, version).expect("it is decided");
        assert_eq!(next, (id, if version == 2 { epoch + 1 } else { epoch }));
        let state = if is_commit { S::PrepareCommit } else { S::PrepareAbort };
        assert_eq!(lab.state("t"), Some(state));
        let busy = lab.add("t", next, topic("orders", &[0]), version);
        assert_eq!(busy, E::ConcurrentTransactions);
        let decided = lab.mark();
        assert_eq!(decided.len(), 1);
        assert_eq!(decided[0].of, of("t", next));
        assert_eq!((decided[0].is_committed, decided[0].version), (is_commit, ClientVersion(version)));
        let all = decided[0].partitions.iter().map(|(topic, ids)| (&**topic, ids.len())).collect::<Vec<_>>();
        assert_eq!(all, [("orders", 1), ("payments", 2)]);
        let state = if is_commit { S::CompleteCommit } else { S::CompleteAbort };
        let described = lab.describe("t").expect("it is there");
        assert_eq!((described.state, described.partitions.len()), (state, 0));
        assert_eq!(lab.add("t", next, topic("orders", &[0]), version), E::None, "the next one");
        assert_eq!(lab.state("t"), Some(S::Ongoing));
    }
}

#[test]
fn decisions_of_clients_before_version_2() {
    use E::{ConcurrentTransactions as Concurrent, InvalidTxnState as Invalid};
    let rows = [
        (S::Empty, Err(Invalid), Err(Invalid)),
        (S::PrepareCommit, Err(Concurrent), Err(Invalid)),
        (S::PrepareAbort, Err(Invalid), Err(Concurrent)),
        (S::CompleteCommit, Ok(()), Err(Invalid)),
        (S::CompleteAbort, Err(Invalid), Ok(())),
    ];
    for (state, commit, abort) in rows {
        for (is_commit, expected) in [(true, commit), (false, abort)] {
            let (mut lab, producer) = in_state(state, 0);
            let ended = lab.end("t", producer, is_commit, 0);
            assert_eq!(ended, expected.map(|()| producer), "{state:?}, commit: {is_commit}");
            assert_eq!(lab.state("t"), Some(state));
            let (id, epoch) = producer;
            assert_eq!(lab.end("t", (id, epoch + 1), is_commit, 0), Err(E::ProducerFenced));
            assert_eq!(lab.end("t", (id + 5, epoch), is_commit, 0), Err(E::InvalidProducerIdMapping));
        }
    }
}

#[test]
fn decisions_of_clients_of_version_2() {
    use E::{ConcurrentTransactions as Concurrent, InvalidTxnState as Invalid, ProducerFenced as Fenced};
    // Abort and commit, by the epoch before the present one; by the present one. `Ok(false)`: it is
    // known already; `Ok(true)`: another epoch.
    let rows = [
        (S::Empty, Err(Fenced), Err(Fenced), Ok(true), Err(Invalid)),
        (S::Ongoing, Err(Fenced), Err(Fenced), Ok(true), Ok(true)),
        (S::PrepareCommit, Err(Invalid), Err(Concurrent), Err(Fenced), Err(Fenced)),
        (S::PrepareAbort, Err(Concurrent), Err(Invalid), Err(Fenced), Err(Fenced)),
        (S::CompleteCommit, Err(Invalid), Ok(false), Ok(true), Err(Invalid)),
        (S::CompleteAbort, Ok(false), Err(Invalid), Ok(true), Err(Invalid)),
    ];
    for (state, abort_again, commit_again, abort, commit) in rows {
        let asked = [
            (false, true, abort_again),
            (true, true, commit_again),
            (false, false, abort),
            (true, false, commit),
        ];
        for (is_commit, is_again, expected) in asked {
            let (mut lab, (id, epoch)) = in_state(state, 2);
            if epoch == 0 && is_again {
                continue; // there is no epoch before it
            }
            let by = if is_again { epoch - 1 } else { epoch };
            let ended = lab.end("t", (id, by), is_commit, 2);
            let expected = expected.map(|bumps| (id, if bumps { epoch + 1 } else { epoch }));
            assert_eq!(ended, expected, "{state:?}, commit: {is_commit}, again: {is_again}");
            let was_under_way = state == S::Ongoing;
            if ended.is_ok() && !is_again && !was_under_way {
                assert_eq!(lab.state("t"), Some(S::CompleteAbort), "it had no partition");
            }
        }
    }
}

#[test]
fn a_producer_whose_epochs_are_used_up_gets_another_id() {
    let mut lab = Lab::new(2);
    let (id, mut epoch) = lab.init("t").expect("a producer");
    while epoch < i16::MAX - 1 {
        epoch = lab.init("t").expect("a producer").1;
    }
    let mut same = Lab::new(2);
    // By a new beginning.
    let (other, first) = lab.init_as("t", Some((id, epoch))).expect("a producer");
    assert_eq!((other != id, first), (true, 0));
    assert_eq!(lab.init_as("t", Some((id, epoch))), Ok((other, 0)), "the answer was lost");

    // By the end of a transaction.
    let (id, mut epoch) = same.init("t").expect("a producer");
    while epoch < i16::MAX - 1 {
        epoch = same.init("t").expect("a producer").1;
    }
    assert_eq!(same.add("t", (id, epoch), topic("orders", &[0]), 2), E::None);
    let next = same.end("t", (id, epoch), true, 2).expect("it is decided");
    assert_eq!((next.0 != id, next.1), (true, 0));
    let decided = same.mark();
    assert_eq!(decided[0].of, of("t", (id, i16::MAX)), "the markers are the old one's");
    assert_eq!(same.end("t", (id, epoch), true, 2), Ok(next), "the answer was lost");
    assert_eq!(same.add("t", next, topic("orders", &[0]), 2), E::None);
}

#[test]
fn who_makes_up_the_last_epoch_harms_no_one() {
    let mut lab = Lab::new(2);
    let (id, mut epoch) = lab.init("t").expect("a producer");
    while epoch < i16::MAX - 1 {
        epoch = lab.init("t").expect("a producer").1;
    }
    assert_eq!(lab.add("t", (id, epoch), topic("orders", &[0]), 0), E::None);
    assert_eq!(lab.init("t"), Err(E::ConcurrentTransactions));
    lab.mark();
    let last = (id, i16::MAX);
    assert_eq!(lab.add("t", last, topic("orders", &[0]), 0), E::None);
    assert_eq!(lab.end("t", last, true, 2).map(|_| ()), Err(E::ProducerFenced));
    assert_eq!(lab.init("t"), Err(E::ConcurrentTransactions));
    lab.mark();
    assert_eq!(lab.init("t").expect("a producer").1, 0);
}

#[test]
fn partitions_ask_whether_they_are_in_a_transaction() {
    let (mut lab, (id, epoch)) = ongoing(0);
    let both = topic("orders", &[0, 1]);
    assert_eq!(lab.verify("t", (id, epoch), both.clone()), Ok(topic("orders", &[1])));
    assert_eq!(lab.verify("t", (id, epoch), topic("orders", &[0])), Ok(TxnPartitions::new()));
    assert_eq!(lab.verify("t", (id, epoch + 1), both.clone()), Err(E::ProducerFenced));
    assert_eq!(lab.verify("t", (id + 5, epoch), both.clone()), Err(E::InvalidProducerIdMapping));
    assert_eq!(lab.verify("unknown", (id, epoch), both.clone()), Err(E::InvalidProducerIdMapping));
    lab.end("t", (id, epoch), true, 0).expect("it is decided");
    assert_eq!(lab.verify("t", (id, epoch), both), Err(E::ConcurrentTransactions));
}

#[test]
fn a_transaction_whose_time_is_up_is_aborted_and_its_producer_fenced() {
    let (mut lab, (id, epoch)) = ongoing(2);
    lab.pass(Duration::from_millis(TIMEOUT as u64 - 1));
    assert_eq!(lab.state("t"), Some(S::Ongoing));
    lab.pass(Duration::from_millis(200));
    assert_eq!(lab.state("t"), Some(S::PrepareAbort));
    let decided = lab.mark();
    assert_eq!((decided[0].is_committed, decided[0].of.epoch), (false, epoch + 1));
    assert_eq!(lab.end("t", (id, epoch), true, 0), Err(E::ProducerFenced));
    assert_eq!(lab.init("t"), Ok((id, epoch + 2)));
}

#[test]
fn a_transaction_that_is_under_way_is_so_after_a_load_and_has_the_rest_of_its_time() {
    let (mut lab, _) = ongoing(2);
    lab.pass(Duration::from_millis(TIMEOUT as u64 / 2));
    lab.reload();
    assert_eq!(lab.state("t"), Some(S::Ongoing));
    lab.pass(Duration::from_millis(TIMEOUT as u64 / 2 + 200));
    assert_eq!(lab.state("t"), Some(S::PrepareAbort));
}

#[test]
fn what_is_decided_is_told_again_after_a_load() {
    for is_commit in [true, false] {
        let (mut lab, producer) = ongoing(2);
        let next = lab.end("t", producer, is_commit, 2).expect("it is decided");
        let first = std::mem::take(&mut lab.decided);
        lab.reload();
        assert_eq!(lab.decided, first);
        lab.mark();
        assert_eq!(lab.add("t", next, topic("orders", &[0]), 2), E::None);
    }
}

#[test]
fn nothing_is_answered_or_told_before_the_log_has_kept_it() {
    let (mut lab, (id, epoch)) = ongoing(2);
    lab.keeps = false;
    let begin = Init { id: "t".into(), timeout: TIMEOUT, expected: None };
    let aborts = lab.send(TxnAsk::Init(begin.clone()));
    assert_eq!(lab.take(aborts), None);
    assert!(lab.decided.is_empty() && lab.has_asked_its_log());
    // Meanwhile there is nothing to be had of the id; even that waits for the log.
    let second = lab.send(TxnAsk::Init(begin));
    assert_eq!(lab.take(second), None);
    lab.keep();
    for ticket in [aborts, second] {
        let answer = lab.take(ticket).expect("it is answered now");
        assert_eq!(produced(answer), Err(E::ConcurrentTransactions));
    }
    assert_eq!(lab.decided.len(), 1);
    assert_eq!(lab.decided[0].of, of("t", (id, epoch + 1)));
}

#[test]
fn what_the_log_refuses_never_was() {
    let (mut lab, (id, epoch)) = ongoing(2);
    lab.keeps = false;
    let begin = Init { id: "t".into(), timeout: TIMEOUT, expected: None };
    let refused = lab.send(TxnAsk::Init(begin));
    lab.refuse();
    let answer = lab.take(refused).expect("it is answered");
    assert_eq!(produced(answer), Err(E::CoordinatorNotAvailable));
    lab.keeps = true;
    assert_eq!(lab.state("t"), Some(S::Ongoing));
    assert_eq!(lab.add("t", (id, epoch), topic("orders", &[1]), 2), E::None, "none is fenced");
    lab.pass(Duration::from_millis(TIMEOUT as u64 + 200));
    assert_eq!(lab.state("t"), Some(S::PrepareAbort), "its time is up all the same");

    // A new id that was refused is not there.
    lab.keeps = false;
    lab.send(TxnAsk::Init(Init { id: "u".into(), timeout: TIMEOUT, expected: None }));
    lab.refuse();
    lab.keeps = true;
    assert_eq!(lab.state("u"), None);
}

#[test]
fn a_completion_that_the_log_refuses_is_tried_again() {
    let (mut lab, producer) = ongoing(2);
    lab.end("t", producer, true, 2).expect("it is decided");
    lab.keeps = false;
    lab.mark();
    lab.refuse();
    lab.keeps = true;
    assert_eq!(lab.state("t"), Some(S::PrepareCommit));
    lab.pass(SECOND);
    assert_eq!(lab.decided.len(), 1, "its partitions are told again");
    lab.mark();
    assert_eq!(lab.state("t"), Some(S::CompleteCommit));
}

#[test]
fn ids_without_use_are_forgotten_but_not_in_a_transaction() {
    let mut lab = Lab::new(2);
    lab.init("old").expect("a producer");
    lab.pass(6 * DAY);
    lab.init("new").expect("a producer");
    let producer = lab.init_within("busy", 900_000).expect("a producer");
    lab.add("busy", producer, topic("orders", &[0]), 2);
    lab.pass(DAY + Duration::from_secs(3700));
    assert_eq!((lab.state("old"), lab.state("new")), (None, Some(S::Empty)));
    lab.reload();
    assert_eq!((lab.state("old"), lab.state("new")), (None, Some(S::Empty)));
    assert_eq!(lab.state("busy"), Some(S::PrepareAbort), "its partitions have no markers");
    lab.pass(30 * DAY);
    assert_eq!(lab.state("busy"), Some(S::PrepareAbort));
}

#[test]
fn many_ids_are_listed_and_loaded_in_pieces() {
    let mut lab = Lab::new(2);
    for n in 0..2_500 {
        let producer = lab.init(&format!("t{n:04}")).expect("a producer");
        if n % 10 == 0 {
            lab.add(&format!("t{n:04}"), producer, topic("orders", &[0]), 2);
        }
    }
    lab.reload();
    assert_eq!(lab.list(TxnFilter { duration: -1, ..TxnFilter::default() }).len(), 2_500);
    let ongoing = TxnFilter { states: vec!["Ongoing".to_owned()], duration: -1, ..TxnFilter::default() };
    assert_eq!(lab.list(ongoing.clone()).len(), 250);
    assert!(lab.list(TxnFilter { duration: 600_000, ..ongoing.clone() }).is_empty());
    let pattern = Some(Expression::compile("t000.").expect("a pattern"));
    assert_eq!(lab.list(TxnFilter { pattern, duration: -1, ..TxnFilter::default() }).len(), 10);
}

#[test]
fn records_are_what_they_were_in_both_versions() {
    for transaction_version in [0, 2] {
        let mut lab = Lab::new(transaction_version);
        let producer = lab.init("t").expect("a producer");
        lab.add("t", producer, topic("orders", &[3, 1]), 0);
        let before = lab.describe("t");
        lab.reload();
        assert_eq!(lab.describe("t"), before);
    }
    let unknown = TxnRecord::decode(bytes::Bytes::from_static(&[0, 1, 0, 0]), None);
    assert_eq!(unknown.expect("not an error"), None);
}

#[test]
fn without_room_nothing_is_added_and_what_is_there_goes_on() {
    let (mut lab, producer) = ongoing(2);
    let with_one = lab.bytes();
    assert_eq!(lab.add("t", producer, topic("orders", &[1, 2, 3]), 2), E::None);
    assert!(lab.bytes() > with_one);
    lab.set_room(false);
    assert_eq!(lab.init("new"), Err(E::CoordinatorNotAvailable));
    assert_eq!(lab.add("t", producer, topic("others", &[0]), 2), E::CoordinatorNotAvailable);
    assert_eq!(lab.add("t", producer, topic("orders", &[1]), 2), E::None, "it is there");
    let next = lab.end("t", producer, true, 2).expect("it is decided");
    lab.mark();
    assert_eq!(lab.state("t"), Some(S::CompleteCommit));
    assert!(lab.bytes() < with_one, "its partitions are gone");
    lab.set_room(true);
    assert_eq!(lab.add("t", next, topic("orders", &[1]), 2), E::None);
    assert_eq!(lab.bytes(), with_one);
    lab.reload();
    assert_eq!(lab.bytes(), with_one);
}
