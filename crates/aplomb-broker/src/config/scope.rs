//! The settings of one listener, looked up under all the names that they can have.

use std::time::Duration;

use aplomb_security::Secret;

use super::error::ConfigError;
use super::keys::broker_key;
use super::listeners::Listener;
use super::mechanism::Mechanism;
use super::reading::Reading;
use super::value::Value;

/// The settings of one listener.
pub(super) struct OfListener<'r> {
    pub(super) reading: &'r Reading,
    /// What the names of its settings begin with.
    pub(super) prefix: String,
    /// What is not set for it is not set by what all have, either.
    is_alone: bool,
}

impl<'r> OfListener<'r> {
    pub(super) fn new(reading: &'r Reading, listener: &Listener) -> Self {
        Self { reading, prefix: format!("listener.name.{}.", listener.name.to_lowercase()), is_alone: false }
    }

    /// For one that clients of Kafka do not come by.
    pub(super) fn alone(reading: &'r Reading, prefix: &str) -> Self {
        Self { reading, prefix: prefix.to_owned(), is_alone: true }
    }

    /// The text that is set for a key, without blanks around it, and the name under which it is:
    /// the mechanism's, the listener's, or the key itself.
    pub(super) fn text(&self, mechanism: Option<Mechanism>, key: &str) -> (String, Option<&'r str>) {
        let of_listener = format!("{}{key}", self.prefix);
        let of_mechanism =
            mechanism.map(|mechanism| format!("{}{}.{key}", self.prefix, mechanism.name().to_lowercase()));
        let of_all = (!self.is_alone).then(|| key.to_owned());
        let names = of_mechanism.into_iter().chain([of_listener]).chain(of_all);
        let mut last = String::new();
        for name in names {
            if let Some(text) = self.reading.as_written(&name) {
                return (name, Some(text.trim()));
            }
            last = name;
        }
        (last, None)
    }

    /// What only this listener's own setting says.
    pub(super) fn own_text(&self, key: &str) -> Option<&'r str> {
        self.reading.as_written(&format!("{}{key}", self.prefix)).map(str::trim)
    }

    pub(super) fn secret(&self, key: &str) -> Option<Secret> {
        let text = self.text(None, key).1.filter(|text| !text.is_empty());
        text.map(|text| Secret::new(text.to_owned()))
    }

    pub(super) fn list(&self, key: &str) -> Vec<String> {
        match self.value(None, key) {
            Some(Value::List(items)) => items,
            _ => Vec::new(),
        }
    }

    /// A value that cannot be, where it is set.
    pub(super) fn refuse(&self, key: &str, accepted: &str) -> ConfigError {
        let (name, text) = self.text(None, key);
        refused(name, text.unwrap_or_default().to_owned(), accepted.to_owned())
    }

    pub(super) fn value(&self, mechanism: Option<Mechanism>, key: &str) -> Option<Value> {
        let known = broker_key(key).expect("only keys of the tables are asked for");
        let text = self.text(mechanism, key).1.or(known.default)?;
        // Each value was read once, when the names were checked.
        known.parse(text).ok()
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.value(None, key) == Some(Value::Boolean(true))
    }

    pub(super) fn millis(&self, mechanism: Option<Mechanism>, key: &str) -> Duration {
        match self.value(mechanism, key) {
            Some(Value::Number(millis)) => Duration::from_millis(u64::try_from(millis).unwrap_or(0)),
            _ => Duration::ZERO,
        }
    }
}

/// The error of a setting that cannot be.
pub(super) fn refused(name: String, value: String, accepted: String) -> ConfigError {
    ConfigError::OfListener { name, value, accepted }
}
