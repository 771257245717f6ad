//! Earlier states of counters: rates and quantiles compare now with then.

use std::time::Duration;

use aplomb_model::Instant;

/// Two earlier states, of which the older is compared with: it is one to two spans old once so much
/// time has passed. A state is kept when the page is made, so that no timer is needed.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    span: Duration,
    older: (Instant, T),
    newer: (Instant, T),
}

impl<T: Clone> Recent<T> {
    /// Begins with the state `then` at `start`.
    pub(crate) fn new(span: Duration, start: Instant, then: T) -> Self {
        Self { span, older: (start, then.clone()), newer: (start, then) }
    }

    /// The state to compare `current` with, and how long ago it was.
    pub(crate) fn before(&mut self, now: Instant, current: &T) -> (Duration, &T) {
        if now.since(self.newer.0) >= self.span {
            let newer = std::mem::replace(&mut self.newer, (now, current.clone()));
            self.older = newer;
        }
        (now.since(self.older.0), &self.older.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_compared_with_is_between_one_and_two_spans_old() {
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut recent = Recent::new(Duration::from_secs(60), at(0), 0_u64);
        assert_eq!(recent.before(at(15), &15), (Duration::from_secs(15), &0), "as far back as it goes");
        for seconds in (30..600).step_by(15) {
            let (ago, then) = recent.before(at(seconds), &seconds);
            assert_eq!(ago, Duration::from_secs(seconds - then));
            assert!(seconds < 120 || (60..=120).contains(&ago.as_secs()), "{seconds}: {ago:?}");
        }
    }
}
