//! Which topics a client is shown: an expression stands for those alone.

use std::fmt;
use std::sync::Arc;

/// Says of a topic's name whether it is shown.
type IsShown = dyn Fn(&str) -> bool + Send + Sync;

/// What the client of a request may know of topics.
#[derive(Clone, Default)]
pub struct Sight(Option<Arc<IsShown>>);

impl Sight {
    /// Of those topics only for whose names this says so; of all without it.
    #[must_use]
    pub fn of(only: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(only)))
    }

    /// Whether the topic is among them.
    #[must_use]
    pub fn has(&self, topic: &str) -> bool {
        self.0.as_ref().is_none_or(|only| only(topic))
    }
}

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Sight(all)" } else { "Sight(some)" })
    }
}
