//! Numbers for Prometheus: shared counters, put on a page when somebody asks.
//!
//! What always holds: whoever counts only adds to an atomic; the page is made and served by a thread of its own ([`http`]).

pub mod http;
mod page;

pub use page::{Kind, Page};

use std::sync::{Arc, Mutex, PoisonError};

/// Puts some numbers on the page. Called from the metrics' thread.
pub type Source = Box<dyn Fn(&mut Page) + Send>;

/// Everything that can be put on the page. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics {
    sources: Arc<Mutex<Vec<Source>>>,
}

impl Metrics {
    /// Adds a source. Its numbers follow those of earlier sources.
    pub fn add(&self, source: impl Fn(&mut Page) + Send + 'static) {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(source));
    }

    /// The page as text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut page = Page::default();
        for source in self.sources.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            source(&mut page);
        }
        page.finish()
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}
