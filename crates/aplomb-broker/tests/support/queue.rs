//! A shard's entrance to a disk that counts what is handed over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aplomb_disk_api::{DiskCommand, DiskIndex, DiskJob, DiskQueue, QueueFull, Ticket};
use aplomb_model::Instant;

pub(super) struct CountingQueue {
    pub(super) queue: Box<dyn DiskQueue>,
    /// Commands, of all shards and disks.
    pub(super) commands: Arc<AtomicUsize>,
}

impl DiskQueue for CountingQueue {
    fn disk(&self) -> DiskIndex {
        self.queue.disk()
    }

    fn try_submit(&mut self, command: DiskCommand, now: Instant) -> Result<Ticket, QueueFull<DiskCommand>> {
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.queue.try_submit(command, now)
    }

    fn try_submit_job(
        &mut self,
        job: Box<dyn DiskJob>,
        now: Instant,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
        self.queue.try_submit_job(job, now)
    }
}
