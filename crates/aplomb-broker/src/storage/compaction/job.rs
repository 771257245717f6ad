//! What a disk's threads do for a pass.

use aplomb_disk_api::{DiskError, DiskJob, FileName, JobStep, PatientDisk};
use aplomb_log::compaction::{Pass, PassFailed, PassStep, cleaned_files, finish_swap};
use aplomb_model::Offset;

/// Takes a pass some megabytes on.
pub(super) struct PassJob {
    pass: Option<Box<Pass>>,
    moved: u64,
    most: u64,
}

/// How far the pass has come.
pub(super) struct PassOutcome {
    pub(super) pass: Box<Pass>,
    pub(super) end: Result<PassStep, PassFailed>,
    /// Bytes that were read and written.
    pub(super) moved: u64,
}

impl PassJob {
    /// A job of about `most` bytes.
    pub(super) fn new(pass: Box<Pass>, most: u64) -> Self {
        Self { pass: Some(pass), moved: 0, most }
    }
}

/// Takes away what a pass was writing. Here, and not by a command: the next pass may write to the
/// same names.
fn discard(pass: &Pass, disk: &dyn PatientDisk) -> Result<(), DiskError> {
    let Some(base) = pass.writes() else { return Ok(()) };
    for file in cleaned_files(pass.directory(), base) {
        match disk.remove(&file) {
            Err(error) if error.is_loss() => return Err(error),
            // What stays, the next pass or the next start takes away.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Takes away what a pass was writing that is not wanted any more.
pub(super) struct DiscardJob(pub(super) Box<Pass>);

impl DiskJob for DiscardJob {
    fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError> {
        discard(&self.0, disk).map(|()| JobStep::done(()))
    }
}

impl DiskJob for PassJob {
    fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError> {
        let mut pass = self.pass.take().expect("a job that has ended has no step");
        let end = pass.step(disk);
        match &end {
            Ok(PassStep::Again(bytes) | PassStep::Group(_, bytes)) => self.moved += bytes,
            Ok(PassStep::Done(_)) | Err(PassFailed::Unreadable { .. }) => {}
            Err(PassFailed::Disk(error)) if error.is_loss() => return Err(error.clone()),
            Err(PassFailed::Disk(_)) => {}
        }
        if end.is_err() {
            discard(&pass, disk)?;
        }
        if matches!(end, Ok(PassStep::Again(_))) && self.moved < self.most {
            self.pass = Some(pass);
            return Ok(JobStep::Again);
        }
        Ok(JobStep::done(PassOutcome { pass, end, moved: self.moved }))
    }
}

/// Gives a group's files their names.
pub(super) struct SwapJob {
    pub(super) directory: String,
    pub(super) sources: Vec<Offset>,
    pub(super) base: Offset,
}

/// The files that are to be deleted, or why the names are not given yet.
pub(super) struct SwapOutcome(pub(super) Result<Vec<FileName>, DiskError>);

impl DiskJob for SwapJob {
    fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError> {
        match finish_swap(disk, &self.directory, &self.sources, self.base) {
            Err(error) if error.is_loss() => Err(error),
            ended => Ok(JobStep::done(SwapOutcome(ended))),
        }
    }
}
