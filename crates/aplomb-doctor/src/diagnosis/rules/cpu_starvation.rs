//! Threads that carry requests wait for a processor.
//!
//! They do so in any program that has more to do than processors: what is looked for is that others
//! had these, or that they waited out of all proportion. A JVM that begins compiles its code, and
//! its requests wait for that: by itself that is how each begins.

use crate::diagnosis::evidence::Evidence;
use crate::diagnosis::finding::{Finding, percent, remedy, time};
use crate::diagnosis::spans::Spans;
use crate::diagnosis::verdict::Span;
use crate::recording::{HostSample, Role, Thread, Usage};

/// They wait so many times longer for a processor than they run, where others have them.
const RATIO: f64 = 4.0;
/// And so many times where the broker has them itself: half of it is usual while a JVM compiles.
const RATIO_ALONE: f64 = 8.0;
/// The broker has the processors if it has so much of them.
const OWN: f64 = 0.5;
/// They wait for so much of a stretch's time, all of them together.
const LEAST_SHARE: f64 = 0.25;
/// The machine, or the host for it, is busy then.
const BUSY: f64 = 0.85;
/// A host keeps this share.
const STOLEN: f64 = 0.15;
/// Looks are at most half a second apart: so many rows have what one look has found.
const ROWS_OF_A_LOOK: usize = 3;
/// For less than this altogether every busy machine is short, unless its host has stood on it.
const LEAST_MS: f64 = 1_000.0;
/// Threads that a request passes through: reader, handler, writer.
const HOPS: f64 = 3.0;
/// What each of them waits where their turns were not counted: as long as a scheduler's slices are.
const TURN_MS: f64 = 3.0;

/// Rows of the machine up to one for which threads were looked at, and what these had of it: times
/// of processors and of threads are in milliseconds, summed.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    from_ms: f64,
    to_ms: f64,
    /// Of all processors.
    length: f64,
    busy: f64,
    stolen: f64,
    /// What all threads of the process ran.
    own: f64,
    /// What those that carry requests ran, waited, and how often they were given a processor.
    ran: f64,
    waited: f64,
    turns: u64,
}

impl Stretch {
    fn add_row(&mut self, row: &HostSample, row_ms: f64) {
        self.to_ms = row.at_ms;
        self.length += row_ms * f64::from(row.cpus.max(1));
        self.busy += row.busy_ms + row.steal_ms;
        self.stolen += row.steal_ms;
    }

    fn add_usage(&mut self, thread: &Thread, usage: Usage) {
        self.own += usage.ran_ms;
        if thread.role.carries_requests() {
            self.ran += usage.ran_ms;
            self.waited += usage.runnable_ms;
            self.turns += usage.turns;
        }
    }

    fn has_itself(&self) -> bool {
        self.own >= OWN * self.length
    }

    fn is_starved(&self) -> bool {
        let ratio = if self.has_itself() { RATIO_ALONE } else { RATIO };
        self.waited > ratio * self.ran
            && self.waited > LEAST_SHARE * (self.to_ms - self.from_ms)
            // A group that is throttled waits on an idle machine: that is its quota.
            && self.busy >= BUSY * self.length
    }
}

/// All of a recording, for as long as the broker had clients.
fn stretches(evidence: &Evidence<'_>) -> Vec<Stretch> {
    // The kernel's threads and other processes' are none of the broker's; of most that have ended
    // there are no rows.
    let is_own =
        |thread: &&Thread| !matches!(thread.role, Role::Kernel | Role::Neighbour) && !thread.usage.is_empty();
    let own: Vec<&Thread> = evidence.recording.threads.iter().filter(is_own).collect();
    let mut all = Vec::new();
    let mut stretch = Stretch::default();
    let mut rows = 0;
    // A broker that starts has no client yet that could wait for it.
    let mut has_clients = true;
    let mut from_ms = 0.0;
    for (index, row) in evidence.recording.host.iter().enumerate() {
        has_clients = row.traffic.map_or(has_clients, |traffic| traffic.connections > 0);
        stretch.add_row(row, (row.at_ms - from_ms).max(1.0));
        from_ms = row.at_ms;
        rows += 1;
        for thread in &own {
            if let Some(usage) = thread.usage.get(index) {
                stretch.add_usage(thread, *usage);
            }
        }
        if stretch.own + stretch.waited > 0.0 || rows == ROWS_OF_A_LOOK {
            all.extend(has_clients.then_some(stretch));
            stretch = Stretch { from_ms, ..Stretch::default() };
            rows = 0;
        }
    }
    all
}

