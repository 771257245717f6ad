//! How the clients of each listener say who they are.
//!
//! A setting of a listener is `listener.name.<name>.<key>`, or
//! `listener.name.<name>.<mechanism>.<key>` where it is a mechanism's; without it the key itself
//! counts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aplomb_security::Secret;

use super::error::ConfigError;
use super::jaas::{LoginModule, parse_jaas};
use super::kerberos::KerberosConfig;
use super::listeners::Listener;
use super::mechanism::Mechanism;
use super::oauth::TokenConfig;
use super::reading::Reading;
use super::scope::{OfListener, refused};
use super::tls::TlsConfig;
use super::value::Value;

/// One mechanism of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanismConfig {
    /// What its settings are for.
    pub mechanism: Mechanism,
    /// `connections.max.reauth.ms`: how long an authentication is good for.
    pub max_age: Option<Duration>,
    /// PLAIN's users and their passwords.
    pub users: BTreeMap<String, Secret>,
    /// Which tokens of OAUTHBEARER count.
    pub tokens: Option<TokenConfig>,
    /// Which tickets of GSSAPI count.
    pub kerberos: Option<KerberosConfig>,
}

/// SASL on a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaslConfig {
    /// `sasl.enabled.mechanisms`
    pub mechanisms: Vec<MechanismConfig>,
    /// `sasl.server.max.receive.size`: the largest frame of a client that has not authenticated.
    pub max_receive: usize,
    /// `connection.failed.authentication.delay.ms`
    pub failure_delay: Duration,
}

/// What clients of a listener have to do before they may ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenerSecurity {
    /// SASL, if there is any.
    pub sasl: Option<Arc<SaslConfig>>,
    /// TLS, if there is any.
    pub tls: Option<Arc<TlsConfig>>,
}

/// Of all listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityConfig {
    /// By the listener's name.
    pub listeners: BTreeMap<Arc<str>, ListenerSecurity>,
    /// `aplomb.authentication.timeout.ms`: how long a client may take until it has authenticated.
    pub patience: Duration,
}

impl SecurityConfig {
    pub(super) fn read(reading: &Reading, listeners: &[Listener]) -> Result<Self, ConfigError> {
        let read = |listener: &Listener| {
            let of = OfListener::new(reading, listener);
            let protocol = listener.protocol;
            let sasl = if protocol.has_sasl() { Some(Arc::new(of.sasl()?)) } else { None };
            let tls = if protocol.has_tls() { Some(Arc::new(of.tls(protocol.has_sasl())?)) } else { None };
            Ok::<_, ConfigError>((Arc::clone(&listener.name), ListenerSecurity { sasl, tls }))
        };
        Ok(Self {
            listeners: listeners.iter().map(read).collect::<Result<_, ConfigError>>()?,
            patience: reading.millis("aplomb.authentication.timeout.ms"),
        })
    }
}

impl OfListener<'_> {
    fn sasl(&self) -> Result<SaslConfig, ConfigError> {
        let key = "sasl.enabled.mechanisms";
        let names = match self.value(None, key) {
            Some(Value::List(names)) => names,
            _ => Vec::new(),
        };
        let known = Mechanism::ALL.map(Mechanism::name).join(", ");
        let mut mechanisms = Vec::new();
        for name in &names {
            let Some(mechanism) = Mechanism::from_name(name) else {
                let accepted = format!("one or more of {known} for {}: {name} is not spoken", self.prefix);
                return Err(refused(self.text(None, key).0, names.join(","), accepted));
            };
            mechanisms.push(self.mechanism(mechanism)?);
        }
        if mechanisms.is_empty() {
            return Err(refused(self.text(None, key).0, String::new(), format!("one or more of {known}")));
        }
        let max_receive = match self.value(None, "sasl.server.max.receive.size") {
            Some(Value::Number(bytes)) => usize::try_from(bytes).unwrap_or(0),
            _ => 0,
        };
        Ok(SaslConfig {
            mechanisms,
            max_receive,
            failure_delay: self.millis(None, "connection.failed.authentication.delay.ms"),
        })
    }

    fn mechanism(&self, mechanism: Mechanism) -> Result<MechanismConfig, ConfigError> {
        let max_age = self.millis(Some(mechanism), "connections.max.reauth.ms");
        let (name, module) = self.jaas(mechanism)?;
        let tokens = if mechanism == Mechanism::OauthBearer {
            Some(self.tokens(module.as_ref())?)
        } else {
            self.refuse_handler(mechanism)?;
            None
        };
        let kerberos = match mechanism {
            Mechanism::Gssapi => Some(self.kerberos(&name, module.as_ref())?),
            _ => None,
        };
        let users = match (mechanism, module) {
            (Mechanism::Plain, Some(module)) => {
                let user = |(option, value): (String, String)| {
                    Some((option.strip_prefix("user_")?.to_owned(), Secret::new(value)))
                };
                module.options.into_iter().filter_map(user).collect()
            }
            (Mechanism::Plain, None) => {
                let accepted = format!("{} required user_alice=\"...\";", mechanism.login_module());
                return Err(refused(name, String::new(), accepted));
            }
            _ => BTreeMap::new(),
        };
        let max_age = Some(max_age).filter(|age| !age.is_zero());
        Ok(MechanismConfig { mechanism, max_age, users, tokens, kerberos })
    }

    /// The mechanism's JAAS line, and under which name it is or would be. One without a
    /// mechanism in its name is a client's.
    fn jaas(&self, mechanism: Mechanism) -> Result<(String, Option<LoginModule>), ConfigError> {
        let name = format!("{}{}.sasl.jaas.config", self.prefix, mechanism.name().to_lowercase());
        let Some(line) = self.reading.as_written(&name) else { return Ok((name, None)) };
        let hidden = || "[hidden]".to_owned();
        let module = parse_jaas(line).map_err(|error| refused(name.clone(), hidden(), error.to_string()))?;
        if module.class != mechanism.login_module() {
            let accepted = format!(
                "{}, the only login module that {} has here",
                mechanism.login_module(),
                mechanism.name()
            );
            // Some other word may be there by mistake, a secret too.
            let shown = if module.class.ends_with("LoginModule") { module.class } else { hidden() };
            return Err(refused(name, shown, accepted));
        }
        Ok((name, Some(module)))
    }
}
