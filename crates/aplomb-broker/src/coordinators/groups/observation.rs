//! What others see of a shard's coordinators: how many groups there are of what, and some groups
//! one by one. It is brought up to date whenever a coordinator may have changed, and shown when the
//! shard's turn is over.

use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::group::Groups;
use aplomb_coordinator::runtime::{Runtime, Stage};
use aplomb_model::Instant;

use super::bound::ShownBound;
use super::shown::ShownGroups;
use super::totals::{self, Share};
use crate::figures::{GroupNotes, GroupTotals, ShardFigures};

/// What is seen of all coordinators.
#[derive(Debug)]
pub(super) struct Observation {
    totals: GroupTotals,
    /// The totals as others have seen them.
    seen: GroupTotals,
    /// The longest that a coordinator took to load, which others have not seen.
    longest_load: Duration,
    notes: GroupNotes,
    bound: Arc<ShownBound>,
}

/// What is seen of one of them.
#[derive(Debug)]
pub(in crate::coordinators) struct Observed {
    /// When it began to load; `None`: it has done so.
    loads_since: Option<Instant>,
    shown: ShownGroups,
    /// Its share in the totals.
    share: Share,
}

impl Observation {
    pub(super) fn new(bound: Arc<ShownBound>) -> Self {
        Self {
            totals: GroupTotals::default(),
            seen: GroupTotals::default(),
            longest_load: Duration::ZERO,
            notes: GroupNotes::default(),
            bound,
        }
    }

    /// A coordinator begins to load: with groups that tell what changes, if any are shown.
    pub(super) fn begin(&self, now: Instant) -> (Groups, Observed) {
        let groups = if self.bound.shows_any() { Groups::observed() } else { Groups::new() };
        let shown = ShownGroups::new(self.bound.clone());
        (groups, Observed { loads_since: Some(now), shown, share: Share::default() })
    }

    /// A coordinator may be another than it was.
    pub(super) fn update(&mut self, of: &mut Observed, runtime: &mut Runtime<Groups>, now: Instant) {
        match runtime.stage() {
            Stage::Loading => {}
            Stage::Active => {
                let news = runtime.take_news();
                of.shown.on_news(news, runtime.machine(), &mut self.notes);
                if let Some(since) = of.loads_since.take() {
                    let took = now.since(since);
                    self.totals.loads.count += 1;
                    self.totals.loads.total += took;
                    self.longest_load = self.longest_load.max(took);
                }
            }
            Stage::Failed | Stage::Over => of.shown.hide_all(),
        }
        self.change_share(of, Share::of(runtime, &of.shown));
    }

    /// A coordinator has resigned.
    pub(super) fn resign(&mut self, mut of: Observed) {
        of.shown.hide_all();
        let gone = of.share.gone();
        self.change_share(&mut of, gone);
    }

    /// Whether there are groups of this coordinator that can be shown and are not.
    pub(super) fn is_behind(of: &Observed, runtime: &Runtime<Groups>) -> bool {
        runtime.stage() == Stage::Active && of.shown.has_work(runtime.machine())
    }

    /// Whether there are groups of this coordinator, and offsets of those that are shown, that are
    /// not shown.
    pub(super) fn lacks(of: &Observed, runtime: &Runtime<Groups>) -> (bool, bool) {
        if runtime.stage() == Stage::Active { of.shown.lacks(runtime.machine()) } else { (false, false) }
    }

    /// Whether there is room for more groups, and for more offsets.
    pub(super) fn has_room(&self) -> (bool, bool) {
        (self.bound.has_group(), self.bound.has_bytes())
    }

    /// Shows some of them.
    pub(super) fn catch_up(&mut self, of: &mut Observed, runtime: &Runtime<Groups>) {
        of.shown.go_on(runtime.machine(), &mut self.notes);
        self.change_share(of, Share::of(runtime, &of.shown));
    }

    fn change_share(&mut self, of: &mut Observed, share: Share) {
        totals::replace(&mut self.totals, &of.share, &share);
        of.share = share;
    }

    /// What all groups and offsets take in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.totals.bytes
    }

    /// Lets others see it.
    pub(super) fn show(&mut self, figures: &ShardFigures) {
        if self.totals != self.seen {
            figures.note_load(std::mem::take(&mut self.longest_load));
            figures.set_groups(&self.totals);
            self.seen = self.totals;
        }
        self.notes.hand_over(figures);
    }
}

#[cfg(test)]
mod tests;
