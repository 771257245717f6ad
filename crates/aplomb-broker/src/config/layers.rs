//! The broker's settings in layers: what the file says, what was changed at run time for all
//! brokers, what was changed for this one. The strongest layer that has a key decides
//! (`DynamicBrokerConfig`): this broker, all brokers, the file, the default.

use std::collections::BTreeMap;

use super::key::{ConfigKey, TopicKey};
use super::keys::{broker_key, broker_synonyms};
use super::value::Value;

/// Names and values, as written.
pub type Properties = BTreeMap<String, String>;

/// Where a value comes from. The numbers are those of a DescribeConfigs response
/// (`DescribeConfigsResponse.ConfigSource`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Source {
    /// The topic itself.
    Topic = 1,
    /// Changed at run time, for this broker.
    DynamicBroker = 2,
    /// Changed at run time, for all brokers.
    DynamicDefault = 3,
    /// `server.properties`.
    Static = 4,
    /// It is set nowhere.
    Default = 5,
    /// The subscription to clients' metrics itself.
    ClientMetrics = 7,
    /// The group itself.
    Group = 8,
}

/// One place where a key, or another name of it, is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name that is set.
    pub name: String,
    /// The value as written there.
    pub value: String,
    /// The layer.
    pub source: Source,
}

/// The broker's settings.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// `server.properties`.
    pub file: &'a Properties,
    /// Changed at run time, for all brokers.
    pub for_all: &'a Properties,
    /// Changed at run time, for this broker.
    pub for_this: &'a Properties,
}

impl<'a> Layers<'a> {
    /// The value that is set for a name, from the strongest layer that has it.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&'a str> {
        [self.for_this, self.for_all, self.file]
            .into_iter()
            .find_map(|layer| layer.get(name))
            .map(String::as_str)
    }

    /// The value in force for a key: set, or its default. `None` is "unset", or a value that the
    /// key does not take (which is refused where values come in, so it can only come from a
    /// metadata log that another version wrote).
    #[must_use]
    pub fn value(&self, key: &ConfigKey) -> Option<Value> {
        self.set(key.name)
            .and_then(|text| key.parse(text).ok())
            .or_else(|| key.default.and_then(|text| key.parse(text).ok()))
    }

    /// What a topic has that does not set this key: the first of the broker's keys for it that is
    /// set, in the topic's unit, else the default (`KafkaConfig#extractLogConfigMap`).
    #[must_use]
    pub fn topic_default(&self, topic: &TopicKey) -> Option<Value> {
        let names = topic.broker_keys;
        let set = names.iter().find_map(|name| {
            // Few are set, and the table of all keys is long.
            let text = self.set(name)?;
            let value = broker_key(name)?.parse(text).ok()?;
            Some(in_milliseconds(name, value))
        });
        set.or_else(|| topic.key.default.and_then(|text| topic.key.parse(text).ok()))
    }

    /// Which layer a topic's default comes from: the strongest that has any of the broker's keys
    /// for it.
    #[must_use]
    pub fn topic_default_source(&self, topic: &TopicKey) -> Source {
        let has_any = |layer: &Properties| topic.broker_keys.iter().any(|name| layer.contains_key(*name));
        self.by_strength()
            .into_iter()
            .find(|(layer, _)| has_any(layer))
            .map_or(Source::Default, |(_, source)| source)
    }

    const fn by_strength(&self) -> [(&'a Properties, Source); 3] {
        [
            (self.for_this, Source::DynamicBroker),
            (self.for_all, Source::DynamicDefault),
            (self.file, Source::Static),
        ]
    }

    /// Every place where a broker key or another name of it is set, the strongest first, its
    /// defaults last.
    #[must_use]
    pub fn settings(&self, name: &str) -> Vec<Setting> {
        let names = broker_synonyms(name);
        let set = self.by_strength().into_iter().flat_map(|(layer, source)| {
            names.iter().filter_map(move |name| {
                let value = layer.get(*name)?.clone();
                Some(Setting { name: (*name).to_owned(), value, source })
            })
        });
        let defaults = names.iter().filter_map(|name| {
            let value = broker_key(name)?.default?.to_owned();
            Some(Setting { name: (*name).to_owned(), value, source: Source::Default })
        });
        // A name of the same setting that is stronger, but is not the one asked for, would claim a
        // value for it that it does not have.
        set.chain(defaults).skip_while(|setting| setting.name != name).collect()
    }
}

/// Keys in hours or minutes mean the same as one in milliseconds.
fn in_milliseconds(name: &str, value: Value) -> Value {
    let unit = match name.rsplit('.').next() {
        Some("hours") => 3_600_000,
        Some("minutes") => 60_000,
        _ => return value,
    };
    match value {
        // A negative number of hours or minutes is Kafka's "for ever".
        Value::Number(count) if count >= 0 => Value::Number(count.saturating_mul(unit)),
        Value::Number(_) => Value::Number(-1),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::topic_key;
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> Properties {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn milliseconds_beat_minutes_beat_hours() {
        let retention = topic_key("retention.ms").expect("a topic key");
        let none = Properties::new();
        let default_of = |file: &[(&str, &str)]| {
            let file = properties(file);
            Layers { file: &file, for_all: &none, for_this: &none }.topic_default(retention)
        };
        assert_eq!(default_of(&[]), Some(Value::Number(604_800_000)));
        assert_eq!(default_of(&[("log.retention.hours", "1")]), Some(Value::Number(3_600_000)));
        assert_eq!(
            default_of(&[("log.retention.hours", "1"), ("log.retention.minutes", "1")]),
            Some(Value::Number(60_000))
        );
        assert_eq!(
            default_of(&[("log.retention.minutes", "1"), ("log.retention.ms", "5")]),
            Some(Value::Number(5))
        );
        assert_eq!(default_of(&[("log.retention.hours", "-1")]), Some(Value::Number(-1)));
    }

    #[test]
    fn settings_are_listed_from_the_strongest_to_the_default() {
        let (file, for_all, for_this) = (
            properties(&[("log.retention.hours", "2")]),
            properties(&[("log.retention.ms", "7")]),
            properties(&[("log.retention.ms", "6")]),
        );
        let layers = Layers { file: &file, for_all: &for_all, for_this: &for_this };
        let listed: Vec<_> = layers
            .settings("log.retention.ms")
            .into_iter()
            .map(|setting| (setting.name, setting.value, setting.source))
            .collect();
        assert_eq!(
            listed,
            [
                ("log.retention.ms", "6", Source::DynamicBroker),
                ("log.retention.ms", "7", Source::DynamicDefault),
                ("log.retention.hours", "2", Source::Static),
                ("log.retention.hours", "168", Source::Default),
            ]
            .map(|(name, value, source)| (name.to_owned(), value.to_owned(), source))
        );
    }
}
