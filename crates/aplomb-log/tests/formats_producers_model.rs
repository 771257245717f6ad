//! `ProducerState` beside a naive model that keeps everything that was ever appended and looks it
//! all through for each answer.

use std::time::Duration;

use aplomb_log::producers::{
    Admission, AppendOrigin, ProducerBatch, ProducerState, SequenceError, TransactionMarker, parse_snapshot,
};
use aplomb_model::batch::EndTxnMarker;
use aplomb_model::{Offset, ProducerEpoch, ProducerId, Timestamp};
use proptest::prelude::*;

const PRODUCERS: i64 = 3;
const NEVER: Duration = Duration::from_secs(1 << 40);

/// How a batch relates to what its producer has written before.
#[derive(Clone, Debug)]
enum Sequence {
    Next,
    Again { back: usize },
    At(i32),
}

#[derive(Clone, Debug)]
enum Step {
    Batch { producer: i64, epoch_step: i16, sequence: Sequence, delta: u32, transactional: bool },
    Marker { producer: i64, epoch_step: i16, committed: bool },
    HighWatermark { below_end: u64 },
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sequence = prop_oneof![
        6 => Just(Sequence::Next),
        3 => (0..8usize).prop_map(|back| Sequence::Again { back }),
        1 => prop_oneof![0..20, i32::MAX - 4..=i32::MAX].prop_map(Sequence::At),
    ];
    let epoch_step = prop_oneof![8 => Just(0i16), 1 => Just(1), 1 => Just(-1)];
    let batch = (0..PRODUCERS, epoch_step.clone(), sequence, 0..4u32, any::<bool>()).prop_map(
        |(producer, epoch_step, sequence, delta, transactional)| Step::Batch {
            producer,
            epoch_step,
            sequence,
            delta,
            transactional,
        },
    );
    let marker = (0..PRODUCERS, 0..2i16, any::<bool>())
        .prop_map(|(producer, epoch_step, committed)| Step::Marker { producer, epoch_step, committed });
    let step = prop_oneof![
        12 => batch,
        4 => marker,
        2 => (0..12u64).prop_map(|below_end| Step::HighWatermark { below_end }),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..120)
}

/// Something in the log.
#[derive(Clone, Debug)]
struct Written {
    producer: i64,
    epoch: i16,
    base: u64,
    last: u64,
    what: What,
    /// A snapshot remembers the last batch only.
    forgotten: bool,
}

#[derive(Clone, Debug)]
enum What {
    Batch { first_sequence: i64, last_sequence: i64, transactional: bool },
    Marker,
}

#[derive(Default)]
struct Naive {
    log: Vec<Written>,
    high_watermark: u64,
    /// Transactions that ended below are taken for replicated.
    replicated_below: u64,
}

impl Naive {
    fn end(&self) -> u64 {
        self.log.last().map_or(0, |written| written.last + 1)
    }

    fn of(&self, producer: i64) -> impl DoubleEndedIterator<Item = &Written> {
        self.log.iter().filter(move |written| written.producer == producer)
    }

    fn epoch(&self, producer: i64) -> Option<i16> {
        self.of(producer).next_back().map(|written| written.epoch)
    }

    /// The batches of the producer's current epoch, newest first.
    fn batches(&self, producer: i64) -> Vec<&Written> {
        let epoch = self.epoch(producer);
        let current = self.of(producer).rev().take_while(|written| Some(written.epoch) == epoch);
        current.filter(|written| matches!(written.what, What::Batch { .. })).collect()
    }

    /// First offset and marker of all the producer's transactions.
    fn transactions(&self, producer: i64) -> Vec<(u64, Option<u64>)> {
        let mut transactions: Vec<(u64, Option<u64>)> = Vec::new();
        let mut open = false;
        for written in self.of(producer) {
            match written.what {
                What::Batch { transactional: true, .. } if !open => {
                    transactions.push((written.base, None));
                    open = true;
                }
                What::Batch { .. } => {}
                What::Marker => {
                    if open && let Some(last) = transactions.last_mut() {
                        last.1 = Some(written.base);
                    }
                    open = false;
                }
            }
        }
        transactions
    }

