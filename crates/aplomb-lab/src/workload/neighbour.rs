//! Somebody else on the same filesystem, who keeps its journal committing: appends a little and
//! syncs, or makes an empty file, syncs and removes it.
//!
//! What has no data of its own gets further when the device is frozen: the commit begins at once,
//! and holds the blocks that others want to change.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Background, WorkloadError};

/// Bytes of an append.
const APPEND: usize = 4096;
/// From the end of one to the beginning of the next.
const PAUSE: Duration = Duration::from_millis(100);

/// What the neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// Appends 4 KiB and syncs.
    Appends,
    /// Makes an empty file, syncs and removes it.
    Marks,
}

/// Starts a neighbour with files of its own in `directory`. It counts its syncs.
pub(crate) fn start(directory: &Path, habit: Habit) -> Result<Background<u64>, WorkloadError> {
    let what = "the neighbour's file";
    let (path, mark) = (directory.join("neighbour"), directory.join("neighbour.mark"));
    let mut file = File::create(path).map_err(|error| WorkloadError::System { what, error })?;
    let mut turn = move || match habit {
        Habit::Appends => file.write_all(&[0; APPEND]).and_then(|()| file.sync_all()),
        Habit::Marks => {
            File::create(&mark).and_then(|file| file.sync_all()).and_then(|()| std::fs::remove_file(&mark))
        }
    };
    Background::start("neighbour", move |stop| {
        let mut syncs = 0;
        while !stop.load(Ordering::Relaxed) && turn().is_ok() {
            syncs += 1;
            std::thread::sleep(PAUSE);
        }
        syncs
    })
}
