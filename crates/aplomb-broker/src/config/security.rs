//! How the clients of each listener say who they are.
//!
//! A setting of a listener is `listener.name.<name>.<key>`, or
//! `listener.name.<name>.<mechanism>.<key>` where it is a mechanism's; without it the key itself
//! counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::error::ConfigError;
use super::jaas::{LoginModule, parse_jaas};
use super::keys::broker_key;
use super::listeners::Listener;
use super::reading::Reading;
use super::value::Value;

/// A secret. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// What it is, for those who compare or derive.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// A way to say who one is (RFC 4422).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// A name and a password, as they are (RFC 4616).
    Plain,
    /// A proof that one knows the password (RFC 7677).
    ScramSha256,
    /// The same with a longer hash.
    ScramSha512,
}

impl Mechanism {
    /// All that are spoken here.
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }

    /// The one that clients call so, in capitals.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }

    const fn login_module(self) -> &'static str {
        match self {
            Self::Plain => "org.apache.kafka.common.security.plain.PlainLoginModule",
            Self::ScramSha256 | Self::ScramSha512 => {
                "org.apache.kafka.common.security.scram.ScramLoginModule"
            }
        }
    }
}

/// One mechanism of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MechanismConfig {
    /// What its settings are for.
    pub mechanism: Mechanism,
    /// `connections.max.reauth.ms`: how long an authentication is good for.
    pub max_age: Option<Duration>,
    /// PLAIN's users and their passwords.
    pub users: BTreeMap<String, Secret>,
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
            let sasl = if listener.protocol.has_sasl() { Some(Arc::new(of.sasl()?)) } else { None };
            Ok::<_, ConfigError>((Arc::clone(&listener.name), ListenerSecurity { sasl }))
        };
        Ok(Self {
            listeners: listeners.iter().map(read).collect::<Result<_, ConfigError>>()?,
            patience: reading.millis("aplomb.authentication.timeout.ms"),
        })
    }
}

/// The settings of one listener.
pub(super) struct OfListener<'r> {
    reading: &'r Reading,
    prefix: String,
}

impl<'r> OfListener<'r> {
    fn new(reading: &'r Reading, listener: &Listener) -> Self {
        Self { reading, prefix: format!("listener.name.{}.", listener.name.to_lowercase()) }
    }

    /// The text that is set for a key, and the name under which it is: the mechanism's, the
    /// listener's, or the key itself.
    pub(super) fn text(&self, mechanism: Option<Mechanism>, key: &str) -> (String, Option<&'r str>) {
        let of_listener = format!("{}{key}", self.prefix);
        let of_mechanism =
            mechanism.map(|mechanism| format!("{}{}.{key}", self.prefix, mechanism.name().to_lowercase()));
        let names = of_mechanism.into_iter().chain([of_listener, key.to_owned()]);
        let mut last = String::new();
        for name in names {
            if let Some(text) = self.reading.as_written(&name) {
                return (name, Some(text));
            }
            last = name;
        }
        (last, None)
    }

    fn value(&self, mechanism: Option<Mechanism>, key: &str) -> Option<Value> {
        let known = broker_key(key).expect("only keys of the tables are asked for");
        let text = self.text(mechanism, key).1.or(known.default)?;
        // Each value was read once, when the names were checked.
        known.parse(text).ok()
    }

    fn millis(&self, mechanism: Option<Mechanism>, key: &str) -> Duration {
        match self.value(mechanism, key) {
            Some(Value::Number(millis)) => Duration::from_millis(u64::try_from(millis).unwrap_or(0)),
            _ => Duration::ZERO,
        }
    }

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
        Ok(MechanismConfig { mechanism, max_age, users })
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
            return Err(refused(name, module.class, accepted));
        }
        Ok((name, Some(module)))
    }
}

pub(super) fn refused(name: String, value: String, accepted: String) -> ConfigError {
    ConfigError::OfListener { name, value, accepted }
}
