//! When nothing kept the disks from their work: only such times count towards a promise of
//! durability.

use std::time::Duration;

use aplomb_model::Instant;

/// Stretches of calm.
#[derive(Debug)]
pub(crate) struct Calm {
    past: Vec<(Instant, Instant)>,
    since: Option<Instant>,
    troubles: u32,
}

impl Calm {
    /// Trouble at first: no process runs yet.
    pub(crate) fn new(_: Instant) -> Self {
        Self { past: Vec::new(), since: None, troubles: 1 }
    }

    /// Something goes wrong with a disk, or the process ends.
    pub(crate) fn disturb(&mut self, now: Instant) {
        self.troubles += 1;
        if let Some(since) = self.since.take() {
            self.past.push((since, now));
        }
    }

    /// One trouble is over.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.troubles -= 1;
        if self.troubles == 0 {
            self.since = Some(now);
        }
    }

    /// Whether there was calm for `window` somewhere between `from` and `to`.
    pub(crate) fn lasted(&self, window: Duration, from: Instant, to: Instant) -> bool {
        let now = self.since.map(|since| (since, to));
        let long = |(begin, end): &(Instant, Instant)| {
            let end = (*end).min(to);
            let begin = (*begin).max(from);
            begin <= end && end.since(begin) >= window
        };
        self.past.iter().chain(&now).any(long)
    }

    /// Since when there has been calm without interruption.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calm_is_what_lies_between_troubles() {
        let at = |seconds| Instant::START + Duration::from_secs(seconds);
        let mut calm = Calm::new(at(0));
        calm.settle(at(1));
        calm.disturb(at(5));
        calm.disturb(at(6));
        calm.settle(at(7));
        assert_eq!(calm.since(), None);
        calm.settle(at(8));
        let lasted = |seconds, from, to| calm.lasted(Duration::from_secs(seconds), at(from), at(to));
        assert!(lasted(4, 0, 9) && !lasted(5, 0, 9));
        assert!(lasted(2, 3, 9) && !lasted(3, 3, 9));
        assert!(lasted(3, 6, 11) && !lasted(3, 6, 10));
    }
}
