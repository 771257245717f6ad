//! Waiting until partitions are loaded, and as whom this process is known.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{BrokerConfig, Listener};
use aplomb_broker::controller::Node;
use aplomb_broker::figures::ShardFigures;
use aplomb_broker::metadata::Endpoint;
use aplomb_model::DirectoryId;
use aplomb_server::clock;
use aplomb_server::metrics::Health;

use super::directories::{LogDirectories, chance, draw};
use super::network::Bound;
use super::signals::EndSignals;

/// How often the shards are looked at while they load.
const PAUSE: Duration = Duration::from_millis(1);

/// The same, once clients are served.
const LONG_PAUSE: Duration = Duration::from_millis(20);

/// For how long clients wait until all is loaded: most brokers need less. Behind it a partition
/// that is not loaded answers NOT_LEADER_OR_FOLLOWER, which clients try again, and is loaded next.
const CLIENTS_WAIT: Duration = Duration::from_millis(500);

/// Partitions that the shards load.
pub(super) struct Loading {
    pub(super) shards: Vec<Arc<ShardFigures>>,
    /// How many there are, loaded or not.
    pub(super) partitions: usize,
}

/// How far the shards are when the wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadProgress {
    /// All is loaded.
    Complete,
    /// So many are left, and clients are not to wait for them.
    Left(usize),
    /// A signal has come first.
    Interrupted,
}

impl Loading {
    /// Waits until all are loaded, or clients have waited for long enough, and tells `health` how
    /// far they are.
    ///
    /// # Errors
    /// Why a log cannot be used.
    pub(super) fn begin(&self, health: &Health, signals: &mut EndSignals) -> Result<LoadProgress, String> {
        health.begin_recovery(self.partitions);
        let until = clock::instant() + CLIENTS_WAIT;
        loop {
            let left = self.left(health)?;
            if left == 0 {
                return Ok(LoadProgress::Complete);
            }
            if signals.has_come() {
                return Ok(LoadProgress::Interrupted);
            }
            if clock::instant() >= until {
                return Ok(LoadProgress::Left(left));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for the rest, while clients are served. `false`: a signal has come first.
    ///
    /// # Errors
    /// Why a log cannot be used.
    pub(super) fn finish(&self, health: &Health, signals: &mut EndSignals) -> Result<bool, String> {
        while self.left(health)? > 0 {
            if signals.has_come() {
                return Ok(false);
            }
            std::thread::sleep(LONG_PAUSE);
        }
        Ok(true)
    }

    fn left(&self, health: &Health) -> Result<usize, String> {
        if let Some(why) = self.shards.iter().find_map(|shard| shard.failure()) {
            return Err(why.to_owned());
        }
        let left: usize = self.shards.iter().map(|shard| shard.loading()).sum();
        health.loaded(self.partitions - left);
        Ok(left)
    }
}

/// This process, as the metadata log gets to know it.
pub(super) fn node(config: &BrokerConfig, directories: &LogDirectories, bound: &[Bound]) -> Node {
    let network = &config.network;
    let endpoints = |listeners: &[Listener]| {
        listeners.iter().map(|listener| endpoint(listener, bound)).collect::<Vec<_>>()
    };
    let ids = |paths: &[String]| -> Vec<DirectoryId> {
        let of = |path: &String| {
            directories.directories.iter().find(|directory| directory.path.as_os_str() == path.as_str())
        };
        paths.iter().filter_map(of).map(|directory| directory.id).collect()
    };
    Node {
        id: config.node_id,
        incarnation: draw(&mut chance),
        endpoints: endpoints(&network.advertised),
        controller_endpoints: endpoints(&network.controller_listeners),
        rack: config.rack.clone(),
        directories: ids(&config.storage.log_dirs),
        cordoned_directories: ids(&config.storage.cordoned_log_dirs),
        metadata_directory: directories.metadata_id(),
    }
}

/// What clients are told: where nothing is said, this machine's name, and the port that the system
/// chose.
fn endpoint(listener: &Listener, bound: &[Bound]) -> Endpoint {
    let port = match listener.port {
        0 => bound.iter().find(|bound| bound.name() == &*listener.name).map_or(0, |b| b.address().port()),
        port => port,
    };
    let host = listener
        .host
        .clone()
        .unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    Endpoint { name: listener.name.to_string(), host, port, security_protocol: listener.protocol.to_wire() }
}
