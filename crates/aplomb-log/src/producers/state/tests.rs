use aplomb_model::ErrorCode;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

fn id(raw: i64) -> ProducerId {
    ProducerId::from_wire(raw).unwrap()
}

/// Ten records of producer 7.
fn ten(epoch: i16, base_sequence: i32) -> ProducerBatch {
    let epoch = ProducerEpoch(epoch);
    ProducerBatch { producer: id(7), epoch, base_sequence, last_offset_delta: 9, transactional: false }
}

fn in_transaction(producer: i64) -> ProducerBatch {
    ProducerBatch { producer: id(producer), transactional: true, ..ten(0, 0) }
}

fn marker(producer: i64, epoch: i16, offset: u64, committed: bool) -> TransactionMarker {
    TransactionMarker {
        producer: id(producer),
        epoch: ProducerEpoch(epoch),
        end: EndTxnMarker { committed, coordinator_epoch: 3 },
        offset: Offset::new(offset),
        timestamp: Timestamp(offset as i64),
    }
}

fn apply(state: &mut ProducerState, batch: ProducerBatch, at: u64) {
    state.apply(&batch, Offset::new(at), Timestamp(at as i64));
}

fn asked(state: &ProducerState, batch: ProducerBatch) -> Result<Admission, SequenceError> {
    state.check(&batch, AppendOrigin::Client)
}

#[test]
fn a_producer_that_is_not_known_may_begin_anywhere() {
    assert_eq!(asked(&ProducerState::default(), ten(4, 1230)), Ok(Admission::Append));
}

#[test]
fn the_last_five_batches_are_recognised_and_older_ones_are_out_of_order() {
    let mut state = ProducerState::default();
    (0..6).for_each(|n| apply(&mut state, ten(0, n * 10), n as u64 * 10));
    for n in 1..6_u64 {
        let known = Admission::Duplicate {
            base_offset: Offset::new(n * 10),
            last_offset: Offset::new(n * 10 + 9),
            timestamp: Timestamp(n as i64 * 10),
        };
        assert_eq!(asked(&state, ten(0, n as i32 * 10)), Ok(known));
    }
    let too_old = SequenceError::OutOfOrder { producer: id(7), sequence: 0, last: 59 };
    assert_eq!(asked(&state, ten(0, 0)), Err(too_old));
    assert_eq!(ErrorCode::from(&too_old), ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(asked(&state, ten(0, 60)), Ok(Admission::Append));
    assert!(asked(&state, ten(0, 61)).is_err());
    assert!(asked(&state, ten(0, 55)).is_err(), "part of one batch, part of none");
}

#[test]
fn a_new_epoch_begins_at_0_and_ends_the_old_one() {
    let mut state = ProducerState::default();
    apply(&mut state, ten(1, 0), 0);
    let not_at_zero =
        SequenceError::NewEpochNotAtZero { producer: id(7), epoch: ProducerEpoch(2), sequence: 10 };
    assert_eq!(asked(&state, ten(2, 10)), Err(not_at_zero));
    assert_eq!(asked(&state, ten(2, 0)), Ok(Admission::Append));
    apply(&mut state, ten(2, 0), 10);
    let old = SequenceError::OldEpoch { producer: id(7), epoch: ProducerEpoch(1), current: ProducerEpoch(2) };
    assert_eq!(asked(&state, ten(1, 10)), Err(old));
    assert_eq!(ErrorCode::from(&old), ErrorCode::InvalidProducerEpoch);
    assert_eq!(state.producer(id(7)).unwrap().retained().len(), 1);
}

#[test]
fn sequence_numbers_wrap() {
    let mut state = ProducerState::default();
    apply(&mut state, ten(0, i32::MAX - 9), 0);
    assert_eq!(asked(&state, ten(0, 0)), Ok(Admission::Append));
    apply(&mut state, ten(0, i32::MAX - 4), 10);
    assert_eq!(asked(&state, ten(0, 5)), Ok(Admission::Append));
    assert!(matches!(asked(&state, ten(0, i32::MAX - 4)), Ok(Admission::Duplicate { .. })));
}

#[test]
fn of_what_a_coordinator_writes_only_the_epoch_is_checked() {
    let mut state = ProducerState::default();
    let offsets = in_transaction(7);
    apply(&mut state, offsets, 0);
    assert_eq!(state.check(&offsets, AppendOrigin::Coordinator), Ok(Admission::Append));
    apply(&mut state, ProducerBatch { epoch: ProducerEpoch(1), ..offsets }, 10);
    assert!(state.check(&offsets, AppendOrigin::Coordinator).is_err());
}

#[test]
fn readers_wait_for_open_transactions_and_for_markers_to_be_replicated() {
    let mut state = ProducerState::default();
    apply(&mut state, in_transaction(1), 0);
    apply(&mut state, in_transaction(2), 10);
    apply(&mut state, ProducerBatch { base_sequence: 10, ..in_transaction(1) }, 20);
    assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO));
    let oldest = state.oldest_open_transaction().unwrap();
    assert_eq!((oldest.producer, oldest.last_timestamp), (id(1), Timestamp(20)));

    let first = state.complete(&marker(1, 0, 30, false)).unwrap();
    assert_eq!((first.first_offset, first.last_stable_offset), (Offset::ZERO, Offset::new(10)));
    let aborted = first.aborted().unwrap();
    assert_eq!((aborted.producer, aborted.last_offset), (id(1), Offset::new(30)));
    assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO));
    state.on_high_watermark(Offset::new(30));
    assert_eq!(state.first_unstable_offset(), Some(Offset::ZERO), "the marker itself is not below 30");
    state.on_high_watermark(Offset::new(31));
    assert_eq!(state.first_unstable_offset(), Some(Offset::new(10)));

    let second = state.complete(&marker(2, 0, 31, true)).unwrap();
    assert_eq!((second.aborted(), second.last_stable_offset), (None, Offset::new(32)));
    state.on_high_watermark(Offset::new(32));
    assert_eq!((state.first_unstable_offset(), state.end()), (None, Offset::new(32)));
    assert_eq!(state.complete(&marker(2, 0, 32, true)), None, "nothing was open");
}

