//! The loop: a connection for each member, one thread.
//!
//! What always holds: a member has a turn when its socket is ready or when what it does next is
//! due; one request is under way on a connection.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use aplomb_model::{Instant, Uuid};
use aplomb_protocol::frame::encode_request;
use aplomb_protocol::messages as m;
use aplomb_protocol::{EncodeError, Request};
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::census::Census;
use super::history::{Diary, Due, GroupHistory};
use super::member::{Answer, GroupMember, Outcome, Question};
use super::report::{GroupProgress, GroupReport};
use super::wire::Ground;
use super::{BenchError, GroupSpec};
use crate::connection::{Came, Connection};
use crate::entry::Entry;
use crate::report::Latency;
use crate::stats::{Precise, precise};
use crate::topic::code_name;
use crate::versions::{Versions, decode};

const LONGEST_SLEEP: Duration = Duration::from_millis(250);
/// How often progress is told.
const REPORT: Duration = Duration::from_millis(250);
/// Before a connection that was lost is made anew.
const RECONNECT: Duration = Duration::from_millis(100);
/// How long members go on behind what is measured.
const TO_LINGER: Duration = Duration::from_secs(1);
/// How long members may take to leave.
const TO_LEAVE: Duration = Duration::from_secs(10);
/// What one read asks for: answers to members are short, and there are many of them.
const READ_SIZE: usize = 8 * 1024;
/// The highest version of OffsetCommit that names topics.
const BY_NAME: i16 = 9;

/// Which API a request was for, so that its answer can be read.
#[derive(Clone, Copy, Debug)]
enum QuestionKind {
    Join,
    Sync,
    Heartbeat,
    ConsumerHeartbeat,
    Commit,
    Leave,
}

#[derive(Debug)]
struct Pending {
    kind: QuestionKind,
    version: i16,
    due: Instant,
}

struct Seat {
    member: GroupMember,
    group: usize,
    place: usize,
    /// The coordinator, by its name and resolved.
    address: (Arc<str>, SocketAddr),
    link: Option<Connection<Pending>>,
    /// When a lost connection is made anew.
    connect_at: Instant,
    wake: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Joining,
    WarmUp(Instant),
    Measuring(Instant),
    /// All go on, so that what was due before is answered as usual; since then.
    Lingering(Instant),
    /// Since when no more is measured, and until when there is time to leave.
    Leaving {
        since: Instant,
        until: Instant,
    },
}

impl Stage {
    /// Whether the answer to what was due then counts. What all ask when they leave at once does
    /// not, nor what waits behind that.
    fn counts(self, due: Instant) -> bool {
        match self {
            Self::Lingering(since) | Self::Leaving { since, .. } => due < since,
            Self::Joining | Self::WarmUp(_) | Self::Measuring(_) => true,
        }
    }
}

/// All members of all groups.
pub(super) struct Hub<'a> {
    spec: &'a GroupSpec,
    entry: Entry,
    versions: Versions,
    seats: Vec<Seat>,
    due: BTreeSet<(Instant, usize)>,
    poll: OwnedFd,
    origin: std::time::Instant,
    stage: Stage,
    census: Census,
    heartbeat: Precise,
    commit: Precise,
    errors: BTreeMap<String, u64>,
    diary: Diary,
}

