//! Stalls put together: by thread, for a timeline, and by stack, for reading.
//!
//! What always holds: threads that answer requests come first; what is left out of a picture is
//! counted ([`Waits::more_threads`]).

use std::collections::BTreeMap;

use crate::record::{Role, Stall};

/// Rows of a timeline.
const MOST_THREADS: usize = 20;

/// Stacks that are told.
const MOST_STACKS: usize = 30;

/// The stalls of one broker.
#[derive(Debug)]
pub(super) struct Waits<'a> {
    /// The threads that waited longest, requests' threads first.
    pub(super) threads: Vec<Thread<'a>>,
    /// How many others waited.
    pub(super) more_threads: u64,
    /// Where they waited, in the same order.
    pub(super) stacks: Vec<WaitPlace<'a>>,
    /// How many other places there were.
    pub(super) more_stacks: u64,
}

/// One thread's waits.
#[derive(Debug)]
pub(super) struct Thread<'a> {
    pub(super) name: &'a str,
    /// What it is there for.
    pub(super) role: Role,
    /// All its waits, in milliseconds.
    pub(super) total_ms: f64,
    /// By the place in [`Waits::stacks`], if it is told there: from and to in milliseconds.
    pub(super) waits: BTreeMap<Option<usize>, Vec<(f64, f64)>>,
}

/// One stack, and who was seen in it.
#[derive(Debug)]
pub(super) struct WaitPlace<'a> {
    /// The innermost function first.
    pub(super) stack: &'a [String],
    /// The most interesting of the threads' roles.
    pub(super) role: Role,
    /// The threads' names with how long each was there, in milliseconds, the longest first.
    pub(super) threads: Vec<(&'a str, f64)>,
    /// How many stalls.
    pub(super) count: u64,
    /// All of them, in milliseconds.
    pub(super) total_ms: f64,
    pub(super) longest_ms: f64,
}

/// What matters to a request comes first.
fn rank(role: Role) -> u8 {
    match role {
        Role::Request => 0,
        Role::Network => 1,
        Role::Collector => 2,
        Role::Other => 3,
        Role::Disk => 4,
    }
}

/// The word for a role.
pub(super) fn word(role: Role) -> &'static str {
    match role {
        Role::Request => "request",
        Role::Network => "network",
        Role::Disk => "disk",
        Role::Collector => "collector",
        Role::Other => "other",
    }
}

/// Puts a broker's stalls together.
pub(super) fn folded(stalls: &[Stall]) -> Waits<'_> {
    let length = |stall: &Stall| (stall.to_ms - stall.from_ms).max(0.0);
    let mut places: BTreeMap<&[String], Vec<&Stall>> = BTreeMap::new();
    let mut threads: BTreeMap<(u8, &str), Vec<&Stall>> = BTreeMap::new();
    for stall in stalls {
        places.entry(&stall.stack).or_default().push(stall);
        threads.entry((rank(stall.role), &stall.thread)).or_default().push(stall);
    }
    let mut stacks: Vec<WaitPlace<'_>> =
        places.into_iter().map(|(stack, stalls)| place(stack, &stalls, length)).collect();
    stacks.sort_by(|a, b| rank(a.role).cmp(&rank(b.role)).then(b.total_ms.total_cmp(&a.total_ms)));
    let more_stacks = stacks.len().saturating_sub(MOST_STACKS) as u64;
    stacks.truncate(MOST_STACKS);
    let numbers: BTreeMap<&[String], usize> =
        stacks.iter().enumerate().map(|(at, place)| (place.stack, at)).collect();

    let mut rows: Vec<Thread<'_>> = threads
        .into_iter()
        .map(|((_, name), stalls)| {
            let mut waits: BTreeMap<Option<usize>, Vec<(f64, f64)>> = BTreeMap::new();
            for stall in &stalls {
                let number = numbers.get(stall.stack.as_slice()).copied();
                waits.entry(number).or_default().push((stall.from_ms, stall.to_ms));
            }
            let total_ms = stalls.iter().map(|stall| length(stall)).sum();
            Thread { name, role: stalls[0].role, total_ms, waits }
        })
        .collect();
    rows.sort_by(|a, b| rank(a.role).cmp(&rank(b.role)).then(b.total_ms.total_cmp(&a.total_ms)));
    let more_threads = rows.len().saturating_sub(MOST_THREADS) as u64;
    rows.truncate(MOST_THREADS);
    Waits { threads: rows, more_threads, stacks, more_stacks }
}

