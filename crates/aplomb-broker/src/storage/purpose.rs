//! Why a command was given to a disk.

use std::time::Duration;

use aplomb_disk_api::{DiskError, FileName};
use aplomb_model::{Offset, TopicPartition};

use crate::calls::PartitionKey;

/// Why a command was given: who goes on when it ends.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// Bytes of a segment or an index. The sync behind it says when they are safe.
    Write,
    /// The sync of a round.
    Sync,
    /// The small files of a round's checkpoint.
    Checkpoint,
    /// The log directory's checkpoint files.
    Offsets,
    /// A step of a cold read.
    Cold(u64),
    /// The last entry of a time index, for retention.
    TimeEntry { key: PartitionKey, base: Offset, residence: u32 },
    /// The header of a segment's first batch, for compaction.
    FirstBatch { key: PartitionKey, base: Offset, residence: u32 },
    /// A job of a pass of compaction.
    Compaction { number: u64 },
    /// A rename that takes something out of its log, or a log out of its directory. It is deleted
    /// by its new name after the delay. `of`: the partition whose directory it was.
    DeleteLater {
        name: FileName,
        directory: bool,
        after: Duration,
        of: Option<(PartitionKey, TopicPartition)>,
    },
    /// The last sync of a partition that is deleted. Its directory is renamed then.
    LastSync { key: PartitionKey },
    /// Logs are loaded: the job's number.
    Load { job: u64 },
    /// A step of a future replica; `puts_there`: one that writes, syncs or names it.
    Future { key: PartitionKey, number: u64, puts_there: bool },
    /// A snapshot of the metadata.
    Snapshot,
    /// How much room there is.
    Space,
    /// Nothing goes on.
    Chore,
    /// The clean shutdown marker.
    CleanShutdownMarker,
}

impl Purpose {
    /// Whether the error says that something is gone that this broker has and did not take away, so
    /// that the log directory is not what it was taken for. What is only looked for, or is deleted,
    /// may be gone.
    pub(crate) fn must_find(&self, error: &DiskError) -> bool {
        let is_ours = matches!(
            self,
            Self::Write
                | Self::Sync
                | Self::Checkpoint
                | Self::Offsets
                | Self::Load { .. }
                | Self::Future { puts_there: true, .. }
                | Self::Snapshot
                | Self::CleanShutdownMarker
        );
        is_ours && matches!(error, DiskError::NotFound { .. })
    }
}