impl<'a> Hub<'a> {
    pub(super) fn new(spec: &'a GroupSpec, ground: Ground) -> Result<Self, BenchError> {
        let mut addresses: HashMap<Arc<str>, SocketAddr> = HashMap::new();
        let mut seats = Vec::with_capacity(spec.groups * spec.members);
        for (group, (name, coordinator)) in ground.groups.into_iter().enumerate() {
            let address = match addresses.get_key_value(&*coordinator) {
                Some((name, address)) => (Arc::clone(name), *address),
                None => {
                    let (name, address) = (Arc::<str>::from(&*coordinator), resolved(&coordinator)?);
                    addresses.insert(Arc::clone(&name), address);
                    (name, address)
                }
            };
            for place in 0..spec.members {
                let mut id = [0; 16];
                getrandom::fill(&mut id).map_err(io::Error::other)?;
                let about = (ground.topic_id, ground.partitions);
                let id = Uuid(id).to_string();
                let member = GroupMember::new(spec, name.clone(), about, id, seats.len());
                let connect_at = Instant::START;
                let address = address.clone();
                seats.push(Seat { member, group, place, address, link: None, connect_at, wake: None });
            }
        }
        let partitions = usize::try_from(ground.partitions).expect("a topic has some");
        Ok(Self {
            spec,
            entry: spec.entry(),
            versions: ground.versions,
            due: BTreeSet::new(),
            poll: epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from)?,
            origin: std::time::Instant::now(),
            stage: Stage::Joining,
            census: Census::new(spec.groups, spec.members, partitions),
            heartbeat: precise(),
            commit: precise(),
            errors: BTreeMap::new(),
            diary: Diary { is_kept: spec.history, ..Diary::default() },
            seats,
        })
    }

    fn now(&self) -> Instant {
        Instant::START + self.origin.elapsed()
    }

    /// Runs until all members have left.
    pub(super) fn run(
        mut self,
        watch: &mut dyn FnMut(&GroupProgress) -> ControlFlow<()>,
    ) -> Result<GroupReport, BenchError> {
        // All connections first, so that members join at the same time.
        for seat in 0..self.seats.len() {
            self.connect(seat)?;
        }
        for seat in 0..self.seats.len() {
            self.turn(seat)?;
        }
        let mut events = Vec::with_capacity(256);
        let mut next_report = self.now() + REPORT;
        loop {
            let now = self.now();
            let due: Vec<usize> =
                self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, seat)| *seat).collect();
            for seat in due {
                self.turn(seat)?;
            }
            if self.go_on(self.now())? {
                break;
            }
            if now >= next_report {
                next_report = now + REPORT;
                if watch(&self.progress(now)).is_break() {
                    self.census.end(now);
                    break;
                }
            }
            self.wait(&mut events)?;
        }
        Ok(self.report())
    }

    /// Goes to the next stage when its time has come. Whether all is over.
    fn go_on(&mut self, now: Instant) -> Result<bool, BenchError> {
        match self.stage {
            Stage::Joining if self.census.all_stable_at.is_some() => {
                self.stage = Stage::WarmUp(now + self.spec.warm_up);
            }
            Stage::Joining if now.since(Instant::START) >= self.spec.patience => self.leave(now, now)?,
            Stage::WarmUp(until) if now >= until => {
                (self.heartbeat, self.commit) = (precise(), precise());
                self.stage = Stage::Measuring(now + self.spec.duration);
            }
            Stage::Measuring(until) if now >= until => self.stage = Stage::Lingering(now),
            Stage::Lingering(since) if now.since(since) >= TO_LINGER => self.leave(since, now)?,
            Stage::Leaving { until, .. } => {
                return Ok(now >= until || self.seats.iter().all(|seat| seat.member.has_left()));
            }
            Stage::Joining | Stage::WarmUp(_) | Stage::Measuring(_) | Stage::Lingering(_) => {}
        }
        Ok(false)
    }

    fn leave(&mut self, since: Instant, now: Instant) -> Result<(), BenchError> {
        self.census.end(now);
        self.stage = Stage::Leaving { since, until: now + TO_LEAVE };
        for seat in 0..self.seats.len() {
            self.seats[seat].member.leave();
            self.turn(seat)?;
        }
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), BenchError> {
        let now = self.now();
        let sleep = self.due.first().map_or(LONGEST_SLEEP, |(at, _)| at.since(now)).min(LONGEST_SLEEP);
        let time = Timespec { tv_sec: 0, tv_nsec: sleep.subsec_nanos().into() };
        events.clear();
        match epoll::wait(&self.poll, spare_capacity(events), Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        for event in events.iter() {
            let seat = usize::try_from(event.data.u64()).expect("seats are counted by usize");
            let now = self.now();
            if let Some(link) = &mut self.seats[seat].link
                && let Err(error) = link.fill(now)
            {
                self.lose(seat, &error);
            }
            self.turn(seat)?;
        }
        Ok(())
    }

    /// Everything that a seat can do now.
    fn turn(&mut self, seat: usize) -> Result<(), BenchError> {
        let now = self.now();
        if self.seats[seat].link.is_none() && now >= self.seats[seat].connect_at {
            self.connect(seat)?;
        }
        if let Err(error) = self.exchange(seat, now) {
            self.lose(seat, &error);
        }
        let it = &mut self.seats[seat];
        let wake = match &it.link {
            Some(_) => it.member.wake_at(),
            None => (!it.member.has_left()).then_some(it.connect_at),
        };
        if let Some(old) = std::mem::replace(&mut it.wake, wake) {
            self.due.remove(&(old, seat));
        }
        if let Some(wake) = wake {
            self.due.insert((wake, seat));
        }
        Ok(())
    }

    fn connect(&mut self, seat: usize) -> Result<(), BenchError> {
        let it = &mut self.seats[seat];
        let (name, address) = &it.address;
        match Connection::open(name, *address, &self.entry, READ_SIZE) {
            Ok(link) => {
                let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET | EventFlags::RDHUP;
                epoll::add(&self.poll, link.fd(), EventData::new_u64(seat as u64), flags)
                    .map_err(io::Error::from)?;
                it.link = Some(link);
            }
            Err(error) => self.lose(seat, &error),
        }
        Ok(())
    }

    /// The connection is gone.
    fn lose(&mut self, seat: usize, error: &io::Error) {
        let now = self.now();
        self.give_up(seat, now);
        let it = &mut self.seats[seat];
        it.connect_at = now + RECONNECT;
        it.member.on_lost(now);
        if !matches!(self.stage, Stage::Leaving { .. }) {
            *self.errors.entry(format!("connection: {}", error.kind())).or_default() += 1;
        }
    }

    /// Closes a connection, if there is one: what was asked on it will not be answered.
    fn give_up(&mut self, seat: usize, now: Instant) {
        for asked in self.seats[seat].link.take().into_iter().flat_map(Connection::into_waiting) {
            note(&mut self.diary, &asked, now, false);
        }
    }

    fn exchange(&mut self, seat: usize, now: Instant) -> io::Result<()> {
        let stage = self.stage;
        let Self { seats, census, versions, spec, entry, .. } = self;
        let it = &mut seats[seat];
        let Some(link) = &mut it.link else { return Ok(()) };
        loop {
            while let Some(came) = link.next()? {
                let Came::Answer(sent, body) = came else { unreachable!("every request is answered") };
                let latency = u64::try_from(now.since(sent.due).as_micros()).unwrap_or(u64::MAX).max(1);
                match sent.kind {
                    _ if !stage.counts(sent.due) => {}
                    QuestionKind::Heartbeat | QuestionKind::ConsumerHeartbeat => {
                        self.heartbeat.saturating_record(latency)
                    }
                    QuestionKind::Commit => self.commit.saturating_record(latency),
                    QuestionKind::Join | QuestionKind::Sync | QuestionKind::Leave => {}
                }
                let outcome = it.member.on_answer(read(&sent, body)?, now);
                note(&mut self.diary, &sent, now, outcome == Outcome::Well);
                if let Outcome::Refused(code) = outcome
                    && !matches!(self.stage, Stage::Leaving { .. })
                {
                    *self.errors.entry(code_name(code.to_wire())).or_default() += 1;
                }
                if !matches!(self.stage, Stage::Leaving { .. }) {
                    census.owns(it.group, it.place, it.member.generation(), it.member.owned(), now);
                }
            }
            let Some((ask, due)) = it.member.next(now) else { break };
            link.renew_login(entry, now)?;
            let correlation = link.correlation();
            let is_join = matches!(&ask, Question::Join(_))
                || matches!(&ask, Question::ConsumerHeartbeat(beat) if beat.member_epoch == 0);
            if is_join {
                census.joins(it.group, now);
            }
            let written = write(&ask, versions, correlation, &spec.client_id);
            let (kind, version, frame) = written.map_err(io::Error::other)?;
            link.send(frame, Pending { kind, version, due }, true, now);
        }
        link.flush()
    }

    fn progress(&self, now: Instant) -> GroupProgress {
        let is_measured = matches!(self.stage, Stage::Measuring(_) | Stage::Lingering(_));
        let counted = |histogram: &Precise| if is_measured { histogram.len() } else { 0 };
        GroupProgress {
            elapsed: now.since(self.census.first_join.unwrap_or(now)),
            stable: (self.census.stable(), self.spec.groups),
            without_owner: self.census.without_owner(),
            rebalances: self.census.rebalances.len() as u64,
            heartbeats: counted(&self.heartbeat),
            commits: counted(&self.commit),
            errors: self.errors.values().sum(),
        }
    }

    fn report(mut self) -> GroupReport {
        let now = self.now();
        (0..self.seats.len()).for_each(|seat| self.give_up(seat, now));
        let Census { first_join, all_stable_at, .. } = self.census;
        let history = self.spec.history.then(|| GroupHistory {
            began: self.origin,
            heartbeats: self.diary.heartbeats,
            commits: self.diary.commits,
            rebalances: self.census.rebalances.iter().map(|at| at.since(Instant::START)).collect(),
            gaps: self.census.gaps_at.iter().map(|(at, long)| (at.since(Instant::START), *long)).collect(),
        });
        GroupReport {
            spec: self.spec.clone(),
            stable: self.census.stable(),
            all_stable: all_stable_at.zip(first_join).map(|(end, begin)| end.since(begin)),
            to_stable: Latency::of(&self.census.to_stable),
            heartbeat: Latency::of(&self.heartbeat),
            commit: Latency::of(&self.commit),
            rebalances: self.census.rebalances.len() as u64,
            gaps: Latency::of(&self.census.gaps),
            unowned: self.census.unowned,
            errors: self.errors,
            history,
        }
    }
}

