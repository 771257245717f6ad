//! Transaction coordinators: one for each partition of `__transaction_state`.
//!
//! What one has decided is written into the partitions of the transaction as markers
//! ([`markers`]), on whatever shard these are; it is told when all have them.

mod markers;
mod world;

use std::time::Duration;

use aplomb_coordinator::runtime::{Stage, WriteSettings};
use aplomb_coordinator::txn::{Transactions, TxnAsk, TxnCounts, TxnReply, TxnWorld};
use aplomb_model::batch::Compression;
use aplomb_model::{ErrorCode, Instant, ProducerId};

pub(super) use self::markers::Markers;
use self::world::Seen;
use super::effect::CoordinatorEffect;
use super::kind::{Coordinator, CoordinatorKind};
use super::table::Table;
use crate::calls::{Answer, Asker, CoordinatorPart, PartitionKey};
use crate::errands::Errands;
use crate::figures::{TxnFigures, TxnTotals};
use crate::metadata::TRANSACTIONS_TOPIC;
use crate::ports::Now;
use crate::view::View;

/// Bytes of a coordinator's that may wait for its log.
const PENDING_BYTES: usize = 8 << 20;

/// How long an answer waits for the log.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is kept beside a coordinator.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// The controller was asked for a producer id, and has not answered.
    is_id_asked: bool,
    /// When it began to load; `None`: it has done so.
    loads_since: Option<Instant>,
    /// What its ids took when it was looked at last, in bytes, and how many were in each state.
    bytes: usize,
    ids: TxnCounts,
}

/// What all transaction coordinators of a shard have in common.
#[derive(Debug, Default)]
pub(super) struct TxnCoordinators {
    pub(super) markers: Markers,
    /// Of all of them together; of markers only when it is shown.
    totals: TxnTotals,
    /// As others have seen them.
    seen: TxnTotals,
    /// The longest that one took to load, which others have not seen.
    longest_load: Duration,
}

impl TxnCoordinators {
    /// The controller has a producer id for a coordinator, or has none.
    pub(super) fn on_id(coordinator: &mut Coordinator<Self>, id: Result<ProducerId, ErrorCode>) {
        assert!(coordinator.beside.is_id_asked, "an id comes where one was asked for");
        coordinator.beside.is_id_asked = false;
        coordinator.tell(TxnAsk::FreshId(id));
    }

    /// A coordinator has other ids than it had.
    fn change_share(&mut self, of: &mut Beside, bytes: usize, ids: TxnCounts) {
        let before = std::mem::replace(&mut of.ids, ids);
        for ((total, before), after) in self.totals.ids.iter_mut().zip(before).zip(ids) {
            *total = *total + after - before;
        }
        self.totals.bytes = self.totals.bytes + bytes - std::mem::replace(&mut of.bytes, bytes);
    }

    /// Lets others see what the coordinators have.
    pub(super) fn show(&mut self, figures: &TxnFigures) {
        (self.totals.deciding, self.totals.unanswered_markers) = self.markers.counts();
        if self.totals != self.seen {
            figures.set(&self.totals, std::mem::take(&mut self.longest_load));
            self.seen = self.totals;
        }
    }

    /// Sends markers that are due, and tells coordinators whose transactions have them all.
    pub(super) fn go_on_marking(
        &mut self,
        table: &mut Table<Self>,
        view: &View,
        now: Now,
        effects: &mut Errands<CoordinatorEffect>,
    ) {
        self.markers.send(view, now.instant, effects);
        for (key, of) in self.markers.take_complete() {
            table.change(key).tell(TxnAsk::Marked(of));
        }
    }
}

impl CoordinatorKind for TxnCoordinators {
    type Machine = Transactions;
    type Beside = Beside;
    type Seen = Seen;

    const TOPIC: &'static str = TRANSACTIONS_TOPIC;
    const ROOM: &'static str = "broker/transactions";
    const WHAT: &'static str = "transactions";

    fn settings(view: &View) -> WriteSettings {
        let config = view.config();
        let topic = view.image().topic_config(TRANSACTIONS_TOPIC, config);
        WriteSettings {
            linger: None,
            patience: PATIENCE,
            batch_bytes: usize::try_from(topic.max_message_bytes.0).unwrap_or(usize::MAX),
            pending_bytes: PENDING_BYTES,
            compression: Compression::default(),
        }
    }

    fn begin(&self, now: Instant) -> (Transactions, Beside) {
        (Transactions::new(), Beside { loads_since: Some(now), ..Beside::default() })
    }

    fn random(&mut self) -> [u8; 16] {
        unreachable!("nothing about transactions is random")
    }

    fn see(&self, view: &View) -> Seen {
        let room = usize::try_from(view.config().transactions.memory.0).unwrap_or(usize::MAX);
        let has_room = self.totals.bytes < room / usize::from(view.shards() - 1);
        Seen { view: view.clone(), has_room }
    }

    fn world(seen: &Seen) -> &(dyn TxnWorld + 'static) {
        seen
    }

    fn on_change(
        &mut self,
        key: PartitionKey,
        coordinator: &mut Coordinator<Self>,
        now: Now,
        effects: &mut Errands<CoordinatorEffect>,
    ) {
        let machine = coordinator.runtime.machine();
        let (bytes, ids) = (machine.bytes(), machine.counts());
        self.change_share(&mut coordinator.beside, bytes, ids);
        if coordinator.runtime.stage() == Stage::Active
            && let Some(since) = coordinator.beside.loads_since.take()
        {
            let took = now.instant.since(since);
            self.totals.loads.count += 1;
            self.totals.loads.total += took;
            self.longest_load = self.longest_load.max(took);
        }
        let news = coordinator.runtime.take_news();
        for decided in news.decided {
            self.markers.begin(key, coordinator.epoch, decided, now.instant);
        }
        if news.lacks_id && !std::mem::replace(&mut coordinator.beside.is_id_asked, true) {
            let part = CoordinatorPart::ProducerId(coordinator.number);
            effects.push(CoordinatorEffect::ProducerId(Asker::Coordinator(key, part)));
        }
    }

    fn on_settled(&mut self, _: PartitionKey, _: &Coordinator<Self>) {}

    fn on_gone(&mut self, key: PartitionKey, mut beside: Beside, effects: &mut Errands<CoordinatorEffect>) {
        self.change_share(&mut beside, 0, TxnCounts::default());
        self.markers.forget(key, effects);
    }

    fn answer(reply: Result<TxnReply, ErrorCode>) -> Answer {
        Answer::Transacted(reply.map(Box::new))
    }
}
