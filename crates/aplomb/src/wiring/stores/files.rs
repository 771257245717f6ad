//! The files of stores: what they are like, and what is in them.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use aplomb_broker::config::{StoreConfig, StorePlace, TlsConfig};
use aplomb_server::security::{Material, TlsSettings};
use zeroize::Zeroizing;

use super::StoreFault;

/// When files changed last, and how large they are.
pub(super) type FileFacts = Vec<Option<(SystemTime, u64)>>;

/// More than any store has; and all that is read of what is none, in bytes.
const LARGEST_STORE: u64 = 4 << 20;

/// Looks at the files of stores.
pub(super) fn look(config: &TlsConfig) -> FileFacts {
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

/// Reads what settings name, or has it from them.
pub(super) fn read(listener: &Arc<str>, config: &TlsConfig) -> Result<TlsSettings, StoreFault> {
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
pub(crate) fn read_file(path: &str) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let bytes = read_up_to(path, LARGEST_STORE + 1)?;
    if bytes.len() as u64 > LARGEST_STORE {
        return Err(std::io::Error::other("it is larger than 4 MiB, and so no store"));
    }
    Ok(bytes)
}
