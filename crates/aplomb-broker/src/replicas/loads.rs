//! Logs that are being loaded: each by a job on the threads of the disk that it is on, while the
//! shard goes on.
//!
//! A disk is given some logs at a time; the others wait for their turn. One that a client asks for
//! is next. So a broker with very many logs serves before all of them are loaded.
//!
//! A partition may be in two log directories: a move that was interrupted between naming its copy
//! and removing the original leaves both, and they are beginnings of one log, but that one of them
//! may have a gap where the tail was restored behind what is in the other alone. Both are loaded,
//! and the one that reaches further is the log; of two that reach equally far it is the one with
//! more bytes, and of two that have equally many the first. The other one goes, which may be the
//! one that a power cut would have left: so all of both is synced first. What was deleted from the
//! beginning of either stays deleted: the log starts where the later of the log start offsets is
//! that their log directories have written down.
//!
//! A partition of a topic that is deleted meanwhile is loaded all the same, and then deleted as any
//! other: its name stays taken until then.
//!
//! What always holds: a partition that is being loaded is not in the table of partitions; at most
//! [`AT_ONCE`] of a disk are under way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use aplomb_disk_api::{DiskError, DiskIndex, DiskJob, Done, FileName, JobStep, PatientDisk};
use aplomb_log::Log;
use aplomb_log::layout::{PARTITION_METADATA, PartitionDir};
use aplomb_log::recovery::{LoadError, LoadRequest, LoadedLog, load};
use aplomb_log::state_files::PartitionMetadata;
use aplomb_model::batch::ProducerStamp;
use aplomb_model::{LeaderEpoch, Offset, TopicPartition, Uuid};

use crate::calls::PartitionKey;
use crate::partition::{LateProducers, PartitionSettings};

/// Logs of one disk that are loaded at the same time: enough for a disk's threads to find the next
/// one waiting, and few, so that one that is asked for is soon its turn.
const AT_ONCE: usize = 32;

/// A partition that is to be loaded.
pub(crate) struct LoadPlan {
    pub(crate) key: PartitionKey,
    pub(crate) name: TopicPartition,
    pub(crate) leader_epoch: LeaderEpoch,
    pub(crate) settings: PartitionSettings,
    /// Where its log may be; the directory that the metadata names comes first.
    pub(crate) sources: Vec<LoadSource>,
    /// A future replica was found on this disk: it is begun anew.
    pub(crate) moves_to: Option<DiskIndex>,
}

/// A directory that may be a partition's log.
pub(crate) struct LoadSource {
    pub(crate) disk: DiskIndex,
    pub(crate) request: LoadRequest,
    /// What the directory's name gets if it turns out to be another topic's; `None` if it is known
    /// to be this one's.
    pub(crate) aside: Option<Uuid>,
}

impl LoadSource {
    /// The directory's name if it is put aside.
    pub(super) fn stray_name(&self, name: &TopicPartition) -> Option<FileName> {
        let aside = self.aside?;
        Some(FileName::new(PartitionDir::stray(name.clone(), aside).name()))
    }
}

/// A partition that is not loaded yet.
struct PendingLoad {
    plan: LoadPlan,
    stage: LoadStage,
    /// The topic was deleted meanwhile.
    deleted: bool,
    /// Its settings were changed after its log was begun to be loaded.
    reconfigured: bool,
    /// Batches that were refused meanwhile.
    late: LateProducers,
}

enum LoadStage {
    /// It waits for its turn; `wanted`, before the others.
    Waiting { wanted: bool },
    /// What came of each source so far.
    UnderWay(Vec<Option<Result<SourceFound, DiskError>>>),
}

/// What a directory turned out to be.
enum SourceFound {
    Log(Box<LoadedLog>),
    /// Of another topic, and put aside.
    Stray,
}

/// Whose turn it is on a disk: that of the first source.
#[derive(Default)]
struct Turns {
    /// All of them, in the order in which they were found; some were loaded out of turn.
    order: VecDeque<PartitionKey>,
    /// Those that were asked for.
    wanted: VecDeque<PartitionKey>,
    under_way: usize,
}

