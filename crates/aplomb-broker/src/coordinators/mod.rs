//! The coordinators of a shard: of groups and of transactions, one for each partition of their
//! topics that it owns.
//!
//! A [`Host`] has what both kinds have in common: tickets, loading, writing. What is particular to
//! [`groups`] and to [`txns`] is in rooms of their own.

mod effect;
mod groups;
mod host;
mod kind;
mod loading;
mod table;
mod txns;

use std::sync::Arc;

use aplomb_coordinator::group::GroupAsk;
use aplomb_coordinator::runtime::MarkerWish;
use aplomb_model::{Instant, LeaderEpoch, Offset};

pub(crate) use self::effect::CoordinatorEffect;
use self::groups::GroupCoordinators;
pub(crate) use self::groups::ShownBound;
use self::host::Host;
use self::txns::TxnCoordinators;
use crate::calls::{Answer, Asker, CoordinatorAsk, CoordinatorPart, PartitionKey};
use crate::figures::ShardFigures;
use crate::metadata::Delta;
use crate::ports::{Chance, Now};
use crate::view::View;

/// The coordinators of a shard.
pub(crate) struct Coordinators {
    groups: Host<GroupCoordinators>,
    txns: Host<TxnCoordinators>,
}

impl Coordinators {
    pub(crate) fn new(random: Chance, bound: Arc<ShownBound>) -> Self {
        Self {
            groups: Host::new(GroupCoordinators::new(random, bound)),
            txns: Host::new(TxnCoordinators::default()),
        }
    }

    /// Whether nothing is to be done for them.
    pub(crate) fn is_quiet(&self) -> bool {
        self.groups.effects.is_empty() && self.txns.effects.is_empty()
    }

    /// Takes the next thing that others are to do.
    pub(crate) fn next_effect(&mut self) -> Option<CoordinatorEffect> {
        self.groups.effects.next().or_else(|| self.txns.effects.next())
    }

    /// A partition is led by this broker, in this epoch: if it is one of a coordinator's, that
    /// begins to load.
    pub(crate) fn elect(
        &mut self,
        key: PartitionKey,
        epoch: LeaderEpoch,
        log_start: Offset,
        view: &View,
        now: Now,
    ) {
        self.groups.elect(key, epoch, log_start, view, now);
        self.txns.elect(key, epoch, log_start, view, now);
    }

    /// A partition is led no longer, or is gone.
    pub(crate) fn resign(&mut self, key: PartitionKey) {
        self.groups.resign(key);
        self.txns.resign(key);
    }

    /// The broker stops: clients that wait are told to look elsewhere.
    pub(crate) fn begin_stop(&mut self) {
        self.groups.begin_stop();
        self.txns.begin_stop();
    }

    /// A client asks the coordinator of a partition that this shard owns. Gives whether there is
    /// one.
    pub(crate) fn ask(
        &mut self,
        asker: Asker,
        key: PartitionKey,
        ask: CoordinatorAsk,
        view: &View,
        now: Now,
    ) -> bool {
        match ask {
            CoordinatorAsk::Group(ask) | CoordinatorAsk::InTransaction(_, ask) => {
                self.groups.ask(asker, key, ask, view, now)
            }
            CoordinatorAsk::Txn(ask) => self.txns.ask(asker, key, ask, view, now),
        }
    }

    /// Whether a partition is the log of a group coordinator.
    pub(crate) fn has_groups(&self, key: PartitionKey) -> bool {
        self.groups.has(key)
    }

    /// The end of a transaction is to be written into the log of a group coordinator.
    pub(crate) fn mark(
        &mut self,
        asker: Asker,
        key: PartitionKey,
        marker: MarkerWish,
        view: &View,
        now: Now,
    ) {
        self.groups.mark(asker, key, marker, view, now);
    }

    /// The asker waits no longer.
    pub(crate) fn cancel(&mut self, asker: Asker) {
        self.groups.cancel(asker);
        self.txns.cancel(asker);
    }

    /// Metadata has changed: offsets of topics that were deleted are forgotten, by a coordinator
    /// that is loading as soon as it has them all.
    pub(crate) fn on_metadata(&mut self, delta: &Delta) {
        if delta.deleted.is_empty() {
            return;
        }
        let deleted = delta.deleted.values();
        let deleted: Vec<_> = deleted.map(|topic| (topic.name.clone(), topic.id)).collect();
        let (table, _, _) = self.groups.parts();
        for key in table.keys() {
            table.change(key).tell(GroupAsk::TopicsDeleted(deleted.clone()));
        }
    }

    /// A partition, or the controller, answers a coordinator.
    pub(crate) fn on_answer(
        &mut self,
        key: PartitionKey,
        part: CoordinatorPart,
        answer: Answer,
        view: &View,
        now: Now,
    ) {
        let is_group = self.groups.has(key);
        match (part, answer) {
            (CoordinatorPart::Write(of, number), Answer::Append(answer)) if is_group => {
                self.groups.on_append(key, (of, number), answer, view, now);
            }
            (CoordinatorPart::Write(of, number), Answer::Append(answer)) => {
                self.txns.on_append(key, (of, number), answer, view, now);
            }
            (CoordinatorPart::Load(of), Answer::Read(piece)) if is_group => {
                self.groups.on_piece(key, of, piece, view, now);
            }
            (CoordinatorPart::Load(of), Answer::Read(piece)) => {
                self.txns.on_piece(key, of, piece, view, now);
            }
            // The disk was asked for it.
            (CoordinatorPart::Load(_), Answer::ReadLater(_)) => {}
            (CoordinatorPart::ProducerId(of), Answer::Ids(id)) => {
                if let Some(coordinator) = self.txns.numbered(key, of) {
                    TxnCoordinators::on_id(coordinator, id);
                } // otherwise it has resigned
            }
            (CoordinatorPart::Marker(number), answer) => {
                let (_, kind, _) = self.txns.parts();
                kind.markers.on_answer(number, answer.into_marked(), now.instant);
            }
            (part, other) => unreachable!("{part:?} is answered {other:?}"),
        }
    }

    /// When [`Self::on_wake`] has something to do.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        if self.groups.is_behind() {
            return Some(Instant::START);
        }
        let marking = self.txns.kind.markers.wake_at();
        Instant::earliest(&[self.groups.wake_at(), self.txns.wake_at(), marking])
    }

    /// That time has come.
    pub(crate) fn on_wake(&mut self, view: &View, now: Now) {
        self.groups.on_wake(view, now);
        self.txns.on_wake(view, now);
        let (table, kind, _) = self.groups.parts();
        kind.go_on_showing(table);
    }

    /// The shard's turn is over: lets others see what they have.
    pub(crate) fn settle(&mut self, figures: &ShardFigures) {
        self.groups.settle();
        self.txns.settle();
        self.groups.kind.show(figures);
        self.txns.kind.show(figures.transactions());
    }

    /// No more is asked in this turn: what was written goes to the logs, and what was decided to
    /// the partitions.
    pub(crate) fn end_turn(&mut self, view: &View, now: Now) {
        self.groups.end_turn();
        self.txns.end_turn();
        let (table, kind, effects) = self.txns.parts();
        kind.go_on_marking(table, view, now, effects);
    }
}
