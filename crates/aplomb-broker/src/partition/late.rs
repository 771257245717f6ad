//! Producers of which a batch was refused without a look at it: it found no memory in time, or the
//! log was being loaded.
//!
//! The log takes the next batch of a producer that it does not know, whatever its sequence. So a
//! batch that was refused must come again before the ones that were sent behind it: otherwise
//! these would be taken, and the retry would be out of order for good. Of a producer that the log
//! knows it takes only the batch that is due.

use std::collections::{BTreeMap, HashMap};

use aplomb_model::ProducerId;
use aplomb_model::batch::ProducerStamp;

use crate::seldom::{Emptiable, Seldom};

/// So many producers are remembered; beyond that the one that was late first is forgotten.
const PRODUCERS: usize = 1000;

/// Producers that are late.
#[derive(Debug, Default)]
pub(crate) struct LateProducers {
    late: Seldom<Late>,
}

/// What always holds: both tables have the same ones, at most [`PRODUCERS`].
#[derive(Debug, Default)]
struct Late {
    by_id: HashMap<ProducerId, (u64, ProducerStamp)>,
    by_turn: BTreeMap<u64, ProducerId>,
}

impl Emptiable for Late {
    fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }
}

impl LateProducers {
    /// A batch was refused. Of a producer's only the first in order counts, which need not be the
    /// first that is refused: one may still wait for memory while a later one is turned away.
    pub(crate) fn note(&mut self, stamp: ProducerStamp) {
        self.late.put(|late| late.note(stamp));
    }

    /// Forgets those that the log knows.
    pub(super) fn forget(&mut self, is_known: impl Fn(ProducerId) -> bool) {
        self.late.take(|late| {
            late.by_id.retain(|id, _| !is_known(*id));
            late.by_turn.retain(|_, id| late.by_id.contains_key(id));
            Some(())
        });
    }

    /// Whether a batch is ahead of one of its producer that was refused and was not appended since.
    pub(super) fn is_ahead(&self, stamp: ProducerStamp) -> bool {
        let late = self.late.get().and_then(|late| late.by_id.get(&stamp.id));
        late.is_some_and(|(_, late)| late.epoch == stamp.epoch && late.base_sequence < stamp.base_sequence)
    }

    /// A batch of this producer was appended: the log knows which one is due.
    pub(super) fn is_appended(&mut self, id: ProducerId) {
        self.late.take(|late| {
            let (turn, _) = late.by_id.remove(&id)?;
            late.by_turn.remove(&turn)
        });
    }
}

impl Late {
    fn note(&mut self, stamp: ProducerStamp) {
        if let Some((_, late)) = self.by_id.get_mut(&stamp.id) {
            if late.epoch < stamp.epoch
                || late.epoch == stamp.epoch && stamp.base_sequence < late.base_sequence
            {
                *late = stamp;
            }
            return;
        }
        if self.by_id.len() == PRODUCERS {
            let (_, oldest) = self.by_turn.pop_first().expect("both tables have the same ones");
            self.by_id.remove(&oldest);
        }
        let turn = self.by_turn.last_key_value().map_or(0, |(last, _)| last + 1);
        self.by_id.insert(stamp.id, (turn, stamp));
        self.by_turn.insert(turn, stamp.id);
    }
}

#[cfg(test)]
mod tests {
    use aplomb_model::ProducerEpoch;

    use super::*;

    fn stamp(id: i64, sequence: i32) -> ProducerStamp {
        let id = ProducerId::from_wire(id).expect("not negative");
        ProducerStamp { id, epoch: ProducerEpoch(0), base_sequence: sequence }
    }

    fn sizes(late: &LateProducers) -> (usize, usize) {
        late.late.get().map_or((0, 0), |late| (late.by_id.len(), late.by_turn.len()))
    }

    #[test]
    fn what_was_sent_behind_a_late_batch_has_to_wait_for_it() {
        let mut late = LateProducers::default();
        late.note(stamp(1, 10));
        late.note(stamp(1, 15));
        assert!(late.is_ahead(stamp(1, 15)));
        assert!(!late.is_ahead(stamp(2, 15)));
        assert!(!late.is_ahead(stamp(1, 10)));
        assert!(late.is_ahead(stamp(1, 15)), "it has come again, and finds no memory again");
        late.is_appended(stamp(1, 10).id);
        assert!(!late.is_ahead(stamp(1, 15)));
        assert!(late.late.is_empty());
    }

    #[test]
    fn an_earlier_one_may_be_refused_after_a_later_one() {
        let mut late = LateProducers::default();
        late.note(stamp(1, 15));
        late.note(stamp(1, 10));
        assert!(late.is_ahead(stamp(1, 12)) && !late.is_ahead(stamp(1, 10)));
        let next = ProducerStamp { epoch: ProducerEpoch(1), ..stamp(1, 20) };
        late.note(next);
        late.note(stamp(1, 5));
        assert!(!late.is_ahead(stamp(1, 12)), "of an epoch that is over");
        assert!(late.is_ahead(ProducerStamp { base_sequence: 21, ..next }));
    }

    #[test]
    fn those_that_the_log_knows_are_forgotten() {
        let mut late = LateProducers::default();
        (1..=3).for_each(|id| late.note(stamp(id, 10)));
        late.forget(|id| id == stamp(2, 0).id);
        assert!(!late.is_ahead(stamp(2, 15)));
        assert!(late.is_ahead(stamp(1, 15)) && late.is_ahead(stamp(3, 15)));
        assert_eq!(sizes(&late), (2, 2));
    }

    #[test]
    fn the_one_that_was_late_first_is_forgotten_when_there_are_too_many() {
        let mut late = LateProducers::default();
        let count = i64::try_from(PRODUCERS).expect("few");
        for id in 0..=count {
            late.note(stamp(id, 10));
        }
        assert!(!late.is_ahead(stamp(0, 20)));
        assert!(late.is_ahead(stamp(1, 20)));
        assert!(late.is_ahead(stamp(count, 20)));
        assert_eq!(sizes(&late), (PRODUCERS, PRODUCERS));
    }
}
