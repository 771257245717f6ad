//! Starts and ends the threads: an acceptor, and a reactor for each shard.
//!
//! The order of a start: a [`Switchboard`] makes the mailboxes, since disks must know where completions go before the cores that want
//! them exist; then [`Server::start`] takes the cores, makes the threads, and returns when each of them is under guard and at work.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use aplomb_broker::ports::ShardId;
use aplomb_disk_api::CompletionSink;

use crate::guard::{Guard, GuardError};
use crate::log::Log;
use crate::metrics::kafka::Kafka;
use crate::metrics::{BrokerFigures, Health, Metrics, Page};
use crate::net::acceptor::{Acceptor, AcceptorParts};
use crate::net::{Connections, FrameBudget, Listener, NetConfig};
use crate::reactor::{
    Core, Inbox, MAILBOX_CAPACITY, Mailbox, Outbox, Parts, Reactor, ReactorStats, StopSignal, Waker, mailbox,
};

/// The shards' mailboxes, before there are shards.
#[derive(Debug)]
pub struct Switchboard {
    mailboxes: Vec<Arc<Mailbox>>,
    inboxes: Vec<Inbox>,
}

/// A thread of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerThread {
    /// It carries the requests of a shard.
    Shard(ShardId),
    /// It takes connections.
    Acceptor,
}

/// What each thread of a server does first, before it is under guard: it may wait.
pub type Prepare = Arc<dyn Fn(ServerThread) + Send + Sync>;

/// What a server is made of, besides its cores.
pub struct ServerConfig {
    /// Where clients come in.
    pub listeners: Vec<Listener>,
    /// How connections are treated.
    pub net: NetConfig,
    /// Who watches the threads.
    pub guard: Guard,
    /// Where events go.
    pub log: Log,
    /// What each thread does first.
    pub prepare: Prepare,
}

