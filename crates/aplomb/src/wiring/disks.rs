//! The disks' engines: started, watched, stopped.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{DiskEngineChoice, StorageConfig};
use aplomb_broker::ports::ShardId;
use aplomb_disk::{DiskEngine, EngineError, EngineKind, EngineOptions};
use aplomb_disk_api::stats::DiskStats;
use aplomb_disk_api::{DiskHealth, DiskIndex, DiskQueue};
use aplomb_server::Switchboard;
use aplomb_server::log::Log;

use super::directories::LogDirectories;

/// How often the disks' ages are looked at.
const LOOK: Duration = Duration::from_millis(250);

/// The engines, in the order of the log directories.
pub(super) struct Disks {
    engines: Vec<DiskEngine>,
}

impl Disks {
    /// Starts an engine for each log directory.
    pub(super) fn start(
        directories: &LogDirectories,
        storage: &StorageConfig,
        log: &Log,
    ) -> Result<Self, EngineError> {
        let engines = directories.directories.iter().enumerate().map(|(index, directory)| {
            let options = EngineOptions {
                engine: match storage.disk_engine {
                    DiskEngineChoice::Auto => EngineKind::Auto,
                    DiskEngineChoice::IoUring => EngineKind::IoUring,
                    DiskEngineChoice::Threads => EngineKind::Threads,
                },
                job_threads: usize::try_from(storage.recovery_threads).unwrap_or(1),
                readahead_budget: storage.readahead.0,
                on_loss: Some(on_loss(&directory.path, log.clone())),
                ..EngineOptions::default()
            };
            let index = DiskIndex(u16::try_from(index).expect("log directories are few"));
            let engine = DiskEngine::open(index, &directory.path, options)?;
            log.info(
                "wiring/disks",
                format!("{} is served by {:?}", directory.path.display(), engine.kind()),
            );
            Ok(engine)
        });
        Ok(Self { engines: engines.collect::<Result<_, _>>()? })
    }

    /// A shard's entrances to all disks, in order.
    pub(super) fn queues(&self, switchboard: &Switchboard, shard: ShardId) -> Vec<Box<dyn DiskQueue>> {
        self.engines.iter().map(|engine| engine.queue(switchboard.sink(shard))).collect()
    }

    /// The disks' counters, in order.
    pub(super) fn stats(&self) -> Vec<Arc<DiskStats>> {
        self.engines.iter().map(|engine| engine.stats()).collect()
    }

    /// Reports stalls while they last, from a thread of its own, for as long as the process lives.
    pub(super) fn watch(
        &self,
        directories: &LogDirectories,
        patience: Duration,
        log: Log,
    ) -> std::io::Result<()> {
        let paths = directories.directories.iter().map(|directory| directory.path.display().to_string());
        let mut watched: Vec<Watched> = self
            .engines
            .iter()
            .zip(paths)
            .map(|(engine, path)| Watched { stats: engine.stats(), path, health: DiskHealth::Prompt })
            .collect();
        std::thread::Builder::new().name("aplomb-watch".to_owned()).spawn(move || {
            loop {
                std::thread::sleep(LOOK);
                for disk in &mut watched {
                    disk.look(patience, &log);
                }
            }
        })?;
        Ok(())
    }

    /// Ends the engines: what is queued is done, but not beyond `patience` for each. Says whether
    /// all came to their end.
    pub(super) fn stop(self, patience: Duration, log: &Log) -> bool {
        let mut all = true;
        for engine in self.engines {
            if let Err(error) = engine.stop(patience) {
                log.warn("wiring/disks", format!("a disk was not waited for: {error}"));
                all = false;
            }
        }
        all
    }
}

struct Watched {
    stats: Arc<DiskStats>,
    path: String,
    health: DiskHealth,
}

impl Watched {
    fn look(&mut self, patience: Duration, log: &Log) {
        let now = aplomb_server::clock::instant();
        let health = self.health.clone().observe(self.stats.oldest(), now, patience);
        match (&self.health, &health) {
            (DiskHealth::Prompt, DiskHealth::Stalled { since }) => log.warn(
                "wiring/disks",
                format!("{} has not answered for {} ms", self.path, now.since(*since).as_millis()),
            ),
            (DiskHealth::Stalled { since }, DiskHealth::Prompt) => log.info(
                "wiring/disks",
                format!("{} answers again, after {} ms", self.path, now.since(*since).as_millis()),
            ),
            _ => {}
        }
        self.health = health;
    }
}

fn on_loss(path: &Path, log: Log) -> aplomb_disk::OnLoss {
    let path = path.display().to_string();
    Arc::new(move |_, why| log.error("wiring/disks", format!("{path} is lost: {why}")))
}
