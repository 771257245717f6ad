//! The console: a page that shows where requests' time goes, now and in the last hour, how each
//! disk and the tail are, partitions, groups, and what slow requests have waited for.
//!
//! The page, its script and its style are [`assets`]; what they show is made here, as JSON, by the
//! thread that makes the numbers, from the same counters.
//!
//! What always holds: nothing of it is done by threads that carry requests; what is said is bounded
//! by [`MOST_ROWS`] and by the [`history`].

pub(crate) mod assets;
mod history;
mod measure;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aplomb_disk_api::Lane;
use aplomb_disk_api::stats::DiskStats;
use aplomb_model::Instant;
use serde::Serialize;

use self::history::{History, STEP};
use self::measure::{Counters, Levels};
use super::kafka::{Kafka, Shown};
use super::recorder::{Recorder, Slow};
use crate::clock;
use crate::figures::LoopFigures;
use crate::net::Connections;

/// Partitions, groups and slow requests that are shown one by one.
const MOST_ROWS: usize = 50;

/// A disk's share of the tail, in bytes.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TailFigures {
    /// The share.
    pub bytes: u64,
    /// Free memory of it.
    pub free: u64,
    /// The least that was ever free.
    pub fewest_free: u64,
    /// Memory that logs hold.
    pub held: u64,
    /// Memory among it that the disk has wholly.
    pub cached: u64,
    /// Memory of which readers hold slices.
    pub pinned: u64,
    /// Bytes that the disk does not have yet.
    pub waiting: u64,
    /// Batches that wait for room, beside it.
    pub producing: u64,
    /// Records on their way to readers, beside it.
    pub reading: u64,
}

/// Says how a disk's share of the tail is.
pub type TailSource = Box<dyn Fn() -> TailFigures + Send>;

/// What is looked at.
pub(crate) struct Sources {
    pub(crate) kafka: Arc<Mutex<Kafka>>,
    pub(crate) loops: Vec<Arc<LoopFigures>>,
    pub(crate) connections: Arc<Connections>,
    /// By their index, as the following.
    pub(crate) directories: Vec<String>,
    pub(crate) disks: Vec<Arc<DiskStats>>,
    pub(crate) tails: Vec<TailSource>,
}

/// The last hour, and where the rest of what is shown is to be had.
pub(crate) struct Console {
    sources: Sources,
    /// When it began, in milliseconds since 1970: steps are those of one process.
    run: i64,
    history: History,
    before: Counters,
}

/// What the page shows.
#[derive(Serialize)]
struct Data<'a> {
    run: i64,
    version: &'static str,
    at: i64,
    step_ms: u64,
    /// The number of the first step in it.
    first: u64,
    times: Vec<i64>,
    series: BTreeMap<&'a str, Vec<f32>>,
    disks: Vec<DiskNow<'a>>,
    #[serde(flatten)]
    shown: Shown,
    slow: SlowNow<'a>,
}

#[derive(Serialize)]
struct DiskNow<'a> {
    directory: &'a str,
    age_ms: f64,
    lanes: Vec<LaneNow>,
    tail: TailFigures,
}

#[derive(Serialize)]
struct LaneNow {
    name: &'static str,
    age_ms: f64,
    depth: u64,
}

#[derive(Serialize)]
struct SlowNow<'a> {
    limit: String,
    counts: BTreeMap<&'static str, u64>,
    missed: u64,
    kept: usize,
    requests: Vec<&'a Slow>,
}

impl Console {
    pub(crate) fn new(sources: Sources, recorder: &Recorder) -> Self {
        let now = clock::now();
        let counts = lock(&sources.kafka).counts();
        let before = Counters::of(&sources, counts, recorder.total(), now.instant);
        let history = History::new(measure::names(sources.disks.len()));
        Self { sources, run: now.wall.0, history, before }
    }

    /// Makes a step of the history when it is time for one.
    pub(crate) fn look(&mut self, recorder: &Recorder) {
        let now = clock::now();
        if now.instant.since(self.before.at) < STEP {
            return;
        }
        let counts = lock(&self.sources.kafka).counts();
        let counters = Counters::of(&self.sources, counts, recorder.total(), now.instant);
        let disks = 0..self.sources.disks.len();
        let levels = Levels {
            connections: self.sources.connections.total(),
            ages: disks.map(|disk| recorder.age(disk, self.before.at, now.instant)).collect(),
        };
        let values = counters.since(&self.before, &self.sources, &levels);
        self.history.push(now.wall.0 / 1000, values);
        self.before = counters;
    }

    /// What the page shows, with the steps from number `since` on.
    pub(crate) fn data(&self, since: u64, recorder: &Recorder) -> String {
        let now = clock::now();
        let excerpt = self.history.since(since);
        let (counts, missed) = recorder.counts();
        let data = Data {
            run: self.run,
            version: env!("CARGO_PKG_VERSION"),
            at: now.wall.0,
            step_ms: u64::try_from(STEP.as_millis()).unwrap_or(u64::MAX),
            first: excerpt.first,
            times: excerpt.times,
            series: excerpt.series,
            disks: (0..self.sources.disks.len()).map(|disk| self.disk(disk, now.instant)).collect(),
            shown: lock(&self.sources.kafka).shown(MOST_ROWS),
            slow: SlowNow {
                limit: recorder.limit(),
                counts,
                missed,
                kept: recorder.last().count(),
                requests: recorder.last().take(MOST_ROWS).collect(),
            },
        };
        serde_json::to_string(&data).expect("it has no keys but texts")
    }

    fn disk(&self, disk: usize, now: Instant) -> DiskNow<'_> {
        let stats = &self.sources.disks[disk];
        let age = |oldest: Option<Instant>| oldest.map_or(Duration::ZERO, |at| now.since(at));
        let millis = |time: Duration| time.as_micros() as f64 / 1000.0;
        let lanes = Lane::ALL.iter().map(|lane| LaneNow {
            name: lane.name(),
            age_ms: millis(age(stats.lane(*lane).oldest())),
            depth: stats.lane(*lane).depth(),
        });
        DiskNow {
            directory: &self.sources.directories[disk],
            age_ms: millis(age(stats.oldest())),
            lanes: lanes.collect(),
            tail: (self.sources.tails[disk])(),
        }
    }
}

fn lock(kafka: &Mutex<Kafka>) -> MutexGuard<'_, Kafka> {
    kafka.lock().unwrap_or_else(PoisonError::into_inner)
}
