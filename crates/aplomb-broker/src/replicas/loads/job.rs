//! What a disk's thread does to load logs: several of them a job, one after the other.

use aplomb_disk_api::{DiskError, DiskJob, FileName, JobStep, PatientDisk};
use aplomb_log::layout::PARTITION_METADATA;
use aplomb_log::recovery::{LoadError, LoadRequest, LoadedLog, load, load_closed};
use aplomb_log::state_files::{ClosedLogNote, PartitionMetadata};

/// Logs that are loaded in one step: on a disk that has everything in memory a third of a
/// millisecond.
const A_STEP: usize = 8;

/// Bytes of a `partition.metadata`; one that is larger is none.
const LARGEST_METADATA: usize = 4096;

/// What a directory turned out to be.
pub(super) enum SourceFound {
    Log(Box<LoadedLog>),
    /// Of another topic, and put aside.
    Stray,
}

/// A directory to be looked at.
pub(super) struct Candidate {
    pub(super) request: LoadRequest,
    /// The directory's name if it turns out to be another topic's; `None` if it is known to be this
    /// one's.
    pub(super) aside: Option<FileName>,
    /// It is the partition's only one.
    pub(super) is_alone: bool,
    /// What a clean stop noted of the log.
    pub(super) note: Option<ClosedLogNote>,
}

/// What came of all directories of a job, in their order; or why the broker cannot go on.
pub(super) type Outcome = Result<Vec<SourceFound>, LoadError>;

/// A job that ends with its [`Outcome`], or with the first error of the disk, which is lost then.
pub(super) fn job(candidates: Vec<Candidate>) -> Box<dyn DiskJob> {
    let mut found = Vec::with_capacity(candidates.len());
    Box::new(move |disk: &dyn PatientDisk| {
        let rest = &candidates[found.len()..];
        for next in rest.iter().take(A_STEP) {
            match find(disk, next) {
                Ok(one) => found.push(one),
                // The call that met it has waited for a while.
                Err(LoadError::Disk(DiskError::Shortage { .. })) => return Ok(JobStep::Again),
                Err(LoadError::Disk(error)) => return Err(error),
                Err(error) => return Ok(JobStep::done(Outcome::Err(error))),
            }
        }
        if found.len() < candidates.len() {
            return Ok(JobStep::Again);
        }
        Ok(JobStep::done(Outcome::Ok(std::mem::take(&mut found))))
    })
}

fn find(disk: &dyn PatientDisk, candidate: &Candidate) -> Result<SourceFound, LoadError> {
    let Candidate { request, aside, is_alone, note } = candidate;
    if let Some(note) = note
        && let Some(loaded) = load_closed(disk, request, note)?
    {
        return Ok(SourceFound::Log(Box::new(loaded)));
    }
    if let Some(aside) = aside
        && !is_of_topic(disk, request)?
    {
        match disk.rename(&FileName::new(request.directory.as_str()), aside) {
            // An attempt before, which a shortage ended, may have got as far as that.
            Err(missing @ DiskError::NotFound { .. }) => match disk.list(Some(aside)) {
                Err(DiskError::NotFound { .. }) => return Err(missing.into()),
                // This one may end in a shortage as well.
                listed => drop(listed?),
            },
            renamed => renamed?,
        }
        return Ok(SourceFound::Stray);
    }
    let loaded = load(disk, request)?;
    if !is_alone {
        let entries = disk.list(Some(&FileName::new(request.directory.as_str())))?;
        let file = |name: &str| FileName::new(format!("{}/{name}", request.directory));
        disk.sync(&entries.iter().map(|entry| file(&entry.name)).collect::<Vec<_>>())?;
    }
    Ok(SourceFound::Log(Box::new(loaded)))
}

/// Whether the directory says that it is of the topic with this id. One that does not say of which
/// it is belongs to none.
fn is_of_topic(disk: &dyn PatientDisk, request: &LoadRequest) -> Result<bool, LoadError> {
    let file = FileName::new(format!("{}/{PARTITION_METADATA}", request.directory));
    let bytes = match disk.read(&file, 0, LARGEST_METADATA) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match PartitionMetadata::parse(&bytes) {
        Ok(found) => Ok(found.topic_id == request.topic),
        Err(error) => Err(LoadError::Unreadable { file, reason: error.to_string() }),
    }
}