fn place<'a>(stack: &'a [String], stalls: &[&'a Stall], length: impl Fn(&Stall) -> f64) -> WaitPlace<'a> {
    let mut threads: BTreeMap<&str, f64> = BTreeMap::new();
    for stall in stalls {
        *threads.entry(&stall.thread).or_default() += length(stall);
    }
    let mut threads: Vec<(&str, f64)> = threads.into_iter().collect();
    threads.sort_by(|a, b| b.1.total_cmp(&a.1));
    WaitPlace {
        stack,
        role: stalls.iter().map(|stall| stall.role).min_by_key(|role| rank(*role)).unwrap_or(Role::Other),
        threads,
        count: stalls.len() as u64,
        total_ms: stalls.iter().map(|stall| length(stall)).sum(),
        longest_ms: stalls.iter().map(|stall| length(stall)).fold(0.0, f64::max),
    }
}

/// A stack in one line, the innermost functions: `xfs_ilock < xfs_file_buffered_write < vfs_write`.
pub(super) fn in_a_line(stack: &[String], most: usize) -> String {
    if stack.is_empty() {
        return "(no stack)".to_owned();
    }
    let mut text = stack.iter().take(most).cloned().collect::<Vec<_>>().join(" < ");
    if stack.len() > most {
        text += " < …";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(thread: &str, role: Role, from_ms: f64, to_ms: f64, innermost: &str) -> Stall {
        Stall {
            thread: thread.to_owned(),
            role,
            from_ms,
            to_ms,
            samples: 1,
            stack: vec![innermost.to_owned()],
        }
    }

    #[test]
    fn requests_come_first_however_long_the_disk_threads_waited() {
        let stalls = [
            stall("disk-0", Role::Disk, 0.0, 9_000.0, "submit_bio_wait"),
            stall("handler-1", Role::Request, 100.0, 200.0, "xfs_ilock"),
            stall("handler-0", Role::Request, 100.0, 150.0, "xfs_ilock"),
            stall("handler-0", Role::Request, 300.0, 600.0, "xfs_ilock"),
        ];
        let waits = folded(&stalls);
        let names: Vec<_> = waits.threads.iter().map(|thread| (thread.name, thread.total_ms)).collect();
        assert_eq!(names, [("handler-0", 350.0), ("handler-1", 100.0), ("disk-0", 9_000.0)]);
        assert_eq!(waits.threads[0].waits[&Some(0)], [(100.0, 150.0), (300.0, 600.0)]);
        let lock = &waits.stacks[0];
        assert_eq!((lock.count, lock.total_ms, lock.longest_ms), (3, 450.0, 300.0));
        assert_eq!(lock.threads, [("handler-0", 350.0), ("handler-1", 100.0)]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let stalls: Vec<Stall> = (0..50)
            .map(|n| stall(&format!("t{n}"), Role::Other, 0.0, f64::from(n), &format!("f{n}")))
            .collect();
        let waits = folded(&stalls);
        assert_eq!((waits.threads.len(), waits.more_threads), (20, 30));
        assert_eq!((waits.stacks.len(), waits.more_stacks), (30, 20));
        assert_eq!(waits.threads[0].name, "t49");
        assert!(waits.threads.iter().all(|thread| !thread.waits.contains_key(&None)));
    }
}
