//! What a log directory says of itself: whether it was closed cleanly, and its checkpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_disk_api::{DiskError, DiskIndex, FileName, PatientDisk};
use aplomb_log::checkpoint::parse_offsets;
use aplomb_log::layout::top_level;
use aplomb_log::state_files::CleanShutdown;
use aplomb_model::{BrokerId, DirectoryId, Offset, TopicPartition};

use super::error::StartError;
use crate::metadata::MetadataImage;

/// The most that a checkpoint file may hold: a million partitions with long names.
const LARGEST: usize = 512 << 20;

/// A log directory before it is loaded.
#[derive(Clone)]
pub struct Directory {
    /// Its place in `log.dirs`.
    pub index: DiskIndex,
    /// Its id.
    pub id: DirectoryId,
    /// Its path, for messages.
    pub path: String,
    /// Its files.
    pub disk: Arc<dyn PatientDisk>,
}

/// What a log directory says of itself.
#[derive(Clone)]
pub struct Surveyed {
    /// The directory.
    pub directory: Directory,
    /// What its marker said, if it was closed cleanly.
    pub clean: Option<CleanShutdown>,
}

/// What a log directory's checkpoint files say.
pub(super) struct Offsets {
    pub(super) recovery_points: BTreeMap<TopicPartition, Offset>,
    pub(super) log_starts: BTreeMap<TopicPartition, Offset>,
    pub(super) cleaned: BTreeMap<TopicPartition, Offset>,
}

/// Reads a log directory's marker. It is deleted at once, so that a crash from here on counts as
/// unclean.
///
/// # Errors
/// When the disk fails.
pub fn survey(directory: Directory) -> Result<Surveyed, StartError> {
    let marker = FileName::new(top_level::CLEAN_SHUTDOWN);
    let clean = read(&directory, &marker)?.map(|bytes| CleanShutdown::parse(&bytes));
    if clean.is_some() {
        let removed = directory.disk.remove(&marker).and_then(|()| directory.disk.sync(&[marker]));
        removed.map_err(|error| StartError::Disk { path: directory.path.clone(), error })?;
    }
    Ok(Surveyed { directory, clean })
}

/// The log directories that may lack what was acknowledged, if no tail has it: those that were not
/// closed cleanly. None before the broker has registered: it has acknowledged nothing then.
#[must_use]
pub fn may_lack_records(surveyed: &[Surveyed], image: &MetadataImage, node: BrokerId) -> Vec<DirectoryId> {
    if image.brokers.get(node).is_none() {
        return Vec::new();
    }
    let unclean = surveyed.iter().filter(|surveyed| surveyed.clean.is_none());
    unclean.map(|surveyed| surveyed.directory.id).collect()
}

/// Reads a log directory's checkpoint files, when nothing will be written back from an old tail any
/// more: that makes them forget partitions.
pub(super) fn offsets(directory: &Directory) -> Result<Offsets, StartError> {
    let offsets = |name: &str| {
        let file = FileName::new(name);
        let bytes = read(directory, &file)?.unwrap_or_default();
        parse_offsets(&bytes).map_err(|error| StartError::File {
            path: directory.path.clone(),
            file,
            reason: error.to_string(),
        })
    };
    Ok(Offsets {
        recovery_points: offsets(top_level::RECOVERY_POINT_CHECKPOINT)?,
        log_starts: offsets(top_level::LOG_START_CHECKPOINT)?,
        cleaned: offsets(top_level::CLEANER_CHECKPOINT)?,
    })
}

/// A small file's content, if there is one.
pub(super) fn read(directory: &Directory, file: &FileName) -> Result<Option<bytes::Bytes>, StartError> {
    match directory.disk.read(file, 0, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(DiskError::NotFound { .. }) => Ok(None),
        Err(error) => Err(StartError::Disk { path: directory.path.clone(), error }),
    }
}
