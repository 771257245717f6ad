//! A round of syncs, and the checkpoint that some are: so many partitions a turn, between which
//! requests are served.
//!
//! What always holds: partitions are asked for their parts in order, each once; then there is one
//! sync for all of them; and when that is over, each is told. What one was asked for is what it is
//! told of, whatever it has appended in between.
//!
//! A partition may become dirty while a checkpoint is on its way to it, which has then what is new
//! of it, too: the next round meets it, and leaves it out.

use std::collections::VecDeque;

use aplomb_disk_api::{DiskCommand, FileName, SmallFile};
use aplomb_model::Offset;

use crate::calls::PartitionKey;
use crate::partition::{Partition, Partitions};

/// With so many commands for the disk no other is asked. One takes some microseconds.
pub(super) const COMMANDS_A_TURN: usize = 128;

/// A partition in a round, and what the round covers of it. One that has moved away since is none
/// any more.
#[derive(Clone, Copy, Debug)]
struct Member {
    key: PartitionKey,
    residence: u32,
    covers: Offset,
}

/// The members of a round, of which so many have been told that it is over.
#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    told: usize,
    /// How many are told in a turn.
    a_turn: usize,
}

impl Members {
    fn none(a_turn: usize) -> Self {
        Self { all: Vec::new(), told: 0, a_turn }
    }

    fn has(&self, key: PartitionKey) -> bool {
        self.all.iter().any(|member| member.key == key)
    }

    /// Tells the next ones. Whether all have been told.
    fn tell_on(&mut self, partitions: &mut Partitions, mut tell: impl FnMut(&mut Partition, Offset)) -> bool {
        let upto = self.all.len().min(self.told + self.a_turn);
        for member in &self.all[self.told..upto] {
            if let Some(partition) = partitions.get_on(member.key, member.residence) {
                tell(partition, member.covers);
            }
        }
        self.told = upto;
        upto == self.all.len()
    }
}

/// How far a round is.
#[derive(Debug)]
enum RoundStage {
    /// These partitions are to be asked.
    Asking(VecDeque<PartitionKey>),
    /// The disk syncs.
    Syncing,
    /// The sync is over: the partitions are told.
    Telling,
}

/// A round of syncs under way.
#[derive(Debug)]
pub(super) struct RoundState {
    stage: RoundStage,
    files: Vec<FileName>,
    members: Members,
    checkpoint: Option<CheckpointState>,
}

/// What a checkpoint publishes and then deletes.
#[derive(Debug)]
pub(super) struct CheckpointState {
    publish: Vec<(Member, SmallFile)>,
    obsolete: Vec<FileName>,
    members: Members,
    is_published: bool,
}

impl RoundState {
    /// A round of these partitions, so many a turn.
    pub(super) fn new(keys: VecDeque<PartitionKey>, is_checkpoint: bool, a_turn: usize) -> Self {
        let checkpoint = || CheckpointState {
            publish: Vec::new(),
            obsolete: Vec::new(),
            members: Members::none(a_turn),
            is_published: false,
        };
        Self {
            stage: RoundStage::Asking(keys),
            files: Vec::new(),
            members: Members::none(a_turn),
            checkpoint: is_checkpoint.then(checkpoint),
        }
    }

    /// Whether it goes on in the next turn, and waits for nothing.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(self.stage, RoundStage::Syncing)
    }

    /// Asks the next partitions for their part, which may be `writes`. When all have been asked, it
    /// gives the files to sync behind these.
    pub(super) fn ask_on(
        &mut self,
        partitions: &mut Partitions,
        writes: &mut Vec<DiskCommand>,
    ) -> Option<Vec<FileName>> {
        let RoundStage::Asking(keys) = &mut self.stage else { return None }; // all have been asked
        let mut small = 0;
        for _ in 0..self.members.a_turn {
            if writes.len() + small >= COMMANDS_A_TURN {
                break;
            }
            let Some(key) = keys.pop_front() else { break };
            let Some(partition) = partitions.get_mut(key) else { continue }; // it is gone
            if self.checkpoint.is_none() && !partition.is_dirty() {
                continue; // a checkpoint has had its part while it waited for this round
            }
            let part = partition.begin_round(self.checkpoint.is_some(), writes);
            let member = Member { key, residence: partition.residence(), covers: part.covers };
            if let Some(checkpoint) = &mut self.checkpoint {
                small += part.publish.len();
                checkpoint.publish.extend(part.publish.into_iter().map(|file| (member, file)));
                checkpoint.obsolete.extend(part.obsolete);
                checkpoint.members.all.push(member);
            }
            self.files.extend(part.files);
            self.members.all.push(member);
        }
        if !keys.is_empty() {
            return None;
        }
        self.stage = RoundStage::Syncing;
        Some(std::mem::take(&mut self.files))
    }

    /// The sync is over: what it covered is durable.
    pub(super) fn on_synced(&mut self) {
        assert!(
            matches!(self.stage, RoundStage::Syncing),
            "a sync belongs to a round all of which was asked"
        );
        self.stage = RoundStage::Telling;
    }

    /// Tells the next partitions what is durable. Whether that was all.
    pub(super) fn tell_on(
        &mut self,
        partitions: &mut Partitions,
        tell: impl FnMut(&mut Partition, Offset),
    ) -> bool {
        matches!(self.stage, RoundStage::Telling) && self.members.tell_on(partitions, tell)
    }

    /// The checkpoint that the round is the first half of.
    pub(super) fn into_checkpoint(self) -> Option<CheckpointState> {
        self.checkpoint
    }

    /// Whether a partition was asked: small files of it may still be given to the disk.
    pub(super) fn concerns(&self, key: PartitionKey) -> bool {
        self.members.has(key)
    }

    /// A partition is gone, and is not to be asked.
    pub(super) fn forget(&mut self, key: PartitionKey) {
        if let RoundStage::Asking(keys) = &mut self.stage {
            keys.retain(|other| *other != key);
        }
    }
}

impl CheckpointState {
    /// Takes the files to publish. A partition that is gone has none: its directory may be renamed
    /// before they would come.
    pub(super) fn take_publish(&mut self, partitions: &mut Partitions) -> Vec<SmallFile> {
        let mut is_there = |of: Member| partitions.get_on(of.key, of.residence).is_some();
        let all = std::mem::take(&mut self.publish).into_iter();
        all.filter_map(|(of, file)| is_there(of).then_some(file)).collect()
    }

    /// Its files are published. Gives those to delete then.
    pub(super) fn on_published(&mut self) -> Vec<FileName> {
        assert!(!self.is_published, "a checkpoint is published once");
        self.is_published = true;
        std::mem::take(&mut self.obsolete)
    }

    /// Whether it goes on in the next turn, and waits for nothing.
    pub(super) fn goes_on(&self) -> bool {
        self.is_published
    }

    /// Tells the next partitions that their recovery points may move up. Whether that was all.
    pub(super) fn tell_on(
        &mut self,
        partitions: &mut Partitions,
        tell: impl FnMut(&mut Partition, Offset),
    ) -> bool {
        self.is_published && self.members.tell_on(partitions, tell)
    }

    /// Whether a partition has to do with it.
    pub(super) fn concerns(&self, key: PartitionKey) -> bool {
        self.members.has(key)
    }
}
