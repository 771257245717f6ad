//! A look at the offsets of every group, some of them in a turn: how far it has come, and what it
//! looks for.
//!
//! What always holds: a topic that is gone is looked for in one whole sweep, from its first group
//! to its last.

use std::collections::HashMap;
use std::sync::Arc;

use aplomb_model::TopicId;

use super::store::Committed;

/// An offset's topic and partition.
type Place = (Arc<str>, i32);
/// Topics by name, with the ids that they had.
type Topics = HashMap<Arc<str>, Vec<TopicId>>;

/// How far a sweep has come.
#[derive(Debug, Default)]
pub(crate) struct SweepProgress {
    /// All groups up to this one have been looked at.
    pub(crate) done: Option<Arc<str>>,
    /// The one after them that is being looked at, up to this place.
    pub(crate) within: Option<(Arc<str>, Place)>,
}

/// A look at every group.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// `None`: none is under way.
    progress: Option<SweepProgress>,
    /// Topics that are gone, which the one under way looks for.
    gone: Topics,
    /// Those of which one has heard since it began.
    gone_since: Topics,
}

impl Sweep {
    /// How far the one that is under way has come; one begins if there is none.
    pub(crate) fn begin_or_go_on(&mut self) -> SweepProgress {
        self.progress.take().unwrap_or_else(|| {
            assert!(self.gone.is_empty(), "a sweep that has ended looks for nothing");
            self.gone = std::mem::take(&mut self.gone_since);
            SweepProgress::default()
        })
    }

    /// It has come so far, and is not at its end.
    pub(crate) fn pause(&mut self, progress: SweepProgress) {
        self.progress = Some(progress);
    }

    /// It has come to its end. Gives whether the next one is to begin at once.
    pub(crate) fn end(&mut self) -> bool {
        self.gone.clear();
        !self.gone_since.is_empty()
    }

    /// A topic is gone. Its offsets go in the sweep that begins next.
    pub(crate) fn add_gone(&mut self, name: Arc<str>, id: TopicId) {
        self.gone_since.entry(name).or_default().push(id);
    }

    /// Whether an offset is of a topic that is gone: the one that was committed for, if that is
    /// known.
    pub(crate) fn is_gone(&self, topic: &str, committed: &Committed) -> bool {
        let gone = self.gone.get(topic);
        gone.is_some_and(|ids| committed.topic_id == TopicId::ZERO || ids.contains(&committed.topic_id))
    }
}
