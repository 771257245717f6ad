//! One process of the broker: its shards, its share of the tail, and how it comes to be.
//!
//! The order at start is the program's (`startup` of `aplomb-broker`): find the old tails, survey,
//! write back what they have of the metadata log, read it, write back the rest, make room, say
//! where the tail is from now on, take its memory, load, begin.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::Shard;
use aplomb_broker::config::{BrokerConfig, Properties};
use aplomb_broker::controller::Node;
use aplomb_broker::metadata::Endpoint;
use aplomb_broker::ports::{Now, Severity, ShardId};
use aplomb_broker::startup::{
    Directory, MetadataFound, OldTailError, OldTails, Ready, Room, StartError, StartInput, Surveyed,
    TailRecord, may_lack_records, plan, survey,
};
use aplomb_broker::store_checks::StoreChecks;
use aplomb_disk_api::sim::SimDisk;
use aplomb_disk_api::{Completion, CompletionSink, DiskIndex, DiskQueue};
use aplomb_log::recovery::restore::Wanted;
use aplomb_log::tail::{ArenaMemory, TailShare, open_shares};
use aplomb_model::{BrokerId, DirectoryId, Offset, Uuid};

use super::machine::{Held, Machine, TAIL_DIR, Unavailable};
use super::mortal::{Life, MortalDisk, MortalQueue};
use super::random::Dice;
use super::scenario::path_of;
use super::tails::SimTail;

/// This broker's id.
pub(crate) const NODE: BrokerId = BrokerId(1);
/// The listener that clients come in by.
pub(crate) const LISTENER: &str = "PLAINTEXT";
/// The cluster's id.
pub(crate) const CLUSTER: &str = "simulated";
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

/// A log directory's place in the settings of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogDir {
    pub(crate) id: DirectoryId,
    pub(crate) path: String,
}

impl LogDir {
    /// Where the directory of a disk is.
    pub(crate) fn of(disk: usize) -> Self {
        Self { id: Uuid::from_u128((disk as u128 + 1) << 100 | 0xd15c), path: path_of(disk) }
    }
}

/// A broker at work.
pub(crate) struct Process {
    /// The disks that it has, in the order of `log.dirs`.
    pub(crate) order: Vec<usize>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) shares: Vec<Arc<TailShare>>,
    pub(crate) tail: SimTail,
    pub(crate) life: Arc<Life>,
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
}

/// A start that has come to its end.
pub(crate) struct Started {
    pub(crate) how: Start,
    /// The lines of its log, with their severities.
    pub(crate) said: Vec<(Severity, String)>,
}

/// How a start went.
pub(crate) enum Start {
    /// The broker serves.
    Up(Box<Process>),
    /// The process was killed before it did.
    Died,
    /// It does not want to start.
    Refused(Refusal),
}

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Tail(#[from] OldTailError<Unavailable>),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl Refusal {
    /// Whether a disk's error is the reason.
    pub(crate) fn is_of_a_disk(&self) -> bool {
        use aplomb_log::recovery::LoadError;
        match self {
            Self::Tail(error) => error.is_of_the_disk(),
            Self::Start(StartError::Disk { .. } | StartError::Log { error: LoadError::Disk(_), .. }) => true,
            Self::Start(_) => false,
        }
    }

    /// Whether the tail makes no sense.
    pub(crate) fn is_of_an_unreadable_tail(&self) -> bool {
        matches!(self, Self::Tail(OldTailError::Unreadable { .. }))
    }
}

/// What a process is started with.
pub(crate) struct Shape<'a> {
    /// In the order of `log.dirs`; each knows its place.
    pub(crate) disks: &'a [SimDisk],
    /// Their numbers.
    pub(crate) order: Vec<usize>,
    /// Which directories these are, as far as they can be had.
    pub(crate) places: &'a [LogDir],
    /// The one among them that has the metadata log.
    pub(crate) metadata: usize,
    /// Log directories that the settings name and whose disks cannot be had.
    pub(crate) lost: Vec<String>,
    pub(crate) machine: &'a Machine,
    pub(crate) properties: &'a Properties,
    pub(crate) shards: u16,
    /// Of a round of syncs.
    pub(crate) partitions_a_turn: usize,
    /// Chunks of the tail, for each disk.
    pub(crate) chunks: u32,
    pub(crate) life: Arc<Life>,
    pub(crate) now: Now,
    pub(crate) dice: Dice,
}

/// What is known before the logs are loaded.
struct Settled {
    directories: Vec<Surveyed>,
    found: MetadataFound,
    room: Room<Held>,
}

