//! What one request may create and delete of partitions (`ControllerMutationQuota`).

use std::time::Duration;

use super::rate::{TokenBucket, Windows};

/// There are no permits left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled;

/// The permits of one request.
#[derive(Debug)]
pub struct Permits {
    limited: Option<Limited>,
    throttle: Duration,
}

#[derive(Debug)]
struct Limited {
    account: u64,
    bucket: TokenBucket,
    windows: Windows,
    rate: f64,
    /// Whether what is too much is refused: older versions of requests are only throttled.
    is_strict: bool,
    now: i64,
}

impl Permits {
    /// As many as are wanted.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self { limited: None, throttle: Duration::ZERO }
    }

    pub(super) fn of(
        account: u64,
        bucket: TokenBucket,
        windows: Windows,
        rate: f64,
        is_strict: bool,
        now: i64,
    ) -> Self {
        let limited = Limited { account, bucket, windows, rate, is_strict, now };
        Self { limited: Some(limited), throttle: Duration::ZERO }
    }

    /// Takes so many. They may be more than there are, as long as there were some.
    ///
    /// # Errors
    /// [`Throttled`] if there was none.
    pub fn take(&mut self, partitions: usize) -> Result<(), Throttled> {
        let Some(limited) = &mut self.limited else { return Ok(()) };
        let Limited { bucket, windows, rate, is_strict, now, .. } = limited;
        if !*is_strict {
            bucket.take(*windows, *rate, partitions as f64, *now);
        }
        if let Some(millis) = bucket.excess(*windows, *rate, *now) {
            self.throttle = Duration::from_millis(u64::try_from(millis).expect("it is above 0"));
            return if *is_strict { Err(Throttled) } else { Ok(()) };
        }
        if *is_strict {
            bucket.take(*windows, *rate, partitions as f64, *now);
        }
        Ok(())
    }

    /// For how long the client is throttled.
    pub(super) fn throttle(&self) -> Duration {
        self.throttle
    }

    /// The account, and what is left in it.
    pub(super) fn left(&self) -> Option<(u64, TokenBucket)> {
        self.limited.as_ref().map(|limited| (limited.account, limited.bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows { count: 11, millis: 1000 };

    fn permits(is_strict: bool) -> Permits {
        Permits::of(1, TokenBucket::full(WINDOWS, 1.0, 0), WINDOWS, 1.0, is_strict, 0)
    }

    #[test]
    fn the_last_permit_is_for_as_many_as_are_wanted() {
        let mut permits = permits(true);
        assert_eq!(permits.take(10), Ok(()));
        assert_eq!(permits.take(5), Ok(()));
        assert_eq!(permits.throttle(), Duration::ZERO);
        assert_eq!(permits.take(1), Err(Throttled));
        assert_eq!(permits.throttle(), Duration::from_secs(4));
    }

    #[test]
    fn older_requests_are_throttled_and_not_refused() {
        let mut permits = permits(false);
        assert_eq!(permits.take(15), Ok(()));
        assert_eq!(permits.take(2), Ok(()));
        assert_eq!(permits.throttle(), Duration::from_secs(6));
    }

    #[test]
    fn without_a_quota_there_are_as_many_as_are_wanted() {
        let mut permits = Permits::unlimited();
        assert_eq!(permits.take(usize::MAX), Ok(()));
        assert!(permits.left().is_none());
    }
}
