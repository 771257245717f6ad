//! Changing settings at run time, one by one or all at once (`ConfigurationControlManager`,
//! `ConfigAdminManager`).

use std::collections::BTreeMap;

use aplomb_model::BrokerId;
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::draft::Draft;
use super::error::AdminError;
use super::topics::check_topic_name;
use crate::config::{
    BrokerConfig, ConfigKey, ConfigType, Layers, Meaning, Properties, TopicConfig, Update, Value,
    behind_listener, broker_key, client_metrics_keys, group_key, is_changed_by_listener,
    is_of_the_file_alone, topic_key,
};
use crate::metadata::Resource;

/// The longest value that a record can hold.
const MAX_VALUE: usize = i16::MAX as usize;

/// The log directories that get no new partitions.
const CORDONED: &str = "cordoned.log.dirs";

/// What to do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOperation {
    /// The value replaces what is there.
    Set,
    /// Set it no more.
    Delete,
    /// Add to a list.
    Append,
    /// Take out of a list.
    Subtract,
}

impl ConfigOperation {
    /// The operation with this number (`AlterConfigOp.OpType`).
    #[must_use]
    pub const fn from_wire(raw: i8) -> Option<Self> {
        Some(match raw {
            0 => Self::Set,
            1 => Self::Delete,
            2 => Self::Append,
            3 => Self::Subtract,
            _ => return None,
        })
    }
}

/// One change of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The setting.
    pub name: String,
    /// What to do with it.
    pub operation: ConfigOperation,
    /// With which value; nothing to delete.
    pub value: Option<String>,
}

