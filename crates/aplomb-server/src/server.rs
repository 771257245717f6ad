//! Starts and ends the threads: an acceptor, and a loop for each shard.
//!
//! The order of a start: a [`Switchboard`] makes the mailboxes, since disks must know where
//! completions go before the cores that want them exist; then [`Server::start`] takes the cores,
//! makes the threads, and returns when each of them is under guard and at work.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use aplomb_broker::ports::{ConnectionId, ShardId};
use aplomb_disk_api::CompletionSink;
use aplomb_disk_api::stats::DiskStats;

use crate::clock;
use crate::figures::LoopFigures;
use crate::guard::{Guard, GuardError};
use crate::log::Log;
use crate::loops::acceptor::{Acceptor, AcceptorParts};
use crate::loops::{Core, Mail, Parts, ShardLoop, StopSignal};
use crate::mail::{CAPACITY, Inbox, Mailbox, Outbox, Waker, mailbox};
use crate::metrics::kafka::Kafka;
use crate::metrics::{
    BrokerFigures, Console, Health, Metrics, Recorder, RecorderParts, RunDelays, ServerFigures, Sources,
    TailSource, limits,
};
use crate::net::{Connections, FrameBudget, Listener, NetConfig, ReplyBudget};

/// The shards' mailboxes, before there are shards.
#[derive(Debug)]
pub struct Switchboard {
    mailboxes: Vec<Arc<Mailbox<Mail>>>,
    inboxes: Vec<Inbox<Mail>>,
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
    /// The names of the listeners that [`Server::open`] will have.
    pub listeners: Vec<Arc<str>>,
    /// The first shard that has connections. Those before it have none.
    pub first: ShardId,
    /// How connections are treated.
    pub net: NetConfig,
    /// Who watches the threads.
    pub guard: Guard,
    /// Where events go.
    pub log: Log,
    /// What each thread does first.
    pub prepare: Prepare,
}

/// What is beside a server, and is shown with it.
pub struct Around {
    /// By their index.
    pub disks: Vec<Arc<DiskStats>>,
    /// Their shares of the tail.
    pub tails: Vec<TailSource>,
    /// How the threads of the shards get processors.
    pub delays: RunDelays,
    /// `aplomb.slow.request.ms`
    pub slow_limit: Option<Duration>,
}

