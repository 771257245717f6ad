//! Programs beside the broker that want the processors, all the time and with the broker's own
//! priority.
//!
//! They are threads of the lab's: so they end with it, in whichever way it ends.

use std::hint::black_box;
use std::sync::atomic::Ordering;

use super::{Background, WorkloadError};

/// What is done between two looks whether it is to end: less than a millisecond.
const TURN: u64 = 100_000;

/// Starts so many for each processor.
///
/// # Errors
/// When there is no thread for it.
pub(crate) fn start(for_each_processor: usize) -> Result<Vec<Background<u64>>, WorkloadError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        Background::start("busy", |stop| {
            let mut turns = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                (0..TURN).for_each(|step| turns = black_box(turns.wrapping_add(step)));
            }
            turns
        })
    };
    (0..processors * for_each_processor).map(|_| one()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_work_until_they_are_told_to_end() {
        let busy = start(1).expect("threads");
        assert!(!busy.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(busy.into_iter().map(Background::finish).any(|turns| turns > 0));
    }
}