/// What settings a resource is to have.
#[derive(Clone, Copy, Debug)]
pub enum ConfigWish<'a> {
    /// Those that it has, changed so.
    Change(&'a [ConfigChange]),
    /// These and no others.
    Replace(&'a Properties),
}

impl Draft {
    /// Drafts changes to the settings of a topic, of a broker, of all, or of a subscription to
    /// clients' metrics.
    ///
    /// # Errors
    /// When one of them cannot be; the draft is as before then.
    pub fn alter_configs(
        &mut self,
        resource: &Resource,
        changes: &[ConfigChange],
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let target = Target::of(resource, config.node_id)?;
        let changed = self.new_values(&target, resource, ConfigWish::Change(changes))?;
        self.change(&target, resource, changed, config)
    }

    /// Drafts that a resource has these settings and no others.
    ///
    /// # Errors
    /// When one of them cannot be; the draft is as before then.
    pub fn replace_configs(
        &mut self,
        resource: &Resource,
        settings: &Properties,
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let target = Target::of(resource, config.node_id)?;
        let changed = self.new_values(&target, resource, ConfigWish::Replace(settings))?;
        self.change(&target, resource, changed, config)
    }

    /// The settings that are named, with their new values; none takes a setting away.
    pub(super) fn new_values(
        &self,
        target: &Target,
        resource: &Resource,
        wish: ConfigWish<'_>,
    ) -> Result<Vec<(String, Option<String>)>, AdminError> {
        let current = self.image().configs.of(resource);
        match wish {
            ConfigWish::Change(changes) => {
                let changed = |change: &ConfigChange| {
                    let old = current.get(&change.name).map(String::as_str);
                    Ok((change.name.clone(), target.changed(old, change)?))
                };
                changes.iter().map(changed).collect()
            }
            ConfigWish::Replace(settings) => {
                let set = settings.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
                let gone = current.keys().filter(|name| !settings.contains_key(*name));
                Ok(set.chain(gone.map(|name| (name.clone(), None))).collect())
            }
        }
    }

    /// Drafts new values, where they are new; none takes a setting away.
    fn change(
        &mut self,
        target: &Target,
        resource: &Resource,
        changed: Vec<(String, Option<String>)>,
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let current = self.image().configs.of(resource);
        let mut wanted = current.clone();
        let mut records = Vec::new();
        for (name, new) in &changed {
            let old = current.get(name).map(String::as_str);
            if new.as_ref().is_some_and(|value| value.len() > MAX_VALUE) {
                return Err(AdminError::Config(format!(
                    "The configuration value cannot be added because it exceeds the maximum value size of {MAX_VALUE} bytes."
                )));
            }
            if name == CORDONED && !self.image().features.metadata_version().has_cordoned_directories() {
                return Err(AdminError::Config(format!(
                    "The {CORDONED} configuration value cannot be set because it requires metadata.version >= 4.3-IV0"
                )));
            }
            match new {
                Some(value) => wanted.insert(name.clone(), value.clone()),
                None => wanted.remove(name),
            };
            // Brokers look again at their settings when a record says so, even one that changes
            // nothing.
            if new.as_deref() != old || matches!(target, Target::Broker | Target::AllBrokers) {
                records.push(record(resource, name, new.clone()));
            }
        }
        self.check_wanted(target, resource, &wanted, config)?;
        self.check_min_in_sync(resource, &changed)?;
        self.check_room(records.len())?;
        self.push(records);
        Ok(())
    }

    /// The settings of a resource as they would be.
    fn check_wanted(
        &self,
        target: &Target,
        resource: &Resource,
        wanted: &Properties,
        config: &BrokerConfig,
    ) -> Result<(), AdminError> {
        let layers = self.image().layers(config);
        match target {
            Target::Topic => {
                check_topic_name(&resource.name)?;
                TopicConfig::from_overrides(wanted, &layers)?;
                match self.image().topics.by_name(&resource.name) {
                    Some(_) => Ok(()),
                    None => Err(AdminError::UnknownTopic(resource.name.clone())),
                }
            }
            Target::ClientMetrics => check_client_metrics(&resource.name, wanted),
            Target::Group => check_group(wanted, &layers),
            Target::Broker | Target::AllBrokers => {
                let is_for_all = matches!(target, Target::AllBrokers);
                check_broker_settings(wanted, is_for_all)?;
                let layers = if is_for_all {
                    Layers { for_all: wanted, ..layers }
                } else {
                    Layers { for_this: wanted, ..layers }
                };
                let request = |text: String| AdminError::Request(text);
                TopicConfig::check_inherited(&layers).map_err(|error| request(error.to_string()))?;
                let changed = config.in_force(&layers).map_err(|error| request(error.to_string()))?;
                check_overrides_of_addresses(wanted, &changed)
            }
        }
    }
}

/// Whose settings.
pub(super) enum Target {
    Topic,
    Broker,
    AllBrokers,
    ClientMetrics,
    Group,
}

impl Target {
    pub(super) fn of(resource: &Resource, this: BrokerId) -> Result<Self, AdminError> {
        let request = |text: String| Err(AdminError::Request(text));
        let name = &resource.name;
        match resource.kind {
            Resource::TOPIC if name.is_empty() => {
                request("Default topic resources are not allowed.".to_owned())
            }
            Resource::TOPIC => Ok(Self::Topic),
            Resource::BROKER if name.is_empty() => Ok(Self::AllBrokers),
            Resource::BROKER => match name.parse::<i32>() {
                Ok(id) if BrokerId(id) == this => Ok(Self::Broker),
                Ok(_) => request(format!("Unexpected broker id, expected {this}, but received {name}")),
                Err(_) => request(format!("Node id must be an integer, but it is: {name}")),
            },
            Resource::CLIENT_METRICS => Ok(Self::ClientMetrics),
            Resource::GROUP if name.is_empty() => {
                request("Default group resources are not allowed.".to_owned())
            }
            Resource::GROUP => Ok(Self::Group),
            other => request(format!("Unknown resource type {other}")),
        }
    }

    fn key(&self, name: &str) -> Option<&'static ConfigKey> {
        match self {
            Self::Topic => topic_key(name).map(|topic| &topic.key),
            Self::Broker | Self::AllBrokers => broker_key(name),
            // Apache Kafka's controller does not know which of them are lists.
            Self::ClientMetrics | Self::Group => None,
        }
    }

    /// The value after a change; `None` where there is none.
    fn changed(&self, old: Option<&str>, change: &ConfigChange) -> Result<Option<String>, AdminError> {
        let value = change.value.as_deref().unwrap_or_default();
        let key = self.key(&change.name);
        let (ConfigOperation::Append | ConfigOperation::Subtract) = change.operation else {
            return Ok((change.operation == ConfigOperation::Set).then(|| value.to_owned()));
        };
        let Some(key) = key.filter(|key| key.kind == ConfigType::List) else {
            let operation = if change.operation == ConfigOperation::Append { "APPEND" } else { "SUBTRACT" };
            let name = &change.name;
            let text = format!("Can't {operation} to key {name} because its type is not LIST.");
            return Err(AdminError::Config(text));
        };
        let mut items: Vec<&str> =
            old.or(key.default).unwrap_or_default().split(',').filter(|item| !item.is_empty()).collect();
        for item in value.split(',') {
            let held = items.iter().position(|held| *held == item);
            match (change.operation, held) {
                (ConfigOperation::Append, None) => items.push(item),
                (ConfigOperation::Subtract, Some(at)) => {
                    items.remove(at);
                }
                _ => {}
            }
        }
        Ok(Some(items.join(",")))
    }
}

