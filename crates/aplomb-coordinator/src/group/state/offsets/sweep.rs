//! A look at the offsets of every group, some groups in a turn: how far it has come, and what it
//! looks for.

use std::collections::HashMap;
use std::sync::Arc;

use aplomb_model::TopicId;

use super::store::Committed;

/// A look at every group that is under way.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// Groups that are still to be looked at.
    groups: Vec<Arc<str>>,
    /// Topics that are gone, since the last sweep that has ended.
    gone: HashMap<Arc<str>, Vec<TopicId>>,
}

impl Sweep {
    /// Begins anew, with these groups.
    pub(crate) fn begin(&mut self, groups: impl Iterator<Item = Arc<str>>) {
        self.groups = groups.collect();
    }

    pub(crate) fn is_under_way(&self) -> bool {
        !self.groups.is_empty()
    }

    /// The next group. `None`: all have been looked at, and topics that were gone are forgotten.
    pub(crate) fn next_group(&mut self) -> Option<Arc<str>> {
        let next = self.groups.pop();
        if next.is_none() {
            self.gone.clear();
        }
        next
    }

    /// A topic is gone. Its offsets go in the sweep that begins next.
    pub(crate) fn add_gone(&mut self, name: Arc<str>, id: TopicId) {
        self.gone.entry(name).or_default().push(id);
    }

    /// Whether an offset is of a topic that is gone: the one that was committed for, if that is
    /// known.
    pub(crate) fn is_gone(&self, topic: &str, committed: &Committed) -> bool {
        let gone = self.gone.get(topic);
        gone.is_some_and(|ids| committed.topic_id == TopicId::ZERO || ids.contains(&committed.topic_id))
    }
}
