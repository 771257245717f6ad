//! What is particular to the coordinators of one topic, and one of them with what is kept of it.

use std::collections::VecDeque;
use std::fmt::Debug;

use aplomb_coordinator::runtime::{Machine, Runtime, Stage, WriteSettings};
use aplomb_model::{ErrorCode, Instant, LeaderEpoch, Offset};

use super::effect::CoordinatorEffect;
use super::loading::Loading;
use crate::calls::{Answer, PartitionKey};
use crate::errands::Errands;
use crate::ports::Now;
use crate::view::View;

/// Coordinators whose logs are the partitions of one topic.
pub(super) trait CoordinatorKind: Sized {
    /// What a coordinator is.
    type Machine: Machine;
    /// What is kept beside each.
    type Beside: Debug;
    /// What one may look at in a turn.
    type Seen;

    /// The topic whose partitions are their logs.
    const TOPIC: &'static str;
    /// Whose lines in the broker's log these are.
    const ROOM: &'static str;
    /// What they have, for such a line.
    const WHAT: &'static str;

    /// How they write to their logs.
    fn settings(view: &View) -> WriteSettings;

    /// A coordinator begins to load.
    fn begin(&self, now: Instant) -> (Self::Machine, Self::Beside);

    /// Random bytes.
    fn random(&mut self) -> [u8; 16];

    /// The broker as it is now.
    fn see(&self, view: &View) -> Self::Seen;

    /// The same, as the machine looks at it.
    fn world(seen: &Self::Seen) -> &<Self::Machine as Machine>::World;

    /// A coordinator may be another than it was.
    fn on_change(
        &mut self,
        key: PartitionKey,
        coordinator: &mut Coordinator<Self>,
        now: Now,
        effects: &mut Errands<CoordinatorEffect>,
    );

    /// The shard's turn is over, in which it may have become another.
    fn on_settled(&mut self, key: PartitionKey, coordinator: &Coordinator<Self>);

    /// A coordinator has resigned.
    fn on_gone(&mut self, key: PartitionKey, beside: Self::Beside, effects: &mut Errands<CoordinatorEffect>);

    /// The answer to a client.
    fn answer(reply: Result<<Self::Machine as Machine>::Reply, ErrorCode>) -> Answer;
}

/// A coordinator, and what is kept of it.
#[derive(Debug)]
pub(super) struct Coordinator<K: CoordinatorKind> {
    /// Which of those that the shard has had.
    pub(super) number: u64,
    pub(super) epoch: LeaderEpoch,
    pub(super) runtime: Runtime<K::Machine>,
    /// Where its log ended when it was loaded: what lies behind that is its own.
    pub(super) loaded_end: Offset,
    /// While its log is read.
    pub(super) loading: Option<Loading>,
    /// What the broker itself has to ask or tell it, when it answers.
    own: VecDeque<<K::Machine as Machine>::Ask>,
    pub(super) beside: K::Beside,
}

impl<K: CoordinatorKind> Coordinator<K> {
    pub(super) fn new(
        number: u64,
        epoch: LeaderEpoch,
        runtime: Runtime<K::Machine>,
        loading: Loading,
        beside: K::Beside,
    ) -> Self {
        let (loaded_end, loading, own) = (Offset::ZERO, Some(loading), VecDeque::new());
        Self { number, epoch, runtime, loaded_end, loading, own, beside }
    }

    /// The broker itself has something to ask or tell.
    pub(super) fn tell(&mut self, ask: <K::Machine as Machine>::Ask) {
        if self.runtime.stage() != Stage::Failed {
            self.own.push_back(ask);
        }
    }

    /// Takes the next of that, if it can be asked now.
    pub(super) fn next_own(&mut self) -> Option<<K::Machine as Machine>::Ask> {
        self.runtime.check_ask().ok()?;
        self.own.pop_front()
    }

    /// When it has something to do, if it has not to show anything.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match &self.loading {
            Some(loading) => loading.wants_more().then_some(Instant::START),
            None if !self.own.is_empty() && self.runtime.check_ask().is_ok() => Some(Instant::START),
            None => self.runtime.wake_at(),
        }
    }
}
