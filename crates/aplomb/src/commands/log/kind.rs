//! What a file of a log directory is, by its name.

use std::path::Path;

use aplomb_log::layout::top_level::{
    BOOTSTRAP_CHECKPOINT, CLEAN_SHUTDOWN, CLEANER_CHECKPOINT, CLUSTER_METADATA_DIR, LOG_START_CHECKPOINT,
    META_PROPERTIES, QUORUM_STATE, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT,
};
use aplomb_log::layout::{LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, SegmentFile};
use aplomb_model::Offset;

/// The checkpoints with an offset for each partition.
pub(super) const OFFSET_CHECKPOINTS: [&str; 4] =
    [RECOVERY_POINT_CHECKPOINT, LOG_START_CHECKPOINT, REPLICATION_CHECKPOINT, CLEANER_CHECKPOINT];

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Record batches; of the metadata log or of a snapshot of it where `metadata` says so.
    Batches { metadata: bool },
    /// The index by offset of the segment that begins there.
    OffsetIndex(Offset),
    /// The index by time of the segment that begins there.
    TimeIndex(Offset),
    /// The aborted transactions of the segment that begins there.
    TxnIndex(Offset),
    /// Producers.
    Producers,
    /// Leader epochs.
    Epochs,
    /// An offset for each partition.
    Offsets,
    /// A topic's id.
    PartitionMetadata,
    /// Whose directory it is.
    MetaProperties,
    /// A voter's memory.
    QuorumState,
    /// The mark of a clean stop.
    CleanShutdown,
}

impl Kind {
    /// Says what the file at `path` is; `None` if it is no file of a log. Files that wait to be
    /// deleted or to take another's place are what they would be without that.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if let Some((file, base, _)) = SegmentFile::parse(name) {
            return Some(match file {
                SegmentFile::Log => Self::Batches { metadata: is_in_metadata_log(path) },
                SegmentFile::OffsetIndex => Self::OffsetIndex(base),
                SegmentFile::TimeIndex => Self::TimeIndex(base),
                SegmentFile::TxnIndex => Self::TxnIndex(base),
                SegmentFile::Snapshot => Self::Producers,
            });
        }
        match name {
            LEADER_EPOCH_CHECKPOINT => Some(Self::Epochs),
            PARTITION_METADATA => Some(Self::PartitionMetadata),
            META_PROPERTIES => Some(Self::MetaProperties),
            QUORUM_STATE => Some(Self::QuorumState),
            CLEAN_SHUTDOWN => Some(Self::CleanShutdown),
            BOOTSTRAP_CHECKPOINT => Some(Self::Batches { metadata: true }),
            _ if OFFSET_CHECKPOINTS.contains(&name) => Some(Self::Offsets),
            _ if is_metadata_snapshot(name) => Some(Self::Batches { metadata: true }),
            _ => None,
        }
    }
}

fn is_in_metadata_log(path: &Path) -> bool {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.parent().and_then(Path::file_name).is_some_and(|name| name == CLUSTER_METADATA_DIR)
}

/// `<offset in 20 digits>-<epoch in 10>.checkpoint` (`org.apache.kafka.server.common.Snapshots`).
pub(super) fn is_metadata_snapshot(name: &str) -> bool {
    let id = name.strip_suffix(".checkpoint").and_then(|id| id.split_once('-'));
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    id.is_some_and(|(offset, epoch)| digits(offset, 20) && digits(epoch, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_name_says() {
        let of = |path: &str| Kind::of(Path::new(path));
        let base = Offset::new(7);
        assert_eq!(of("t-0/00000000000000000007.log"), Some(Kind::Batches { metadata: false }));
        assert_eq!(
            of("d/__cluster_metadata-0/00000000000000000007.log"),
            Some(Kind::Batches { metadata: true })
        );
        assert_eq!(of("00000000000000000007-0000000001.checkpoint"), Some(Kind::Batches { metadata: true }));
        assert_eq!(of("00000000000000000007.index.deleted"), Some(Kind::OffsetIndex(base)));
        assert_eq!(of("00000000000000000007.txnindex"), Some(Kind::TxnIndex(base)));
        assert_eq!(of("recovery-point-offset-checkpoint"), Some(Kind::Offsets));
        assert_eq!(of("7.log"), None);
        assert_eq!(of("notes.txt"), None);
    }
}