/// A server at work.
#[derive(Debug)]
pub struct Server<C> {
    shards: Vec<JoinHandle<C>>,
    acceptor: JoinHandle<()>,
    acceptor_stop: Arc<AtomicBool>,
    acceptor_waker: Arc<Waker>,
    stop: Arc<StopSignal>,
    mailboxes: Vec<Arc<Mailbox>>,
    observed: Observed,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No descriptor or thread.
    #[error("the server's threads cannot be started: {0}")]
    Threads(#[from] std::io::Error),
    /// A thread cannot be put under guard.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

/// What metrics are made of.
#[derive(Clone, Debug)]
struct Observed {
    connections: Arc<Connections>,
    budget: Arc<FrameBudget>,
    reactors: Vec<Arc<ReactorStats>>,
    guard: Guard,
    log: Log,
}

impl Switchboard {
    /// Mailboxes for so many shards.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn new(shards: usize) -> std::io::Result<Self> {
        let wakers: Vec<_> = (0..shards).map(|_| Waker::new().map(Arc::new)).collect::<Result<_, _>>()?;
        let (mailboxes, inboxes) = wakers.into_iter().map(|waker| mailbox(waker, MAILBOX_CAPACITY)).unzip();
        Ok(Self { mailboxes, inboxes })
    }

    /// Where a disk delivers what it has completed for this shard.
    ///
    /// # Panics
    /// If there is no such shard.
    #[must_use]
    pub fn sink(&self, shard: ShardId) -> Arc<dyn CompletionSink> {
        Arc::clone(&self.mailboxes[usize::from(shard.0)]) as Arc<dyn CompletionSink>
    }
}

impl<C: Core> Server<C> {
    /// Starts the threads: shard `n` gets the core `n`. Returns when all of them are at work.
    ///
    /// # Errors
    /// If a thread cannot be started or guarded. Threads that were started already end.
    ///
    /// # Panics
    /// If there are not as many cores as mailboxes.
    pub fn start(switchboard: Switchboard, config: ServerConfig, cores: Vec<C>) -> Result<Self, StartError> {
        let ServerConfig { listeners, net, guard, log, prepare } = config;
        let Switchboard { mailboxes, inboxes } = switchboard;
        assert_eq!(mailboxes.len(), cores.len(), "each shard has a mailbox");

        let acceptor_waker = Arc::new(Waker::new()?);
        let mut bells: Vec<RawFd> = inboxes.iter().map(|inbox| inbox.waker().raw_fd()).collect();
        bells.push(acceptor_waker.raw_fd());
        let bells: Arc<[RawFd]> = bells.into();

        let connections = Connections::new(net.connections.clone(), cores.len(), Arc::clone(&acceptor_waker));
        let budget = FrameBudget::new(net.max_frames, inboxes.iter().map(|inbox| Arc::clone(inbox.waker())));
        let stop = Arc::new(StopSignal::new(cores.len()));
        let names = || listeners.iter().map(|listener| Arc::clone(&listener.name));
        let reactors: Vec<Arc<ReactorStats>> =
            cores.iter().map(|_| Arc::new(ReactorStats::new(names()))).collect();
        let observed = Observed { connections, budget, reactors, guard, log };

        let (at_work, news) = channel();
        let mut shards = Vec::with_capacity(cores.len());
        for (index, (core, inbox)) in cores.into_iter().zip(inboxes).enumerate() {
            let shard = ShardId(u16::try_from(index).expect("shards are numbered so"));
            let parts = Parts {
                shard,
                core,
                inbox,
                outbox: Outbox::new(mailboxes.iter().map(Arc::clone)),
                budget: Arc::clone(&observed.budget),
                net: net.clone(),
                limits: Arc::clone(&observed.connections),
                stop: Arc::clone(&stop),
                stats: Arc::clone(&observed.reactors[index]),
                log: observed.log.clone(),
            };
            let reactor = Reactor::new(parts)?;
            let thread = Starting {
                guard: observed.guard.clone(),
                bells: Arc::clone(&bells),
                at_work: at_work.clone(),
                prepare: Arc::clone(&prepare),
            };
            shards.push(thread.spawn(ServerThread::Shard(shard), move || reactor.run())?);
        }
        let acceptor_stop = Arc::new(AtomicBool::new(false));
        let acceptor = Acceptor::new(AcceptorParts {
            listeners,
            net,
            connections: Arc::clone(&observed.connections),
            outbox: Outbox::new(mailboxes.iter().map(Arc::clone)),
            waker: Arc::clone(&acceptor_waker),
            stop: Arc::clone(&acceptor_stop),
            log: observed.log.clone(),
        })?;
        let thread = Starting { guard: observed.guard.clone(), bells, at_work, prepare };
        let acceptor = thread.spawn(ServerThread::Acceptor, move || acceptor.run())?;

        let server = Self { shards, acceptor, acceptor_stop, acceptor_waker, stop, mailboxes, observed };
        let outcome: Result<Vec<()>, GuardError> = news.iter().take(server.shards.len() + 1).collect();
        match outcome {
            Ok(_) => Ok(server),
            Err(error) => {
                // Whoever did start is told to end, and is not waited for: the process will.
                server.begin_stop(Duration::ZERO);
                Err(error.into())
            }
        }
    }

    /// Closes the listeners and asks all shards to finish within `patience`. [`Server::join`] waits for it.
    pub fn begin_stop(&self, patience: Duration) {
        self.acceptor_stop.store(true, Ordering::SeqCst);
        self.acceptor_waker.ring();
        self.stop.request(crate::clock::instant() + patience);
        for mailbox in &self.mailboxes {
            mailbox.ring();
        }
    }

    /// Waits until all threads have ended, and gives the cores back.
    ///
    /// # Panics
    /// If a thread has panicked.
    #[must_use]
    pub fn join(self) -> Vec<C> {
        self.acceptor.join().expect("the acceptor does not panic");
        self.shards.into_iter().map(|shard| shard.join().expect("a shard does not panic")).collect()
    }

