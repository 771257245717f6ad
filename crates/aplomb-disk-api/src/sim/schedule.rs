//! When commands and jobs start and end: the lanes in virtual time.
//!
//! A lane carries neighbouring commands of one kind out together (writes are joined, syncs are one
//! group commit), as the real engine does. The read lane has several readers, so reads overtake
//! each other. An effect happens when its command ends; that of a job's step when the time of the
//! step is over.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::Instant;

use super::options::SimOptions;
use super::world::World;
use crate::stats::DiskStats;
use crate::{
    Completion, CompletionSink, DiskCommand, DiskError, DiskIndex, DiskJob, Done, FileName, JobStep, Lane,
    PatientDisk, Ticket,
};

/// How long a command waits in a shortage before it is tried again.
const SHORTAGE: Duration = Duration::from_millis(50);

/// What a lane takes in.
pub(super) enum Work {
    Command(DiskCommand),
    Job(Job),
}

/// A job on its way through its steps.
pub(super) struct Job {
    job: Box<dyn DiskJob>,
    /// Bytes that its steps have moved.
    moved: u64,
    /// What came of it; the bytes of its last step are still on their way.
    result: Option<Result<Done, DiskError>>,
}

impl Work {
    pub(super) fn job(job: Box<dyn DiskJob>) -> Self {
        Self::Job(Job { job, moved: 0, result: None })
    }

    pub(super) fn lane(&self) -> Lane {
        match self {
            Self::Command(command) => command.lane(),
            Self::Job(_) => Lane::Job,
        }
    }
}

/// What a lane took in, and where its completion goes.
struct Accepted {
    work: Work,
    ticket: Ticket,
    sink: Arc<dyn CompletionSink>,
    submitted: Instant,
}

impl Accepted {
    /// Whether there is no descriptor for it now.
    fn has_to_wait(&self, world: &mut World) -> bool {
        match &self.work {
            Work::Command(command) => world.has_to_wait(command),
            Work::Job(_) => false,
        }
    }
}

/// A command or a job that came to its end.
pub(super) struct Ended {
    accepted: Accepted,
    result: Result<Done, DiskError>,
}

impl Ended {
    /// Tells the owner. Only then the command, and with it the bytes it lent, goes.
    pub(super) fn deliver(self, disk: DiskIndex) {
        let Accepted { ticket, sink, .. } = &self.accepted;
        sink.complete(Completion { disk, ticket: *ticket, result: self.result });
    }
}

/// A job whose next step is due. The step uses the disk, so it is taken outside the disk's lock.
pub(super) struct StepDue {
    job: Job,
    ticket: Ticket,
    sink: Arc<dyn CompletionSink>,
    submitted: Instant,
}

impl StepDue {
    pub(super) fn step(&mut self, disk: &dyn PatientDisk) -> Result<JobStep, DiskError> {
        self.job.job.step(disk)
    }
}

/// Commands that are carried out together, or one job's present step.
struct Batch {
    began: Instant,
    ends: Instant,
    accepted: Vec<Accepted>,
}

#[derive(Default)]
struct LaneQueue {
    waiting: VecDeque<Accepted>,
    at_work: Vec<Batch>,
}

impl LaneQueue {
    fn held(&self) -> usize {
        self.waiting.len() + self.at_work.iter().map(|batch| batch.accepted.len()).sum::<usize>()
    }

    /// When the oldest command was submitted.
    fn oldest(&self) -> Option<Instant> {
        let at_work = self.at_work.iter().flat_map(|batch| &batch.accepted);
        at_work.chain(&self.waiting).map(|accepted| accepted.submitted).min()
    }

    /// The next commands to be carried out together.
    fn take_batch(&mut self) -> Vec<Accepted> {
        let Some(first) = self.waiting.front() else { return Vec::new() };
        let joins = Joins::of(&first.work);
        let count = match joins {
            Joins::Alone => 1,
            _ => self.waiting.iter().take_while(|accepted| Joins::of(&accepted.work) == joins).count(),
        };
        self.waiting.drain(..count).collect()
    }
}

/// Which commands can be carried out together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joins {
    Writes,
    Syncs,
    Publications,
    Alone,
}

impl Joins {
    fn of(work: &Work) -> Self {
        match work {
            Work::Command(DiskCommand::Write { .. }) => Self::Writes,
            Work::Command(DiskCommand::Sync { .. }) => Self::Syncs,
            Work::Command(DiskCommand::Publish { .. }) => Self::Publications,
            Work::Command(_) | Work::Job(_) => Self::Alone,
        }
    }
}

/// The lanes of one process on one disk.
pub(super) struct Schedule {
    lanes: [LaneQueue; Lane::COUNT],
    /// Submitted after the loss, or waiting when it happened.
    offline: Vec<Accepted>,
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

    /// Whether a lane takes one more. A lost disk takes everything.
    pub(super) fn has_room(&self, lane: Lane, options: &SimOptions) -> bool {
        self.lost.is_some() || self.lanes[lane.index()].held() < options.lane_depth
    }

