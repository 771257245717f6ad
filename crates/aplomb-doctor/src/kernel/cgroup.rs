//! The control group that a process is in: whether its quota or its memory limit holds it up.
//!
//! Both versions of control groups are read. A process may be moved between groups, so its group is
//! looked up anew for each row.

use super::files::{named, read};

/// Counters of a group since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupCounts {
    group: String,
    periods: Option<(u64, u64)>,
    throttled_us: Option<u64>,
    limit_hits: Option<u64>,
}

/// What came between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Since {
    pub(super) periods: Option<(u64, u64)>,
    pub(super) throttled_ms: Option<f64>,
    pub(super) limit_hits: Option<u64>,
}

impl GroupCounts {
    /// What the groups of a process say now.
    pub(super) fn of(pid: u32) -> Self {
        let group = read(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let mut counts = Self::default();
        for line in group.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            counts.read(controllers, path);
        }
        Self { group, ..counts }
    }

    fn read(&mut self, controllers: &str, path: &str) {
        let of = |controller: &str| controllers.split(',').any(|name| name == controller);
        if controllers.is_empty() {
            // Version 2, alone or beside version 1.
            for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
                let file = |name: &str| read(format!("{root}{path}/{name}"));
                if let Some(text) = file("cpu.stat") {
                    self.cpu(&text, "throttled_usec", 1);
                }
                if let Some(text) = file("memory.events") {
                    let hits = named(&text, "high").unwrap_or(0) + named(&text, "max").unwrap_or(0);
                    self.limit_hits = Some(hits);
                }
            }
        } else if of("cpu") {
            let text = ["cpu", "cpu,cpuacct"]
                .iter()
                .find_map(|name| read(format!("/sys/fs/cgroup/{name}{path}/cpu.stat")));
            if let Some(text) = text {
                self.cpu(&text, "throttled_time", 1000);
            }
        } else if of("memory") {
            let text = read(format!("/sys/fs/cgroup/memory{path}/memory.failcnt"));
            self.limit_hits = text.and_then(|text| text.trim().parse().ok()).or(self.limit_hits);
        }
    }

    fn cpu(&mut self, text: &str, throttled: &str, units_per_us: u64) {
        if let (Some(periods), Some(held)) = (named(text, "nr_periods"), named(text, "nr_throttled")) {
            self.periods = Some((periods, held));
            self.throttled_us = named(text, throttled).map(|time| time / units_per_us);
        }
    }

    /// What came since `before`; nothing of a process that has been moved in between.
    pub(super) fn since(&self, before: &Self) -> Since {
        if self.group != before.group {
            return Since::default();
        }
        let pairs = self.periods.zip(before.periods);
        let grown = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        Since {
            periods: pairs.map(|(now, then)| (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))),
            throttled_ms: grown(self.throttled_us, before.throttled_us).map(|us| us as f64 / 1e3),
            limit_hits: grown(self.limit_hits, before.limit_hits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_told_by_periods() {
        let counts = |text: &str, hits| {
            let mut counts = GroupCounts { limit_hits: Some(hits), ..GroupCounts::default() };
            counts.cpu(text, "throttled_time", 1000);
            counts
        };
        let before = counts("nr_periods 100\nnr_throttled 10\nthrottled_time 5000000\n", 7);
        let after = counts("nr_periods 110\nnr_throttled 17\nthrottled_time 9000000\n", 9);
        let since = after.since(&before);
        assert_eq!((since.periods, since.throttled_ms), (Some((10, 7)), Some(4.0)));
        assert_eq!(since.limit_hits, Some(2));
        let moved = GroupCounts { group: "0::/other".to_owned(), ..after };
        assert_eq!(moved.since(&before), Since::default());
    }

    #[test]
    fn a_process_of_this_machine_has_a_group() {
        let counts = GroupCounts::of(std::process::id());
        assert!(!counts.group.is_empty());
        assert_eq!(GroupCounts::of(u32::MAX), GroupCounts::default());
    }
}