/// When threads that carry requests waited for a processor.
pub(super) fn starved(evidence: &Evidence<'_>) -> Spans {
    spans(stretches(evidence).iter().filter(|stretch| stretch.is_starved()))
}

fn spans<'a>(stretches: impl Iterator<Item = &'a Stretch>) -> Spans {
    stretches.map(|stretch| Span { from_ms: stretch.from_ms, to_ms: stretch.to_ms }).collect()
}

/// Stretches as one: its times are sums.
fn sum<'a>(stretches: impl Iterator<Item = &'a Stretch>) -> Stretch {
    stretches.fold(Stretch::default(), |sum, one| Stretch {
        length: sum.length + one.length,
        stolen: sum.stolen + one.stolen,
        own: sum.own + one.own,
        ran: sum.ran + one.ran,
        waited: sum.waited + one.waited,
        turns: sum.turns + one.turns,
        ..sum
    })
}

fn turn_ms(stretch: &Stretch) -> Option<f64> {
    (stretch.turns > 0).then(|| stretch.waited / stretch.turns as f64)
}

pub(super) fn rule(evidence: &Evidence<'_>) -> Option<Finding> {
    let (starved, fed): (Vec<Stretch>, Vec<Stretch>) =
        stretches(evidence).into_iter().partition(Stretch::is_starved);
    if starved.is_empty() {
        return None;
    }
    let explained = spans(starved.iter());
    let (all, usual) = (sum(starved.iter()), sum(fed.iter()));
    let stolen = all.stolen / all.length;
    if stolen < STOLEN && explained.total_ms() < LEAST_MS {
        return None;
    }
    let who = if stolen >= STOLEN {
        "the host"
    } else if all.has_itself() {
        "the broker's own threads"
    } else {
        "others"
    };
    let mut evidence_for = vec![format!(
        "threads that carry requests waited {} for a processor in {}, {:.0} times what they ran",
        time(all.waited),
        time(explained.total_ms()),
        all.waited / all.ran.max(1.0)
    )];
    if let (Some(then), Some(usually)) = (turn_ms(&all), turn_ms(&usual)) {
        evidence_for.push(format!("{then:.2} ms for each turn, {usually:.2} ms at other times"));
    }
    evidence_for.push(format!(
        "the broker had {} of the processors' time then, its request threads {}",
        percent((all.own / all.length).min(1.0)),
        percent((all.ran / all.length).min(1.0))
    ));
    if stolen >= STOLEN {
        evidence_for.push(format!("a host kept {} of the processors' time (steal)", percent(stolen)));
    }
    let pressure = evidence.recording.host.iter().filter_map(|row| row.cpu_pressure).fold(0.0, f64::max);
    if pressure > 0.0 {
        evidence_for.push(format!("pressure of processors was {} at the most", percent(pressure)));
    }
    let carrying = evidence.recording.threads.iter();
    let carrying = carrying.filter(|thread| thread.role.carries_requests() && !thread.usage.is_empty());
    Some(Finding {
        name: "cpu-starvation",
        explained,
        delay_ms: Some(HOPS * turn_ms(&all).unwrap_or(TURN_MS)),
        ground: true,
        waited: true,
        summary: format!("Request threads waited for a processor, which {who} had"),
        evidence: evidence_for,
        mechanism: "A thread that could run has to wait while others have the processors. A request passes \
            through several threads, and each of them waits in its turn. Nothing of it is seen in disks, \
            locks or the collector's log.",
        remedy: vec![
            remedy(
                "whatever else runs on the machine elsewhere, or with less weight (nice, cpu.weight)",
                "a machine",
            ),
            remedy("more processors", "money"),
        ],
        threads: carrying.map(|thread| thread.tid).collect(),
        ..Finding::default()
    })
}
