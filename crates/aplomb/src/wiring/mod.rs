//! Hands each broker its disks: everything between checked settings and a broker at work, and back
//! again.
//!
//! The order of a start: descriptors, log and guard; log directories locked and found to be ours,
//! without a change until then; listeners bound; what an earlier run had only in memory written to
//! the files ([`aplomb_log::recovery::restore`]), the metadata log first, since it knows the names;
//! the tail opened anew; logs loaded; disks, shards and the acceptor started; listeners opened. The
//! end goes the same way back.
//!
//! What always holds: until the listeners open nobody waits for us, so all of it may wait for
//! disks.

mod directories;
mod disks;
mod heaps;
pub(crate) mod kerberos;
mod key_sets;
mod limits;
mod loading;
mod network;
mod observation;
mod pages;
mod process;
mod signals;
pub(crate) mod storage;
pub(crate) mod stores;
mod tail;
mod tail_files;
mod tail_watch;
mod threads;
mod token_keys;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::Shard;
use aplomb_broker::config::{BrokerConfig, Guard as GuardSetting};
use aplomb_broker::metadata::{MetadataImage, Topics};
use aplomb_broker::ports::ShardId;
use aplomb_broker::startup::{
    self, Directory, Examined, MetadataFound, Names, Ready, Refusal, StartError, StartInput, Surveyed, survey,
};
use aplomb_broker::store_checks::StoreChecks;
use aplomb_disk::EngineError;
use aplomb_disk_api::DiskIndex;
use aplomb_log::recovery::restore::Wanted;
use aplomb_model::{Instant, Offset};
use aplomb_server::guard::{Guard, GuardError, GuardMode};
use aplomb_server::log::panic::abort_on_panic;
use aplomb_server::log::{Log, LogWriter};
use aplomb_server::metrics::{BrokerFigures, Health, Phase};
use aplomb_server::net::Listener;
use aplomb_server::{Around, Server, ServerConfig, Switchboard};

pub(crate) use self::directories::chance;
use self::directories::{Candidates, DirectoryError, LogDirectories, draw};
use self::disks::Disks;
use self::kerberos::KerberosFault;
use self::key_sets::KeyFault;
use self::loading::{LoadProgress, Loading};
use self::network::{Bound, NetworkError};
use self::observation::Watched;
use self::signals::EndSignals;
use self::stores::{StoreFault, Stores};
use self::tail::{Tail, TailError};
use self::tail_files::{OldTails, Tmpfs, tell};
use self::threads::ShardThreads;
use crate::config::Settings;
use crate::heap::HeapError;

