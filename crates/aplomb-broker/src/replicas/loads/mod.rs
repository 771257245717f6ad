//! Logs that are being loaded: each by a job on the threads of the disk that it is on, while the
//! shard goes on.
//!
//! A disk is given some logs at a time, several of them a job (`job`); the others wait for their
//! turn (`turns`). One that a client asks for is next. So a broker with very many logs serves
//! before all of them are loaded.
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
//! What always holds: a partition that is being loaded is not in the table of partitions; of one
//! that is under way, each source is in one job or has answered.

mod job;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use aplomb_disk_api::{DiskError, DiskIndex, DiskJob, Done, FileName};
use aplomb_log::Log;
use aplomb_log::layout::PartitionDir;
use aplomb_log::recovery::{LoadError, LoadRequest, LoadedLog};
use aplomb_log::state_files::ClosedLogNote;
use aplomb_model::batch::ProducerStamp;
use aplomb_model::{Instant, LeaderEpoch, Offset, TopicPartition, Uuid};

use self::job::{Candidate, Outcome, SourceFound};
use self::turns::Turns;
use crate::calls::PartitionKey;
use crate::partition::{LateProducers, PartitionSettings};

/// A partition that is to be loaded.
pub(crate) struct LoadPlan {
    pub(crate) key: PartitionKey,
    pub(crate) name: TopicPartition,
    pub(crate) leader_epoch: LeaderEpoch,
    /// Apart from the rest, which is moved often.
    pub(crate) settings: Box<PartitionSettings>,
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
    /// What a clean stop noted of the log.
    pub(crate) note: Option<ClosedLogNote>,
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

/// A job that has not ended.
struct JobUnderWay {
    disk: DiskIndex,
    /// What it loads: partitions, each with the place of the source.
    sources: Vec<(PartitionKey, usize)>,
    begun: Instant,
}

/// The loads of a shard.
#[derive(Default)]
pub(super) struct Loads {
    pending: BTreeMap<PartitionKey, Box<PendingLoad>>,
    /// Whose turn it is on a disk: that of the first source.
    turns: BTreeMap<DiskIndex, Turns>,
    jobs: BTreeMap<u64, JobUnderWay>,
    /// Jobs that were ever begun.
    begun: u64,
    /// Logs that were loaded as a clean stop had noted them.
    noted: usize,
    /// Not loaded, and the broker stops.
    given_up: BTreeSet<PartitionKey>,
}

/// A job that is to be carried out.
pub(super) struct LoadJob {
    pub(super) number: u64,
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
}

impl Loads {
    /// A partition is to be loaded, when it is its turn.
    pub(super) fn add(&mut self, plan: LoadPlan) {
        assert!(plan.sources.iter().all(|source| source.aside.is_none()) || plan.sources.len() == 1);
        let (key, disk) = (plan.key, plan.sources[0].disk);
        self.turns.entry(disk).or_default().add(key);
        let stage = LoadStage::Waiting { wanted: false };
        let late = LateProducers::default();
        let pending = PendingLoad { plan, stage, deleted: false, reconfigured: false, late };
        let before = self.pending.insert(key, Box::new(pending));
        assert!(before.is_none(), "a partition is loaded once");
    }

    /// It is next. Asked for again, or under way, it is already.
    pub(super) fn want(&mut self, key: PartitionKey) {
        let Some(pending) = self.pending.get_mut(&key) else { return }; // it is not to be loaded
        if let LoadStage::Waiting { wanted: wanted @ false } = &mut pending.stage {
            *wanted = true;
            let turns = self.turns.get_mut(&pending.plan.sources[0].disk).expect("it waits for its turn");
            turns.want(key);
        }
    }

    /// A batch is refused because its partition is still to be loaded.
    pub(super) fn note_late(&mut self, key: PartitionKey, stamp: ProducerStamp) {
        if let Some(pending) = self.pending.get_mut(&key) {
            pending.late.note(stamp);
        }
    }

    /// Jobs for the disks that have room for them.
    pub(super) fn next(&mut self, now: Instant) -> Vec<LoadJob> {
        let mut jobs = Vec::new();
        let disks: Vec<DiskIndex> = self.turns.keys().copied().collect();
        for disk in disks {
            while self.turns[&disk].has_room() {
                let (sources, is_last) = self.take(disk, now, &mut jobs);
                jobs.extend((!sources.is_empty()).then(|| self.begin(disk, sources, now)));
                if is_last {
                    break;
                }
            }
        }
        jobs
    }

