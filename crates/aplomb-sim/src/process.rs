//! One process of the broker: its shards, its share of the tail, and how it comes to be.
//!
//! The order at start is the program's (`startup` of `aplomb-broker`): survey, write back the old
//! tail, read the metadata, write back the rest, take the memory, load, begin.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::Shard;
use aplomb_broker::config::{BrokerConfig, Properties};
use aplomb_broker::controller::Node;
use aplomb_broker::metadata::Endpoint;
use aplomb_broker::ports::{Now, ShardId};
use aplomb_broker::startup::{
    Directory, MetadataFound, Ready, StartError, StartInput, Surveyed, plan, survey,
};
use aplomb_disk_api::sim::SimDisk;
use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, DiskQueue, PatientDisk};
use aplomb_log::recovery::restore::{RestoreError, Wanted, restore};
use aplomb_log::tail::{ArenaMemory, OldTail, TailShare, UnreadableReason, open_shares};
use aplomb_model::{BrokerId, DirectoryId, Uuid};

use super::mortal::{Life, MortalDisk, MortalQueue};
use super::random::Dice;

/// This broker's id.
pub(crate) const NODE: BrokerId = BrokerId(1);
/// The listener that clients come in by.
pub(crate) const LISTENER: &str = "PLAINTEXT";
/// Bytes of a chunk of the tail.
pub(crate) const CHUNK: u32 = 4096;

/// Completions that no shard has taken yet.
type Inbox = Arc<Mutex<VecDeque<(ShardId, Completion)>>>;

struct Sink {
    shard: ShardId,
    inbox: Inbox,
}

impl CompletionSink for Sink {
    fn complete(&self, completion: Completion) {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).push_back((self.shard, completion));
    }
}

/// A broker at work.
pub(crate) struct Process {
    pub(crate) shards: Vec<Shard>,
    pub(crate) shares: Vec<Arc<TailShare>>,
    pub(crate) life: Arc<Life>,
    /// What start-up found worth a line in the log.
    pub(crate) remarks: Vec<String>,
    inbox: Inbox,
}

impl Process {
    /// What the disks have ended since the last time.
    pub(crate) fn take_completions(&self) -> VecDeque<(ShardId, Completion)> {
        std::mem::take(&mut *self.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether all partitions are loaded, or are offline: clients may come.
    pub(crate) fn is_loaded(&self) -> bool {
        self.shards.iter().all(|shard| shard.figures().loading() == 0)
    }

    /// Why the broker must not go on.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shards.iter().find_map(|shard| shard.figures().failure().map(str::to_owned))
    }

    /// The tail's memory as the next process would find it.
    pub(crate) fn memory(&self) -> ArenaMemory {
        self.shares[0].arena().image().expect("an arena with a switch has an image")
    }
}

/// How a start went.
pub(crate) enum Start {
    /// The broker serves.
    Up(Box<Process>),
    /// The process was killed before it did; this is left in the tail's memory.
    Died(Option<ArenaMemory>),
    /// It does not want to start.
    Refused {
        why: Refusal,
        /// The tail, untouched.
        memory: Option<ArenaMemory>,
    },
}

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the old tail cannot be read: {0}")]
    Tail(UnreadableReason),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Refusal {
    /// Whether a disk's error is the reason.
    pub(crate) fn is_of_a_disk(&self) -> bool {
        use aplomb_log::recovery::LoadError;
        use aplomb_log::recovery::forget::ForgetError;
        match self {
            Self::Restore(RestoreError::Disk(_) | RestoreError::Checkpoint(ForgetError::Disk(_)))
            | Self::Start(StartError::Disk { .. }) => true,
            Self::Start(StartError::Log { error: LoadError::Disk(_), .. }) => true,
            Self::Tail(_) | Self::Restore(_) | Self::Start(_) => false,
        }
    }
}

/// What a process is started with.
pub(crate) struct Shape<'a> {
    pub(crate) disks: &'a [SimDisk],
    pub(crate) properties: &'a Properties,
    pub(crate) shards: u16,
    /// Chunks of the tail, for each disk.
    pub(crate) chunks: u32,
    pub(crate) life: Arc<Life>,
    pub(crate) now: Now,
    pub(crate) dice: Dice,
    pub(crate) remarks: Vec<String>,
}

/// The id of a log directory.
pub(crate) fn directory_id(disk: usize) -> DirectoryId {
    Uuid::from_u128((disk as u128 + 1) << 100 | 0xd15c)
}

