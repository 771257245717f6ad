//! How often a thread has waited, as the kernel counts it: a thread that sleeps in a call gives its
//! processor up by itself, one that has used up its time does not.
#![expect(unsafe_code, reason = "a thread's usage has no safe wrapper")]

/// How often the calling thread has gone to sleep in the kernel since it began: its voluntary
/// context switches (getrusage(2), `RUSAGE_THREAD`).
pub(crate) fn count() -> i64 {
    // SAFETY: all zeros are a valid usage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to `usage`, which outlives the call.
    let got = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    assert_eq!(got, 0, "the kernel knows the calling thread");
    usage.ru_nvcsw
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sleep_counts_and_work_does_not() {
        let before = count();
        std::thread::sleep(Duration::from_millis(1));
        assert!(count() > before);
        // Work is never a wait, but what the machine does in between may be one.
        let waited = (0..100).filter(|_| {
            let before = count();
            std::hint::black_box((0..1000_u64).sum::<u64>());
            count() > before
        });
        assert!(waited.count() < 100);
    }
}