/// What can be changed while a broker runs (`DynamicBrokerConfig#validateConfigs`). Unknown names
/// are kept, as Apache Kafka does: they may be those of a plug-in.
fn check_broker_settings(wanted: &Properties, is_for_all: bool) -> Result<(), AdminError> {
    let known = || wanted.iter().filter_map(|(name, value)| Some((broker_key(name)?, value)));
    let names = |unfit: &dyn Fn(&ConfigKey) -> bool| -> Vec<&str> {
        known().filter(|(key, _)| unfit(key)).map(|(key, _)| key.name).collect()
    };
    let fixed = names(&|key| key.update == Update::ReadOnly);
    if !fixed.is_empty() {
        let text = format!("Cannot update these configs dynamically: [{}]", fixed.join(", "));
        return Err(AdminError::Request(text));
    }
    let of_listeners = names(&is_changed_by_listener);
    if !of_listeners.is_empty() {
        return Err(AdminError::Request(format!(
            "These security configs can be dynamically updated only per-listener using the listener prefix: [{}]",
            of_listeners.join(", ")
        )));
    }
    for (key, value) in known() {
        let read = key.parse(value).map_err(|error| AdminError::Request(error.to_string()))?;
        if let Meaning::Refused(why) = key.meaning
            && Some(read.to_string().as_str()) != key.default
        {
            return Err(AdminError::Request(format!("{}={value} cannot be used: {why}", key.name)));
        }
    }
    let at_start = names(&is_of_the_file_alone);
    if !at_start.is_empty() {
        return Err(AdminError::Request(format!(
            "These configs are read when the broker starts, and cannot be changed while it runs: [{}]",
            at_start.join(", ")
        )));
    }
    let mut own = names(&|key| key.update == Update::PerBroker);
    own.extend(wanted.keys().filter(|name| behind_listener(name).is_some()).map(String::as_str));
    if is_for_all && !own.is_empty() {
        return Err(AdminError::Request(format!(
            "Cannot update these configs at default cluster level, broker id must be specified: [{}]",
            own.join(", ")
        )));
    }
    Ok(())
}

/// A name would have to be resolved, which may take long; in the file there is time for it.
fn check_overrides_of_addresses(wanted: &Properties, changed: &BrokerConfig) -> Result<(), AdminError> {
    const NAME: &str = "max.connections.per.ip.overrides";
    let is_name = |(host, _): &&(String, u32)| host.parse::<std::net::IpAddr>().is_err();
    match changed.network.per_ip_overrides.iter().find(is_name) {
        Some((host, _)) if wanted.contains_key(NAME) => Err(AdminError::Request(format!(
            "{NAME}: while the broker runs, {host} must be an address and not a name"
        ))),
        _ => Ok(()),
    }
}

