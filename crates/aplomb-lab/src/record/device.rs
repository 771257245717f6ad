//! The disk that was disturbed, and how long its device took.

use serde::{Deserialize, Serialize};

/// The disk that was disturbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `xfs` or `ext4`.
    pub filesystem: String,
    /// The block device's name.
    pub device: String,
    /// What makes it slow: `device-mapper` or `fuse`, and what it carries if that is bounded.
    pub how: String,
}

/// The device's service times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Service times of reads.
    pub read: PhaseTimes,
    /// Service times of writes.
    pub write: PhaseTimes,
    /// Service times of cache flushes.
    pub flush: PhaseTimes,
}

/// One operation's service times by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Before the disturbance.
    pub calm: Vec<Bucket>,
    /// Operations that ended while the disk was disturbed.
    pub during: Vec<Bucket>,
    /// Operations that ended after the disturbance.
    pub after: Vec<Bucket>,
}

/// A bar of a histogram; bars come in rising order, and those without an operation may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Operations counted here took at most this long.
    pub up_to_us: u64,
    /// How many.
    pub count: u64,
}
