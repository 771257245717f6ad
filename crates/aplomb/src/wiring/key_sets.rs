//! Keys of those who sign tokens: fetched here, by a thread for each place that they come from,
//! and handed to the listeners.
//!
//! What always holds: what cannot be fetched or used changes nothing; a place that does not answer
//! keeps the start waiting for a bounded time, and nothing else.

mod fetch;
mod tend;

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, Thread};
use std::time::Duration;

use aplomb_broker::config::{KeySource, SecurityConfig, TokenConfig};
use aplomb_broker::sasl::oauth::JwksCache;
use aplomb_server::log::Log;
use aplomb_server::net::JwksCaches;

use self::fetch::FetchFault;
use self::tend::Tender;

/// How long the start waits for the first keys of all places together, names that have to be
/// resolved and disks that do not answer included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keys that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyFault {
    #[error("listener {listener}: the keys of sasl.oauthbearer.jwks.endpoint.url cannot be had: {fault}")]
    Fetch { listener: Arc<str>, fault: FetchFault },
    #[error(
        "listener {listener}: {place} (sasl.oauthbearer.jwks.endpoint.url) has not given its keys within {PATIENCE:?}"
    )]
    Late { listener: Arc<str>, place: String },
    #[error("keys cannot be fetched: {0}")]
    Thread(std::io::Error),
}

/// Fetches all keys that listeners need, and has threads look after them.
pub(super) fn open(security: &SecurityConfig, log: &Log) -> Result<JwksCaches, KeyFault> {
    let (mut caches, mut places) = (JwksCaches::new(), Vec::<(KeySource, Arc<JwksCache>)>::new());
    let mut firsts = Vec::new();
    for (listener, source) in sources(security) {
        if let Some((_, known)) = places.iter().find(|(known, _)| *known == source) {
            caches.insert(listener, Arc::clone(known));
            continue;
        }
        let (first, told) = sync_channel(1);
        let cache = begin(&source, first, log).map_err(KeyFault::Thread)?;
        firsts.push((Arc::clone(&listener), source.url.to_string(), told));
        places.push((source, Arc::clone(&cache)));
        caches.insert(listener, cache);
    }
    let by = std::time::Instant::now() + PATIENCE;
    for (listener, place, told) in firsts {
        match told.recv_timeout(by.saturating_duration_since(std::time::Instant::now())) {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return Err(KeyFault::Fetch { listener, fault }),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(KeyFault::Late { listener, place });
            }
        }
    }
    Ok(caches)
}

/// Where the keys of each listener come from.
fn sources(security: &SecurityConfig) -> BTreeMap<Arc<str>, KeySource> {
    let sources = security.listeners.iter().filter_map(|(listener, security)| {
        let mechanisms = &security.sasl.as_ref()?.mechanisms;
        let tokens = mechanisms.iter().find_map(|mechanism| mechanism.tokens.as_ref());
        match tokens? {
            TokenConfig::Validated(rules) => Some((Arc::clone(listener), rules.keys.clone())),
            TokenConfig::Unsecured(_) => None,
        }
    });
    sources.collect()
}

/// Starts the thread of a place. `first` is told what came of its first fetch.
fn begin(
    source: &KeySource,
    first: SyncSender<Result<(), FetchFault>>,
    log: &Log,
) -> std::io::Result<Arc<JwksCache>> {
    let sleeper = Arc::new(OnceLock::<Thread>::new());
    let woken = Arc::clone(&sleeper);
    let bell = move || {
        if let Some(thread) = woken.get() {
            thread.unpark();
        }
    };
    let cache = Arc::new(JwksCache::new(Box::new(bell)));
    let tender = Tender::new(source.clone(), Arc::clone(&cache), log.clone());
    let thread = Builder::new().name("aplomb-keys".to_owned()).spawn(move || tender.run(&first))?;
    let _ = sleeper.set(thread.thread().clone());
    Ok(cache)
}
