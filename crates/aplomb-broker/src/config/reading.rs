//! From names and values to typed settings: every name is checked against the tables first, then
//! each setting is read under its name.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use aplomb_model::{BrokerId, ByteCount};

use super::error::{ConfigError, Warning};
use super::key::{ConfigKey, Meaning};
use super::keys::{accepted_without_a_table, broker_key, nearest};
use super::layers::{Layers, Properties};
use super::listeners::{Listener, SecurityProtocol, parse_listeners, parse_protocol_map};
use super::of_listener::check_of_listener;
use super::topic::TopicConfig;
use super::value::Value;

/// Checked properties. Getters panic on names that are not in the tables or are of another type:
/// they are given literals.
pub(super) struct Reading {
    properties: Properties,
}

/// All listeners, sorted by whose they are.
pub(super) struct Listeners {
    pub(super) broker: Vec<Listener>,
    pub(super) controller: Vec<Listener>,
    pub(super) advertised: Vec<Listener>,
}

impl Reading {
    /// Checks every name and value by itself, and the settings that topics inherit as a whole.
    pub(super) fn checked(properties: &Properties) -> Result<(Self, Vec<Warning>), ConfigError> {
        let mut warnings = Vec::new();
        let listeners = names_of_listeners(properties);
        for (name, text) in properties {
            match broker_key(name) {
                None if name.starts_with("listener.name.") => {
                    warnings.extend(check_of_listener(name, text, &listeners)?);
                }
                Some(key) => warnings.extend(check_value(key, text)?),
                // Those that there are have been looked at where references were followed.
                None if name.starts_with("config.providers.") => {
                    warnings.extend(unused_provider(name, properties));
                }
                None => warnings.push(accept_or_suggest(name)?),
            }
        }
        let mut properties = properties.clone();
        // One setting, two names (`AbstractKafkaConfig#populateSynonyms`).
        for (one, other) in [("node.id", "broker.id"), ("broker.id", "node.id")] {
            if let (Some(value), false) = (properties.get(one).cloned(), properties.contains_key(other)) {
                properties.insert(other.to_owned(), value);
            }
        }
        let none = Properties::new();
        let layers = Layers { file: &properties, for_all: &none, for_this: &none };
        TopicConfig::check_inherited(&layers).map_err(ConfigError::TopicDefaults)?;
        let reading = Self { properties };
        reading.check_voters()?;
        Ok((reading, warnings))
    }

    /// A client's, of which those have been checked that are asked for.
    pub(super) fn of_client(properties: &Properties) -> Self {
        Self { properties: properties.clone() }
    }

    pub(super) fn into_properties(self) -> Properties {
        self.properties
    }

    /// The text of a setting, if it is set under this name.
    pub(super) fn as_written(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    fn value(&self, name: &str) -> Option<Value> {
        let key = broker_key(name).expect("only keys of the tables are asked for");
        let none = Properties::new();
        Layers { file: &self.properties, for_all: &none, for_this: &none }.value(key)
    }

    /// A number, if the key is set or has a default.
    pub(super) fn optional_number(&self, name: &str) -> Option<i64> {
        self.value(name).map(|value| match value {
            Value::Number(number) => number,
            other => unreachable!("{name} is a number, not {other:?}"),
        })
    }

    /// A 32-bit number of a key that has a default.
    pub(super) fn number(&self, name: &str) -> i32 {
        i32::try_from(self.optional_number(name).expect("the key has a default"))
            .expect("the key is a 32-bit number")
    }

    /// A number that says "no limit" when it is negative.
    pub(super) fn limit(&self, name: &str) -> Option<u64> {
        self.optional_number(name).and_then(|number| u64::try_from(number).ok())
    }

    /// A number that counts something; negative ones count nothing.
    pub(super) fn count(&self, name: &str) -> u32 {
        self.limit(name).map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn bytes(&self, name: &str) -> ByteCount {
        ByteCount(self.limit(name).unwrap_or(0))
    }

    pub(super) fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.limit(name).unwrap_or(0))
    }

