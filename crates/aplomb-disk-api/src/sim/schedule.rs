//! When commands start and end: three lanes in virtual time.
//!
//! A lane carries neighbouring commands of one kind out together (writes are joined, syncs are one group commit), as the real engine
//! does. The read lane has several readers, so reads overtake each other. An effect happens when its command ends.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;

use super::options::SimOptions;
use super::world::World;
use crate::stats::DiskStats;
use crate::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, Done, FileName, Lane, QueueFull, Ticket,
};

/// A command and whom to tell.
struct Job {
    command: DiskCommand,
    ticket: Ticket,
    sink: Arc<dyn CompletionSink>,
    submitted: Instant,
}

/// A command that came to its end.
pub(super) struct Ended {
    job: Job,
    result: Result<Done, DiskError>,
}

impl Ended {
    /// Tells the owner. Only then the command, and with it the bytes it lent, goes.
    pub(super) fn deliver(self, disk: DiskIndex) {
        self.job.sink.complete(Completion { disk, ticket: self.job.ticket, result: self.result });
    }
}

/// Commands that are carried out together.
struct Batch {
    ends: Instant,
    jobs: Vec<Job>,
}

#[derive(Default)]
struct LaneQueue {
    waiting: VecDeque<Job>,
    at_work: Vec<Batch>,
}

impl LaneQueue {
    fn held(&self) -> usize {
        self.waiting.len() + self.at_work.iter().map(|batch| batch.jobs.len()).sum::<usize>()
    }

    fn oldest(&self) -> Option<Instant> {
        let at_work = self.at_work.iter().flat_map(|batch| &batch.jobs);
        at_work.chain(&self.waiting).map(|job| job.submitted).min()
    }

    /// The next commands to be carried out together.
    fn take_batch(&mut self) -> Vec<Job> {
        let Some(first) = self.waiting.front() else { return Vec::new() };
        let joins = Kind::of(&first.command);
        let count = match joins {
            Kind::Alone => 1,
            _ => self.waiting.iter().take_while(|job| Kind::of(&job.command) == joins).count(),
        };
        self.waiting.drain(..count).collect()
    }
}

/// Which commands can be carried out together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Writes,
    Syncs,
    Publications,
    Alone,
}

impl Kind {
    fn of(command: &DiskCommand) -> Self {
        match command {
            DiskCommand::Write { .. } => Self::Writes,
            DiskCommand::Sync { .. } => Self::Syncs,
            DiskCommand::Publish { .. } => Self::Publications,
            _ => Self::Alone,
        }
    }
}

/// The lanes of one process on one disk.
pub(super) struct Schedule {
    lanes: [LaneQueue; 3],
    /// Submitted after the loss, or waiting when it happened.
    offline: Vec<Job>,
    pub(super) now: Instant,
    pub(super) frozen: bool,
    pub(super) lost: Option<Arc<str>>,
    stats: Arc<DiskStats>,
    wall_start_ms: i64,
}

impl std::fmt::Debug for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held = Lane::ALL.map(|lane| self.lanes[lane.index()].held());
        f.debug_struct("Schedule").field("now", &self.now).field("held", &held).finish_non_exhaustive()
    }
}

impl Schedule {
    pub(super) fn new(options: &SimOptions, stats: Arc<DiskStats>, now: Instant) -> Self {
        Self {
            lanes: Default::default(),
            offline: Vec::new(),
            now,
            frozen: false,
            lost: None,
            stats,
            wall_start_ms: options.wall_start_ms,
        }
    }

    pub(super) fn submit(
        &mut self,
        command: DiskCommand,
        ticket: Ticket,
        sink: &Arc<dyn CompletionSink>,
        now: Instant,
        world: &mut World,
        options: &SimOptions,
    ) -> Result<(), QueueFull<DiskCommand>> {
        self.now = self.now.max(now);
        let lane = command.lane();
        if self.lost.is_none() && self.lanes[lane.index()].held() >= options.lane_depth {
            return Err(QueueFull(command));
        }
        self.stats.lane(lane).on_submit();
        let job = Job { command, ticket, sink: Arc::clone(sink), submitted: self.now };
        if self.lost.is_some() {
            self.offline.push(job);
        } else {
            self.lanes[lane.index()].waiting.push_back(job);
            self.note_oldest(lane);
            self.start(world, options);
        }
        Ok(())
    }

    pub(super) fn next_event(&self) -> Option<Instant> {
        if !self.offline.is_empty() {
            return Some(self.now);
        }
        let ends = self.lanes.iter().flat_map(|lane| &lane.at_work).map(|batch| batch.ends);
        if self.frozen { None } else { ends.min().map(|end| end.max(self.now)) }
    }

    pub(super) fn advance(&mut self, now: Instant, world: &mut World, options: &SimOptions) -> Vec<Ended> {
        assert!(now >= self.now, "virtual time never goes back: {:?} after {:?}", now, self.now);
        let mut ended = Vec::new();
        while let Some((lane, position)) = self.due(now) {
            let Batch { ends, jobs } = self.lanes[lane.index()].at_work.swap_remove(position);
            self.set_now(ends.max(self.now), world);
            for job in jobs {
                self.finish(lane, job, world, &mut ended);
            }
            self.note_oldest(lane);
            self.start(world, options);
        }
        self.set_now(now, world);
        for job in std::mem::take(&mut self.offline) {
            let lane = job.command.lane();
            self.end(lane, job, Err(DiskError::Offline), &mut ended);
        }
        ended
    }

