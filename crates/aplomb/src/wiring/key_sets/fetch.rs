//! One set of keys, from wherever it is.

use std::sync::Arc;
use std::time::Duration;

use aplomb_broker::config::{HttpUrl, KeySource, KeyUrl, StoreKind, StorePlace};
use aplomb_broker::sasl::oauth::{KeySet, KeySetError};
use aplomb_server::security::{Material, TlsError, client_config};
use rustls::ClientConfig;
use zeroize::Zeroizing;

use super::super::stores::{SystemTrust, read_file, read_up_to, system_trust};
use crate::http::{HttpFault, get};

/// How long one fetch may take, from the first to the last byte.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchFault {
    #[error("{path} cannot be read: {source}")]
    File { path: String, source: std::io::Error },
    #[error("{place}: {fault}")]
    Http { place: String, fault: HttpFault },
    #[error("{place}: {error}")]
    Keys { place: String, error: KeySetError },
    #[error("ssl.truststore.location={path} in the JAAS line cannot be read: {source}")]
    Trust { path: String, source: std::io::Error },
    #[error(
        "the certificates that the system trusts are not found; SSL_CERT_FILE, or ssl.truststore.location in the JAAS line, says where they are"
    )]
    NoTrust,
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Fetches the keys of a place.
pub(super) fn fetch(source: &KeySource) -> Result<KeySet, FetchFault> {
    let bytes = match &source.url {
        KeyUrl::File(path) => {
            let fault = |source| FetchFault::File { path: path.clone(), source };
            read_up_to(path, KeySet::LARGEST as u64 + 1).map_err(fault)?
        }
        KeyUrl::Http(url) => {
            let tls = tls(source, url)?;
            let fault = |fault| FetchFault::Http { place: source.url.to_string(), fault };
            get(url, tls, None, PATIENCE, KeySet::LARGEST).map_err(fault)?.into()
        }
    };
    KeySet::parse(&bytes).map_err(|error| FetchFault::Keys { place: source.url.to_string(), error })
}

/// Stores are read each time, so that a new one counts from the next fetch on.
fn tls(source: &KeySource, url: &HttpUrl) -> Result<Option<Arc<ClientConfig>>, FetchFault> {
    if !url.is_secure {
        return Ok(None);
    }
    let Some(store) = &source.truststore else {
        let of_the_system = Material { kind: StoreKind::Pem, bytes: system()?, key: None, password: None };
        return Ok(Some(client_config(&of_the_system)?));
    };
    let bytes = match &store.place {
        StorePlace::File(path) => {
            read_file(path).map_err(|source| FetchFault::Trust { path: path.clone(), source })?
        }
        StorePlace::Inline { certificates, .. } => certificates.reveal().as_bytes().to_vec().into(),
    };
    let password = store.password.as_ref().map(|secret| secret.reveal().to_owned().into());
    Ok(Some(client_config(&Material { kind: store.kind, bytes, key: None, password })?))
}

fn system() -> Result<Zeroizing<Vec<u8>>, FetchFault> {
    match system_trust() {
        SystemTrust::Found(bytes) => Ok(bytes),
        SystemTrust::Unreadable { path, source } => Err(FetchFault::File { path, source }),
        SystemTrust::Nowhere => Err(FetchFault::NoTrust),
    }
}
