//! Logs that are being loaded: each by a job on the threads of the disk that it is on, while the
//! shard goes on.
//!
//! A partition may be in two log directories: a move that was interrupted between naming its copy
//! and removing the original leaves both, and they are beginnings of one log. Both are loaded, and
//! the one that reaches further is the log; of two that reach equally far it is the first.
//!
//! What always holds: a partition that is being loaded is not in the table of partitions.

use std::collections::BTreeMap;

use aplomb_disk_api::{DiskError, DiskIndex, DiskJob, Done, FileName, JobStep, PatientDisk};
use aplomb_log::Log;
use aplomb_log::recovery::{LoadError, LoadRequest, LoadedLog, load};
use aplomb_model::{LeaderEpoch, TopicPartition};

use crate::calls::PartitionKey;
use crate::partition::PartitionSettings;

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
}

/// A partition whose log is being loaded.
struct UnderWay {
    plan: LoadPlan,
    /// What came of each source.
    results: Vec<Option<Result<LoadedLog, DiskError>>>,
}

/// The loads of a shard.
#[derive(Default)]
pub(super) struct Loads {
    under_way: BTreeMap<PartitionKey, UnderWay>,
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
}

/// How a load ended.
pub(super) enum LoadEnd {
    /// Other sources have not answered yet, or the load was given up.
    NotYet,
    Loaded(Box<LoadedPartition>),
    /// A disk that may have the log is lost: the partition is offline.
    Offline,
    /// The log cannot be used, and the broker must not go on without it.
    Unusable(LoadError),
}

impl Loads {
    /// Begins to load a partition. Gives the jobs for the disks.
    pub(super) fn begin(&mut self, plan: LoadPlan) -> Vec<(DiskIndex, Box<dyn DiskJob>)> {
        let is_alone = plan.sources.len() == 1;
        let jobs = plan.sources.iter().map(|source| {
            let mut request = source.request.clone();
            // A copy that was under way is not whole because its directory was closed cleanly.
            request.clean &= is_alone;
            (source.disk, job(request))
        });
        let jobs = jobs.collect();
        let results = plan.sources.iter().map(|_| None).collect();
        let before = self.under_way.insert(plan.key, UnderWay { plan, results });
        assert!(before.is_none(), "a partition is loaded once");
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
        let Some(under_way) = self.under_way.get_mut(&key) else { return LoadEnd::NotYet };
        let loaded = match result {
            Ok(Done::Job(outcome)) => {
                let outcome = outcome.take::<Result<LoadedLog, LoadError>>();
                match outcome.expect("a load ends with a log, or says why not") {
                    Ok(loaded) => Ok(loaded),
                    Err(error) => return LoadEnd::Unusable(error),
                }
            }
            Ok(other) => unreachable!("a load does not end with {other:?}"),
            Err(error) => Err(error),
        };
        let before = under_way.results[place].replace(loaded);
        assert!(before.is_none(), "a source answers once");
        if under_way.results.iter().any(Option::is_none) {
            return LoadEnd::NotYet;
        }
        let UnderWay { plan, results } = self.under_way.remove(&key).expect("it was there just now");
        choose(plan, results)
    }

    /// Gives up what is not loaded yet. Gives the disks that it is on.
    pub(super) fn give_up(&mut self) -> Vec<DiskIndex> {
        let plans = std::mem::take(&mut self.under_way).into_values().map(|under_way| under_way.plan);
        plans.flat_map(|plan| plan.sources.into_iter().map(|source| source.disk)).collect()
    }

    pub(super) fn is_loading(&self, key: PartitionKey) -> bool {
        self.under_way.contains_key(&key)
    }

    pub(super) fn len(&self) -> usize {
        self.under_way.len()
    }
}

fn job(request: LoadRequest) -> Box<dyn DiskJob> {
    Box::new(move |disk: &dyn PatientDisk| match load(disk, &request) {
        Err(LoadError::Disk(error)) => Err(error),
        loaded => Ok(JobStep::done(loaded)),
    })
}

/// Of the sources the one that reaches furthest.
fn choose(plan: LoadPlan, results: Vec<Option<Result<LoadedLog, DiskError>>>) -> LoadEnd {
    let mut remarks = Vec::new();
    let mut superseded = Vec::new();
    let mut best: Option<(usize, Log)> = None;
    let directory = |place: usize| {
        let source = &plan.sources[place];
        (source.disk, FileName::new(source.request.directory.as_str()))
    };
    for (place, result) in results.into_iter().flatten().enumerate() {
        let Ok(LoadedLog { log, report }) = result else {
            return LoadEnd::Offline; // it may be the one that reaches furthest
        };
        remarks.extend(report.remarks);
        match &mut best {
            Some((_, longest)) if longest.end() >= log.end() => superseded.push(directory(place)),
            best => {
                let before = best.replace((place, log));
                superseded.extend(before.map(|(place, _)| directory(place)));
            }
        }
    }
    let (place, log) = best.expect("a partition that is loaded is somewhere");
    let (disk, name) = directory(place);
    if !superseded.is_empty() {
        let end = log.end();
        remarks.push(format!("{name} is in two log directories: the one that reaches {end} is taken"));
    }
    LoadEnd::Loaded(Box::new(LoadedPartition { plan, disk, log, superseded, remarks }))
}