impl Shape<'_> {
    pub(crate) fn start(mut self, memory: Option<ArenaMemory>) -> Start {
        let (old, generation) = match memory.map(OldTail::open) {
            None => (None, 0),
            Some(Ok(old)) => {
                let generation = old.generation();
                (Some(old), generation)
            }
            // Killed while it was being formatted: what was in it is in the files.
            Some(Err(unreadable)) if matches!(unreadable.reason, UnreadableReason::Blank) => (None, 0),
            Some(Err(unreadable)) => {
                let why = Refusal::Tail(unreadable.reason);
                return Start::Refused { why, memory: Some(unreadable.memory) };
            }
        };
        let found = self.survey_and_restore(old.as_ref());
        let memory = old.map(OldTail::into_memory);
        let (directories, found) = match found {
            Ok(found) => found,
            Err(_) if self.life.is_over() => return Start::Died(memory),
            Err(why) => return Start::Refused { why, memory },
        };
        let size = self.arena_size();
        // In its place if the size is the same, elsewhere otherwise: the old memory is given up
        // before the new one is used.
        let memory = memory.filter(|old| old.size() == size).unwrap_or_else(|| ArenaMemory::heap(size));
        let ids: Vec<DirectoryId> = (0..self.disks.len()).map(directory_id).collect();
        let switch = Some(self.life.switch().clone());
        let shares = open_shares(memory, CHUNK, &ids, generation + 1, switch).expect("the memory fits");
        let image = |shares: &[Arc<TailShare>]| shares[0].arena().image();
        match self.load(directories, found, &shares) {
            Ok(_) | Err(_) if self.life.is_over() => Start::Died(image(&shares)),
            Err(why) => Start::Refused { why: why.into(), memory: image(&shares) },
            Ok(ready) => Start::Up(Box::new(self.begin(ready, shares))),
        }
    }

    /// Room for the chunks of all disks, and for the headers.
    fn arena_size(&self) -> usize {
        let chunks = self.chunks as usize * self.disks.len();
        chunks * CHUNK as usize + chunks.next_multiple_of(16) * 256 + 2 * 4096
    }

    fn survey_and_restore(
        &mut self,
        old: Option<&OldTail>,
    ) -> Result<(Vec<Surveyed>, MetadataFound), Refusal> {
        let directory = |(n, disk): (usize, &SimDisk)| Directory {
            index: DiskIndex(n as u16),
            id: directory_id(n),
            path: format!("/disk{n}"),
            disk: Arc::new(MortalDisk { disk: disk.clone(), life: self.life.clone() }),
        };
        let surveyed: Vec<Surveyed> =
            self.disks.iter().enumerate().map(|disk| survey(directory(disk))).collect::<Result<_, _>>()?;
        let disks: Vec<(DirectoryId, &dyn PatientDisk)> =
            surveyed.iter().map(|one| (one.directory.id, &*one.directory.disk)).collect();
        let mut unique = || Uuid(self.dice.bytes());
        if let Some(old) = old {
            self.remarks.extend(restore(&old.recover(), &disks, &Wanted::Metadata, &mut unique)?.remarks);
        }
        let found = MetadataFound::read(&surveyed[0].directory, "simulated", surveyed[0].clean.is_some())?;
        if let Some(old) = old {
            let topics = &found.replay.image().topics;
            let name = |id| topics.by_id(id).map(|topic| topic.name.clone());
            let restored = restore(&old.recover(), &disks, &Wanted::Topics(&name), &mut unique)?;
            self.remarks.push(format!("{} bytes were only in the tail", restored.bytes));
            self.remarks.extend(restored.remarks);
        }
        Ok((surveyed, found))
    }

    fn load(
        &self,
        directories: Vec<Surveyed>,
        found: MetadataFound,
        shares: &[Arc<TailShare>],
    ) -> Result<Ready, StartError> {
        let (config, _) = BrokerConfig::from_properties(self.properties).expect("the settings are right");
        let ids: Vec<DirectoryId> = (0..self.disks.len()).map(directory_id).collect();
        let endpoint = Endpoint {
            name: LISTENER.to_owned(),
            host: "localhost".to_owned(),
            port: 9092,
            security_protocol: 0,
        };
        let mut dice = self.dice.clone();
        let node = Node {
            id: NODE,
            incarnation: Uuid(dice.bytes()),
            endpoints: vec![endpoint],
            controller_endpoints: Vec::new(),
            rack: None,
            directories: ids.clone(),
            cordoned_directories: Vec::new(),
            metadata_directory: ids[0],
        };
        plan(StartInput {
            lost: Vec::new(),
            config: Arc::new(config),
            node,
            directories,
            shares: shares.to_vec(),
            metadata: DiskIndex(0),
            found,
            shards: self.shards,
            now: self.now.wall,
            random: Box::new(move || dice.bytes()),
        })
    }

    fn begin(mut self, ready: Ready, shares: Vec<Arc<TailShare>>) -> Process {
        self.remarks.extend(ready.remarks);
        let inbox = Inbox::default();
        let begin = |(n, start): (usize, aplomb_broker::startup::ShardStart)| {
            let queue = |disk: &SimDisk| {
                let sink = Sink { shard: ShardId(n as u16), inbox: inbox.clone() };
                let queue = Box::new(disk.queue(Arc::new(sink)));
                Box::new(MortalQueue { queue, life: self.life.clone() }) as Box<dyn DiskQueue>
            };
            start.begin(self.disks.iter().map(queue).collect(), self.now)
        };
        let shards = ready.shards.into_iter().enumerate().map(begin).collect();
        Process { shards, shares, life: self.life, remarks: self.remarks, inbox }
    }
}
