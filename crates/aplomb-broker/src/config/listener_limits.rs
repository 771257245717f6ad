//! How many connections single listeners may have, beside what all have together.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::{CONNECTION_RATE, CONNECTIONS, broker_key};
use super::listeners::Listener;
use super::reading::Reading;
use super::scope::OfListener;
use super::value::Value;

/// What is set for one listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenerLimits {
    /// `listener.name.<name>.max.connections`: at one time.
    pub connections: Option<u32>,
    /// `listener.name.<name>.max.connection.creation.rate`: new ones in a second.
    pub rate: Option<u32>,
}

/// Those of the listeners that have any.
pub(super) fn read(reading: &Reading, listeners: &[Listener]) -> BTreeMap<Arc<str>, ListenerLimits> {
    let of = |listener: &Listener| {
        let own = OfListener::new(reading, listener);
        let count = |key: &str| {
            // It was read once, when the names were checked.
            match broker_key(key)?.parse(own.own_text(key)?) {
                Ok(Value::Number(count)) => u32::try_from(count).ok(),
                _ => None,
            }
        };
        let limits = ListenerLimits { connections: count(CONNECTIONS), rate: count(CONNECTION_RATE) };
        (limits != ListenerLimits::default()).then(|| (Arc::clone(&listener.name), limits))
    };
    listeners.iter().filter_map(of).collect()
}
