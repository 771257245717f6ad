//! Who loads, and as whom.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use aplomb_broker::config::{BrokerConfig, Listener};
use aplomb_broker::controller::Node;
use aplomb_broker::metadata::Endpoint;
use aplomb_broker::startup::{Job, Loaded, StartError};
use aplomb_model::DirectoryId;
use aplomb_server::metrics::Health;

use super::directories::{LogDirectories, chance, draw};
use super::network::Bound;

/// Runs `jobs` on `threads` threads, and tells `health` how far they are.
pub(super) fn on_threads(jobs: Vec<Job>, threads: usize, health: &Health) -> Vec<Result<Loaded, StartError>> {
    health.begin_recovery(jobs.len());
    let threads = threads.clamp(1, jobs.len().max(1));
    let results = Mutex::new(Vec::with_capacity(jobs.len()));
    let jobs = Mutex::new(VecDeque::from(jobs));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(job) = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else {
                        return;
                    };
                    let result = job();
                    health.on_loaded();
                    results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
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

/// What clients are told: where nothing is said, this machine's name, and the port that the system chose.
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
