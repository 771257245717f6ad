//! Settings of a client, by the names that Apache Kafka's clients have for them and in the form
//! that its tools read (`--command-config`): how it comes in, and whom it trusts.
//!
//! What always holds: settings that are not about security are passed over; one about it that is
//! not understood is an error, so that nothing is sent in the open by a slip.

use std::collections::BTreeMap;

use aplomb_security::Secret;
use aplomb_security::scram::ScramHash;

use super::error::ConfigError;
use super::jaas::{LoginModule, parse_jaas};
use super::key::Meaning;
use super::keys::{broker_key, nearest};
use super::layers::Properties;
use super::listeners::SecurityProtocol;
use super::mechanism::Mechanism;
use super::reading::Reading;
use super::scope::{OfListener, refused};
use super::tls::{StoreConfig, TlsVersion};
use super::url::{KeyUrl, parse_url};

const PROTOCOL: &str = "security.protocol";
const MECHANISM: &str = "sasl.mechanism";
const HANDLER: &str = "sasl.login.callback.handler.class";
const SERVICE: &str = "sasl.kerberos.service.name";
const TOKEN: &str = "sasl.oauthbearer.token.endpoint.url";
/// The class that fetches tokens, by the names that it has had.
const HANDLERS: [&str; 2] = [
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
];
/// What stands before the name of an extension in the JAAS line.
const EXTENSION: &str = "extension_";

/// How a client comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// What TLS is made of, if it is spoken.
    pub tls: Option<ClientTlsConfig>,
    /// How it says who it is, if it does.
    pub login: Option<ClientLogin>,
}

/// Whom a client trusts in TLS, and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTlsConfig {
    /// The certificates that are trusted; without it, those that the system trusts.
    pub truststore: Option<StoreConfig>,
    /// The client's key and certificate, if it shows one.
    pub keystore: Option<StoreConfig>,
    /// `ssl.key.password`
    pub key_password: Option<Secret>,
    /// `ssl.endpoint.identification.algorithm`: the server's certificate has to have its name.
    pub checks_host: bool,
    /// `ssl.enabled.protocols`
    pub versions: Vec<TlsVersion>,
    /// `ssl.cipher.suites`; none are all.
    pub suites: Vec<String>,
}

/// How a client says who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientLogin {
    /// By PLAIN, which tells the password.
    Plain {
        /// `username` of the JAAS line.
        user: String,
        /// `password` of the JAAS line.
        password: Secret,
    },
    /// By SCRAM, which shows that the password is known.
    Scram {
        /// SHA-256 or SHA-512.
        hash: ScramHash,
        /// `username`: a user's name, or a delegation token's id.
        user: String,
        /// `password`: a user's password, or the token's HMAC.
        password: Secret,
        /// `tokenauth`
        by_token: bool,
    },
    /// By OAUTHBEARER, which shows a token.
    Token {
        /// The path of the file that has the token.
        file: String,
        /// What is said beside it.
        extensions: BTreeMap<String, String>,
    },
    /// By GSSAPI, which shows a ticket of Kerberos.
    Tickets(ClientTickets),
}

/// Where a client has its tickets from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTickets {
    /// `sasl.kerberos.service.name`, or `serviceName` of the JAAS line: what tickets are for.
    pub service: String,
    /// `principal`: who has them. Without it, whose cache it is.
    pub principal: Option<String>,
    /// `useTicketCache`: tickets that there are, in `ticketCache` or where Kerberos has them.
    pub cache: Option<TicketCache>,
    /// `useKeyTab`: the keytab that others are asked for with, if there are none.
    pub keytab: Option<String>,
}

/// A cache of tickets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketCache {
    /// Where Kerberos has it (`KRB5CCNAME`).
    Usual,
    /// In a file of its own, by its path.
    File(String),
}

impl ClientSettings {
    /// Reads a client's properties.
    ///
    /// # Errors
    /// With one sentence that names the setting, and no secret.
    pub fn from_properties(properties: &Properties) -> Result<Self, ConfigError> {
        for (name, text) in properties {
            check(name, text)?;
        }
        let reading = Reading::of_client(properties);
        let of = OfListener::alone(&reading, "");
        let known = SecurityProtocol::ALL.map(SecurityProtocol::name).join(", ");
        let protocol = SecurityProtocol::from_name(of.own_text(PROTOCOL).unwrap_or("PLAINTEXT"));
        let protocol = protocol.ok_or_else(|| of.refuse(PROTOCOL, &known))?;
        Ok(Self {
            tls: protocol.has_tls().then(|| of.client_tls()).transpose()?,
            login: protocol.has_sasl().then(|| of.client_login()).transpose()?,
        })
    }
}

/// Checks a setting by itself, if it is about security.
fn check(name: &str, text: &str) -> Result<(), ConfigError> {
    const OWN: [&str; 4] = [PROTOCOL, MECHANISM, HANDLER, TOKEN];
    if OWN.contains(&name) || !["security.", "sasl.", "ssl."].iter().any(|about| name.starts_with(about)) {
        return Ok(());
    }
    let Some(key) = broker_key(name) else {
        return Err(ConfigError::UnknownKey { name: name.to_owned(), suggestion: nearest(name) });
    };
    key.parse(text)?;
    match key.meaning {
        Meaning::Refused(why) if !text.trim().is_empty() => {
            let shown = if key.kind.is_sensitive() { "[hidden]" } else { text };
            Err(refused(name.to_owned(), shown.to_owned(), format!("no value: {why}")))
        }
        Meaning::Used(_) | Meaning::Unused(_) | Meaning::Refused(_) => Ok(()),
    }
}

