//! Mailboxes of shards that are full for a while: what takes long waits then.

use std::time::Duration;

use aplomb_model::Instant;

use super::random::Dice;

/// For so long they are full, or are not.
const WHILE: Duration = Duration::from_millis(2);
/// In so many of a hundred such whiles.
const PERCENT: u64 = 20;
/// In one of so many seeds.
const SEEDS: u64 = 3;

/// When mailboxes are full, as the seed says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mailboxes {
    seed: u64,
}

impl Mailboxes {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Whether they are full now.
    pub(crate) fn are_full(self, now: Instant) -> bool {
        let (at, _) = Self::place(now);
        self.seed.is_multiple_of(SEEDS) && Dice::of(self.seed, "mailboxes", at).percent(PERCENT)
    }

    /// When that may change, if they are full.
    pub(crate) fn change_at(self, now: Instant) -> Option<Instant> {
        self.are_full(now).then(|| Self::place(now).1)
    }

    /// The number of this while, and its end.
    fn place(now: Instant) -> (u64, Instant) {
        let at = now.since(Instant::START).as_nanos() / WHILE.as_nanos();
        let at = u32::try_from(at).expect("a simulation ends sooner");
        (u64::from(at), Instant::START + WHILE * (at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_full_for_a_while_and_then_they_are_not() {
        let mailboxes = Mailboxes::new(3 * 17);
        let mut now = Instant::START;
        let (mut full, mut empty) = (0, 0);
        while full < 10 {
            match mailboxes.change_at(now) {
                Some(later) => {
                    assert!(later > now && mailboxes.are_full(now));
                    (full, now) = (full + 1, later);
                }
                None => (empty, now) = (empty + 1, now + WHILE),
            }
        }
        assert!(empty > 10);
        assert!(!Mailboxes::new(4).are_full(now), "not in every seed");
    }
}
