//! What a disk thread does when the process has run out of descriptors, or the machine of memory.
//!
//! That is no fault of the disk, so the disk is never lost by it. The threads whose commands have
//! to be carried out in their order wait until the shortage is over: their lane stalls, its age
//! shows it, and nothing is done out of turn. Everything else waits briefly and then reports
//! [`DiskError::Shortage`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aplomb_disk_api::DiskError;

use crate::lanes::Lanes;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Attempts of a thread that does not wait for the end of a shortage.
const ATTEMPTS: u32 = 20;

/// How long a thread waits for the end of a shortage.
#[derive(Clone)]
pub(crate) enum Endurance {
    /// Not at all, since it has something else to do first.
    None,
    /// A second.
    Briefly,
    /// As long as the disk is in use: until it is lost, or its engine stops.
    Endless(Endless),
}

/// A thread that carries out commands in their order.
#[derive(Clone)]
pub(crate) struct Endless {
    lanes: Arc<Lanes>,
    /// It waits no longer: the engine stops. Nothing of its lane is carried out any more.
    gave_up: Arc<AtomicBool>,
}

impl Endurance {
    /// Of one thread that carries out commands in their order.
    pub(crate) fn endless(lanes: &Arc<Lanes>) -> Self {
        Self::Endless(Endless { lanes: Arc::clone(lanes), gave_up: Arc::default() })
    }

    /// Waits for another attempt; `false` if there is to be none.
    pub(crate) fn waits(&self, attempt: u32) -> bool {
        let goes_on = match self {
            Self::None => false,
            Self::Briefly => attempt < ATTEMPTS,
            Self::Endless(thread) => thread.goes_on(),
        };
        if goes_on {
            thread::sleep(PAUSE);
        }
        goes_on
    }

    /// Whether a command was given up, so that none after it may be carried out.
    pub(crate) fn gave_up(&self) -> bool {
        match self {
            Self::None | Self::Briefly => false,
            Self::Endless(thread) => thread.gave_up.load(Ordering::Relaxed),
        }
    }

    /// The error of a thread that waits no longer.
    pub(crate) fn error(&self, what: &str, name: &str, error: &io::Error) -> DiskError {
        match self {
            Self::None | Self::Briefly => DiskError::Shortage {
                what: format!("{what} {name}").into(),
                reason: error.to_string().into(),
            },
            Self::Endless(_) => DiskError::Offline,
        }
    }
}

impl Endless {
    fn goes_on(&self) -> bool {
        let goes_on = self.lanes.lost().is_none() && !self.lanes.is_closed();
        if !goes_on {
            self.gave_up.store(true, Ordering::Relaxed); // read by the same thread
        }
        goes_on
    }
}

impl std::fmt::Debug for Endurance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Briefly => "Briefly",
            Self::Endless(_) => "Endless",
        })
    }
}
