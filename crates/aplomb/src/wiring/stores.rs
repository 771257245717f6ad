//! Stores of keys and certificates: read here, since files may keep one waiting, and handed to the
//! server as bytes; looked at again and again, and taken anew when they have changed.
//!
//! What always holds: a store that cannot be used changes nothing, and is told of once.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aplomb_broker::config::{BrokerConfig, StoreConfig, StorePlace, TlsConfig};
use aplomb_server::log::Log;
use aplomb_server::security::{Gate, Material, TlsError, TlsSettings};
use zeroize::Zeroizing;

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(1);

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

/// One listener's gate, and what it was made of.
struct Guarded {
    listener: Arc<str>,
    config: Arc<TlsConfig>,
    gate: Arc<Gate>,
    seen: Vec<Option<(SystemTime, u64)>>,
}

/// The metrics listener among the gates. Others have names without dots.
pub(super) const METRICS: &str = "aplomb.metrics.listener";

/// More than any store has; and all that is read of what is none, in bytes.
const LARGEST_STORE: u64 = 4 << 20;

/// Reads all stores, and has a thread look after them.
pub(super) fn open(config: &BrokerConfig, log: &Log) -> Result<Gates, StoreFault> {
    let (mut gates, mut watched) = (Gates::new(), Vec::new());
    let of_clients = config.security.listeners.iter();
    let of_clients =
        of_clients.filter_map(|(name, security)| Some((Arc::clone(name), security.tls.as_ref()?)));
    let network = &config.network;
    let of_metrics = network.metrics_access.tls.as_ref().filter(|_| network.metrics_listener.is_some());
    for (listener, config) in of_clients.chain(of_metrics.map(|tls| (Arc::from(METRICS), tls))) {
        let listener = &listener;
        let seen = look(config);
        let fault = |error| StoreFault::Tls { listener: Arc::clone(listener), error };
        let gate = Arc::new(Gate::new(&read(listener, config)?).map_err(fault)?);
        if let Some(subject) = gate.subject() {
            log.info("wiring/stores", format!("listener {listener} shows the certificate of {subject}"));
        }
        gates.insert(Arc::clone(listener), Arc::clone(&gate));
        watched.push(Guarded { listener: Arc::clone(listener), config: Arc::clone(config), gate, seen });
    }
    if !watched.is_empty() {
        let log = log.clone();
        let thread = std::thread::Builder::new().name("aplomb-stores".to_owned());
        thread.spawn(move || watch(watched, &log)).map_err(StoreFault::Thread)?;
    }
    Ok(gates)
}

/// Until the process ends.
fn watch(mut all: Vec<Guarded>, log: &Log) -> ! {
    loop {
        std::thread::sleep(LOOK);
        for one in &mut all {
            let seen = look(&one.config);
            if seen == one.seen {
                continue;
            }
            one.seen = seen;
            let listener = &one.listener;
            let renewed = read(listener, &one.config).and_then(|settings| {
                let fault = |error| StoreFault::Tls { listener: Arc::clone(listener), error };
                one.gate.renew(&settings).map_err(fault)
            });
            match renewed {
                Ok(()) => {
                    let subject = one.gate.subject().unwrap_or_default();
                    let text = format!(
                        "listener {listener}: its stores have changed; new connections are shown the certificate of {subject}"
                    );
                    log.info("wiring/stores", text);
                }
                Err(fault) => {
                    log.error("wiring/stores", format!("{fault}; what there was before stays in use"));
                }
            }
        }
    }
}

/// When the files changed last, and how large they are.
fn look(config: &TlsConfig) -> Vec<Option<(SystemTime, u64)>> {
    let stores = [Some(&config.keystore), config.truststore.as_ref()];
    let files = stores.into_iter().flatten().filter_map(|store| match &store.place {
        StorePlace::File(path) => Some(PathBuf::from(path)),
        StorePlace::Inline { .. } => None,
    });
    let facts = |path: PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.map(facts).collect()
}

fn read(listener: &Arc<str>, config: &TlsConfig) -> Result<TlsSettings, StoreFault> {
    Ok(TlsSettings {
        keystore: material(listener, &config.keystore)?,
        key_password: config.key_password.as_ref().map(|secret| secret.reveal().to_owned().into()),
        truststore: config.truststore.as_ref().map(|store| material(listener, store)).transpose()?,
        client_auth: config.client_auth,
        versions: config.versions.clone(),
        suites: config.suites.clone(),
        rules: config.rules.clone(),
    })
}

fn material(listener: &Arc<str>, store: &StoreConfig) -> Result<Material, StoreFault> {
    let fault = |(path, source)| StoreFault::File { listener: Arc::clone(listener), path, source };
    read_store(store).map_err(fault)
}

/// A store from wherever it is; the path of the file that cannot be read, and why.
pub(crate) fn read_store(store: &StoreConfig) -> Result<Material, (String, std::io::Error)> {
    let inline = |text: &str| Zeroizing::new(text.as_bytes().to_vec());
    let (bytes, key) = match &store.place {
        StorePlace::File(path) => (read_file(path).map_err(|source| (path.clone(), source))?, None),
        StorePlace::Inline { certificates, key } => {
            (inline(certificates.reveal()), key.as_ref().map(|key| inline(key.reveal())))
        }
    };
    let password = store.password.as_ref().map(|secret| secret.reveal().to_owned().into());
    Ok(Material { kind: store.kind, bytes, key, password })
}

/// Where systems keep the certificates that they trust: Debian's, Red Hat's, Alpine's.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// The certificates that the system trusts, in PEM.
pub(crate) enum SystemTrust {
    Found(Zeroizing<Vec<u8>>),
    /// `SSL_CERT_FILE` says where they are.
    Unreadable {
        path: String,
        source: std::io::Error,
    },
    /// Not at any of the places where they usually are.
    Nowhere,
}

/// Looks for them.
pub(crate) fn system_trust() -> SystemTrust {
    if let Ok(path) = std::env::var("SSL_CERT_FILE") {
        return match read_file(&path) {
            Ok(bytes) => SystemTrust::Found(bytes),
            Err(source) => SystemTrust::Unreadable { path, source },
        };
    }
    SYSTEM.iter().find_map(|path| read_file(path).ok()).map_or(SystemTrust::Nowhere, SystemTrust::Found)
}

/// No more of a file than `most` bytes: one without an end would otherwise fill the memory.
pub(crate) fn read_up_to(path: &str, most: u64) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::new());
    std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that is no larger than a store can be.
pub(super) fn read_file(path: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let bytes = read_up_to(path, LARGEST_STORE + 1)?;
    if bytes.len() as u64 > LARGEST_STORE {
        return Err(std::io::Error::other("it is larger than 4 MiB, and so no store"));
    }
    Ok(bytes)
}
