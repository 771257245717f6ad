//! Threads, what they are there for, and where they waited.

use serde::{Deserialize, Serialize};

use super::trace::Waker;

/// What a thread is there for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It answers requests: Apache Kafka's request handlers and coordinators, Aplomb's shards.
    Request,
    /// It reads and writes sockets, and answers nothing itself.
    Network,
    /// It fetches from other brokers.
    Replica,
    /// It is there to wait for disks: schedulers, cleaners, recovery, Aplomb's disk threads.
    Disk,
    /// It belongs to the JVM's collector or its safepoints.
    Collector,
    /// A compiler of the JVM, or another of its own threads.
    Machinery,
    /// A thread of the kernel: a journal, writeback, a loop device.
    Kernel,
    /// A thread of another process on the same machine.
    Neighbour,
    /// Anything else of the process.
    #[default]
    Other,
}

impl Role {
    /// Whether a client waits when this thread does.
    #[must_use]
    pub const fn carries_requests(self) -> bool {
        matches!(self, Self::Request | Self::Network)
    }
}

/// A thread, and how it fared with processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// The kernel's number of it.
    pub tid: u32,
    /// Its name: whole where a JVM has told it, else the kernel's fifteen bytes.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// Processor time and waits for a processor, by row of [`super::Recording::host`]; without the
    /// last rows for a thread that ended before them, and empty where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<Usage>,
}

/// How a thread fared with processors since the row before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// How long it ran.
    pub ran_ms: f64,
    /// It could have run and had no processor.
    pub runnable_ms: f64,
    /// How often it was given one; 0 in recordings of before 2026-11-27, too.
    pub turns: u64,
}

/// A time for which a thread waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Who waited.
    pub tid: u32,
    /// When it was first seen so, or, with [`Sighting::Exact`], began.
    pub from_ms: f64,
    /// When it was over, at the latest.
    pub to_ms: f64,
    /// How it is known.
    pub sighting: Sighting,
    /// What it waited in.
    pub class: WaitClass,
    /// The system call, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// The kernel's functions, the innermost first; one symbol where only that may be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
    /// Frames of the program, the innermost first: `org.apache.kafka…UnifiedLog.append`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
    /// Threads that held what it waited for, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<u32>,
    /// Whether the holders are known (an owner, one file) and not only likely (at the same time).
    #[serde(default)]
    pub holders_known: bool,
    /// What ended it, where that was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_by: Option<Waker>,
}

/// How a wait is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sighting {
    /// Beginning and end were recorded.
    Exact,
    /// So many looks in a row found it, and it did not run in between: one wait.
    One {
        /// How many.
        looks: u64,
    },
    /// So many looks in a row found it in the same place, and it ran in between: several waits.
    Several {
        /// How many looks.
        looks: u64,
    },
    /// A profiler that cannot see sleeping threads saw nothing of it for so long.
    Gap,
}

/// What a thread waited in. Colours of the picture, and the first thing a rule asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitClass {
    /// A file's lock in the kernel.
    Inode,
    /// A page of a file: read by a call, sent from, or its writeback.
    Page,
    /// A page of a mapped file, or one that was swapped out: no call, a fault.
    Fault,
    /// A filesystem's journal.
    Journal,
    /// A sync of a file or directory.
    Sync,
    /// The limit of dirty pages.
    DirtyLimit,
    /// Memory that has to be freed first.
    Reclaim,
    /// Metadata of a filesystem: inodes, directories, extents.
    Metadata,
    /// A device, by a thread of the kernel.
    Device,
    /// A lock or monitor of the program.
    Lock,
    /// A safepoint of the JVM.
    Safepoint,
    /// A socket: a peer that does not read, or does not answer.
    Socket,
    /// Something else in the kernel.
    Other,
}

/// A system call that a thread was in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// Its name, `pwrite64`; `fault` where a thread was outside of any.
    pub name: String,
    /// The file, where the call has one that could be resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The same for comparing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
    /// Of a segment's file: whether it is the partition's last, which is appended to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_segment: Option<bool>,
}

/// A file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// The filesystem's device number.
    pub device: u64,
    /// The inode's number.
    pub inode: u64,
}
