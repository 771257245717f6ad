//! A move, and what is known at each point of its way.
//!
//! What always holds: what is true of one stage only is in that stage; a copy exists while it
//! grows, and is the log, or gone, afterwards.

use aplomb_disk_api::{DiskCommand, DiskIndex, FileName};
use aplomb_log::Loan;
use aplomb_log::future::{FutureLog, FutureState};
use aplomb_model::{Instant, TopicPartition};
use bytes::Bytes;

use crate::calls::PartitionKey;
use crate::partition::Partition;
use crate::ports::{Event, Severity};
use crate::storage::checkpoints::CheckpointEntry;
use crate::storage::purpose::Purpose;
use crate::storage::{Ground, StorageEffect};

/// One move.
#[derive(Debug)]
pub(super) struct Move {
    /// Unlike that of any other move of the shard.
    pub(super) number: u64,
    pub(super) name: TopicPartition,
    pub(super) from: DiskIndex,
    pub(super) to: DiskIndex,
    pub(super) stage: Stage,
    /// Commands that have not ended.
    pub(super) pending: usize,
    /// What the last read brought; `None` in it: there is no such file.
    pub(super) read: Option<Option<Bytes>>,
    /// Nothing is done before.
    pub(super) rest: Option<Instant>,
    /// It is to end without a change, if that has not happened.
    pub(super) cancelled: bool,
    /// Where the partition is to go when this is over.
    pub(super) then: Option<DiskIndex>,
    /// The partition was deleted.
    pub(super) deletion: Option<Deletion>,
}

/// A partition that was deleted while it moved.
#[derive(Debug, Default)]
pub(super) struct Deletion {
    /// Its directory on this disk has another name already.
    pub(super) renamed_on: Option<DiskIndex>,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Stage {
    /// The copy's directory is to be made.
    Claim,
    /// It is there, and too many others copy.
    Queue {
        directory: String,
    },
    Copying(Box<Copying>),
    /// The partition is offline. Its copy, if there is one, is of no use until the next start.
    Stranded {
        directory: Option<String>,
    },
    /// The log is on the new disk.
    Settling(Settling),
    /// A directory goes: the copy's, if the move was cancelled, or the one that the log has left.
    Ending(Ending),
    Over,
}

/// A copy that follows the log.
#[derive(Debug)]
pub(super) struct Copying {
    pub(super) copy: FutureLog,
    /// What the checkpoint file of the new disk says of the copy, or is being told.
    pub(super) recorded: Option<CheckpointEntry>,
    /// Bytes of the copy that were written since its last sync.
    pub(super) unsynced: u64,
    pub(super) stage: CopyStage,
}

/// What the copy needs next.
#[derive(Debug)]
pub(super) enum CopyStage {
    /// More of the log, or to become it.
    Grow,
    /// A read of the source is under way, into this memory.
    Read { loan: Loan },
    /// Snapshots are copied: those that are left, and the beginning of the first.
    Snapshots { state: FutureState, begun: Vec<u8>, asked: bool },
    /// The state is being synced.
    State,
    /// The checkpoint file is being written.
    Record { done: bool },
    /// The directory is getting its name.
    Name,
}

/// What follows the change.
#[derive(Debug)]
pub(super) enum Settling {
    /// The disk syncs what there was.
    Sync,
    /// The metadata is to say where the log is.
    Assign { asked: Option<Instant> },
    /// A disk is lost, and the old directory has to go if the topic is deleted.
    Parked,
    /// What the old disk was told before the change has to end.
    Drain,
    /// The last of the old disk's writes are about to end.
    Fence,
}

/// A directory that is not needed any more.
#[derive(Debug)]
pub(super) enum Ending {
    /// It gets another name.
    Leave { disk: DiskIndex, directory: String },
    /// It has one, by which it is to be deleted.
    Left { disk: DiskIndex, name: FileName },
    /// The checkpoint files of its disk forget it.
    Forget { disk: DiskIndex, done: bool },
}

/// Where a step has led to.
pub(super) enum Onward {
    /// The next step may follow at once.
    Now(Stage),
    /// Something else has to happen first.
    Later(Stage),
}

impl Stage {
    /// The directory that was made for the copy, before it is the log.
    pub(super) fn into_copys_directory(self) -> Option<String> {
        match self {
            Self::Queue { directory } => Some(directory),
            Self::Copying(copying) => Some(copying.copy.directory().to_owned()),
            Self::Stranded { directory } => directory,
            Self::Claim | Self::Settling(_) | Self::Ending(_) | Self::Over => None,
        }
    }
}

impl Move {
    pub(super) fn new(number: u64, partition: &Partition, to: DiskIndex) -> Self {
        Self {
            number,
            name: partition.name().clone(),
            from: partition.disk(),
            to,
            stage: Stage::Claim,
            pending: 0,
            read: None,
            rest: Some(Instant::START),
            cancelled: false,
            then: None,
            deletion: None,
        }
    }

    /// Whether it is to end without a change, if that has not happened.
    pub(super) fn is_given_up(&self) -> bool {
        self.cancelled || self.deletion.is_some()
    }

    /// Whether the change is still to come.
    pub(super) fn is_to_arrive(&self) -> bool {
        let is_before = match self.stage {
            Stage::Claim | Stage::Queue { .. } | Stage::Copying(_) | Stage::Stranded { .. } => true,
            Stage::Settling(_) | Stage::Ending(_) | Stage::Over => false,
        };
        is_before && !self.is_given_up()
    }

    /// The name of the log's directory.
    pub(super) fn serving(&self) -> String {
        self.name.to_string()
    }

    /// Gives a disk a command of the move, which waits until that has ended.
    pub(super) fn submit(
        &mut self,
        disk: DiskIndex,
        command: DiskCommand,
        key: PartitionKey,
        ground: &mut Ground<'_>,
    ) {
        self.pending += 1;
        let is_of_the_copy = match &command {
            DiskCommand::Publish { .. } | DiskCommand::Write { .. } | DiskCommand::Sync { .. } => true,
            DiskCommand::Rename { to, .. } => to.as_str() == self.serving(),
            _ => false,
        };
        let purpose = Purpose::Future { key, number: self.number, puts_there: is_of_the_copy };
        ground.disks.submit(disk, command, purpose, ground.now.instant);
    }

    /// Writes a line about the move.
    pub(super) fn tell(&self, severity: Severity, text: &str, ground: &mut Ground<'_>) {
        let text = format!("{} {text}", self.name);
        ground.effects.push(StorageEffect::Event(Event { severity, room: "broker/moves", text }));
    }
}
