//! What the models of a log have in common: a simulated disk, on which each command is waited for.

mod dying_disk;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aplomb_disk_api::sim::{SimDisk, SimOptions, SimQueue};
use aplomb_disk_api::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskQueue, Done, FileName, Lane, SmallFile,
};
use aplomb_log::tail::{ArenaMemory, TailShare, open_shares};
use aplomb_log::{Log, LogConfig};
use aplomb_model::{Instant, Offset, PartitionIndex, Timestamp, Uuid};
use bytes::Bytes;

pub(crate) use self::dying_disk::DyingDisk;

struct Inbox(Mutex<VecDeque<Completion>>);

impl CompletionSink for Inbox {
    fn complete(&self, completion: Completion) {
        self.0.lock().expect("not poisoned").push_back(completion);
    }
}

/// A simulated disk with one that asks.
pub(crate) struct TestDisk {
    pub(crate) disk: SimDisk,
    queue: SimQueue,
    inbox: Arc<Inbox>,
    now: Instant,
}

/// How far a flush has come.
pub(crate) struct Flushed {
    pub(crate) durable: Offset,
    /// `None`: no checkpoint was written.
    pub(crate) recovery_point: Option<Offset>,
}

impl TestDisk {
    pub(crate) fn new(seed: u64) -> Self {
        let disk = SimDisk::new(DiskIndex(0), SimOptions { seed, ..SimOptions::default() });
        let inbox = Arc::new(Inbox(Mutex::default()));
        let queue = disk.queue(inbox.clone());
        Self { disk, queue, inbox, now: Instant::START }
    }

    /// Another process asks: it does not hear what the one before was told.
    pub(crate) fn begin_anew(&mut self) {
        self.inbox.0.lock().expect("not poisoned").clear();
        self.queue = self.disk.queue(self.inbox.clone());
    }

    pub(crate) fn run(&mut self, command: DiskCommand) -> Result<Done, DiskError> {
        let ticket = self.queue.try_submit(command, self.now).expect("room");
        loop {
            let mut inbox = self.inbox.0.lock().expect("not poisoned");
            if let Some(place) = inbox.iter().position(|c| c.ticket == ticket) {
                return inbox.remove(place).expect("just found").result;
            }
            drop(inbox);
            self.now = self.disk.next_event().unwrap_or(self.now + Duration::from_millis(1)).max(self.now);
            self.disk.advance(self.now);
        }
    }

    /// What the log owes is written and synced, behind a checkpoint if there is to be one.
    pub(crate) fn flush(&mut self, log: &mut Log, checkpoint: bool) -> Flushed {
        let mut commands = Vec::new();
        log.take_writes(&mut commands);
        let mut part = log.begin_sync();
        let state = checkpoint.then(|| log.begin_checkpoint(&mut part));
        for command in commands {
            self.queue.try_submit(command, self.now).expect("room");
        }
        self.run(DiskCommand::Sync { files: part.files }).expect("synced");
        log.on_synced(part.covers);
        let recovery_point = state.map(|state| {
            let publish = DiskCommand::Publish { files: state.publish, lane: Lane::Housekeeping };
            self.run(publish).expect("published");
            self.run(DiskCommand::DeleteFiles { files: state.obsolete }).expect("deleted");
            log.on_checkpointed(part.covers)
        });
        Flushed { durable: part.covers, recovery_point }
    }
}

/// A tail for one log.
pub(crate) fn share() -> Arc<TailShare> {
    open_shares(ArenaMemory::heap(1 << 20), 4096, &[Uuid::ONE], 1, None).expect("it fits").remove(0)
}

/// A new log of a partition.
pub(crate) fn empty_log(directory: &str, config: LogConfig, share: Arc<TailShare>, now: i64) -> Log {
    let metadata = SmallFile {
        name: FileName::new(format!("{directory}/partition.metadata")),
        content: Bytes::from_static(b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg"),
    };
    Log::empty(directory, Uuid::TWO, PartitionIndex(3), config, share, metadata, Timestamp(now))
}
