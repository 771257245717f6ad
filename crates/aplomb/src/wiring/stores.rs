//! Stores of keys and certificates: read here, since files may keep one waiting, and handed to the
//! server as bytes; looked at again and again, and taken anew when they have changed (`watch.rs`).
//! Others, which a client wants while the broker runs, are looked at in `checks.rs`.
//!
//! What always holds: a store that cannot be used changes nothing, and is told of once; a disk that
//! stands still keeps a thread of the listener that has its store there, and no other.

mod checks;
mod files;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::config::{BrokerConfig, TlsConfig};
use aplomb_broker::store_checks::{StoreChecks, tls_of_listeners};
use aplomb_server::log::Log;
use aplomb_server::security::{Gate, Prepared, TlsError, TlsSettings};

use self::checks::Checker;
pub(super) use self::files::read_file;
use self::files::{FileFacts, look, read};
pub(crate) use self::files::{SystemTrust, read_store, read_up_to, system_trust};

/// A listener's TLS that cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreFault {
    #[error("listener {listener}: {path} cannot be read: {source}")]
    File { listener: Arc<str>, path: String, source: std::io::Error },
    #[error("listener {listener}: {error}")]
    Tls { listener: Arc<str>, error: TlsError },
    #[error("stores cannot be watched: {0}")]
    Thread(std::io::Error),
}

/// The gates of all listeners with TLS.
pub(super) type Gates = BTreeMap<Arc<str>, Arc<Gate>>;

/// The metrics listener among the gates. Others have names without dots.
pub(super) const METRICS: &str = "aplomb.metrics.listener";

/// All stores, and who looks after them.
pub(super) struct Stores {
    pub(super) gates: Gates,
    /// What clients want listeners to have.
    pub(super) checks: Arc<StoreChecks>,
    checker: Arc<Checker>,
}

/// One listener's gate, and what it was made of.
struct Guarded {
    listener: Arc<str>,
    gate: Arc<Gate>,
    in_use: Mutex<InUse>,
}

/// Settings, and what their files were like when they were read.
#[derive(Clone)]
struct InUse {
    config: Arc<TlsConfig>,
    seen: FileFacts,
}

/// What was read by settings, to be used from some time on.
struct Made {
    of: InUse,
    prepared: Prepared,
}

impl Guarded {
    fn open(listener: Arc<str>, config: &Arc<TlsConfig>) -> Result<Self, StoreFault> {
        let seen = look(config);
        let fault = |error| StoreFault::Tls { listener: Arc::clone(&listener), error };
        let gate = Arc::new(Gate::new(&read(&listener, config)?).map_err(fault)?);
        let in_use = Mutex::new(InUse { config: Arc::clone(config), seen });
        Ok(Self { listener, gate, in_use })
    }

    fn in_use(&self) -> InUse {
        self.lock().clone()
    }

    /// Reads what settings name. It waits for files, and changes nothing.
    fn read(&self, config: &Arc<TlsConfig>) -> Result<(InUse, TlsSettings), StoreFault> {
        let seen = look(config);
        let settings = read(&self.listener, config)?;
        Ok((InUse { config: Arc::clone(config), seen }, settings))
    }

    /// Takes apart what was read. Passwords can be such that this takes a processor for seconds.
    fn prepare(&self, (of, settings): (InUse, TlsSettings)) -> Result<Made, StoreFault> {
        let fault = |error| StoreFault::Tls { listener: Arc::clone(&self.listener), error };
        let prepared = Gate::prepare(&settings).map_err(fault)?;
        Ok(Made { of, prepared })
    }

    /// Both, one after the other.
    fn make(&self, config: &Arc<TlsConfig>) -> Result<Made, StoreFault> {
        self.prepare(self.read(config)?)
    }

    /// New connections have this from here on.
    fn install(&self, made: Made) {
        let mut in_use = self.lock();
        self.gate.install(made.prepared);
        *in_use = made.of;
    }

    /// The same, unless other settings have come into force while their files were read.
    fn renew(&self, made: Made) -> bool {
        let mut in_use = self.lock();
        let is_current = Arc::ptr_eq(&in_use.config, &made.of.config);
        if is_current {
            self.gate.install(made.prepared);
            *in_use = made.of;
        }
        is_current
    }

    /// The files have changed, and are of no use.
    fn pass_over(&self, config: &Arc<TlsConfig>, seen: FileFacts) {
        let mut in_use = self.lock();
        if Arc::ptr_eq(&in_use.config, config) {
            in_use.seen = seen;
        }
    }

    fn subject(&self) -> String {
        self.gate.subject().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InUse> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stores {
    /// Reads all stores, and has threads look after them.
    pub(super) fn open(config: &BrokerConfig, log: &Log) -> Result<Self, StoreFault> {
        let network = &config.network;
        let of_metrics = network.metrics_access.tls.as_ref().filter(|_| network.metrics_listener.is_some());
        let of_metrics = of_metrics.map(|tls| (Arc::from(METRICS), Arc::clone(tls)));
        let (mut gates, mut all) = (Gates::new(), BTreeMap::new());
        for (listener, config) in tls_of_listeners(&config.security).into_iter().chain(of_metrics) {
            let guarded = Arc::new(Guarded::open(Arc::clone(&listener), &config)?);
            let text = format!("listener {listener} shows the certificate of {}", guarded.subject());
            log.info("wiring/stores", text);
            gates.insert(Arc::clone(&listener), Arc::clone(&guarded.gate));
            watch::start(Arc::clone(&guarded), log.clone()).map_err(StoreFault::Thread)?;
            all.insert(listener, guarded);
        }
        let (checks, checker) = Checker::start(all, log.clone()).map_err(StoreFault::Thread)?;
        Ok(Self { gates, checks, checker })
    }

    /// What was changed while earlier processes ran counts from here on, where it can be used.
    pub(super) fn adopt(&self, config: &BrokerConfig) {
        self.checker.put_in_force(tls_of_listeners(&config.security));
    }
}
