//! A shard's way to one disk: what was asked and why, and what waits because a lane is full.
//!
//! Order is kept within a lane: once a command has to wait, all later ones of its lane wait behind
//! it. What waits is bounded by what it points at: the tail's share for writes, parked requests for
//! reads, files for housekeeping.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use aplomb_disk_api::{DiskCommand, DiskIndex, DiskJob, DiskQueue, Lane, QueueFull, Ticket};
use aplomb_model::Instant;

/// How soon a lane is tried again that others have filled.
const RETRY: Duration = Duration::from_millis(2);
/// So many commands have room to wait at any time. A crowd of partitions makes more, once.
const ROOM: usize = 64;

/// Remembers for each command why it was given; `P` is the purpose.
pub(crate) struct DiskPort<P> {
    queue: Box<dyn DiskQueue>,
    outstanding: HashMap<Ticket, (Lane, P)>,
    /// How many of those are in each lane.
    in_lane: [usize; Lane::COUNT],
    waiting: [VecDeque<(DiskCommand, P)>; Lane::COUNT],
    waiting_jobs: VecDeque<(Box<dyn DiskJob>, P)>,
    tried: Instant,
}

impl<P> DiskPort<P> {
    /// A port on a queue that nothing was submitted to yet.
    pub(crate) fn new(queue: Box<dyn DiskQueue>) -> Self {
        Self {
            queue,
            outstanding: HashMap::new(),
            in_lane: [0; Lane::COUNT],
            waiting: Default::default(),
            waiting_jobs: VecDeque::new(),
            tried: Instant::START,
        }
    }

    /// The disk behind the port.
    pub(crate) fn disk(&self) -> DiskIndex {
        self.queue.disk()
    }

    /// Hands a command to the disk, or keeps it until the disk takes it.
    pub(crate) fn submit(&mut self, command: DiskCommand, purpose: P, now: Instant) {
        let lane = command.lane();
        self.waiting[lane.index()].push_back((command, purpose));
        self.push(lane, now);
    }

    /// Hands a job to the disk, or keeps it until the disk takes it.
    pub(crate) fn submit_job(&mut self, job: Box<dyn DiskJob>, purpose: P, now: Instant) {
        self.waiting_jobs.push_back((job, purpose));
        self.push_jobs(now);
    }

    /// Drops the jobs that the disk has not taken yet.
    pub(crate) fn drop_waiting_jobs(&mut self) {
        self.waiting_jobs.clear();
    }

    /// The purpose of a completed command or job. Makes room for what waited.
    pub(crate) fn on_completion(&mut self, ticket: Ticket, now: Instant) -> Option<P> {
        let (lane, purpose) = self.outstanding.remove(&ticket)?;
        self.in_lane[lane.index()] -= 1;
        self.retry(now);
        Some(purpose)
    }

    /// Commands given and not yet completed, those that wait included.
    pub(crate) fn pending(&self) -> usize {
        let commands: usize = self.waiting.iter().map(VecDeque::len).sum();
        self.outstanding.len() + commands + self.waiting_jobs.len()
    }

    /// When to call [`Self::retry`], if commands wait for a lane that only others have filled: no
    /// completion will come here that says when there is room.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        let waits = |lane: &Lane| match lane {
            Lane::Job => !self.waiting_jobs.is_empty(),
            lane => !self.waiting[lane.index()].is_empty(),
        };
        let is_stuck = |lane: &Lane| self.in_lane[lane.index()] == 0 && waits(lane);
        Lane::ALL.iter().any(is_stuck).then(|| self.tried + RETRY)
    }

    /// Tries again to hand over what waits.
    pub(crate) fn retry(&mut self, now: Instant) {
        for lane in Lane::ALL {
            self.push(lane, now);
        }
        self.push_jobs(now);
    }

    fn push_jobs(&mut self, now: Instant) {
        self.tried = now;
        while let Some((job, purpose)) = self.waiting_jobs.pop_front() {
            match self.queue.try_submit_job(job, now) {
                Ok(ticket) => self.note(ticket, Lane::Job, purpose),
                Err(QueueFull(job)) => return self.waiting_jobs.push_front((job, purpose)),
            }
        }
        self.waiting_jobs.shrink_to(ROOM);
    }

    fn note(&mut self, ticket: Ticket, lane: Lane, purpose: P) {
        let before = self.outstanding.insert(ticket, (lane, purpose));
        assert!(before.is_none(), "a ticket is not used twice");
        self.in_lane[lane.index()] += 1;
    }

    fn push(&mut self, lane: Lane, now: Instant) {
        self.tried = now;
        while let Some((command, purpose)) = self.waiting[lane.index()].pop_front() {
            match self.queue.try_submit(command, now) {
                Ok(ticket) => self.note(ticket, lane, purpose),
                Err(QueueFull(command)) => {
                    return self.waiting[lane.index()].push_front((command, purpose));
                }
            }
        }
        // Nothing waits.
        self.waiting[lane.index()].shrink_to(ROOM);
    }
}

