//! How long coordinators took lately to load their partitions.

use std::time::Duration;

use aplomb_broker::figures::LoadTimes;
use aplomb_model::Instant;

use super::super::page::Page;
use super::super::recent::Recent;

/// Over which time loads are told: half of Apache Kafka's window, and one to two of it.
const WINDOW: Duration = Duration::from_secs(30);

/// Loads lately, of the coordinators of one topic.
#[derive(Debug)]
pub(super) struct RecentLoads {
    recent: Recent<LoadTimes>,
    /// The longest, and when they were seen.
    longest: Vec<(Instant, Duration)>,
}

impl RecentLoads {
    pub(super) fn new(now: Instant) -> Self {
        Self { recent: Recent::new(WINDOW, now, LoadTimes::default()), longest: Vec::new() }
    }

    /// Two gauges: the average and the longest, in milliseconds. As in Apache Kafka there is no
    /// number when nothing was loaded lately.
    pub(super) fn put_on(
        &mut self,
        page: &mut Page,
        [average, most]: [(&'static str, &'static str); 2],
        loads: LoadTimes,
        longest: impl Iterator<Item = Duration>,
        now: Instant,
    ) {
        let (_, before) = self.recent.before(now, &loads);
        let count = loads.count - before.count;
        let took = loads.total.saturating_sub(before.total).as_secs_f64() * 1000.0 / count as f64;
        page.gauge(average.0, average.1, &[], took);
        self.longest.retain(|(seen, _)| now.since(*seen) < 2 * WINDOW);
        self.longest.extend(longest.filter(|took| !took.is_zero()).map(|took| (now, took)));
        let longest = self.longest.iter().map(|(_, took)| took.as_secs_f64() * 1000.0);
        page.gauge(most.0, most.1, &[], longest.fold(f64::NAN, f64::max));
    }
}