#[test]
fn a_batch_outside_of_the_open_transaction_is_refused() {
    let mut state = ProducerState::default();
    apply(&mut state, in_transaction(7), 5);
    assert!(state.has_open_transaction(id(7), ProducerEpoch(0)));
    let outside = SequenceError::OutsideTransaction { producer: id(7), open_since: Offset::new(5) };
    assert_eq!(asked(&state, ten(0, 10)), Err(outside));
    assert_eq!(ErrorCode::from(&outside), ErrorCode::InvalidTxnState);
    assert_eq!(
        asked(&state, ProducerBatch { base_sequence: 10, ..in_transaction(7) }),
        Ok(Admission::Append)
    );
}

#[test]
fn markers_of_old_epochs_and_old_coordinators_are_refused() {
    use MarkerEpochRule::{Above, NotBelow};
    let mut state = ProducerState::default();
    assert_eq!(state.check_marker(&marker(7, 0, 0, true), Above), Ok(()));
    apply(&mut state, ProducerBatch { epoch: ProducerEpoch(1), ..in_transaction(7) }, 0);
    let old_epoch = state.check_marker(&marker(7, 0, 10, true), NotBelow).unwrap_err();
    assert_eq!(ErrorCode::from(&old_epoch), ErrorCode::InvalidProducerEpoch);
    assert_eq!(state.check_marker(&marker(7, 1, 10, true), NotBelow), Ok(()));
    assert!(state.check_marker(&marker(7, 1, 10, true), Above).is_err());
    assert_eq!(state.check_marker(&marker(7, 2, 10, true), Above), Ok(()));
    state.complete(&marker(7, 2, 10, true));
    assert_eq!(state.check_marker(&marker(7, 2, 11, true), Above), Ok(()), "a repetition");

    let mut late = marker(7, 2, 11, true);
    late.end.coordinator_epoch = 2;
    let old_coordinator = state.check_marker(&late, NotBelow).unwrap_err();
    assert_eq!(ErrorCode::from(&old_coordinator), ErrorCode::TransactionCoordinatorFenced);
}

