//! A log that is being loaded: what was asked for, what was found, and what has come of it so far.

use std::collections::VecDeque;
use std::sync::Arc;

use aplomb_disk_api::{DiskError, FileName, PatientDisk};
use aplomb_model::{Offset, PartitionIndex, Timestamp, TopicId};

use super::found::FoundFiles;
use super::start::{Believe, resume_from};
use crate::config::LogConfig;
use crate::epochs::LeaderEpochs;
use crate::index::ResumeFrom;
use crate::layout::{LEADER_EPOCH_CHECKPOINT, SegmentFile};
use crate::segments::Segment;
use crate::tail::TailShare;

/// What is known of a partition before its files are looked at.
#[derive(Clone, Debug)]
pub struct LoadRequest {
    /// The name of the partition's directory in its log directory.
    pub directory: String,
    /// Whose log it is, with the partition's number.
    pub topic: TopicId,
    /// The partition's number in its topic.
    pub partition: PartitionIndex,
    /// What the topic's settings mean to a log.
    pub config: Arc<LogConfig>,
    /// Whether the log directory was closed cleanly.
    pub clean: bool,
    /// What the checkpoint file says; zero if it does not name the partition.
    pub recovery_point: Offset,
    /// What the checkpoint file says; zero if it does not name the partition.
    pub log_start: Offset,
    /// What the cleaner's checkpoint file says, if it names the partition.
    pub cleaned: Option<Offset>,
    /// `None`: the leader is the only replica, and has all of the log.
    pub high_watermark: Option<Offset>,
    /// Where the log's tail takes its memory.
    pub share: Arc<TailShare>,
    /// The time, by the wall clock.
    pub now: Timestamp,
}

/// What loading a log took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes of `.log` files that were read.
    pub bytes_read: u64,
    /// Nothing was looked for in the files: a clean stop had noted what they hold.
    pub noted: bool,
    /// Things worth a line in the broker's log.
    pub remarks: Vec<String>,
}

/// Why there is no log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The disk has failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file that cannot be replaced by looking at others.
    #[error("{file} cannot be read: {reason}")]
    Unreadable {
        /// Which file it is.
        file: FileName,
        /// What is wrong with it.
        reason: String,
    },
}

/// A log that is being loaded.
pub(super) struct Loader<'a> {
    pub(super) disk: &'a dyn PatientDisk,
    pub(super) request: &'a LoadRequest,
    pub(super) found: FoundFiles,
    pub(super) report: &'a mut LoadReport,
    pub(super) epochs: LeaderEpochs,
    pub(super) epochs_changed: bool,
    pub(super) closed: VecDeque<Segment>,
    pub(super) touched_logs: Vec<Offset>,
    pub(super) touched_indexes: Vec<(Offset, SegmentFile)>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(
        disk: &'a dyn PatientDisk,
        request: &'a LoadRequest,
        found: FoundFiles,
        report: &'a mut LoadReport,
    ) -> Result<Self, LoadError> {
        let mut epochs = LeaderEpochs::default();
        let mut epochs_changed = false;
        if let Some(len) = found.epochs {
            let file = FileName::new(format!("{}/{LEADER_EPOCH_CHECKPOINT}", request.directory));
            let text = disk.read(&file, 0, usize::try_from(len).unwrap_or(usize::MAX))?;
            match LeaderEpochs::parse(&text) {
                Ok(parsed) => epochs = parsed,
                // Torn by a power cut of a broker that did not sync it: batches carry their epochs
                // as well.
                Err(_) if text.is_empty() => epochs_changed = true,
                Err(error) => return Err(LoadError::Unreadable { file, reason: error.to_string() }),
            }
        }
        Ok(Self {
            disk,
            request,
            found,
            report,
            epochs,
            epochs_changed,
            closed: VecDeque::new(),
            touched_logs: Vec::new(),
            touched_indexes: Vec::new(),
        })
    }

    pub(super) fn resume(&self, base: Offset, believe: Believe) -> Result<ResumeFrom, LoadError> {
        let file = |kind| self.file(kind, base);
        Ok(resume_from(self.disk, &file, base, &self.found.segments[&base], believe)?)
    }

    pub(super) fn file(&self, kind: SegmentFile, base: Offset) -> FileName {
        kind.within(&self.request.directory, base)
    }
}
