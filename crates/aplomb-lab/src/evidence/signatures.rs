//! What an incident is known by: a thread of some kind that waits in some call, a JVM that was long
//! in stopping, a line of the log.
//!
//! A wait is told from kernel functions, in the order in which one was called by the next; others
//! may lie between them. Names of functions differ between kernels where the compiler has cloned or
//! inlined them, so few are asked for, and a clone's ending (`.isra.0`) does not matter.

use aplomb_doctor::kernel::stacks;

use crate::record::{self, Role, Safepoint, Stall};

/// What an incident is known by.
#[derive(Clone, Debug)]
pub struct Signature {
    /// A few words: who waits where.
    pub name: &'static str,
    /// How it is told.
    pub mark: Mark,
}

/// How a signature is told.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A thread in uninterruptible sleep.
    Wait {
        /// Threads that this stack is looked for in.
        roles: &'static [Role],
        /// Functions, the innermost first. Each is given as one or several names, any of which will
        /// do.
        frames: &'static [&'static [&'static str]],
        /// Functions that are not there, wherever.
        none_of: &'static [&'static str],
    },
    /// A JVM took at least so many milliseconds until all its threads stood.
    ReachingSafepoint(f64),
    /// A JVM's threads stood for at least so many milliseconds altogether.
    Pause(f64),
    /// A line of the broker's log has one of these rows of words, in the row's order.
    LogLine(&'static [&'static [&'static str]]),
}

/// What a broker has left to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its waits from the beginning of the disturbance on.
    pub stalls: &'a [Stall],
    /// Its safepoints from then on.
    pub safepoints: &'a [Safepoint],
    /// The end of the broker's own log.
    pub log: &'a str,
}

impl Signature {
    /// A thread of one of these roles waits below these functions.
    #[must_use]
    pub const fn wait(
        name: &'static str,
        roles: &'static [Role],
        frames: &'static [&'static [&'static str]],
    ) -> Self {
        Self { name, mark: Mark::Wait { roles, frames, none_of: &[] } }
    }

    /// The same, and none of these functions is there: for what is done in a call that leaves no
    /// name of its own.
    ///
    /// # Panics
    /// If this is no wait.
    #[must_use]
    pub const fn and_none_of(self, none_of: &'static [&'static str]) -> Self {
        match self.mark {
            Mark::Wait { roles, frames, .. } => {
                Self { name: self.name, mark: Mark::Wait { roles, frames, none_of } }
            }
            _ => panic!("only waits have functions"),
        }
    }

    /// Looks for it. `expected` is for the record.
    #[must_use]
    pub fn look_for(&self, evidence: Evidence<'_>, expected: bool) -> record::Sighting {
        let pauses = |long: &dyn Fn(&Safepoint) -> bool| {
            let count = evidence.safepoints.iter().filter(|one| long(one)).count();
            (count as u64, Vec::new())
        };
        let (count, example) = match &self.mark {
            Mark::Wait { roles, frames, none_of } => {
                let fitting = || evidence.stalls.iter().filter(|stall| fits(stall, roles, frames, none_of));
                let longest = fitting().max_by_key(|stall| stall.samples);
                let example = longest.map(|stall| stall.stack.clone()).unwrap_or_default();
                (fitting().map(|stall| stall.samples).sum(), example)
            }
            Mark::ReachingSafepoint(ms) => pauses(&|one| one.reaching_ms >= *ms),
            Mark::Pause(ms) => pauses(&|one| one.total_ms >= *ms),
            Mark::LogLine(rows) => {
                let fits = |line: &&str| rows.iter().any(|words| in_order(line, words));
                let lines = || evidence.log.lines().filter(fits);
                (lines().count() as u64, lines().take(1).map(str::to_owned).collect())
            }
        };
        record::Sighting { name: self.name.to_owned(), expected, seen: count > 0, count, example }
    }
}

