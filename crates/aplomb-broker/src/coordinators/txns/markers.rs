//! Markers on their way: what was decided of a transaction is written into each of its partitions,
//! so many a turn, and again where a partition does not take it.
//!
//! What always holds: an id has one decision under way; a partition is asked for one marker of it
//! at a time; it is complete when none is missing, and is forgotten then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::runtime::MarkerWish;
use aplomb_coordinator::txn::{ClientVersion, Decided, Incarnation};
use aplomb_log::producers::MarkerEpochRule;
use aplomb_model::batch::EndTxnMarker;
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, PartitionIndex, ProducerEpoch, ProducerId};

use crate::calls::{Asker, CoordinatorPart, MarkerCall, PartitionKey};
use crate::coordinators::effect::CoordinatorEffect;
use crate::errands::Errands;
use crate::view::View;

/// Partitions that are asked in a turn: others are served in between.
const SENT_A_TURN: usize = 32;

/// How soon a partition that does not take a marker is asked again, and how long it is before that
/// at the most: twice as long each time, as a lost disk may never come back.
const RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// A decision: of which coordinator, about which transactional id.
type DecisionKey = (PartitionKey, Arc<str>);

/// Decisions whose markers are not all written.
#[derive(Debug, Default)]
pub(in crate::coordinators) struct Markers {
    decisions: BTreeMap<DecisionKey, Decision>,
    /// Those that have markers to be sent, by when.
    due: BTreeSet<(Instant, DecisionKey)>,
    /// What partitions were asked for and have not answered, by number.
    asked: BTreeMap<u64, Sent>,
    next: u64,
    complete: Vec<(PartitionKey, Incarnation)>,
}

#[derive(Debug)]
struct Decision {
    call: MarkerCall,
    of: Incarnation,
    /// Where the marker is still to be sent to.
    unsent: BTreeSet<(Arc<str>, i32)>,
    /// How many partitions have not answered.
    asked: usize,
    /// How long it is until those are asked again that have refused.
    retry: Duration,
    /// Its place in `due`.
    due: Option<Instant>,
}

/// A marker on its way.
#[derive(Debug)]
struct Sent {
    place: DecisionKey,
    topic: Arc<str>,
    partition: i32,
    to: PartitionKey,
}

impl Markers {
    /// A decision is kept. One that is known is told again: it goes on.
    pub(super) fn begin(&mut self, key: PartitionKey, epoch: LeaderEpoch, decided: Decided, now: Instant) {
        let Decided { of, is_committed, partitions, version } = decided;
        let place = (key, of.id.clone());
        if self.decisions.get(&place).is_some_and(|known| known.of == of) {
            return;
        }
        assert!(!self.decisions.contains_key(&place), "an id has one decision under way");
        let rule = if version >= ClientVersion::EPOCH_EACH {
            MarkerEpochRule::Above
        } else {
            MarkerEpochRule::NotBelow
        };
        let marker = MarkerWish {
            producer: ProducerId::from_wire(of.producer_id).expect("a producer of ours has an id"),
            epoch: ProducerEpoch(of.epoch),
            end: EndTxnMarker { committed: is_committed, coordinator_epoch: epoch.to_wire() },
        };
        let call = MarkerCall { marker, rule };
        let each = |(topic, ids): (Arc<str>, BTreeSet<i32>)| {
            ids.into_iter().map(move |partition| (topic.clone(), partition))
        };
        let unsent = partitions.into_iter().flat_map(each).collect();
        self.decisions
            .insert(place.clone(), Decision { call, of, unsent, asked: 0, retry: RETRY, due: None });
        self.set_due(&place, Some(now));
    }

    fn set_due(&mut self, place: &DecisionKey, at: Option<Instant>) {
        let decision = self.decisions.get_mut(place).expect("it is under way");
        if let Some(before) = std::mem::replace(&mut decision.due, at) {
            self.due.remove(&(before, place.clone()));
        }
        self.due.extend(at.map(|at| (at, place.clone())));
    }

