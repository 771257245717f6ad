//! What kind of disk is wanted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

/// What kind of disk.
#[derive(Clone, Debug)]
pub struct DiskOptions {
    /// Letters, digits, `-` and `_`, at most 40.
    pub name: String,
    /// XFS needs 300 MiB at least.
    pub size_bytes: u64,
    /// What is made on it.
    pub filesystem: Filesystem,
    /// Where it is mounted: an empty directory, which is made if it is not there, and then goes
    /// with the disk. Without one it is a directory below `/run/aplomb-lab`.
    pub mount: Option<PathBuf>,
    /// Where the bytes are.
    pub backing: Backing,
    /// Whether the kernel sends flushes.
    pub cache: Cache,
    /// Bytes a second that the device reads and writes, all requests together; without it, as many
    /// as the machine has processor time for.
    pub bandwidth: Option<u64>,
    /// The process with which the disk goes; without one it stays until it is destroyed.
    pub owner: Option<u32>,
}

impl Default for DiskOptions {
    /// XFS of 2 GiB in memory, with a name that no other disk has, which goes with this process.
    fn default() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        Self {
            name: format!("lab-{process}-{}", MADE.fetch_add(1, Ordering::Relaxed)),
            size_bytes: 2 << 30,
            filesystem: Filesystem::Xfs,
            mount: None,
            backing: Backing::Memory,
            cache: Cache::WriteBack,
            bandwidth: None,
            owner: Some(process),
        }
    }
}

/// A filesystem of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filesystem {
    /// Made by `mkfs.xfs`.
    Xfs,
    /// Made by `mkfs.ext4`.
    Ext4,
}

impl Filesystem {
    /// `xfs` or `ext4`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Ext4 => "ext4",
        }
    }
}

/// Where a disk's bytes are. Either takes room for what is written only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backing {
    /// In memory: no other disk is felt, and nothing counts as dirty twice.
    Memory,
    /// In a file without a name in this directory, for disks that are larger than memory. How slow
    /// that is comes on top.
    Directory(PathBuf),
}

/// What the device says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// It has a cache that the kernel has to flush. A loop device takes nothing else while it
    /// flushes, so that a delay of flushes is one of reads and writes beside them too.
    WriteBack,
    /// What is written is safe: no flushes come. A sync takes as long as its writes, and requests
    /// stay independent.
    WriteThrough,
}
