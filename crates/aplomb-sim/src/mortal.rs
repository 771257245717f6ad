//! A process's hands on its disks, which stop where the process does.
//!
//! A process dies at a store into the tail's memory ([`CrashSwitch`]) or at an operation of its
//! start-up. Nothing that it does "afterwards", because the state machine's call has yet to return,
//! may reach a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use aplomb_disk_api::sim::SimDisk;
use aplomb_disk_api::{
    DiskCommand, DiskError, DiskIndex, DiskJob, DiskQueue, Entry, FileName, FileStamp, PatientDisk,
    QueueFull, SmallFile, Ticket,
};
use aplomb_log::tail::CrashSwitch;
use aplomb_model::Instant;
use bytes::Bytes;

/// How long a process has to live.
#[derive(Debug)]
pub(crate) struct Life {
    switch: Arc<CrashSwitch>,
    /// Operations of start-up that are left.
    operations: AtomicU64,
    over: AtomicBool,
}

impl Life {
    /// A life that ends with `switch`, or after so many operations of start-up.
    pub(crate) fn new(switch: Arc<CrashSwitch>, operations: Option<u64>) -> Arc<Self> {
        let operations = AtomicU64::new(operations.unwrap_or(u64::MAX));
        Arc::new(Self { switch, operations, over: AtomicBool::new(false) })
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.switch.has_dropped()
    }

    pub(crate) fn switch(&self) -> &Arc<CrashSwitch> {
        &self.switch
    }

    /// Counts an operation.
    fn spend(&self) -> Step {
        if self.is_over() {
            return Step::Dead;
        }
        let left = self.operations.load(Ordering::Relaxed);
        self.operations.store(left - 1, Ordering::Relaxed);
        if left > 1 {
            return Step::Whole;
        }
        self.over.store(true, Ordering::Relaxed);
        Step::Last
    }

    /// Does all of it, or what is done of it when the process dies in the middle.
    fn step<T>(
        &self,
        whole: impl FnOnce() -> Result<T, DiskError>,
        part: impl FnOnce() -> Result<(), DiskError>,
    ) -> Result<T, DiskError> {
        match self.spend() {
            Step::Whole => whole(),
            Step::Last => part().and(Err(dead())),
            Step::Dead => Err(dead()),
        }
    }
}

enum Step {
    Whole,
    /// The process dies in the middle of it.
    Last,
    Dead,
}

fn dead() -> DiskError {
    DiskError::Failed { what: "everything".into(), reason: "the process is dead".into() }
}

/// A disk during start-up.
pub(crate) struct MortalDisk {
    pub(crate) disk: SimDisk,
    pub(crate) life: Arc<Life>,
}

impl PatientDisk for MortalDisk {
    fn list(&self, directory: Option<&FileName>) -> Result<Vec<Entry>, DiskError> {
        self.life.step(|| self.disk.list(directory), || Ok(()))
    }

    fn stamp(&self, name: &FileName) -> Result<FileStamp, DiskError> {
        self.life.step(|| self.disk.stamp(name), || Ok(()))
    }

    fn read(&self, file: &FileName, at: u64, len: usize) -> Result<Bytes, DiskError> {
        self.life.step(|| self.disk.read(file, at, len), || Ok(()))
    }

    fn write(&self, file: &FileName, at: u64, data: &[u8]) -> Result<(), DiskError> {
        self.life
            .step(|| self.disk.write(file, at, data), || self.disk.write(file, at, &data[..data.len() / 2]))
    }

    fn truncate(&self, file: &FileName, len: u64) -> Result<(), DiskError> {
        self.life.step(|| self.disk.truncate(file, len), || Ok(()))
    }

    fn remove(&self, name: &FileName) -> Result<(), DiskError> {
        self.life.step(|| self.disk.remove(name), || Ok(()))
    }

    fn rename_all(&self, renames: &[(FileName, FileName)]) -> Result<(), DiskError> {
        let part = || self.disk.rename_all(&renames[..renames.len() / 2]);
        self.life.step(|| self.disk.rename_all(renames), part)
    }

    fn publish(&self, files: &[SmallFile]) -> Result<(), DiskError> {
        let part = || {
            let (whole, rest) = files.split_at(files.len() / 2);
            self.disk.publish(whole)?;
            let Some(cut) = rest.first() else { return Ok(()) };
            let temporary = FileName::new(format!("{}.tmp", cut.name));
            match self.disk.write(&temporary, 0, &cut.content[..cut.content.len() / 2]) {
                // Its directory was not made yet.
                Err(DiskError::NotFound { .. }) => Ok(()),
                other => other,
            }
        };
        self.life.step(|| self.disk.publish(files), part)
    }

    fn sync(&self, files: &[FileName]) -> Result<(), DiskError> {
        self.life.step(|| self.disk.sync(files), || self.disk.sync(&files[..files.len() / 2]))
    }
}

/// An entrance to a disk that leads nowhere once the process is dead.
pub(crate) struct MortalQueue {
    pub(crate) queue: Box<dyn DiskQueue>,
    pub(crate) life: Arc<Life>,
}

impl DiskQueue for MortalQueue {
    fn disk(&self) -> DiskIndex {
        self.queue.disk()
    }

    fn try_submit(&mut self, command: DiskCommand, now: Instant) -> Result<Ticket, QueueFull<DiskCommand>> {
        if self.life.is_over() {
            return Err(QueueFull(command));
        }
        self.queue.try_submit(command, now)
    }

    fn try_submit_job(
        &mut self,
        job: Box<dyn DiskJob>,
        now: Instant,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
        if self.life.is_over() {
            return Err(QueueFull(job));
        }
        self.queue.try_submit_job(job, now)
    }
}