/// How long the shards may take to finish what they are at, and each disk what is queued then.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BrokerError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Stores(#[from] StoreFault),
    #[error(transparent)]
    Keys(#[from] KeyFault),
    #[error(transparent)]
    Kerberos(#[from] KerberosFault),
    #[error(transparent)]
    Tail(#[from] TailError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Load(#[from] StartError),
    #[error("a log cannot be used: {0}")]
    Unusable(String),
    #[error(transparent)]
    Disk(#[from] EngineError),
    #[error(transparent)]
    Heap(#[from] HeapError),
    #[error("aplomb.guard: {0}")]
    Guard(#[from] GuardError),
    #[error(transparent)]
    Server(#[from] aplomb_server::StartError),
    #[error("the process cannot be set up: {0}")]
    System(#[from] std::io::Error),
}

/// A broker at work.
pub(crate) struct Broker {
    server: Server<Shard>,
    disks: Disks,
    tail: Arc<Tail>,
    /// Locked until the end.
    directories: LogDirectories,
    signals: EndSignals,
    health: Health,
    /// Partitions are being loaded while clients are served.
    load: Option<Load>,
    log: Log,
    writer: LogWriter,
}

impl Broker {
    /// Starts a broker.
    ///
    /// # Errors
    /// [`BrokerError`], one sentence with the reason. What was started already ends with the process.
    pub(crate) fn start(settings: &Settings) -> Result<Self, BrokerError> {
        // Whatever comes from here on, a signal is heard when all of it stands.
        let signals = EndSignals::take()?;
        let (log, writer) = Log::start(Box::new(std::io::stdout()))?;
        match Self::start_with(settings, signals, &log) {
            Ok(started) => {
                let Started { server, disks, tail, directories, signals, health, load } = started;
                Ok(Self { server, disks, tail, directories, signals, health, load, log, writer })
            }
            Err(error) => {
                writer.close();
                Err(error)
            }
        }
    }

    fn start_with(settings: &Settings, mut signals: EndSignals, log: &Log) -> Result<Started, BrokerError> {
        abort_on_panic(log.clone());
        let config = Arc::new(settings.broker.clone());
        for warning in &settings.warnings {
            log.warn("config", warning.text.clone());
        }
        let descriptors = limits::raise_descriptors();
        if let Some(text) = limits::end_core_dumps(&config.security) {
            log.warn("wiring/limits", text.to_owned());
        }
        let guard = start_guard(config.guard, log)?;

        let storage = &config.storage;
        if let Some(text) = limits::too_large_for_memory_group(storage.tail_bytes.0) {
            log.error("wiring/limits", text);
        }
        let candidates = Candidates::look(&storage.log_dirs, &storage.metadata_log_dir, config.node_id)?;
        let examined = candidates.examine(config.node_id)?;
        let bound: Vec<Bound> = config.network.listeners.iter().map(Bound::bind).collect::<Result<_, _>>()?;
        let stores = Stores::open(&config, log)?;
        let keys = key_sets::open(&config.security, log)?;
        let gss = kerberos::open(&config.security, log)?;
        let mut directories =
            candidates.settle(config.node_id, settings.cluster_id.as_deref(), &mut chance)?;
        if let Some(wanted) = settings.cluster_id.as_deref().filter(|id| *id != directories.cluster_id) {
            let of = &directories.cluster_id;
            log.warn("config", format!("the environment variable CLUSTER_ID={wanted} is ignored: the directories belong to cluster {of}"));
        }
        let (metrics, health) = pages::start(&config, &stores.gates, log)?;

        let Planned { ready, tail, config, began, unclean } =
            plan(&config, &mut directories, examined, &bound, &stores.checks, &health, log)?;
        stores.adopt(&config);
        let net = network::net_config(&config, limits::most_connections(descriptors), keys, gss)?;
        for remark in &ready.remarks {
            log.warn("wiring/load", remark.clone());
        }
        let disks = Disks::start(&directories, storage, log)?;
        disks.watch(&directories, storage.stall_fence, log.clone())?;
        observation::observe(&metrics, watched(&directories, &disks, &tail));
        tail_watch::watch(Arc::clone(&tail), &metrics, &health, log)?;

        let switchboard = Switchboard::new(ready.shards.len())?;
        let now = aplomb_server::clock::now();
        let shards = ready.shards.into_iter().enumerate().map(|(index, start)| {
            let shard = ShardId(u16::try_from(index).expect("shards are numbered so"));
            start.begin(disks.queues(&switchboard, shard), now)
        });
        let shards: Vec<Shard> = shards.collect();
        let figures = BrokerFigures {
            shards: shards.iter().map(Shard::figures).collect(),
            directories: paths(&directories).collect(),
            lost: directories.lost.iter().map(|lost| lost.path.display().to_string()).collect(),
        };

        let what = format!(
            "{} partitions, node {}, cluster {}, {} shards, guard {:?}, {} descriptors",
            ready.partitions,
            config.node_id,
            directories.cluster_id,
            shards.len() - 1,
            guard.mode(),
            descriptors.map_or("any number of".to_owned(), |count| count.to_string())
        );
        let threads = ShardThreads::new(shards.len());
        let prepare = threads.noting(heaps::prepare(shards.len(), log)?);
        let places: Vec<String> =
            bound.iter().map(|bound| format!("{}://{}", bound.name(), bound.address())).collect();
        let names = bound.iter().map(|bound| bound.name().into()).collect();
        let first = ShardId(1); // the one before it is the controller's
        let server = ServerConfig { listeners: names, first, net, guard, log: log.clone(), prepare };
        let mut server = Server::start(switchboard, server, shards)?;
        let loading = Loading { shards: figures.shards.clone(), partitions: ready.partitions };
        let around = config.network.metrics_listener.is_some().then(|| Around {
            disks: disks.stats(),
            tails: tail.shares.iter().map(observation::tail).collect(),
            delays: threads.delays(),
            slow_limit: config.network.slow_request,
        });
        server.observe(&metrics, &health, figures, around);
        let load = Load { loading, began, unclean };
        let begun = load.loading.begin(&health, &mut signals).map_err(BrokerError::Unusable)?;
        match begun {
            LoadProgress::Complete => load.log_end(log),
            LoadProgress::Left(left) => {
                log.info("wiring/load", format!("{left} partitions are loaded while clients are served"));
            }
            LoadProgress::Interrupted => log.info("wiring", "told to stop before all partitions were loaded"),
        }
        if begun != LoadProgress::Interrupted {
            let listeners: Vec<Listener> = bound
                .into_iter()
                .map(|bound| {
                    let gate = stores.gates.get(bound.name()).cloned();
                    bound.listen(config.network.backlog, gate)
                })
                .collect::<Result<_, _>>()?;
            server.open(listeners)?;
            health.enter(Phase::Ready);
            log.info("wiring", format!("ready at {}: {what}", places.join(", ")));
        }
        let load = matches!(begun, LoadProgress::Left(_)).then_some(load);
        Ok(Started { server, disks, tail, directories, signals, health, load })
    }

    /// Serves until a signal ends it; then finishes what is under way.
    pub(crate) fn run(mut self) -> ExitCode {
        if let Some(load) = self.load.take() {
            match load.loading.finish(&self.health, &mut self.signals) {
                Ok(true) => load.log_end(&self.log),
                Ok(false) => {
                    self.log.info("wiring", "told to stop before all partitions were loaded");
                }
                // As if it had been killed: what was acknowledged is in the tail.
                Err(why) => {
                    self.log.error("wiring", BrokerError::Unusable(why).to_string());
                    self.writer.close();
                    return ExitCode::FAILURE;
                }
            }
        }
        let signal = self.signals.wait();
        self.log
            .info("wiring", format!("{signal}: finishing what is under way; a second signal ends at once"));
        if let Err(error) = self.signals.insist() {
            self.log.warn("wiring", format!("a second signal will not be heard: {error}"));
        }
        self.health.enter(Phase::Stopping);
        self.server.begin_stop(PATIENCE);
        let shards = self.server.join();
        let mut closed = shards.iter().all(Shard::is_stopped);
        closed &= self.disks.stop(PATIENCE, &self.log);
        if !closed {
            self.log.warn(
                "wiring",
                "stopped before everything was closed; the next start reads back what is in the tail",
            );
        } else {
            let needed = shards.iter().any(Shard::needs_tail);
            self.tail.close(&self.directories, needed);
            if needed {
                let text = "stopped without the log directories that are lost; the next start that has them reads back what is in the tail";
                self.log.warn("wiring", text);
            } else {
                self.log.info("wiring", "stopped cleanly");
            }
        }
        self.writer.close();
        if closed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

struct Started {
    server: Server<Shard>,
    disks: Disks,
    tail: Arc<Tail>,
    directories: LogDirectories,
    signals: EndSignals,
    health: Health,
    load: Option<Load>,
}

/// The load of all partitions, and what is said of it at its end.
struct Load {
    loading: Loading,
    began: Instant,
    unclean: bool,
}

impl Load {
    fn log_end(&self, log: &Log) {
        let took = aplomb_server::clock::instant().since(self.began).as_millis();
        let how = if self.unclean { "an unclean stop, or for the first time," } else { "a clean stop" };
        let partitions = self.loading.partitions;
        let noted: usize = self.loading.shards.iter().map(|shard| shard.noted()).sum();
        let noted =
            if noted > 0 { format!(", {noted} of them as that stop had noted them") } else { String::new() };
        log.info("wiring/load", format!("loaded {partitions} partitions after {how} in {took} ms{noted}"));
    }
}

/// What the shards begin with.
struct Planned {
    ready: Ready,
    tail: Arc<Tail>,
    /// The settings, with what was changed while earlier processes ran.
    config: Arc<BrokerConfig>,
    /// When the directories were begun to be looked through.
    began: Instant,
    /// Whether a directory was not closed cleanly.
    unclean: bool,
}

fn plan(
    config: &Arc<BrokerConfig>,
    directories: &mut LogDirectories,
    examined: Option<Examined>,
    bound: &[Bound],
    checks: &Arc<StoreChecks>,
    health: &Health,
    log: &Log,
) -> Result<Planned, BrokerError> {
    health.enter(Phase::Restoring);
    let storage = &config.storage;
    let old = OldTails::find(Tmpfs, &known(directories), directories.metadata, tail::directory(storage))
        .map_err(TailError::from)?;
    let surveyed = survey_all(directories)?;
    let unclean = surveyed.iter().any(|surveyed| surveyed.clean.is_none());
    let metadata = &surveyed[directories.metadata];
    let restored = old
        .restore(&metadata.directory, &Wanted::Metadata, &mut || draw(&mut chance), &mut tell(log))
        .map_err(TailError::from)?;
    let found = match examined {
        Some(examined) if restored == 0 => examined.found,
        _ => MetadataFound::read(&metadata.directory, &directories.cluster_id, metadata.clean.is_some())?,
    };
    let image = found.replay.image();
    if image.provenance.end == Offset::ZERO {
        old.refuse_without_metadata(&metadata.directory.path).map_err(TailError::from)?;
    }
    // After a clean stop no directory names a tail.
    let unclean_ones = startup::may_lack_records(&surveyed, image, config.node_id);
    old.tell_what_may_be_lost(&unclean_ones, storage.flush_interval, &mut tell(log));
    let topics = &image.topics;
    let names = |id| topics.by_id(id).map(|topic| topic.name.clone());
    restore_all(&old, directories, &names, log)?;
    let surveyed = remaining(surveyed, directories);
    for lost in &directories.lost {
        let text = format!("{}; the broker starts without it: the partitions in it are offline", lost.why);
        log.error("wiring/directories", text);
    }
    directories.check_that_some_are_left(&storage.log_dirs)?;
    let room = old
        .make_room(&directories.ids(), storage.tail_bytes.0, &names, &mut tell(log))
        .map_err(TailError::from)?;
    let tail = Arc::new(Tail::open(room, directories, storage, log)?);

    let config = in_force(config, found.replay.image(), log);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let began = aplomb_server::clock::now();
    let ready = startup::plan(StartInput {
        config: Arc::clone(&config),
        node: loading::node(&config, directories, bound),
        directories: surveyed,
        shares: tail.shares.clone(),
        lost: directories.lost.iter().map(|lost| lost.path.display().to_string()).collect(),
        metadata: DiskIndex(u16::try_from(directories.metadata).expect("log directories are few")),
        found,
        shards: config.network.shards_on(processors),
        now: began.wall,
        random: Box::new(|| Box::new(chance)),
        stores: Arc::clone(checks),
    })?;
    Ok(Planned { ready, tail, config, began: began.instant, unclean })
}

/// Surveys the log directories. Those whose disks fail are lost.
fn survey_all(directories: &mut LogDirectories) -> Result<Vec<Surveyed>, BrokerError> {
    let mut surveyed = Vec::new();
    for directory in known(directories) {
        let id = directory.id;
        match survey(directory) {
            Ok(one) => surveyed.push(one),
            Err(error @ StartError::Disk { .. })
                if directories.lose(id, format!("log directory {error}")) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(surveyed)
}

/// Writes what old tails have into the log directories. Those whose disks fail are lost.
fn restore_all(
    old: &OldTails,
    directories: &mut LogDirectories,
    names: &Names<'_>,
    log: &Log,
) -> Result<(), BrokerError> {
    for directory in known(directories) {
        let (topics, mut unique) = (Wanted::Topics(names), || draw(&mut chance));
        match old.restore(&directory, &topics, &mut unique, &mut tell(log)) {
            Ok(_) => {}
            Err(error) if error.is_of_the_disk() && directories.lose(directory.id, error.to_string()) => {}
            Err(error) => return Err(TailError::from(error).into()),
        }
    }
    Ok(())
}

/// What was surveyed of the directories that have not been lost since.
fn remaining(surveyed: Vec<Surveyed>, directories: &LogDirectories) -> Vec<Surveyed> {
    let there = directories.ids();
    let mut left: Vec<_> = surveyed.into_iter().filter(|one| there.contains(&one.directory.id)).collect();
    for (index, one) in left.iter_mut().enumerate() {
        one.directory.index = DiskIndex(u16::try_from(index).expect("log directories are few"));
    }
    left
}

/// The file's settings with those that are in the metadata log; the file's alone, if both together
/// make no sense.
fn in_force(config: &Arc<BrokerConfig>, image: &MetadataImage, log: &Log) -> Arc<BrokerConfig> {
    match config.in_force(&image.layers(config)) {
        Ok(changed) => Arc::new(changed),
        Err(error) => {
            log.warn("config", format!("settings changed at run time are not in force: {error}"));
            Arc::clone(config)
        }
    }
}

/// The topics that the metadata log has, read once more, and whether it is empty.
fn topics_of(directories: &LogDirectories, clean: bool) -> Result<(Arc<Topics>, bool), StartError> {
    let home = known(directories).swap_remove(directories.metadata);
    let found = MetadataFound::read(&home, &directories.cluster_id, clean)?;
    let image = found.replay.image();
    Ok((image.topics.clone(), image.provenance.end == Offset::ZERO))
}

/// The log directories as start-up knows them.
fn known(directories: &LogDirectories) -> Vec<Directory> {
    let known = directories.directories.iter().enumerate().map(|(index, directory)| Directory {
        index: DiskIndex(u16::try_from(index).expect("log directories are few")),
        id: directory.id,
        path: directory.path.display().to_string(),
        disk: directory.disk.clone(),
    });
    known.collect()
}

fn watched(directories: &LogDirectories, disks: &Disks, tail: &Tail) -> Vec<Watched> {
    let all = paths(directories).zip(disks.stats()).zip(&tail.shares);
    all.map(|((directory, stats), share)| Watched { directory, stats, share: Arc::clone(share) }).collect()
}

fn paths(directories: &LogDirectories) -> impl Iterator<Item = String> {
    directories.directories.iter().map(|directory| directory.path.display().to_string())
}

/// Under `log` a kernel that cannot watch is worth a warning; under `enforce` it is an error.
fn start_guard(setting: GuardSetting, log: &Log) -> Result<Guard, GuardError> {
    let mode = match setting {
        GuardSetting::Off => GuardMode::Off,
        GuardSetting::Log => GuardMode::Log,
        GuardSetting::Enforce => GuardMode::Enforce,
    };
    let guard = Guard::start(mode, log.clone())?;
    match (guard.check(), mode) {
        (Ok(()), _) => Ok(guard),
        (Err(error), GuardMode::Log) => {
            log.warn("wiring/guard", format!("nobody watches over the request threads: {error}"));
            Ok(Guard::off())
        }
        (Err(error), _) => Err(error),
    }
}
