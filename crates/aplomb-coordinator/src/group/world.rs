//! What a group coordinator may look at beside its own state.

use std::sync::Arc;

use aplomb_model::TopicId;

use super::settings::{GroupSettings, Overrides};

/// What metadata says of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id.
    pub id: TopicId,
    /// As clients call it.
    pub name: Arc<str>,
    /// How many partitions it has.
    pub partitions: i32,
}

/// Settings and topics, as they are now.
pub trait World {
    /// As the broker's configuration has them now.
    fn settings(&self) -> &GroupSettings;

    /// Whether groups and their offsets may take more memory than they have. What would is refused
    /// otherwise.
    fn has_room(&self) -> bool;

    /// What this group has set for itself.
    fn overrides(&self, group: &str) -> Overrides;

    /// The topic of this name.
    fn topic(&self, name: &str) -> Option<Topic>;

    /// The topic with this id.
    fn topic_by_id(&self, id: TopicId) -> Option<Topic>;

    /// Racks of the brokers that have a replica of the partition, where they have one.
    fn racks(&self, id: TopicId, partition: i32) -> Vec<String>;

    /// So many names of topics, in their order, beginning behind this one.
    fn names_after(&self, after: Option<&str>, most: usize) -> Vec<Arc<str>>;

    /// Counts the changes of metadata: its offset in the metadata log.
    fn version(&self) -> i64;
}