/// What a subscription to clients' metrics may say (`ClientMetricsConfigs#validate`). Patterns are
/// not compiled: they are Java's.
fn check_client_metrics(name: &str, wanted: &Properties) -> Result<(), AdminError> {
    const MATCHED: [&str; 6] = [
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    ];
    let request = |text: String| Err(AdminError::Request(text));
    if name.is_empty() {
        return request("Subscription name can't be empty".to_owned());
    }
    let key_of = |name: &str| client_metrics_keys().iter().find(|key| key.name == name);
    if let Some(unknown) = wanted.keys().find(|name| key_of(name).is_none()) {
        return request(format!("Unknown client metrics configuration: {unknown}"));
    }
    for (name, text) in wanted {
        let value = key_of(name).expect("all are known").parse(text)?;
        match (name.as_str(), value) {
            ("interval.ms", Value::Number(millis)) if !(100..=3_600_000).contains(&millis) => {
                return request(format!(
                    "Invalid value {millis} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
                ));
            }
            ("match", Value::List(patterns)) => {
                let is_pattern = |pattern: &&String| {
                    let parts: Vec<&str> = pattern.split('=').collect();
                    parts.len() == 2 && !parts[1].is_empty() && MATCHED.contains(&parts[0].trim())
                };
                if let Some(illegal) = patterns.iter().find(|pattern| !is_pattern(pattern)) {
                    return Err(AdminError::Config(format!("Illegal client matching pattern: {illegal}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a group may set for itself (`GroupConfig#validate`).
fn check_group(wanted: &Properties, layers: &Layers<'_>) -> Result<(), AdminError> {
    let config = |text: String| Err(AdminError::Config(text));
    let mut known = Vec::with_capacity(wanted.len());
    for (name, text) in wanted {
        let Some(group) = group_key(name) else {
            return config(format!("Unknown group config name: {name}"));
        };
        known.push((group, text));
    }
    let of_broker = |name: &str| layers.value(broker_key(name).expect("it is a broker's key"));
    let mut numbers = BTreeMap::new();
    for (group, text) in known {
        let name = group.key.name;
        let number = match (group.key.parse(text)?, group.broker_key.and_then(of_broker)) {
            (Value::Number(number), _) => number,
            (Value::Text(assignor), Some(Value::List(known))) if !known.contains(&assignor) => {
                return config(format!("{name} must be one of the broker's assignors: {}", known.join(", ")));
            }
            _ => continue, // only numbers have bounds
        };
        numbers.insert(name, number);
        let bound = |name: &str| match of_broker(name) {
            Some(Value::Number(bound)) => bound,
            other => unreachable!("{name} is {other:?}"),
        };
        match group.bounds {
            [least, most] if !(bound(least)..=bound(most)).contains(&number) => {
                let (least, most) = (bound(least), bound(most));
                return config(format!("{name} must be in the range {least} to {most} inclusive."));
            }
            [most] if number > bound(most) => {
                return config(format!("{name} must be less than or equal to {most}"));
            }
            _ => {}
        }
    }
    // What the group does not say for itself is as the broker has it.
    let number = |name: &str| match numbers.get(name) {
        Some(number) => *number,
        None => match of_broker(&format!("group.{name}")) {
            Some(Value::Number(number)) => number,
            other => unreachable!("group.{name} is {other:?}"),
        },
    };
    for [session, heartbeat] in [
        ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"],
        ["share.session.timeout.ms", "share.heartbeat.interval.ms"],
        ["streams.session.timeout.ms", "streams.heartbeat.interval.ms"],
    ] {
        if number(session) <= number(heartbeat) {
            return config(format!("{session} must be greater than {heartbeat}"));
        }
    }
    Ok(())
}

fn record(resource: &Resource, name: &str, value: Option<String>) -> MetadataRecord {
    m::ConfigRecord {
        resource_type: resource.kind,
        resource_name: resource.name.clone(),
        name: name.to_owned(),
        value,
    }
    .into()
}
