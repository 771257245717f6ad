//! Tickets of Kerberos: looked at by a thread for each listener that takes them, since keytabs and
//! what is noted of replays are files.
//!
//! What always holds: shards find what came of a ticket ([`GssQueue`]) and wait for nothing; a
//! keytab is read anew for each exchange, so that one that is put in its place counts at once.

mod library;
mod tickets;

use std::ffi::CString;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use aplomb_broker::config::{KerberosConfig, SecurityConfig};
use aplomb_broker::sasl::gssapi::{GssAcceptor, GssFault, GssQueue, GssWorker};
use aplomb_server::log::Log;
use aplomb_server::net::GssQueues;
use aplomb_server::security::{LocalNames, LocalRuleError};

pub(crate) use self::library::NoLibrary;
use self::library::{Context, Library, library};
pub(crate) use self::tickets::OwnTickets;

/// How long the start waits for the first look at all keytabs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often exchanges are forgotten whose connections have gone.
const SWEEP: Duration = Duration::from_secs(1);

/// Tickets that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KerberosFault {
    #[error("listener {listener}: {fault}")]
    Library { listener: Arc<str>, fault: NoLibrary },
    #[error("listener {listener}: keyTab or principal of gssapi.sasl.jaas.config: {why}")]
    Keytab { listener: Arc<str>, why: String },
    #[error("listener {listener}: sasl.kerberos.principal.to.local.rules: {fault}")]
    Rules { listener: Arc<str>, fault: LocalRuleError },
    #[error("listener {listener}: its keytab could not be read within {PATIENCE:?}")]
    Late { listener: Arc<str> },
    #[error("tickets cannot be looked at: {0}")]
    Thread(std::io::Error),
}

/// What a thread says first.
type First = Result<String, KerberosFault>;

/// Has threads look at the tickets of all listeners that take them.
pub(super) fn open(security: &SecurityConfig, log: &Log) -> Result<GssQueues, KerberosFault> {
    let (mut queues, mut firsts) = (GssQueues::new(), Vec::new());
    for (listener, security) in &security.listeners {
        let mechanisms = security.sasl.iter().flat_map(|sasl| &sasl.mechanisms);
        let Some(config) = mechanisms.filter_map(|mechanism| mechanism.kerberos.clone()).next() else {
            continue;
        };
        let (call, calls) = sync_channel(1);
        // If one call waits already, it will see to this, too.
        let queue = Arc::new(GssQueue::new(move || {
            let _ = call.try_send(());
        }));
        let (first, told) = sync_channel(1);
        let (name, work) = (Arc::clone(listener), Arc::clone(&queue));
        let thread = Builder::new().name("aplomb-kerberos".to_owned());
        thread.spawn(move || tend(&name, config, &work, &calls, &first)).map_err(KerberosFault::Thread)?;
        firsts.push((Arc::clone(listener), told));
        queues.insert(Arc::clone(listener), queue);
    }
    let by = Instant::now() + PATIENCE;
    for (listener, told) in firsts {
        match told.recv_timeout(by.saturating_duration_since(Instant::now())) {
            Ok(first) => log.info("wiring/kerberos", format!("listener {listener}: {}", first?)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(KerberosFault::Late { listener });
            }
        }
    }
    Ok(queues)
}

/// The thread of a listener. `first` is told whether its keytab can be used.
fn tend(
    listener: &Arc<str>,
    config: KerberosConfig,
    queue: &GssQueue,
    calls: &Receiver<()>,
    first: &SyncSender<First>,
) {
    let acceptor = match Acceptor::open(listener, config) {
        Ok((acceptor, said)) => {
            let _ = first.send(Ok(said));
            acceptor
        }
        Err(fault) => {
            let _ = first.send(Err(fault));
            return;
        }
    };
    let mut worker = GssWorker::new(acceptor);
    while calls.recv_timeout(SWEEP) != Err(RecvTimeoutError::Disconnected) {
        while worker.serve_next(queue) {}
        worker.forget_gone();
    }
}

/// A listener's keys and rules.
struct Acceptor {
    library: &'static Library,
    principal: Option<String>,
    keytab: Option<CString>,
    names: LocalNames,
}

impl Acceptor {
    /// Reads rules, and the keytab for the first time. What it has found is for the log.
    fn open(listener: &Arc<str>, config: KerberosConfig) -> Result<(Self, String), KerberosFault> {
        let KerberosConfig { principal, keytab, rules } = config;
        let listener = || Arc::clone(listener);
        let library = library().map_err(|fault| KerberosFault::Library { listener: listener(), fault })?;
        let realm = library.default_realm().unwrap_or_default();
        let names = LocalNames::parse(&rules, &realm)
            .map_err(|fault| KerberosFault::Rules { listener: listener(), fault })?;
        let unusable = |why: String| KerberosFault::Keytab { listener: listener(), why };
        let keytab = keytab.map(CString::new).transpose().map_err(|error| unusable(error.to_string()))?;
        let acceptor = Self { library, principal, keytab, names };
        acceptor.keys().map_err(|fault| unusable(fault.why))?;
        let whom = acceptor.principal.as_deref().unwrap_or("whom the keytab has keys of");
        let said = format!("takes tickets for {whom}; the realm is {realm:?}");
        Ok((acceptor, said))
    }

    fn keys(&self) -> Result<library::Keys, GssFault> {
        self.library.keys(self.principal.as_deref(), self.keytab.as_deref())
    }
}

impl GssAcceptor for Acceptor {
    type Context = Context;

    fn begin(&mut self) -> Result<Context, GssFault> {
        Ok(self.keys()?.context())
    }

    fn short_name(&self, principal: &str) -> Result<String, GssFault> {
        self.names.short_name(principal).map_err(|fault| {
            let why = format!("Failed to set name for '{principal}' based on Kerberos authentication rules");
            GssFault::lasting(format!("{why}: {fault}"))
        })
    }
}
