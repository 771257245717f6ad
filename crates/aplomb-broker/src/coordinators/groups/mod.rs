//! Group coordinators: one for each partition of `__consumer_offsets`.
//!
//! What others see of them is kept as they change ([`observation`]): how many groups there are of
//! what ([`totals`]), and some of them one by one ([`shown`]), within a bound that all shards share
//! ([`bound`]).

mod bound;
mod observation;
mod shown;
mod totals;
mod world;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use aplomb_coordinator::group::{GroupReply, Groups, World};
use aplomb_coordinator::runtime::WriteSettings;
use aplomb_model::{ErrorCode, Instant};

pub(crate) use self::bound::ShownBound;
use self::observation::{Observation, Observed};
use self::world::GroupWorld;
use super::effect::CoordinatorEffect;
use super::host::Host;
use super::kind::{Coordinator, CoordinatorKind};
use super::table::Table;
use crate::calls::{Answer, PartitionKey};
use crate::errands::Errands;
use crate::figures::ShardFigures;
use crate::metadata::OFFSETS_TOPIC;
use crate::ports::{Chance, Now};
use crate::view::View;

/// Bytes of a coordinator's that may wait for its log.
const PENDING_BYTES: usize = 8 << 20;

/// What all group coordinators of a shard have in common.
pub(super) struct GroupCoordinators {
    observation: Observation,
    /// Have groups that others do not see, and will when there is room.
    unshown: BTreeSet<PartitionKey>,
    /// Have offsets of groups that others see, which they do not see.
    partly_shown: BTreeSet<PartitionKey>,
    /// Whose turn it was last to show groups.
    last_shown: Option<PartitionKey>,
    random: Chance,
}

impl GroupCoordinators {
    pub(super) fn new(random: Chance, bound: Arc<ShownBound>) -> Self {
        let (unshown, partly_shown) = (BTreeSet::new(), BTreeSet::new());
        Self { observation: Observation::new(bound), unshown, partly_shown, last_shown: None, random }
    }

    /// Whether [`Self::go_on_showing`] has something to do.
    fn is_behind(&self) -> bool {
        let (for_groups, for_offsets) = self.observation.has_room();
        for_groups && !self.unshown.is_empty() || for_offsets && !self.partly_shown.is_empty()
    }

    /// Shows groups that others do not see yet: a piece of those of one coordinator, each in its
    /// turn.
    pub(super) fn go_on_showing(&mut self, table: &mut Table<Self>) {
        let after = self.last_shown.map_or(Bound::Unbounded, Bound::Excluded);
        let of = |range: (Bound<PartitionKey>, Bound<PartitionKey>)| {
            let lacking = self.unshown.range(range).chain(self.partly_shown.range(range));
            lacking.copied().filter(|key| is_behind(table, *key)).min()
        };
        let next = of((after, Bound::Unbounded)).or_else(|| of((Bound::Unbounded, Bound::Unbounded)));
        let Some(key) = next else { return }; // there is no room, or nothing is left out
        self.last_shown = Some(key);
        let coordinator = table.change(key);
        self.observation.catch_up(&mut coordinator.beside, &coordinator.runtime);
    }

    /// Lets others see what the coordinators have.
    pub(super) fn show(&mut self, figures: &ShardFigures) {
        self.observation.show(figures);
    }
}

impl Host<GroupCoordinators> {
    /// Whether there are groups that others could see and do not.
    pub(super) fn is_behind(&self) -> bool {
        self.kind.is_behind()
    }
}

/// Whether others do not see all groups of a coordinator that they can.
fn is_behind(table: &Table<GroupCoordinators>, key: PartitionKey) -> bool {
    let of = table.get(key);
    of.is_some_and(|coordinator| Observation::is_behind(&coordinator.beside, &coordinator.runtime))
}

impl CoordinatorKind for GroupCoordinators {
    type Machine = Groups;
    type Beside = Observed;
    type Seen = GroupWorld;

    const TOPIC: &'static str = OFFSETS_TOPIC;
    const ROOM: &'static str = "broker/groups";
    const WHAT: &'static str = "groups";

    fn settings(view: &View) -> WriteSettings {
        let config = view.config();
        let topic = view.image().topic_config(OFFSETS_TOPIC, config);
        WriteSettings {
            linger: config.groups.linger,
            patience: config.groups.commit_timeout,
            batch_bytes: usize::try_from(topic.max_message_bytes.0).unwrap_or(usize::MAX),
            pending_bytes: PENDING_BYTES,
            compression: config.groups.compression.into(),
        }
    }

    fn begin(&self, now: Instant) -> (Groups, Observed) {
        self.observation.begin(now)
    }

    fn random(&mut self) -> [u8; 16] {
        (self.random)()
    }

    fn see(&self, view: &View) -> GroupWorld {
        let room = usize::try_from(view.config().groups.memory.0).unwrap_or(usize::MAX);
        let has_room = self.observation.bytes() < room / usize::from(view.shards() - 1);
        GroupWorld { view: view.clone(), has_room }
    }

    fn world(seen: &GroupWorld) -> &(dyn World + 'static) {
        seen
    }

    fn on_change(
        &mut self,
        _: PartitionKey,
        coordinator: &mut Coordinator<Self>,
        now: Now,
        _: &mut Errands<CoordinatorEffect>,
    ) {
        self.observation.update(&mut coordinator.beside, &mut coordinator.runtime, now.instant);
    }

    fn on_settled(&mut self, key: PartitionKey, coordinator: &Coordinator<Self>) {
        let (groups, offsets) = Observation::lacks(&coordinator.beside, &coordinator.runtime);
        for (lacks, set) in [(groups, &mut self.unshown), (offsets, &mut self.partly_shown)] {
            if lacks {
                set.insert(key);
            } else {
                set.remove(&key);
            }
        }
    }

    fn on_gone(&mut self, key: PartitionKey, beside: Observed, _: &mut Errands<CoordinatorEffect>) {
        self.unshown.remove(&key);
        self.partly_shown.remove(&key);
        self.observation.resign(beside);
    }

    fn answer(reply: Result<GroupReply, ErrorCode>) -> Answer {
        Answer::Coordinated(reply.map(Box::new))
    }
}
