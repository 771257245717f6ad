//! The job lane's threads: each takes one job and carries it out from its first step to its last.
//!
//! A job's calls use the engine's descriptors, so that the other lanes see what it changed. They
//! end `Offline` as soon as the disk is lost or the engine stops: a step that would take minutes
//! ends with its next call.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{
    DiskError, DiskJob, Done, Entry, FileName, FileStamp, JobStep, Lane, PatientDisk, SmallFile,
};
use aplomb_model::Instant;
use bytes::Bytes;

use crate::clock;
use crate::lane::Work;
use crate::lanes::Lanes;
use crate::patient::RealPatientDisk;
use crate::steps;

/// A thread's belongings.
pub(crate) struct JobThread {
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) disk: JobDisk,
}

impl JobThread {
    /// Works until the lane is closed and empty.
    pub(crate) fn run(self) {
        while let Some(mut accepted) = self.lanes.take_one(Lane::Job) {
            let result = match &mut accepted.work {
                Work::Job(job) => self.carry_out(&mut **job),
                Work::Command(command) => panic!("{command:?} does not stand in the lane of jobs"),
            };
            let moved = self.disk.moved.swap(0, Ordering::Relaxed);
            self.lanes.complete_counted(accepted, result, moved);
            steps::let_others_in();
        }
    }

    fn carry_out(&self, job: &mut dyn DiskJob) -> Result<Done, DiskError> {
        loop {
            self.disk.check()?;
            // A job that panicked is not stepped again, so it does not matter how it is left.
            match catch_unwind(AssertUnwindSafe(|| job.step(&self.disk))) {
                Ok(Ok(JobStep::Again)) => steps::let_others_in(),
                Ok(Ok(JobStep::Done(outcome))) => return Ok(Done::Job(outcome)),
                Ok(Err(error)) => return Err(error),
                Err(payload) => {
                    let words = payload.downcast_ref::<String>().map(String::as_str);
                    let words = words.or_else(|| payload.downcast_ref::<&str>().copied());
                    let reason = format!("it panicked: {}", words.unwrap_or("without a word"));
                    return Err(DiskError::Failed { what: "a job".into(), reason: reason.into() });
                }
            }
        }
    }
}

/// The disk as a job sees it.
pub(crate) struct JobDisk {
    disk: RealPatientDisk,
    lanes: Arc<Lanes>,
    calls: Arc<Calls>,
    /// Bytes that the present job has read and written.
    moved: AtomicU64,
}

impl JobDisk {
    pub(crate) fn new(disk: RealPatientDisk, lanes: Arc<Lanes>, calls: Arc<Calls>) -> Self {
        Self { disk, lanes, calls, moved: AtomicU64::new(0) }
    }

    /// Whether there is still a disk for jobs.
    fn check(&self) -> Result<(), DiskError> {
        let over = self.lanes.lost().is_some() || self.lanes.is_closed();
        if over { Err(DiskError::Offline) } else { Ok(()) }
    }

    fn call<T>(&self, call: impl FnOnce(&RealPatientDisk) -> Result<T, DiskError>) -> Result<T, DiskError> {
        self.check()?;
        let number = self.calls.begin();
        let result = call(&self.disk);
        self.calls.end(number);
        if let Err(error @ DiskError::Failed { .. }) = &result {
            self.lanes.lose(&error.to_string());
        }
        result
    }
}

impl PatientDisk for JobDisk {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        self.call(|disk| disk.list(directory))
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.call(|disk| disk.stamp(name))
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        let bytes = self.call(|disk| disk.read(file, at, len))?;
        self.moved.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }

    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError> {
        self.moved.fetch_add(data.len() as u64, Ordering::Relaxed);
        self.call(|disk| disk.write(file, at, data))
    }

    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError> {
        self.call(|disk| disk.truncate(file, len))
    }

    fn remove(&self, name: &FileName) -> Result<(), DiskError> {
        self.call(|disk| disk.remove(name))
    }

    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
        self.call(|disk| disk.rename_all(renames))
    }

    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError> {
        self.call(|disk| disk.publish(files))
    }

    fn sync(&self, files: &[FileName]) -> Result<(), DiskError> {
        self.call(|disk| disk.sync(files))
    }
}

/// The calls of jobs that have not returned. The oldest one's age stands in the lane's counters: a
/// job that waits for another one, or computes, says nothing about the disk.
pub(crate) struct Calls {
    stats: Arc<DiskStats>,
    under_way: Mutex<(u64, BTreeMap<u64, Instant>)>,
}

impl Calls {
    pub(crate) fn new(stats: Arc<DiskStats>) -> Self {
        Self { stats, under_way: Mutex::default() }
    }

    fn begin(&self) -> u64 {
        self.note(|(next, calls)| {
            *next += 1;
            calls.insert(*next, clock::now());
            *next
        })
    }

    fn end(&self, number: u64) {
        self.note(|(_, calls)| {
            calls.remove(&number);
        });
    }

    fn note<T>(&self, change: impl FnOnce(&mut (u64, BTreeMap<u64, Instant>)) -> T) -> T {
        let mut under_way = self.under_way.lock().expect("nothing in here panics");
        let result = change(&mut under_way);
        let oldest = under_way.1.first_key_value().map(|(_, begun)| *begun);
        self.stats.lane(Lane::Job).set_oldest(oldest);
        result
    }
}