/// Writes down what has become of a heartbeat or a commit.
fn note(diary: &mut Diary, asked: &Pending, now: Instant, well: bool) {
    let due = Due { at: asked.due.since(Instant::START), took: now.since(asked.due), well };
    match asked.kind {
        QuestionKind::Heartbeat | QuestionKind::ConsumerHeartbeat => diary.heartbeat(due),
        QuestionKind::Commit => diary.commit(due),
        QuestionKind::Join | QuestionKind::Sync | QuestionKind::Leave => {}
    }
}

fn resolved(address: &str) -> Result<SocketAddr, BenchError> {
    let unreachable = |error| BenchError::Unreachable { address: address.to_owned(), error };
    let mut found = address.to_socket_addrs().map_err(unreachable)?;
    found.next().ok_or_else(|| unreachable(io::ErrorKind::NotFound.into()))
}

fn write(
    ask: &Question,
    versions: &Versions,
    correlation: i32,
    client: &str,
) -> Result<(QuestionKind, i16, Bytes), EncodeError> {
    fn one<T: Request>(
        kind: QuestionKind,
        request: &T,
        limit: i16,
        (versions, correlation, client): (&Versions, i32, &str),
    ) -> Result<(QuestionKind, i16, Bytes), EncodeError> {
        let version = versions.pick::<T>(limit).expect("it was looked for before the run");
        Ok((kind, version, encode_request(request, version, correlation, client)?))
    }
    let with = (versions, correlation, client);
    match ask {
        Question::Join(request) => one(QuestionKind::Join, request, i16::MAX, with),
        Question::Sync(request) => one(QuestionKind::Sync, request, i16::MAX, with),
        Question::Heartbeat(request) => one(QuestionKind::Heartbeat, request, i16::MAX, with),
        Question::ConsumerHeartbeat(request) => one(QuestionKind::ConsumerHeartbeat, request, i16::MAX, with),
        Question::Commit(request) => one(QuestionKind::Commit, request, BY_NAME, with),
        Question::Leave(request) => one(QuestionKind::Leave, request, i16::MAX, with),
    }
}

