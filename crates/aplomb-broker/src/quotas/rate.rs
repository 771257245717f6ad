//! How much of something there was in a second, and how long to wait when it was too much: to the
//! letter as Apache Kafka measures (`Rate`, `SampledStat`, `WindowedSum`, `TokenBucket`,
//! `QuotaUtils`), because clients are told the result.
//!
//! Times are milliseconds of any clock that does not go back.

use aplomb_model::Instant;

use crate::config::QuotaWindows;

/// A time as rates have it.
#[must_use]
pub fn millis(now: Instant) -> i64 {
    i64::try_from(now.since(Instant::START).as_millis()).unwrap_or(i64::MAX)
}

/// The windows that a rate is measured over (`quota.window.num`, `quota.window.size.seconds`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How many, the one that is under way included.
    pub count: usize,
    /// How long each is, in milliseconds.
    pub millis: i64,
}

impl From<QuotaWindows> for Windows {
    fn from(windows: QuotaWindows) -> Self {
        let millis = i64::try_from(windows.length.as_millis()).unwrap_or(i64::MAX);
        Self { count: windows.count as usize, millis }
    }
}

impl Windows {
    /// All of them together, in seconds.
    fn seconds(self) -> f64 {
        self.count as f64 * (self.millis as f64 / 1000.0)
    }

    /// What a client with this limit may have at once: as much as all windows but the one under
    /// way.
    #[must_use]
    pub fn at_most(self, limit: f64) -> f64 {
        limit * (self.count.saturating_sub(1)) as f64 * (self.millis / 1000) as f64
    }
}

/// What was used in one window.
#[derive(Clone, Copy, Debug)]
struct Sample {
    start: i64,
    last: i64,
    sum: f64,
}

impl Sample {
    const fn new(now: i64) -> Self {
        Self { start: now, last: now, sum: 0.0 }
    }
}

/// A rate over sliding windows.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    /// One more than there are windows: the oldest may reach into the time that counts.
    samples: Vec<Sample>,
    current: usize,
}

impl Rate {
    /// Adds `value`; a negative one takes back what was added before.
    pub fn record(&mut self, windows: Windows, value: f64, now: i64) {
        if self.samples.is_empty() {
            self.samples.push(Sample::new(now));
        }
        if now - self.samples[self.current].start >= windows.millis {
            self.current = (self.current + 1) % (windows.count + 1);
            match self.samples.get_mut(self.current) {
                Some(oldest) => *oldest = Sample::new(now),
                None => self.samples.push(Sample::new(now)),
            }
        }
        let sample = &mut self.samples[self.current];
        sample.sum += value;
        sample.last = now;
    }

    /// How much there is in a second.
    pub fn measure(&mut self, windows: Windows, now: i64) -> f64 {
        let span = self.span(windows, now);
        self.samples.iter().map(|sample| sample.sum).sum::<f64>() / (span as f64 / 1000.0)
    }

    /// For how many milliseconds there is to be nothing, so that there is no more than `limit` in a
    /// second; `None` if there is not.
    pub fn excess(&mut self, windows: Windows, limit: f64, now: i64) -> Option<i64> {
        let rate = self.measure(windows, now);
        (rate > limit).then(|| round((rate - limit) / limit * self.span(windows, now) as f64))
    }

    /// Whether nothing that was added counts any more.
    #[must_use]
    pub fn is_over(&self, windows: Windows, now: i64) -> bool {
        let age = windows.count as i64 * windows.millis;
        self.samples.iter().all(|sample| now - sample.last >= age)
    }

    /// When something was added last.
    pub(super) fn last(&self) -> i64 {
        self.samples.iter().map(|sample| sample.last).max().unwrap_or(i64::MIN)
    }

    /// The time that the samples stand for, in milliseconds: from the beginning of the oldest, and
    /// not less than all windows but one.
    fn span(&mut self, windows: Windows, now: i64) -> i64 {
        let age = windows.count as i64 * windows.millis;
        for sample in &mut self.samples {
            if now - sample.last >= age {
                *sample = Sample::new(now);
            }
        }
        let oldest = self.samples.iter().map(|sample| sample.start).min().unwrap_or(now);
        let elapsed = now - oldest;
        let missing = (windows.count as i64 - 1 - elapsed / windows.millis).max(0);
        (elapsed + missing * windows.millis).max(1)
    }
}

/// What may still be done, filled up at a steady rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    tokens: f64,
    filled: i64,
}

impl TokenBucket {
    /// As much is in it as it can hold.
    pub(crate) fn full(windows: Windows, rate: f64, now: i64) -> Self {
        Self { tokens: windows.seconds() * rate, filled: now }
    }