    /// Adds what can be seen of the server, and of the cores that it carries, to the metrics.
    pub fn observe(&self, metrics: &Metrics, health: &Health, broker: BrokerFigures) {
        health.watch(self.observed.reactors.clone());
        let observed = self.observed.clone();
        let mut kafka = Kafka::new(
            broker,
            observed.reactors.clone(),
            Arc::clone(&observed.connections),
            crate::clock::instant(),
        );
        metrics.add(move |page| kafka.put_on(page, crate::clock::instant()));
        metrics.add(move |page| observed.put_on(page));
    }
}

/// A thread on its way to work.
struct Starting {
    guard: Guard,
    bells: Arc<[RawFd]>,
    at_work: Sender<Result<(), GuardError>>,
    prepare: Prepare,
}

impl Starting {
    /// Makes the thread, which runs `work` once it is prepared and under guard; `None` of it if it cannot be guarded.
    fn spawn<T: Send + 'static>(
        self,
        which: ServerThread,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<JoinHandle<T>> {
        let name = match which {
            ServerThread::Shard(ShardId(index)) => format!("aplomb-shard-{index}"),
            ServerThread::Acceptor => "aplomb-accept".to_owned(),
        };
        std::thread::Builder::new().name(name).spawn(move || {
            let Self { guard, bells, at_work, prepare } = self;
            prepare(which);
            // The starting thread hears of a failure and ends the process.
            let _ = at_work.send(guard.protect(&bells));
            drop(at_work);
            work()
        })
    }
}

impl Observed {
    fn put_on(&self, page: &mut Page) {
        page.gauge("aplomb_connections", "Connections of clients.", &[], self.connections.total() as f64);
        page.counter(
            "aplomb_connections_accepted_total",
            "Connections accepted since the start.",
            &[],
            self.connections.accepted() as u64,
        );
        page.counter(
            "aplomb_connections_refused_total",
            "Connections refused because their address had too many.",
            &[],
            self.connections.refused() as u64,
        );
        page.gauge("aplomb_frames_bytes", "Memory of requests in flight.", &[], self.budget.used() as f64);
        page.gauge("aplomb_frames_limit_bytes", "The bound on it.", &[], self.budget.limit() as f64);
        page.counter(
            "aplomb_frames_refusals_total",
            "Times that a connection was not read from because that memory was used up.",
            &[],
            self.budget.refusals() as u64,
        );
        for (index, reactor) in self.reactors.iter().enumerate() {
            let shard = index.to_string();
            let labels = [("shard", shard.as_str())];
            page.gauge(
                "aplomb_shard_connections",
                "Connections by shard.",
                &labels,
                self.connections.of_shard(index) as f64,
            );
            page.counter("aplomb_shard_requests_total", "Requests by shard.", &labels, reactor.requests());
            page.gauge(
                "aplomb_shard_unwritten_bytes",
                "Replies that clients have not taken yet.",
                &labels,
                reactor.unwritten() as f64,
            );
            page.counter("aplomb_shard_turns_total", "Turns of the shard's loop.", &labels, reactor.turns());
            page.gauge(
                "aplomb_shard_busy_seconds",
                "Time the shard was not waiting, since the start.",
                &labels,
                seconds(reactor.busy_nanos()),
            );
            page.gauge(
                "aplomb_shard_longest_turn_seconds",
                "The longest time between two waits since the last look.",
                &labels,
                seconds(reactor.take_longest_turn_nanos()),
            );
            page.counter(
                "aplomb_shard_congested_turns_total",
                "Turns without reading because another shard's mailbox was full.",
                &labels,
                reactor.congested_turns(),
            );
        }
        page.counter(
            "aplomb_guard_violations_total",
            "System calls of request threads that may wait for a file system.",
            &[],
            self.guard.counters().total(),
        );
        for (call, count) in self.guard.counters().by_call() {
            page.counter("aplomb_guard_calls_total", "The same by system call.", &[("call", &call)], count);
        }
        page.counter("aplomb_log_dropped_total", "Log lines dropped.", &[], self.log.dropped());
    }
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}