#[test]
fn idle_producers_are_forgotten_unless_a_transaction_is_open() {
    let mut state = ProducerState::default();
    apply(&mut state, in_transaction(1), 0);
    apply(&mut state, ten(0, 0), 10);
    let day = DAY.as_millis() as i64;
    assert_eq!(state.expire(Timestamp(day + 9), DAY), 0);
    assert_eq!(state.expire(Timestamp(day + 10), DAY), 1);
    assert!(state.producer(id(1)).is_some());
    state.complete(&marker(1, 0, 20, true));
    assert_eq!(state.expire(Timestamp(day + 20), DAY), 1);
    assert_eq!(state.producer_count(), 0);
}

#[test]
fn a_snapshot_is_taken_once_per_offset_and_restores_what_matters() {
    let mut state = ProducerState::starting_at(Offset::new(100));
    assert_eq!(state.take_snapshot(), None);
    apply(&mut state, ten(3, 40), 100);
    apply(&mut state, in_transaction(8), 110);
    state.advance_to(Offset::new(125));
    let (at, bytes) = state.take_snapshot().unwrap();
    assert_eq!((at, state.take_snapshot()), (Offset::new(125), None));

    let entries = super::super::parse_snapshot(&bytes).unwrap();
    let mut restored = ProducerState::restore(at, entries, Timestamp(120), DAY);
    assert_eq!((restored.end(), restored.take_snapshot()), (at, None));
    assert_eq!(restored.first_unstable_offset(), Some(Offset::new(110)));
    assert!(matches!(asked(&restored, ten(3, 40)), Ok(Admission::Duplicate { .. })));
    assert_eq!(asked(&restored, ten(3, 50)), Ok(Admission::Append));
    let entries = super::super::parse_snapshot(&bytes).unwrap();
    let late = ProducerState::restore(at, entries, Timestamp(i64::MAX), DAY);
    assert_eq!(late.producers().map(|(producer, _)| producer).collect::<Vec<_>>(), [id(8)]);
}

#[test]
fn replay_tells_records_and_markers_apart() {
    use aplomb_model::LeaderEpoch;
    use aplomb_model::batch::{BatchBuilder, ProducerStamp};

    let stamp = ProducerStamp { id: id(7), epoch: ProducerEpoch(0), base_sequence: 5 };
    let data = BatchBuilder::new(Offset::new(40))
        .producer(stamp)
        .transactional()
        .append(Timestamp(1), None, Some(b"a"), &[])
        .append(Timestamp(2), None, Some(b"b"), &[])
        .build();
    let end = EndTxnMarker { committed: false, coordinator_epoch: 1 };
    let producer = (id(7), ProducerEpoch(0));
    let control = end.to_batch(Offset::new(42), LeaderEpoch::ZERO, producer, Timestamp(3));
    let plain = BatchBuilder::new(Offset::new(43)).append(Timestamp(4), None, None, &[]).build();

    let mut state = ProducerState::starting_at(Offset::new(40));
    let header = |bytes: &[u8]| BatchHeader::parse(bytes).unwrap();
    assert_eq!(state.replay(&header(&data), None), None);
    assert_eq!(state.producer(id(7)).unwrap().last_sequence(), 6);
    assert_eq!(state.replay(&header(&control), None), None, "an emptied marker");
    assert_eq!(state.first_unstable_offset(), Some(Offset::new(40)));
    let completed = state.replay(&header(&control), Some(end)).unwrap();
    assert_eq!((completed.first_offset, completed.last_offset), (Offset::new(40), Offset::new(42)));
    assert_eq!(state.replay(&header(&plain), None), None);
    assert_eq!((state.end(), state.producer_count()), (Offset::new(44), 1));
}

#[test]
fn a_log_start_beyond_the_end_carries_the_state_along() {
    let mut state = ProducerState::default();
    apply(&mut state, in_transaction(1), 0);
    state.complete(&marker(1, 0, 10, true));
    state.on_log_start(Offset::new(50));
    assert_eq!((state.end(), state.first_unstable_offset()), (Offset::new(50), None));
    assert_eq!(state.take_snapshot(), None);
    assert_eq!(state.producer_count(), 1);
}

#[test]
fn ten_thousand_partitions_without_producers_cost_next_to_nothing() {
    assert!(size_of::<ProducerState>() <= 96);
    assert!(size_of::<ProducerEntry>() <= 176);
}
