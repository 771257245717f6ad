//! What a log directory says of itself: whether it was closed cleanly, and its checkpoints.

use std::collections::BTreeMap;
use std::sync::Arc;

use aplomb_disk_api::{DiskError, DiskIndex, FileName, PatientDisk};
use aplomb_log::checkpoint::parse_offsets;
use aplomb_log::layout::top_level;
use aplomb_log::state_files::{CleanShutdown, ClosedLogs};
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
    /// What that stop noted of the logs, if it is believed.
    pub closed_logs: Option<Arc<ClosedLogs>>,
    /// Why it is not.
    pub remark: Option<String>,
}

/// What a log directory's checkpoint files say.
pub(super) struct Offsets {
    pub(super) recovery_points: BTreeMap<TopicPartition, Offset>,
    pub(super) log_starts: BTreeMap<TopicPartition, Offset>,
    pub(super) cleaned: BTreeMap<TopicPartition, Offset>,
}

/// Reads a log directory's marker, and what was noted with it. Both are deleted at once, so that a
/// crash from here on counts as unclean.
///
/// # Errors
/// When the disk fails.
pub fn survey(directory: Directory) -> Result<Surveyed, StartError> {
    let (marker, notes) = (FileName::new(top_level::CLEAN_SHUTDOWN), FileName::new(top_level::CLOSED_LOGS));
    let clean = read(&directory, &marker)?.map(|bytes| CleanShutdown::parse(&bytes));
    let noted = read(&directory, &notes)?;
    // The notes first: they are nothing without the marker.
    let found = [noted.is_some().then_some(notes), clean.is_some().then_some(marker)];
    let found: Vec<FileName> = found.into_iter().flatten().collect();
    if !found.is_empty() {
        let removed = found.iter().try_for_each(|name| directory.disk.remove(name));
        removed
            .and_then(|()| directory.disk.sync(&found))
            .map_err(|error| StartError::Disk { path: directory.path.clone(), error })?;
    }
    let (mut closed_logs, mut remark) = (None, None);
    // An epoch that was not held is written as -1.
    let epoch = clean.as_ref().and_then(|clean| clean.broker_epoch).filter(|epoch| *epoch >= 0);
    match noted.map(ClosedLogs::parse) {
        // Apache Kafka has run since, and has left its own marker and this file.
        Some(Ok(noted)) if epoch != Some(noted.broker_epoch()) => {}
        Some(Ok(noted)) => closed_logs = Some(Arc::new(noted)),
        Some(Err(error)) => {
            let (path, file) = (&directory.path, top_level::CLOSED_LOGS);
            remark = Some(format!("{path}/{file} is not believed: {error}; all logs are looked into"));
        }
        None => {}
    }
    Ok(Surveyed { directory, clean, closed_logs, remark })
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