    /// A fraction of a key that has a default.
    pub(super) fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Double(number)) => number,
            other => unreachable!("{name} is a fraction, not {other:?}"),
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.value(name) == Some(Value::Boolean(true))
    }

    pub(super) fn optional_text(&self, name: &str) -> Option<String> {
        self.value(name).map(|value| value.to_string()).filter(|text| !text.is_empty())
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.optional_text(name).unwrap_or_default()
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        }
    }

    pub(super) fn conflict(&self, name: &'static str, accepted: impl Into<String>) -> ConfigError {
        ConfigError::Conflict { name, value: self.text(name), accepted: accepted.into() }
    }

    /// `node.id`, under its old name too.
    pub(super) fn node_id(&self) -> Result<BrokerId, ConfigError> {
        let id = self.number("node.id");
        if self.is_set("broker.id") && self.number("broker.id") != id {
            return Err(self.conflict("broker.id", format!("the value of node.id, {id}, or none")));
        }
        Ok(BrokerId(id))
    }

    /// This process is the only voter.
    fn check_voters(&self) -> Result<(), ConfigError> {
        let id = self.node_id()?.0;
        let voters = self.list("controller.quorum.voters");
        let is_this_node =
            |voter: &String| voter.split_once('@').is_some_and(|(voter, _)| voter.parse() == Ok(id));
        if voters.len() > 1 || !voters.iter().all(is_this_node) {
            let accepted =
                format!("{id}@host:port, this node alone, or nothing: this version is a cluster of its own");
            return Err(self.conflict("controller.quorum.voters", accepted));
        }
        Ok(())
    }

    /// Where the metadata quorum's voters are kept: in the log, or in every node's file.
    pub(super) fn has_dynamic_voters(&self) -> Result<bool, ConfigError> {
        let has_servers = !self.list("controller.quorum.bootstrap.servers").is_empty();
        let has_voters = !self.list("controller.quorum.voters").is_empty();
        Ok(has_servers && !has_voters && !self.listeners()?.controller.is_empty())
    }

    /// `default.replication.factor`
    pub(super) fn replication_factor(&self) -> i16 {
        i16::try_from(self.number("default.replication.factor")).unwrap_or(i16::MAX)
    }

    /// `log.dirs`, or `log.dir`; at least one, none twice, none inside of another: that would find
    /// a directory there which is no partition's.
    pub(super) fn log_dirs(&self) -> Result<Vec<String>, ConfigError> {
        let name = if self.is_set("log.dirs") { "log.dirs" } else { "log.dir" };
        let dirs = self.list(name);
        let twice = dirs.iter().enumerate().any(|(at, dir)| dirs[..at].contains(dir));
        if dirs.is_empty() || dirs.iter().any(String::is_empty) || twice {
            return Err(self.conflict(name, "one directory or more, separated by commas, each of them once"));
        }
        let inside = |dir: &String| dirs.iter().any(|of| of != dir && Path::new(dir).starts_with(of));
        match dirs.iter().find(|dir| inside(dir)) {
            Some(dir) => {
                Err(self
                    .conflict(name, format!("directories that are not inside of each other, as {dir} is")))
            }
            None => Ok(dirs),
        }
    }

    /// `cordoned.log.dirs`, with `*` spelled out.
    pub(super) fn cordoned_log_dirs(&self, log_dirs: &[String]) -> Result<Vec<String>, ConfigError> {
        let cordoned = self.list("cordoned.log.dirs");
        if cordoned == ["*"] {
            return Ok(log_dirs.to_vec());
        }
        if cordoned.iter().all(|dir| log_dirs.contains(dir)) {
            Ok(cordoned)
        } else {
            Err(self.conflict("cordoned.log.dirs", format!("* or some of {}", log_dirs.join(","))))
        }
    }

    /// `max.connections.per.ip.overrides`
    pub(super) fn per_ip_overrides(&self) -> Result<Vec<(String, u32)>, ConfigError> {
        let text = self.text("max.connections.per.ip.overrides");
        let pair = |pair: &str| {
            let (address, limit) = pair.rsplit_once(':')?;
            Some((address.trim().to_owned(), limit.trim().parse().ok()?))
        };
        text.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| pair(item).filter(|(address, _)| !address.is_empty()))
            .collect::<Option<_>>()
            .ok_or_else(|| {
                self.conflict("max.connections.per.ip.overrides", "address:count,address:count,...")
            })
    }

    /// All about listeners.
    pub(super) fn listeners(&self) -> Result<Listeners, ConfigError> {
        let protocols = self.protocol_map()?;
        let parse = |name: &'static str, distinct_ports: bool| {
            parse_listeners(&self.list(name), &protocols, distinct_ports)
                .map_err(|error| ConfigError::Listeners { name, value: self.text(name), error })
        };
        let controllers: Vec<String> =
            self.list("controller.listener.names").iter().map(|name| name.to_uppercase()).collect();
        let is_controllers = |listener: &Listener| controllers.iter().any(|name| **name == *listener.name);
        let (controller, broker): (Vec<_>, Vec<_>) =
            parse("listeners", true)?.into_iter().partition(is_controllers);
        if broker.is_empty() {
            return Err(self.conflict("listeners", "at least one listener that is not the controller's"));
        }
        let advertised = if self.is_set("advertised.listeners") {
            parse("advertised.listeners", false)?
                .into_iter()
                .filter(|listener| !is_controllers(listener))
                .collect()
        } else {
            broker.clone()
        };
        self.check_advertised(&broker, &advertised)?;
        Ok(Listeners { broker, controller, advertised })
    }

    /// The map, and PLAINTEXT for the controller's listeners where none is written and nothing
    /// else speaks of TLS or SASL
    /// (`AbstractKafkaConfig#effectiveListenerSecurityProtocolMap`).
    fn protocol_map(&self) -> Result<BTreeMap<String, SecurityProtocol>, ConfigError> {
        let name = "listener.security.protocol.map";
        let mut map = parse_protocol_map(&self.text(name)).map_err(|pair| {
            self.conflict(
                name,
                format!("NAME:PROTOCOL with PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, not {pair}"),
            )
        })?;
        if !self.is_set(name) {
            for controller in self.list("controller.listener.names") {
                map.entry(controller.to_uppercase()).or_insert(SecurityProtocol::Plaintext);
            }
        }
        Ok(map)
    }

    fn check_advertised(&self, broker: &[Listener], advertised: &[Listener]) -> Result<(), ConfigError> {
        let name = if self.is_set("advertised.listeners") { "advertised.listeners" } else { "listeners" };
        let names: Vec<&str> = broker.iter().map(|listener| &*listener.name).collect();
        if advertised.is_empty() || !advertised.iter().all(|listener| names.contains(&&*listener.name)) {
            return Err(self.conflict(name, format!("one or more of the listeners {}", names.join(", "))));
        }
        if advertised.iter().any(|listener| listener.host.as_deref() == Some("0.0.0.0")) {
            return Err(self.conflict(name, "an address that clients can connect to, which 0.0.0.0 is not"));
        }
        Ok(())
    }
}

