//! Removes deleted partitions from the checkpoint files of a log directory.
//!
//! The files name partitions by topic and number. A line that outlives its partition would be taken
//! for the next partition of that name: its recovery point and its log start would hide, or cost,
//! records. So the name is removed from the files before a directory of that name is made.

use aplomb_disk_api::{DiskError, FileName, PatientDisk, SmallFile};
use aplomb_model::TopicPartition;

use crate::checkpoint::{CheckpointError, encode_offsets, parse_offsets};
use crate::layout::top_level::{
    CLEANER_CHECKPOINT, LOG_START_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT,
};

/// The most that a checkpoint file may hold: a million partitions with long names.
pub(super) const LARGEST: usize = 512 << 20;

/// A checkpoint file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForgetError {
    /// The disk does not give it.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It is not as a checkpoint file should be.
    #[error("{file}: {error}")]
    Checkpoint {
        /// Which checkpoint file it is.
        file: FileName,
        /// What is wrong with it.
        error: CheckpointError,
    },
}

/// The checkpoint files of a log directory that name `deleted` partitions, without these, to be
/// published.
///
/// # Errors
/// [`ForgetError`]: a file cannot be read.
pub fn without(
    disk: &dyn PatientDisk,
    deleted: &dyn Fn(&TopicPartition) -> bool,
) -> Result<Vec<SmallFile>, ForgetError> {
    let mut changed = Vec::new();
    for name in [RECOVERY_POINT_CHECKPOINT, LOG_START_CHECKPOINT, REPLICATION_CHECKPOINT, CLEANER_CHECKPOINT]
    {
        let file = FileName::new(name);
        let bytes = match disk.read(&file, 0, LARGEST) {
            Ok(bytes) => bytes,
            Err(DiskError::NotFound { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        let offsets =
            parse_offsets(&bytes).map_err(|error| ForgetError::Checkpoint { file: file.clone(), error })?;
        if offsets.keys().any(deleted) {
            let others = offsets.iter().filter(|(partition, _)| !deleted(partition));
            let content = encode_offsets(others.map(|(partition, offset)| (partition, *offset)));
            changed.push(SmallFile { name: file, content: content.into() });
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::DiskIndex;
    use aplomb_disk_api::sim::{SimDisk, SimOptions};
    use aplomb_model::Offset;

    use super::*;

    #[test]
    fn only_files_that_name_deleted_partitions_are_written_again() {
        let disk = SimDisk::new(DiskIndex(0), SimOptions::default());
        let (deleted, kept) = (TopicPartition::new("orders", 0), TopicPartition::new("orders", 1));
        let file = |name, partitions: &[&TopicPartition]| SmallFile {
            name: FileName::new(name),
            content: encode_offsets(partitions.iter().map(|partition| (*partition, Offset::new(7)))).into(),
        };
        let before =
            [file(RECOVERY_POINT_CHECKPOINT, &[&deleted, &kept]), file(LOG_START_CHECKPOINT, &[&kept])];
        disk.publish(&before).expect("the disk is well");
        let changed = without(&disk, &|partition| *partition == deleted).expect("the files are well");
        assert_eq!(changed, [file(RECOVERY_POINT_CHECKPOINT, &[&kept])]);
    }
}
