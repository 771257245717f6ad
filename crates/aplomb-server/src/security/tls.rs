//! What a listener's TLS is made of: settings and the bytes of its stores in, a configuration out.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aplomb_broker::config::{ClientAuth, StoreKind, TlsVersion};
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SignatureScheme, SupportedCipherSuite};
use zeroize::Zeroizing;

use super::backlog::Backlog;
use super::names::{PrincipalRules, RuleError, distinguished_name};
use super::owner::{Owner, OwnerRules, difference};
use super::read;
use super::store::{Entries, KeyEntry, StoreError};

/// Sessions that are remembered so that clients can resume them, each listener.
const SESSIONS: usize = 4096;

/// A store, as it was read.
#[derive(Clone)]
pub struct Material {
    /// Which format it is said to have.
    pub kind: StoreKind,
    /// The store, or the certificates of one in PEM.
    pub bytes: Zeroizing<Vec<u8>>,
    /// The key, if it is somewhere else than they are.
    pub key: Option<Zeroizing<Vec<u8>>>,
    /// The store's password.
    pub password: Option<Zeroizing<String>>,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// All of a listener's.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The broker's key and certificates.
    pub keystore: Material,
    /// The key's password, if it is another.
    pub key_password: Option<Zeroizing<String>>,
    /// The certificates that are trusted.
    pub truststore: Option<Material>,
    /// Whether clients show certificates.
    pub client_auth: ClientAuth,
    /// Those of TLS that are spoken.
    pub versions: Vec<TlsVersion>,
    /// The cipher suites, by their names; none are all.
    pub suites: Vec<String>,
    /// Short names of clients.
    pub rules: String,
}

/// Why there is no TLS.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// It cannot be read.
    #[error("the key store cannot be used: {0}")]
    Keys(StoreError),
    /// It cannot be read, and clients are to be checked by it.
    #[error("the trust store cannot be used: {0}")]
    Trust(StoreError),
    /// Key and certificates do not belong together, or are of no use.
    #[error("the key store cannot be used: {0}")]
    Key(String),
    /// Its certificates are of no use.
    #[error("the trust store cannot be used: {0}")]
    Anchors(String),
    /// A name that is none.
    #[error("ssl.cipher.suites: {0} is not spoken here; {1} are")]
    Suite(String, String),
    /// It is not of whom the one before is.
    #[error("the key store cannot follow the one before: {0}")]
    Owner(String),
    /// A principal cannot be found by them.
    #[error("ssl.principal.mapping.rules has to be {0}")]
    Rules(#[from] RuleError),
}

/// The names of all cipher suites that are spoken.
#[must_use]
pub fn cipher_suites() -> Vec<&'static str> {
    let all = rustls::crypto::ring::ALL_CIPHER_SUITES.iter();
    all.filter_map(java_name).collect()
}

/// As Java calls them, which is what IANA does.
fn java_name(suite: &SupportedCipherSuite) -> Option<&'static str> {
    suite.suite().as_str().map(|name| {
        name.strip_prefix("TLS13_").map_or(name, |name| match name {
            "AES_128_GCM_SHA256" => "TLS_AES_128_GCM_SHA256",
            "AES_256_GCM_SHA384" => "TLS_AES_256_GCM_SHA384",
            "CHACHA20_POLY1305_SHA256" => "TLS_CHACHA20_POLY1305_SHA256",
            other => other,
        })
    })
}

/// A listener's TLS, which can be made anew while it is in use: connections that there are keep
/// what they began with.
#[derive(Debug)]
pub struct Gate {
    current: Mutex<Arc<Current>>,
    backlog: Arc<Backlog>,
}

/// What a listener's TLS can be from some time on: its stores have been read.
#[derive(Clone, Debug)]
pub struct Prepared(Arc<Current>);

struct Current {
    config: Arc<ServerConfig>,
    rules: PrincipalRules,
    /// Of each key.
    owners: Vec<Owner>,
}

impl Current {
    /// Whose certificate clients are shown.
    fn subject(&self) -> Option<&str> {
        self.owners.first().map(Owner::name)
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").field("subject", &self.subject()).finish_non_exhaustive()
    }
}

impl Gate {
    /// From settings and stores.
    ///
    /// # Errors
    /// With a sentence, when they cannot be used.
    pub fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let Prepared(current) = Self::prepare(settings)?;
        Ok(Self { current: Mutex::new(current), backlog: Arc::default() })
    }

    /// Makes of settings and stores what is installed later, or never.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn prepare(settings: &TlsSettings) -> Result<Prepared, TlsError> {
        Current::new(settings).map(|current| Prepared(Arc::new(current)))
    }

    /// Whether it may follow what is in use.
    ///
    /// # Errors
    /// With a sentence, when it is another's.
    pub fn check_owner(&self, prepared: &Prepared, rules: OwnerRules) -> Result<(), TlsError> {
        let difference = difference(&self.current().owners, &prepared.0.owners, rules);
        difference.map_or(Ok(()), |why| Err(TlsError::Owner(why)))
    }

    /// Other settings or stores from here on.
    pub fn install(&self, prepared: Prepared) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = prepared.0;
    }

    /// Whose certificate clients are shown.
    #[must_use]
    pub fn subject(&self) -> Option<String> {
        self.current().subject().map(str::to_owned)
    }

    fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The server's side of a new connection, and the rules for its client's name.
    pub(crate) fn connection(&self) -> Result<(ServerConnection, PrincipalRules), rustls::Error> {
        let current = self.current();
        let connection = ServerConnection::new(Arc::clone(&current.config))?;
        Ok((connection, current.rules.clone()))
    }

    /// What waits for the sockets of its connections.
    pub(crate) const fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }
}

