//! Wakes sleeping threads without a lock, so that a thread that rings waits for none that sleeps,
//! not even for one that lost its processor on its way to sleep.
//!
//! A thread looks at the bell, then at what the bell announces, and sleeps if there is nothing; it
//! sleeps only if the bell has not rung since the look. Threads may wake for nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

/// The bell, silent at first.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    rung: AtomicU32,
    sleepers: AtomicU32,
}

/// What a look at the bell found: how often it had rung.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rung(u32);

impl Bell {
    /// To be called before looking at what the bell announces.
    pub(crate) fn look(&self) -> Rung {
        Rung(self.rung.load(Ordering::SeqCst))
    }

    /// Sleeps until the bell rings, or not at all if it has rung since the look.
    pub(crate) fn sleep(&self, Rung(before): Rung) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // It has rung meanwhile, or a signal came: either way the caller looks again.
        let _ = futex::wait(&self.rung, Flags::PRIVATE, before, None);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Wakes one thread.
    pub(crate) fn ring_one(&self) {
        self.ring(1);
    }

    /// Wakes all threads.
    pub(crate) fn ring_all(&self) {
        self.ring(i32::MAX.unsigned_abs());
    }

    fn ring(&self, threads: u32) {
        // A thread that this load misses counts itself later, and so finds that the bell has rung.
        self.rung.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // The address is good, so there is no error to speak of.
            let _ = futex::wake(&self.rung, Flags::PRIVATE, threads);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn a_ring_between_look_and_sleep_is_not_missed() {
        let bell = Bell::default();
        let look = bell.look();
        bell.ring_one();
        bell.sleep(look);
    }

    #[test]
    fn nothing_announced_is_left_asleep() {
        const EACH: u64 = 50_000;
        let (bell, there) = (Bell::default(), AtomicU64::new(0));
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..EACH {
                        there.fetch_add(1, Ordering::SeqCst);
                        bell.ring_one();
                    }
                });
                threads.spawn(|| {
                    for _ in 0..EACH {
                        loop {
                            let look = bell.look();
                            let taken = there
                                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |some| some.checked_sub(1));
                            if taken.is_ok() {
                                break;
                            }
                            bell.sleep(look);
                        }
                    }
                });
            }
        });
        assert_eq!(there.into_inner(), 0);
    }
}
