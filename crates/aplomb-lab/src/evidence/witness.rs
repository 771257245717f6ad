//! Whether a broker that promises never to let a request wait for a disk has kept its word.

use crate::record::{Role, Stall, Witness};

/// What the witness says: no thread that carries requests was found in uninterruptible sleep, and
/// the guard has refused nothing. The guard of a broker under test ends the process, so what it
/// refuses is told by the broker's log when its page has gone.
#[must_use]
pub(crate) fn witness(stalls: &[Stall], on_the_page: Option<u64>, log: &str) -> Witness {
    let carries = |stall: &&Stall| matches!(stall.role, Role::Request | Role::Network);
    let stalls: Vec<Stall> = stalls.iter().filter(carries).cloned().collect();
    let in_the_log =
        log.lines().filter(|line| line.contains("which may wait for a file system")).count() as u64;
    let guard_violations = on_the_page.unwrap_or(0).max(in_the_log);
    Witness { silent: stalls.is_empty() && guard_violations == 0, stalls, guard_violations }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stall(role: Role) -> Stall {
        Stall {
            thread: "t".to_owned(),
            role,
            from_ms: 0.0,
            to_ms: 50.0,
            samples: 1,
            stack: vec!["f".to_owned()],
        }
    }

    #[test]
    fn it_speaks_of_request_threads_and_of_the_guard_and_of_nothing_else() {
        assert!(witness(&[stall(Role::Disk), stall(Role::Other)], Some(0), "").silent);
        assert!(!witness(&[stall(Role::Request)], Some(0), "").silent);
        assert!(!witness(&[], Some(1), "").silent);
        let line = "thread aplomb-shard-0 (id 7) called openat, which may wait for a file system; the process is aborted";
        let heard = witness(&[], None, line);
        assert_eq!((heard.silent, heard.guard_violations), (false, 1));
    }
}