    fn open_since(&self, producer: i64) -> Option<u64> {
        self.transactions(producer).last().filter(|(_, end)| end.is_none()).map(|(first, _)| *first)
    }

    fn first_unstable(&self) -> Option<u64> {
        let undecided = |(_, end): &(u64, Option<u64>)| end.is_none_or(|end| end >= self.replicated_below);
        let all = (0..PRODUCERS).flat_map(|producer| self.transactions(producer));
        all.filter(undecided).map(|(first, _)| first).min()
    }

    /// Offsets of the known batch, or `Ok(None)` to append, or which rule is broken.
    fn check(&self, batch: &ProducerBatch) -> Result<Option<(u64, u64)>, &'static str> {
        let producer = batch.producer.to_wire();
        let wanted = (i64::from(batch.base_sequence), i64::from(batch.last_sequence()));
        let Some(epoch) = self.epoch(producer) else { return Ok(None) };
        let batches = self.batches(producer);
        let sequences = |written: &Written| match written.what {
            What::Batch { first_sequence, last_sequence, .. } => (first_sequence, last_sequence),
            What::Marker => unreachable!("only batches were taken"),
        };
        let remembered = batches.iter().take(5).filter(|written| !written.forgotten);
        let mut same = remembered.filter(|written| epoch == batch.epoch.0 && sequences(written) == wanted);
        if let Some(known) = same.next_back() {
            return Ok(Some((known.base, known.last)));
        }
        if batch.epoch.0 < epoch {
            return Err("old epoch");
        }
        let expected = match batches.first() {
            Some(last) if batch.epoch.0 == epoch => (sequences(last).1 + 1) % (1 << 31),
            _ => 0,
        };
        if wanted.0 != expected {
            return Err("sequence");
        }
        if self.open_since(producer).is_some() && !batch.transactional {
            return Err("outside of the transaction");
        }
        Ok(None)
    }
}

fn id(producer: i64) -> ProducerId {
    ProducerId::from_wire(producer).unwrap()
}

fn make_batch(naive: &Naive, step: &Step) -> ProducerBatch {
    let Step::Batch { producer, epoch_step, sequence, delta, transactional } = step else {
        unreachable!("only for batches")
    };
    let batches = naive.batches(*producer);
    let sequences = |written: &&Written| match written.what {
        What::Batch { first_sequence, last_sequence, .. } => (first_sequence, last_sequence),
        What::Marker => unreachable!("only batches were taken"),
    };
    let epoch = (naive.epoch(*producer).unwrap_or(0) + epoch_step).max(0);
    let (base_sequence, delta) = match sequence {
        Sequence::At(sequence) => (*sequence, *delta),
        Sequence::Next if *epoch_step != 0 => (0, *delta),
        Sequence::Next => {
            (batches.first().map_or(0, |last| ((sequences(last).1 + 1) % (1 << 31)) as i32), *delta)
        }
        Sequence::Again { back } => match batches.get(*back) {
            Some(known) => (sequences(known).0 as i32, (known.last - known.base) as u32),
            None => (0, *delta),
        },
    };
    ProducerBatch {
        producer: id(*producer),
        epoch: ProducerEpoch(epoch),
        base_sequence,
        last_offset_delta: delta,
        transactional: *transactional,
    }
}

fn restart(state: &mut ProducerState, naive: &mut Naive) {
    let Some((at, bytes)) = state.take_snapshot() else { return };
    let entries = parse_snapshot(&bytes).unwrap();
    *state = ProducerState::restore(at, entries, Timestamp(0), NEVER);
    naive.replicated_below = naive.end();
    for producer in 0..PRODUCERS {
        let newest = naive.batches(producer).first().map(|written| written.base);
        let of_producer = naive.log.iter_mut().filter(|written| written.producer == producer);
        of_producer.for_each(|written| written.forgotten = Some(written.base) != newest);
    }
}

