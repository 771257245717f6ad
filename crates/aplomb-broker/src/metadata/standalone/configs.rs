//! Changing settings at run time, one by one (`ConfigurationControlManager`, `ConfigAdminManager`).

use aplomb_model::BrokerId;
use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;

use super::super::configs::Resource;
use super::draft::Draft;
use super::error::AdminError;
use super::topics::check_topic_name;
use crate::config::{
    BrokerConfig, ConfigKey, ConfigType, Layers, Meaning, Properties, TopicConfig, Update, broker_key,
    topic_key,
};

/// The longest value that a record can hold.
const MAX_VALUE: usize = i16::MAX as usize;

/// What to do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOperation {
    /// Set it.
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

/// A change that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The setting.
    pub name: String,
    /// What to do with it.
    pub operation: ConfigOperation,
    /// With which value; nothing to delete.
    pub value: Option<String>,
}

impl Draft {
    /// Drafts changes to the settings of a topic, of a broker, or of all.
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
        let current = self.image().configs.of(resource);
        let mut wanted = current.clone();
        let mut records = Vec::new();
        for change in changes {
            let old = current.get(&change.name).map(String::as_str);
            let new = target.changed(old, change)?;
            if new.as_ref().is_some_and(|value| value.len() > MAX_VALUE) {
                return Err(AdminError::Config(format!(
                    "The configuration value cannot be added because it exceeds the maximum value size of {MAX_VALUE} bytes."
                )));
            }
            match &new {
                Some(value) => wanted.insert(change.name.clone(), value.clone()),
                None => wanted.remove(&change.name),
            };
            // Brokers look again at their settings when a record says so, even one that changes nothing.
            if new.as_deref() != old || matches!(target, Target::Broker | Target::AllBrokers) {
                records.push(record(resource, &change.name, new));
            }
        }
        self.check_wanted(&target, resource, &wanted, config)?;
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
            Target::Broker | Target::AllBrokers => {
                let is_for_all = matches!(target, Target::AllBrokers);
                check_broker_settings(wanted, is_for_all)?;
                let layers = if is_for_all {
                    Layers { for_all: wanted, ..layers }
                } else {
                    Layers { for_this: wanted, ..layers }
                };
                TopicConfig::check_inherited(&layers).map_err(|error| AdminError::Request(error.to_string()))
            }
        }
    }
}

/// Whose settings.
enum Target {
    Topic,
    Broker,
    AllBrokers,
}

impl Target {
    fn of(resource: &Resource, this: BrokerId) -> Result<Self, AdminError> {
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
            Resource::BROKER_LOGGER => {
                request("Log levels cannot be changed while the broker runs.".to_owned())
            }
            Resource::CLIENT_METRICS => {
                request("Client metrics are not collected by this broker.".to_owned())
            }
            Resource::GROUP => request("Groups have no settings on this broker.".to_owned()),
            other => request(format!("Unknown resource type {other}")),
        }
    }

    fn key(&self, name: &str) -> Option<&'static ConfigKey> {
        match self {
            Self::Topic => topic_key(name).map(|topic| &topic.key),
            Self::Broker | Self::AllBrokers => broker_key(name),
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

/// What can be changed while a broker runs (`DynamicBrokerConfig#validateConfigs`). Unknown names are kept, as Apache Kafka does: they may
/// be those of somebody's plug-in.
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
    for (key, value) in known() {
        let read = key.parse(value).map_err(|error| AdminError::Request(error.to_string()))?;
        if let Meaning::Refused(why) = key.meaning
            && Some(read.to_string().as_str()) != key.default
        {
            return Err(AdminError::Request(format!("{}={value} cannot be used: {why}", key.name)));
        }
    }
    let own = names(&|key| key.update == Update::PerBroker);
    if is_for_all && !own.is_empty() {
        return Err(AdminError::Request(format!(
            "Cannot update these configs at default cluster level, broker id must be specified: [{}]",
            own.join(", ")
        )));
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
