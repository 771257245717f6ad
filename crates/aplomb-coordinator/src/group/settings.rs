//! Settings of the group coordinator, as the broker's configuration has them
//! (`GroupCoordinatorConfig`).

use std::sync::Arc;
use std::time::Duration;

/// Settings of the group coordinator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// Of the classic protocol.
    pub classic: ClassicSettings,
    /// Of the consumer protocol (KIP-848); `None`: it is off.
    pub consumer: Option<ConsumerSettings>,
    /// Of committed offsets.
    pub offsets: OffsetSettings,
}

/// Settings of the classic protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicSettings {
    /// `group.min.session.timeout.ms` to `group.max.session.timeout.ms`.
    pub session_timeouts: std::ops::RangeInclusive<Duration>,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay: Duration,
    /// `group.max.size`.
    pub max_size: usize,
}

/// Settings of the consumer protocol. What a group may set for itself is in [`Overrides`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerSettings {
    /// `group.consumer.session.timeout.ms`, with its bounds for groups.
    pub session_timeout: Bounded,
    /// `group.consumer.heartbeat.interval.ms`, with its bounds for groups.
    pub heartbeat_interval: Bounded,
    /// The longest heartbeat interval while a group changes
    /// (`aplomb.groups.rebalance.heartbeat.interval.ms`); `None`: it is the same as ever.
    pub hurried_interval: Option<Duration>,
    /// `group.consumer.assignment.interval.ms`, with its bounds for groups.
    pub assignment_interval: Bounded,
    /// `group.consumer.max.size`.
    pub max_size: usize,
    /// `group.consumer.assignors`, by name; the first is the default.
    pub assignors: Vec<Arc<str>>,
    /// `group.consumer.migration.policy`.
    pub migration: MigrationPolicy,
}

/// A duration that groups may set for themselves, within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// For groups that set none.
    pub default: Duration,
    /// The least.
    pub min: Duration,
    /// The most.
    pub max: Duration,
}

impl Bounded {
    /// What a group has that has set this: beyond the bounds it is the bound.
    #[must_use]
    pub fn of(&self, set: Option<Duration>) -> Duration {
        set.map_or(self.default, |set| set.clamp(self.min, self.max))
    }
}

/// What a group has set for itself (`ConfigResource.Type.GROUP`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `consumer.session.timeout.ms`.
    pub session_timeout: Option<Duration>,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat_interval: Option<Duration>,
    /// `consumer.assignment.interval.ms`.
    pub assignment_interval: Option<Duration>,
}

/// Whether live groups may change between the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationPolicy {
    /// From classic to consumer.
    pub upgrade: bool,
    /// From consumer to classic.
    pub downgrade: bool,
}

/// Settings of committed offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetSettings {
    /// `offsets.retention.minutes`.
    pub retention: Duration,
    /// `offsets.retention.check.interval.ms`.
    pub check_interval: Duration,
    /// `offset.metadata.max.bytes`, which Apache Kafka counts in characters (UTF-16 units).
    pub metadata_max: usize,
}
