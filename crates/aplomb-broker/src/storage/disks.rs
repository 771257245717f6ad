//! A shard's disks, by their index.

use aplomb_disk_api::{DiskCommand, DiskIndex};
use aplomb_model::{DirectoryId, Instant};

use super::disk::ShardDisk;
use super::purpose::Purpose;

/// A shard's part of every disk, in the order of their index, and the log directories that there
/// is no disk for.
pub(crate) struct Disks {
    disks: Vec<ShardDisk>,
    lost_at_start: Vec<String>,
}

/// What is known of a log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogDirFacts {
    pub(crate) path: String,
    pub(crate) online: bool,
    /// Size and usable bytes of its file system, once the disk has said.
    pub(crate) space: Option<(u64, u64)>,
}

impl Disks {
    pub(crate) fn new(disks: Vec<ShardDisk>, lost_at_start: Vec<String>) -> Self {
        for (n, disk) in disks.iter().enumerate() {
            assert_eq!(usize::from(disk.index().0), n, "disks are in the order of their index");
        }
        Self { disks, lost_at_start }
    }

    pub(crate) fn len(&self) -> usize {
        self.disks.len()
    }

    pub(crate) fn get(&self, disk: DiskIndex) -> &ShardDisk {
        &self.disks[usize::from(disk.0)]
    }

    pub(crate) fn get_mut(&mut self, disk: DiskIndex) -> &mut ShardDisk {
        &mut self.disks[usize::from(disk.0)]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ShardDisk> {
        self.disks.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ShardDisk> {
        self.disks.iter_mut()
    }

    pub(crate) fn is_lost(&self, disk: DiskIndex) -> bool {
        self.get(disk).is_lost()
    }

    /// Whether any log directory is lost, or was not there from the start.
    pub(crate) fn is_any_lost(&self) -> bool {
        !self.lost_at_start.is_empty() || self.disks.iter().any(ShardDisk::is_lost)
    }

    /// The disk of a log directory, if there is one.
    pub(crate) fn by_directory(&self, directory: DirectoryId) -> Option<&ShardDisk> {
        self.disks.iter().find(|disk| disk.directory() == directory)
    }

    /// The first disk that is not lost.
    pub(crate) fn first_online(&self) -> Option<&ShardDisk> {
        self.disks.iter().find(|disk| !disk.is_lost())
    }

    pub(crate) fn submit(&mut self, to: DiskIndex, command: DiskCommand, purpose: Purpose, now: Instant) {
        self.get_mut(to).submit(command, purpose, now);
    }

    /// All log directories that are configured: those with a disk in the order of their index, then
    /// the others.
    pub(crate) fn facts(&self) -> Vec<LogDirFacts> {
        let facts = |disk: &ShardDisk| LogDirFacts {
            path: disk.path().to_owned(),
            online: !disk.is_lost(),
            space: disk.space(),
        };
        let lost = |path: &String| LogDirFacts { path: path.clone(), online: false, space: None };
        self.disks.iter().map(facts).chain(self.lost_at_start.iter().map(lost)).collect()
    }
}