impl OfListener<'_> {
    fn client_tls(&self) -> Result<ClientTlsConfig, ConfigError> {
        let key = "ssl.endpoint.identification.algorithm";
        let checks_host = match self.own_text(key).unwrap_or("https") {
            "" => false,
            text if text.eq_ignore_ascii_case("https") => true,
            _ => return Err(self.refuse(key, "https, or no value, and a certificate may be for any host")),
        };
        Ok(ClientTlsConfig {
            truststore: self.truststore()?,
            keystore: self.optional_keystore()?,
            key_password: self.secret("ssl.key.password"),
            checks_host,
            versions: self.versions()?,
            suites: self.list("ssl.cipher.suites"),
        })
    }

    fn client_login(&self) -> Result<ClientLogin, ConfigError> {
        let written = self.own_text(MECHANISM).unwrap_or("GSSAPI");
        let mechanism = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == written);
        let mechanism = mechanism.ok_or_else(|| {
            let known = Mechanism::ALL.map(Mechanism::name).join(", ");
            refused(MECHANISM.to_owned(), written.to_owned(), known)
        })?;
        let module = self.client_module(mechanism)?;
        let wanted = |option: &str| {
            let text = module.options.get(option).filter(|text| !text.is_empty());
            text.cloned().ok_or_else(|| {
                self.wrong_line(&format!("{} required username=\"...\" password=\"...\";", module.class))
            })
        };
        let scram = |hash| {
            Ok(ClientLogin::Scram {
                hash,
                user: wanted("username")?,
                password: Secret::new(wanted("password")?),
                by_token: module
                    .options
                    .get("tokenauth")
                    .is_some_and(|text| text.eq_ignore_ascii_case("true")),
            })
        };
        match mechanism {
            Mechanism::Plain => Ok(ClientLogin::Plain {
                user: wanted("username")?,
                password: Secret::new(wanted("password")?),
            }),
            Mechanism::ScramSha256 => scram(ScramHash::Sha256),
            Mechanism::ScramSha512 => scram(ScramHash::Sha512),
            Mechanism::OauthBearer => self.token_file(&module),
            Mechanism::Gssapi => self.client_tickets(&module).map(ClientLogin::Tickets),
        }
    }

    fn client_module(&self, mechanism: Mechanism) -> Result<LoginModule, ConfigError> {
        let class = mechanism.login_module();
        let Some(line) = self.own_text("sasl.jaas.config") else {
            return Err(self.wrong_line(&format!("a line for {}: {class} required ...;", mechanism.name())));
        };
        let module = parse_jaas(line).map_err(|error| self.wrong_line(&error.to_string()))?;
        if module.class != class {
            return Err(self.wrong_line(&format!("{class}, the login module of {}", mechanism.name())));
        }
        Ok(module)
    }

    fn client_tickets(&self, module: &LoginModule) -> Result<ClientTickets, ConfigError> {
        let option = |name: &str| {
            module.options.get(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let is_set = |name: &str| option(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let example = format!(
            "{} required useTicketCache=true;, or useKeyTab=true keyTab=\"alice.keytab\" principal=\"alice@EXAMPLE\";",
            module.class
        );
        let cache = is_set("useTicketCache")
            .then(|| option("ticketCache").map_or(TicketCache::Usual, TicketCache::File));
        let keytab = if is_set("useKeyTab") { option("keyTab") } else { None };
        let principal = option("principal");
        let lacks_keytab = is_set("useKeyTab") && (keytab.is_none() || principal.is_none());
        if lacks_keytab || (cache.is_none() && keytab.is_none()) {
            return Err(self.wrong_line(&example));
        }
        let named = self.own_text(SERVICE).filter(|text| !text.is_empty()).map(str::to_owned);
        let service = match (option("serviceName"), named) {
            (Some(line), Some(text)) if line != text => {
                return Err(self.refuse(SERVICE, "the same name as the JAAS line (serviceName) has"));
            }
            (line, text) => line.or(text),
        };
        let service = service.ok_or_else(|| {
            let accepted = "the name of the brokers' service, which is kafka for kafka/host.example@EXAMPLE";
            self.refuse(SERVICE, accepted)
        })?;
        Ok(ClientTickets { service, principal, cache, keytab })
    }

    fn token_file(&self, module: &LoginModule) -> Result<ClientLogin, ConfigError> {
        if self.own_text(HANDLER).is_none_or(|class| !HANDLERS.contains(&class)) {
            return Err(self.refuse(HANDLER, &format!("{}, which takes the token from {TOKEN}", HANDLERS[0])));
        }
        let Some(KeyUrl::File(file)) = self.own_text(TOKEN).and_then(parse_url) else {
            // A URL may have a secret in it.
            let accepted = "file:///path of a file with the token: no other place is asked here".to_owned();
            return Err(refused(TOKEN.to_owned(), "[hidden]".to_owned(), accepted));
        };
        let extension = |(option, value): (&String, &String)| {
            Some((option.strip_prefix(EXTENSION)?.to_owned(), value.clone()))
        };
        Ok(ClientLogin::Token { file, extensions: module.options.iter().filter_map(extension).collect() })
    }

    fn wrong_line(&self, accepted: &str) -> ConfigError {
        refused("sasl.jaas.config".to_owned(), "[hidden]".to_owned(), accepted.to_owned())
    }
}