/// A server at work.
pub struct Server<C> {
    shards: Vec<JoinHandle<C>>,
    /// Once clients may come.
    acceptor: Option<JoinHandle<()>>,
    acceptor_stop: Arc<AtomicBool>,
    acceptor_waker: Arc<Waker>,
    net: NetConfig,
    bells: Arc<[RawFd]>,
    prepare: Prepare,
    stop: Arc<StopSignal>,
    mailboxes: Vec<Arc<Mailbox<Mail>>>,
    figures: ServerFigures,
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

impl Switchboard {
    /// Mailboxes for so many shards.
    ///
    /// # Errors
    /// If the process may not open more descriptors.
    pub fn new(shards: usize) -> std::io::Result<Self> {
        let wakers: Vec<_> = (0..shards).map(|_| Waker::new().map(Arc::new)).collect::<Result<_, _>>()?;
        let (mailboxes, inboxes) = wakers.into_iter().map(|waker| mailbox(waker, CAPACITY)).unzip();
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
    /// Starts the threads: shard `n` gets the core `n`. Returns when all of them are at
    /// work; clients come when it is opened ([`Server::open`]).
    ///
    /// # Errors
    /// If a thread cannot be started or guarded. Threads that were started already end.
    ///
    /// # Panics
    /// If there are not as many cores as mailboxes.
    pub fn start(switchboard: Switchboard, config: ServerConfig, cores: Vec<C>) -> Result<Self, StartError> {
        let ServerConfig { listeners, first, net, guard, log, prepare } = config;
        let Switchboard { mailboxes, inboxes } = switchboard;
        assert_eq!(mailboxes.len(), cores.len(), "each shard has a mailbox");

        let acceptor_waker = Arc::new(Waker::new()?);
        let mut bells: Vec<RawFd> = inboxes.iter().map(|inbox| inbox.waker().raw_fd()).collect();
        bells.push(acceptor_waker.raw_fd());
        let bells: Arc<[RawFd]> = bells.into();

        let last = u16::try_from(cores.len()).expect("shards are numbered so");
        let serving = first.0..last;
        let connections = Connections::new(net.connections.clone(), serving, Arc::clone(&acceptor_waker));
        let budget = FrameBudget::new(net.max_frames, inboxes.iter().map(|inbox| Arc::clone(inbox.waker())));
        let replies = ReplyBudget::new(net.max_replies);
        let stop = Arc::new(StopSignal::new(cores.len()));
        let names = || listeners.iter().map(Arc::clone);
        let loops: Vec<Arc<LoopFigures>> =
            cores.iter().map(|_| Arc::new(LoopFigures::new(names()))).collect();
        let figures = ServerFigures { connections, budget, replies, loops, guard, log };

        let boxes = mailboxes.clone();
        let tell = move |id: ConnectionId| boxes[usize::from(id.shard.0)].offer(Mail::TakeUp(id));
        net.entrance.tell_of_tickets(&(Arc::new(tell) as _));
        let (at_work, news) = channel();
        let mut shards = Vec::with_capacity(cores.len());
        for (index, (core, inbox)) in cores.into_iter().zip(inboxes).enumerate() {
            let shard = ShardId(u16::try_from(index).expect("shards are numbered so"));
            let parts = Parts {
                shard,
                core,
                inbox,
                outbox: Outbox::new(&mailboxes),
                budget: Arc::clone(&figures.budget),
                replies: Arc::clone(&figures.replies),
                net: net.clone(),
                limits: Arc::clone(&figures.connections),
                stop: Arc::clone(&stop),
                figures: Arc::clone(&figures.loops[index]),
                log: figures.log.clone(),
            };
            let shard_loop = ShardLoop::new(parts)?;
            let thread = Starting {
                guard: figures.guard.clone(),
                bells: Arc::clone(&bells),
                at_work: at_work.clone(),
                prepare: Arc::clone(&prepare),
            };
            shards.push(thread.spawn(ServerThread::Shard(shard), move || shard_loop.run())?);
        }
        let server = Self {
            shards,
            acceptor: None,
            acceptor_stop: Arc::new(AtomicBool::new(false)),
            acceptor_waker,
            net,
            bells,
            prepare,
            stop,
            mailboxes,
            figures,
        };
        drop(at_work);
        server.hear_of(news, server.shards.len())?;
        Ok(server)
    }

    /// Lets clients come: starts the thread that takes connections.
    ///
    /// # Errors
    /// If the thread cannot be started or guarded, or a listener cannot be watched.
    ///
    /// # Panics
    /// If the server is open already.
    pub fn open(&mut self, listeners: Vec<Listener>) -> Result<(), StartError> {
        assert!(self.acceptor.is_none(), "a server is opened once");
        let acceptor = Acceptor::new(AcceptorParts {
            listeners,
            net: self.net.clone(),
            connections: Arc::clone(&self.figures.connections),
            outbox: Outbox::new(&self.mailboxes),
            waker: Arc::clone(&self.acceptor_waker),
            stop: Arc::clone(&self.acceptor_stop),
            log: self.figures.log.clone(),
        })?;
        let (at_work, news) = channel();
        let thread = Starting {
            guard: self.figures.guard.clone(),
            bells: Arc::clone(&self.bells),
            at_work,
            prepare: Arc::clone(&self.prepare),
        };
        self.acceptor = Some(thread.spawn(ServerThread::Acceptor, move || acceptor.run())?);
        self.hear_of(news, 1)
    }

    /// Waits until so many threads are at work. Where one cannot be guarded, all are told to end,
    /// and are not waited for: the process ends.
    fn hear_of(&self, news: Receiver<Result<(), GuardError>>, threads: usize) -> Result<(), StartError> {
        let outcome: Result<Vec<()>, GuardError> = news.iter().take(threads).collect();
        if outcome.is_err() {
            self.begin_stop(Duration::ZERO);
        }
        outcome.map(drop).map_err(StartError::from)
    }

    /// Closes the listeners and asks all shards to finish within `patience`. [`Server::join`] waits
    /// for it.
    pub fn begin_stop(&self, patience: Duration) {
        self.acceptor_stop.store(true, Ordering::SeqCst);
        self.acceptor_waker.ring();
        self.stop.request(clock::instant() + patience);
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
        if let Some(acceptor) = self.acceptor {
            acceptor.join().expect("the acceptor does not panic");
        }
        self.shards.into_iter().map(|shard| shard.join().expect("a shard does not panic")).collect()
    }

    /// Adds what can be seen of the server, and of the cores that it carries, to the metrics.
    /// Slow requests are recorded, and there is a console, if `around` says what is beside it:
    /// where there is a listener to ask for them.
    pub fn observe(&self, metrics: &Metrics, health: &Health, broker: BrokerFigures, around: Option<Around>) {
        health.watch(self.figures.loops.clone());
        let (figures, shards, directories) =
            (self.figures.clone(), broker.shards.clone(), broker.directories.clone());
        let now = clock::instant();
        let kafka = Kafka::new(broker, figures.loops.clone(), Arc::clone(&figures.connections), now);
        let kafka = Arc::new(Mutex::new(kafka));
        if let Some(Around { disks, tails, delays, slow_limit }) = around {
            let parts = RecorderParts {
                limit: slow_limit,
                loops: figures.loops.clone(),
                directories: directories.clone(),
                disks: disks.clone(),
                delays,
            };
            let recorder = Recorder::new(parts, now);
            let sources = Sources {
                kafka: Arc::clone(&kafka),
                loops: figures.loops.clone(),
                connections: Arc::clone(&figures.connections),
                directories,
                disks,
                tails,
            };
            let console = Console::new(sources, &recorder);
            metrics.observe(recorder, console);
        }
        metrics.add(move |page| {
            kafka.lock().unwrap_or_else(PoisonError::into_inner).put_on(page, clock::instant());
        });
        metrics.add(move |page| figures.put_on(page));
        metrics.add(move |page| limits::put_on(page, &shards));
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
    /// Makes the thread, which runs `work` once it is prepared and under guard; `None` of it if it
    /// cannot be guarded.
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
