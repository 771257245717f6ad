//! How disks and the threads of the shards were lately, a few times a second: what else happened
//! while a request was slow.

use std::collections::VecDeque;
use std::time::Duration;

use aplomb_model::Instant;

/// How much is kept: two minutes, if it is looked a few times a second.
const MOST: usize = 480;

/// Looks that follow each other faster say nothing new.
const LEAST: Duration = Duration::from_millis(100);

/// How it was when it was looked at.
#[derive(Debug)]
struct Look {
    at: Instant,
    /// For how long each shard's thread has waited for a processor since it was started.
    delays: Vec<Duration>,
    /// For how long each disk's oldest command has waited.
    ages: Vec<Duration>,
}

/// The last looks.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    looks: VecDeque<Look>,
}

impl Timeline {
    /// Whether it is worth to look again.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.looks.back().is_none_or(|last| now.since(last.at) >= LEAST)
    }

    pub(super) fn push(&mut self, at: Instant, delays: Vec<Duration>, ages: Vec<Duration>) {
        if self.looks.len() == MOST {
            self.looks.pop_front();
        }
        self.looks.push_back(Look { at, delays, ages });
    }

    /// For how long a shard's thread waited for a processor between two times, and between the
    /// looks around them.
    pub(super) fn delay(&self, shard: usize, from: Instant, to: Instant) -> Duration {
        let before = self.looks.iter().rfind(|look| look.at <= from).or(self.looks.front());
        let after = self.looks.iter().find(|look| look.at >= to).or(self.looks.back());
        let of = |look: Option<&Look>| look.and_then(|look| look.delays.get(shard)).copied();
        match (of(before), of(after)) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => Duration::ZERO,
        }
    }

    /// The most that the oldest command of a disk had waited between two times.
    pub(super) fn age(&self, disk: usize, from: Instant, to: Instant) -> Duration {
        let within = self.looks.iter().filter(|look| from <= look.at && look.at <= to);
        within.filter_map(|look| look.ages.get(disk).copied()).max().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_meanwhile_is_told() {
        let at = |millis| Instant::START + Duration::from_millis(millis);
        let ms = Duration::from_millis;
        let mut timeline = Timeline::default();
        assert_eq!((timeline.delay(0, at(0), at(9)), timeline.age(0, at(0), at(9))), (ms(0), ms(0)));
        for (now, delay, age) in [(0, 100, 0), (250, 110, 200), (500, 310, 450), (750, 311, 0)] {
            timeline.push(at(now), vec![ms(0), ms(delay)], vec![ms(age)]);
        }
        assert_eq!(timeline.delay(1, at(300), at(400)), ms(200));
        assert_eq!(timeline.delay(1, at(251), at(700)), ms(201));
        assert_eq!(timeline.delay(1, at(0), at(9999)), ms(211), "as far as is known");
        assert_eq!((timeline.delay(0, at(0), at(750)), timeline.delay(7, at(0), at(750))), (ms(0), ms(0)));
        assert_eq!((timeline.age(0, at(100), at(600)), timeline.age(0, at(600), at(800))), (ms(450), ms(0)));
        assert!(!timeline.is_due(at(800)) && timeline.is_due(at(850)));
        (0..2 * MOST).for_each(|n| timeline.push(at(1000 + n as u64), vec![], vec![]));
        assert_eq!(timeline.looks.len(), MOST);
    }
}