/// The loads of a shard.
#[derive(Default)]
pub(super) struct Loads {
    pending: BTreeMap<PartitionKey, PendingLoad>,
    turns: BTreeMap<DiskIndex, Turns>,
    /// Not loaded, and the broker stops.
    given_up: BTreeSet<PartitionKey>,
}

/// A job that loads from one of a partition's sources.
pub(super) struct LoadJob {
    pub(super) key: PartitionKey,
    /// Which source.
    pub(super) place: usize,
    pub(super) disk: DiskIndex,
    pub(super) job: Box<dyn DiskJob>,
}

/// A partition whose sources have all answered.
pub(super) struct LoadedPartition {
    pub(super) plan: LoadPlan,
    pub(super) disk: DiskIndex,
    pub(super) log: Log,
    /// Directories of its name that do not reach as far.
    pub(super) superseded: Vec<(DiskIndex, FileName)>,
    /// Things worth a line in the log.
    pub(super) remarks: Vec<String>,
    /// The topic was deleted meanwhile.
    pub(super) deleted: bool,
    /// The plan's settings are later than the log's.
    pub(super) reconfigured: bool,
    /// Batches that were refused meanwhile.
    pub(super) late: LateProducers,
}

/// How a load ended.
pub(super) enum LoadEnd {
    /// Other sources have not answered yet, or the load was given up.
    NotYet,
    Loaded(Box<LoadedPartition>),
    /// Its directory was another topic's and has been put aside: there is no log of it here.
    /// `deleted`: its topic is gone as well.
    Stray {
        plan: Box<LoadPlan>,
        deleted: bool,
        late: LateProducers,
    },
    /// A disk that may have the log is lost: the partition is offline.
    Offline {
        plan: Box<LoadPlan>,
        deleted: bool,
    },
    /// The log cannot be used, and the broker must not go on without it.
    Unusable(LoadError),
}

impl Loads {
    /// A partition is to be loaded, when it is its turn.
    pub(super) fn add(&mut self, plan: LoadPlan) {
        assert!(plan.sources.iter().all(|source| source.aside.is_none()) || plan.sources.len() == 1);
        let (key, disk) = (plan.key, plan.sources[0].disk);
        self.turns.entry(disk).or_default().order.push_back(key);
        let stage = LoadStage::Waiting { wanted: false };
        let late = LateProducers::default();
        let pending = PendingLoad { plan, stage, deleted: false, reconfigured: false, late };
        let before = self.pending.insert(key, pending);
        assert!(before.is_none(), "a partition is loaded once");
    }

    /// It is next. Asked for again, or under way, it is already.
    pub(super) fn want(&mut self, key: PartitionKey) {
        let Some(pending) = self.pending.get_mut(&key) else { return }; // it is not to be loaded
        if let LoadStage::Waiting { wanted: wanted @ false } = &mut pending.stage {
            *wanted = true;
            let turns = self.turns.get_mut(&pending.plan.sources[0].disk).expect("it waits for its turn");
            turns.wanted.push_back(key);
        }
    }

    /// A batch is refused because its partition is still to be loaded.
    pub(super) fn note_late(&mut self, key: PartitionKey, stamp: ProducerStamp) {
        if let Some(pending) = self.pending.get_mut(&key) {
            pending.late.note(stamp);
        }
    }