    /// What is in it; less than nothing if more was taken.
    pub(crate) fn tokens(&mut self, windows: Windows, rate: f64, now: i64) -> f64 {
        let filled = self.tokens + rate * ((now - self.filled) as f64 / 1000.0);
        (self.tokens, self.filled) = (filled.min(windows.seconds() * rate), now);
        self.tokens
    }

    /// Takes `value` out, whether it is there or not.
    pub(crate) fn take(&mut self, windows: Windows, rate: f64, value: f64, now: i64) {
        self.tokens = (self.tokens(windows, rate, now) - value).min(windows.seconds() * rate);
    }

    /// For how many milliseconds there is nothing in it; `None` if there is.
    pub(crate) fn excess(&mut self, windows: Windows, rate: f64, now: i64) -> Option<i64> {
        let tokens = self.tokens(windows, rate, now);
        (tokens < 0.0).then(|| round(-tokens / rate * 1000.0))
    }
}

/// To the nearest integer, halves upwards, and no more than a response can say (`Math.round`).
fn round(millis: f64) -> i64 {
    ((millis + 0.5).floor() as i64).min(i64::from(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows { count: 11, millis: 1000 };

    #[test]
    fn the_first_ten_seconds_are_ten_seconds_whatever_has_passed() {
        let mut rate = Rate::default();
        rate.record(WINDOWS, 1_000_050.0, 0);
        assert_eq!(rate.excess(WINDOWS, 100_000.0, 0), Some(1));
        rate.record(WINDOWS, 1_000_050.0, 0);
        assert_eq!(rate.excess(WINDOWS, 100_000.0, 0), Some(10_001));
        assert_eq!(rate.excess(WINDOWS, 300_000.0, 0), None);
    }

    #[test]
    fn what_is_taken_back_never_was() {
        let mut rate = Rate::default();
        rate.record(WINDOWS, 500.0, 10);
        rate.record(WINDOWS, -500.0, 20);
        assert_eq!(rate.measure(WINDOWS, 30), 0.0);
    }

    #[test]
    fn samples_count_until_nothing_was_added_to_them_for_all_windows() {
        let mut rate = Rate::default();
        rate.record(WINDOWS, 1100.0, 0);
        assert_eq!(rate.measure(WINDOWS, 10_999), 1100.0 / 10.999);
        assert!(!rate.is_over(WINDOWS, 10_999) && rate.is_over(WINDOWS, 11_000));
        assert_eq!(rate.measure(WINDOWS, 11_000), 0.0);
    }

    #[test]
    fn a_bucket_is_full_at_first_and_may_be_overdrawn() {
        let mut bucket = TokenBucket::full(WINDOWS, 2.0, 0);
        assert_eq!(bucket.tokens(WINDOWS, 2.0, 5000), 22.0);
        bucket.take(WINDOWS, 2.0, 30.0, 5000);
        assert_eq!(bucket.excess(WINDOWS, 2.0, 5000), Some(4000));
        assert_eq!(bucket.excess(WINDOWS, 2.0, 9000), None);
        assert_eq!(bucket.tokens(WINDOWS, 2.0, 60_000), 22.0);
    }

    /// What Apache Kafka's own classes say of the same use (`tests/oracle-metadata`).
    #[test]
    fn measures_and_waits_are_apache_kafkas() {
        let (mut rate, mut bucket) = (Rate::default(), None);
        let (mut windows, mut limit, mut lines) = (WINDOWS, 0.0, 0);
        for line in include_str!("../../tests/golden/quotas.tsv").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |n: usize| fields[n].parse::<f64>().expect("a number");
            let whole = |n: usize| fields[n].parse::<i64>().expect("a whole number");
            if fields[0] == "new" {
                windows = Windows { count: whole(2) as usize, millis: whole(3) };
                (rate, limit) = (Rate::default(), number(4));
                bucket = (fields[1] == "bucket").then(|| TokenBucket::full(windows, limit, 0));
                continue;
            }
            let (now, value) = (whole(0), number(1));
            let (measured, wait) = match &mut bucket {
                Some(bucket) => {
                    bucket.take(windows, limit, value, now);
                    (bucket.tokens(windows, limit, now), bucket.excess(windows, limit, now))
                }
                None => {
                    rate.record(windows, value, now);
                    (rate.measure(windows, now), rate.excess(windows, limit, now))
                }
            };
            assert_eq!((measured, wait.unwrap_or(-1)), (number(2), whole(3)), "line {line:?}, limit {limit}");
            lines += 1;
        }
        assert_eq!(lines, 3000);
    }

    #[test]
    fn a_wait_is_no_longer_than_a_response_can_say() {
        let mut rate = Rate::default();
        rate.record(WINDOWS, 1e300, 0);
        assert_eq!(rate.excess(WINDOWS, 1.0, 0), Some(i64::from(i32::MAX)));
    }
}
