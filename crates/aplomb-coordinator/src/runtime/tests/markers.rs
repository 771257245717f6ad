//! Transactions of others in a coordinator's log: what is written in them, and their ends.

use aplomb_model::batch::{Batches, EndTxnMarker};

use super::super::*;
use super::counters::{Ask, Host, settings};

fn wish(producer: i64, committed: bool) -> MarkerWish {
    let producer = ProducerId::from_wire(producer).expect("not negative");
    MarkerWish { producer, epoch: ProducerEpoch(0), end: EndTxnMarker { committed, coordinator_epoch: 0 } }
}

#[test]
fn the_end_of_a_transaction_lies_behind_what_was_written_before_and_is_applied_when_it_is_kept() {
    let mut host = Host::new(settings());
    let before = host.ask(Ask::Add("a", 1));
    let marked = host.mark(wish(7, true));
    let behind = host.turn(Ask::Add("a", 1));
    assert_eq!(host.asked.len(), 3, "each is a batch of its own");
    // A second one of the same producer has to wait for the first.
    let again = host.mark(wish(7, true));
    assert_eq!(host.marked, [(again, Err(ErrorCode::CoordinatorNotAvailable))]);
    host.marked.clear();
    host.keep();
    assert!(host.marked.is_empty() && host.runtime.machine().ended.is_empty());
    host.keep();
    assert_eq!(host.marked, [(marked, Ok(()))]);
    assert_eq!(host.runtime.machine().ended, [(ProducerId::from_wire(7).expect("an id"), true)]);
    host.keep();
    assert_eq!(host.answered(), [(before, Ok(1)), (behind, Ok(2))]);
    let header = Batches::new(&host.log[1]).next().expect("a batch").header;
    assert!(header.is_control() && header.is_transactional());
}

#[test]
fn the_end_of_a_transaction_that_is_refused_is_not_applied() {
    let mut host = Host::new(settings());
    let marked = host.mark(wish(7, false));
    let behind = host.turn(Ask::Add("a", 1));
    host.refuse(0, ErrorCode::NotLeaderOrFollower);
    assert_eq!(host.marked, [(marked, Err(ErrorCode::NotLeaderOrFollower))]);
    assert_eq!(host.answered(), [(behind, Err(ErrorCode::NotCoordinator))]);
    assert!(host.runtime.machine().ended.is_empty() && host.number("a").is_none());
    // It may be written again.
    host.mark(wish(7, false));
    host.keep();
    assert_eq!(host.runtime.machine().ended.len(), 1);
}

#[test]
fn what_is_written_in_a_transaction_is_in_a_batch_of_its_own() {
    let mut host = Host::new(settings());
    host.ask(Ask::Add("a", 1));
    host.ask(Ask::SetIn(7, "b", 2));
    host.turn(Ask::Add("a", 1));
    let headers = host.asked.iter().map(|(_, batch)| Batches::new(batch).next().expect("a batch").header);
    let producers: Vec<_> = headers.map(|header| header.producer().map(|stamp| stamp.id.to_wire())).collect();
    assert_eq!(producers, [None, Some(7), None]);
    let header = Batches::new(&host.asked[1].1).next().expect("a batch").header;
    assert!(header.is_transactional() && !header.is_control());
}
