//! Little room for a process's page cache: a memory control group whose limit is what the process
//! itself takes, and so many bytes more.
//!
//! What always holds: the limit rises with the process's own memory, at once, and never falls. So
//! what is short is the page cache, by the same bytes for a JVM with its heap as for a process
//! without one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::memory_group::GroupUsage;
use super::{ConditionError, MemoryGroup};

/// How often is looked whether the process itself has grown. A JVM can take more than the room
/// between two looks, and waits until the next.
const INTERVAL: Duration = Duration::from_millis(10);

/// A process with little room for its page cache, until this is dropped.
#[derive(Debug)]
pub(crate) struct Squeeze {
    stop: Arc<AtomicBool>,
    keeper: Option<JoinHandle<()>>,
}

impl Squeeze {
    /// Leaves a process `room` bytes for pages of files that it reads and writes from now on.
    ///
    /// # Errors
    /// When the machine has no memory control groups, without root, or when the process has gone.
    pub(crate) fn around(pid: u32, room: u64) -> Result<Self, ConditionError> {
        let group = MemoryGroup::around(pid)?;
        let mut limit = wanted(group.held()?, room);
        group.set_limit(limit)?;
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let keep = move || {
            while !theirs.load(Ordering::Relaxed) {
                thread::sleep(INTERVAL);
                // A group that has gone needs no limit.
                let Ok(held) = group.held() else { return };
                if wanted(held, room) > limit {
                    limit = wanted(held, room);
                    let _ = group.set_limit(limit);
                }
            }
        };
        let keeper = thread::Builder::new().name("lab-squeeze".to_owned()).spawn(keep);
        let keeper = keeper.map_err(ConditionError::new("a thread that keeps a limit"))?;
        Ok(Self { stop, keeper: Some(keeper) })
    }
}

impl Drop for Squeeze {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(keeper) = self.keeper.take() {
            // The group goes with the thread; one that has panicked has let go of it too.
            let _ = keeper.join();
        }
    }
}

/// The limit that leaves `room` for pages.
fn wanted(held: GroupUsage, room: u64) -> u64 {
    held.all.saturating_sub(held.pages) + room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_follows_what_is_no_page_of_a_file() {
        assert_eq!(wanted(GroupUsage { all: 0, pages: 0 }, 8), 8);
        assert_eq!(wanted(GroupUsage { all: 100, pages: 30 }, 8), 78);
        // The kernel's two figures are not of the same moment.
        assert_eq!(wanted(GroupUsage { all: 20, pages: 30 }, 8), 8);
    }
}
