//! How commands end.

use bytes::Bytes;

use crate::{DiskError, DiskIndex, JobOutcome};

/// Names a submitted command to its owner. Unique per queue handle; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A command's end. Every accepted command gets exactly one, even when its disk is lost.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The disk that was asked.
    pub disk: DiskIndex,
    /// What `try_submit` gave.
    pub ticket: Ticket,
    /// What came of it.
    pub result: Result<Done, DiskError>,
}

/// A command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Write, sync, publish, truncate, rename or delete: it is as asked.
    Nothing,
    /// The bytes that were there.
    Read(Bytes),
    /// The file system's size and what is free of it for us, in bytes.
    Space {
        /// Size.
        total: u64,
        /// Free to use.
        usable: u64,
    },
    /// What the job's last step gave.
    Job(JobOutcome),
}