    /// Gives free lanes something to do.
    pub(super) fn start(&mut self, world: &mut World, options: &SimOptions) {
        if self.frozen || self.lost.is_some() {
            return;
        }
        for lane in Lane::ALL {
            let workers = if lane == Lane::Read { options.readers.max(1) } else { 1 };
            let queue = &mut self.lanes[lane.index()];
            while queue.at_work.len() < workers && !queue.waiting.is_empty() {
                let jobs = queue.take_batch();
                let ends = self.now + service_time(&jobs, world, options);
                queue.at_work.push(Batch { ends, jobs });
            }
        }
    }

    /// The first error ends the disk for this process.
    pub(super) fn lose(&mut self, error: &DiskError) {
        self.lost = Some(error.to_string().into());
        for lane in Lane::ALL {
            let queue = &mut self.lanes[lane.index()];
            let at_work = std::mem::take(&mut queue.at_work);
            self.offline.extend(at_work.into_iter().flat_map(|batch| batch.jobs));
            self.offline.extend(queue.waiting.drain(..));
            self.stats.lane(lane).set_oldest(None);
        }
    }

    /// The process dies: in each lane some of what is left happens. Writes to different files are carried out side by side, so each
    /// file is cut somewhere else; everything else stands in line.
    pub(super) fn die(&mut self, world: &mut World) {
        for queue in std::mem::take(&mut self.lanes) {
            let at_work = queue.at_work.into_iter().flat_map(|batch| batch.jobs);
            let mut cut: BTreeSet<FileName> = BTreeSet::new();
            for job in at_work.chain(queue.waiting) {
                let happens = world.random.within(0..4) > 0;
                match &job.command {
                    DiskCommand::Write { file, .. } if cut.contains(file) => {}
                    DiskCommand::Write { file, .. } if !happens => {
                        cut.insert(file.clone());
                        world.execute_in_part(&job.command);
                    }
                    DiskCommand::Write { .. } | DiskCommand::Read { .. } => {
                        // Whether it succeeded is of no interest to the dead.
                        let _ = world.execute(&job.command);
                    }
                    command if happens && cut.is_empty() => {
                        let _ = world.execute(command);
                    }
                    command => {
                        if cut.is_empty() {
                            world.execute_in_part(command);
                        }
                        break;
                    }
                }
            }
        }
    }

    /// The batch that ends next, if that is by `now`: earliest first, then by lane, then by age.
    fn due(&self, now: Instant) -> Option<(Lane, usize)> {
        if self.frozen || self.lost.is_some() {
            return None;
        }
        let ends = Lane::ALL.into_iter().flat_map(|lane| {
            let at_work = self.lanes[lane.index()].at_work.iter().enumerate();
            at_work.map(move |(position, batch)| {
                let first = batch.jobs.first().map(|job| (job.submitted, job.ticket));
                (batch.ends, lane, first, position)
            })
        });
        let (ends, lane, _, position) = ends.min()?;
        (ends <= now).then_some((lane, position))
    }

    fn finish(&mut self, lane: Lane, job: Job, world: &mut World, ended: &mut Vec<Ended>) {
        if self.lost.is_some() {
            return self.end(lane, job, Err(DiskError::Offline), ended);
        }
        if matches!(job.command, DiskCommand::Sync { .. } | DiskCommand::Publish { .. }) {
            self.stats.on_sync();
        }
        let result = world.execute(&job.command);
        let loss = result.as_ref().err().filter(|error| error.is_loss()).cloned();
        self.end(lane, job, result, ended);
        if let Some(error) = loss {
            self.lose(&error);
        }
    }

    fn end(&mut self, lane: Lane, job: Job, result: Result<Done, DiskError>, ended: &mut Vec<Ended>) {
        let bytes = match (&job.command, &result) {
            (DiskCommand::Write { data, .. }, Ok(_)) => data.iter().map(|part| part.len() as u64).sum(),
            (_, Ok(Done::Read(bytes))) => bytes.len() as u64,
            (_, _) => 0,
        };
        self.stats.lane(lane).on_complete(self.now.since(job.submitted), bytes);
        ended.push(Ended { job, result });
    }

    fn note_oldest(&self, lane: Lane) {
        self.stats.lane(lane).set_oldest(self.lanes[lane.index()].oldest());
    }

    fn set_now(&mut self, now: Instant, world: &mut World) {
        self.now = now;
        let elapsed = i64::try_from(now.since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        world.wall_ms = self.wall_start_ms.saturating_add(elapsed);
    }
}

/// How long a batch takes.
fn service_time(jobs: &[Job], world: &mut World, options: &SimOptions) -> Duration {
    let service = &options.service;
    let mut draw = |range: &Range<Duration>| world.random.duration(range.clone());
    let base = match jobs.first().map(|job| &job.command) {
        Some(DiskCommand::Write { .. } | DiskCommand::Truncate { .. }) => draw(&service.write),
        Some(DiskCommand::Sync { .. } | DiskCommand::Publish { .. }) => draw(&service.sync),
        Some(DiskCommand::Read { .. }) => draw(&service.read),
        _ => draw(&service.housekeeping),
    };
    let bytes: u64 = jobs
        .iter()
        .map(|job| match &job.command {
            DiskCommand::Write { data, .. } => data.iter().map(|part| part.len() as u64).sum(),
            DiskCommand::Read { len, .. } => u64::from(*len),
            _ => 0,
        })
        .sum();
    let transfer = bytes.saturating_mul(1_000_000_000) / service.bytes_per_second.max(1);
    base + Duration::from_nanos(transfer)
}
