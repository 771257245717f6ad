//! Who held what a wait was for, as far as waits of one file tell.
//!
//! What always holds: a holder that an event names stays as it is; a holder is called known only if
//! both waits were recorded whole and name one file. All others were in the way at the same time,
//! and no more than that is said.

use crate::recording::Sighting;

use super::found::FoundWait;
use super::frames::WaitReason;

/// Holders of a wait; more than these are a crowd.
const MOST_HOLDERS: usize = 8;
/// Waits that are compared with one wait. Fewer overlap in any recording that was not made up.
const MOST_COMPARED: usize = 4_000;

/// Adds holders to `waits`, which are in the order of their beginning. `interval_ms` is how exact
/// the profiler's times are.
pub(super) fn find_holders(waits: &mut [FoundWait], interval_ms: f64) {
    let longest = waits.iter().map(FoundWait::length_ms).fold(0.0, f64::max);
    let found: Vec<(Vec<u32>, bool)> =
        waits.iter().map(|wait| holders_of(wait, waits, longest, interval_ms)).collect();
    for (wait, (holders, known)) in waits.iter_mut().zip(found) {
        if !holders.is_empty() {
            (wait.holders, wait.holders_known) = (holders, known);
        }
    }
}

/// The holders that can be told, and whether they are known. None for a wait that has some.
fn holders_of(wait: &FoundWait, waits: &[FoundWait], longest: f64, interval: f64) -> (Vec<u32>, bool) {
    if !wait.holders.is_empty() {
        return (Vec::new(), false);
    }
    let others = || around(wait, waits, longest, interval);
    if wait.sighting == Sighting::Exact && wait.path.is_some() {
        return (tids(others().filter(|other| has_the_same_file(wait, other))), true);
    }
    let likely = match wait.doing {
        WaitReason::Append => tids(
            others().filter(|other| other.doing.holds_files() && wait.overlap_ms(other) > interval / 2.0),
        ),
        WaitReason::Lock => tids(others().filter(|other| {
            let contains = other.from_ms <= wait.from_ms && other.to_ms >= wait.to_ms - interval;
            other.doing == WaitReason::Append && (contains || ends_together(wait, other, interval))
        })),
        WaitReason::ReachSafepoint => tids(
            others().filter(|other| other.doing == WaitReason::Fault && ends_together(wait, other, interval)),
        ),
        _ => Vec::new(),
    };
    (likely, false)
}

/// Whether the other one was at work on the file that an exact wait names, from before.
fn has_the_same_file(wait: &FoundWait, other: &FoundWait) -> bool {
    other.sighting == Sighting::Exact
        && other.path == wait.path
        && other.from_ms < wait.from_ms
        && wait.overlap_ms(other) > 0.0
}

fn ends_together(wait: &FoundWait, other: &FoundWait, interval: f64) -> bool {
    (wait.to_ms - other.to_ms).abs() <= interval
}

/// Waits of other threads that may overlap this one, or end within an interval of it.
fn around<'w>(
    wait: &'w FoundWait,
    waits: &'w [FoundWait],
    longest: f64,
    interval: f64,
) -> impl Iterator<Item = &'w FoundWait> {
    let begun = waits.partition_point(|other| other.from_ms <= wait.to_ms + interval);
    let earliest = wait.from_ms - longest - interval;
    let others = waits[..begun].iter().rev().take(MOST_COMPARED);
    others
        .take_while(move |other| other.from_ms >= earliest)
        .filter(move |other| other.tid != wait.tid && other.to_ms >= wait.from_ms - interval)
}

fn tids<'w>(waits: impl Iterator<Item = &'w FoundWait>) -> Vec<u32> {
    let mut tids: Vec<u32> = Vec::new();
    for wait in waits {
        if !tids.contains(&wait.tid) && tids.len() < MOST_HOLDERS {
            tids.push(wait.tid);
        }
    }
    tids.sort_unstable();
    tids
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn wait(tid: u32, from: f64, to: f64, sighting: Sighting, doing: WaitReason) -> FoundWait {
        FoundWait::new(tid, (from, to), sighting, doing)
    }

    fn gap(tid: u32, from: f64, to: f64, doing: WaitReason) -> FoundWait {
        wait(tid, from, to, Sighting::Gap, doing)
    }

    fn holders(mut waits: Vec<FoundWait>) -> Vec<(u32, Vec<u32>, bool)> {
        find_holders(&mut waits, 20.0);
        waits.into_iter().map(|wait| (wait.tid, wait.holders, wait.holders_known)).collect()
    }

    #[test]
    fn an_append_is_likely_held_by_what_reads_at_the_same_time() {
        let told = holders(vec![
            gap(2, 0.0, 300.0, WaitReason::Send),
            gap(1, 50.0, 310.0, WaitReason::Append),
            gap(3, 305.0, 400.0, WaitReason::Read),
            gap(4, 60.0, 310.0, WaitReason::Fault),
        ]);
        assert_eq!(told[1], (1, vec![2], false), "five milliseconds with the third are chance");
        assert_eq!(told[0], (2, vec![], false));
    }

    #[test]
    fn a_lock_is_likely_held_by_the_append_that_waits() {
        let lock = wait(1, 100.0, 300.0, Sighting::One { looks: 9 }, WaitReason::Lock);
        let told = holders(vec![
            gap(2, 90.0, 295.0, WaitReason::Append),
            lock,
            gap(3, 150.0, 200.0, WaitReason::Append),
        ]);
        assert_eq!(told[1], (1, vec![2], false));
    }

    #[test]
    fn a_safepoint_waits_for_the_fault_that_ends_with_it() {
        let told = holders(vec![
            gap(2, 0.0, 410.0, WaitReason::Fault),
            gap(3, 0.0, 200.0, WaitReason::Fault),
            gap(1, 10.0, 405.0, WaitReason::ReachSafepoint),
        ]);
        assert_eq!(told[2], (1, vec![2], false));
    }

    #[test]
    fn one_file_makes_a_holder_known_and_a_named_owner_stays() {
        let on = |path: &str, wait: FoundWait| FoundWait { path: Some(Arc::from(path)), ..wait };
        let exact = |tid, from, to, doing| wait(tid, from, to, Sighting::Exact, doing);
        let owned =
            FoundWait { holders: vec![9], holders_known: true, ..exact(3, 30.0, 60.0, WaitReason::Lock) };
        let told = holders(vec![
            on("a", exact(2, 0.0, 50.0, WaitReason::Read)),
            on("a", exact(1, 10.0, 55.0, WaitReason::Append)),
            on("b", exact(4, 10.0, 55.0, WaitReason::Append)),
            owned,
        ]);
        assert_eq!(told[1], (1, vec![2], true));
        assert_eq!((&told[0].1, &told[2].1), (&vec![], &vec![]));
        assert_eq!(told[3], (3, vec![9], true));
    }
}
