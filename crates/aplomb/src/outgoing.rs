//! What commands need that connect to a broker: a client's settings, and what is in the files that
//! these name.
//!
//! What always holds: whatever is wrong is said before anything is connected to, and without a
//! secret.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aplomb_broker::config::{ClientLogin, ClientTlsConfig, StoreConfig, StoreKind};
use aplomb_security::client::{BearerToken, ClientSecurity, Credentials, ScramPassword, TokenFault};
use aplomb_server::security::{ClientTlsSettings, Material, TlsError, client_tls};
use clap::Args;
use rustls::ClientConfig;
use zeroize::Zeroizing;

use crate::config::{SettingsError, load_client};
use crate::wiring::kerberos::{NoLibrary, OwnTickets};
use crate::wiring::stores::{SystemTrust, read_store, read_up_to, system_trust};

/// More than any token has, in bytes.
const LARGEST_TOKEN: u64 = 64 * 1024;

/// How often a token's file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How to get in.
#[derive(Debug, Args)]
pub(crate) struct OutgoingArgs {
    /// A client's settings as Apache Kafka's tools read them: `security.protocol`, `sasl.*`,
    /// `ssl.*`; without it there is neither TLS nor a login.
    #[arg(long, value_name = "FILE")]
    command_config: Option<PathBuf>,
}

/// How a client comes in.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// TLS, if it is spoken.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// How it says who it is, if it does.
    pub(crate) login: Option<ClientLogin>,
}

/// Why a client cannot come in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutgoingError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("{path} ({key}) cannot be read: {source}")]
    File { key: &'static str, path: String, source: std::io::Error },
    #[error(
        "the certificates that the system trusts are not found; SSL_CERT_FILE, or ssl.truststore.location, says where they are"
    )]
    NoTrust,
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{path} (sasl.oauthbearer.token.endpoint.url): {fault}")]
    Token { path: String, fault: TokenFault },
    #[error(transparent)]
    Kerberos(#[from] NoLibrary),
    #[error("the token's file cannot be watched: {0}")]
    Thread(std::io::Error),
}

impl OutgoingArgs {
    /// Reads the settings, and the stores that they name.
    pub(crate) fn load(&self) -> Result<Outgoing, OutgoingError> {
        let Some(path) = &self.command_config else { return Ok(Outgoing::default()) };
        let (settings, warnings) = load_client(path)?;
        for warning in warnings {
            eprintln!("aplomb: {}", warning.text);
        }
        let tls = settings.tls.as_ref().map(tls).transpose()?;
        Ok(Outgoing { tls, login: settings.login })
    }

    /// The same for connections of Kafka's protocol. A token is read anew whenever its file has
    /// changed, by a thread that lasts as long as the process.
    pub(crate) fn security(&self) -> Result<ClientSecurity, OutgoingError> {
        let Outgoing { tls, login } = self.load()?;
        Ok(ClientSecurity { tls, login: login.map(credentials).transpose()? })
    }
}

fn credentials(login: ClientLogin) -> Result<Credentials, OutgoingError> {
    Ok(match login {
        ClientLogin::Plain { user, password } => Credentials::Plain { user, password },
        ClientLogin::Scram { hash, user, password, by_token } => {
            Credentials::Scram(Arc::new(ScramPassword::new(hash, user, password, by_token)))
        }
        ClientLogin::Token { file, extensions } => {
            let seen = look(Path::new(&file));
            let text = read_token(&file).map_err(|source| {
                let (key, path) = ("sasl.oauthbearer.token.endpoint.url", file.clone());
                OutgoingError::File { key, path, source }
            })?;
            let token = BearerToken::new(&text, extensions)
                .map_err(|fault| OutgoingError::Token { path: file.clone(), fault })?;
            let token = Arc::new(token);
            let watched = Arc::clone(&token);
            let thread = std::thread::Builder::new().name("aplomb-token".to_owned());
            thread.spawn(move || watch(&file, seen, &watched)).map_err(OutgoingError::Thread)?;
            Credentials::Token(token)
        }
        ClientLogin::Tickets(tickets) => Credentials::Tickets(Arc::new(OwnTickets::new(tickets)?)),
    })
}

/// Until the process ends.
fn watch(file: &str, mut seen: Option<(SystemTime, u64)>, token: &BearerToken) -> ! {
    loop {
        std::thread::sleep(LOOK);
        let found = look(Path::new(file));
        if found == seen {
            continue;
        }
        seen = found;
        let renewed = read_token(file).map_err(|error| error.to_string());
        let renewed = renewed.and_then(|text| token.replace(&text).map_err(|fault| fault.to_string()));
        if let Err(why) = renewed {
            eprintln!("aplomb: {file}: {why}; the token that there was stays in use");
        }
    }
}

fn look(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read_token(file: &str) -> std::io::Result<Zeroizing<String>> {
    let bytes = read_up_to(file, LARGEST_TOKEN + 1)?;
    if bytes.len() as u64 > LARGEST_TOKEN {
        return Err(std::io::Error::other("it is larger than 64 KiB, and so no token"));
    }
    // What is no text is no token, which is said of it then.
    Ok(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
}

fn tls(config: &ClientTlsConfig) -> Result<Arc<ClientConfig>, OutgoingError> {
    let read = |key, store: &StoreConfig| {
        read_store(store).map_err(|(path, source)| OutgoingError::File { key, path, source })
    };
    let truststore = match &config.truststore {
        Some(store) => read("ssl.truststore.location", store)?,
        None => {
            let bytes = match system_trust() {
                SystemTrust::Found(bytes) => bytes,
                SystemTrust::Unreadable { path, source } => {
                    return Err(OutgoingError::File { key: "SSL_CERT_FILE", path, source });
                }
                SystemTrust::Nowhere => return Err(OutgoingError::NoTrust),
            };
            Material { kind: StoreKind::Pem, bytes, key: None, password: None }
        }
    };
    let keystore = config.keystore.as_ref().map(|store| read("ssl.keystore.location", store)).transpose()?;
    Ok(client_tls(&ClientTlsSettings {
        truststore,
        keystore,
        key_password: config.key_password.as_ref().map(|secret| secret.reveal().to_owned().into()),
        checks_host: config.checks_host,
        versions: config.versions.clone(),
        suites: config.suites.clone(),
    })?)
}
