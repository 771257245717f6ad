//! The runtime with a machine that counts.

mod counters;
mod markers;

use aplomb_model::batch::{BatchBuilder, Batches, Codec, ControlKind, ProducerStamp};
use aplomb_model::{ProducerEpoch, ProducerId, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use self::counters::{Ask, Host, replayed, settings};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_answer_waits_for_its_write_and_for_those_before_it() {
    let mut host = Host::new(settings());
    let before = host.turn(Ask::Get("a"));
    assert_eq!(host.answered(), [(before, Ok(0))], "nothing is on its way to the log");

    let set = host.turn(Ask::Set(vec![("a", 7)]));
    let get = host.turn(Ask::Get("a"));
    let at_once = host.turn(Ask::SetAtOnce("b", 1));
    assert_eq!(host.answered(), [(at_once, Ok(1))]);
    host.keep();
    assert_eq!(host.answered(), [(set, Ok(1)), (get, Ok(7))]);
    host.keep();
    assert!(host.answered().is_empty());
    assert!(host.runtime.is_idle());
}

#[test]
fn the_asks_of_a_turn_share_a_batch_until_it_is_full() {
    let mut host = Host::new(settings());
    for _ in 0..30 {
        host.ask(Ask::Add("a", 1));
    }
    assert_eq!(host.asked.len(), 1, "1000 bytes were full");
    host.end_turn();
    assert_eq!(host.asked.len(), 2);
    let mut end = Offset::ZERO;
    for (_, batch) in &host.asked {
        let header = Batches::new(batch).next().expect("a batch").header;
        assert!(batch.len() <= settings().batch_bytes);
        assert_eq!(header.base_offset(), end);
        assert_eq!(header.leader_epoch(), Some(LeaderEpoch::new(3)));
        end = header.last_offset().plus(1);
    }
    assert_eq!(end, Offset::new(30));
}

#[test]
fn a_refused_write_is_taken_back_with_all_behind_it_last_first() {
    let mut host = Host::new(settings());
    let first = host.turn(Ask::Add("a", 1));
    let second = host.turn(Ask::Add("a", 10));
    let third = host.turn(Ask::Set(vec![("b", 2), ("a", 50)]));
    let behind = host.turn(Ask::Get("a"));
    let open = host.ask(Ask::Add("a", 100));
    host.refuse(1, ErrorCode::NotEnoughReplicas);
    let error = Err(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(host.answered(), [(second, error), (third, error), (behind, error), (open, error)]);
    let taken_back = [("a", Some(50)), ("a", Some(11)), ("b", None), ("a", Some(1))];
    let taken_back: Vec<_> = taken_back.map(|(name, number)| (name.to_owned(), number)).into();
    assert_eq!(host.runtime.machine().taken_back, taken_back);
    assert_eq!((host.number("a"), host.number("b")), (Some(1), None));

    // The next one is written where the refused ones would have been.
    let next = host.turn(Ask::Add("a", 5));
    host.keep();
    host.keep();
    assert_eq!(host.answered(), [(first, Ok(1)), (next, Ok(6))]);
    assert_eq!(replayed(&host.log), host.runtime.machine().numbers);
}

#[test]
fn what_the_log_says_of_a_write_reaches_the_client_in_the_coordinators_words() {
    use ErrorCode as E;
    for (error, told) in [
        (E::UnknownTopicOrPartition, E::CoordinatorNotAvailable),
        (E::NotEnoughReplicas, E::CoordinatorNotAvailable),
        (E::NotEnoughReplicasAfterAppend, E::CoordinatorNotAvailable),
        (E::RequestTimedOut, E::CoordinatorNotAvailable),
        (E::NotLeaderOrFollower, E::NotCoordinator),
        (E::KafkaStorageError, E::NotCoordinator),
        (E::MessageTooLarge, E::UnknownServerError),
        (E::RecordListTooLarge, E::UnknownServerError),
        (E::InvalidFetchSize, E::UnknownServerError),
        (E::CorruptMessage, E::CorruptMessage),
    ] {
        let mut host = Host::new(settings());
        let ticket = host.turn(Ask::Note("a", 1));
        host.refuse(0, error);
        assert_eq!(host.answered(), [(ticket, Err(told))]);
        assert_eq!(host.runtime.machine().notes, [(1, Err(error))]);
    }
}

#[test]
fn what_no_batch_can_hold_is_refused_and_taken_back() {
    let mut host = Host::new(settings());
    let first = host.ask(Ask::Set(vec![("a", 1)]));
    let large = host.ask(Ask::Set(vec![("a", 2); 30]));
    let unwritable = host.ask(Ask::Set(vec![("a", 3), ("unwritable", 3)]));
    let error = Err(ErrorCode::UnknownServerError);
    assert_eq!(host.answered(), [(large, error), (unwritable, error)]);
    assert_eq!(host.number("a"), Some(1));
    host.end_turn();
    host.keep();
    assert_eq!(host.answered(), [(first, Ok(1))]);
    assert_eq!(replayed(&host.log), host.runtime.machine().numbers);
}

#[test]
fn what_need_not_be_together_goes_in_as_many_batches_as_it_takes() {
    let mut host = Host::new(settings());
    let each = host.turn(Ask::SetEach([("a", 2), ("b", 2), ("c", 3)].repeat(20)));
    assert_eq!(host.asked.len(), 3);
    for _ in 0..2 {
        host.keep();
        assert!(host.answered().is_empty());
    }
    host.keep();
    assert_eq!(host.answered(), [(each, Ok(3))]);
    assert_eq!(replayed(&host.log), host.runtime.machine().numbers);
}

#[test]
fn a_piece_that_cannot_be_written_takes_back_those_behind_it() {
    let mut host = Host::new(settings());
    let each =
        host.turn(Ask::SetEach(vec![("a", 1), ("unwritable", 1), ("a", 2), ("unwritable", 2), ("b", 3)]));
    assert_eq!(host.answered(), [(each, Err(ErrorCode::UnknownServerError))]);
    assert_eq!(host.number("a"), Some(1));
    host.keep();
    assert_eq!(replayed(&host.log), host.runtime.machine().numbers);
}

#[test]
fn a_batch_lingers_as_long_as_it_is_told_to() {
    // With each ask, with the timer, at the end of the turn.
    let mut host = Host::new(WriteSettings { linger: Some(Duration::ZERO), ..settings() });
    host.ask(Ask::Add("a", 1));
    host.ask(Ask::Add("a", 1));
    assert_eq!(host.asked.len(), 2);

    let mut host = Host::new(WriteSettings { linger: Some(SECOND), ..settings() });
    host.turn(Ask::Add("a", 1));
    host.advance(SECOND / 2);
    host.turn(Ask::Add("a", 1));
    assert!(host.asked.is_empty());
    assert_eq!(host.runtime.wake_at(), Some(host.now() + SECOND / 2), "since the first came");
    host.advance(SECOND / 2);
    assert_eq!(host.asked.len(), 1);

    let mut host = Host::new(settings());
    host.ask(Ask::Add("a", 1));
    host.ask(Ask::Add("a", 1));
    assert!(host.asked.is_empty());
    assert_eq!(host.runtime.wake_at(), Some(host.now()), "at once, should the turn be over already");
    host.end_turn();
    assert_eq!(host.asked.len(), 1);
    assert_eq!(host.runtime.wake_at(), Some(host.now() + 5 * SECOND), "when patience ends");
}

#[test]
fn patience_ends_and_the_write_may_be_kept_all_the_same() {
    let mut host = Host::new(settings());
    let first = host.turn(Ask::Note("a", 1));
    host.advance(SECOND);
    let second = host.turn(Ask::Add("b", 2));
    assert_eq!(host.runtime.wake_at(), Some(host.now() + 4 * SECOND));
    host.advance(4 * SECOND);
    assert_eq!(host.answered(), [(first, Err(ErrorCode::CoordinatorNotAvailable))]);
    assert_eq!(host.runtime.wake_at(), Some(host.now() + SECOND));
    host.keep();
    assert_eq!(host.runtime.machine().notes, [(1, Ok(()))]);
    host.keep();
    assert_eq!(host.answered(), [(second, Ok(2))], "and nothing more for the first");
}

#[test]
fn who_asks_behind_a_stuck_write_has_patience_of_its_own() {
    let mut host = Host::new(settings());
    let stuck = host.turn(Ask::Add("a", 1));
    host.advance(4 * SECOND);
    let behind = host.turn(Ask::Get("a"));
    host.advance(SECOND);
    let later = host.turn(Ask::Get("a"));
    let error = Err(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(host.answered(), [(stuck, error)]);
    assert_eq!(host.runtime.wake_at(), Some(host.now() + 4 * SECOND));
    host.advance(4 * SECOND);
    assert_eq!(host.answered(), [(behind, error)]);
    host.keep();
    assert_eq!(host.answered(), [(later, Ok(1))]);
}

#[test]
fn writes_are_refused_at_once_when_too_much_is_on_its_way() {
    let mut host = Host::new(WriteSettings { pending_bytes: 150, ..settings() });
    host.turn(Ask::Add("a", 1));
    host.turn(Ask::Add("a", 1));
    let refused = host.turn(Ask::Add("a", 1));
    assert_eq!(host.answered(), [(refused, Err(ErrorCode::CoordinatorNotAvailable))]);
    assert_eq!(host.number("a"), Some(2));
    host.keep();
    host.keep();
    host.answered();
    host.turn(Ask::Add("a", 1));
    assert_eq!(host.number("a"), Some(3));
}

#[test]
fn a_cancelled_ask_is_done_and_not_answered() {
    let mut host = Host::new(settings());
    let ticket = host.turn(Ask::Add("a", 1));
    host.runtime.cancel(ticket);
    let parked = host.turn(Ask::Park);
    host.runtime.cancel(parked);
    assert_eq!(host.runtime.machine().cancelled, [ticket, parked]);
    host.keep();
    host.runtime.resign();
    host.take();
    assert!(host.answered().is_empty());
    assert_eq!(host.number("a"), Some(1));
}

#[test]
fn who_resigns_answers_all_who_wait_once() {
    let mut host = Host::new(settings());
    let tickets = [
        host.turn(Ask::Add("a", 1)),
        host.turn(Ask::Park),
        host.turn(Ask::Wait(SECOND)),
        host.ask(Ask::Get("a")),
    ];
    host.ask(Ask::Add("b", 1));
    let open = Ticket(tickets[3].0 + 1);
    host.runtime.resign();
    host.take();
    let gone = Err(ErrorCode::NotCoordinator);
    let all: Vec<_> = tickets.into_iter().chain([open]).map(|ticket| (ticket, gone)).collect();
    assert_eq!(host.answered(), all);
    // What comes now is about nothing.
    host.keep();
    host.advance(10 * SECOND);
    host.end_turn();
    assert!(host.answered().is_empty() && host.asked.is_empty());
    assert_eq!(host.runtime.wake_at(), None);
    let late = host.turn(Ask::Add("a", 1));
    assert_eq!(host.answered(), [(late, gone)]);
}

#[test]
fn a_timer_answers_who_waits_for_it() {
    let mut host = Host::new(settings());
    let ticket = host.turn(Ask::Wait(SECOND));
    assert_eq!(host.runtime.wake_at(), Some(host.now() + SECOND));
    host.advance(SECOND / 2);
    assert!(host.answered().is_empty());
    host.advance(SECOND / 2);
    assert_eq!(host.answered(), [(ticket, Ok(0))]);
}

#[test]
fn of_many_timers_only_some_come_in_one_wake() {
    let mut host = Host::new(settings());
    let tickets: Vec<Ticket> = (0..1_000).map(|_| host.turn(Ask::Wait(SECOND))).collect();
    let mut wakes = Vec::new();
    host.advance(SECOND);
    while host.answers.len() < tickets.len() {
        wakes.push(host.answers.len());
        assert_eq!(host.runtime.wake_at(), Some(host.now()), "the rest is due, too");
        host.advance(Duration::ZERO);
    }
    assert_eq!(wakes, [256, 512, 768]);
    assert_eq!(host.runtime.wake_at(), None);
}

#[test]
fn a_timer_of_no_time_does_not_come_in_the_wake_that_sets_it() {
    let mut host = Host::new(settings());
    let ticket = host.turn(Ask::Wait(Duration::ZERO));
    assert!(host.runtime.wake_at() > Some(host.now()));
    host.advance(Duration::ZERO);
    assert_eq!(host.answered(), []);
    host.advance(Duration::from_micros(1));
    assert_eq!(host.answered(), [(ticket, Ok(0))]);
}

#[test]
fn what_follows_from_a_log_may_take_several_wakes_in_which_nothing_is_answered() {
    let mut host = Host::in_parts(3);
    assert_eq!(host.runtime.wake_at(), None, "its log is being read");
    host.loaded(Offset::ZERO);
    for _ in 0..2 {
        assert_eq!((host.runtime.stage(), host.runtime.wake_at()), (Stage::Loading, Some(Instant::START)));
        let ticket = host.turn(Ask::Get("a"));
        assert_eq!(host.answered(), [(ticket, Err(ErrorCode::CoordinatorLoadInProgress))]);
        host.advance(Duration::ZERO);
    }
    assert_eq!((host.runtime.stage(), host.runtime.wake_at()), (Stage::Active, None));
    let ticket = host.turn(Ask::Get("a"));
    assert_eq!(host.answered(), [(ticket, Ok(0))]);
}

fn number(builder: &mut BatchBuilder, name: &str, value: Option<&[u8]>) {
    builder.append(Timestamp(1), Some(name.as_bytes()), value, &[]);
}

#[test]
fn a_log_is_loaded_in_pieces() {
    let mut host = Host::loading(settings());
    let early = host.turn(Ask::Get("a"));
    assert_eq!(host.answered(), [(early, Err(ErrorCode::CoordinatorLoadInProgress))]);
    assert_eq!(host.runtime.stage(), Stage::Loading);

    // Compressed; then with gaps, of an unknown type, and without a key; then a tombstone.
    let mut first = BatchBuilder::new(Offset::new(10)).compression(Codec::Zstd);
    number(&mut first, "a", Some(&[0; 8]));
    number(&mut first, "b", Some(&[1; 8]));
    let mut second = BatchBuilder::new(Offset::new(20)).last_offset_delta(9);
    number(&mut second, "later than this", Some(b"?"));
    second.append(Timestamp(1), None, Some(b"?"), &[]);
    let mut third = BatchBuilder::new(Offset::new(30));
    number(&mut third, "a", None);
    number(&mut third, "unknown", None);
    let (first, second, third) = (first.build(), second.build(), third.build());

    assert_eq!(host.runtime.load(&[]).expect("nothing"), None);
    let (head, tail) = first.split_at(70);
    assert_eq!(host.runtime.load(&[head, tail, &second]).expect("two batches"), Some(Offset::new(30)));
    assert_eq!(host.number("a"), Some(0));
    assert_eq!(host.runtime.load(&[&third]).expect("one batch"), Some(Offset::new(32)));
    assert_eq!((host.number("a"), host.number("b")), (None, Some(0x0101_0101_0101_0101)));
    host.loaded(Offset::new(32));
    host.turn(Ask::Add("a", 1));
    let (_, batch) = &host.asked[0];
    assert_eq!(Batches::new(batch).next().expect("a batch").header.base_offset(), Offset::new(32));
}

#[test]
fn a_log_that_cannot_be_read_is_not_answered_from() {
    let mut value = BatchBuilder::new(Offset::new(5));
    number(&mut value, "a", Some(b"short"));
    let value = value.build();
    let mut packed = BatchBuilder::new(Offset::new(5)).compression(Codec::Gzip);
    number(&mut packed, "a", Some(&[0; 8]));
    let mut packed = packed.build().to_vec();
    let end = packed.len();
    packed[end - 12..].fill(0xff);
    for bytes in [&value[..], &packed] {
        let mut host = Host::loading(settings());
        let error = host.runtime.load(&[bytes]).expect_err("it cannot be read");
        assert!(error.to_string().contains("at offset 5: "), "{error}");
        assert_eq!(host.runtime.stage(), Stage::Failed);
        let ticket = host.turn(Ask::Get("a"));
        assert_eq!(host.answered(), [(ticket, Err(ErrorCode::NotCoordinator))]);
    }
}

#[test]
fn transactions_and_their_ends_reach_the_machine() {
    let producer = ProducerId::from_wire(9).expect("an id");
    let other = ProducerId::from_wire(8).expect("an id");
    let stamp = |id| ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence: 0 };
    let in_transaction = |at, id, name| {
        let mut batch = BatchBuilder::new(Offset::new(at)).producer(stamp(id)).transactional();
        number(&mut batch, name, Some(&[0; 8]));
        batch.build()
    };
    let end = |at, id, kind: ControlKind| {
        let mut batch = BatchBuilder::new(Offset::new(at)).producer(stamp(id)).transactional().control();
        batch.append(Timestamp(1), Some(&kind.key()), Some(&[0; 6]), &[]);
        batch.build()
    };
    let mut idempotent = BatchBuilder::new(Offset::new(2)).producer(stamp(producer));
    number(&mut idempotent, "at once", Some(&[0; 8]));

    let mut host = Host::loading(settings());
    let batches = [in_transaction(0, producer, "a"), in_transaction(1, other, "b"), idempotent.build()];
    host.runtime.load(&batches.each_ref().map(|batch| &batch[..])).expect("batches");
    let names = |host: &Host| host.runtime.machine().numbers.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&host), ["at once"]);
    assert_eq!(host.runtime.machine().pending.len(), 2);
    let ends = [end(3, other, ControlKind::Abort), end(4, producer, ControlKind::Commit)];
    host.runtime.load(&ends.each_ref().map(|batch| &batch[..])).expect("batches");
    assert_eq!(names(&host), ["a", "at once"]);
    assert!(host.runtime.machine().pending.is_empty());
}

