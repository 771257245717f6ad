//! What can be wrong with a configuration, and what is merely worth saying about it.

use super::listeners::ListenerError;
use super::topic::TopicConfigError;
use super::value::ValueError;

/// A configuration that cannot be used. Each sentence names the key, what would be accepted, and
/// the value where it can be no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No key has this name. Its value may be a secret whose key is misspelt.
    #[error("{name}: there is no such key{}", suggestion.map(|known| format!("; did you mean {known}?")).unwrap_or_default())]
    UnknownKey {
        /// As it was given.
        name: String,
        /// A known name that is near.
        suggestion: Option<&'static str>,
    },
    /// The value is not one of the key's.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The value cannot stand beside others, or cannot be had here.
    #[error("{name}={value} cannot be used: accepted is {accepted}")]
    Conflict {
        /// The key.
        name: &'static str,
        /// The value as it was given.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A setting of one listener.
    #[error("{name}={value} cannot be used: accepted is {accepted}")]
    OfListener {
        /// The key with the listener's name.
        name: String,
        /// The value as it was given, unless it is a secret.
        value: String,
        /// What would be accepted.
        accepted: String,
    },
    /// A list of listeners.
    #[error("{name}={value}: {error}")]
    Listeners {
        /// The key.
        name: &'static str,
        /// The value as it was given.
        value: String,
        /// What is wrong with it.
        error: ListenerError,
    },
    /// The settings that topics inherit.
    #[error("the settings that topics inherit cannot be used: {0}")]
    TopicDefaults(TopicConfigError),
}

/// Something that works but may not be what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key.
    pub name: String,
    /// A sentence about it.
    pub text: String,
}