fn fits(stall: &Stall, roles: &[Role], frames: &[&[&str]], none_of: &[&str]) -> bool {
    roles.contains(&stall.role) && stacks::fits(&stall.stack, frames) && !stacks::has(&stall.stack, none_of)
}

fn in_order(line: &str, words: &[&str]) -> bool {
    let mut rest = line;
    words.iter().all(|word| match rest.split_once(word) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: Signature = Signature::wait(
        "a request waits for the inode",
        &[Role::Request],
        &[&["xfs_ilock"], &["xfs_file_buffered_write", "xfs_file_write_iter"]],
    );

    fn stall(role: Role, frames: &[&str], samples: u64) -> Stall {
        let stack = frames.iter().map(|&frame| frame.to_owned()).collect();
        Stall { thread: "t".to_owned(), role, from_ms: 0.0, to_ms: 50.0, samples, stack }
    }

    fn found(signature: &Signature, stalls: &[Stall]) -> record::Sighting {
        signature.look_for(Evidence { stalls, safepoints: &[], log: "" }, true)
    }

    #[test]
    fn functions_are_found_in_their_order_with_others_between() {
        let frames =
            ["rwsem_down_write_slowpath", "xfs_ilock.isra.0", "xfs_file_buffered_write", "vfs_write"];
        let seen = |role, frames: &[&str]| found(&LOCK, &[stall(role, frames, 1)]).seen;
        assert!(seen(Role::Request, &frames));
        assert!(!seen(Role::Disk, &frames), "that is what those are for");
        assert!(!seen(Role::Request, &["xfs_file_buffered_write", "xfs_ilock"]));
        assert!(!seen(Role::Request, &["xfs_ilock_nowait", "xfs_file_buffered_write"]));
    }

    #[test]
    fn a_function_that_is_not_to_be_there_makes_it_another_wait() {
        let directory = Signature::wait("a directory is synced", &[Role::Disk], &[&["do_fsync"]]);
        let directory = directory.and_none_of(&["xfs_file_fsync"]);
        let seen = |frames: &[&str]| found(&directory, &[stall(Role::Disk, frames, 1)]).seen;
        assert!(seen(&["xlog_wait_on_iclog", "xfs_log_force_seq", "do_fsync"]));
        assert!(!seen(&["xlog_wait_on_iclog", "xfs_file_fsync.isra.0", "do_fsync"]));
    }

    #[test]
    fn looks_are_counted_and_the_longest_is_the_example() {
        let frames = ["xfs_ilock", "xfs_file_write_iter"];
        let stalls = [
            stall(Role::Request, &frames, 2),
            stall(Role::Request, &["a", "xfs_ilock", "xfs_file_write_iter"], 5),
            stall(Role::Request, &["futex_wait"], 9),
        ];
        let lock = found(&LOCK, &stalls);
        assert_eq!((lock.seen, lock.count, lock.example.len()), (true, 7, 3));
        let none = found(&LOCK, &[]);
        assert_eq!((none.seen, none.count, none.example.len()), (false, 0, 0));
    }

    #[test]
    fn pauses_and_lines_are_signatures_too() {
        let safepoint =
            Safepoint { at_ms: 1.0, reaching_ms: 425.0, total_ms: 440.0, reason: "G1".to_owned() };
        let evidence =
            Evidence { stalls: &[], safepoints: &[safepoint], log: "a\nERROR the disk has failed\n" };
        let look = |mark| Signature { name: "s", mark }.look_for(evidence, false).count;
        assert_eq!(look(Mark::ReachingSafepoint(400.0)), 1);
        assert_eq!(look(Mark::Pause(441.0)), 0);
        assert_eq!(look(Mark::LogLine(&[&["disk", "failed"]])), 1);
        assert_eq!(look(Mark::LogLine(&[&["failed", "disk"]])), 0);
        assert_eq!(look(Mark::LogLine(&[&["failed", "disk"], &["ERROR"]])), 1);
    }
}
