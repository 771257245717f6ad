//! Checking the settings of one listener by themselves.

use super::error::{ConfigError, Warning};
use super::key::Meaning;
use super::keys::{is_of_listener_limits, listener_key, split_listener_name};

/// Checks a setting of one listener, `listener.name.<listener>.<key>`. `listeners` are the names
/// that there are.
pub(super) fn check_of_listener(
    name: &str,
    text: &str,
    listeners: &[String],
) -> Result<Option<Warning>, ConfigError> {
    let does_nothing = |why: String| Some(Warning { name: name.to_owned(), text: format!("{name} {why}") });
    let unknown = || ConfigError::UnknownKey { name: name.to_owned(), suggestion: None };
    let (listener, _) = split_listener_name(name).ok_or_else(unknown)?;
    if !listeners.iter().any(|known| known.eq_ignore_ascii_case(listener)) {
        return Ok(does_nothing(format!("does nothing: there is no listener {}", listener.to_uppercase())));
    }
    let key = listener_key(name).ok_or_else(unknown)?;
    let shown = if key.kind.is_sensitive() { "[hidden]" } else { text };
    let refused = |accepted: String| ConfigError::OfListener {
        name: name.to_owned(),
        value: shown.to_owned(),
        accepted,
    };
    let value = key.parse(text).map_err(|error| refused(error.accepted()))?;
    let is_default = key.default.and_then(|default| key.parse(default).ok()) == Some(value)
        || key.default.is_none() && text.trim().is_empty();
    match key.meaning {
        Meaning::Used(path) if path.starts_with("security.") || is_of_listener_limits(name) => Ok(None),
        Meaning::Used(_) => Ok(does_nothing("does nothing: only all listeners together have it".to_owned())),
        Meaning::Unused(_) | Meaning::Refused(_) if is_default => Ok(None),
        Meaning::Unused(why) => Ok(does_nothing(format!("does nothing: {why}"))),
        Meaning::Refused(why) => {
            let default = key.default.filter(|default| !default.is_empty()).unwrap_or("no value");
            Err(refused(format!("{default}: {why}")))
        }
    }
}