#[cfg(test)]
mod tests {
    use aplomb_disk_api::{DiskJob, FileName};

    use super::*;

    /// Takes `room` commands, then is full until told otherwise.
    struct Narrow {
        room: std::sync::Arc<std::sync::Mutex<usize>>,
        taken: std::sync::Arc<std::sync::Mutex<Vec<DiskCommand>>>,
    }

    impl DiskQueue for Narrow {
        fn disk(&self) -> DiskIndex {
            DiskIndex(0)
        }

        fn try_submit(&mut self, command: DiskCommand, _: Instant) -> Result<Ticket, QueueFull<DiskCommand>> {
            let mut room = self.room.lock().expect("not poisoned");
            if *room == 0 {
                return Err(QueueFull(command));
            }
            *room -= 1;
            let mut taken = self.taken.lock().expect("not poisoned");
            taken.push(command);
            Ok(Ticket(taken.len() as u64))
        }

        fn try_submit_job(
            &mut self,
            job: Box<dyn DiskJob>,
            _: Instant,
        ) -> Result<Ticket, QueueFull<Box<dyn DiskJob>>> {
            Err(QueueFull(job))
        }
    }

    #[test]
    fn what_a_full_lane_refused_is_handed_over_later_in_the_same_order() {
        let room = std::sync::Arc::new(std::sync::Mutex::new(1));
        let taken = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut port = DiskPort::new(Box::new(Narrow { room: room.clone(), taken: taken.clone() }));
        let write = |at| DiskCommand::Write { file: FileName::new("t-0/a.log"), at, data: Vec::new() };
        for at in 0..3 {
            port.submit(write(at), at, Instant::START);
        }
        assert_eq!(port.retry_at(), None, "a completion of ours will say when there is room");
        *room.lock().expect("not poisoned") = 2;
        assert_eq!(port.on_completion(Ticket(1), Instant::START), Some(0));
        assert_eq!(*taken.lock().expect("not poisoned"), [write(0), write(1), write(2)]);
        assert_eq!(port.pending(), 2);
    }

    #[test]
    fn room_for_a_crowd_is_given_back_when_nothing_waits() {
        let room = std::sync::Arc::new(std::sync::Mutex::new(0));
        let taken = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut port = DiskPort::new(Box::new(Narrow { room: room.clone(), taken: taken.clone() }));
        for n in 0..10_000 {
            port.submit(DiskCommand::Sync { files: Vec::new() }, n, Instant::START);
        }
        let capacity = |port: &DiskPort<_>| port.waiting.iter().map(VecDeque::capacity).sum::<usize>();
        assert!(capacity(&port) >= 10_000);
        *room.lock().expect("not poisoned") = 10_000;
        port.retry(Instant::START);
        assert_eq!((taken.lock().expect("not poisoned").len(), port.pending()), (10_000, 10_000));
        assert!(capacity(&port) <= Lane::COUNT * ROOM);
    }

    #[test]
    fn a_lane_that_others_have_filled_is_tried_again_soon() {
        let room = std::sync::Arc::new(std::sync::Mutex::new(0));
        let taken = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut port = DiskPort::new(Box::new(Narrow { room: room.clone(), taken: taken.clone() }));
        let now = Instant::START + RETRY;
        port.submit(DiskCommand::Sync { files: Vec::new() }, (), now);
        assert_eq!(port.retry_at(), Some(now + RETRY));
        *room.lock().expect("not poisoned") = 1;
        port.retry(now + RETRY);
        assert_eq!((port.retry_at(), port.pending()), (None, 1));
    }
}
