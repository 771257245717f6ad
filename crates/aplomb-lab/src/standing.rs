//! Where the lab's own threads stand, on processors that they share with the broker.
//!
//! Clients have machines of their own, where they wait for no processor of the broker's and it
//! waits for none of theirs. Those that are counted go first: what they measure is then how long
//! the broker kept them waiting, and not how long its helpers kept them from looking. A crowd that
//! is not counted gives way, and so does a thread that only looks at the broker.
//!
//! A priority alone does not do that. A thread that has a processor keeps it, whichever other one
//! wakes, until its slice is over and the clock has ticked: for up to 4 ms with a kernel of 250 Hz,
//! as long as what is measured. A thread that wakes and has a shorter slice than that one is let in
//! sooner. So those that go first have the shortest slice, and the others one that is longer than
//! it: two with the same do not let each other in. It is shorter than the usual one nevertheless,
//! for until it is over the broker is not let in. Those wait when they wake until a processor is
//! free (`SCHED_BATCH`), so that a short slice does not put them before the broker.
#![expect(unsafe_code, reason = "a thread's slice has no safe wrapper")]

/// How a thread stands to the broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Before all threads that are not of real time.
    BeforeAll,
    /// Before the broker and the slow disk's own threads.
    First,
    /// Beside the broker, which is let in when it wakes.
    StepsAside,
    /// Behind the broker.
    GivesWay,
}

/// The shortest slice that there is, in nanoseconds (Linux 6.12; for older ones all are alike).
const SHORTEST: u64 = 100_000;

/// Longer than the shortest one, shorter than the usual one (a millisecond or more); nanoseconds.
const SHORT: u64 = 2 * SHORTEST;

impl Standing {
    /// Of this thread and those that it starts, from now on. A kernel that refuses has its reasons:
    /// to go first is for root, as all of a run is.
    pub(crate) fn take(self) {
        let (policy, nice, slice) = match self {
            Self::BeforeAll => (libc::SCHED_OTHER, -20, SHORTEST),
            Self::First => (libc::SCHED_OTHER, -15, SHORTEST),
            Self::StepsAside => (libc::SCHED_BATCH, 0, SHORT),
            Self::GivesWay => (libc::SCHED_BATCH, 10, SHORT),
        };
        // SAFETY: all zeros are a valid value of this.
        let mut wanted: libc::sched_attr = unsafe { std::mem::zeroed() };
        wanted.size = u32::try_from(size_of::<libc::sched_attr>()).expect("a few bytes");
        wanted.sched_policy = policy.cast_unsigned();
        wanted.sched_nice = nice;
        wanted.sched_runtime = slice;
        // SAFETY: 0 is the calling thread; what is wanted is of the size that it says, and outlives
        // the call.
        let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy, priority and slice of a thread with this standing, and of one that it starts.
    fn seen(standing: Option<Standing>) -> [(i32, i32, u64); 2] {
        let look = || {
            // SAFETY: all zeros are a valid value of this.
            let mut found: libc::sched_attr = unsafe { std::mem::zeroed() };
            let size = size_of::<libc::sched_attr>();
            // SAFETY: 0 is the calling thread; there are so many bytes to write to.
            let failed = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut found, size, 0) };
            assert_eq!(failed, 0);
            (found.sched_policy.cast_signed(), found.sched_nice, found.sched_runtime)
        };
        let begun = std::thread::spawn(move || {
            standing.into_iter().for_each(Standing::take);
            let child = std::thread::spawn(look).join().expect("it does not panic");
            [look(), child]
        });
        begun.join().expect("it does not panic")
    }

    #[test]
    fn a_thread_and_those_that_it_starts_stand_where_they_were_put() {
        // A kernel before 6.12 tells no slice.
        let (_, usual, slice) = seen(None)[0];
        let (shortest, short) = (slice.min(SHORTEST), slice.min(SHORT));
        let mut standings = vec![
            (Standing::StepsAside, libc::SCHED_BATCH, 0, short),
            (Standing::GivesWay, libc::SCHED_BATCH, 10, short),
        ];
        if rustix::process::geteuid().is_root() {
            standings.push((Standing::BeforeAll, libc::SCHED_OTHER, -20, shortest));
            standings.push((Standing::First, libc::SCHED_OTHER, -15, shortest));
        } else if usual > 0 {
            return eprintln!("skipped: this process may not put its threads before its own priority");
        }
        for (standing, policy, nice, slice) in standings {
            assert_eq!(seen(Some(standing)), [(policy, nice, slice); 2], "{standing:?}");
        }
    }
}