proptest! {
    #[test]
    fn every_answer_is_that_of_a_full_look_through_the_log(steps in steps()) {
        let (mut state, mut naive) = (ProducerState::default(), Naive::default());
        for step in &steps {
            match step {
                Step::Batch { producer, .. } => {
                    let batch = make_batch(&naive, step);
                    let said = match state.check(&batch, AppendOrigin::Client) {
                        Ok(Admission::Append) => Ok(None),
                        Ok(Admission::Duplicate { base_offset, last_offset, timestamp }) => {
                            // A snapshot has one timestamp for the last batch and the last marker.
                            let restarted = naive.log.iter().any(|written| written.forgotten);
                            prop_assert!(restarted || timestamp == Timestamp(base_offset.get() as i64));
                            Ok(Some((base_offset.get(), last_offset.get())))
                        }
                        Err(SequenceError::OldEpoch { .. }) => Err("old epoch"),
                        Err(SequenceError::NewEpochNotAtZero { .. } | SequenceError::OutOfOrder { .. }) => Err("sequence"),
                        Err(SequenceError::OutsideTransaction { .. }) => Err("outside of the transaction"),
                    };
                    prop_assert_eq!(said, naive.check(&batch), "{:?}", batch);
                    if said == Ok(None) {
                        let base = naive.end();
                        state.apply(&batch, Offset::new(base), Timestamp(base as i64));
                        naive.log.push(Written {
                            producer: *producer,
                            epoch: batch.epoch.0,
                            base,
                            last: base + u64::from(batch.last_offset_delta),
                            what: What::Batch {
                                first_sequence: batch.base_sequence.into(),
                                last_sequence: batch.last_sequence().into(),
                                transactional: batch.transactional,
                            },
                            forgotten: false,
                        });
                    }
                }
                Step::Marker { producer, epoch_step, committed } => {
                    let epoch = naive.epoch(*producer).unwrap_or(0) + epoch_step;
                    let at = naive.end();
                    let open_since = naive.open_since(*producer);
                    let end = EndTxnMarker { committed: *committed, coordinator_epoch: 0 };
                    let completed = state.complete(&TransactionMarker {
                        producer: id(*producer),
                        epoch: ProducerEpoch(epoch),
                        end,
                        offset: Offset::new(at),
                        timestamp: Timestamp(at as i64),
                    });
                    let what = What::Marker;
                    naive.log.push(Written { producer: *producer, epoch, base: at, last: at, what, forgotten: false });
                    prop_assert_eq!(completed.map(|txn| txn.first_offset.get()), open_since);
                    if let Some(txn) = completed {
                        let others = (0..PRODUCERS).filter_map(|other| naive.open_since(other));
                        prop_assert_eq!(txn.last_stable_offset.get(), others.min().unwrap_or(at + 1));
                        prop_assert_eq!(txn.aborted().is_none(), *committed);
                    }
                }
                Step::HighWatermark { below_end } => {
                    naive.high_watermark = naive.high_watermark.max(naive.end().saturating_sub(*below_end));
                    naive.replicated_below = naive.replicated_below.max(naive.high_watermark);
                    state.on_high_watermark(Offset::new(naive.high_watermark));
                }
                Step::Restart => restart(&mut state, &mut naive),
            }
            prop_assert_eq!(state.first_unstable_offset().map(Offset::get), naive.first_unstable());
            prop_assert_eq!(state.end().get(), naive.end());
            for producer in 0..PRODUCERS {
                let open = state.producer(id(producer)).and_then(|entry| entry.open_transaction());
                prop_assert_eq!(open.map(Offset::get), naive.open_since(producer));
            }
        }
    }
}
