//! A run from its specification to its report.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use aplomb_model::Instant;

use crate::admin::prepare;
use crate::client::{Client, Habits, Role};
use crate::consumer::Consumer;
use crate::producer::Producer;
use crate::report::{Progress, Report};
use crate::stats::{Live, Stats};
use crate::topic::TopicView;
use crate::worker::{Member, Shared, Worker};
use crate::{BenchError, From, Ledger, Spec, Workload};

/// How long clients have for connecting before the start.
const READY: Duration = Duration::from_secs(30);
/// Between the moment at which all clients are ready and the first record.
const LEAD: Duration = Duration::from_millis(50);
/// How often `observer` is called.
const OBSERVED: Duration = Duration::from_secs(1);

/// Does what `spec` says. `observer` hears of the progress once a second, and may end the run: then
/// no more records fall due, and what is under way is waited for as at the end.
///
/// # Errors
/// [`BenchError`] when the run could not begin. What goes wrong later is in the report.
///
/// # Panics
/// If a thread of the run does.
pub fn run(
    spec: &Spec,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Report, BenchError> {
    spec.check()?;
    let topic = prepare(spec)?;
    let partitions = partitions(spec, topic.leaders.len())?;
    let id = run_id()?;
    let shared = Shared {
        origin: StdInstant::now(),
        begin: OnceLock::new(),
        stop: AtomicBool::new(false),
        ready: AtomicUsize::new(0),
        producing: AtomicUsize::new(if spec.workload.produces() { spec.producers.clients } else { 0 }),
        acknowledged: AtomicU64::new(0),
        received: AtomicU64::new(0),
    };
    let wall = since_epoch_ms();
    let members = members(spec, &topic, &partitions, id, wall);
    let clients = members.len();
    let mut dealt: Vec<Vec<Member>> = (0..spec.threads).map(|_| Vec::new()).collect();
    for (place, member) in members.into_iter().enumerate() {
        dealt[place % spec.threads].push(member);
    }
    dealt.retain(|members| !members.is_empty());

    let (live, heard) = mpsc::channel();
    let mut stats = Stats::with_ledger(spec.ledger);
    let mut started_at_ms = 0;
    thread::scope(|scope| -> Result<(), BenchError> {
        let mut threads = Vec::new();
        for (number, members) in dealt.into_iter().enumerate() {
            let worker = Worker::new(spec, &shared, members, live.clone());
            let spawned = worker.and_then(|worker| {
                thread::Builder::new().name(format!("bench-{number}")).spawn_scoped(scope, || worker.run())
            });
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.stop.store(true, Ordering::Relaxed);
                    return Err(error.into());
                }
            }
        }
        drop(live);
        if let Err(error) = wait_until_ready(&shared, clients) {
            shared.stop.store(true, Ordering::Relaxed);
            return Err(error);
        }
        let begin = shared.now() + LEAD;
        started_at_ms = since_epoch_ms() + LEAD.as_millis() as i64;
        shared.begin.set(begin).expect("nobody else sets it");
        observe(spec, &shared, begin, &heard, observer);
        for thread in threads {
            stats.merge(&thread.join().expect("a worker does not panic")?);
        }
        Ok(())
    })?;
    let mut report = Report::new(spec, topic.leaders.len(), started_at_ms, &stats);
    report.ledger = stats.ledger.take().map(|entries| Ledger::new(id, entries));
    Ok(report)
}

/// The partitions that are written to and read from; the topic has `there` of them.
fn partitions(spec: &Spec, there: usize) -> Result<Vec<usize>, BenchError> {
    let partitions = spec.only.clone().unwrap_or_else(|| (0..there).collect());
    match partitions.iter().find(|partition| **partition >= there) {
        None => Ok(partitions),
        Some(none) => Err(BenchError::Spec(format!(
            "topic {} has {there} partitions, and no number {none}",
            spec.topic
        ))),
    }
}

fn members(spec: &Spec, topic: &TopicView, partitions: &[usize], id: u64, wall: i64) -> Vec<Member> {
    let habits = Habits {
        entry: spec.entry(),
        bootstrap: spec.bootstrap.clone(),
        request_timeout: spec.request_timeout,
        max_in_flight: spec.producers.max_in_flight,
        acks: spec.producers.acks,
    };
    let client = |role| Client::new(role, habits.clone(), topic.clone());
    let mut members = Vec::new();
    if spec.workload.produces() {
        members.extend((0..spec.producers.clients).map(|number| {
            let producer = Producer::new(&spec.producers, partitions.to_vec(), id, number, wall);
            Member { client: client(Role::Producer(Box::new(producer))), number }
        }));
    }
    if spec.workload.consumes() {
        let at_the_end = spec.workload == Workload::EndToEnd || spec.consumers.from == From::End;
        let from = if at_the_end { From::End } else { From::Beginning };
        members.extend((0..spec.consumers.clients).map(|number| {
            let mine = partitions.iter().skip(number).step_by(spec.consumers.clients).copied().collect();
            let consumer = Consumer::new(&spec.consumers, from, !at_the_end, mine, id);
            Member { client: client(Role::Consumer(consumer)), number }
        }));
    }
    members
}

fn wait_until_ready(shared: &Shared, clients: usize) -> Result<(), BenchError> {
    loop {
        let ready = shared.ready.load(Ordering::Acquire);
        if ready == clients {
            return Ok(());
        }
        if shared.origin.elapsed() > READY {
            return Err(BenchError::NotReady { ready, clients, seconds: READY.as_secs() });
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Calls the observer once a second until all workers have ended.
fn observe(
    spec: &Spec,
    shared: &Shared,
    begin: Instant,
    heard: &Receiver<Live>,
    observer: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) {
    let mut since = Live::new();
    let (mut ended, mut next) = (0, begin + OBSERVED);
    loop {
        match heard.recv_timeout(next.since(shared.now())) {
            Ok(live) => {
                since.merge(&live);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = shared.now();
        let elapsed = now.since(begin);
        ended += since.acknowledged + since.given_up;
        let due = if spec.workload.produces() { due_by(spec, elapsed) } else { 0 };
        let progress = Progress::new(elapsed, spec.warm_up, &since, due.saturating_sub(ended));
        if observer(&progress).is_break() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        since = Live::new();
        next = now + OBSERVED;
    }
}

/// Records due in the first `elapsed` of the run.
fn due_by(spec: &Spec, elapsed: Duration) -> u64 {
    let elapsed = elapsed.min(spec.warm_up + spec.duration);
    u64::try_from(elapsed.as_nanos() * u128::from(spec.producers.rate) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// Tells this run's records from those of others.
fn run_id() -> Result<u64, BenchError> {
    let mut raw = [0; 8];
    getrandom::fill(&mut raw)
        .map_err(|error| BenchError::System(std::io::Error::other(error.to_string())))?;
    Ok(u64::from_be_bytes(raw))
}

fn since_epoch_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
