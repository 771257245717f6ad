//! How fast those are let in again who were turned away while a disk did not keep up.
//!
//! They come with what they could not get rid of, all at once if they may, and a shard that reads
//! it keeps all others waiting: so not faster than an ordinary disk takes it.

use aplomb_model::Instant;

/// Bytes a second, of a shard.
const RATE: u64 = 64 << 20;

/// So many bytes may pass at once, and the last beyond.
const BURST: i64 = 256 << 10;

/// Lets so many bytes a second pass.
///
/// What always holds: no more is left than [`BURST`]; what has passed beyond is made good by time.
#[derive(Debug)]
pub(super) struct Gate {
    left: i64,
    since: Instant,
}

impl Default for Gate {
    fn default() -> Self {
        Self { left: BURST, since: Instant::START }
    }
}

impl Gate {
    /// Whether anything may pass now.
    pub(super) fn is_open(&mut self, now: Instant) -> bool {
        let micros = u64::try_from(now.since(self.since).as_micros()).unwrap_or(u64::MAX);
        let gained = i64::try_from(micros.saturating_mul(RATE) / 1_000_000).unwrap_or(i64::MAX);
        // Of times too short to count nothing is lost.
        if gained > 0 {
            self.left = self.left.saturating_add(gained).min(BURST);
            self.since = now;
        }
        self.left > 0
    }

    /// So many bytes pass.
    pub(super) fn pass(&mut self, bytes: usize) {
        assert!(self.left > 0, "only an open gate is passed");
        self.left = self.left.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// How many batches of so many bytes pass in a second that is looked at so often.
    fn passing(bytes: usize, step: Duration) -> u64 {
        let (mut gate, mut now, mut passed) = (Gate::default(), Instant::START + Duration::from_secs(9), 0);
        let end = now + Duration::from_secs(1);
        while now < end {
            while gate.is_open(now) {
                gate.pass(bytes);
                passed += 1;
            }
            now = now + step;
        }
        passed
    }

    #[test]
    fn as_many_bytes_pass_in_a_second_whatever_they_come_in() {
        for bytes in [1 << 10, 100 << 10, 1 << 20] {
            for step in [Duration::from_micros(3), Duration::from_micros(700), Duration::from_millis(2)] {
                let passed = passing(bytes, step) * bytes as u64;
                let most = RATE + (2 << 20);
                assert!((RATE / 10 * 9..most).contains(&passed), "{bytes} each, every {step:?}: {passed}");
            }
        }
    }

    #[test]
    fn a_long_pause_lets_no_more_than_a_burst_pass() {
        let (mut gate, mut passed) = (Gate::default(), 0);
        let now = Instant::START + Duration::from_secs(3600);
        while gate.is_open(now) {
            gate.pass(1 << 10);
            passed += 1;
        }
        assert_eq!(passed << 10, BURST);
    }
}