    pub(super) fn accept(
        &mut self,
        work: Work,
        ticket: Ticket,
        sink: &Arc<dyn CompletionSink>,
        now: Instant,
        world: &mut World,
        options: &SimOptions,
    ) {
        self.now = self.now.max(now);
        let lane = work.lane();
        self.stats.lane(lane).on_submit();
        let accepted = Accepted { work, ticket, sink: Arc::clone(sink), submitted: self.now };
        if self.lost.is_some() {
            self.offline.push(accepted);
        } else {
            self.lanes[lane.index()].waiting.push_back(accepted);
            self.start(world, options);
            self.note_oldest(lane);
        }
    }

    pub(super) fn next_event(&self) -> Option<Instant> {
        if !self.offline.is_empty() {
            return Some(self.now);
        }
        let ends = self.lanes.iter().flat_map(|lane| &lane.at_work).map(|batch| batch.ends);
        if self.frozen { None } else { ends.min().map(|end| end.max(self.now)) }
    }

    /// Carries out what is due by `now`, up to the next step of a job: the caller takes that, says
    /// so to [`Schedule::stepped`] and comes back.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        world: &mut World,
        options: &SimOptions,
        ended: &mut Vec<Ended>,
    ) -> Option<StepDue> {
        assert!(now >= self.now, "virtual time never goes back: {:?} after {:?}", now, self.now);
        while let Some((lane, position)) = self.due(now) {
            let Batch { ends, accepted, .. } = self.lanes[lane.index()].at_work.swap_remove(position);
            self.set_now(ends.max(self.now), world);
            let mut rest = VecDeque::from(accepted);
            while let Some(one) = rest.pop_front() {
                if self.lost.is_none() && one.has_to_wait(world) {
                    self.stats.on_shortage();
                    rest.push_front(one);
                    let (began, ends) = (self.now, self.now + SHORTAGE);
                    let batch = Batch { began, ends, accepted: rest.into() };
                    self.lanes[lane.index()].at_work.push(batch);
                    break;
                }
                if let Some(due) = self.carry_out(one, world, ended) {
                    return Some(due);
                }
            }
            self.start(world, options);
            self.note_oldest(lane);
        }
        self.set_now(now, world);
        for mut accepted in std::mem::take(&mut self.offline) {
            let result = match &mut accepted.work {
                Work::Job(job) => job.result.take(),
                Work::Command(_) => None,
            };
            self.end(accepted, result.unwrap_or(Err(DiskError::Offline)), ended);
        }
        None
    }

    /// A step of a job was taken.
    pub(super) fn stepped(
        &mut self,
        due: StepDue,
        result: Result<JobStep, DiskError>,
        world: &mut World,
        options: &SimOptions,
        ended: &mut Vec<Ended>,
    ) {
        let StepDue { mut job, ticket, sink, submitted } = due;
        let moved = std::mem::take(&mut world.moved);
        job.moved += moved;
        let result = match result {
            Ok(JobStep::Again) => None,
            Ok(JobStep::Done(outcome)) => Some(Ok(Done::Job(outcome))),
            Err(error) => Some(Err(error)),
        };
        if self.lost.is_some() {
            let accepted = Accepted { work: Work::Job(job), ticket, sink, submitted };
            return self.end(accepted, result.unwrap_or(Err(DiskError::Offline)), ended);
        }
        let mut ends = self.now + transfer(moved, options);
        if result.is_none() {
            ends = ends + world.random.duration(options.service.job_step.clone());
        }
        job.result = result;
        let accepted = Accepted { work: Work::Job(job), ticket, sink, submitted };
        let batch = Batch { began: self.now, ends, accepted: vec![accepted] };
        self.lanes[Lane::Job.index()].at_work.push(batch);
        self.note_oldest(Lane::Job);
    }

    /// Gives free lanes something to do.
    pub(super) fn start(&mut self, world: &mut World, options: &SimOptions) {
        if self.frozen || self.lost.is_some() {
            return;
        }
        for lane in Lane::ALL {
            let workers = match lane {
                Lane::Read => options.readers.max(1),
                Lane::Job => options.job_threads.max(1),
                Lane::Write | Lane::Housekeeping => 1,
            };
            let queue = &mut self.lanes[lane.index()];
            while queue.at_work.len() < workers && !queue.waiting.is_empty() {
                let accepted = queue.take_batch();
                let ends = self.now + service_time(&accepted, world, options);
                queue.at_work.push(Batch { began: self.now, ends, accepted });
            }
        }
    }

    /// The first error ends the disk for this process.
    pub(super) fn lose(&mut self, error: &DiskError) {
        self.lost = Some(error.to_string().into());
        for lane in Lane::ALL {
            let queue = &mut self.lanes[lane.index()];
            let at_work = std::mem::take(&mut queue.at_work);
            self.offline.extend(at_work.into_iter().flat_map(|batch| batch.accepted));
            self.offline.extend(queue.waiting.drain(..));
            self.stats.lane(lane).set_oldest(None);
        }
    }

    /// The jobs that are in the middle of a step. They are gone from their lane.
    pub(super) fn take_jobs_at_work(&mut self) -> Vec<Box<dyn DiskJob>> {
        let batches = std::mem::take(&mut self.lanes[Lane::Job.index()].at_work);
        let works = batches.into_iter().flat_map(|batch| batch.accepted).map(|accepted| accepted.work);
        let unfinished = |work| match work {
            Work::Job(Job { job, result: None, .. }) => Some(job),
            _ => None,
        };
        works.filter_map(unfinished).collect()
    }

    /// The process dies: in each lane of commands some of what is left happens. Writes to different
    /// files are carried out side by side, so each file is cut somewhere else; everything else
    /// stands in line.
    pub(super) fn die(&mut self, world: &mut World) {
        for queue in std::mem::take(&mut self.lanes) {
            let at_work = queue.at_work.into_iter().flat_map(|batch| batch.accepted);
            let mut cut: BTreeSet<FileName> = BTreeSet::new();
            for accepted in at_work.chain(queue.waiting) {
                let Work::Command(command) = &accepted.work else { continue };
                let happens = world.random.within(0..4) > 0;
                match command {
                    DiskCommand::Write { file, .. } if cut.contains(file) => {}
                    DiskCommand::Write { file, .. } if !happens => {
                        cut.insert(file.clone());
                        world.execute_in_part(command);
                    }
                    DiskCommand::Write { .. } | DiskCommand::Read { .. } => {
                        // Whether it succeeded is of no interest to the dead.
                        let _ = world.execute(command);
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
                let first = batch.accepted.first().map(|first| (first.submitted, first.ticket));
                (batch.ends, lane, first, position)
            })
        });
        let (ends, lane, _, position) = ends.min()?;
        (ends <= now).then_some((lane, position))
    }

    /// The time of a command, or of a job's present step, is over.
    fn carry_out(
        &mut self,
        accepted: Accepted,
        world: &mut World,
        ended: &mut Vec<Ended>,
    ) -> Option<StepDue> {
        let Accepted { work, ticket, sink, submitted } = accepted;
        let (work, result) = match work {
            work if self.lost.is_some() => (work, Err(DiskError::Offline)),
            Work::Command(command) => {
                if matches!(command, DiskCommand::Sync { .. } | DiskCommand::Publish { .. }) {
                    self.stats.on_sync();
                }
                let result = world.execute(&command);
                (Work::Command(command), result)
            }
            Work::Job(mut job) => match job.result.take() {
                Some(result) => (Work::Job(job), result),
                None => {
                    world.moved = 0;
                    return Some(StepDue { job, ticket, sink, submitted });
                }
            },
        };
        let accepted = Accepted { work, ticket, sink, submitted };
        let loss = result.as_ref().err().filter(|error| matches!(error, DiskError::Failed { .. })).cloned();
        self.end(accepted, result, ended);
        if let Some(error) = loss {
            self.lose(&error);
        }
        None
    }

    fn end(&mut self, accepted: Accepted, result: Result<Done, DiskError>, ended: &mut Vec<Ended>) {
        let bytes = match (&accepted.work, &result) {
            (Work::Command(DiskCommand::Write { data, .. }), Ok(_)) => {
                data.iter().map(|part| part.len() as u64).sum()
            }
            (Work::Job(job), _) => job.moved,
            (_, Ok(Done::Read(bytes))) => bytes.len() as u64,
            (_, _) => 0,
        };
        let stats = self.stats.lane(accepted.work.lane());
        stats.on_complete(self.now.since(accepted.submitted), bytes);
        ended.push(Ended { accepted, result });
    }

    fn note_oldest(&self, lane: Lane) {
        let queue = &self.lanes[lane.index()];
        let oldest = match lane {
            Lane::Job => queue.at_work.iter().map(|step| step.began).min(),
            Lane::Write | Lane::Read | Lane::Housekeeping => queue.oldest(),
        };
        self.stats.lane(lane).set_oldest(oldest);
    }

    fn set_now(&mut self, now: Instant, world: &mut World) {
        self.now = now;
        let elapsed = i64::try_from(now.since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        world.wall_ms = self.wall_start_ms.saturating_add(elapsed);
    }
}

/// How long a batch takes.
fn service_time(batch: &[Accepted], world: &mut World, options: &SimOptions) -> Duration {
    let service = &options.service;
    let range = match batch.first().map(|first| &first.work) {
        Some(Work::Command(DiskCommand::Write { .. } | DiskCommand::Truncate { .. })) => &service.write,
        Some(Work::Command(DiskCommand::Sync { .. } | DiskCommand::Publish { .. })) => &service.sync,
        Some(Work::Command(DiskCommand::Read { .. })) => &service.read,
        Some(Work::Command(_)) | None => &service.housekeeping,
        Some(Work::Job(_)) => &service.job_step,
    };
    let bytes = batch
        .iter()
        .map(|accepted| match &accepted.work {
            Work::Command(DiskCommand::Write { data, .. }) => data.iter().map(|part| part.len() as u64).sum(),
            Work::Command(DiskCommand::Read { len, .. }) => u64::from(*len),
            _ => 0,
        })
        .sum();
    world.random.duration(range.clone()) + transfer(bytes, options)
}

/// How long bytes take on their way.
fn transfer(bytes: u64, options: &SimOptions) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / options.service.bytes_per_second.max(1))
}
