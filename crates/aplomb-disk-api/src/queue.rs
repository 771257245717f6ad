//! The way in: bounded, and it answers at once.

use aplomb_model::Instant;

use crate::{Completion, DiskCommand, DiskIndex, DiskJob, Ticket};

/// The lane's queue is full; the command comes back so that its owner can keep it.
#[derive(Debug)]
pub struct QueueFull<C>(pub C);

/// One owner's entrance to one disk. Completions go to the owner's [`CompletionSink`].
pub trait DiskQueue: Send {
    /// The disk behind the queue.
    fn disk(&self) -> DiskIndex;

    /// Hands a command over, or gives it back when the lane is full. Never waits, never touches a
    /// file. A lost disk accepts everything and completes it with [`crate::DiskError::Offline`].
    ///
    /// # Errors
    /// [`QueueFull`], with the command.
    fn try_submit(&mut self, command: DiskCommand, now: Instant) -> Result<Ticket, QueueFull<DiskCommand>>;

    /// Hands a job over, or gives it back when [`crate::Lane::Job`] is full. As prompt as
    /// [`DiskQueue::try_submit`].
    ///
    /// # Errors
    /// [`QueueFull`], with the job.
    fn try_submit_job(
        &mut self,
        job: Box<dyn DiskJob>,
        now: Instant,
    ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>>;
}

/// Where completions go: a shard's mailbox. Called from the disk's threads; must not wait.
pub trait CompletionSink: Send + Sync {
    /// Delivers one completion.
    fn complete(&self, completion: Completion);
}