    /// Jobs for the disks that have room for them.
    pub(super) fn next(&mut self) -> Vec<LoadJob> {
        let mut jobs = Vec::new();
        for turns in self.turns.values_mut() {
            while turns.under_way < AT_ONCE {
                let Some(key) = turns.wanted.pop_front().or_else(|| turns.order.pop_front()) else { break };
                // It may have been loaded out of turn, or be under way for that.
                let Some(pending) = self.pending.get_mut(&key) else { continue };
                let LoadStage::Waiting { .. } = pending.stage else { continue };
                turns.under_way += 1;
                let sources = &pending.plan.sources;
                let is_alone = sources.len() == 1;
                jobs.extend(sources.iter().enumerate().map(|(place, source)| {
                    let mut request = source.request.clone();
                    request.config.clone_from(&pending.plan.settings.log);
                    // A copy that was under way is not whole because its directory was closed
                    // cleanly.
                    request.clean &= is_alone;
                    let aside = source.stray_name(&pending.plan.name);
                    LoadJob { key, place, disk: source.disk, job: job(request, aside, is_alone) }
                }));
                pending.stage = LoadStage::UnderWay(sources.iter().map(|_| None).collect());
            }
        }
        jobs
    }

    /// A source has answered.
    pub(super) fn on_result(
        &mut self,
        key: PartitionKey,
        place: usize,
        result: Result<Done, DiskError>,
    ) -> LoadEnd {
        // The broker stops, and does not wait for it.
        let Some(pending) = self.pending.get_mut(&key) else { return LoadEnd::NotYet };
        let found = match result {
            Ok(Done::Job(outcome)) => {
                let outcome = outcome.take::<Result<SourceFound, LoadError>>();
                match outcome.expect("a load ends with a log, or says why not") {
                    Ok(found) => Ok(found),
                    Err(error) => return LoadEnd::Unusable(error),
                }
            }
            Ok(other) => unreachable!("a load does not end with {other:?}"),
            Err(error) => Err(error),
        };
        let LoadStage::UnderWay(results) = &mut pending.stage else {
            unreachable!("{key:?} is loaded before its turn")
        };
        let before = results[place].replace(found);
        assert!(before.is_none(), "a source answers once");
        if results.iter().any(Option::is_none) {
            return LoadEnd::NotYet;
        }
        let results = std::mem::take(results);
        let pending = self.pending.remove(&key).expect("it was there just now");
        let turns = self.turns.get_mut(&pending.plan.sources[0].disk).expect("it had its turn");
        turns.under_way -= 1;
        choose(pending, results.into_iter().flatten().collect())
    }

    /// Gives up what is not loaded yet. Gives the disks that it is on.
    pub(super) fn give_up(&mut self) -> Vec<DiskIndex> {
        self.turns.clear();
        self.given_up.extend(self.pending.keys());
        let plans = std::mem::take(&mut self.pending).into_values().map(|pending| pending.plan);
        plans.flat_map(|plan| plan.sources.into_iter().map(|source| source.disk)).collect()
    }

    /// The partition's topic is deleted. `false`: it is not being loaded.
    pub(super) fn delete(&mut self, key: PartitionKey) -> bool {
        let Some(pending) = self.pending.get_mut(&key) else { return false };
        pending.deleted = true;
        self.want(key);
        true
    }

    /// Gives the partitions of topics that `concerns` names the settings that they have now.
    pub(super) fn configure(
        &mut self,
        concerns: impl Fn(&str) -> bool,
        settings: impl Fn(PartitionKey, &TopicPartition) -> PartitionSettings,
    ) {
        for (key, pending) in &mut self.pending {
            if concerns(&pending.plan.name.topic) {
                pending.plan.settings = settings(*key, &pending.plan.name);
                pending.reconfigured = true;
            }
        }
    }

    /// Whether it is to be loaded, by this process or by the next.
    pub(super) fn is_loading(&self, key: PartitionKey) -> bool {
        self.pending.contains_key(&key) || self.given_up.contains(&key)
    }

    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }
}

fn job(request: LoadRequest, aside: Option<FileName>, is_alone: bool) -> Box<dyn DiskJob> {
    Box::new(move |disk: &dyn PatientDisk| match find(disk, &request, aside.as_ref(), is_alone) {
        // The call that met it has waited for a while.
        Err(LoadError::Disk(DiskError::Shortage { .. })) => Ok(JobStep::Again),
        Err(LoadError::Disk(error)) => Err(error),
        found => Ok(JobStep::done(found)),
    })
}