/// What a host or its clients may do.
#[derive(Clone, Debug)]
enum Step {
    Ask(Ask),
    EndTurn,
    Keep,
    Refuse(usize),
    Advance(u64),
    Cancel(u64),
}

fn steps() -> impl Strategy<Value = Step> {
    let name = || proptest::sample::select(vec!["a", "b", "c", "unwritable"]);
    let usual = || proptest::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        4 => (usual(), -2..3i64).prop_map(|(name, more)| Step::Ask(Ask::Add(name, more))),
        2 => vec((name(), 0..9i64), 1..40).prop_map(|numbers| Step::Ask(Ask::Set(numbers))),
        2 => vec((name(), 0..9i64), 1..40).prop_map(|numbers| Step::Ask(Ask::SetEach(numbers))),
        1 => usual().prop_map(|name| Step::Ask(Ask::Get(name))),
        1 => (usual(), 0..9i64).prop_map(|(name, number)| Step::Ask(Ask::SetAtOnce(name, number))),
        1 => Just(Step::Ask(Ask::Park)),
        3 => Just(Step::EndTurn),
        3 => Just(Step::Keep),
        1 => (0..4usize).prop_map(Step::Refuse),
        2 => (0..3000u64).prop_map(Step::Advance),
        1 => (0..40u64).prop_map(Step::Cancel),
    ]
}

