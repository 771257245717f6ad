//! Which of a disk's threads may interrupt those that answer requests.
//!
//! Where processors are few, the threads of a disk run on those on which requests are answered.
//! When a device has brought eight windows eight of them wake together, and a scheduler that is
//! fair lets each interrupt a request thread that was busy for a moment. Those that carry a lagging
//! consumer's megabytes do not: they wait until a processor is free, or until its tick. What they
//! do then is in `steps`. They keep their priority: with a lower one two busy processors were
//! enough to bring a reader of old records down to a fortieth of what it had.
//!
//! The writer has a lower one: what it carries was acknowledged, and when a disk that was away
//! answers again it has the processors busy with as much as memory holds. So has the housekeeper,
//! for whom no request waits: a checkpoint of thousands of partitions kept one from a busy
//! processor for a tick each time.
#![expect(unsafe_code, reason = "a thread's scheduling policy has no safe wrapper")]

/// How a thread stands to those that answer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// As they are: they wait for it when the tail is full.
    Normal,
    /// It gets a third of what they get where there is not enough for all: nice(2), [`BEHIND`].
    Behind,
    /// It interrupts no other thread when it wakes: `SCHED_BATCH` (sched(7)).
    Background,
    /// Both.
    BackgroundBehind,
}

/// How far behind those that answer requests.
const BEHIND: i32 = 5;

impl Urgency {
    /// Of the calling thread, for the rest of its life. A kernel that refuses has its reasons.
    pub(crate) fn apply(self) {
        match self {
            Self::Normal => {}
            Self::Behind => {
                let _ = rustix::process::nice(BEHIND);
            }
            Self::Background => begin_batch(),
            Self::BackgroundBehind => {
                begin_batch();
                Self::Behind.apply();
            }
        }
    }
}

/// Of the calling thread.
fn begin_batch() {
    // SAFETY: all zeros are a valid parameter, and the one that this policy wants.
    let none: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the parameter outlives the call; 0 is the calling thread.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_interrupts_nobody_says_so_to_the_kernel_and_others_stay_as_they_were() {
        let policy = |urgency: Urgency| {
            let thread = std::thread::spawn(move || {
                urgency.apply();
                // SAFETY: 0 is the calling thread.
                unsafe { libc::sched_getscheduler(0) }
            });
            thread.join().expect("it does not panic")
        };
        // SAFETY: 0 is the calling thread.
        let ours = unsafe { libc::sched_getscheduler(0) };
        assert_eq!(policy(Urgency::Background), libc::SCHED_BATCH);
        assert_eq!(policy(Urgency::BackgroundBehind), libc::SCHED_BATCH);
        assert_eq!(policy(Urgency::Normal), ours);
    }

    #[test]
    fn a_thread_that_stands_behind_is_the_only_one() {
        let niceness = || rustix::process::getpriority_process(None).expect("a thread has one");
        let ours = niceness();
        for urgency in [Urgency::Behind, Urgency::BackgroundBehind] {
            let behind = std::thread::spawn(move || {
                urgency.apply();
                niceness()
            });
            assert_eq!(behind.join().expect("it does not panic"), (ours + BEHIND).min(19));
        }
        assert_eq!(niceness(), ours);
    }
}