fn read(sent: &Pending, body: Bytes) -> io::Result<Answer> {
    let version = sent.version;
    Ok(match sent.kind {
        QuestionKind::Join => Answer::Join(decode(m::JoinGroupRequest::KEY, version, body)?),
        QuestionKind::Sync => Answer::Sync(decode(m::SyncGroupRequest::KEY, version, body)?),
        QuestionKind::Heartbeat => Answer::Heartbeat(decode(m::HeartbeatRequest::KEY, version, body)?),
        QuestionKind::ConsumerHeartbeat => {
            Answer::ConsumerHeartbeat(decode(m::ConsumerGroupHeartbeatRequest::KEY, version, body)?)
        }
        QuestionKind::Commit => Answer::Commit(decode(m::OffsetCommitRequest::KEY, version, body)?),
        QuestionKind::Leave => Answer::Leave,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_when_all_leave_counts_for_nothing_and_what_was_due_before_does() {
        let end = Instant::START + Duration::from_secs(60);
        let before = Instant::START + Duration::from_secs(59);
        assert!(Stage::Measuring(end).counts(before));
        let until = end + TO_LINGER + TO_LEAVE;
        for stage in [Stage::Lingering(end), Stage::Leaving { since: end, until }] {
            assert_eq!([before, end, until].map(|due| stage.counts(due)), [true, false, false]);
        }
    }
}
