//! A row of the machine: processors, pressure, memory, the process's group and its sockets.

use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;

use super::cgroup;
use super::files::{Kept, micro, named, nth};
use super::sockets::Sockets;
use crate::recording::HostSample;

/// Sockets are looked at no oftener than this.
const SOCKETS: Duration = Duration::from_millis(600);

/// What rows are made of.
#[derive(Debug)]
pub(super) struct Host {
    pid: u32,
    cpus: u32,
    stat: Option<Kept>,
    vmstat: Option<Kept>,
    pressure: [Option<Kept>; 3],
    process: Option<Kept>,
    status: Option<Kept>,
    sockets: Sockets,
    sockets_due: Instant,
    last: Option<HostCounts>,
}

/// Counters since the boot, or since the process began.
#[derive(Clone, Debug, Default)]
struct HostCounts {
    at_ms: f64,
    busy_ticks: u64,
    steal_ticks: u64,
    pressure_us: [Option<u64>; 3],
    major_faults: u64,
    swapped_in: u64,
    direct_reclaims: u64,
    compact_stalls: u64,
    group: cgroup::GroupCounts,
}

impl Host {
    pub(super) fn of(pid: u32, cpus: u32) -> Self {
        let kept = |path: &str| Kept::open(path).ok();
        Self {
            pid,
            cpus,
            stat: kept("/proc/stat"),
            vmstat: kept("/proc/vmstat"),
            pressure: ["cpu", "io", "memory"].map(|name| kept(&format!("/proc/pressure/{name}"))),
            process: kept(&format!("/proc/{pid}/stat")),
            status: kept(&format!("/proc/{pid}/status")),
            sockets: Sockets::of(pid),
            sockets_due: Instant::now(),
            last: None,
        }
    }

    /// Whether this kernel tells of pressure.
    pub(super) fn has_pressure(&mut self) -> bool {
        self.pressure[0].as_mut().is_some_and(|pressure| pressure.read().is_some())
    }

    /// A row; `None` for the first time, which has nothing to compare with.
    pub(super) fn row(&mut self, at_ms: f64, late_ms: f64) -> Option<HostSample> {
        let text = self.vmstat.as_mut().and_then(Kept::read).unwrap_or_default().to_owned();
        let pages = |name: &str| named(&text, name).unwrap_or(0);
        let (busy_ticks, steal_ticks) =
            self.stat.as_mut().and_then(|stat| processors(stat.read()?)).unwrap_or_default();
        let now = HostCounts {
            at_ms,
            busy_ticks,
            steal_ticks,
            pressure_us: [0, 1, 2]
                .map(|index| self.pressure[index].as_mut().and_then(|one| some(one.read()?))),
            major_faults: self.process.as_mut().and_then(|stat| faults(stat.read()?)).unwrap_or(0),
            swapped_in: pages("pswpin"),
            direct_reclaims: direct_reclaims(&text),
            compact_stalls: pages("compact_stall"),
            group: cgroup::GroupCounts::of(self.pid),
        };
        let began = Instant::now();
        let traffic = (began >= self.sockets_due).then(|| self.sockets.traffic()).flatten();
        if traffic.is_some() {
            self.sockets_due = began + SOCKETS;
        }
        let page = rustix::param::page_size() as u64;
        let swap = self.status.as_mut().and_then(|status| named(status.read()?, "VmSwap")).unwrap_or(0);
        let before = self.last.replace(now.clone())?;
        let ticks =
            |now: u64, before: u64| now.saturating_sub(before) as f64 * 1e3 / clock_ticks_per_second() as f64;
        let length_us = ((now.at_ms - before.at_ms) * 1e3).max(1.0);
        let share = |index: usize| {
            let stalled = now.pressure_us[index]?.saturating_sub(before.pressure_us[index]?);
            Some(micro((stalled as f64 / length_us).min(1.0)))
        };
        let group = now.group.since(&before.group);
        Some(HostSample {
            at_ms,
            late_ms,
            cpus: self.cpus,
            busy_ms: ticks(now.busy_ticks, before.busy_ticks),
            steal_ms: ticks(now.steal_ticks, before.steal_ticks),
            cpu_pressure: share(0),
            io_pressure: share(1),
            memory_pressure: share(2),
            cgroup_periods: group.periods,
            cgroup_throttled_ms: group.throttled_ms,
            cgroup_limit_hits: group.limit_hits,
            major_faults: now.major_faults.saturating_sub(before.major_faults),
            swapped_in: now.swapped_in.saturating_sub(before.swapped_in),
            direct_reclaims: now.direct_reclaims.saturating_sub(before.direct_reclaims),
            compact_stalls: now.compact_stalls.saturating_sub(before.compact_stalls),
            dirty_bytes: pages("nr_dirty") * page,
            writeback_bytes: pages("nr_writeback") * page,
            dirty_limit_bytes: pages("nr_dirty_threshold") * page,
            process_swap_bytes: swap << 10,
            traffic,
        })
    }
}

/// Ticks that all processors together were busy, and those that a host kept, by `/proc/stat`: user,
/// nice, system, idle, iowait, irq, softirq, steal.
fn processors(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let at = |index: usize| nth::<u64>(line, index);
    let busy = [0, 1, 2, 5, 6].into_iter().map(at).sum::<Option<u64>>()?;
    Some((busy, at(7).unwrap_or(0)))
}

/// Microseconds for which some task waited, by `/proc/pressure/*`.
fn some(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.rsplit_once("total=")?.1.trim().parse().ok()
}

/// Major faults of a process, by its `stat`.
fn faults(text: &str) -> Option<u64> {
    nth(text.rsplit_once(") ")?.1, 9)
}

/// `allocstall`, which newer kernels count for each zone.
fn direct_reclaims(vmstat: &str) -> u64 {
    let lines = vmstat.lines().filter(|line| line.starts_with("allocstall"));
    lines.filter_map(|line| nth::<u64>(line, 1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        assert_eq!(processors("cpu  10 1 5 900 7 2 3 44 0 0\ncpu0 1\n"), Some((21, 44)));
        assert_eq!(processors("cpu0 1"), None);
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 total=9\n";
        assert_eq!(some(text), Some(1234));
        assert_eq!(faults("1 (a) b) S 1 2 3 4 5 6 7 8 77 10"), Some(77));
        assert_eq!(direct_reclaims("allocstall_dma 1\nallocstall_normal 2\nallocated 9\n"), 3);
    }

    #[test]
    fn a_row_of_this_machine_makes_sense() {
        let mut host = Host::of(std::process::id(), 2);
        assert!(host.row(0.0, 0.0).is_none());
        let row = host.row(100.0, 0.0).expect("a row before it");
        assert!(row.busy_ms >= 0.0 && row.dirty_limit_bytes > 0, "{row:?}");
        assert!(row.cpu_pressure.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}