proptest! {
    /// Memory is what the log holds, with what is on its way there; and all are answered once, with
    /// good news only of what the log holds.
    #[test]
    fn memory_is_what_the_log_holds(
        steps in vec(steps(), 1..60),
        linger in proptest::option::of(0..2000u64),
    ) {
        let linger = linger.map(Duration::from_millis);
        let mut host = Host::new(WriteSettings { linger, pending_bytes: 3000, ..settings() });
        let mut asked = Vec::new();
        let mut cancelled = HashSet::new();
        for step in steps {
            match step {
                Step::Ask(ask) => asked.push(host.ask(ask)),
                Step::EndTurn => host.end_turn(),
                Step::Keep if !host.asked.is_empty() => host.keep(),
                Step::Refuse(place) if place < host.asked.len() => host.refuse(place, ErrorCode::NotEnoughReplicas),
                Step::Keep | Step::Refuse(_) => {}
                Step::Advance(millis) => host.advance(Duration::from_millis(millis)),
                Step::Cancel(number) => {
                    host.runtime.cancel(Ticket(number));
                    cancelled.insert(Ticket(number));
                }
            }
            if host.runtime.open.is_empty() {
                let on_its_way = host.asked.iter().map(|(_, batch)| batch);
                prop_assert_eq!(&replayed(host.log.iter().chain(on_its_way)), &host.runtime.machine().numbers);
            }
        }
        // The log goes on without this one.
        while !host.asked.is_empty() {
            host.refuse(0, ErrorCode::NotLeaderOrFollower);
        }
        if host.runtime.open.is_empty() {
            prop_assert_eq!(&replayed(&host.log), &host.runtime.machine().numbers);
        }
        host.runtime.resign();
        host.take();
        let mut answered: Vec<Ticket> = host.answers.iter().map(|(ticket, _)| *ticket).collect();
        answered.sort_unstable();
        prop_assert!(answered.windows(2).all(|pair| pair[0] < pair[1]), "each once: {answered:?}");
        asked.retain(|ticket| answered.binary_search(ticket).is_err());
        prop_assert!(asked.iter().all(|ticket| cancelled.contains(ticket)), "not answered: {asked:?}");
    }
}
