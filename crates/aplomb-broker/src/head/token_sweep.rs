//! When tokens are looked for whose time is up.

use std::time::Duration;

use aplomb_model::Instant;

use crate::config::TokensConfig;

/// The next look, and how long it is from one to the next.
#[derive(Debug)]
pub(super) struct TokenSweep {
    every: Duration,
    at: Instant,
}

impl TokenSweep {
    /// `None`: there are no tokens.
    pub(super) fn new(config: &TokensConfig, now: Instant) -> Option<Self> {
        let every = config.expiry_check;
        config.secret.as_ref().map(|_| Self { every, at: now + every })
    }

    pub(super) const fn wake_at(&self) -> Instant {
        self.at
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.at <= now
    }

    /// They were looked for, and there may be more that were found.
    pub(super) fn on_swept(&mut self, has_more: bool, now: Instant) {
        self.at = if has_more { now } else { now + self.every };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_look_is_later_unless_there_is_more_to_find() {
        let mut sweep = TokenSweep { every: Duration::from_secs(10), at: Instant::START };
        let now = Instant::START + Duration::from_secs(1);
        assert!(sweep.is_due(now));
        sweep.on_swept(true, now);
        assert!(sweep.is_due(now));
        sweep.on_swept(false, now);
        assert!(!sweep.is_due(now) && sweep.is_due(now + Duration::from_secs(10)));
    }
}
