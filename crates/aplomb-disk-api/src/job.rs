//! Work on a disk's own threads, with the disk that may wait.
//!
//! A command is one thing that a disk does. A job reads, decides and writes: it loads a log, cuts
//! one, rewrites a segment. It is handed over and completed as a command is, in a lane of its own
//! ([`crate::Lane::Job`]), and a thread of the disk carries it out from its first step to its last.
//! Jobs begin in the order of their submission, on as many threads as the disk has for them; who
//! wants others to get in between makes several jobs of a long one.
//!
//! Always holds:
//! - A job ends once: with its outcome, with the error that it returned, or `Offline` when the disk
//!   is lost or stops before its last step. What its steps have done by then stays done, so the
//!   files must make sense after every call, as they must for a crash.
//! - An I/O error that a call of a job meets loses the disk, whatever the job makes of it.
//! - A step that panics is a mistake in the job. The program aborts on every panic and says where
//!   it was; without that, the job's disk is lost and the job ends with the panic's words.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::{DiskError, PatientDisk};

/// A piece of work for a disk's own threads.
pub trait DiskJob: Send {
    /// Does a part of the work that takes a healthy disk some milliseconds. The disk notices
    /// between two steps that it was lost or is to stop, and so do the calls of a step: they end
    /// `Offline`.
    ///
    /// # Errors
    /// The job ends with the error.
    fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError>;
}

impl<F> DiskJob for F
where
    F: FnMut(&dyn PatientDisk) -> Result<JobStep, DiskError> + Send,
{
    fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError> {
        self(disk)
    }
}

impl fmt::Debug for dyn DiskJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiskJob")
    }
}

/// How a step of a job ended.
#[derive(Debug)]
pub enum JobStep {
    /// There is more to do.
    Again,
    /// It was the last one.
    Done(JobOutcome),
}

impl JobStep {
    /// The last step, with what came of the job.
    #[must_use]
    pub fn done(outcome: impl Any + Send) -> Self {
        Self::Done(JobOutcome::new(outcome))
    }
}

/// What came of a job: a value whose type its owner knows. Clones share the value.
#[derive(Clone)]
pub struct JobOutcome(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl JobOutcome {
    /// Wraps the value.
    #[must_use]
    pub fn new(value: impl Any + Send) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(value)))))
    }

    /// The value. `None` if it was taken before or is of another type; then it stays where it is.
    #[must_use]
    pub fn take<T: Any>(&self) -> Option<T> {
        let mut value = self.0.lock().expect("nothing in here panics");
        match value.take()?.downcast() {
            Ok(found) => Some(*found),
            Err(other) => {
                *value = Some(other);
                None
            }
        }
    }
}

impl fmt::Debug for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JobOutcome")
    }
}

/// Two are equal if they share the value.
impl PartialEq for JobOutcome {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for JobOutcome {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_taken_once_and_as_what_it_is() {
        let outcome = JobOutcome::new(String::from("loaded"));
        let copy = outcome.clone();
        assert_eq!(outcome.take::<u64>(), None);
        assert_eq!(copy.take::<String>().as_deref(), Some("loaded"));
        assert_eq!(outcome.take::<String>(), None);
        assert_eq!(outcome, copy);
        assert_ne!(outcome, JobOutcome::new(1_u64));
    }
}