impl Shape<'_> {
    /// Starts a broker.
    pub(crate) fn start(mut self) -> Started {
        let mut said = Vec::new();
        let how = match self.attempt(&mut said) {
            Ok(_) | Err(_) if self.life.is_over() => Start::Died,
            Ok(process) => Start::Up(Box::new(process)),
            Err(why) => Start::Refused(why),
        };
        Started { how, said }
    }

    fn attempt(&mut self, said: &mut Vec<(Severity, String)>) -> Result<Process, Refusal> {
        let Settled { directories, found, room } = self.settle(said)?;
        let path = room.place.expect("a simulated tail has a file");
        let size = self.arena_size();
        let (file, memory, generation) =
            room.memory.unwrap_or_else(|| (self.machine.make(&path, size), ArenaMemory::heap(size), 0));
        let ids: Vec<DirectoryId> = self.places.iter().map(|place| place.id).collect();
        let switch = self.life.switch().clone();
        let shares = open_shares(memory, CHUNK, &ids, generation + 1, Some(switch.clone()));
        let shares = shares.expect("the memory fits");
        let tail = SimTail::new(shares.clone(), self.machine.clone(), file, size, switch);
        if let Err(error) = self.name_tail(&path, &directories, &shares) {
            tail.leave(true);
            return Err(error.into());
        }
        match self.load(directories, found, &shares) {
            Ok(ready) if !self.life.is_over() => Ok(self.begin(ready, shares, tail, said)),
            Ok(_) => {
                tail.leave(true);
                Err(StartError::Metadata("the process is dead".to_owned()).into())
            }
            Err(why) => {
                tail.leave(true);
                Err(why.into())
            }
        }
    }

    /// Has the log directories name their tail.
    fn name_tail(
        &self,
        path: &Path,
        directories: &[Surveyed],
        shares: &[Arc<TailShare>],
    ) -> Result<(), OldTailError<Unavailable>> {
        for (Surveyed { directory, .. }, share) in directories.iter().zip(shares) {
            let (home, disk) = (Path::new(&directory.path), &*directory.disk);
            TailRecord::name(share, home, disk, path, self.machine)
                .map_err(|error| OldTailError::Record { directory: directory.path.clone(), error })?;
        }
        Ok(())
    }

    /// Room for the chunks of all disks, and for the headers.
    fn arena_size(&self) -> usize {
        let chunks = self.chunks as usize * self.disks.len();
        chunks * CHUNK as usize + chunks.next_multiple_of(16) * 256 + 2 * 4096
    }

    /// Looks at the directories, and writes to them what only old tails have.
    fn settle(&mut self, said: &mut Vec<(Severity, String)>) -> Result<Settled, Refusal> {
        let directory = |(n, (disk, place)): (usize, (&SimDisk, &LogDir))| Directory {
            index: DiskIndex(n as u16),
            id: place.id,
            path: place.path.clone(),
            disk: Arc::new(MortalDisk { disk: disk.clone(), life: self.life.clone() }),
        };
        let known: Vec<Directory> = self.disks.iter().zip(self.places).enumerate().map(directory).collect();
        let home = &known[self.metadata];
        let (config, _) = BrokerConfig::from_properties(self.properties).expect("the settings are right");
        let old = OldTails::find(self.machine.clone(), &known, self.metadata, Some(Path::new(TAIL_DIR)))?;
        let surveyed: Vec<Surveyed> = known.iter().cloned().map(survey).collect::<Result<_, _>>()?;
        let mut unique = || Uuid(self.dice.bytes());
        let mut tell = |severity, text| said.push((severity, text));
        old.restore(home, &Wanted::Metadata, &mut unique, &mut tell)?;
        let is_clean = surveyed[self.metadata].clean.is_some();
        let found = MetadataFound::read(&surveyed[self.metadata].directory, CLUSTER, is_clean)?;
        let image = found.replay.image();
        if image.provenance.end == Offset::ZERO {
            old.refuse_without_metadata(&home.path)?;
        }
        let unclean = may_lack_records(&surveyed, image, NODE);
        old.tell_what_may_be_lost(&unclean, config.storage.flush_interval, &mut tell);
        let topics = &image.topics;
        let name = |id| topics.by_id(id).map(|topic| topic.name.clone());
        for directory in &known {
            old.restore(directory, &Wanted::Topics(&name), &mut unique, &mut tell)?;
        }
        let ids: Vec<DirectoryId> = known.iter().map(|directory| directory.id).collect();
        let size = self.arena_size() as u64;
        let room = old.make_room(&ids, size, &name, &mut tell)?;
        Ok(Settled { directories: surveyed, found, room })
    }

    fn load(
        &self,
        directories: Vec<Surveyed>,
        found: MetadataFound,
        shares: &[Arc<TailShare>],
    ) -> Result<Ready, StartError> {
        let (mut config, _) = BrokerConfig::from_properties(self.properties).expect("the settings are right");
        config.storage.partitions_a_turn = self.partitions_a_turn;
        let ids: Vec<DirectoryId> = self.places.iter().map(|place| place.id).collect();
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
            metadata_directory: ids[self.metadata],
        };
        plan(StartInput {
            lost: self.lost.clone(),
            config: Arc::new(config),
            node,
            directories,
            shares: shares.to_vec(),
            metadata: DiskIndex(self.metadata as u16),
            found,
            shards: self.shards,
            now: self.now.wall,
            stores: Arc::new(StoreChecks::new(|| {})),
            random: Box::new(move || {
                let mut own = Dice::new(dice.bits());
                Box::new(move || own.bytes())
            }),
        })
    }

    fn begin(
        &self,
        ready: Ready,
        shares: Vec<Arc<TailShare>>,
        tail: SimTail,
        said: &mut Vec<(Severity, String)>,
    ) -> Process {
        said.extend(ready.remarks.into_iter().map(|remark| (Severity::Warn, remark)));
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
        let order = self.order.clone();
        Process { order, shards, shares, tail, life: self.life.clone(), inbox }
    }
}
