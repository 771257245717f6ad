//! Whether a client's metadata are to be asked for.

use std::time::Duration;

use aplomb_model::Instant;

/// Metadata are asked for this often without a reason (`metadata.max.age.ms`, shorter).
const MAX_AGE: Duration = Duration::from_secs(60);

/// How good the metadata are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Freshness {
    Fresh {
        until: Instant,
    },
    Stale {
        not_before: Instant,
    },
    /// A request for them is under way.
    Asked,
}

impl Freshness {
    /// They were just read.
    pub(super) fn fresh(now: Instant) -> Self {
        Self::Fresh { until: now + MAX_AGE }
    }

    pub(super) fn is_fresh(&self) -> bool {
        matches!(self, Self::Fresh { .. })
    }

    pub(super) fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// Something contradicts them: they are asked for as soon as possible, unless they are already.
    pub(super) fn doubt(&mut self, now: Instant) {
        if self.is_fresh() {
            *self = Self::Stale { not_before: now };
        }
    }

    /// They age. Returns whether they are to be asked for now.
    pub(super) fn are_due(&mut self, now: Instant) -> bool {
        if matches!(self, Self::Fresh { until } if *until <= now) {
            *self = Self::Stale { not_before: now };
        }
        matches!(self, Self::Stale { not_before } if *not_before <= now)
    }

    /// When they are to be asked for by time alone.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self {
            Self::Fresh { until: next } | Self::Stale { not_before: next } => Some(*next),
            Self::Asked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_asked_for_when_they_are_old_or_doubted_and_not_twice() {
        let now = Instant::START + Duration::from_secs(5);
        let mut metadata = Freshness::fresh(now);
        assert!(!metadata.are_due(now));
        assert!(metadata.are_due(now + MAX_AGE));
        metadata = Freshness::fresh(now);
        metadata.doubt(now);
        assert!(metadata.are_due(now));
        metadata = Freshness::Asked;
        metadata.doubt(now);
        assert!(!metadata.are_due(now + MAX_AGE) && metadata.wake_at().is_none());
    }
}
