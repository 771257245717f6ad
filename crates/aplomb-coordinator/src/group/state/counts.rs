//! How many groups are in each state, and what has happened, counted as it changes: a look at a
//! million groups takes no longer than at one.

/// The state of a group, as `ListGroups` has it. Apache Kafka's `Dead` is a group that is not
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupState {
    /// A classic group without members.
    ClassicEmpty,
    /// A classic group whose members are to join again.
    ClassicPreparing,
    /// A classic group whose members have joined, and wait for what they are assigned.
    ClassicCompleting,
    /// A classic group whose members know what they have.
    ClassicStable,
    /// A consumer group without members.
    ConsumerEmpty,
    /// A consumer group whose target is to be computed.
    ConsumerAssigning,
    /// A consumer group whose members are on their way to the target.
    ConsumerReconciling,
    /// A consumer group whose members have what they are to have.
    ConsumerStable,
}

impl GroupState {
    /// In the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::ClassicEmpty,
        Self::ClassicPreparing,
        Self::ClassicCompleting,
        Self::ClassicStable,
        Self::ConsumerEmpty,
        Self::ConsumerAssigning,
        Self::ConsumerReconciling,
        Self::ConsumerStable,
    ];

    /// Kafka's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClassicEmpty | Self::ConsumerEmpty => "Empty",
            Self::ClassicPreparing => "PreparingRebalance",
            Self::ClassicCompleting => "CompletingRebalance",
            Self::ConsumerAssigning => "Assigning",
            Self::ConsumerReconciling => "Reconciling",
            Self::ClassicStable | Self::ConsumerStable => "Stable",
        }
    }

    /// Whether it is one of a classic group.
    #[must_use]
    pub const fn is_classic(self) -> bool {
        matches!(
            self,
            Self::ClassicEmpty | Self::ClassicPreparing | Self::ClassicCompleting | Self::ClassicStable
        )
    }
}

const STATES: usize = GroupState::ALL.len();

/// How many groups there are, by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts([usize; STATES]);

impl GroupCounts {
    /// How many are in this state.
    #[must_use]
    pub const fn of(&self, state: GroupState) -> usize {
        self.0[state as usize]
    }

    /// How many there are.
    #[must_use]
    pub fn all(&self) -> usize {
        self.0.iter().sum()
    }

    /// One is in this state now.
    pub(crate) fn enter(&mut self, state: GroupState) {
        self.0[state as usize] += 1;
    }

    /// One is in this state no longer.
    pub(crate) fn leave(&mut self, state: GroupState) {
        self.0[state as usize] -= 1;
    }

    /// With those of another coordinator.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }

    /// Without those of another coordinator, which were added.
    pub fn subtract(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum -= count;
        }
    }
}

/// What happens to groups and offsets (`GroupCoordinatorMetrics`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// An offset is committed.
    OffsetCommitted,
    /// An offset has expired.
    OffsetExpired,
    /// An operator has deleted an offset.
    OffsetDeleted,
    /// A classic group has become stable.
    ClassicRebalance,
    /// A consumer group has got another epoch, other than by members that have gone.
    ConsumerRebalance,
}

impl GroupEvent {
    /// In the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::OffsetCommitted,
        Self::OffsetExpired,
        Self::OffsetDeleted,
        Self::ClassicRebalance,
        Self::ConsumerRebalance,
    ];
}

const EVENTS: usize = GroupEvent::ALL.len();

/// How often each of them has happened. As in Apache Kafka what the log refuses afterwards counts
/// too: such a number only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupEvents([u64; EVENTS]);

impl GroupEvents {
    /// How often this has happened.
    #[must_use]
    pub const fn of(&self, event: GroupEvent) -> u64 {
        self.0[event as usize]
    }

    pub(crate) fn count(&mut self, event: GroupEvent, times: u64) {
        self.0[event as usize] += times;
    }

    /// What has happened since it was so.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self(std::array::from_fn(|event| self.0[event] - before.0[event]))
    }

    /// With what happened elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (sum, times) in self.0.iter_mut().zip(other.0) {
            *sum += times;
        }
    }
}