/// What the owner of a certificate is called, by the rules; `None`: by none of them.
pub(crate) fn principal(certificate: &[u8], rules: &PrincipalRules) -> Option<String> {
    rules.apply(&distinguished_name(certificate)?)
}

impl Current {
    fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let provider = Arc::new(provider(&settings.suites)?);
        let key_password = settings.key_password.as_ref().map(|password| password.as_str());
        let keys = keys(&settings.keystore, key_password).map_err(TlsError::Keys)?;
        let resolver = Resolver::new(keys, &provider)?;
        let owners = resolver.keys.iter().filter_map(|key| Owner::of(key.cert.first()?)).collect();
        let versions: Vec<_> = settings.versions.iter().map(|version| version_of(*version)).collect();
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| TlsError::Key(error.to_string()))?;
        let builder = match settings.client_auth {
            ClientAuth::None => builder.with_no_client_auth(),
            ClientAuth::Requested | ClientAuth::Required => {
                let roots = Arc::new(roots(settings)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                let verifier = match settings.client_auth {
                    ClientAuth::Requested => verifier.allow_unauthenticated(),
                    _ => verifier,
                };
                let verifier = verifier.build().map_err(|error| TlsError::Anchors(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.session_storage = rustls::server::ServerSessionMemoryCache::new(SESSIONS);
        Ok(Self { config: Arc::new(config), rules: PrincipalRules::parse(&settings.rules)?, owners })
    }
}

pub(super) fn provider(names: &[String]) -> Result<CryptoProvider, TlsError> {
    let mut provider = rustls::crypto::ring::default_provider();
    if names.is_empty() {
        return Ok(provider);
    }
    let mut suites = Vec::new();
    for name in names {
        let known = rustls::crypto::ring::ALL_CIPHER_SUITES.iter();
        let suite = known.copied().find(|suite| java_name(suite) == Some(name.as_str()));
        suites.push(suite.ok_or_else(|| TlsError::Suite(name.clone(), cipher_suites().join(", ")))?);
    }
    provider.cipher_suites = suites;
    Ok(provider)
}

pub(super) const fn version_of(version: TlsVersion) -> &'static rustls::SupportedProtocolVersion {
    match version {
        TlsVersion::V12 => &rustls::version::TLS12,
        TlsVersion::V13 => &rustls::version::TLS13,
    }
}

pub(super) fn keys(material: &Material, key_password: Option<&str>) -> Result<Vec<KeyEntry>, StoreError> {
    let keys = match material.kind {
        StoreKind::Pem => {
            let key = material.key.as_ref().unwrap_or(&material.bytes);
            vec![read::read_pem_key(key, &material.bytes, key_password)?]
        }
        StoreKind::Jks | StoreKind::Pkcs12 => entries(material, key_password)?.keys,
    };
    if keys.is_empty() { Err(StoreError::Lacks("no private key")) } else { Ok(keys) }
}

fn entries(material: &Material, key_password: Option<&str>) -> Result<Entries, StoreError> {
    let password = material.password.as_ref().map(|password| password.as_str());
    read::read_java(&material.bytes, password, key_password)
}

/// The certificates that are trusted: those of the trust store, and of no chain that a key has.
fn roots(settings: &TlsSettings) -> Result<RootCertStore, TlsError> {
    let Some(material) = &settings.truststore else {
        return Err(TlsError::Anchors("ssl.client.auth needs one, and none is set".to_owned()));
    };
    let certificates = match material.kind {
        StoreKind::Pem => read::read_pem_certificates(&material.bytes),
        StoreKind::Jks | StoreKind::Pkcs12 => entries(material, None).map(|entries| entries.trusted),
    };
    let certificates = certificates.map_err(TlsError::Trust)?;
    if certificates.is_empty() {
        return Err(TlsError::Trust(StoreError::Lacks("no certificate that is trusted")));
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(CertificateDer::from(certificate)).map_err(|error| TlsError::Anchors(error.to_string()))?;
    }
    Ok(roots)
}

/// Chooses among keys of several kinds the first that the other end can check.
#[derive(Debug)]
pub(super) struct Resolver {
    keys: Vec<Arc<CertifiedKey>>,
}

impl Resolver {
    pub(super) fn new(entries: Vec<KeyEntry>, provider: &CryptoProvider) -> Result<Self, TlsError> {
        let certified = |entry: KeyEntry| {
            let chain = entry.chain.into_iter().map(CertificateDer::from).collect();
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(entry.key.to_vec()));
            let key = CertifiedKey::from_der(chain, key, provider);
            key.map(Arc::new).map_err(|error| TlsError::Key(error.to_string()))
        };
        Ok(Self { keys: entries.into_iter().map(certified).collect::<Result<_, _>>()? })
    }
}

impl Resolver {
    fn choose(&self, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let fits = |key: &&Arc<CertifiedKey>| key.key.choose_scheme(schemes).is_some();
        self.keys.iter().find(fits).map(Arc::clone)
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.choose(hello.signature_schemes()).or(self.keys.first().map(Arc::clone))
    }
}

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.choose(schemes)
    }

    fn has_certs(&self) -> bool {
        !self.keys.is_empty()
    }
}
