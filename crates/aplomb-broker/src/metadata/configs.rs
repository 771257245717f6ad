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

/// All settings. They are asked for with each request: a look by kind and name takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configs {
    /// By kind and name. None of a kind, and none of a name, is in it without settings.
    by_kind: BTreeMap<i8, BTreeMap<String, Properties>>,
}

impl Configs {
    /// The settings of a resource; empty where nothing was ever changed.
    #[must_use]
    pub fn of(&self, resource: &Resource) -> &Properties {
        self.named(resource.kind, &resource.name)
    }

    /// The same by its kind and name.
    #[must_use]
    pub fn named(&self, kind: i8, name: &str) -> &Properties {
        self.by_kind.get(&kind).and_then(|of_kind| of_kind.get(name)).unwrap_or(&NONE)
    }

    /// The settings of one broker.
    #[must_use]
    pub fn of_broker(&self, id: BrokerId) -> &Properties {
        let brokers = self.by_kind.get(&Resource::BROKER);
        brokers.and_then(|brokers| brokers.get(&id.to_string())).unwrap_or(&NONE)
    }

    /// Every resource that has settings: its kind, its name, and these.
    pub fn iter(&self) -> impl Iterator<Item = (i8, &str, &Properties)> {
        self.by_kind.iter().flat_map(|(kind, of_kind)| {
            of_kind.iter().map(move |(name, settings)| (*kind, name.as_str(), settings))
        })
    }

    pub(super) fn set(&mut self, resource: Resource, name: &str, value: Option<&str>) {
        let Some(value) = value else { return self.unset(&resource, name) };
        let of_kind = self.by_kind.entry(resource.kind).or_default();
        of_kind.entry(resource.name).or_default().insert(name.to_owned(), value.to_owned());
    }

    fn unset(&mut self, resource: &Resource, name: &str) {
        let of_kind = self.by_kind.get_mut(&resource.kind);
        let settings = of_kind.and_then(|of_kind| of_kind.get_mut(&resource.name));
        let Some(settings) = settings else { return }; // a record may take back what is not set
        settings.remove(name);
        if settings.is_empty() {
            self.remove(resource);
        }
    }

    pub(super) fn remove(&mut self, resource: &Resource) {
        let Some(of_kind) = self.by_kind.get_mut(&resource.kind) else { return }; // nothing was set
        of_kind.remove(&resource.name);
        if of_kind.is_empty() {
            self.by_kind.remove(&resource.kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_settings_is_not_there() {
        let mut configs = Configs::default();
        let topic = Resource::topic("orders");
        configs.set(topic.clone(), "retention.ms", Some("1"));
        configs.set(Resource::broker(BrokerId(7)), "log.retention.ms", Some("2"));
        configs.set(Resource::all_brokers(), "log.retention.ms", Some("3"));
        let all: Vec<(i8, &str)> = configs.iter().map(|(kind, name, _)| (kind, name)).collect();
        assert_eq!(all, [(2, "orders"), (4, ""), (4, "7")]);
        assert_eq!(configs.of(&topic).get("retention.ms").map(String::as_str), Some("1"));
        assert_eq!(configs.of_broker(BrokerId(7)), configs.of(&Resource::broker(BrokerId(7))));
        assert!(configs.of_broker(BrokerId(8)).is_empty() && configs.named(2, "others").is_empty());
        configs.set(Resource::topic("others"), "retention.ms", None);
        configs.set(topic, "retention.ms", None);
        configs.remove(&Resource::broker(BrokerId(7)));
        configs.remove(&Resource::all_brokers());
        assert_eq!(configs, Configs::default());
    }
}
