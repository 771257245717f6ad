//! Somebody else on the same filesystem: appends a little and syncs, again and again, which keeps the journal committing.

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

/// A neighbour that appends and syncs.
#[derive(Debug)]
pub struct Neighbour {
    thread: Background<u64>,
}

impl Neighbour {
    /// Starts to append to a file of its own in `directory`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn start(directory: &Path) -> Result<Self, WorkloadError> {
        let what = "the neighbour's file";
        let path = directory.join("neighbour");
        let mut file = File::create(path).map_err(|error| WorkloadError::System { what, error })?;
        let thread = Background::start("neighbour", move |stop| {
            let mut syncs = 0;
            while !stop.load(Ordering::Relaxed) {
                if file.write_all(&[0; APPEND]).and_then(|()| file.sync_all()).is_err() {
                    break;
                }
                syncs += 1;
                std::thread::sleep(PAUSE);
            }
            syncs
        })?;
        Ok(Self { thread })
    }

    /// Tells it to end, without waiting.
    pub fn tell(&self) {
        self.thread.tell();
    }

    /// Ends it, when the disk has answered. Returns how often it has synced.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.thread.tell();
        self.thread.wait()
    }
}