fn find(
    disk: &dyn PatientDisk,
    request: &LoadRequest,
    aside: Option<&FileName>,
    is_alone: bool,
) -> Result<SourceFound, LoadError> {
    if let Some(aside) = aside
        && !is_of_topic(disk, request)?
    {
        match disk.rename(&FileName::new(request.directory.as_str()), aside) {
            // An attempt before, which a shortage ended, may have got as far as that.
            Err(missing @ DiskError::NotFound { .. }) => match disk.list(Some(aside)) {
                Err(DiskError::NotFound { .. }) => return Err(missing.into()),
                // This one may end in a shortage as well.
                listed => drop(listed?),
            },
            renamed => renamed?,
        }
        return Ok(SourceFound::Stray);
    }
    let loaded = load(disk, request)?;
    if !is_alone {
        let entries = disk.list(Some(&FileName::new(request.directory.as_str())))?;
        let file = |name: &str| FileName::new(format!("{}/{name}", request.directory));
        disk.sync(&entries.iter().map(|entry| file(&entry.name)).collect::<Vec<_>>())?;
    }
    Ok(SourceFound::Log(Box::new(loaded)))
}

/// Whether the directory says that it is of the topic with this id. One that does not say of which
/// it is belongs to none.
fn is_of_topic(disk: &dyn PatientDisk, request: &LoadRequest) -> Result<bool, LoadError> {
    let file = FileName::new(format!("{}/{PARTITION_METADATA}", request.directory));
    let bytes = match disk.read(&file, 0, LARGEST_METADATA) {
        Ok(bytes) => bytes,
        Err(DiskError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match PartitionMetadata::parse(&bytes) {
        Ok(found) => Ok(found.topic_id == request.topic),
        Err(error) => Err(LoadError::Unreadable { file, reason: error.to_string() }),
    }
}

/// Bytes of a `partition.metadata`; one that is larger is none.
const LARGEST_METADATA: usize = 4096;

/// Of the sources the one that is the log, as the head of this file has it.
fn choose(pending: PendingLoad, results: Vec<Result<SourceFound, DiskError>>) -> LoadEnd {
    let PendingLoad { plan, deleted, reconfigured, late, .. } = pending;
    let mut remarks = Vec::new();
    let mut superseded = Vec::new();
    let mut best: Option<(usize, Log)> = None;
    let extent = |log: &Log| (log.end(), log.size());
    let directory = |place: usize| {
        let source = &plan.sources[place];
        (source.disk, FileName::new(source.request.directory.as_str()))
    };
    for (place, result) in results.into_iter().enumerate() {
        let LoadedLog { log, report } = match result {
            Ok(SourceFound::Log(loaded)) => *loaded,
            Ok(SourceFound::Stray) => {
                assert!(plan.sources.len() == 1, "of several sources it is known whose they are");
                return LoadEnd::Stray { plan: Box::new(plan), deleted, late };
            }
            // It may be the one that reaches furthest.
            Err(_) => return LoadEnd::Offline { plan: Box::new(plan), deleted },
        };
        remarks.extend(report.remarks);
        match &mut best {
            Some((_, fullest)) if extent(fullest) >= extent(&log) => superseded.push(directory(place)),
            best => {
                let before = best.replace((place, log));
                superseded.extend(before.map(|(place, _)| directory(place)));
            }
        }
    }
    let (place, mut log) = best.expect("a partition that is loaded is somewhere");
    if !superseded.is_empty() {
        let recorded = plan.sources.iter().map(|source| source.request.log_start);
        let start = recorded.fold(log.start(), Offset::max);
        log.raise_start(start.min(log.high_watermark()));
    }
    let (disk, name) = directory(place);
    if !superseded.is_empty() {
        let end = log.end();
        remarks.push(format!("{name} is in two log directories: the one that reaches {end} is taken"));
    }
    let loaded = LoadedPartition { plan, disk, log, superseded, remarks, deleted, reconfigured, late };
    LoadEnd::Loaded(Box::new(loaded))
}