    /// When there is something to be sent, or a coordinator to be told.
    pub(in crate::coordinators) fn wake_at(&self) -> Option<Instant> {
        if self.complete.is_empty() { self.due.first().map(|(at, _)| *at) } else { Some(Instant::START) }
    }

    /// Asks partitions to write markers that are due.
    pub(super) fn send(&mut self, view: &View, now: Instant, effects: &mut Errands<CoordinatorEffect>) {
        let mut left = SENT_A_TURN;
        while left > 0
            && let Some((_, place)) = self.due.first().filter(|(at, _)| *at <= now).cloned()
        {
            let decision = self.decisions.get_mut(&place).expect("what is due is under way");
            while left > 0
                && let Some((topic, partition)) = decision.unsent.pop_first()
            {
                left -= 1;
                // Of a topic that is gone nothing can be read.
                let Some(to) = find(view, &topic, partition) else { continue };
                let number = self.next;
                self.next += 1;
                decision.asked += 1;
                let asker = Asker::Coordinator(place.0, CoordinatorPart::Marker(number));
                effects.push(CoordinatorEffect::Mark(asker, to, decision.call));
                self.asked.insert(number, Sent { place: place.clone(), topic, partition, to });
            }
            if decision.unsent.is_empty() {
                self.set_due(&place, None);
                self.end_if_complete(&place);
            }
        }
    }

    /// A partition has the marker, or does not take it.
    pub(in crate::coordinators) fn on_answer(
        &mut self,
        number: u64,
        answer: Result<(), ErrorCode>,
        now: Instant,
    ) {
        let Some(Sent { place, topic, partition, .. }) = self.asked.remove(&number) else {
            return; // its coordinator has resigned
        };
        let decision = self.decisions.get_mut(&place).expect("what waits for an answer is under way");
        decision.asked -= 1;
        if answer.is_ok() || answer.is_err_and(is_final) {
            return self.end_if_complete(&place);
        }
        decision.unsent.insert((topic, partition));
        if decision.due.is_none() {
            let later = now + decision.retry;
            decision.retry = LONGEST_RETRY.min(2 * decision.retry);
            self.set_due(&place, Some(later));
        }
    }

    fn end_if_complete(&mut self, place: &DecisionKey) {
        let decision = &self.decisions[place];
        if decision.asked == 0 && decision.unsent.is_empty() {
            assert!(decision.due.is_none(), "nothing is to be sent");
            let decision = self.decisions.remove(place).expect("it is under way");
            self.complete.push((place.0, decision.of));
        }
    }

    /// How many decisions are under way, and how many markers partitions have not answered for.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.decisions.len(), self.asked.len())
    }

    /// Takes decisions all of whose partitions have the marker.
    pub(super) fn take_complete(&mut self) -> Vec<(PartitionKey, Incarnation)> {
        std::mem::take(&mut self.complete)
    }

    /// A coordinator has resigned: its successor is told of its decisions.
    pub(super) fn forget(&mut self, key: PartitionKey, effects: &mut Errands<CoordinatorEffect>) {
        self.decisions.retain(|(of, _), _| *of != key);
        self.due.retain(|(_, (of, _))| *of != key);
        self.complete.retain(|(of, _)| *of != key);
        for (number, sent) in self.asked.extract_if(.., |_, sent| sent.place.0 == key) {
            let asker = Asker::Coordinator(key, CoordinatorPart::Marker(number));
            effects.push(CoordinatorEffect::Unmark(asker, sent.to));
        }
    }
}

/// A partition of a topic, if it is there.
fn find(view: &View, topic: &str, partition: i32) -> Option<PartitionKey> {
    let topic = view.image().topics.by_name(topic)?;
    let partition = PartitionIndex(partition);
    topic.partitions.contains_key(&partition).then_some(PartitionKey { topic: topic.id, partition })
}

/// Whether a partition will never take a marker, because it has a later one. Its transaction is
/// over; an operator may have ended it.
fn is_final(error: ErrorCode) -> bool {
    matches!(error, ErrorCode::InvalidProducerEpoch | ErrorCode::TransactionCoordinatorFenced)
}
