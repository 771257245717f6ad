//! How far a group has come.

use aplomb_model::Instant;

use crate::group::state::counts::GroupState;

/// How far a group has come. Apache Kafka's `Dead` is a group that is not in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no members.
    Empty,
    /// Its members are to join again.
    Preparing {
        /// It was empty before, and more members may be about to come.
        first: Option<FirstRebalance>,
    },
    /// Its members have joined; the leader is to assign.
    Completing {
        /// The leader has assigned, and the log has not kept it yet.
        is_assigned: bool,
    },
    /// Its members know what they have.
    Stable,
}

impl State {
    /// As groups are counted.
    pub(crate) fn counted(self) -> GroupState {
        match self {
            Self::Empty => GroupState::ClassicEmpty,
            Self::Preparing { .. } => GroupState::ClassicPreparing,
            Self::Completing { .. } => GroupState::ClassicCompleting,
            Self::Stable => GroupState::ClassicStable,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.counted().name()
    }

    /// Whether a group of so many members may go from this state to the next one.
    pub(crate) fn may_become(self, next: Self, members: usize) -> bool {
        match (self, next) {
            (Self::Empty | Self::Completing { .. } | Self::Stable, Self::Preparing { .. }) => true,
            (Self::Preparing { .. }, Self::Empty) => members == 0,
            (Self::Preparing { .. }, Self::Completing { .. }) => members > 0,
            (Self::Completing { .. }, Self::Stable) => members > 0,
            _ => false,
        }
    }
}

/// The wait for members of a group that was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstRebalance {
    /// When it ends, also if members still come.
    pub(crate) until: Instant,
    /// When the last member came since the wait began.
    pub(crate) newest: Option<Instant>,
}
