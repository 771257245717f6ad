//! Settings changed at run time, by what they are settings of.

use std::collections::BTreeMap;

use aplomb_model::BrokerId;

use crate::config::Properties;

/// What a setting is a setting of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group (`ConfigResource.Type`).
    pub kind: i8,
    /// Its name; empty is all brokers.
    pub name: String,
}

impl Resource {
    /// The kind of a topic.
    pub const TOPIC: i8 = 2;
    /// The kind of one broker, or of all without a name.
    pub const BROKER: i8 = 4;
    /// A broker's log levels.
    pub const BROKER_LOGGER: i8 = 8;
    /// Subscriptions to clients' metrics.
    pub const CLIENT_METRICS: i8 = 16;
    /// The kind of a consumer group.
    pub const GROUP: i8 = 32;

    /// The settings that a topic overrides.
    #[must_use]
    pub fn topic(name: &str) -> Self {
        Self { kind: Self::TOPIC, name: name.to_owned() }
    }

    /// The settings of one broker.
    #[must_use]
    pub fn broker(id: BrokerId) -> Self {
        Self { kind: Self::BROKER, name: id.to_string() }
    }

    /// The settings that all brokers have in common.
    #[must_use]
    pub fn all_brokers() -> Self {
        Self { kind: Self::BROKER, name: String::new() }
    }
}

static NONE: Properties = Properties::new();

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configs {
    by_resource: BTreeMap<Resource, Properties>,
}

impl Configs {
    /// The settings of a resource; empty where nothing was ever changed.
    #[must_use]
    pub fn of(&self, resource: &Resource) -> &Properties {
        self.by_resource.get(resource).unwrap_or(&NONE)
    }

    /// Every resource that has settings.
    pub fn iter(&self) -> impl Iterator<Item = (&Resource, &Properties)> {
        self.by_resource.iter()
    }

    pub(super) fn set(&mut self, resource: Resource, name: &str, value: Option<&str>) {
        let settings = self.by_resource.entry(resource.clone()).or_default();
        match value {
            Some(value) => {
                settings.insert(name.to_owned(), value.to_owned());
            }
            None => {
                settings.remove(name);
                if settings.is_empty() {
                    self.by_resource.remove(&resource);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, resource: &Resource) {
        self.by_resource.remove(resource);
    }
}