/// A setting of a provider that `config.providers` does not name.
fn unused_provider(name: &str, properties: &Properties) -> Option<Warning> {
    let named = properties.get("config.providers").map(String::as_str).unwrap_or_default();
    let rest = name.strip_prefix("config.providers.")?;
    let is_of = |provider: &str| rest.strip_prefix(provider.trim()).is_some_and(|rest| rest.starts_with('.'));
    let text = format!("{name} does nothing: config.providers does not name its provider");
    let is_named = named.split(',').any(is_of);
    (!is_named).then(|| Warning { name: name.to_owned(), text })
}

/// The names in `listeners`, or of the default, whatever else is wrong with them.
fn names_of_listeners(properties: &Properties) -> Vec<String> {
    let default = broker_key("listeners").and_then(|key| key.default).unwrap_or_default();
    let written = properties.get("listeners").map_or(default, String::as_str);
    let name = |item: &str| Some(item.trim().split_once("://")?.0.to_owned());
    written.split(',').filter_map(name).collect()
}

fn in_any_order(value: Value) -> Value {
    match value {
        Value::List(mut items) => {
            items.sort_unstable();
            Value::List(items)
        }
        other => other,
    }
}

fn check_value(key: &'static ConfigKey, text: &str) -> Result<Option<Warning>, ConfigError> {
    let value = key.parse(text)?;
    let is_default = key.default.map_or(text.trim().is_empty(), |default| {
        key.parse(default).is_ok_and(|default| in_any_order(default) == in_any_order(value))
    });
    match key.meaning {
        Meaning::Used(_) => Ok(None),
        Meaning::Unused(_) | Meaning::Refused(_) if is_default => Ok(None),
        Meaning::Unused(why) => {
            Ok(Some(Warning { name: key.name.to_owned(), text: format!("{} does nothing: {why}", key.name) }))
        }
        Meaning::Refused(why) => {
            let default = key.default.filter(|default| !default.is_empty()).unwrap_or("no value");
            let accepted = format!("{default}: {why}");
            let shown = if key.kind.is_sensitive() { "[hidden]" } else { text };
            Err(ConfigError::Conflict { name: key.name, value: shown.to_owned(), accepted })
        }
    }
}

pub(super) fn accept_or_suggest(name: &str) -> Result<Warning, ConfigError> {
    match accepted_without_a_table(name) {
        Some(why) => Ok(Warning { name: name.to_owned(), text: format!("{name} does nothing: {why}") }),
        None => Err(ConfigError::UnknownKey { name: name.to_owned(), suggestion: nearest(name) }),
    }
}
