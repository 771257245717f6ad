//! The broker, as a group coordinator sees it.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use aplomb_coordinator::group::{GroupSettings, Overrides, Topic, World};
use aplomb_model::{PartitionIndex, TopicId};

use crate::metadata::Resource;
use crate::view::View;

/// What a coordinator may look at.
pub(in crate::coordinators) struct GroupWorld {
    /// Two pointers, shared.
    pub(super) view: View,
    pub(super) has_room: bool,
}

impl World for GroupWorld {
    fn settings(&self) -> &GroupSettings {
        &self.view.config().groups.settings
    }

    fn has_room(&self) -> bool {
        self.has_room
    }

    fn overrides(&self, group: &str) -> Overrides {
        let set = self.view.image().configs.named(Resource::GROUP, group);
        if set.is_empty() {
            return Overrides::default();
        }
        let millis = |key: &str| set.get(key)?.trim().parse().ok().map(Duration::from_millis);
        Overrides {
            session_timeout: millis("consumer.session.timeout.ms"),
            heartbeat_interval: millis("consumer.heartbeat.interval.ms"),
            assignment_interval: millis("consumer.assignment.interval.ms"),
        }
    }

    fn topic(&self, name: &str) -> Option<Topic> {
        self.view.image().topics.by_name(name).map(|topic| described(topic))
    }

    fn topic_by_id(&self, id: TopicId) -> Option<Topic> {
        self.view.image().topics.by_id(id).map(|topic| described(topic))
    }

    fn racks(&self, id: TopicId, partition: i32) -> Vec<String> {
        let image = self.view.image();
        let Some(partition) = image.topics.partition(id, PartitionIndex(partition)) else {
            return Vec::new(); // deleted meanwhile
        };
        let brokers = partition.replicas.iter().filter_map(|id| image.brokers.get(*id));
        let mut racks: Vec<String> = brokers.filter_map(|broker| broker.rack.clone()).collect();
        racks.sort_unstable();
        racks
    }

    fn names_after(&self, after: Option<&str>, most: usize) -> Vec<Arc<str>> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.view.image().topics.names_from(after).take(most).cloned().collect()
    }

    fn version(&self) -> i64 {
        self.view.image().provenance.end.to_wire()
    }
}

fn described(topic: &crate::metadata::Topic) -> Topic {
    let partitions = i32::try_from(topic.partitions.len()).expect("partitions are numbered by 32 bits");
    Topic { id: topic.id, name: topic.name.clone(), partitions }
}