    /// Takes those whose turn it is, for one job; and whether they are the last. Those with several
    /// sources get jobs of their own.
    fn take(
        &mut self,
        disk: DiskIndex,
        now: Instant,
        jobs: &mut Vec<LoadJob>,
    ) -> (Vec<(PartitionKey, usize)>, bool) {
        let mut together = Vec::new();
        while together.len() < self.turns[&disk].size() {
            let Some(key) = self.turns.get_mut(&disk).expect("it has turns").next() else {
                return (together, true);
            };
            // It may have been loaded out of turn, or be under way for that.
            let Some(pending) = self.pending.get_mut(&key) else { continue };
            let LoadStage::Waiting { .. } = pending.stage else { continue };
            let disks: Vec<DiskIndex> = pending.plan.sources.iter().map(|source| source.disk).collect();
            pending.stage = LoadStage::UnderWay(disks.iter().map(|_| None).collect());
            if disks.len() == 1 {
                together.push((key, 0));
            } else {
                let each = disks.into_iter().enumerate();
                jobs.extend(each.map(|(place, disk)| self.begin(disk, vec![(key, place)], now)));
            }
        }
        (together, false)
    }

    fn begin(&mut self, disk: DiskIndex, sources: Vec<(PartitionKey, usize)>, now: Instant) -> LoadJob {
        let wanted = sources.iter().map(|(key, place)| {
            let plan = &self.pending[key].plan;
            let (source, is_alone) = (&plan.sources[*place], plan.sources.len() == 1);
            let mut request = source.request.clone();
            request.config.clone_from(&plan.settings.log);
            // A copy that was under way is not whole because its directory was closed cleanly.
            request.clean &= is_alone;
            let (aside, note) = (source.stray_name(&plan.name), source.note.clone());
            Candidate { request, aside, is_alone, note }
        });
        let job = job::job(wanted.collect());
        self.turns.entry(disk).or_default().on_begin();
        self.begun += 1;
        self.jobs.insert(self.begun, JobUnderWay { disk, sources, begun: now });
        LoadJob { number: self.begun, disk, job }
    }

    /// A job has ended.
    ///
    /// # Errors
    /// A log cannot be used, and the broker must not go on without it.
    pub(super) fn on_result(
        &mut self,
        number: u64,
        result: Result<Done, DiskError>,
        now: Instant,
    ) -> Result<Vec<(PartitionKey, LoadEnd)>, LoadError> {
        let JobUnderWay { disk, sources, begun } = self.jobs.remove(&number).expect("a job ends once");
        // Loads that were given up have no turns.
        if let Some(turns) = self.turns.get_mut(&disk) {
            turns.on_end(sources.len(), now.since(begun));
        }
        let found: Vec<_> = match result {
            Ok(Done::Job(outcome)) => {
                let outcome = outcome.take::<Outcome>().expect("a load ends with logs, or says why not");
                let found: Vec<_> = outcome?.into_iter().map(Ok).collect();
                assert_eq!(found.len(), sources.len(), "each directory is looked at");
                found
            }
            Ok(other) => unreachable!("a load does not end with {other:?}"),
            Err(error) => sources.iter().map(|_| Err(error.clone())).collect(),
        };
        let is_noted =
            |found: &&Result<SourceFound, _>| matches!(found, Ok(SourceFound::Log(log)) if log.report.noted);
        self.noted += found.iter().filter(is_noted).count();
        let answers = sources.into_iter().zip(found);
        Ok(answers.map(|((key, place), found)| (key, self.on_answer(key, place, found))).collect())
    }

    /// A source has answered.
    fn on_answer(
        &mut self,
        key: PartitionKey,
        place: usize,
        found: Result<SourceFound, DiskError>,
    ) -> LoadEnd {
        // The broker stops, and does not wait for it.
        let Some(pending) = self.pending.get_mut(&key) else { return LoadEnd::NotYet };
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
        choose(*pending, results.into_iter().flatten().collect())
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
        mut settings: impl FnMut(PartitionKey, &TopicPartition) -> PartitionSettings,
    ) {
        for (key, pending) in &mut self.pending {
            if concerns(&pending.plan.name.topic) {
                *pending.plan.settings = settings(*key, &pending.plan.name);
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

    /// How many logs were loaded as a clean stop had noted them.
    pub(super) fn noted(&self) -> usize {
        self.noted
    }
}

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
